"""Shapes and axes as users write them: checked, compared, broadcast, shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dims import Dim, Size, SizeExpr
from ..errors import GraphError, shown

Shape = tuple[Size, ...]

MAX_RANK = 32


def same(a: Size, b: Size) -> bool:
    """Whether two sizes are the same for every value of their symbols (structurally, which is how the canonical form proves it)."""
    return a is b or a == b


def show_shape(shape: Sequence[Size]) -> str:
    return "(" + ", ".join(str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"


def check_axis(op: str, axis: object, rank: int, *, new: bool = False) -> int:
    """`axis` as a non-negative int of a tensor of `rank` axes (`new`: of the result, which has one more)."""
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise GraphError(f"{op}: axis must be an int, got {shown(axis)}")
    count = rank + new
    if not -count <= axis < count:
        allowed = f"{-count}..{count - 1}" if count else "none, the tensor has no axes"
        raise GraphError(f"{op}: axis {shown(axis)} is out of range for a tensor of rank {rank}; allowed: {allowed}")
    return int(axis) % count


def check_axes(op: str, axis: object, rank: int) -> tuple[int, ...]:
    """`axis` as NumPy takes it for reductions (an int, several, or None for all), ascending and none twice."""
    if axis is None:
        return tuple(range(rank))
    if isinstance(axis, str) or not isinstance(axis, Sequence):
        return (check_axis(op, axis, rank),)
    axes = sorted(check_axis(op, a, rank) for a in axis)
    if len(set(axes)) < len(axes):
        raise GraphError(f"{op}: axes {shown(tuple(axis))} name one axis twice")
    return tuple(axes)


def broadcast_shapes(op: str, a: Shape, b: Shape) -> Shape:
    """NumPy's rule on declared sizes: equal sizes agree, the int 1 stretches; a symbol is never taken for 1."""
    rank = max(len(a), len(b))
    wide_a, wide_b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    out: list[Size] = []
    for axis, (x, y) in enumerate(zip(wide_a, wide_b, strict=True)):
        if same(x, y) or (isinstance(y, int) and y == 1):
            out.append(x)
        elif isinstance(x, int) and x == 1:
            out.append(y)
        else:
            why = "two symbols never broadcast" if not isinstance(x, int) and not isinstance(y, int) else "only the int 1 broadcasts"
            if str(x) == str(y):
                why = f"they are declared with different bounds, {x!r} and {y!r}; give both the same, or one another name"
            raise GraphError(f"{op}: shapes {show_shape(a)} and {show_shape(b)} do not broadcast: axis {axis - rank} is {x} and {y}; {why}")
    return tuple(out)


def check_shape(op: str, shape: object) -> Shape:
    """A shape as a user may write it: a sequence of Dims, size expressions and ints below 2**31."""
    if isinstance(shape, (int, np.integer, Dim, SizeExpr)) and not isinstance(shape, bool):
        shape = (shape,)
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise GraphError(f"{op}: shape must be a tuple of Dims and ints, got {shown(shape)}")
    out: list[Size] = []
    for axis, size in enumerate(shape):
        if isinstance(size, (Dim, SizeExpr)):
            out.append(size)
        elif isinstance(size, (int, np.integer)) and not isinstance(size, bool) and 0 <= size < 2**31:
            out.append(int(size))
        else:
            raise GraphError(f"{op}: axis {axis} must be a Dim or an int in 0..2**31-1, got {shown(size)}")
    if len(out) > MAX_RANK:
        raise GraphError(f"{op}: at most {MAX_RANK} axes, got {len(out)}")
    return tuple(out)


def stored_axis(op: str, axis: object, count: int) -> int:
    """An axis as nodes hold it: counted from the front. Graph text can say anything here."""
    if type(axis) is not int or not 0 <= axis < count:
        allowed = f"an int in 0..{count - 1}" if count else "a tensor that has axes"
        raise GraphError(f"{op}: expected {allowed}, got {shown(axis)}")
    return axis
