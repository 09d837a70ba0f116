"""Shapes and parts of tensors under the array API's names, and NumPy's where that has none. In: expressions. Out: views, and tensors joined from views."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..dims import Size, at_most, bounds, divides, maximum
from ..errors import GraphError, shown
from ..graph import Expr, apply, number
from ..ops import broadcast_shapes, check_axes, check_axis, check_shape, show_shape
from ..shaping import Axes
from .elementwise import operand

MAX_PARTS = 64
"""Tensors that one kernel joins; more are joined in steps."""


def reshape(x: Expr, /, shape: Any, *, copy: bool | None = None) -> Expr:
    """The same elements in another shape; one size may be -1. `copy` changes nothing, since expressions have no memory."""
    return operand("reshape", x).reshape(shape)


def ravel(x: Expr, /) -> Expr:
    """All elements in one axis."""
    return operand("ravel", x).flatten()


def permute_dims(x: Expr, /, axes: Sequence[int]) -> Expr:
    """Axis i of the result is axis `axes[i]` of x."""
    return operand("permute_dims", x).permute(axes)


def moveaxis(x: Expr, source: int | Sequence[int], destination: int | Sequence[int], /) -> Expr:
    """Axes moved to other places, the others in their order."""
    return operand("moveaxis", x).moveaxis(source, destination)


def swapaxes(x: Expr, axis1: int, axis2: int, /) -> Expr:
    """Two axes exchanged."""
    return operand("swapaxes", x).swapaxes(axis1, axis2)


def expand_dims(x: Expr, /, *, axis: int | Sequence[int] = 0) -> Expr:
    """New axes of size 1 at `axis` of the result."""
    out = operand("expand_dims", x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    rank = out.rank + len(axes)
    for at in check_axes("expand_dims", tuple(axes), rank):
        out = out.expand_dims(at)
    return out


def squeeze(x: Expr, /, axis: int | Sequence[int]) -> Expr:
    """Without axes of declared size 1."""
    return operand("squeeze", x).squeeze(axis)


def flip(x: Expr, /, *, axis: Axes = None) -> Expr:
    """Axes (None: all) in the other direction."""
    return operand("flip", x).flip(axis)


def broadcast_to(x: Expr, /, shape: Sequence[Size]) -> Expr:
    """Stretched to a shape: axes of declared size 1 repeat."""
    return operand("broadcast_to", x).broadcast_to(shape)


def broadcast_arrays(*arrays: Expr) -> list[Expr]:
    """All of one shape."""
    shape: tuple[Size, ...] = ()
    for x in arrays:
        shape = broadcast_shapes("broadcast_arrays", shape, operand("broadcast_arrays", x).shape)
    return [x.broadcast_to(shape) for x in arrays]


def concat(arrays: Sequence[Expr], /, *, axis: int | None = 0) -> Expr:
    """One behind the other along an axis (None: all elements of each). Element types are promoted."""
    if isinstance(arrays, Expr) or not isinstance(arrays, Sequence) or not arrays:
        raise GraphError(f"concat: expected a sequence of at least one Expr, got {shown(arrays)}")
    parts = [operand("concat", x) for x in arrays]
    if axis is None:
        parts, axis = [x.flatten() for x in parts], 0
    kind = parts[0].dtype
    for x in parts[1:]:
        kind = dtypes.promote(kind, x.dtype)
    at = check_axis("concat", axis, parts[0].rank)
    parts = [x.astype(kind) for x in parts]
    while len(parts) > 1:
        parts = [apply("concat", tuple(parts[i : i + MAX_PARTS]), at) for i in range(0, len(parts), MAX_PARTS)]
    return parts[0]


def stack(arrays: Sequence[Expr], /, *, axis: int = 0) -> Expr:
    """Side by side along a new axis."""
    if isinstance(arrays, Expr) or not isinstance(arrays, Sequence) or not arrays:
        raise GraphError(f"stack: expected a sequence of at least one Expr, got {shown(arrays)}")
    at = check_axis("stack", axis, operand("stack", arrays[0]).rank, new=True)
    return concat([operand("stack", x).expand_dims(at) for x in arrays], axis=at)


def unstack(x: Expr, /, *, axis: int = 0) -> tuple[Expr, ...]:
    """The parts along an axis of known size, without the axis."""
    at = check_axis("unstack", axis, operand("unstack", x).rank)
    size = x.shape[at]
    if not isinstance(size, int):
        raise GraphError(f"unstack: how many parts there are must be known, and axis {at} of shape {show_shape(x.shape)} is {size}")
    return tuple(x.slice_axis(at, i, 1).squeeze(at) for i in range(size))


def split(x: Expr, sections: int | Sequence[Size], /, *, axis: int = 0) -> list[Expr]:
    """As `numpy.split`: that many equal parts, or parts between the places named."""
    at = check_axis("split", axis, operand("split", x).rank)
    size = x.shape[at]
    if isinstance(sections, int):
        if sections < 1:
            raise GraphError(f"split: expected at least 1 part, got {sections}")
        if divides(sections, size) is False or (isinstance(size, int) and size % sections):
            raise GraphError(f"split: axis {at} of shape {show_shape(x.shape)} is {size}, which {sections} equal parts do not make")
        part = size // sections
        whole = x.reshape((*x.shape[:at], sections, part, *x.shape[at + 1 :]))  # refused at the call where a rest remains
        return list(unstack(whole, axis=at))
    key: list[Any] = [builtins.slice(None)] * x.rank
    parts = []
    for start, stop in zip((0, *sections), (*sections, None), strict=True):
        key[at] = builtins.slice(start, stop)
        parts.append(x[tuple(key)])
    return parts


def roll(x: Expr, /, shift: int | Sequence[int], *, axis: Axes = None) -> Expr:
    """Elements moved along axes; what leaves at one end comes in at the other. Without an axis, of all elements in one."""
    operand("roll", x)
    if axis is None:
        return roll(x.flatten(), shift, axis=0).reshape(x.shape)
    axes = [axis] if isinstance(axis, int) else list(axis)
    shifts = [shift] * len(axes) if not isinstance(shift, Sequence) else list(shift)
    if len(shifts) != len(axes):
        raise GraphError(f"roll: expected a shift for each axis, got {shown(shift)} for {shown(axis)}")
    out = x
    for by, at in zip(shifts, (check_axis("roll", a, x.rank) for a in axes), strict=True):
        size = out.shape[at]
        if isinstance(size, int) or abs(by) <= bounds(size)[0]:
            moved = by % size if isinstance(size, int) and size else by if by >= 0 else size + by
            if moved != 0 and size != 0:
                out = concat([out.slice_axis(at, size - moved, moved), out.slice_axis(at, 0, size - moved)], axis=at)
        else:  # a size that may be less than the shift: one round of what goes round twice
            out = concat([out, out], axis=at).slice_axis(at, size - by % maximum(size, 1), size)
    return out


def tile(x: Expr, repetitions: Size | Sequence[Size], /) -> Expr:
    """The whole, repeated along each axis."""
    times = check_shape("tile", repetitions)
    out = operand("tile", x)
    out = out.reshape((*[1] * (len(times) - out.rank), *out.shape))
    times = (*[1] * (out.rank - len(times)), *times)
    wide = out.reshape([n for size in out.shape for n in (1, size)]).broadcast_to(
        [n for size, by in zip(out.shape, times, strict=True) for n in (by, size)]
    )
    return wide.reshape(tuple(size * by for size, by in zip(out.shape, times, strict=True)))


def repeat(x: Expr, repeats: Size, /, *, axis: int | None = None) -> Expr:
    """Each element `repeats` times."""
    out = operand("repeat", x)
    if axis is None:
        out, axis = out.flatten(), 0
    (by,) = check_shape("repeat", repeats)
    at = check_axis("repeat", axis, out.rank)
    wide = out.expand_dims(at + 1).broadcast_to((*out.shape[: at + 1], by, *out.shape[at + 1 :]))
    return wide.reshape((*out.shape[:at], out.shape[at] * by, *out.shape[at + 1 :]))


def pad(x: Expr, pad_width: Any, mode: str = "constant", *, constant_values: float = 0) -> Expr:
    """As `numpy.pad`, in modes constant, edge, reflect, symmetric and wrap; the last three take what is there once, so at most an axis's own size."""
    out = operand("pad", x)
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap"):
        raise GraphError(f"pad: mode must be constant, edge, reflect, symmetric or wrap, got {shown(mode)}")
    for axis, (before, after) in enumerate(_widths(pad_width, out.rank)):
        size = out.shape[axis]
        first, last = _margins(out, axis, mode, before, after, size, constant_values)
        parts = [part for part, width in ((first, before), (out, size), (last, after)) if part is out or width != 0]
        out = concat(parts, axis=axis)
    return out


