"""Rewrites that keep every bit: each node once, and no work that IEEE arithmetic says is none.

In: outputs. Out: outputs that compute the same bits (a NaN may differ in payload). x + 0, x * 0 and (a + b) + c are not
rewritten: they would change -0.0, NaN, infinities or roundings. The walk is iterative and linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .graph import Expr, apply, constant
from .ops import OPS, same
from .traversal import toposort

Rule = Callable[[Expr], Expr | None]


def simplify(outputs: Sequence[Expr]) -> list[Expr]:
    """The same outputs over fewer nodes."""
    new: dict[Expr, Expr] = {}
    known: dict[Any, Expr] = {}
    for node in toposort(outputs):
        sources = tuple(new[s] for s in node.sources)
        unchanged = all(a is b for a, b in zip(sources, node.sources, strict=True))
        now = node if unchanged else Expr(node.op, node.shape, node.dtype, sources, node.arg)
        for _ in range(8):  # a rule's result may fit another rule; views and signs settle in two or three
            smaller = _rewrite(now)
            if smaller is None:
                break
            now = smaller
        new[node] = _shared(now, known)
    return [new[output] for output in outputs]


def _shared(node: Expr, known: dict[Any, Expr]) -> Expr:
    """The one node of this key. What a rule has made is a node or two above nodes that are shared already, so this does not go deep."""
    found = known.get(_key(node))
    if found is not None:
        return found
    sources = tuple(_shared(s, known) for s in node.sources)
    if any(a is not b for a, b in zip(sources, node.sources, strict=True)):
        node = Expr(node.op, node.shape, node.dtype, sources, node.arg)
    return known.setdefault(_key(node), node)


def prepare(outputs: Sequence[Expr], fused: bool) -> list[Expr]:
    """What kernels are made from: composed ops expanded, and simplified unless fusion is off."""
    return simplify(expand(outputs)) if fused else expand(outputs)


def expand(outputs: Sequence[Expr]) -> list[Expr]:
    """The same outputs with what the op table's composed rows stand for in their places."""
    nodes = toposort(outputs)
    if not any(OPS[node.op].expand for node in nodes):
        return list(outputs)
    new: dict[Expr, Expr] = {}
    for node in nodes:
        sources = tuple(new[s] for s in node.sources)
        unchanged = all(a is b for a, b in zip(sources, node.sources, strict=True))
        now = node if unchanged else Expr(node.op, node.shape, node.dtype, sources, node.arg)
        stands_for = OPS[node.op].expand
        new[node] = stands_for(now) if stands_for else now
    return [new[output] for output in outputs]


def _key(node: Expr) -> Any:
    if node.op == "input":
        return node
    arg = node.arg.hex() if isinstance(node.arg, float) else node.arg  # 0.0 and -0.0 are equal, and 1 and 1.0, but not the same
    return node.op, node.dtype, arg, node.shape, node.sources


def _rewrite(node: Expr) -> Expr | None:
    rule = _RULES.get(node.op)
    smaller = rule(node) if rule else None
    if smaller is None and OPS[node.op].kind == "elementwise":
        smaller = _fold_constants(node)
    return smaller


def scalar_of(node: Expr) -> float | None:
    """The number that a constant, possibly broadcast, holds everywhere; None for anything else."""
    base = base_of(node)
    return base.arg if base.op == "constant" else None


def base_of(node: Expr) -> Expr:
    """What a chain of views looks at."""
    while OPS[node.op].kind == "view":
        (node,) = node.sources
    return node


def _fold_constants(node: Expr) -> Expr | None:
    values = [scalar_of(s) for s in node.sources]
    if any(v is None for v in values):
        return None
    with np.errstate(all="ignore"):
        arrays = [np.asarray(v, s.dtype.numpy) for v, s in zip(values, node.sources, strict=True)]
        result = np.asarray(OPS[node.op].meaning(node.arg, None, *arrays), node.dtype.numpy).item()
    if not math.isfinite(result):
        return None  # a constant is finite; the kernel computes this one
    return constant(result, node.dtype).broadcast_to(node.shape)


def _is(node: Expr, value: float) -> bool:
    """Whether the node is `value` everywhere, the sign of zero included."""
    number = scalar_of(node)
    return number is not None and number == value and math.copysign(1, number) == math.copysign(1, value)


def _add(node: Expr) -> Expr | None:
    a, b = node.sources
    zero = -0.0 if node.dtype.kind == "float" else 0  # x + -0.0 is x even for x = -0.0
    return a if _is(b, zero) else b if _is(a, zero) else None


def _sub(node: Expr) -> Expr | None:
    a, b = node.sources
    return a if _is(b, 0) else None


def _mul(node: Expr) -> Expr | None:
    a, b = node.sources
    return a if _is(b, 1) else b if _is(a, 1) else None


def _div(node: Expr) -> Expr | None:
    a, b = node.sources
    return a if _is(b, 1) else None


def _neg(node: Expr) -> Expr | None:
    (x,) = node.sources
    return x.sources[0] if x.op == "neg" else None


def _relu(node: Expr) -> Expr | None:
    (x,) = node.sources
    return x if x.op == "relu" else None


def _transpose(node: Expr) -> Expr | None:
    (x,) = node.sources
    if x.op == "transpose":
        return apply("transpose", x.sources, tuple(x.arg[axis] for axis in node.arg))
    return x if node.arg == tuple(range(len(node.arg))) else None


def _expand_dims(node: Expr) -> Expr | None:
    (x,) = node.sources
    return x.sources[0] if x.op == "squeeze" and x.arg == node.arg else None


def _squeeze(node: Expr) -> Expr | None:
    (x,) = node.sources
    return x.sources[0] if x.op == "expand_dims" and x.arg == node.arg else None


def _broadcast(node: Expr) -> Expr | None:
    (x,) = node.sources
    if x.op == "broadcast_to":
        return x.sources[0].broadcast_to(node.shape)
    return x if len(x.shape) == len(node.shape) and all(map(same, x.shape, node.shape)) else None


def _reshape(node: Expr) -> Expr | None:
    (x,) = node.sources
    if x.op == "reshape":
        return apply("reshape", x.sources, node.arg)
    return x if len(x.shape) == len(node.shape) and all(map(same, x.shape, node.shape)) else None


def _slice(node: Expr) -> Expr | None:
    (x,) = node.sources
    axis, start, length, step = node.arg
    if start == 0 and step == 1 and same(length, x.shape[axis]):
        return x
    if x.op == "slice" and x.arg[0] == axis:
        _, first, _, by = x.arg
        return apply("slice", x.sources, (axis, first + start * by, length, by * step))
    return None


def _concat(node: Expr) -> Expr | None:
    parts = tuple(s for s in node.sources if s.shape[node.arg] != 0) or node.sources[:1]
    if len(parts) == 1:
        return parts[0]
    return None if len(parts) == len(node.sources) else apply("concat", parts, node.arg)


_RULES: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": _neg,
    "relu": _relu,
    "transpose": _transpose,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "broadcast_to": _broadcast,
    "reshape": _reshape,
    "slice": _slice,
    "concat": _concat,
}
