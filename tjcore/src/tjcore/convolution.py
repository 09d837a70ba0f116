"""Convolution and pooling, as models use them: windows of the input, multiplied with weights or reduced. In: expressions whose axes are
(batch, channels, ...space). Out: expressions of the same kind. A convolution is one product, whose columns are its windows; where every filter
has one channel to itself it is that product's chain written out, element by element, so the bits are those of the product.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from .dims import Size, maximum
from .errors import GraphError, shown
from .functions import pad
from .functions.elementwise import operand
from .graph import Expr, apply, constant
from .ops import show_shape
from .ops.movement import count

MOST_PLACES = 49
"""Places of a window up to which a convolution of single channels is written out: as many reads in one loop."""

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
    for axis, each in enumerate(zip(sizes, stride, dilation, strict=True), 2):
        x = apply("windows", (x,), (axis, _length(x, axis, each), *each))
    return x


def _length(x: Expr, axis: int, window: tuple[int, int, int]) -> Size:
    """How many windows of (size, stride, dilation) fit on an axis."""
    size, by, apart = window
    return maximum((x.shape[axis] - (size - 1) * apart - 1 + by) // by, 0)


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
    if depth == 1 and filters == groups and math.prod(sizes) <= MOST_PLACES and x.dtype.kind == "float":
        out = _one_by_one(padded, weight, sizes, strides, apart)
    else:
        out = _product(padded, weight, sizes, strides, apart, groups)
    return out if bias is None else out + bias.reshape((filters, *(1,) * rank))


def _product(x: Expr, weight: Expr, sizes: Sequence[int], strides: Sequence[int], apart: Sequence[int], groups: int) -> Expr:
    """Per image and group, the filters as rows times the windows as columns: results lie as they are wanted."""
    filters, depth = weight.shape[:2]
    assert isinstance(filters, int) and isinstance(depth, int)
    rank, batch = len(sizes), x.shape[0]
    front: tuple[Size, ...] = (batch,) if groups == 1 else (batch, groups)
    if all(n == 1 for n in (*sizes, *strides)):
        places, columns = x.shape[2:], x.reshape((*front, depth, count(x.shape[2:])))
    else:
        seen = _windows(x, sizes, strides, apart)
        places = seen.shape[2 : 2 + rank]
        seen = seen.permute((0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank)))
        columns = seen.reshape((*front, depth * math.prod(sizes), count(places)))
    rows = weight.reshape((*front[1:], filters // groups, depth * math.prod(sizes)))
    return (rows @ columns).reshape((batch, filters, *places))


def _one_by_one(x: Expr, weight: Expr, sizes: Sequence[int], strides: Sequence[int], apart: Sequence[int]) -> Expr:
    """One channel for each filter: the product's own chain, place by place of the window, without a matrix of windows."""
    lengths = [_length(x, *each) for each in enumerate(zip(sizes, strides, apart, strict=True), 2)]
    shape = (*x.shape[:2], *lengths)
    total = constant(0, x.dtype).broadcast_to(shape)
    for place in itertools.product(*map(range, sizes)):
        seen, factor = x, weight
        for axis, (at, by, length, step) in enumerate(zip(place, strides, lengths, apart, strict=True), 2):
            seen = seen.slice_axis(axis, at * step, length, by)
            factor = factor.slice_axis(axis, at, 1)
        total = apply("fma", (seen, factor.squeeze(1).broadcast_to(shape), total))
    return total


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
