"""Functions under their array API names against NumPy: values, result types, special values; promotion; gradients by hand where conventions decide."""

from functools import cache

import numpy as np
import pytest

import tjcore as tj
from tjcore import Dim, nn
from tjcore.conformance.values import combinations, mixed, ordinary, special
from tjcore.dtypes import DTYPES, as_dtype

N, M = Dim("N", 0, 1000), Dim("M", 0, 1000)
FLOATS = (tj.float32, tj.float64)
NUMBERS = tuple(d for d in DTYPES if d is not tj.bool_)
REPEATED = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def run(expr, sizes=None, **arrays):
    """The value of an expression, by the evaluator that defines it; the conformance suite compares toolchains with that one."""
    if sizes is None:
        sizes = {"N": next(iter(arrays.values())).shape[0]}
        sizes["M"] = max((a.shape[1] for a in arrays.values() if a.ndim > 1), default=1)
    (value,) = tj.evaluate_graph([expr], arrays, sizes)
    return value


def same(got, want):
    want = np.asarray(want)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    if want.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))


BINARY = {
    **dict.fromkeys(("add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "maximum", "minimum"), NUMBERS),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"), DTYPES),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), DTYPES),
    **{name: tuple(d for d in DTYPES if d.kind != "float") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), (tj.int32, tj.int64, tj.uint8)),
    **dict.fromkeys(("copysign", "nextafter", "divide"), FLOATS),
}
NUMPY = {"bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift}


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, ds in BINARY.items() for d in ds], ids=str)
def test_two_operands(name, dtype):
    a, b = combinations([dtype, dtype])
    if name.startswith(("max", "min")):  # of equal zeros NumPy takes either
        keep = ~((a == 0) & (b == 0))
        a, b = a[keep], b[keep]
    expr = getattr(tj, name)(tj.input("a", (N,), dtype), tj.input("b", (N,), dtype))
    with np.errstate(all="ignore"):
        same(run(expr, a=a, b=b), NUMPY.get(name, getattr(np, name, None))(a, b))


UNARY = {
    **dict.fromkeys(("isnan", "isfinite", "isinf", "logical_not"), DTYPES),
    **dict.fromkeys(("abs", "negative", "square", "sign", "signbit", "floor", "ceil", "trunc", "positive"), NUMBERS),
    "round": FLOATS,
    "bitwise_invert": tuple(d for d in DTYPES if d.kind != "float"),
    **dict.fromkeys(("sqrt", "reciprocal"), FLOATS),
}


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, ds in UNARY.items() for d in ds], ids=str)
def test_one_operand(name, dtype):
    x = special(dtype)
    if name == "signbit" and dtype.kind != "float":
        want = x < 0
    else:
        with np.errstate(all="ignore"):
            want = getattr(np, {"bitwise_invert": "invert"}.get(name, name))(x)
    same(run(getattr(tj, name)(tj.input("x", (N,), dtype)), x=x), want)


OPERATORS = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "divmod": lambda a, b: divmod(a, b)[1],
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "~": lambda a, b: ~a + b,
    "**": lambda a, b: a ** (b * b),
}


@pytest.mark.parametrize("sign", OPERATORS)
def test_operators_of_tensors_and_numbers(sign):
    op, random = OPERATORS[sign], np.random.default_rng(0)
    a, b = (ordinary(tj.int32, (99,), random) % 7 - 3 for _ in range(2))
    x, y = tj.input("a", (N,), tj.int32), tj.input("b", (N,), tj.int32)
    with np.errstate(all="ignore"):
        same(run(op(x, y), a=a, b=b), op(a, b))
        same(run(op(x, 3), a=a), op(a, 3))
        same(run(op(3, y), b=b) if sign != "~" else run(op(y, 3), b=b), op(3, b) if sign != "~" else op(b, 3))


def test_equal_signs_compare_identity():
    x, y = tj.input("x", (N,)), tj.input("y", (N,))
    assert x == x and x != y and len({x, y, x}) == 2


@pytest.mark.parametrize("a", DTYPES, ids=str)
@pytest.mark.parametrize("b", DTYPES, ids=str)
def test_promotion_of_tensors_is_numpys(a, b):
    x, y = tj.input("x", (N,), a), tj.input("y", (N,), b)
    assert tj.equal(x, y).sources[0].dtype is as_dtype(np.result_type(a.numpy, b.numpy)).computed
    if tj.bool_ not in (a, b):
        assert (x + y).dtype.numpy == np.result_type(a.numpy, b.numpy)
        assert tj.where(tj.input("c", (N,), tj.bool_), x, y).dtype.numpy == np.result_type(a.numpy, b.numpy)


@pytest.mark.parametrize("number", [1, 0.5, float("inf")])
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_numbers_are_weak(dtype, number):
    x = special(dtype)
    with np.errstate(all="ignore"):
        same(run(tj.input("x", (N,), dtype) * number, x=x), x * number)
        same(run(number < tj.input("x", (N,), dtype), x=x), number < x)


