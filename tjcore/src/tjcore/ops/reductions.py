"""Reductions over one axis, by the documented tree (numerics.fold)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, numerics
from ..dtypes import DType
from .row import Infer, Meaning, Op, check_accumulates
from .shapes import Shape, stored_axis

if TYPE_CHECKING:
    from ..graph import Expr


def _infer_reduce(name: str) -> Infer:
    def infer(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
        (x,) = sources
        check_accumulates(name, x.dtype)
        axis = stored_axis("a reduction's axis", axis, len(x.shape))
        return (*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype

    return infer


def _sum(axis: int, size: Any, x: Any) -> Any:
    zero = -0.0 if x.dtype.kind == "f" else 0
    with np.errstate(all="ignore"):
        return numerics.fold(np.add, zero, 0, x, axis)


def _extreme(op: Callable[[Any, Any], Any], sign: int) -> Meaning:
    def meaning(axis: int, size: Any, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return numerics.fold(op, lowest(dtypes.as_dtype(x.dtype), sign), 0, x, axis)

    return meaning


def _infer_place(name: str) -> Infer:
    def infer(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
        return _infer_reduce(name)(sources, axis)[0], dtypes.int64

    return infer


def _place(search: Callable[..., Any]) -> Meaning:
    """The index of the first extreme, or of the first NaN."""
    return lambda axis, size, x: np.asarray(search(x, axis), np.int64)


NONEMPTY = ("max", "min", "argmax", "argmin")
"""Of no elements there is none of these."""


def lowest(dtype: DType, sign: int = 1) -> float:
    """The identity of max, or of min for `sign` -1: the least (greatest) value there is."""
    if dtype.kind == "float":
        return -math.inf * sign
    info = np.iinfo(dtype.numpy)
    return int(info.min if sign > 0 else info.max)


def _prod(axis: int, size: Any, x: Any) -> Any:
    with np.errstate(all="ignore"):
        return numerics.fold(np.multiply, 1, 1, x, axis)


def _sum_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    (x,) = node.sources
    return (g.expand_dims(node.arg).broadcast_to(x.shape),)


def _extreme_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    """To the elements that equal the extreme, in equal parts."""
    (x,) = node.sources
    axis = node.arg
    ties = x.equals(node.expand_dims(axis).broadcast_to(x.shape))
    share = (g / ties.sum(axis)).expand_dims(axis).broadcast_to(x.shape)
    return (ties * share,)


def _prod_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    """The product of the others: by division where no factor is 0; where one is, it alone has a slope; where two are, none has."""
    (x,) = node.sources
    axis = node.arg

    def along(y: Expr) -> Expr:
        return y.expand_dims(axis).broadcast_to(x.shape)

    zero = x.equals(0)
    zeros = zero.sum(axis)
    others = (x + zero).prod(axis) * zeros.equals(1)
    return (along(g) * (zero * along(others) + (1 - zero) * along(node) / (x + zero)),)


ROWS = (
    Op("sum", 1, "reduce", _infer_reduce("sum"), _sum, _sum_gradient),
    Op("prod", 1, "reduce", _infer_reduce("prod"), _prod, _prod_gradient),
    Op("max", 1, "reduce", _infer_reduce("max"), _extreme(numerics.maximum, 1), _extreme_gradient),
    Op("min", 1, "reduce", _infer_reduce("min"), _extreme(numerics.minimum, -1), _extreme_gradient),
    Op("argmax", 1, "reduce", _infer_place("argmax"), _place(np.argmax), None),
    Op("argmin", 1, "reduce", _infer_place("argmin"), _place(np.argmin), None),
)
