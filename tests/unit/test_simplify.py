"""Rewrites: which graphs become smaller, which may not, and that no bit changes either way."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tjcore import Dim, constant, evaluate_graph, float64, input, int32, show_graph
from tjcore.conformance.compare import assert_same
from tjcore.conformance.graphs import random_samples
from tjcore.conformance.values import special
from tjcore.graph import apply
from tjcore.simplify import simplify
from tjcore.traversal import toposort

N = Dim("N", 1, 64)
x, y, m = input("x", (N,)), input("y", (N,)), input("m", (N, 3))
i = input("i", (N,), int32)

root = x.sqrt()

GONE = {
    "x * 1": (x * 1, x),
    "1 * x": (1 * x, x),
    "x / 1": (x / 1, x),
    "x - 0": (x - 0, x),
    "x + -0.0": (x + -0.0, x),
    "-0.0 + x": (-0.0 + x, x),
    "i + 0": (i + 0, i),
    "i * 1": (i * 1, i),
    "-(-x)": ((-x).neg(), x),
    "m.T.T": (m.T.T, m),
    "permutations that cancel": (m.expand_dims(0).permute((1, 2, 0)).permute((2, 0, 1)).squeeze(0), m),
    "squeeze of expand_dims": (x.expand_dims(1).squeeze(1), x),
    "a chain of all": ((-((x * 1) - 0)).neg() / 1, x),
}
SAME = {  # would be other bits: -0.0 + 0 is 0, inf * 0 is NaN, x - x of inf is NaN
    "x + 0": x + 0,
    "x - -0.0": x - -0.0,
    "x * 0": x * 0,
    "x - x": x - x,
    "x / x": x / x,
    "0 - x": 0 - x,
    "x * -1": x * -1,
    "x * 2 / 4": x * 2 / 4,
    "(x + y) + 1": (x + y) + 1,
    "x.sqrt() squared": root * root,
    "exp of log": x.log().exp(),
}


def bits(outputs, **arrays):
    sizes = {"N": len(next(iter(arrays.values())))}
    return evaluate_graph(outputs, arrays, sizes)


@pytest.mark.parametrize("name", GONE)
def test_what_does_nothing_vanishes(name):
    given_, want = GONE[name]
    (got,) = simplify([given_])
    assert got is want


@pytest.mark.parametrize("name", SAME)
def test_what_would_change_a_bit_stays(name):
    e = SAME[name]
    (got,) = simplify([e])
    assert show_graph([got]) == show_graph([e])


@pytest.mark.parametrize("name", [*SAME, *GONE])
def test_special_values_keep_their_bits(name):
    e = SAME[name] if name in SAME else GONE[name][0]
    values = special(int32 if "i" in name.split() else x.dtype)
    arrays = {"x": values, "y": values[::-1].copy(), "i": values, "m": np.tile(values, (3, 1)).T.copy()}
    wanted = {node.arg: arrays[node.arg] for node in toposort([e]) if node.op == "input"}
    assert_same(bits(simplify([e]), **wanted)[0], bits([e], **wanted)[0], name)


def test_equal_nodes_become_one():
    a, b = (x * 2 + y).relu(), (x * 2 + y).relu()
    one, two = simplify([a, b])
    assert one is two and len(toposort([one])) < len(toposort([a, b]))
    assert len({*simplify([x + y, y + x])}) == 2, "the order of operands is the graph's own"


def test_what_rewrites_make_is_shared_too():
    a, b = simplify([x + constant(1) * 2, y + constant(4) * 0.5])
    assert a.sources[1] is b.sources[1], "2 and 2, folded apart, are one constant"


def test_constants_that_are_equal_but_not_the_same_stay_apart():
    zero, negative = simplify([x + constant(0.0), x * constant(-0.0)])
    assert np.signbit(negative.sources[1].sources[0].arg) and not np.signbit(zero.sources[1].sources[0].arg)
    one, other = simplify([constant(1), constant(1, float64)])
    assert one is not other and one.dtype is not other.dtype
    one, other = simplify([constant(1).broadcast_to((N,)), constant(1).broadcast_to((N, 2))])
    assert one.shape != other.shape


def test_constants_fold_in_their_own_precision():
    (got,) = simplify([x + (constant(0.1) * 3 - 0.25)])
    held = got.sources[1].sources[0]
    assert held.op == "constant" and held.arg == float(np.float32(0.1) * np.float32(3) - np.float32(0.25))
    (got,) = simplify([i + (constant(2**31 - 1, int32) + 1)])
    assert got.sources[1].sources[0].arg == -(2**31), "integers wrap"


@pytest.mark.parametrize("e", [constant(1) / 0 + x, constant(3e38) * 10 * x, (constant(-1).sqrt() + x)], ids=["inf", "overflow", "nan"])
def test_a_constant_is_finite_so_others_are_left_to_the_kernel(e):
    (got,) = simplify([e])
    values = np.array([1, 0, np.nan], np.float32)
    assert_same(bits([got], x=values)[0], bits([e], x=values)[0], "folded")


def test_broadcasts_of_broadcasts_become_one():
    e = apply("broadcast_to", (x.expand_dims(1).broadcast_to((N, 3)),), (2, N, 3))
    (got,) = simplify([e])
    assert got.op == "broadcast_to" and got.sources[0].op == "expand_dims" and got.shape == (2, N, 3)


def test_outputs_keep_their_number_shape_and_dtype():
    outputs = [x * 1, x, m.T, i + 0, x * 1]
    for got, given_ in zip(simplify(outputs), outputs, strict=True):
        assert (got.shape, got.dtype) == (given_.shape, given_.dtype)


@given(sample=random_samples())
@settings(max_examples=60, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_random_graphs_keep_their_bits_and_simplifying_again_changes_nothing(sample):
    small = simplify(sample.outputs)
    assert show_graph(simplify(small)) == show_graph(small)
    sizes = {"P": 3, "Q": 2}
    arrays = sample.arrays(sizes, special=0.3)
    for mine, theirs in zip(evaluate_graph(small, arrays, sizes), evaluate_graph(sample.outputs, arrays, sizes), strict=True):
        assert_same(mine, theirs, "simplified")


def test_a_chain_of_100000_nodes_is_simplified():
    e = x
    for _ in range(50_000):
        e = (-(e * 1)).neg()
    assert simplify([e]) == [x]