def test_numbers_that_are_not_finite_may_stand_in_expressions():
    x = tj.input("x", (N,))
    given = np.array([0, 1, np.nan, -np.inf], np.float32)
    for number in (np.inf, -np.inf, np.nan):
        text = tj.show_graph([x * number])
        assert tj.show_graph(tj.read_graph(text)) == text
        with np.errstate(all="ignore"):
            same(run(x * number, x=given), given * np.float32(number))


@pytest.mark.parametrize("to", DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_casts_of_what_fits_are_numpys(dtype, to):
    x = special(dtype)
    if dtype.kind == "float" and to.kind in ("int", "uint"):
        x = x[np.isfinite(x)]
        info, wide = np.iinfo(to.numpy), x.astype(np.float64)
        x = x[(wide > float(info.min) - 1) & (wide < float(info.max))]
    with np.errstate(all="ignore"):
        same(run(tj.input("x", (N,), dtype).astype(to), x=x), x.astype(to.numpy))


def test_casts_of_what_does_not_fit():
    x = np.array([np.nan, np.inf, -np.inf, 2**31, -(2**31) - 1.0, 1e300, 300, -1, -(2**31) - 0.5], np.float64)
    low = -(2**31)
    same(run(tj.input("x", (N,), "f64").astype("int32"), x=x), np.array([low, low, low, low, low, low, 300, -1, low], np.int32))
    same(run(tj.input("x", (N,), "f64").astype("uint8"), x=x), np.array([0, 0, 0, 0, 0, 0, 44, 255, 0], np.uint8))


def test_integer_powers_wrap_and_negative_ones_are_whole():
    a, b = combinations([tj.int32, tj.int32])
    got = run(tj.pow(tj.input("a", (N,), tj.int32), tj.input("b", (N,), tj.int32)), a=a, b=b)
    for x, y, z in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        if y >= 0:
            want = pow(x, y, 2**32)
            want -= 2**32 * (want >= 2**31)
        else:
            want = {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)
        assert z == want, (x, y)


REDUCTIONS = {
    "sum": {},
    "prod": {},
    "max": {},
    "min": {},
    "mean": {},
    "var": {},
    "std": {"correction": 0.5},
    "any": {},
    "all": {},
    "count_nonzero": {},
}


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1,), ()], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, axis, keepdims):
    for dtype in DTYPES:
        x = ordinary(dtype, (3, 4, 5), np.random.default_rng(1))
        if dtype is tj.bool_ and name in ("var", "std"):
            continue
        expr = getattr(tj, name)(tj.input("x", (3, N, M), dtype), axis=axis, keepdims=keepdims, **REDUCTIONS[name])
        got = run(expr, {"N": 4, "M": 5}, x=x)
        options = {"ddof" if key == "correction" else key: value for key, value in REDUCTIONS[name].items()}
        want = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims, **options))
        assert got.shape == want.shape
        if not (name in ("sum", "prod") and dtype is tj.uint8):  # NumPy sums bytes in uint64, which tjcore has not
            assert got.dtype == want.dtype
        with np.errstate(all="ignore"):
            near = 8e-3 if dtype is tj.float16 else 2e-5  # NumPy rounds float16 at each step, tjcore once
            np.testing.assert_allclose(got, want.astype(got.dtype), rtol=near, atol=near / 20)


def test_any_and_all_of_nothing():
    x = tj.input("x", (N, M), tj.bool_)
    empty = np.zeros((3, 0), bool)
    same(run(tj.any(x, axis=1), {"N": 3, "M": 0}, x=empty), empty.any(1))
    same(run(tj.all(x, axis=1), {"N": 3, "M": 0}, x=empty), empty.all(1))
    same(run(tj.prod(x, axis=1), {"N": 3, "M": 0}, x=empty), empty.prod(1))


@REPEATED
def test_cumulative_sum_adds_in_order(dtype):
    x = mixed(dtype, (7, 300), np.random.default_rng(2), 0.01 if dtype.kind == "float" else 0.1)
    for axis in (0, 1, -1):
        with np.errstate(all="ignore"):
            want = np.cumsum(x, axis=axis, dtype=np.float32).astype(np.float16) if dtype is tj.float16 else np.cumsum(x, axis=axis)
        want = want.astype(np.int64) if want.dtype == np.uint64 else want
        same(run(tj.cumulative_sum(tj.input("x", (N, M), dtype), axis=axis), x=x), want)
    with pytest.raises(tj.GraphError, match="only be left out for a vector"):
        tj.cumulative_sum(tj.input("x", (N, M), dtype))


def test_rows_of_softmax_that_are_masked_or_hold_nan():
    x = np.array([[0, 1, 2], [-np.inf] * 3, [0, np.inf, 1], [0, np.nan, 1], [-np.inf, 0, 0]], np.float32)
    got = run(nn.softmax(tj.input("x", (N, 3))), x=x)
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(1, keepdims=True))
        want = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert np.isnan(got[1:4]).all()


