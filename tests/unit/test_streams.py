"""Results that are stored past the cache: the same elements, wherever the loop starts, and only where that is aligned."""

import numpy as np
import pytest

import tjcore as tj
from tjcore import cpu

N, M = tj.Dim("N", 0, 1 << 24), tj.Dim("M", 0, 1 << 12)


@pytest.fixture
def past_everything():
    """Every result is large enough, for the graphs that are given to it."""
    changed = []

    def lower(graph):
        if graph._entry.support is None:
            pytest.skip("the reference evaluator stores through NumPy")
        changed.append(graph._entry.support)
        graph._entry.support.function("tj_pool_stream")(1)
        return graph

    yield lower
    for support in changed:
        support.function("tj_pool_stream")(cpu.cache_sizes()[2])


def arrays(dtypes, shape):
    random = np.random.default_rng(8)
    return {f"x{i}": (random.standard_normal(shape) * 50).astype(d.numpy) for i, d in enumerate(dtypes)}


def misaligned(shape, dtype):
    """An array that starts 16 bytes behind a multiple of 64."""
    room = np.empty(int(np.prod(shape)) * dtype.itemsize + 128, np.uint8)
    start = -room.ctypes.data % 64 + 16
    return room[start : start + int(np.prod(shape)) * dtype.itemsize].view(dtype).reshape(shape)


@pytest.mark.toolchain
@pytest.mark.parametrize("threads", [1, 2])
def test_every_type_is_stored_whole(backend, past_everything, threads):
    dtypes = (tj.float32, tj.float64, tj.int32, tj.int64, tj.uint8, tj.float16)
    inputs = [tj.input(f"x{i}", (N,), d) for i, d in enumerate(dtypes)]
    graph = past_everything(tj.CompiledGraph([x + x for x in inputs], backend=backend, threads=threads))
    for n in (0, 1, 15, 16, 64, 1000, 5000):
        given = arrays(dtypes, (n,))
        for got, x in zip(graph(**given), given.values(), strict=True):
            assert got.tobytes() == (x + x).tobytes()
        outs = tuple(misaligned((n,), d.numpy) for d in dtypes)
        for got, x in zip(graph(**given, out=outs), given.values(), strict=True):
            assert got.tobytes() == (x + x).tobytes()


@pytest.mark.toolchain
@pytest.mark.parametrize("shape", [(3, 64), (5, 33), (70, 128), (64, 65)])
def test_rows_tiles_and_several_results(backend, past_everything, shape):
    x, y, b = tj.input("x", (M, N)), tj.input("y", (N, M)), tj.input("b", (N,))
    graph = past_everything(
        tj.CompiledGraph([x + b, x + y.T, (x * 2).sum(1), tj.concat([x, b.expand_dims(0) * 2], axis=0)], backend=backend)
    )
    random = np.random.default_rng(9)
    given = {"x": random.standard_normal(shape, np.float32), "b": random.standard_normal(shape[1], np.float32)}
    given["y"] = random.standard_normal(shape[::-1], np.float32)
    rows, tiles, sums, joined = graph(**given)
    assert rows.tobytes() == (given["x"] + given["b"]).tobytes()
    assert tiles.tobytes() == (given["x"] + given["y"].T).tobytes()
    np.testing.assert_allclose(sums, (given["x"] * 2).sum(1), rtol=1e-4, atol=1e-4)
    assert joined.tobytes() == np.concatenate([given["x"], given["b"][None] * 2]).tobytes()


@pytest.mark.toolchain
def test_what_is_always_small_has_no_such_stores(backend):
    graph = tj.CompiledGraph([tj.input("x", (100,)) * 2], backend=backend)
    assert "tj_put" not in graph.source
