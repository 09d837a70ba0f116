"""Building graphs: shapes, dtypes and operands of every operator, and walks that do not recurse. What is refused stands in tests/errors."""

import copy
import pickle
import sys

import numpy as np
import pytest

import tjcore as tj
from tjcore import Dim, constant, float64, input, int32, matmul
from tjcore.conformance import opcases
from tjcore.graph import apply, size_of
from tjcore.ops import OPS, broadcast_shapes, same
from tjcore.traversal import toposort

N, M = Dim("N", 1, 8), Dim("M", 1, 8)
x, y, w = input("x", (N, 3)), input("y", (N, 3)), input("w", (3, M))


def shape_and_op(e):
    return e.op, e.shape


def test_operators_make_nodes_of_the_table():
    made = {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y, "neg": -x, "abs": abs(x), "pow": x**y, "matmul": x @ w}
    assert {name: e.op for name, e in made.items()} == {name: name for name in made}
    assert all(e.op in OPS and e.dtype is x.dtype for e in made.values())
    assert (x @ w).shape == (N, M) == matmul(x, w).shape


@pytest.mark.parametrize("number", [2, 2.0, np.float32(2), np.int64(2), -0.0])
def test_numbers_become_constants_on_either_side(number):
    for e, position in (
        (x + number, 1),
        (number + x, 0),
        (number - x, 0),
        (x / number if number else x + number, 1),
        (x.maximum(number), 1),
    ):
        stretched = e.sources[position]
        assert stretched.op == "broadcast_to" and stretched.shape == x.shape and stretched.dtype is x.dtype
        (held,) = stretched.sources
        assert held.op == "constant" and np.float32(held.arg) == np.float32(number) and np.signbit(held.arg) == np.signbit(number)


def test_numpy_arrays_leave_operators_to_exprs():
    for refused in (lambda: np.ones(3, np.float32) + x, lambda: x * np.ones(3), lambda: np.ones((2, 2)) @ x):
        with pytest.raises(tj.GraphError, match="NumPy array"):
            refused()


def test_whole_numbers_leave_an_integer_graph_one_and_fractions_do_not():
    i = input("i", (3,), int32)
    assert (i * 2).sources[1].sources[0].arg == 2 and (i + 2).dtype is int32 and (i + 2.0).dtype is float64


def test_constants_are_rounded_to_their_dtype():
    assert constant(0.1).arg == float(np.float32(0.1)) != 0.1 == constant(0.1, float64).arg
    assert constant(1e-46).arg == 0 and constant(1e-45).arg == float(np.float32(1e-45))
    assert constant(-0.0).arg == 0 and np.signbit(constant(-0.0).arg)
    assert constant(1, tj.bool_).arg == 1 and constant(255, tj.uint8).arg == 255


def test_methods_of_one_operand_are_the_rows_of_the_table():
    for op in OPS.values():
        if op.kind == "elementwise" and op.arity == 1 and op.samples == (None,):
            operand = x if op.name in opcases.elementwise(x.dtype) or op.expand else x.astype(int32)
            assert getattr(operand, op.name)().op == op.name
    with pytest.raises(AttributeError):
        _ = x.input
    assert not hasattr(x, "__len__") and not hasattr(x, "matmul")


VIEWS = {
    "expand_dims 0": (lambda: x.expand_dims(0), (1, N, 3)),
    "expand_dims -1": (lambda: x.expand_dims(-1), (N, 3, 1)),
    "expand_dims -3": (lambda: x.expand_dims(-3), (1, N, 3)),
    "squeeze": (lambda: x.expand_dims(1).squeeze(-2), (N, 3)),
    "broadcast_to": (lambda: x.expand_dims(1).broadcast_to((2, N, M, 3)), (2, N, M, 3)),
    "transpose": (lambda: x.T, (3, N)),
    "permute": (lambda: x.expand_dims(0).permute((2, 0, -2)), (3, 1, N)),
    "sum": (x.sum, (N,)),
    "sum 0": (lambda: x.sum(-2), (3,)),
    "mean": (lambda: x.mean(0), (3,)),
    "max of a vector": (lambda: x.sum().max(), ()),
}


@pytest.mark.parametrize("name", VIEWS)
def test_shapes(name):
    make, shape = VIEWS[name]
    assert make().shape == shape


@pytest.mark.parametrize(
    "a, b, out",
    [
        ((N, 3), (3,), (N, 3)),
        ((N, 1), (1, M), (N, M)),
        ((), (N,), (N,)),
        ((1,), (), (1,)),
        ((5, 1, N), (M, 1), (5, M, N)),
        ((0,), (1,), (0,)),
        ((N + 1,), (1 + N,), (N + 1,)),
        ((1, 1), (1,), (1, 1)),
    ],
)
def test_broadcasting(a, b, out):
    for left, right in ((a, b), (b, a)):
        got = broadcast_shapes("add", left, right)
        assert len(got) == len(out) and all(map(same, got, out))


@pytest.mark.parametrize("a, b", [((N,), (M,)), ((N,), (3,)), ((2,), (3,)), ((0,), (2,)), ((Dim("L", 1, 1),), (3,)), ((N,), (2 * N,))])
def test_what_does_not_broadcast(a, b):
    for left, right in ((a, b), (b, a)):
        with pytest.raises(tj.GraphError, match="do not broadcast"):
            broadcast_shapes("add", left, right)


def test_broadcasting_to_the_own_shape_is_no_node():
    assert x.broadcast_to((N, 3)) is x and (x + y).sources == (x, y)


def test_size_of_a_number_is_a_constant():
    assert size_of(3).op == "constant" and size_of(N).op == "size" and size_of(N * 2).arg == 2 * N


def test_copies_are_the_same_node():
    assert copy.copy(x) is x and copy.deepcopy([x, x + y])[0] is x


def test_sources_come_first_once_and_in_one_order():
    t = x + y
    nodes = toposort([t * t, t, x])
    assert len(nodes) == len(set(nodes)) == 4 and toposort([t, x]) == toposort([t]) == [x, y, t]
    place = {node: i for i, node in enumerate(nodes)}
    assert all(place[s] < place[node] for node in nodes for s in node.sources)


def test_a_deep_and_a_wide_graph_are_walked_without_recursion():
    deep = x
    for _ in range(100_000):
        deep = -deep
    doubled = x
    for _ in range(1000):
        doubled = doubled + doubled  # 2**1000 paths
    assert len(toposort([deep])) == 100_001 and len(toposort([doubled])) == 1001
    assert sys.getrecursionlimit() <= 10_000
    del deep  # and nothing overflows when it goes


def test_what_a_pickle_of_an_expr_keeps():
    a, b = pickle.loads(pickle.dumps((x + y, x * 2)))
    assert a.op == "add" and b.sources[0] is a.sources[0]


def test_an_op_needs_operands_of_one_shape():
    with pytest.raises(tj.GraphError, match="one shape"):
        apply("add", (x, input("v", (3,))))
