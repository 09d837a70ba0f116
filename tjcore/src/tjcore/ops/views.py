"""Views: the same elements under another index. They move no bytes; see access.py for their index maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import DType
from ..errors import GraphError, shown
from .row import Op
from .shapes import MAX_RANK, Shape, same, show_shape, stored_axis

if TYPE_CHECKING:
    from ..graph import Expr


def _infer_expand_dims(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
    (x,) = sources
    axis = stored_axis("expand_dims", axis, len(x.shape) + 1)
    if len(x.shape) == MAX_RANK:
        raise GraphError(f"expand_dims: at most {MAX_RANK} axes, and shape {show_shape(x.shape)} has {MAX_RANK} already")
    return (*x.shape[:axis], 1, *x.shape[axis:]), x.dtype


def _infer_squeeze(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
    (x,) = sources
    axis = stored_axis("squeeze", axis, len(x.shape))
    if x.shape[axis] != 1:
        raise GraphError(f"squeeze: axis {axis} of shape {show_shape(x.shape)} is {x.shape[axis]}, expected the int 1")
    return (*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype


def _infer_broadcast(sources: tuple[Expr, ...], shape: object) -> tuple[Shape, DType]:
    (x,) = sources
    if not isinstance(shape, tuple):
        raise GraphError(f"broadcast_to: expected a shape such as (N, 3), got {shown(shape)}")
    if len(shape) < len(x.shape):
        raise GraphError(f"broadcast_to: {show_shape(shape)} has fewer axes than {show_shape(x.shape)}")
    for back in range(1, len(x.shape) + 1):
        have, want = x.shape[-back], shape[-back]
        if not same(have, want) and not (isinstance(have, int) and have == 1):
            raise GraphError(
                f"broadcast_to: shape {show_shape(x.shape)} does not broadcast to {show_shape(shape)}: "
                f"axis {-back} is {have}, wanted {want}; only the int 1 stretches"
            )
    return shape, x.dtype


def _infer_transpose(sources: tuple[Expr, ...], perm: object) -> tuple[Shape, DType]:
    (x,) = sources
    if not isinstance(perm, tuple) or not all(type(axis) is int for axis in perm):
        raise GraphError(f"transpose: expected axes such as (1, 0), got {shown(perm)}")
    if sorted(perm) != list(range(len(x.shape))):
        raise GraphError(f"transpose: axes {perm} are no permutation of the {len(x.shape)} axes of {show_shape(x.shape)}")
    return tuple(x.shape[p] for p in perm), x.dtype


def _broadcast_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    (x,) = node.sources
    added = len(node.shape) - len(x.shape)
    for _ in range(added):
        g = g.sum(0)
    for axis, (have, want) in enumerate(zip(x.shape, node.shape[added:], strict=True)):
        if not same(have, want):
            g = g.sum(axis).expand_dims(axis)
    return (g,)


def _transpose_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    back = tuple(int(i) for i in np.argsort(node.arg))
    return (g.permute(back),)


ROWS = (
    Op("expand_dims", 1, "view", _infer_expand_dims, lambda a, s, x: np.expand_dims(x, a), lambda node, g: (g.squeeze(node.arg),)),
    Op("squeeze", 1, "view", _infer_squeeze, lambda a, s, x: np.squeeze(x, a), lambda node, g: (g.expand_dims(node.arg),)),
    Op("broadcast_to", 1, "view", _infer_broadcast, lambda a, s, x: np.broadcast_to(x, tuple(map(s, a))), _broadcast_gradient),
    Op("transpose", 1, "view", _infer_transpose, lambda a, s, x: np.transpose(x, a), _transpose_gradient),
)
