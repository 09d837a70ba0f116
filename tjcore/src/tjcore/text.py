"""Graphs as text that a person can read and that reads back to the same graph.

    tensorjit graph 1
    dim N 1 4096
    %0 = input x float32 (N, 784)
    %1 = constant float32 0x1.0000000000000p-1
    %2 = broadcast_to %1 (N, 784)
    %3 = mul %0 %2
    %4 = sum %3 1
    return %4 %3

A line names a node, its op, its sources and its op's argument (an int, or a shape in parentheses); floats are hexadecimal,
so every bit survives. The same text is the pickle, part of the cache key, and the golden file.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from .dims import Dim, Size, SizeExpr, collect_dims, parse_size
from .dtypes import as_dtype
from .errors import GraphError, shown
from .graph import Expr, apply, held, held_by_name, hold, input, number, size_of
from .ops import OPS, show_shape
from .traversal import check_outputs, toposort

HEADER = "tensorjit graph 1"


def show_graph(outputs: Sequence[Expr]) -> str:
    """The text of a graph. Equal graphs give equal text, whatever the process or the hash seed."""
    outputs = check_outputs("show_graph", outputs)
    nodes = toposort(outputs)
    number = {node: i for i, node in enumerate(nodes)}
    dims = graph_dims(nodes)
    lines = [HEADER]
    lines += [f"dim {d.name} {d.lower} {d.upper}" for _, d in sorted(dims.items())]
    for node in nodes:
        lines.append(f"%{number[node]} = {_show_node(node, number)}")
    lines.append(" ".join(["return", *(f"%{number[o]}" for o in outputs)]))
    return "\n".join(lines) + "\n"


def graph_dims(nodes: Sequence[Expr]) -> dict[str, Dim]:
    """Every symbol of the nodes' shapes by name; GraphError for one name with two different bounds."""
    distinct = dict.fromkeys(size for node in nodes for size in node.shape if not isinstance(size, int))
    for node in nodes:
        given = node.arg if isinstance(node.arg, tuple) else (node.arg,)
        distinct |= dict.fromkeys(size for size in given if isinstance(size, (Dim, SizeExpr)))
    return collect_dims([tuple(distinct)])


def _show_node(node: Expr, number: dict[Expr, int]) -> str:
    if node.op == "input":
        return f"input {node.arg} {node.dtype} {show_shape(node.shape)}"
    if node.op == "constant":
        value = node.arg.hex() if isinstance(node.arg, float) else str(node.arg)
        return f"constant {node.dtype} {value}"
    if node.op == "size":
        return f"size {node.dtype} {node.arg}"
    words = [node.op, *(f"%{number[s]}" for s in node.sources)]
    if node.arg is not None:
        words.append(show_shape(node.arg) if isinstance(node.arg, tuple) else str(node.arg))
    return " ".join(words)


def read_graph(text: str) -> list[Expr]:
    """The outputs of the graph that `show_graph` printed; GraphError, with the line, for text that is none."""
    outputs, _ = _read(text)
    return outputs


def _read(text: str, inputs: dict[int, Expr] | None = None) -> tuple[list[Expr], dict[int, Expr]]:
    if not isinstance(text, str):
        raise GraphError(f"graph text: expected a str, as show_graph gives it, got {shown(text)}")
    lines = text.splitlines()
    if not lines or lines[0] != HEADER:
        raise GraphError(f"graph text: expected the first line {HEADER!r}, got {shown(lines[0] if lines else '')}")
    dims: dict[str, Dim] = {}
    nodes: dict[int, Expr] = {}
    for at, line in enumerate(lines[1:], 2):
        try:
            if line.startswith("dim "):
                _, name, lower, upper = line.split()
                dims[name] = Dim(name, int(lower), int(upper))
            elif line.startswith("return"):
                return [_source(word, nodes) for word in line.split()[1:]], nodes
            elif line.strip() and not line.startswith("#"):
                left, _, right = line.partition(" = ")
                index = _reference(left)
                given = None if inputs is None else inputs.get(index)
                nodes[index] = given if given is not None else _read_node(right, nodes, dims)
        except (ValueError, KeyError, IndexError) as error:
            raise GraphError(f"graph text, line {at}: cannot read {shown(line)}: {error}") from error
    raise GraphError("graph text: the last line must be 'return', followed by the outputs")


