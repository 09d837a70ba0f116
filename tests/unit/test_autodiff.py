"""Gradients: every rule of the table against finite differences in float64, structural ops in compositions, and cases worked by hand."""

import math

import numpy as np
import pytest

from tjcore import Dim, compile_plan, constant, evaluate_graph, float32, float64, grad, input
from tjcore.conformance.opcases import LETTERS
from tjcore.graph import apply
from tjcore.ops import OPS
from tjcore.traversal import toposort

N = Dim("N", 1, 64)
POINTS = {  # where each function is smooth and finite, away from its edges
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt", "log1p", "cbrt", "div"), (0.3, 3.0)),
    **dict.fromkeys(("asin", "acos", "atanh"), (-0.8, 0.8)),
    "acosh": (1.2, 4.0),
    "pow": (0.4, 2.5),
    "tan": (-1.2, 1.2),
}


def values(name, count, letter):
    low, high = POINTS.get(name, (-2.0, 2.0))
    return np.random.default_rng(len(name) + ord(letter)).uniform(low, high, count) + 0.013  # nothing at an integer or a half


def slope_by_differences(f, arrays, name, step=1e-5):
    x = arrays[name]
    slope = np.empty_like(x)
    for at in np.ndindex(x.shape):
        sides = []
        for sign in (1, -1):
            moved = {key: a.copy() for key, a in arrays.items()}
            moved[name][at] += sign * step
            sides.append(f(moved))
        slope[at] = (sides[0] - sides[1]) / (2 * step)
    return slope


def check(loss, arrays, rtol=1e-6, atol=1e-8):
    """The gradients of a float64 scalar with respect to all its inputs against finite differences."""
    inputs = [node for node in toposort([loss]) if node.op == "input"]
    sizes = {"N": next((s for node in inputs for d, s in zip(node.shape, arrays[node.arg].shape, strict=True) if d is N or d == N), 1)}
    slopes = evaluate_graph(grad(loss, inputs), arrays, sizes)

    def value(moved):
        return float(evaluate_graph([loss], moved, sizes)[0])

    for node, slope in zip(inputs, slopes, strict=True):
        assert slope.shape == arrays[node.arg].shape and slope.dtype == np.float64
        np.testing.assert_allclose(slope, slope_by_differences(value, arrays, node.arg), rtol, atol, err_msg=f"with respect to {node.arg}")


SMOOTH = [op.name for op in OPS.values() if op.kind == "elementwise" and op.gradient is not None]


def takes(name, dtype):
    try:
        return apply(name, tuple(input(letter, (N,), dtype) for letter in LETTERS[: OPS[name].arity]))
    except ValueError:
        return None


