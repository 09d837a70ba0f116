"""Every refusal of building, reading, compiling and calling a graph: its whole text, as a user meets it, in messages.txt.

After a message has changed on purpose: `UPDATE_EXPECTED=1 python -m pytest tests/errors/test_graph_errors.py`, and read the difference.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import tjcore as tj
from tjcore import CompiledGraph, Dim, Expr, compile_plan, constant, evaluate_graph, float64, grad, input, int32, read_graph, show_graph
from tjcore.graph import apply, size_of

EXPECTED = Path(__file__).parent / "messages.txt"
N, M = Dim("N", 1, 8), Dim("M", 1, 8)
x, y, i = input("x", (N, 3)), input("y", (N, 3)), input("i", (N,), int32)
v, flags = input("v", (3,)), input("flags", (3,), tj.bool_)
HEAD = "tensorjit graph 1\n"


def ones(*shape):
    return np.ones(shape, np.float32)


BUILDING = {
    "add: two symbols": lambda: x + input("z", (M, 3)),
    "add: a symbol and a number": lambda: input("u", (N,)) + v,
    "add: one name, two bounds": lambda: input("u", (N,)) + input("w", (Dim("N", 1, 9),)),
    "add: dtypes in a node": lambda: apply("add", (x, input("z", (N, 3), float64))),
    "add: a NumPy array": lambda: x + ones(2, 3),
    "add: text": lambda: x + "1",
    "add: a bool": lambda: x + True,
    "add: an int out of int32": lambda: i + 2**31,
    "add: bools": lambda: flags + flags,
    "div: of integers in a node": lambda: apply("div", (i, i)),
    "exp: of integers in a node": lambda: apply("exp", (i,)),
    "less: operands": x.less,
    "where: condition": lambda: x.where(x, y),
    "where: condition in a node": lambda: apply("where", (x, x, y)),
    "astype": lambda: x.astype("complex64"),
    "cast: no dtype in a node": lambda: apply("cast", (x,), "f32"),
    "bitwise_and: of floats": lambda: x & 1,
    "shift: of bools": lambda: flags << 1.0,
    "matmul: inner sizes": lambda: input("a", (N, 128)) @ input("b", (64, 2)),
    "matmul: inner sizes of transposed operands": lambda: input("a", (N, 128)) @ input("b", (2, 128)),
    "matmul: rank": lambda: x @ v.sum(),
    "matmul: batches": lambda: input("a", (2, 3, 4)) @ input("b", (3, 4, 5)),
    "matmul: batches in a node": lambda: apply("matmul", (input("a", (2, 3, 4)), input("b", (4, 5)))),
    "matmul: dtypes in a node": lambda: apply("matmul", (x, input("z", (3, 2), float64))),
    "matmul: a number": lambda: x @ 2,
    "matmul: a NumPy array": lambda: ones(2, 2) @ x,
    "matmul: text": lambda: x @ "w",
    "matmul: bools": lambda: input("p", (2, 2), tj.bool_) @ input("q", (2, 2), tj.bool_),
    "sum: axis out of range": lambda: x.sum(2),
    "sum: axis of a scalar": lambda: constant(1).sum(),
    "sum: axis is no int": lambda: x.sum(1.0),
    "sum: of bytes in a node": lambda: apply("sum", (input("b", (3,), tj.uint8),), 0),
    "sum: an axis twice": lambda: x.sum((1, -1)),
    "max: axis out of range": lambda: x.max(-3),
    "mean: axis": lambda: x.mean(5),
    "expand_dims: axis": lambda: x.expand_dims(4),
    "squeeze: not 1": lambda: x.squeeze(0),
    "squeeze: axis": lambda: x.squeeze(7),
    "broadcast_to: another size": lambda: x.broadcast_to((N, 4)),
    "broadcast_to: fewer axes": lambda: x.broadcast_to((3,)),
    "broadcast_to: a symbol is not stretched": lambda: x.broadcast_to((M, 3)),
    "broadcast_to: no shape": lambda: x.broadcast_to("N"),
    "transpose: rank": lambda: input("c", (2, 3, 4)).transpose(),
    "permute: no permutation": lambda: x.permute((0, 0)),
    "permute: too few axes": lambda: x.permute((0,)),
    "permute: out of range": lambda: x.permute((0, 2)),
    "permute: no sequence": lambda: x.permute(1),
    "input: name": lambda: input("a b", (3,)),
    "input: axis": lambda: input("a", (3, -1)),
    "input: size too large": lambda: input("a", (2**31,)),
    "input: shape": lambda: input("a", "3"),
    "input: too many axes": lambda: input("a", (1,) * 33),
    "input: dtype": lambda: input("a", (3,), "float128"),
    "constant: nan": lambda: constant(float("nan")),
    "constant: out of float32": lambda: constant(1e39),
    "constant: bool": lambda: constant(True),
    "constant: no whole number": lambda: constant(0.5, int32),
    "constant: out of int32": lambda: constant(2**31, int32),
    "size_of: no size": lambda: size_of("N"),
    "apply: no op": lambda: apply("dance", (x,)),
    "dim: name": lambda: Dim("1x"),
    "dim: lower is no int": lambda: Dim("N", 1.0),
    "dim: bounds crossed": lambda: Dim("N", 5, 4),
    "dim: below zero": lambda: Dim("N", -1, 4),
    "dim: upper too large": lambda: Dim("N", 1, 2**31),
    "grad: no scalar": lambda: grad(x, x),
    "grad: cotangent of another shape": lambda: grad(x, x, cotangent=v),
    "grad: cotangent of another dtype": lambda: grad(x, x, cotangent=input("g", (N, 3), float64)),
    "grad: integers": lambda: grad(i.sum(), i),
    "grad: with respect to no Expr": lambda: grad(x.sum().sum(), [x, 3]),
    "grad: with respect to a number": lambda: grad(x.sum().sum(), 3),
    "an Expr has no truth value": lambda: bool(x),
    "an Expr does not change": lambda: setattr(x, "op", "add"),
    "an Expr has no such method": lambda: x.dance,
}

READING = {
    "no text": lambda: read_graph(3),
    "another first line": lambda: read_graph("graph\n"),
    "no return": lambda: read_graph(HEAD + "%0 = input x float32 (3,)\n"),
    "an unknown node": lambda: read_graph(HEAD + "%0 = relu %1\nreturn %0\n"),
    "an unknown op": lambda: read_graph(HEAD + "%0 = dance\nreturn %0\n"),
    "too many sources": lambda: read_graph(HEAD + "%0 = input x float32 (3,)\n%1 = relu %0 %0\nreturn %1\n"),
    "an unknown symbol": lambda: read_graph(HEAD + "%0 = input x float32 (N,)\nreturn %0\n"),
    "an open parenthesis": lambda: read_graph(HEAD + "%0 = input x float32 (3,\nreturn %0\n"),
    "an axis from behind": lambda: read_graph(HEAD + "%0 = input x float32 (3,)\n%1 = sum %0 -1\nreturn %1\n"),
    "a sum without an axis": lambda: read_graph(HEAD + "%0 = input x float32 (3,)\n%1 = sum %0\nreturn %1\n"),
    "show_graph of one Expr": lambda: show_graph(x),
}

COMPILING = {
    "no outputs": lambda: compile_plan([]),
    "one Expr alone": lambda: compile_plan(x),
    "an output that is none": lambda: compile_plan([x, 3]),
    "a set": lambda: compile_plan({x}),
    "two inputs of one name": lambda: compile_plan([x + 1, input("x", (4,))]),
    "one symbol with two bounds": lambda: compile_plan([x.sum(0), input("w", (Dim("N", 1, 9),)).sum()]),
    "fuse is no bool": lambda: compile_plan([x], fuse="no"),
    "threads": lambda: CompiledGraph([x], threads=0),
    "max_bytes": lambda: CompiledGraph([x], max_bytes="much"),
    "reuse is no bool": lambda: CompiledGraph([x], reuse=1),
    "no such backend": lambda: CompiledGraph([x], backend="no-such"),
}


def calling():
    f = CompiledGraph([x + 1, y * 2], backend="reference", max_bytes=1000)
    shared = CompiledGraph([input("a", (N, M)).sum(1) + input("b", (N,))], backend="reference")
    free = CompiledGraph([constant(2).broadcast_to((N,))], backend="reference")
    derived = CompiledGraph([input("a", (N,)).sum() + input("b", (2 * N + 1,)).sum()], backend="reference")
    largest = CompiledGraph([input("a", (Dim("Z", 0, 8),)).max()], backend="reference")
    good = {"x": ones(2, 3), "y": ones(2, 3)}
    return {
        "missing": lambda: f(x=ones(2, 3)),
        "missing, and one that nobody asked for": lambda: f(x=ones(2, 3), z=ones(2, 3)),
        "no array": lambda: f(**good | {"x": [[1.0, 2.0, 3.0]]}),
        "subclass": lambda: f(**good | {"x": np.ma.masked_array(ones(2, 3))}),
        "dtype": lambda: f(**good | {"x": np.ones((2, 3))}),
        "byte order": lambda: f(**good | {"x": ones(2, 3).astype(">f4")}),
        "rank": lambda: f(**good | {"x": ones(6)}),
        "layout": lambda: f(**good | {"x": ones(3, 2).T}),
        "alignment": lambda: f(**good | {"x": np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)}),
        "out of bounds": lambda: f(x=ones(9, 3), y=ones(9, 3)),
        "empty where it may not be": lambda: f(x=ones(0, 3), y=ones(0, 3)),
        "static size": lambda: f(**good | {"x": ones(2, 4)}),
        "one symbol, two sizes": lambda: f(**good | {"y": ones(3, 3)}),
        "one symbol, two sizes, in two inputs": lambda: shared(a=ones(4, 3), b=ones(5)),
        "a size that follows from another": lambda: derived(a=ones(3), b=ones(6)),
        "unbound": free,
        "unknown binding": lambda: free.run_with_bindings({"N": 2, "Q": 1}),
        "binding out of bounds": lambda: free.run_with_bindings({"N": 9}),
        "binding is no int": lambda: free.run_with_bindings({"N": 2.0}),
        "bindings are no mapping": lambda: free.run_with_bindings(3),
        "binding and array disagree": lambda: f.run_with_bindings({"N": 1}, **good),
        "max of nothing": lambda: largest(a=ones(0)),
        "one tensor over the budget": lambda: CompiledGraph([x + 1], backend="reference", max_bytes=23)(x=ones(2, 3)),
        "all together over the budget": lambda: CompiledGraph([x + 1], backend="reference", max_bytes=47)(x=ones(2, 3)),
        "evaluate_graph: shape": lambda: evaluate_graph([x], {"x": ones(2, 2)}, {"N": 2}),
        "evaluate_graph: missing": lambda: evaluate_graph([x], {}, {"N": 2}),
    }


# What is listed at the end differs from machine to machine, or grows with the op table.
GROWING = {
    "compiling: no such backend": "ToolchainError: no toolchain 'no-such' (from argument)\n  installed",
    "building: apply: no op": "GraphError: there is no op 'dance' yet; the ops are input, constant, ",
    "building: input: dtype": "GraphError: dtype: expected one of ",
}


def message(refused):
    with pytest.raises(Exception) as caught:
        refused()
    error = caught.value
    own = isinstance(error, tj.TensorJitError)
    assert own or type(error) in (TypeError, AttributeError), f"{type(error)} is no refusal: {error}"
    assert not own or isinstance(error, (ValueError, tj.ToolchainError)), "what a user wrote wrong is a ValueError"
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", str(error))
    return f"{type(error).__name__}: {text}"


def collected():
    groups = {"building": BUILDING, "reading": READING, "compiling": COMPILING, "calling": calling()}
    return {f"{group}: {name}": message(refused) for group, cases in groups.items() for name, refused in cases.items()}


def test_every_refusal_says_what_it_said(monkeypatch):
    for variable in [name for name in os.environ if name.startswith("TENSORJIT_") and name != "TENSORJIT_CACHE_DIR"]:
        monkeypatch.delenv(variable)
    now = collected()
    for name, begins in GROWING.items():
        assert now[name].startswith(begins) and len(now[name]) > len(begins)
        now[name] = f"{begins}..."
    if os.environ.get("UPDATE_EXPECTED"):
        EXPECTED.write_text("\n".join(f"[{name}]\n{text}\n" for name, text in now.items()), encoding="utf-8")
    parts = re.split(r"(?m)^\[(.+)\]\n", EXPECTED.read_text(encoding="utf-8"))
    expected = {name: text.rstrip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}
    assert now == expected


@pytest.mark.parametrize("group", ["building", "calling"])
def test_messages_are_short_and_whole(group):
    text = EXPECTED.read_text(encoding="utf-8")
    for part in re.findall(rf"(?ms)^\[{group}: .+?\]\n(.+?)\n(?=\n|\Z)", text):
        assert 20 < len(part) < 400, part


def test_a_refused_call_leaves_the_graph_usable():
    f = CompiledGraph([x + 1], backend="reference")
    for bad in ({}, {"x": ones(2)}, {"x": ones(9, 3)}):
        with pytest.raises(ValueError):
            f(**bad)
    assert f.calls == 0 and f.last_memory is None
    np.testing.assert_array_equal(f(x=ones(2, 3))[0], 2 * ones(2, 3))
    assert f.calls == 1


def test_no_message_shows_the_whole_of_a_large_value():
    class Long:
        def __repr__(self):
            return "x" * 10_000

    for refused in (lambda: constant(Long()), lambda: x + Long(), lambda: input(Long(), (3,)), lambda: input("a", (Long(),))):
        assert len(message(refused)) < 400


def test_a_value_whose_repr_fails_does_not_hide_the_message():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    assert "<Broken>" in message(lambda: constant(Broken()))


def test_exprs_are_shown_by_what_they_are():
    assert repr(x) == "<Expr input 'x' float32 (N, 3)>" and isinstance(x, Expr)
