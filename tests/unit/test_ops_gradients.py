"""Gradients where a convention decides them (ties, kinks, zeros, infinities), of functions and of several outputs, and gradients of gradients."""

import numpy as np
import pytest

import tjcore as tj
from tjcore import Dim, GraphError, nn

N, M = Dim("N", 0, 1000), Dim("M", 0, 1000)


def value(exprs, **arrays):
    shape = next(iter(arrays.values())).shape
    sizes = {"N": shape[0] if shape else 1, "M": shape[1] if len(shape) > 1 else 1}
    return tj.evaluate_graph(exprs, arrays, sizes)


def slope(function, *points, at=0):
    """The derivative of the sum of a function of vectors, at points."""
    arrays = {f"x{i}": np.asarray(p, np.float64) for i, p in enumerate(points)}
    inputs = [tj.input(name, (N,), "f64") for name in arrays]
    return value([tj.grad(function(*inputs).sum(), inputs[at])], **arrays)[0].tolist()


@pytest.mark.parametrize(
    ("function", "points", "expected"),
    [
        (nn.relu, [[-1, 0, 2]], [0, 0, 1]),
        (lambda x: tj.maximum(x, 0), [[-1, 0, 2]], [0, 0.5, 1]),  # a tie is shared
        (lambda x: tj.clip(x, -1, 1), [[-2, -1, 0, 1, 2]], [0, 0.5, 1, 0.5, 0]),
        (tj.abs, [[-3, 0, 3]], [-1, 0, 1]),
        (nn.softplus, [[0, np.inf, -np.inf]], [0.5, 1, 0]),
        (lambda x: nn.leaky_relu(x, 0.25), [[-1, 0, 2]], [0.25, 1, 1]),
        (nn.elu, [[-1000, 0, 1000]], [0, 1, 1]),
        (tj.sign, [[-3, 0, 3]], [0, 0, 0]),
        (lambda x: tj.floor(x) + x, [[1.5]], [1]),
        (lambda x: tj.where(x > 1, x * 2, tj.sqrt(x)), [[4, 0.25]], [2, 1]),
        (lambda x: x.astype("float32").astype("float64") * 3, [[1, 2]], [3, 3]),
        (lambda x: x * tj.stop_gradient(x), [[3, 4]], [3, 4]),
        (lambda x: x * x.astype(int).astype("float64"), [[3, 4]], [3, 4]),
        (lambda x: tj.remainder(x, 3), [[4, -4]], [1, 1]),
        (lambda x: tj.square(x) * tj.reciprocal(x), [[4, -4]], [1, 1]),
    ],
)
def test_one_operand(function, points, expected):
    assert slope(function, *points) == expected


@pytest.mark.parametrize(
    ("function", "points", "expected"),
    [
        (tj.maximum, [[1, 2, 3], [1, 3, 2]], [[0.5, 0, 1], [0.5, 1, 0]]),
        (tj.minimum, [[1, 2, 3], [1, 3, 2]], [[0.5, 1, 0], [0.5, 0, 1]]),
        (tj.logaddexp, [[0, np.inf, -np.inf], [0, np.inf, -np.inf]], [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]),
        (tj.remainder, [[7, -7], [3, 3]], [[1, 1], [-2, 3]]),
        (tj.fmod, [[7, -7], [3, 3]], [[1, 1], [-2, 2]]),
        (tj.copysign, [[2, -2, 2], [-1, -1, -0.0]], [[-1, 1, -1], [0, 0, 0]]),
        (tj.atan2, [[0, 1], [2, 0]], [[0.5, 0], [0, -1]]),
        (tj.hypot, [[3], [4]], [[0.6], [0.8]]),
    ],
)
def test_two_operands(function, points, expected):
    for at in (0, 1):
        np.testing.assert_allclose(slope(function, *points, at=at), expected[at], atol=1e-15)


def test_powers_at_zero():
    x, y = tj.input("x", (N,)), tj.input("y", (N,))
    slopes = value(tj.grad((x**y).sum(), [x, y]), x=np.array([0, 0, 2], np.float32), y=np.array([0, 2, 3], np.float32))
    np.testing.assert_allclose(slopes[0], [0, 0, 12])
    np.testing.assert_allclose(slopes[1], [0, 0, 8 * np.log(2)], rtol=1e-6)


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_products_with_zeros(zeros):
    x = np.array([[2.0, 3, 4, 5]])
    x[0, :zeros] = 0
    i = tj.input("x", (N, 4), "f64")
    (got,) = value([tj.grad(tj.prod(i), i)], x=x)
    np.testing.assert_allclose(got[0], [np.prod(np.delete(x[0], k)) for k in range(4)])


def test_largest_of_equal_ones_share():
    i = tj.input("x", (N, 4), "f64")
    (got,) = value([tj.grad(tj.max(i, axis=1).sum(), i)], x=np.array([[1.0, 3, 3, 2]]))
    np.testing.assert_array_equal(got, [[0, 0.5, 0.5, 0]])