@pytest.mark.parametrize("name", [name for name in SMOOTH if takes(name, float64) is not None])
def test_each_elementwise_rule(name):
    e = takes(name, float64)
    arrays = {node.arg: values(name, 7, node.arg) for node in e.sources}
    weights = np.linspace(0.5, 2, 7)
    check((e * input("weights", (N,), float64)).sum(), arrays | {"weights": weights}, rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("name", [name for name in SMOOTH if takes(name, float64) is None and takes(name, float32) is not None])
def test_each_rule_that_is_there_for_float32_only(name):
    e = takes(name, float32)
    arrays = {node.arg: values(name, 7, node.arg).astype(np.float32) for node in e.sources}
    slopes = evaluate_graph(grad(e, e.sources, cotangent=constant(1).broadcast_to((N,))), arrays, {"N": 7})
    wide = {letter: a.astype(np.float64) for letter, a in arrays.items()}
    for node, slope in zip(e.sources, slopes, strict=True):
        step = 1e-6
        up, down = ({**wide, node.arg: wide[node.arg] + sign * step} for sign in (1, -1))
        difference = OPS[name].meaning(None, None, *up.values()).astype(np.float64) - OPS[name].meaning(None, None, *down.values())
        np.testing.assert_allclose(slope, difference / (2 * step), rtol=1e-4, atol=1e-5)


X, W, V = input("x", (N, 3), float64), input("w", (3, 4), float64), input("v", (3,), float64)
COMPOSED = {
    "sums over each axis": (X.sum(0) * V).sum() + (X.sum(1) * X.sum(1)).sum(),
    "means": (X.mean(0) * V).sum() * X.mean(1).mean(),
    "extremes": (X.max(1) * X.min(1)).sum() + X.max(0).min(),
    "products": ((X @ W) * (X @ W)).sum().sum(),
    "a product of one with itself": (X.T @ X).sum().sum() + (X @ X.T).max(0).sum(),
    "turned operands": ((W.T @ X.T) * (X @ W).T).sum().sum(),
    "broadcasts": ((X * V + X.sum(1).expand_dims(1)) * V.expand_dims(0).broadcast_to((N, 3))).sum().sum(),
    "views of views": (X.expand_dims(0).permute((2, 0, 1)).squeeze(1).expand_dims(2) * V.expand_dims(1).expand_dims(1)).sum(0).sum().sum(),
    "a value used many times": ((X * X + X) * (X * X - X.exp())).sum().sum(),
    "softmax": ((X - X.max(1).expand_dims(1)).exp() / (X - X.max(1).expand_dims(1)).exp().sum(1).expand_dims(1) * V).sum().sum(),
    "a norm": (((X - X.mean(0)) * (X - X.mean(0))).mean(0) + 0.1).sqrt().sum(),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_compositions(name):
    random = np.random.default_rng(9)
    arrays = {"x": random.standard_normal((4, 3)), "w": random.standard_normal((3, 4)), "v": random.standard_normal(3)}
    used = {node.arg for node in toposort([COMPOSED[name]]) if node.op == "input"}
    check(COMPOSED[name], {key: a for key, a in arrays.items() if key in used}, rtol=1e-5, atol=1e-6)


def at(e, x):
    """The slope of a scalar function at a number."""
    s = input("s", ())
    return float(evaluate_graph([grad(e(s), s)], {"s": np.float32(x)[...]}, {})[0])


BY_HAND = {
    "relu below": (lambda s: s.relu(), -1, 0),
    "relu at zero": (lambda s: s.relu(), 0, 0),
    "relu above": (lambda s: s.relu(), 3, 1),
    "abs at zero": (abs, 0, 0),
    "abs below": (abs, -2, -1),
    "a tie shares": (lambda s: s.maximum(s * 1), 5, 1),
    "the constant wins": (lambda s: s.maximum(7), 5, 0),
    "minimum takes": (lambda s: s.minimum(7), 5, 1),
    "a step has none": (lambda s: s.positive() * 3 + s.floor() + s.round(), 1.2, 0),
    "a square": (lambda s: s * s, 3, 6),
    "a quotient": (lambda s: 6 / s, 2, -1.5),
    "tanh at zero": (lambda s: s.tanh(), 0, 1),
    "exp": (lambda s: (s * 2).exp(), 0, 2),
    "sigmoid at zero": (lambda s: s.sigmoid(), 0, 0.25),
    "x to the x": (lambda s: s**s, 1, 1),
    "log of a product": (lambda s: (s * 4).log(), 2, 0.5),
    "erf at zero": (lambda s: s.erf(), 0, 2 / math.sqrt(math.pi)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    e, x, want = BY_HAND[name]
    assert at(e, x) == pytest.approx(want, rel=1e-6, abs=1e-7)


def test_ties_of_a_maximum_share_in_equal_parts():
    x = input("x", (4,))
    (slope,) = evaluate_graph([grad(x.max(), x)], {"x": np.array([1, 5, 5, 2], np.float32)}, {})
    np.testing.assert_array_equal(slope, [0, 0.5, 0.5, 0])


def test_what_the_output_does_not_depend_on_has_gradient_zero():
    x, other = input("x", (N,)), input("other", (N, 2))
    (zero,) = evaluate_graph([grad(x.sum(), other)], {}, {"N": 3})
    np.testing.assert_array_equal(zero, np.zeros((3, 2), np.float32))
    (zero,) = evaluate_graph([grad(x.positive().sum(), x)], {}, {"N": 3})
    np.testing.assert_array_equal(zero, np.zeros(3, np.float32))


def test_with_respect_to_inner_nodes_and_to_itself():
    x = input("x", (N,))
    y = x * 3
    loss = (y * y).sum()
    to_y, to_loss, to_x = grad(loss, [y, loss, x])
    a = np.array([1, 2], np.float32)
    got = evaluate_graph([to_y, to_loss, to_x], {"x": a}, {"N": 2})
    for mine, want in zip(got, [6 * a, np.float32(1), 18 * a], strict=True):
        np.testing.assert_array_equal(mine, want)


def test_second_derivatives():
    s = input("s", (), float64)
    third = grad(grad(grad(s * s * s * s, s), s), s)
    assert evaluate_graph([third], {"s": np.float64(2)[...]}, {})[0] == 48
    assert evaluate_graph([grad(grad(s.sin(), s), s)], {"s": np.float64(1)[...]}, {})[0] == pytest.approx(-math.sin(1))


def test_cotangents_weigh_the_outputs():
    x, g = input("x", (N, 3)), input("g", (3,))
    (slope,) = evaluate_graph([grad(x.sum(0) * 2, x, cotangent=g)], {"g": np.array([1, 2, 3], np.float32)}, {"N": 2})
    np.testing.assert_array_equal(slope, [[2, 4, 6]] * 2)


def test_gradients_of_deep_and_of_doubled_graphs_stay_linear():
    x = input("x", (N,))
    deep = doubled = x
    for _ in range(20_000):
        deep = -deep
    for _ in range(48):
        doubled = doubled + doubled * 0.5
    assert len(toposort([grad(deep.sum(), x)])) < 50_000
    assert len(toposort([grad(doubled.sum(), x)])) < 500
    assert len(compile_plan([grad(doubled.sum(), x)]).kernels) < 20
    (slope,) = evaluate_graph([grad(doubled.sum(), x)], {"x": np.ones(2, np.float32)}, {"N": 2})
    np.testing.assert_allclose(slope, 1.5**48, rtol=1e-5)


STEPS = {"argmax", "argmin", "floor_divide", "nextafter", "less", "less_equal", "equal", "not_equal", "stop_gradient"}
"""Ops of floats through which no gradient flows: constant between their steps, or made for that."""


def test_every_op_of_floats_has_a_rule_or_is_a_step():
    inner = [op for op in OPS.values() if op.kind != "leaf"]
    floats = [op for op in inner if op.kind != "elementwise" or takes(op.name, float32) is not None]
    without = {op.name for op in floats if op.gradient is None}
    assert without == STEPS & set(OPS), f"{without ^ STEPS}: give the op a rule, or say here that it is a step"
