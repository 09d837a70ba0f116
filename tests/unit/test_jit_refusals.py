"""What a traced program cannot do, and what it is told to write instead: the function's name, the argument, the axis, both sizes."""

import math
import re

import numpy as np
import pytest

import tjcore as tj
from tjcore import CallError, GraphError, TraceError

X = np.arange(12.0).reshape(3, 4)


def refused(program, *arguments, error=TraceError, **options):
    program.__name__ = "program"
    with pytest.raises(error) as caught:
        tj.jit(program, backend="reference", **options)(*(arguments or (X,)))
    text = str(caught.value)
    assert text.startswith("program"), text
    return text


def loop(x):
    total = 0
    for row in x:
        total = total + row
    return total


def count(x):
    return [x[i] for i in range(x.shape[0])]


def assign(x):
    x[0] = 1.0
    return x


def add_to_part(x):
    y = x * 2
    y[1:] += 1
    return y


def branch(x):
    if x.sum() > 0:
        return x
    return -x


CASES = {
    "if": (branch, r"`if`, `while`.* need the truth of <traced bool \(\)>.*numpy.where\(condition, a, b\)"),
    "and": (lambda x: (x > 0) and x, r"`&`, `\|`, `~` for `and`, `or`, `not`"),
    "max of Python": (lambda x: max(x[0, 0], x[0, 1]), r"numpy.maximum for min\(\) and max\(\)"),
    "float": (lambda x: float(x.sum()), r"float\(\) needs the number in <traced float64 \(\)>.*x.astype\(float\) instead of float\(x\)"),
    "int": (lambda x: int(x.sum()), r"int\(\) needs the number"),
    "math": (lambda x: math.exp(x.sum()), "numpy.exp instead of math.exp"),
    "item": (lambda x: x.sum().item(), r"item\(\) needs the number"),
    "tolist": (lambda x: [x.tolist()], r"tolist\(\) needs the number"),
    "format": (lambda x: f"{x.sum():.3f}", r"format '.3f' needs the number"),
    "index of a list": (lambda x: [1, 2][x.sum().astype(int)], "an index into a list, needs the number"),
    "for": (loop, r"a loop over <traced float64 \(x_0, x_1\)>: axis 0 has the size x_0.*fix the size of the axis: @tj.jit\(dims="),
    "range": (count, r"range\(\) or a new array needs one number, and x_0, axis 0 of x, is a size of which each call may have another"),
    "len": (lambda x: [len(x)], r"len\(\) of <traced float64 \(x_0, x_1\)>.* write x.shape\[0\]"),
    "int of a size": (lambda x: int(x.shape[0]), r"int\(\) needs one number, and x_0, axis 0 of x"),
    "square root of a size": (lambda x: math.sqrt(x.shape[1]), r"float\(\) needs one number.*for square roots numpy.sqrt"),
    "new array": (lambda x: np.zeros((x.shape[0], 2)), r"an index, range\(\) or a new array needs one number.*tj.zeros, tj.ones"),
    "asarray": (lambda x: [np.asarray(x)], r"numpy.asarray or numpy.array of <traced float64 \(x_0, x_1\)>: its numbers are known in a call only"),
    "array of traced": (lambda x: np.array([x[0], x[1]]), r"numpy.stack\(\[...\]\) joins traced values"),
    "assignment": (assign, r"x\[...\] = value and x\[...\] \+= value change an array in place.*x = x.at\[...\].set\(value\)"),
    "part in place": (add_to_part, r"change an array in place.*numpy.where\(mask, value, x\)"),
    "out": (lambda x: np.exp(x, out=x), r"numpy.exp: out= writes into an array.*x = numpy.exp\(...\)"),
    "out of a function": (lambda x: np.sum(x, out=X), r"numpy.sum: out= writes"),
    "where=": (lambda x: np.log(x, where=x > 0), r"where= leaves elements undefined; write numpy.where\(condition, numpy.log\(...\), other\)"),
    "at": (lambda x: np.add.at(x, [0], 1), r"numpy.add.at writes into its operand"),
    "mask": (lambda x: x[x > 0], r"x\[mask\] has as many elements as the mask has True.*numpy.where\(mask, x, 0\)"),
    "in place, another type": (lambda i: i.__iadd__(0.5), r"add in place: the result is float64.*x.astype\('float64'\)", np.arange(3)),
    "no counterpart": (lambda x: [np.linalg.inv(x)], "numpy.linalg.inv has no counterpart here"),
    "no counterpart of a ufunc": (lambda x: [np.frexp(x)], "numpy.frexp has no counterpart here"),
    "argument without a counterpart": (lambda x: np.sum(x, initial=3), r"numpy.sum: here it got an unexpected keyword argument 'initial'"),
    "order": (lambda x: x.reshape((4, 3), order="F"), r"reshape with order='F' has no counterpart here"),
    "hash of a size": (lambda x: {x.shape[0]: 1}, "unhashable", X, TypeError),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_refusals(name):
    program, message, *rest = CASES[name]
    arguments = rest[:1] or [X]
    if len(rest) > 1:
        with pytest.raises(rest[1], match=message):
            tj.jit(program, backend="reference")(*arguments)
        return
    text = refused(program, *arguments)
    assert re.search(message, text, re.DOTALL), text


GRAPH = {
    "nonzero": (lambda x: np.where(x > 0), r"how many elements they give depends on the values"),
    "axis": (
        lambda x: x.sum(axis=2),
        r"program: sum: axis 2 is out of range for a tensor of rank 2; allowed: -2..1; here x_0 = 3 \(axis 0 of x\)",
    ),
    "broadcast": (
        lambda x: x + np.zeros((3, 5)),
        r"program: add: shapes \(3, 4\) and \(3, 5\) do not broadcast: axis -1 is 4 \(x_1\) and 5",
    ),
    "product": (lambda x: x @ np.zeros((5, 2)), r"program: matmul: inner sizes differ, x_1 .*x_1 = 4 \(axis 1 of x\)"),
    "concatenate": (
        lambda x: np.concatenate([x, x.T]),
        r"program: concat along axis 0: axis 1 of the operands must agree.*x_0 = 3 \(axis 0 of x\), x_1 = 4",
    ),
    "einsum": (lambda x: np.einsum("ij,kj", x, x.T), r"program: einsum 'ij,kj': axis 'j' is x_1 in operand 0 and x_0 in operand 1"),
    "reshape": (
        lambda x: x.reshape(5, -1),
        r"program: reshape of \(x_0, x_1\) to .* 12 == 10 in this call.*; x_0 is axis 0 of x, x_1 is axis 1 of x",
    ),
    "norm": (lambda x: np.linalg.norm(x, "nuc"), r"of matrices only ord=None and 'fro', got 'nuc'"),
    "dtype": (lambda x: x.astype(np.int16), r"program: dtype: expected one of float32"),
    "updates": (lambda x: x.at[::2].set(1), r"x.at\[...\]: a part is named by ints, slices without a step"),
    "index": (lambda x: x[0, 0, 0], r"3 indices for a tensor of rank 2"),
    "split": (lambda x: np.split(x, 0), "split: expected at least 1 part"),
}


@pytest.mark.parametrize("name", GRAPH)
def test_what_the_graph_refuses_names_the_function_and_the_sizes(name):
    program, message = GRAPH[name]
    text = refused(program, error=(GraphError, CallError))
    assert re.search(message, text, re.DOTALL), text


def test_what_a_call_refuses_says_where_the_sizes_come_from():
    f = tj.jit(lambda x: x.reshape(-1, 4), backend="reference")
    assert f(np.zeros(8)).shape == (2, 4)
    with pytest.raises(CallError, match=r"<lambda>: reshape of \(x_0,\) to .*; x_0 is axis 0 of x"):
        f(np.zeros(6))
    with pytest.raises(tj.BudgetError, match=r"g: input 'x' at x_0=6 takes 48 bytes.*; x_0 is axis 0 of x") as caught:
        tj.jit(named("g", lambda x: x + 1), backend="reference", max_bytes=16)(np.zeros(6))
    assert caught.value.budget == 16


def named(name, function):
    function.__name__ = name
    return function


def test_a_traced_value_that_escaped():
    kept = []

    @tj.jit(backend="reference")
    def f(x):
        kept.append(x)
        return x * 2

    f(X)
    with pytest.raises(TraceError, match=r"f: <traced float64 .*> was kept after the function had been traced.*Return it instead"):
        kept[0] + 1

    @tj.jit(backend="reference")
    def g(x):
        return x + kept[0]

    with pytest.raises(TraceError, match="belongs to another run of a traced function"):
        g(X)


def test_sizes_decide_what_is_computed():
    def program(x):
        n = x.shape[0]
        if n % 2 == 0 and n > 4:
            return x[: n // 2] + x[n // 2 :]
        return x * n

    f = tj.jit(program, backend="reference")
    for n in (3, 8, 5, 6, 4, 0, 7, 12):
        np.testing.assert_array_equal(f(np.arange(n)), program(np.arange(n)))
    assert f.compilations == 3  # odd; even above 4; even up to 4
    guards = [str(g) for c in f.compiled for g in c.program.guards]
    assert "x_0 % 2 != 0" in guards or "x_0 % 2 == 0" in guards


def test_arithmetic_of_sizes():
    def program(x):
        n, m = x.shape
        return (n + m, n - 1, 2 * n, n // 2, -n % 7, n * m, n**2, x.size, x.nbytes, abs(-n)), (
            x / n, x * (n / m), x + 1 / n, n * x, np.sqrt(n) * x, x - n, x * n**0.5, n / 2.0, 3 // n, x.sum() / (n * m),
        ), (n == m, n != 3, n < m, n <= 100, n > 2, min(n, m), max(n, 5), x.shape == (3, 4), x.shape == x.T.shape[::-1], bool(n))  # fmt: skip

    f = tj.jit(program, backend="reference")
    for shape in ((3, 4), (9, 2), (3, 3)):
        x = np.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape)
        for result, expected in zip(f(x), program(x), strict=True):
            for one, other in zip(result, expected, strict=True):
                np.testing.assert_allclose(one, other)
                assert getattr(one, "dtype", None) == getattr(other, "dtype", None) or not isinstance(other, np.ndarray)
