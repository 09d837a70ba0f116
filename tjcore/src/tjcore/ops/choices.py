"""Comparisons, whose results are bools, and what chooses by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..errors import GraphError
from .row import Infer, Op, quiet
from .shapes import Shape, same, show_shape

if TYPE_CHECKING:
    from ..graph import Expr


def alike(name: str, first: Expr, other: Expr) -> None:
    """GraphError unless both operands have one dtype and one shape."""
    if other.dtype is not first.dtype:
        raise GraphError(f"{name}: operands must have one dtype, got {first.dtype} and {other.dtype}")
    if len(other.shape) != len(first.shape) or not all(map(same, first.shape, other.shape)):
        raise GraphError(f"{name}: operands must have one shape, got {show_shape(first.shape)} and {show_shape(other.shape)}")


def _infer_comparison(name: str) -> Infer:
    def infer(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
        a, b = sources
        alike(name, a, b)
        return a.shape, dtypes.bool_

    return infer


def _infer_where(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
    condition, a, b = sources
    alike("where", a, b)
    if condition.dtype is not dtypes.bool_:
        raise GraphError(f"where: the condition must be bool, got {condition.dtype}; compare it, or cast it with astype(bool)")
    if len(condition.shape) != len(a.shape) or not all(map(same, condition.shape, a.shape)):
        raise GraphError(
            f"where: the condition must have the shape of what it chooses from, got {show_shape(condition.shape)} and {show_shape(a.shape)}"
        )
    return a.shape, a.dtype


def _where_gradient(node: Expr, g: Expr) -> Sequence[Expr | None]:
    condition, _, _ = node.sources
    return None, condition.where(g, 0), condition.where(0, g)


_COMPARISONS = {"less": np.less, "less_equal": np.less_equal, "equal": np.equal, "not_equal": np.not_equal}

ROWS = (
    *(Op(name, 2, "elementwise", _infer_comparison(name), quiet(ufunc), None) for name, ufunc in _COMPARISONS.items()),
    Op(
        "where",
        3,
        "elementwise",
        _infer_where,
        lambda arg, size, condition, a, b: np.where(condition, a, b),
        _where_gradient,
        operands=("bool", "", ""),
    ),
)