def _widths(given: Any, rank: int) -> list[tuple[Size, Size]]:
    pairs = list(given) if isinstance(given, Sequence) else [given]
    if pairs and not any(isinstance(p, Sequence) for p in pairs):
        pairs = [pairs] if len(pairs) == 2 else [(p, p) for p in pairs]
    if len(pairs) == 1:
        pairs = pairs * rank
    if len(pairs) != rank or not all(isinstance(p, Sequence) and len(p) in (1, 2) for p in pairs):
        raise GraphError(f"pad: expected a width, a pair (before, after), or a pair for each of {rank} axes, got {shown(given)}")
    widths = [check_shape("pad", (p[0], p[-1])) for p in pairs]
    return [(w[0], w[1]) for w in widths]


def _margins(x: Expr, axis: int, mode: str, before: Size, after: Size, size: Size, value: float) -> tuple[Expr, Expr]:
    wide = [(*x.shape[:axis], width, *x.shape[axis + 1 :]) for width in (before, after)]
    if mode == "constant":
        fill = number(value, x.dtype)
        return fill.broadcast_to(wide[0]), fill.broadcast_to(wide[1])
    if mode == "edge":
        ends = (x.slice_axis(axis, 0, 1), x.slice_axis(axis, size - 1, 1))
        return ends[0].broadcast_to(wide[0]), ends[1].broadcast_to(wide[1])
    for width in (before, after):
        room = size - 1 if mode == "reflect" else size
        if at_most(width, room) is False:
            raise GraphError(
                f"pad: mode {mode} has {room} elements to take along axis {axis} of shape {show_shape(x.shape)}, {width} are wanted"
            )
    if mode == "wrap":
        return x.slice_axis(axis, size - before, before), x.slice_axis(axis, 0, after)
    skip = 1 if mode == "reflect" else 0
    return x.slice_axis(axis, before - 1 + skip, before, -1), x.slice_axis(axis, size - 1 - skip, after, -1)