ROWS = {
    "softmax": nn.softmax,
    "log_softmax": nn.log_softmax,
    "logsumexp": lambda x: tj.logsumexp(x, axis=1),
    "layer_norm": nn.layer_norm,
    "rms_norm": nn.rms_norm,
    "gelu": nn.gelu,
    "silu": nn.silu,
    "softplus": nn.softplus,
    "var": lambda x: tj.var(x, axis=(0, 1), correction=1),
    "std": lambda x: tj.std(x, axis=0),
    "prod": lambda x: tj.prod(x, axis=1),
    "cumulative_sum": lambda x: tj.cumulative_sum(x, axis=1) * x,
    "cumulative_sum of rows": lambda x: tj.cumulative_sum(x * x, axis=0),
    "norm": lambda x: tj.norm(x, axis=1),
    "norm of order 3": lambda x: tj.norm(x, axis=None, ord=1) * x,
    "mean": lambda x: tj.mean(x, axis=None, keepdims=True) * x,
    "tensordot": lambda x: tj.tensordot(x, x, axes=([0], [0])),
    "vecdot": lambda x: tj.vecdot(x, x),
}


@pytest.mark.parametrize("name", ROWS)
def test_first_and_second_derivatives_against_differences(name):
    random = np.random.default_rng(5)
    x, weight, along = (random.uniform(0.5, 2, (3, 4)) for _ in range(3))
    i = tj.input("x", (3, 4), "f64")
    result = ROWS[name](i)
    weights = [0.3 + 0.1 * k for k in range(result.rank + 1)]
    total = result * result * weights[-1]
    for _ in range(total.rank):
        total = (total * weights[0]).sum() + total.max() * 0.01
    first = tj.grad(total, i)
    second = tj.grad((first * tj.input("along", (3, 4), "f64")).sum().sum(), i)
    slopes, curve = value([first, second], x=x, along=along)

    def f(y):
        return value([total], x=y, along=along)[0]

    def g(y):
        return (value([first], x=y, along=along)[0] * along).sum()

    step = 1e-5
    for function, got in ((f, slopes), (g, curve)):
        for at in ((0, 0), (1, 2), (2, 3)):
            e = np.zeros_like(x)
            e[at] = step
            want = (function(x + e) - function(x - e)) / (2 * step)
            np.testing.assert_allclose(got[at], want, rtol=2e-5, atol=2e-7, err_msg=name)
    assert weight.shape == slopes.shape


def test_smooth_at_equal_operands_to_any_order():
    x = tj.input("x", (1,), "f64")
    y = nn.softplus(x).sum()
    values = []
    for _ in range(4):
        y = tj.grad(y, x).sum()
        values.append(value([y], x=np.zeros(1))[0].item())
    np.testing.assert_allclose(values, [0.5, 0.25, 0, -0.125], atol=1e-15)


def test_gradients_of_functions_of_nested_arguments():
    def loss(parameters, x):
        hidden = x * parameters["w"][0] + parameters["b"]
        return (hidden * hidden).sum()

    x, w, b = (tj.input(name, (N,), "f64") for name in "xwb")
    parameters = {"w": [w], "b": b}
    slopes = tj.grad(loss)(parameters, x)
    assert list(slopes) == ["w", "b"] and isinstance(slopes["w"], list)
    total, (by_parameters, by_x) = tj.value_and_grad(loss, (0, 1))(parameters, x)
    arrays = {"x": np.array([1.0, 2]), "w": np.array([3.0, 4]), "b": np.array([5.0, 6])}
    h = arrays["x"] * arrays["w"] + arrays["b"]
    got = value([total, by_parameters["w"][0], by_parameters["b"], by_x, slopes["b"]], **arrays)
    for a, b_ in zip(got, [(h * h).sum(), 2 * h * arrays["x"], 2 * h, 2 * h * arrays["w"], 2 * h], strict=True):
        np.testing.assert_allclose(a, b_)
    with pytest.raises(GraphError, match="wrt is 5, and the call has 2 positional arguments"):
        tj.grad(loss, 5)(parameters, x)
    with pytest.raises(GraphError, match="position of an argument"):
        tj.grad(loss, "x")(parameters, x)


def test_several_outputs_at_once():
    x, g, h = (tj.input(name, (N,), "f64") for name in "xgh")
    (got,) = tj.vjp([x * x, x.sin()], [x], [g, h])
    arrays = {"x": np.array([1.0, 2]), "g": np.array([3.0, 4]), "h": np.array([5.0, 6])}
    np.testing.assert_allclose(value([got], **arrays)[0], 2 * arrays["x"] * arrays["g"] + np.cos(arrays["x"]) * arrays["h"])
    with pytest.raises(GraphError, match="one cotangent per output"):
        tj.vjp([x], [x], [])
