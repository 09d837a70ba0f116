"""`grad`, `value_and_grad` and `vjp` of functions: of arrays, of traced values and of expressions, and of each other."""

import numpy as np
import pytest

import tjcore as tj
from tjcore import GraphError

RNG = np.random.default_rng(3)
X, Y = RNG.standard_normal((6, 3)), RNG.standard_normal(6)


@pytest.fixture(autouse=True)
def on_the_reference_evaluator():
    with tj.settings(backend="reference"):
        yield


def loss(params, x, y):
    prediction = np.tanh(x @ params["w"] + params["b"])
    return ((prediction - y) ** 2).mean()


def slope(function, at, step=1e-6):
    """The derivative by finite differences."""
    out = np.zeros_like(at)
    for i in np.ndindex(*at.shape):
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        out[i] = (function(up) - function(down)) / (2 * step)
    return out


def test_a_function_of_arrays():
    params = {"w": RNG.standard_normal(3), "b": np.float64(0.3)}
    value, slopes = tj.value_and_grad(loss)(params, X, Y)
    np.testing.assert_allclose(value, loss(params, X, Y))
    assert list(slopes) == ["w", "b"]
    np.testing.assert_allclose(slopes["w"], slope(lambda w: loss({**params, "w": w}, X, Y), params["w"]), rtol=1e-6)
    np.testing.assert_allclose(slopes["b"], slope(lambda b: loss({**params, "b": b}, X, Y), np.array(0.3)), rtol=1e-6)
    by_x, by_y = tj.grad(loss, argnums=(1, 2))(params, X, Y)
    np.testing.assert_allclose(by_x, slope(lambda x: loss(params, x, Y), X), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(by_y, slope(lambda y: loss(params, X, y), Y), rtol=1e-5, atol=1e-9)


def test_one_build_for_all_sizes_and_names_that_stay():
    derivative = tj.grad(loss)
    assert derivative.__name__ == "loss"
    for n in (6, 2, 4):
        assert derivative({"w": np.ones(3), "b": 0.1}, X[:n], Y[:n])["w"].shape == (3,)


def test_inside_a_traced_function():
    @tj.jit
    def step(w, x, y, rate):
        value, slopes = tj.value_and_grad(lambda w: loss({"w": w, "b": 0.0}, x, y))(w)
        return w - rate * slopes, value

    w = RNG.standard_normal(3)
    for n in (6, 4):
        after, value = step(w, X[:n], Y[:n], 0.1)
        expected = w - 0.1 * slope(lambda w: loss({"w": w, "b": 0.0}, X[:n], Y[:n]), w)  # noqa: B023 - called at once
        np.testing.assert_allclose(after, expected, rtol=1e-7)
        np.testing.assert_allclose(value, loss({"w": w, "b": 0.0}, X[:n], Y[:n]))
    assert step.compilations == 1
    assert after.dtype == np.float64


def test_gradients_of_gradients():
    hessian_diagonal = tj.grad(lambda x: tj.grad(lambda t: (t**3).sum())(x).sum())
    np.testing.assert_allclose(hessian_diagonal(np.array([1.0, 2.0])), [6, 12])
    third = tj.grad(tj.grad(tj.grad(lambda x: x**4)))
    np.testing.assert_allclose(third(np.float64(2.0)), 48)
    np.testing.assert_allclose(third(2.0), 48)


def test_an_argument_is_a_variable_of_its_own():
    @tj.jit
    def f(w):
        x = w * 3
        return tj.grad(lambda w: (w * x).sum())(w)

    np.testing.assert_allclose(f(np.array([1.0, 2.0])), [3, 6])


def test_more_than_the_scalar():
    def with_count(x):
        return (x * x).sum(), {"count": x.shape[0], "twice": 2 * x}

    slopes, extra = tj.grad(with_count, has_aux=True)(np.arange(3.0))
    assert slopes.tolist() == [0, 2, 4]
    assert (extra["count"], extra["twice"].tolist()) == (3, [0, 2, 4])
    (value, extra), slopes = tj.value_and_grad(with_count, has_aux=True)(np.arange(2.0))
    assert (value, slopes.tolist(), extra["count"]) == (1, [0, 2], 2)


def test_vjp_of_a_function():
    a, b = RNG.standard_normal((3, 4)), RNG.standard_normal((4, 2))
    result, pull = tj.vjp(lambda a, b: {"product": a @ b, "sum": a.sum()}, a, b)
    np.testing.assert_allclose(result["product"], a @ b)
    seed = RNG.standard_normal((3, 2))
    by_a, by_b = pull({"product": seed, "sum": np.float64(2.0)})
    np.testing.assert_allclose(by_a, seed @ b.T + 2)
    np.testing.assert_allclose(by_b, a.T @ seed)

    @tj.jit
    def inside(a, b, seed):
        product, pull = tj.vjp(lambda a: a @ b, a)
        return product, pull(seed)[0]

    np.testing.assert_allclose(inside(a, b, seed)[1], seed @ b.T)
    with pytest.raises(GraphError, match="vjp of <lambda>: the cotangent must have the structure of the result"):
        tj.vjp(lambda a: (a, a), a)[1](seed)


def test_of_expressions_as_before():
    x = tj.input("x", (tj.Dim("N"),))
    assert isinstance(tj.grad((x * x).sum(), x), tj.Expr)
    assert isinstance(tj.grad((x * x).sum(), [x])[0], tj.Expr)
    assert isinstance(tj.vjp([x * 2], [x], [x])[0], tj.Expr)
    assert isinstance(tj.grad(lambda x: (x * x).sum())(x), tj.Expr)
    value, slope = tj.value_and_grad(lambda x: (x * x).sum())(x)
    assert isinstance(value, tj.Expr)
    assert isinstance(slope, tj.Expr)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: tj.grad(lambda x: x * 2)(X),
            r"grad of <lambda>: the function must return one number, got shape \(x_0, x_1\); sum it, or use vjp",
        ),
        (lambda: tj.grad(lambda x: 3)(X), "grad of <lambda>: the function must return one number that depends on its arguments, got 3"),
        (
            lambda: tj.grad(lambda x: x.sum())(np.arange(3)),
            r"only floats have gradients, got int64 of shape \(x_0,\); pass x.astype\(float\)",
        ),
        (lambda: tj.grad(lambda x: x.sum(), 1)(X), "wrt is 1, and the call has 1 positional arguments"),
        (lambda: tj.grad(lambda x: x.sum(), "x"), "wrt must be the position of an argument or several, got 'x'"),
        (lambda: tj.value_and_grad(3, 0), "value_and_grad: expected an Expr or a function, got 3"),
        (lambda: tj.grad(lambda x: float(x.sum()))(X), r"grad of <lambda>: float\(\) needs the number"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(GraphError, match=message):
        make()
