"""Indices: the numbers 0, 1, ... as values, and elements taken by numbers that are known at the call only.

Law: no index leaves its tensor. Negative ones count from the end; what is then still outside is taken as the first or the last element.
Where the indices are inputs of the graph the call is refused before that (`guards.py`), as NumPy does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..dims import Dim, SizeExpr, at_most
from ..dtypes import DType
from ..errors import GraphError, shown
from .row import Op
from .shapes import Shape, same, show_shape, stored_axis

if TYPE_CHECKING:
    from ..graph import Expr


def _infer_iota(sources: tuple[Expr, ...], size: object) -> tuple[Shape, DType]:
    if not (type(size) is int or isinstance(size, (Dim, SizeExpr))) or at_most(0, size) is not True:
        raise GraphError(f"iota: expected a size that is at least 0, got {shown(size)}")
    return (size,), dtypes.int64


def _check_indices(op: str, indices: Expr) -> None:
    if indices.dtype not in (dtypes.int32, dtypes.int64):
        raise GraphError(f"{op}: indices must be int32 or int64, got {indices.dtype}; cast them with astype")


def _infer_take(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
    x, indices = sources
    axis = stored_axis("take", axis, len(x.shape))
    _check_indices("take", indices)
    return (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype


def _infer_take_along(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
    x, indices = sources
    axis = stored_axis("take_along_axis", axis, len(x.shape))
    _check_indices("take_along_axis", indices)
    if len(x.shape) != len(indices.shape) or not all(
        a == axis or same(s, t) for a, (s, t) in enumerate(zip(x.shape, indices.shape, strict=True))
    ):
        raise GraphError(
            f"take_along_axis: beside axis {axis} both must have one shape, got {show_shape(x.shape)} and {show_shape(indices.shape)}"
        )
    return indices.shape, x.dtype


def _inside(indices: Any, size: int) -> Any:
    return np.clip(np.where(indices < 0, indices + size, indices), 0, max(size - 1, 0))


def _take(axis: int, size: Any, x: Any, indices: Any) -> Any:
    if x.shape[axis] == 0:
        return np.zeros((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
    return np.take(x, _inside(indices, x.shape[axis]), axis)


def _take_along(axis: int, size: Any, x: Any, indices: Any) -> Any:
    if x.shape[axis] == 0:
        return np.zeros(indices.shape, x.dtype)
    return np.take_along_axis(x, _inside(indices, x.shape[axis]), axis)


def _hits(indices: Expr, x: Expr, axis: int, at: int) -> Expr:
    """Along a new axis `at`, which runs over the elements of x's axis: whether an index names the element."""
    from ..graph import apply, size_of

    size = x.shape[axis]
    wide = indices.astype(dtypes.int64)
    wide = (wide < 0).where(wide + size_of(size, dtypes.int64), wide).maximum(0).minimum(size_of(size - 1, dtypes.int64))
    places = apply("iota", (), size)
    for _ in range(len(indices.shape) - at):
        places = places.expand_dims(-1)
    return wide.expand_dims(at).equal(places)


def _take_gradient(node: Expr, g: Expr) -> Sequence[Expr | None]:
    """Each element's cotangents added in the order of the indices, by the tree of sums."""
    x, indices = node.sources
    axis = node.arg
    count = len(indices.shape)
    flat = indices.flatten()
    g = g.reshape((*x.shape[:axis], flat.shape[0], *x.shape[axis + 1 :])) if count != 1 else g
    hits = _hits(flat, x, axis, 0)  # (size, count)
    for _ in range(len(x.shape) - axis - 1):
        hits = hits.expand_dims(-1)
    return hits.where(g.expand_dims(axis), 0).sum(axis + 1), None


def _take_along_gradient(node: Expr, g: Expr) -> Sequence[Expr | None]:
    x, indices = node.sources
    axis = node.arg
    return _hits(indices, x, axis, axis).where(g.expand_dims(axis), 0).sum(axis + 1), None


ROWS = (
    Op("iota", 0, "leaf", _infer_iota, lambda n, size: np.arange(size(n), dtype=np.int64), None),
    Op("take", 2, "gather", _infer_take, _take, _take_gradient),
    Op("take_along_axis", 2, "gather", _infer_take_along, _take_along, _take_along_gradient),
)