def _read_node(text: str, nodes: dict[int, Expr], dims: dict[str, Dim]) -> Expr:
    op, _, rest = text.partition(" ")
    if op == "input":
        name, dtype, shape = rest.split(" ", 2)
        known = held_by_name(name)  # the text says which data it is; who reads it elsewhere gives them at the call
        if known is not None:
            return known
        return input(name, _read_shape(shape, dims), dtype)
    if op == "constant":
        dtype, value = rest.split(" ")
        kind = as_dtype(dtype)
        return number(float.fromhex(value) if kind.kind == "float" else int(value), kind)
    if op == "size":
        dtype, _, size = rest.partition(" ")
        return size_of(parse_size(size, dims), dtype)
    if op not in OPS:
        raise GraphError(f"no op {shown(op)}")
    sources: list[Expr] = []
    while rest.startswith("%"):
        word, _, rest = rest.partition(" ")
        sources.append(_source(word, nodes))
    if OPS[op].arity >= 0 and len(sources) != OPS[op].arity:
        raise GraphError(f"{op} takes {OPS[op].arity} sources, got {len(sources)}")
    arg: Any = None
    if op == "iota":
        arg = parse_size(rest, dims)
    elif rest.startswith("("):
        arg = _read_shape(rest, dims)
    elif rest:
        arg = rest if rest.isidentifier() else int(rest)
    return apply(op, tuple(sources), arg)


def _source(word: str, nodes: dict[int, Expr]) -> Expr:
    found = nodes.get(_reference(word))
    if found is None:
        raise GraphError(f"no line above defines {word}")
    return found


def _reference(word: str) -> int:
    if not word.startswith("%"):
        raise GraphError(f"expected a node such as %3, got {shown(word)}")
    return int(word[1:])


def _read_shape(text: str, dims: dict[str, Dim]) -> tuple[Size, ...]:
    if not (text.startswith("(") and text.endswith(")")):
        raise GraphError(f"expected a shape in parentheses, got {shown(text)}")
    parts: list[str] = []
    depth, start = 0, 1
    for i, letter in enumerate(text[1:-1], 1):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    if text[start:-1].strip():
        parts.append(text[start:-1])
    return tuple(parse_size(part.strip(), dims) for part in parts)


# Two expressions of one graph may be pickled apart, and must still agree on which inputs they share: an input carries a
# mark in its pickle, and one process holds at most one living input for a mark.
_MARKS: weakref.WeakKeyDictionary[Expr, str] = weakref.WeakKeyDictionary()
_MARKED: weakref.WeakValueDictionary[str, Expr] = weakref.WeakValueDictionary()


def _mark(node: Expr) -> str:
    mark = _MARKS.get(node)
    if mark is None:
        mark = _MARKS[node] = uuid.uuid4().hex
        _MARKED[mark] = node
    return mark


def pickle_expr(expr: Expr) -> tuple[Any, tuple[str, dict[int, str], list[NDArray[Any]]]]:
    """How an Expr pickles: its graph's text (no recursion, however long the chain) and its inputs' marks."""
    nodes = toposort([expr])
    data = [array for node in nodes if (array := held(node)) is not None]
    marks = {i: _mark(node) for i, node in enumerate(nodes) if node.op == "input" and held(node) is None}
    return unpickle_expr, (show_graph([expr]), marks, data)


def unpickle_expr(text: str, marks: dict[int, str], data: Sequence[NDArray[Any]] = ()) -> Expr:
    alive = [hold(array) for array in data]  # found by name while the text is read
    known = {i: node for i, mark in marks.items() if (node := _MARKED.get(mark)) is not None}
    (expr,), nodes = _read(text, known)
    for i, mark in marks.items():
        if i not in known:
            _MARKS[nodes[i]] = mark
            _MARKED[mark] = nodes[i]
    del alive
    return expr
