"""Transposed reads: the loops are tiled, and every element still gets its own value, whatever the sizes and threads."""

import numpy as np
import pytest

import tjcore as tj
from tjcore import cpu
from tjcore.loops import Loop, show_kernel, walk

A, B, C, D = (tj.Dim(name, 0, 300) for name in "ABCD")


def tiled(output: tj.Expr) -> list[Loop]:
    plan = tj.compile_plan([output])
    return [s for k in plan.program.kernels for s in walk(k.body) if isinstance(s, Loop) and s.tiled]


def test_which_loops_are_tiled() -> None:
    x = tj.input("x", (A, B))
    assert len(tiled(x.T + tj.input("y", (B, A)))) == 1
    assert len(tiled(x.T * 2.0)) == 1
    assert not tiled(x * 2.0) and not tiled(x + x.sum(0)) and not tiled(x.T.sum(0))
    four = tj.input("z", (A, B, C, D))
    (loop,) = tiled(four.permute((0, 3, 1, 2)) * 2.0)
    assert loop.axis.extent == D, "the axis that lies along memory in what is read"


def test_a_tiled_loop_is_printed_as_one() -> None:
    plan = tj.compile_plan([tj.input("x", (A, B)).T * 2.0])
    assert " share tiled" in show_kernel(plan.program.kernels[0])


@pytest.mark.toolchain
@pytest.mark.parametrize("shape", [(1, 1), (31, 33), (32, 64), (100, 7), (0, 5), (300, 65)])
@pytest.mark.parametrize("threads", [1, 3])
def test_transposes_are_numpys(backend: str, shape: tuple[int, int], threads: int) -> None:
    rng = np.random.default_rng(5)
    x, y = tj.input("x", (A, B)), tj.input("y", (B, A))
    given, other = rng.standard_normal(shape).astype(np.float32), rng.standard_normal(shape[::-1]).astype(np.float32)
    graph = tj.CompiledGraph([x.T + y, x.T * x.T - y, (x - y.T) * 2.0], backend=backend, threads=threads)
    expected = given.T + other, given.T * given.T - other, (given - other.T) * np.float32(2)
    for got, want in zip(graph(x=given, y=other), expected, strict=True):
        assert got.tobytes() == np.ascontiguousarray(want).tobytes()


@pytest.mark.toolchain
@pytest.mark.parametrize("perm", [(0, 2, 1), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_any_order_of_axes(backend: str, perm: tuple[int, ...]) -> None:
    given = np.random.default_rng(6).standard_normal((5, 34, 70))
    x = tj.input("x", (A, B, C), tj.float64)
    (got,) = tj.CompiledGraph([-x.permute(perm)], backend=backend, threads=2)(x=given)
    assert got.tobytes() == np.ascontiguousarray(-given.transpose(perm)).tobytes()


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "target", ["generic", *(["x86-64-v3"] if cpu.machine() == "x86_64" and cpu.vector_bytes("native") >= 32 else []), "native"]
)
def test_every_element_type_and_register(backend: str, target: str) -> None:
    rng = np.random.default_rng(7)
    dtypes = (tj.float32, tj.float64, tj.int32, tj.int64, tj.uint8)
    names = [tj.input(d.name, (A, B), d) for d in dtypes]
    graph = tj.CompiledGraph([x.T.minimum(x.dtype.numpy.type(99)) for x in names], backend=backend, target=target)
    for shape in ((70, 133), (16, 8), (9, 64)):
        given = {d.name: rng.integers(0, 120, shape).astype(d.numpy) for d in dtypes}
        for got, x in zip(graph(**given), given.values(), strict=True):
            assert got.tobytes() == np.minimum(np.ascontiguousarray(x.T), 99).astype(x.dtype).tobytes()
