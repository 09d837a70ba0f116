"""float16 is kept in 16 bits and computed with in float32: every value, both roundings, every function, on each toolchain."""

import numpy as np
import pytest

import tjcore as tj
from tjcore import CompiledGraph, Dim, GraphError, constant, evaluate_graph, float16, grad, input, read_graph, show_graph
from tjcore.conformance.compare import assert_same
from tjcore.graph import apply

N = Dim("N", 0, 1 << 18)
x, y = input("x", (N,), float16), input("y", (N,), float16)
EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
MIXED = np.random.default_rng(0).permutation(EVERY)

native = pytest.mark.toolchain


def between(neighbours, dtype):
    """Values around the middle of every two neighbours in float16, where rounding once and twice differ."""
    finite = np.sort(neighbours[np.isfinite(neighbours)].astype(np.float64))
    middle = (finite[1:] + finite[:-1]) / 2
    with np.errstate(over="ignore", under="ignore"):
        rows = [middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
        rows += [
            middle * (1 + 2.0**-30),
            [65519.99, 65520, 65520.01, 1e9, -1e9, np.nan, np.inf, -np.inf, 1e-300, -0.0, 2.0**-25, 2.0**-25 * 1.01],
        ]
        return np.concatenate(rows).astype(dtype)


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_conversions_round_once_to_nearest(compile, dtype):
    source = input("v", (N,), dtype)
    f = CompiledGraph([source.astype("float16"), x.astype(dtype)], backend=compile.backend)
    values = between(EVERY, dtype)
    with np.errstate(over="ignore"):
        (narrow, _), (_, wide) = f(v=values, x=np.resize(EVERY, len(values))), f(v=np.zeros(len(EVERY), dtype), x=EVERY)
        assert_same(narrow, values.astype(np.float16), f"{dtype.__name__} to float16")
    assert_same(wide, EVERY.astype(dtype), f"float16 to {dtype.__name__}")


@native
def test_arithmetic_is_numpys_for_every_value(compile):
    outputs = [x + y, x - y, x * y, x / y, x * 2.5, -x, x.relu(), x.less(y), x.equal(y), x.maximum(y), abs(x), x.sqrt(), x.floor()]
    with np.errstate(all="ignore"):
        a, b = EVERY, MIXED
        want = [a + b, a - b, a * b, a / b, a * np.float16(2.5), -a, np.where(a > 0, a, np.float16(0)), a < b, a == b]
        want += [np.maximum(a, b), np.abs(a), np.sqrt(a), np.floor(a)]
        for i, (got, expected) in enumerate(zip(CompiledGraph(outputs, backend=compile.backend)(x=a, y=b), want, strict=True)):
            assert_same(got, expected, f"output {i}")


@native
def test_views_joins_and_indices_move_it_as_it_is(compile):
    table = x.reshape((N, 1)).broadcast_to((N, 3))
    outputs = [x[::-1], tj.concat([x, y]), table.T, tj.take(x, input("i", (5,), "int64")), tj.pad(x, (2, 3), constant_values=1.5), x[1::2]]
    f = CompiledGraph(outputs, backend=compile.backend)
    for n in (1, 2, 33, 1000):
        arrays = {"x": MIXED[:n].copy(), "y": EVERY[:n].copy(), "i": np.array([0, -1, 0, n - 1, 0])}
        for got, want in zip(f(**arrays), evaluate_graph(outputs, arrays, {"N": n}), strict=True):
            assert_same(got, want, f"at N={n}")


def test_folds_and_products_compute_in_float32_and_round_at_the_end(compile):
    m = input("m", (N, 48), float16)
    outputs = [m.sum(), m.mean(0), m.max(0), m.cumulative_sum(0), m @ m.T, tj.nn.softmax(m), (m * m).sum(None)]
    assert all(node.dtype is float16 for node in outputs)
    a = np.random.default_rng(1).standard_normal((70, 48)).astype(np.float16)
    got = CompiledGraph(outputs, backend=compile.backend)(m=a)
    for mine, want in zip(got, evaluate_graph(outputs, {"m": a}, {"N": 70}), strict=True):
        assert_same(mine, want, "against the reference")
    np.testing.assert_array_equal(got[0], a.astype(np.float32).sum(1).astype(np.float16))
    np.testing.assert_allclose(got[4].astype(np.float32), a.astype(np.float32) @ a.astype(np.float32).T, rtol=2e-3, atol=2e-3)


def test_types_combine_as_in_numpy():
    for other in (np.float32, np.float64, np.uint8, np.int32, np.bool_):
        if other is not np.bool_:
            assert (x + input("o", (N,), other)).dtype.numpy == np.result_type(np.float16, other)
    assert (x + 1).dtype is (2.5 * x).dtype is x.exp().dtype is float16
    assert constant(0.1, float16).dtype is float16
    with pytest.raises(GraphError, match=r"70000.* is out of the range of float16"):
        x + 70000


def test_an_op_of_the_table_does_not_compute_with_it():
    with pytest.raises(GraphError, match="add: values are kept as float16, and not computed with; cast to float32 first"):
        apply("add", (x, y))
    with pytest.raises(GraphError, match="cast: float16 becomes int32 by way of float32"):
        apply("cast", (x,), "int32")
    assert x.astype("int32").dtype.name == "int32"


def test_graphs_print_and_gradients_keep_the_type():
    output = (x * y).sum(0) + x.exp().mean()
    (again,) = read_graph(show_graph([output]))
    assert show_graph([again]) == show_graph([output])
    slope = grad(output, x)
    assert slope.dtype is float16 and slope.shape == (N,)
    a, b = np.linspace(-1, 1, 9).astype(np.float16), np.linspace(2, 1, 9).astype(np.float16)
    (got,) = evaluate_graph([slope], {"x": a, "y": b}, {"N": 9})
    np.testing.assert_allclose(got.astype(float), b + np.exp(a.astype(float)) / 9, rtol=3e-3)
