"""Tensors of one value, and of data. In: a shape (Dims, size expressions and ints), an expression to resemble, or data. Out: an expression; one of
one value takes no memory until it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..dims import Size
from ..errors import GraphError, shown
from ..graph import Expr, hold
from ..graph import number as scalar
from .elementwise import operand


def check_device(name: str, device: object) -> None:
    """There is one device, the processor."""
    if device not in (None, "cpu"):
        raise GraphError(f"{name}: device must be 'cpu' or None, got {shown(device)}")


def full(shape: Sequence[Size] | Size, fill_value: float, *, dtype: Any = None, device: Any = None) -> Expr:
    """`fill_value` everywhere; without a dtype bool, int64 or float32, as the value is a bool, an int or a float."""
    check_device("full", device)
    if dtype is None:
        dtype = dtypes.bool_ if isinstance(fill_value, bool) else dtypes.int64 if isinstance(fill_value, int) else dtypes.float32
    return scalar(fill_value, dtypes.as_dtype(dtype)).broadcast_to(shape)  # type: ignore[arg-type]


def zeros(shape: Sequence[Size] | Size, *, dtype: Any = None, device: Any = None) -> Expr:
    """0 everywhere; float32, if no other dtype is named."""
    return full(shape, 0, dtype=dtypes.float32 if dtype is None else dtype, device=device)


def ones(shape: Sequence[Size] | Size, *, dtype: Any = None, device: Any = None) -> Expr:
    """1 everywhere; float32, if no other dtype is named."""
    return full(shape, 1, dtype=dtypes.float32 if dtype is None else dtype, device=device)


def empty(shape: Sequence[Size] | Size, *, dtype: Any = None, device: Any = None) -> Expr:
    """0 everywhere, since no element is without a value; float32, if no other dtype is named."""
    return zeros(shape, dtype=dtype, device=device)


def full_like(x: Expr, /, fill_value: float, *, dtype: Any = None, device: Any = None) -> Expr:
    """`fill_value` in the shape, and if no other is named the dtype, of x."""
    return full(operand("full_like", x).shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros_like(x: Expr, /, *, dtype: Any = None, device: Any = None) -> Expr:
    """0 in the shape, and if no other is named the dtype, of x."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Expr, /, *, dtype: Any = None, device: Any = None) -> Expr:
    """1 in the shape, and if no other is named the dtype, of x."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Expr, /, *, dtype: Any = None, device: Any = None) -> Expr:
    """0 in the shape, and if no other is named the dtype, of x."""
    return zeros_like(x, dtype=dtype, device=device)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Expr:
    """Numbers, nested lists of them and NumPy's arrays as data that the graph holds; an expression stays what it is. Without a dtype NumPy's arrays and
    scalars keep theirs, floats are float32 and ints int64."""
    check_device("asarray", device)
    if isinstance(obj, Expr):
        return obj if dtype is None else obj.astype(dtype)
    known = isinstance(obj, (np.ndarray, np.generic))
    array = np.asarray(obj)
    if dtype is None and not known and array.dtype == np.float64:
        dtype = dtypes.float32
    kind = dtypes.as_dtype(array.dtype if dtype is None else dtype)
    return hold(array, kind) if array.ndim else scalar(array.astype(kind.numpy).item(), kind)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Expr:
    """A copy of another library's array, as data that the graph holds."""
    check_device("from_dlpack", device)
    return asarray(np.from_dlpack(x))


__all__ = [
    "full", "zeros", "ones", "empty", "full_like", "zeros_like", "ones_like", "empty_like", "asarray", "from_dlpack",
]  # fmt: skip
