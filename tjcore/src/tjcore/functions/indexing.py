"""Numbers 0, 1, ... and what is made from them: ranges, masks, triangles; and elements taken by index. In: sizes and expressions. Out: expressions."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..dims import Dim, Size, SizeExpr, maximum
from ..errors import GraphError, shown
from ..graph import Expr, apply, number, reduce, size_of
from ..ops import broadcast_shapes, check_axis, check_shape, show_shape
from .creation import check_device
from .elementwise import operand

WHOLE = (int, Dim, SizeExpr)


def arange(start: Any, /, stop: Any = None, step: float = 1, *, dtype: Any = None, device: Any = None) -> Expr:
    """start, start + step, ... before stop, which are sizes: int64, if no other dtype is named. Or floats: float32 then."""
    check_device("arange", device)
    first, end = (0, start) if stop is None else (start, stop)
    if any(isinstance(x, float) for x in (first, end, step)) and all(isinstance(x, (int, float)) for x in (first, end, step)) and step:
        places = apply("iota", (), max(math.ceil((end - first) / step), 0)).astype(dtypes.float64)
        return (places * float(step) + float(first)).astype(dtypes.float32 if dtype is None else dtype)
    if not isinstance(first, WHOLE) or not isinstance(end, WHOLE) or not isinstance(step, int) or step == 0:
        raise GraphError(
            f"arange: bounds must be ints or sizes and the step an int other than 0, or all of them numbers, got {shown((first, end, step))}"
        )
    gap = end - first if step > 0 else first - end
    places = apply("iota", (), maximum((gap + (abs(step) - 1)) // abs(step), 0))
    values = places if step == 1 else places * step
    values = values if first == 0 else values + size_of(first, dtypes.int64)
    return values.astype(dtypes.int64 if dtype is None else dtype)


def linspace(start: float, stop: float, /, num: Size, *, dtype: Any = None, device: Any = None, endpoint: bool = True) -> Expr:
    """`num` numbers from start to stop, evenly apart: start + i * (stop - start) / (num - 1), computed in float64; float32, if no other dtype is
    named."""
    check_device("linspace", device)
    kind = dtypes.as_dtype(dtypes.float32 if dtype is None else dtype)
    places = apply("iota", (), num).astype(dtypes.float64)
    steps = size_of(maximum(num - 1 if endpoint else num, 1), dtypes.float64)
    values = places * (number(float(stop) - float(start), dtypes.float64) / steps) + float(start)
    if endpoint:  # the last is stop itself
        last = places.equal(size_of(maximum(num - 1, 1), dtypes.float64))
        values = last.where(float(stop), values)
    return values.astype(kind)


def _apart(rows: Size, columns: Size) -> Expr:
    """Of each place of a matrix, by how much its column lies right of its row."""
    return apply("iota", (), columns).expand_dims(0) - apply("iota", (), rows).expand_dims(1)


def eye(n_rows: Size, n_cols: Size | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Expr:
    """1 on the diagonal that lies k right of the main one, 0 elsewhere; float32, if no other dtype is named."""
    check_device("eye", device)
    return _apart(n_rows, n_rows if n_cols is None else n_cols).equal(k).astype(dtypes.float32 if dtype is None else dtype)


def _triangle(name: str, x: Expr) -> Expr:
    if operand(name, x).rank < 2:
        raise GraphError(f"{name}: expected at least two axes, got shape {show_shape(x.shape)}")
    return _apart(x.shape[-2], x.shape[-1])


def tril(x: Expr, /, *, k: int = 0) -> Expr:
    """The lower triangle, with 0 right of the k-th diagonal."""
    return _triangle("tril", x).less_equal(k).where(x, 0)


def triu(x: Expr, /, *, k: int = 0) -> Expr:
    """The upper triangle, with 0 left of the k-th diagonal."""
    return number(k, dtypes.int64).less_equal(_triangle("triu", x)).where(x, 0)


def one_hot(indices: Expr, size: Size, /, *, dtype: Any = dtypes.float32) -> Expr:
    """A new last axis of `size`, 1 where its number is the index; all 0 for an index outside of it."""
    return operand("one_hot", indices).expand_dims(-1).equal(apply("iota", (), size)).astype(dtype)


def take(x: Expr, indices: Any, /, *, axis: int | None = None) -> Expr:
    """The elements of x's axis (None: of all elements) that the indices name, negative ones from the end."""
    source = operand("take", x)
    if axis is None:
        source, axis = source.flatten(), 0
    at = check_axis("take", axis, source.rank)
    if isinstance(indices, int) and not isinstance(indices, bool):
        key: list[Any] = [slice(None)] * source.rank
        key[at] = indices
        return source[tuple(key)]
    return apply("take", (source, operand("take", indices)), at)


def take_along_axis(x: Expr, indices: Expr, /, *, axis: int = -1) -> Expr:
    """The elements that the indices name along one axis, each place with indices of its own; the other axes broadcast."""
    at = check_axis("take_along_axis", axis, operand("take_along_axis", x).rank)
    if operand("take_along_axis", indices).rank != x.rank:
        raise GraphError(f"take_along_axis: both must have one rank, got {show_shape(x.shape)} and {show_shape(indices.shape)}")
    others = [broadcast_shapes("take_along_axis", s.shape[:at] + (1,) + s.shape[at + 1 :], (1,) * x.rank) for s in (x, indices)]
    common = broadcast_shapes("take_along_axis", others[0], others[1])
    wide = [s.broadcast_to((*common[:at], s.shape[at], *common[at + 1 :])) for s in (x, indices)]
    return apply("take_along_axis", (wide[0], wide[1]), at)


def searchsorted(x1: Expr, x2: Expr, /, *, side: str = "left", sorter: Expr | None = None) -> Expr:
    """Where each of x2 belongs in the sorted vector x1, as int64. Every element is compared with every other, so this is for short vectors."""
    if side not in ("left", "right"):
        raise GraphError(f"searchsorted: side must be 'left' or 'right', got {shown(side)}")
    if operand("searchsorted", x1).rank != 1:
        raise GraphError(f"searchsorted: expected a vector of sorted elements, got shape {show_shape(x1.shape)}")
    ordered = x1 if sorter is None else take(x1, sorter, axis=0)
    wanted = operand("searchsorted", x2).expand_dims(-1)
    before = ordered < wanted if side == "left" else ordered <= wanted
    return reduce("sum", before, -1)


def meshgrid(*arrays: Expr, indexing: str = "xy") -> list[Expr]:
    """Each vector along an axis of its own, in the shape of all."""
    if indexing not in ("xy", "ij"):
        raise GraphError(f"meshgrid: indexing must be 'xy' or 'ij', got {shown(indexing)}")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = [1, 0]
    shape = check_shape("meshgrid", [operand("meshgrid", arrays[i]).shape[0] for i in order])
    out = []
    for x, axis in zip(arrays, order, strict=True):
        out.append(x.reshape([n if a == axis else 1 for a, n in enumerate(shape)]).broadcast_to(shape))
    return out


__all__ = [
    "arange", "linspace", "eye", "tril", "triu", "one_hot", "take", "take_along_axis", "searchsorted", "meshgrid",
]  # fmt: skip
