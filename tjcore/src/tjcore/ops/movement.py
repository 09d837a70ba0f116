"""Movement: parts, other shapes and windows of a tensor, whose elements lie where an index map says; and tensors joined along an axis.

Sizes that cannot be compared while the graph is built are compared at the call (`guards.py`), so no index leaves its tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dims import Dim, Size, SizeExpr, at_most, total
from ..dtypes import DType
from ..errors import GraphError, shown
from .row import Op
from .shapes import MAX_RANK, Shape, same, show_shape, stored_axis

if TYPE_CHECKING:
    from ..graph import Expr


def count(shape: Sequence[Size]) -> Size:
    """The number of elements."""
    return math.prod(shape)


def _sizes(op: str, arg: object, length: int, what: str) -> tuple[Size, ...]:
    if not isinstance(arg, tuple) or len(arg) != length or not all(type(a) is int or isinstance(a, (Dim, SizeExpr)) for a in arg):
        raise GraphError(f"{op}: expected {what}, got {shown(arg)}")
    return arg


def conditions(node: Expr) -> list[tuple[Size, Size]]:
    """Pairs of sizes: the node reads within its source where each first is at most its second."""
    if node.op not in ("slice", "windows", "reshape"):
        return []
    (x,) = node.sources
    if node.op == "reshape":
        have, want = count(x.shape), count(node.shape)
        return [] if same(have, want) else [(have, want), (want, have)]
    axis, *arg = node.arg
    size = x.shape[axis]
    return slice_bounds(size, *arg) if node.op == "slice" else windows_bounds(size, *arg)


def decided(node: Expr) -> bool:
    """Whether all sizes within the bounds of the dims keep the node within its source, so that no call needs to look."""
    return all(at_most(low, high) is True for low, high in conditions(node))


# ---------------------------------------------------------------------------------------------------------------- slice
def _infer_slice(sources: tuple[Expr, ...], arg: object) -> tuple[Shape, DType]:
    (x,) = sources
    axis, start, length, step = _sizes("slice", arg, 4, "(axis, start, length, step)")
    axis = stored_axis("slice", axis, len(x.shape))
    if type(step) is not int or step == 0:
        raise GraphError(f"slice: the step must be an int other than 0, got {step}")
    size = x.shape[axis]
    for low, high in slice_bounds(size, start, length, step):
        if at_most(low, high) is False:
            raise GraphError(f"slice: {length} elements from {start} in steps of {step} leave axis {axis} of shape {show_shape(x.shape)}")
    return (*x.shape[:axis], length, *x.shape[axis + 1 :]), x.dtype


def slice_bounds(size: Size, start: Size, length: Size, step: int) -> list[tuple[Size, Size]]:
    """Pairs of sizes: where each first is at most its second, the slice is within its axis. An empty slice may start anywhere in 0..size."""
    return [(0, length), *within(size, start, length, step)]


def within(size: Size, start: Size, length: Size, step: int) -> list[tuple[Size, Size]]:
    last = start + (length - 1) * step
    return [(0, start), (start, size - 1), (0, last), (last, size - 1)] if length != 0 else []


def _slice(arg: tuple[int, Size, Size, int], size: Any, x: Any) -> Any:
    axis, start, length, step = arg
    return np.take(x, size(start) + step * np.arange(size(length)), axis)


def _slice_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    """The cotangent back in its place among zeros."""
    (x,) = node.sources
    axis, start, length, step = node.arg
    if step < 0:
        g = g.slice_axis(axis, length - 1, length, -1)
        start, step = start + (length - 1) * step, -step
    if step > 1:
        g = spread(g, axis, step)
        length = (length - 1) * step + 1
        g = g.slice_axis(axis, 0, length, 1)
    return (pad_zeros(g, axis, start, x.shape[axis] - start - length),)


def zeros_of(like: Expr, axis: int, size: Size) -> Expr:
    from ..graph import number  # rows are read by graphs, so graphs lie above

    return number(0, like.dtype).broadcast_to((*like.shape[:axis], size, *like.shape[axis + 1 :]))


def spread(g: Expr, axis: int, step: int) -> Expr:
    """`step - 1` zeros behind each element."""
    from ..graph import apply

    wide = g.expand_dims(axis + 1)
    both = apply("concat", (wide, zeros_of(wide, axis + 1, step - 1)), axis + 1)
    return both.reshape((*g.shape[:axis], g.shape[axis] * step, *g.shape[axis + 1 :]))


def pad_zeros(g: Expr, axis: int, before: Size, after: Size) -> Expr:
    from ..graph import apply

    parts = [zeros_of(g, axis, n) if n is not None else g for n in (before, None, after) if n is None or n != 0]
    return parts[0] if len(parts) == 1 else apply("concat", tuple(parts), axis)


# -------------------------------------------------------------------------------------------------------------- reshape
def _infer_reshape(sources: tuple[Expr, ...], shape: object) -> tuple[Shape, DType]:
    (x,) = sources
    if not isinstance(shape, tuple) or len(shape) > MAX_RANK:
        raise GraphError(f"reshape: expected a shape such as (N, 3), got {shown(shape)}")
    have, want = count(x.shape), count(shape)
    if not same(have, want) and (at_most(have, want) is False or at_most(want, have) is False):
        raise GraphError(f"reshape: {show_shape(x.shape)} has {have} elements, and {show_shape(shape)} has {want}")
    return shape, x.dtype


# -------------------------------------------------------------------------------------------------------------- windows
def _infer_windows(sources: tuple[Expr, ...], arg: object) -> tuple[Shape, DType]:
    (x,) = sources
    axis, length, size, stride, dilation = _sizes("windows", arg, 5, "(axis, count, size, stride, dilation)")
    axis = stored_axis("windows", axis, len(x.shape))
    if not all(type(n) is int and n >= 1 for n in (size, stride, dilation)):
        raise GraphError(f"windows: size, stride and dilation must be ints of at least 1, got {size}, {stride} and {dilation}")
    if len(x.shape) == MAX_RANK:
        raise GraphError(f"windows: at most {MAX_RANK} axes, and shape {show_shape(x.shape)} has {MAX_RANK} already")
    for low, high in windows_bounds(x.shape[axis], length, size, stride, dilation):
        if at_most(low, high) is False:
            raise GraphError(
                f"windows: {length} windows of {size} with stride {stride} and dilation {dilation} leave axis {axis} of shape {show_shape(x.shape)}"
            )
    return (*x.shape[:axis], length, *x.shape[axis + 1 :], size), x.dtype


def windows_bounds(axis: Size, length: Size, size: Size, stride: Size, dilation: Size) -> list[tuple[Size, Size]]:
    """As for slices. With no window at all, the axis may be as short as one stride less than a window."""
    return [(0, length), ((length - 1) * stride + (size - 1) * dilation + 1, axis)] if length != 0 else []


def _windows(arg: tuple[int, Size, int, int, int], size: Any, x: Any) -> Any:
    axis, length, width, stride, dilation = arg
    at = stride * np.arange(size(length))[:, None] + dilation * np.arange(width)
    return np.moveaxis(np.take(x, at, axis), axis + 1, -1)


def _windows_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    """Each place of a window is a slice of the source; the cotangents of all places are added in their order."""
    (x,) = node.sources
    axis, length, width, stride, dilation = node.arg
    whole: Expr | None = None
    for k in range(width):
        place = x.slice_axis(axis, k * dilation, length, stride)
        (part,) = _slice_gradient(place, g.slice_axis(len(g.shape) - 1, k, 1, 1).squeeze(-1)) if place is not x else (g.squeeze(-1),)
        whole = part if whole is None else whole + part
    assert whole is not None
    return (whole,)


# --------------------------------------------------------------------------------------------------------------- concat
def _infer_concat(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
    if not sources:
        raise GraphError("concat: expected at least one tensor, got none")
    first = sources[0]
    axis = stored_axis("concat", axis, len(first.shape))
    for i, other in enumerate(sources[1:], 1):
        if other.dtype is not first.dtype:
            raise GraphError(f"concat: operands must have one dtype, got {first.dtype} and, at position {i}, {other.dtype}")
        if len(other.shape) != len(first.shape):
            raise GraphError(
                f"concat: operands must have one rank, got {show_shape(first.shape)} and, at position {i}, {show_shape(other.shape)}"
            )
        for a, (x, y) in enumerate(zip(first.shape, other.shape, strict=True)):
            if a != axis and not same(x, y):
                raise GraphError(
                    f"concat along axis {axis}: axis {a} of the operands must agree, got {x} in {show_shape(first.shape)} "
                    f"and {y} in {show_shape(other.shape)} at position {i}"
                )
    return (*first.shape[:axis], total(s.shape[axis] for s in sources), *first.shape[axis + 1 :]), first.dtype


def _concat_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    parts, start = [], 0
    for source in node.sources:
        size = source.shape[node.arg]
        parts.append(g.slice_axis(node.arg, start, size, 1))
        start = start + size
    return parts


ROWS = (
    Op("slice", 1, "view", _infer_slice, _slice, _slice_gradient),
    Op(
        "reshape",
        1,
        "view",
        _infer_reshape,
        lambda shape, size, x: np.reshape(x, tuple(map(size, shape))),
        lambda node, g: (g.reshape(node.sources[0].shape),),
    ),
    Op("windows", 1, "view", _infer_windows, _windows, _windows_gradient),
    Op("concat", -1, "join", _infer_concat, lambda axis, size, *xs: np.concatenate(xs, axis), _concat_gradient),
)