def test_logsumexp_at_infinities():
    x = np.array([[-np.inf, -np.inf], [np.inf, 0], [1000, 1000], [-np.inf, 3], [np.nan, 1]], np.float32)
    got = run(tj.logsumexp(tj.input("x", (N, 2)), axis=1), x=x)
    np.testing.assert_allclose(got, np.array([-np.inf, np.inf, 1000 + np.log(2), 3, np.nan], np.float32), rtol=1e-6)


@cache
def erf():
    from math import erf as scalar

    return np.vectorize(scalar)


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(x, 0),
    "log_sigmoid": lambda x: -np.logaddexp(-x, 0),
    "soft_sign": lambda x: x / (1 + np.abs(x)),
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    x = np.concatenate([np.linspace(-30, 30, 121), [0.0, -0.0, 1e-8]])
    np.testing.assert_allclose(run(getattr(nn, name)(tj.input("x", (N,), "f64")), x=x), ACTIVATIONS[name](x), rtol=1e-12, atol=1e-15)


def test_gelu_by_erf():
    x = np.linspace(-5, 5, 41)
    got = run(nn.gelu(tj.input("x", (N,), "f64"), approximate=False), x=x)
    np.testing.assert_allclose(got, 0.5 * x * (1 + erf()(x / np.sqrt(2))), rtol=1e-12)


def test_norms_and_losses():
    random = np.random.default_rng(3)
    x, w, b = random.standard_normal((6, 9)), random.standard_normal(9), random.standard_normal(9)
    i, iw, ib = tj.input("x", (N, 9), "f64"), tj.input("w", (9,), "f64"), tj.input("b", (9,), "f64")
    centred = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(run(nn.layer_norm(i, iw, ib), x=x, w=w, b=b), centred * w + b)
    np.testing.assert_allclose(run(nn.rms_norm(i, iw), x=x, w=w), x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * w)
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    p = np.exp(random.standard_normal((6, 9)))
    np.testing.assert_allclose(run(nn.log_softmax(i), x=x), logs)
    np.testing.assert_allclose(run(nn.cross_entropy(i, tj.input("p", (N, 9), "f64")), x=x, p=p), -(p * logs).sum(1))
    for order in (None, 1, 2, np.inf, -np.inf, 0):
        np.testing.assert_allclose(run(tj.norm(i, axis=1, ord=order), x=x), np.linalg.norm(x, ord=order, axis=1))


def test_products_of_tensors():
    random = np.random.default_rng(4)
    a, b = random.standard_normal((3, 4, 5)), random.standard_normal((4, 5, 2))
    x, y = tj.input("a", (3, N, 5), "f64"), tj.input("b", (N, 5, 2), "f64")
    sizes = {"N": 4}
    np.testing.assert_allclose(run(tj.tensordot(x, y), sizes, a=a, b=b), np.tensordot(a, b))
    np.testing.assert_allclose(run(tj.tensordot(x, y, axes=([1], [0])), sizes, a=a, b=b), np.tensordot(a, b, ([1], [0])))
    np.testing.assert_allclose(run(tj.tensordot(x, y, axes=0), sizes, a=a, b=b), np.tensordot(a, b, 0))
    np.testing.assert_allclose(run(tj.vecdot(x, x), sizes, a=a), np.vecdot(a, a) if hasattr(np, "vecdot") else (a * a).sum(-1))
    u, v = a[0, :, 0].copy(), b[:, 0, 0].copy()
    p, q = tj.input("u", (N,), "f64"), tj.input("v", (N,), "f64")
    np.testing.assert_allclose(run(tj.outer(p, q), sizes, u=u, v=v), np.outer(u, v))
    np.testing.assert_allclose(run(tj.dot(p, q), sizes, u=u, v=v), np.dot(u, v))
    np.testing.assert_allclose(run(tj.dot(tj.input("m", (N, N), "f64"), p), sizes, m=np.outer(u, v), u=u), np.outer(u, v) @ u)
    np.testing.assert_array_equal(run(tj.matrix_transpose(x), sizes, a=a), a.swapaxes(1, 2))
    with pytest.raises(tj.GraphError, match="axis 1 on the left is N and axis 1 on the right is 5"):
        tj.tensordot(x, y, axes=([1], [1]))


def test_tensors_of_one_value():
    same(run(tj.full((N, 2), 7), {"N": 3}), np.full((3, 2), 7))
    same(run(tj.zeros((N,)), {"N": 3}), np.zeros(3, np.float32))
    x = tj.input("x", (N,), tj.uint8)
    same(run(tj.ones_like(x), {"N": 2}), np.ones(2, np.uint8))
    same(run(tj.full_like(x, True, dtype=bool), {"N": 2}), np.ones(2, bool))
