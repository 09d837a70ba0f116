"""Convolution and pooling, as models use them: windows of the input, multiplied with weights or reduced. In: expressions whose axes are
(batch, channels, ...space). Out: expressions of the same kind. A convolution is one product: its windows are stored as the rows of a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .dims import Size, maximum
from .errors import GraphError, shown
from .functions import concat, pad
from .functions.elementwise import operand
from .graph import Expr, apply, constant
from .ops import show_shape
from .ops.movement import count

Pairs = Sequence[int | tuple[int, int]]


def _several(name: str, what: str, value: object, rank: int, least: int) -> tuple[int, ...]:
    values = (value,) * rank if isinstance(value, int) else value
    if not isinstance(values, Sequence) or len(values) != rank or not all(type(v) is int and v >= least for v in values):
        raise GraphError(f"{name}: {what} must be an int of at least {least}, or one for each of {rank} axes, got {shown(value)}")
    return tuple(values)


def _padding(name: str, padding: int | Pairs, rank: int) -> list[tuple[int, int]]:
    values = (padding,) * rank if isinstance(padding, int) else padding
    pairs = [(p, p) if isinstance(p, int) else tuple(p) for p in values] if isinstance(values, Sequence) else []
    if len(pairs) != rank or not all(len(p) == 2 and all(type(n) is int and n >= 0 for n in p) for p in pairs):
        raise GraphError(
            f"{name}: padding must be an int, or an int or a pair (before, after) for each of {rank} axes, got {shown(padding)}"
        )
    return [(p[0], p[1]) for p in pairs]


def _windows(x: Expr, sizes: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Expr:
    """(batch, channels, ...places, ...window)"""
    for axis, (size, by, apart) in enumerate(zip(sizes, stride, dilation, strict=True), 2):
        length = maximum((x.shape[axis] - (size - 1) * apart - 1 + by) // by, 0)
        x = apply("windows", (x,), (axis, length, size, by, apart))
    return x


def conv(
    x: Expr,
    weight: Expr,
    bias: Expr | None = None,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Pairs = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Expr:
    """The correlation of x (batch, channels, ...space) with weight (filters, channels / groups, ...window): (batch, filters, ...places)."""
    rank = operand("conv", x).rank - 2
    if rank < 1 or operand("conv", weight).rank != rank + 2:
        raise GraphError(
            f"conv: expected x (batch, channels, ...space) and weight (filters, channels / groups, ...window) of one rank, at least 3, "
            f"got {show_shape(x.shape)} and {show_shape(weight.shape)}"
        )
    filters, depth, *window = weight.shape
    channels = x.shape[1]
    if not all(isinstance(n, int) and n > 0 for n in (filters, depth, channels, *window)):
        raise GraphError(f"conv: channels and windows must be known, got {show_shape(x.shape)} and {show_shape(weight.shape)}")
    assert isinstance(filters, int) and isinstance(depth, int)
    if type(groups) is not int or groups < 1 or channels != depth * groups or filters % groups:
        raise GraphError(
            f"conv: {groups} groups of {depth} channels do not make the {channels} channels of x (axis 1), or do not divide the {filters} filters"
        )
    strides, apart = _several("conv", "stride", stride, rank, 1), _several("conv", "dilation", dilation, rank, 1)
    padded = pad(x, [(0, 0), (0, 0), *_padding("conv", padding, rank)])
    sizes = [n for n in window if isinstance(n, int)]
    each = filters // groups
    parts = []
    for group in range(groups):
        seen = _windows(padded.slice_axis(1, group * depth, depth), sizes, strides, apart)
        places: tuple[Size, ...] = (x.shape[0], *seen.shape[2 : 2 + rank])
        order = (0, *range(2, 2 + rank), 1, *range(2 + rank, 2 + 2 * rank))
        rows = seen.permute(order).reshape((count(places), depth * math.prod(sizes)))
        columns = weight.slice_axis(0, group * each, each).reshape((each, depth * math.prod(sizes))).T
        parts.append((rows @ columns).reshape((*places, each)))
    out = parts[0] if groups == 1 else concat(parts, axis=-1)
    if bias is not None:
        out = out + bias
    return out.moveaxis(-1, 1)


def max_pool(x: Expr, window: int | Sequence[int], *, stride: int | Sequence[int] | None = None, padding: int | Pairs = 0) -> Expr:
    """The largest of each window; without a stride windows stand side by side. Padding is never the largest."""
    rank, sizes, strides = _pool("max_pool", x, window, stride)
    widths = [(0, 0), (0, 0), *_padding("max_pool", padding, rank)]
    lowest = (
        -math.inf
        if x.dtype.kind == "float"
        else int(x.dtype.numpy.type(0))
        if x.dtype.name == "uint8"
        else -(2 ** (8 * x.dtype.itemsize - 1))
    )
    padded = pad(x, widths, constant_values=lowest)
    return _windows(padded, sizes, strides, (1,) * rank).max(tuple(range(2 + rank, 2 + 2 * rank)))


def avg_pool(x: Expr, window: int | Sequence[int], *, stride: int | Sequence[int] | None = None, padding: int | Pairs = 0) -> Expr:
    """The mean of each window, zeros of the padding among its elements; without a stride windows stand side by side."""
    rank, sizes, strides = _pool("avg_pool", x, window, stride)
    padded = pad(x, [(0, 0), (0, 0), *_padding("avg_pool", padding, rank)])
    total = _windows(padded, sizes, strides, (1,) * rank).sum(tuple(range(2 + rank, 2 + 2 * rank)))
    return total / constant(math.prod(sizes), total.dtype)


def _pool(
    name: str, x: Expr, window: int | Sequence[int], stride: int | Sequence[int] | None
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    rank = operand(name, x).rank - 2
    if rank < 1:
        raise GraphError(f"{name}: expected (batch, channels, ...space), got shape {show_shape(x.shape)}")
    sizes = _several(name, "window", window, rank, 1)
    return rank, sizes, sizes if stride is None else _several(name, "stride", stride, rank, 1)