def sliding_window_view(x: Expr, /, window_shape: int | Sequence[int], axis: Axes = None, *, stride: int = 1, dilation: int = 1) -> Expr:
    """Windows along axes (None: all), whose elements come as new axes at the end; every `stride`-th, of elements `dilation` apart."""
    out = operand("sliding_window_view", x)
    axes = (
        check_axes("sliding_window_view", axis, out.rank)
        if axis is None
        else tuple(check_axis("sliding_window_view", a, out.rank) for a in ([axis] if isinstance(axis, int) else axis))
    )
    sizes = [window_shape] * len(axes) if isinstance(window_shape, int) else list(window_shape)
    if len(sizes) != len(axes):
        raise GraphError(f"sliding_window_view: expected a window size for each of {len(axes)} axes, got {shown(window_shape)}")
    for at, width in zip(axes, sizes, strict=True):
        length = maximum((out.shape[at] - (width - 1) * dilation - 1 + stride) // stride, 0)
        out = apply("windows", (out,), (at, length, width, stride, dilation))
    return out


__all__ = [
    "reshape", "ravel", "permute_dims", "moveaxis", "swapaxes", "expand_dims", "squeeze", "flip", "broadcast_to", "broadcast_arrays",
    "concat", "stack", "unstack", "split", "roll", "tile", "repeat", "pad", "sliding_window_view",
]  # fmt: skip
