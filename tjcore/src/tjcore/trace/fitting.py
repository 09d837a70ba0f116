"""Sizes that an op needs to be equal and that are, in this call: under one name for it.

In: the operands of an op. Out: the same, their axes cut to a common size where sizes with different names agree; the trace remembers what it took
to agree. What does not agree is refused with both sizes, here or by the op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..dims import Size
from ..errors import GraphError
from ..functions import contractions, indexing, manipulation, products
from ..graph import Expr, matmul
from ..ops import show_shape

Place = tuple[int, int]
"""An operand and one of its axes."""


class Agrees(Protocol):
    """What a trace brings: whether two sizes are the same in this call, and what a size is in it."""

    def agree(self, left: Size, right: Size) -> bool: ...
    def known(self, size: Size) -> int | None: ...


def fit(trace: Agrees, function: Callable[..., Any], values: Sequence[Any], named: Mapping[str, Any], numbers: bool) -> list[Any]:
    """The arguments of a function, fitted. `numbers`: all are operands that broadcast."""
    out = list(values)
    if numbers or function in (manipulation.broadcast_arrays, matmul, products.matmul, products.dot):
        places = [i for i, v in enumerate(out) if isinstance(v, Expr)]
        exprs = [out[i] for i in places]
        if len(exprs) > 1:
            name = getattr(function, "__name__", "an op")
            fitted = (
                _broadcast(trace, name, exprs) if numbers or function is manipulation.broadcast_arrays else _product(trace, name, exprs)
            )
            for i, expr in zip(places, fitted, strict=True):
                out[i] = expr
    elif function in _JOINS and isinstance(out[0], list) and all(isinstance(v, Expr) for v in out[0]):
        out[0] = _joined(trace, function, out[0], named.get("axis", 0))
    elif function is manipulation.broadcast_to and isinstance(out[0], Expr):
        out[0] = _to(trace, out[0], out[1])
    elif function is manipulation.squeeze and isinstance(out[0], Expr):
        axis = out[1] if len(out) > 1 else named["axis"]
        for at in [axis] if isinstance(axis, int) else axis:
            if -out[0].rank <= at < out[0].rank and trace.agree(out[0].shape[at], 1):
                out[0] = cut(out[0], at, 1)
    elif function in _GROUPS:
        exprs, groups = _GROUPS[function](out, named)
        first = 1 if function is contractions.einsum else 0
        out[first : first + len(exprs)] = _grouped(trace, exprs, groups)
    return out


def cut(expr: Expr, axis: int, size: Size) -> Expr:
    """The expression with another name for the size of an axis, which is the same."""
    return expr if expr.shape[axis] == size else expr.slice_axis(axis, 0, size)


def _grouped(trace: Agrees, exprs: Sequence[Expr], groups: Sequence[Sequence[Place]]) -> list[Expr]:
    out = list(exprs)
    for group in groups:
        sizes = [out[i].shape[axis] for i, axis in group]
        wanted = next((s for s in sizes if isinstance(s, int)), sizes[0])
        for (i, axis), size in zip(group, sizes, strict=True):
            if trace.agree(size, wanted):
                out[i] = cut(out[i], axis, wanted)
    return out


def _broadcast(trace: Agrees, name: str, exprs: Sequence[Expr], skip: int = 0) -> list[Expr]:
    """Axes counted from the back, but for the last `skip`. One that is 1 in this call, beside one that is not, has the size 1."""
    out = list(exprs)
    for back in range(1 + skip, 1 + max(e.rank for e in out)):
        having = [i for i, e in enumerate(out) if e.rank >= back]
        sizes = [out[i].shape[-back] for i in having]
        wanted = next((s for s in sizes if s != 1 and trace.known(s) != 1), next((s for s in sizes if s != 1), 1))
        for i, size in zip(having, sizes, strict=True):
            if size in (wanted, 1):
                continue
            if trace.agree(size, wanted):
                out[i] = cut(out[i], -back, wanted)
            elif trace.known(size) == 1 and trace.agree(size, 1):
                out[i] = cut(out[i], -back, 1)
            elif trace.known(size) is not None and trace.known(wanted) is not None:
                shown = " and ".join(_shown(trace, e) for e in exprs)
                raise GraphError(
                    f"{name}: shapes {shown} do not broadcast: axis -{back} is {_number(trace, wanted)} and {_number(trace, size)}"
                )
    return out


def _number(trace: Agrees, size: Size) -> str:
    return str(size) if isinstance(size, int) else f"{trace.known(size)} ({size})"


def _shown(trace: Agrees, expr: Expr) -> str:
    return show_shape([s if (n := trace.known(s)) is None else n for s in expr.shape])


def _to(trace: Agrees, expr: Expr, shape: Any) -> Expr:
    """An operand that is to be stretched to a shape."""
    wanted = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    for back in range(1, 1 + min(expr.rank, len(wanted))):
        size = expr.shape[-back]
        if size != 1 and trace.agree(size, wanted[-back]):
            expr = cut(expr, -back, wanted[-back])
        elif size != 1 and trace.known(size) == 1 and trace.agree(size, 1):
            expr = cut(expr, -back, 1)
    return expr


def _product(trace: Agrees, name: str, exprs: Sequence[Expr]) -> list[Expr]:
    a, b = exprs
    if a.rank and b.rank:
        a, b = _grouped(trace, (a, b), [[(0, a.rank - 1), (1, max(b.rank - 2, 0))]])
        if a.rank > 2 and b.rank > 2:
            a, b = _broadcast(trace, name, (a, b), skip=2)
    return [a, b]


def _joined(trace: Agrees, function: Callable[..., Any], exprs: list[Expr], axis: Any) -> list[Expr]:
    rank = exprs[0].rank
    if axis is None or any(e.rank != rank for e in exprs):
        return exprs
    along = axis % rank if function is manipulation.concat and rank else -1
    return _grouped(trace, exprs, [[(i, at) for i in range(len(exprs))] for at in range(rank) if at != along])


def _einsum(values: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Expr], list[list[Place]]]:
    exprs = list(values[1:])
    letters: dict[str, list[Place]] = {}
    for i, text in enumerate(contractions.letters(values[0], exprs)[0]):
        for axis, letter in enumerate(text):
            letters.setdefault(letter, []).append((i, axis))
    return exprs, list(letters.values())


def _tensordot(values: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Expr], list[list[Place]]]:
    a, b = values[:2]
    axes = named.get("axes", 2)
    left, right = (range(a.rank - axes, a.rank), range(axes)) if isinstance(axes, int) else axes
    return [a, b], [[(0, i % a.rank), (1, j % b.rank)] for i, j in zip(left, right, strict=False) if a.rank and b.rank]


def _vecdot(values: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Expr], list[list[Place]]]:
    a, b = values[:2]
    return [a, b], [[(0, -back), (1, -back)] for back in range(1, 1 + min(a.rank, b.rank)) if 1 not in (a.shape[-back], b.shape[-back])]


def _along(values: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Expr], list[list[Place]]]:
    a, b = values[:2]
    axis = named.get("axis", -1) % a.rank
    return [a, b], [[(0, i), (1, i)] for i in range(min(a.rank, b.rank)) if i != axis and 1 not in (a.shape[i], b.shape[i])]


_JOINS = (manipulation.concat, manipulation.stack)
_GROUPS: dict[Callable[..., Any], Callable[[Sequence[Any], Mapping[str, Any]], tuple[list[Expr], list[list[Place]]]]] = {
    contractions.einsum: _einsum,
    products.tensordot: _tensordot,
    products.vecdot: _vecdot,
    indexing.take_along_axis: _along,
}
