"""Products of every rank, as NumPy's matmul takes them: shapes, bits by the chain rule, gradients, and how batches are worked."""

import numpy as np
import pytest

from tjcore import CompiledGraph, Dim, GraphError, compile_plan, evaluate_graph, float64, grad, input, int32, numerics
from tjcore.loops import Contract, verify_kernel

N, B = Dim("N", 0, 512), Dim("B", 0, 64)
SHAPES = [
    ((2, 3, 5), (2, 5, 4)),
    ((3, 5), (2, 5, 4)),
    ((7, 3, 5), (5, 4)),
    ((7, 1, 3, 5), (1, 2, 5, 4)),
    ((2, 3, 4, 6, 5), (3, 1, 5, 4)),
    ((5,), (5, 4)),
    ((3, 5), (5,)),
    ((5,), (5,)),
    ((5,), (2, 5, 4)),
    ((2, 3, 5), (5,)),
    ((2, 6, 3, 5), (5,)),
    ((0,), (0,)),
    ((2, 0, 5), (2, 5, 4)),
    ((0, 3, 5), (5, 4)),
    ((2, 3, 0), (0, 4)),
    ((3, 5), (5, 1)),
    ((9, 33, 300), (300, 17)),
    ((4, 40, 300), (4, 300, 20)),
]


def values(shape, seed, dtype=np.float32):
    random = np.random.default_rng(seed)
    return random.integers(-50, 50, shape).astype(dtype) if np.dtype(dtype).kind == "i" else random.standard_normal(shape).astype(dtype)


@pytest.fixture(scope="module")
def compiled():
    """For every pair of shapes the product alone and with work behind it, from one build per dtype."""
    built = {}

    def get(dtype):
        if dtype not in built:
            outputs = []
            for i, (left, right) in enumerate(SHAPES):
                y = input(f"a{i}", left, dtype) @ input(f"b{i}", right, dtype)
                outputs += [y, y * 2 - 1]
            built[dtype] = CompiledGraph(outputs)
        return built[dtype]

    return get


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [float64, int32], ids=str)
def test_shapes_and_bits_are_those_of_the_chain_rule(compiled, dtype):
    arrays = {}
    for i, (left, right) in enumerate(SHAPES):
        arrays |= {f"a{i}": values(left, i, dtype.numpy), f"b{i}": values(right, i + 100, dtype.numpy)}
    got = compiled(dtype)(**arrays)
    for i, shapes in enumerate(SHAPES):
        a, b = arrays[f"a{i}"], arrays[f"b{i}"]
        want = numerics.product(a, b)
        near = np.matmul(a, b)
        assert got[2 * i].shape == near.shape == want.shape, shapes
        assert np.allclose(want, near, rtol=1e-9, atol=1e-9), shapes
        assert np.array_equal(got[2 * i], want), shapes
        assert np.array_equal(got[2 * i + 1], want * 2 - 1), shapes


@pytest.mark.parametrize("threads", [1, 3])
def test_symbolic_batches_with_rows_that_stretch(threads):
    a, b, bias = input("a", (B, 3, N, 8)), input("b", (3, 8, N)), input("bias", (B, 1, 1, N))
    f = CompiledGraph([(a @ b + bias).relu()], threads=threads)
    for batch, n in ((0, 4), (1, 1), (2, 0), (5, 17), (3, 70)):
        given = {"a": values((batch, 3, n, 8), n), "b": values((3, 8, n), n + 1), "bias": values((batch, 1, 1, n), n + 2)}
        want = np.maximum(numerics.product(given["a"], given["b"]) + given["bias"], 0)
        (got,) = f(**given)
        assert got.shape == want.shape and np.array_equal(got, want), (batch, n)


@pytest.mark.parametrize("shapes", [s for s in SHAPES if all(0 not in x for x in s) and max(map(max, s)) < 10], ids=str)
def test_gradients_are_those_of_a_sum_of_products(shapes):
    """The slope of sum(w * (a @ b)): of a it is what einsum makes of w and b, since the product is linear in each."""
    a, b = (input(name, shape, float64) for name, shape in zip("ab", shapes, strict=True))
    y = a @ b
    w = input("w", y.shape, float64)
    given = {"a": values(shapes[0], 1, np.float64), "b": values(shapes[1], 2, np.float64), "w": values(y.shape, 3, np.float64)}
    slopes = evaluate_graph([grad(y, a, cotangent=w), grad(y, b, cotangent=w)], given, {})
    for name, slope in zip("ab", slopes, strict=True):
        want = np.empty_like(given[name])
        for at in np.ndindex(want.shape):
            unit = np.zeros_like(want)
            unit[at] = 1
            want[at] = np.sum(given["w"] * np.matmul(*({**given, name: unit}[x] for x in "ab")))
        assert slope.shape == want.shape and np.allclose(slope, want, rtol=1e-12, atol=1e-12), name


def product_of(*outputs):
    ((stmt, kernel),) = [(k.body[0], k) for k in compile_plan(outputs).program.kernels if isinstance(k.body[0], Contract)]
    verify_kernel(kernel)
    return stmt


def test_a_batch_times_one_matrix_is_one_product_of_more_rows():
    stmt = product_of(input("a", (B, N, 8)) @ input("b", (8, 5)) + input("bias", (5,)))
    assert not stmt.batches and str(stmt.rows.extent) == str(B * N)


def test_batches_that_lie_together_are_one_batch():
    assert len(product_of(input("a", (B, 3, N, 8)) @ input("b", (B, 3, 8, N))).batches) == 1
    assert len(product_of(input("a", (B, 3, N, 8)) @ input("b", (3, 8, N))).batches) == 2


def test_a_vector_stands_on_the_left_where_work_runs_along_memory():
    stmt = product_of((input("a", (N, 8)) @ input("v", (8,)) + 1).relu())
    assert stmt.rows.extent == 1 and stmt.cols.extent is N and stmt.scratch is None


@pytest.mark.parametrize(
    ("left", "right", "says"),
    [
        ((), (3,), "must have axes"),
        ((2, 3), (4,), "inner sizes differ"),
        ((3, 4, 5), (2, 5, 6), "do not broadcast"),
        ((3,), (2, 4, 3), "left, axis 0"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(left, right, says):
    with pytest.raises(GraphError, match=says):
        input("a", left) @ input("b", right)
