"""Chains of kernels over shared rows: which kernels meet, what their scratch takes, and that no tiling changes a bit."""

from collections.abc import Callable

import numpy as np
import pytest

import tjcore as tj
from tjcore.layout import Layout
from tjcore.loops import TILE_BYTES

R = tj.Dim("R", 0, 100_000)
C = tj.Dim("C", 1, 100_000)


def rows(v: tj.Expr, shape: tuple[object, ...]) -> tj.Expr:
    return v.expand_dims(-1).broadcast_to(shape)  # type: ignore[arg-type]


def softmax(x: tj.Expr) -> tj.Expr:
    e = (x - rows(x.max(-1), x.shape)).exp()
    return e / rows(e.sum(-1), x.shape)


def layer_norm(x: tj.Expr) -> tj.Expr:
    d = x - rows(x.mean(-1), x.shape)
    return d * rows(((d * d).mean(-1) + 1e-5).rsqrt(), x.shape)


def chains(output: tj.Expr, fuse: bool = True) -> list[tuple[int, int, int]]:
    return [(c.first, c.last, c.depth) for c in tj.compile_plan([output], fuse).program.chains]


@pytest.mark.parametrize("function", [softmax, layer_norm])
def test_row_wise_functions_are_one_chain(function: Callable[[tj.Expr], tj.Expr]) -> None:
    plan = tj.compile_plan([function(tj.input("x", (R, C)))])
    (chain,) = plan.program.chains
    assert (chain.first, chain.last, chain.depth) == (0, len(plan.kernels) - 1, 1)
    temporaries = [i for i, b in enumerate(plan.program.buffers) if b.kind == "temporary"]
    assert sorted(chain.scratch) == temporaries, "nothing that only the chain touches is kept as a whole"


def test_leading_axes_are_the_rows() -> None:
    x = tj.input("x", (tj.Dim("B"), tj.Dim("H"), R, C))
    assert {depth for _, _, depth in chains(softmax(x))} == {3}


def test_no_chain_without_fusion_or_along_other_rows() -> None:
    x = tj.input("x", (R, C))
    assert chains(softmax(x), fuse=False) == []
    down = x.max(0).expand_dims(0).broadcast_to((R, C))  # each row needs all rows
    assert all(last - first < 2 for first, last, _ in chains((x - down).exp()))
    square = tj.input("s", (C, C))
    total = square.sum(-1)
    across = total.expand_dims(0).broadcast_to((C, C)) * square  # column i needs row i's sum
    assert chains(across) == []


def test_scratch_is_bounded_by_the_tile_not_by_the_rows() -> None:
    e = (tj.input("x", (R, C)) * 2.0).exp()
    plan = tj.compile_plan([e / rows(e.sum(-1), (R, C))])
    for threads in (1, 3):
        layout = Layout(plan, threads=threads)
        order = layout.order
        for r, c in ((0, 5), (1, 1), (7, 1000), (90_000, 1000), (5, 90_000)):
            placed = layout.place([{"R": r, "C": c}[name] for name in order])
            piece = max(TILE_BYTES, -(-4 * c // 64) * 64)
            assert placed.temporary_bytes <= min(4 * r * c, threads * piece) + min(4 * r, threads * TILE_BYTES) + 128


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [softmax, layer_norm])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 70_000), (37, 1003), (5000, 3), (300, 64)])
def test_tiles_and_threads_change_no_bit(function: Callable[[tj.Expr], tj.Expr], shape: tuple[int, int], backend: str) -> None:
    output = function(tj.input("x", (R, C)))
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    (plain,) = tj.CompiledGraph([output], fuse=False, backend=backend)(x=x)
    for threads in (1, 2, 5):
        (chained,) = tj.CompiledGraph([output], backend=backend, threads=threads)(x=x)
        assert chained.tobytes() == plain.tobytes(), f"{threads} threads"


@pytest.mark.toolchain
def test_rows_of_single_elements(backend: str) -> None:
    """Elementwise kernels that meet in all their axes run tile by tile over elements; many of them through a table of steps."""
    x = tj.input("x", (R, C))
    value, outputs = x, []
    for i in range(150):
        value = value * 0.5 + float(i % 3)
        outputs.append(value)
    plan = tj.compile_plan(outputs)
    assert plan.program.chains
    given = np.random.default_rng(3).standard_normal((61, 97)).astype(np.float32)
    expected = given
    for i, got in enumerate(tj.CompiledGraph(outputs, backend=backend, threads=2)(x=given)):
        expected = expected * np.float32(0.5) + np.float32(i % 3)
        assert got.tobytes() == expected.tobytes(), f"output {i}"
