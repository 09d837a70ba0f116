"""Tensors of one value. In: a shape (Dims, size expressions and ints) or an expression to resemble. Out: an expression, which takes no
memory until it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..dims import Size
from ..graph import Expr
from ..graph import number as scalar
from .elementwise import operand


def full(shape: Sequence[Size] | Size, fill_value: float, *, dtype: Any = None) -> Expr:
    """`fill_value` everywhere; without a dtype bool, int64 or float32, as the value is a bool, an int or a float."""
    if dtype is None:
        dtype = dtypes.bool_ if isinstance(fill_value, bool) else dtypes.int64 if isinstance(fill_value, int) else dtypes.float32
    return scalar(fill_value, dtypes.as_dtype(dtype)).broadcast_to(shape)  # type: ignore[arg-type]


def zeros(shape: Sequence[Size] | Size, *, dtype: Any = dtypes.float32) -> Expr:
    """0 everywhere."""
    return full(shape, 0, dtype=dtype)


def ones(shape: Sequence[Size] | Size, *, dtype: Any = dtypes.float32) -> Expr:
    """1 everywhere."""
    return full(shape, 1, dtype=dtype)


def full_like(x: Expr, /, fill_value: float, *, dtype: Any = None) -> Expr:
    """`fill_value` in the shape, and if no other is named the dtype, of x."""
    return full(operand("full_like", x).shape, fill_value, dtype=x.dtype if dtype is None else dtype)


def zeros_like(x: Expr, /, *, dtype: Any = None) -> Expr:
    """0 in the shape, and if no other is named the dtype, of x."""
    return full_like(x, 0, dtype=dtype)


def ones_like(x: Expr, /, *, dtype: Any = None) -> Expr:
    """1 in the shape, and if no other is named the dtype, of x."""
    return full_like(x, 1, dtype=dtype)


__all__ = [
    "full", "zeros", "ones", "full_like", "zeros_like", "ones_like",
]  # fmt: skip
