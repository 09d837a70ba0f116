"""Reductions over one, several or all axes, and what is composed of them.

In: an expression; `axis` an int, several, or None for all; `keepdims` to keep the axes with size 1. Out: an expression. Over several axes the last
one is reduced first, each by the documented tree.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..errors import GraphError
from ..graph import Expr, reduce, size_of
from ..ops import check_axes, check_axis, show_shape
from ..shaping import Axes
from .creation import zeros
from .elementwise import operand, stop_gradient
from .manipulation import concat


def _typed(name: str, x: Expr, dtype: Any) -> Expr:
    operand(name, x)
    return x if dtype is None else x.astype(dtype)


def sum(x: Expr, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Expr:
    """The sum; of integers and bools in int64, as NumPy does."""
    return _as(reduce("sum", _typed("sum", x, dtype), axis, keepdims), dtype)


def prod(x: Expr, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Expr:
    """The product; of integers and bools in int64, as NumPy does."""
    return _as(reduce("prod", _typed("prod", x, dtype), axis, keepdims), dtype)


def _as(x: Expr, dtype: Any) -> Expr:
    return x if dtype is None else x.astype(dtype)


def max(x: Expr, /, *, axis: Axes = None, keepdims: bool = False) -> Expr:
    """The largest, NaN if one is. A call with an empty axis is refused."""
    return reduce("max", operand("max", x), axis, keepdims)


def min(x: Expr, /, *, axis: Axes = None, keepdims: bool = False) -> Expr:
    """The smallest, NaN if one is. A call with an empty axis is refused."""
    return reduce("min", operand("min", x), axis, keepdims)


def argmax(x: Expr, /, *, axis: int | None = None, keepdims: bool = False) -> Expr:
    """Where the largest is, as int64: the first of equal ones, and the first NaN if there is one. axis=None counts all elements in order."""
    return operand("argmax", x).argmax(axis, keepdims)


def argmin(x: Expr, /, *, axis: int | None = None, keepdims: bool = False) -> Expr:
    """Where the smallest is, as int64: the first of equal ones, and the first NaN if there is one. axis=None counts all elements in order."""
    return operand("argmin", x).argmin(axis, keepdims)


def any(x: Expr, /, *, axis: Axes = None, keepdims: bool = False) -> Expr:
    """Whether at least one is true (not 0); False for none."""
    for at in reversed(axes := check_axes("any", axis, operand("any", x).rank)):
        x = reduce("sum", x.astype(dtypes.bool_), at).astype(dtypes.bool_)
    return _kept(x.astype(dtypes.bool_), axes, keepdims)


def all(x: Expr, /, *, axis: Axes = None, keepdims: bool = False) -> Expr:
    """Whether all are true (not 0); True for none."""
    return ~any(~operand("all", x).astype(dtypes.bool_), axis=axis, keepdims=keepdims)


def diff(x: Expr, /, *, axis: int = -1, n: int = 1, prepend: Expr | None = None, append: Expr | None = None) -> Expr:
    """The differences of neighbours along an axis, n times; `prepend` and `append` are joined to x first."""
    parts = [part for part in (prepend, operand("diff", x), append) if part is not None]
    at = check_axis("diff", axis, x.rank)
    out = concat(parts, axis=at) if len(parts) > 1 else x
    for _ in range(n):
        ahead, behind = [(slice(None),) * at + (part,) for part in (slice(1, None), slice(None, -1))]
        out = out[ahead].not_equal(out[behind]) if out.dtype is dtypes.bool_ else out[ahead] - out[behind]
    return out


def _kept(x: Expr, axes: tuple[int, ...], keepdims: bool) -> Expr:
    if keepdims:
        for at in axes:
            x = x.expand_dims(at)
    return x


def count_nonzero(x: Expr, /, *, axis: Axes = None, keepdims: bool = False) -> Expr:
    """How many are true (not 0), as int64."""
    return reduce("sum", operand("count_nonzero", x).astype(dtypes.bool_), axis, keepdims)


def cumulative_sum(x: Expr, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Expr:
    """The sums up to each element along an axis (which a vector need not name), added in order; of integers and bools in int64, as NumPy does.
    `include_initial` puts a 0 in front."""
    if axis is None and operand("cumulative_sum", x).rank != 1:
        raise GraphError(f"cumulative_sum: axis may only be left out for a vector, got shape {show_shape(x.shape)}")
    at = check_axis("cumulative_sum", 0 if axis is None else axis, operand("cumulative_sum", x).rank)
    sums = _as(_typed("cumulative_sum", x, dtype).cumulative_sum(at), dtype)
    if not include_initial:
        return sums
    return concat([zeros((*sums.shape[:at], 1, *sums.shape[at + 1 :]), dtype=sums.dtype), sums], axis=at)


def _floats(name: str, x: Expr) -> Expr:
    return operand(name, x) if x.dtype.kind == "float" else x.astype(dtypes.float64)


def _count(x: Expr, axes: tuple[int, ...], dtype: DType) -> Expr:
    return size_of(math.prod(x.shape[a] for a in axes), dtype)


def mean(x: Expr, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Expr:
    """The sum divided by the number of elements; of integers in float64."""
    return _typed("mean", x, dtype).mean(axis, keepdims)


def var(x: Expr, /, *, axis: Axes = None, correction: float = 0.0, ddof: float | None = None, keepdims: bool = False) -> Expr:
    """The mean of the squared distances from the mean, in two passes; divided by n - `correction` (`ddof` is NumPy's name for it)."""
    x = _floats("var", x)
    axes = check_axes("var", axis, x.rank)
    apart = x - x.mean(axes, keepdims=True)
    less = correction if ddof is None else ddof
    count = _count(x, axes, x.dtype)
    if less:
        count = (count - less).maximum(0)
    return reduce("sum", apart * apart, axes, keepdims) / count


def std(x: Expr, /, *, axis: Axes = None, correction: float = 0.0, ddof: float | None = None, keepdims: bool = False) -> Expr:
    """The square root of `var`."""
    return var(x, axis=axis, correction=correction, ddof=ddof, keepdims=keepdims).sqrt()


def logsumexp(x: Expr, /, *, axis: Axes = None, keepdims: bool = False) -> Expr:
    """log(sum(exp(x))), without overflow on the way."""
    x = _floats("logsumexp", x)
    axes = check_axes("logsumexp", axis, x.rank)
    top = stop_gradient(reduce("max", x, axes, keepdims=True))
    top = top.abs().less_equal(_largest(x.dtype)).where(top, 0)  # infinities would cancel
    result = reduce("sum", (x - top).exp(), axes, keepdims=True).log() + top
    if not keepdims:
        for at in reversed(axes):
            result = result.squeeze(at)
    return result


def _largest(dtype: DType) -> float:
    """The largest finite float of a type."""
    return float(np.finfo(dtype.numpy).max)


def norm(x: Expr, /, *, axis: Axes = None, keepdims: bool = False, ord: float | None = None) -> Expr:
    """The length of vectors: by default the square root of the sum of squares; `ord` 1, 2, inf, -inf, 0 or another power."""
    x = _floats("norm", x)
    if ord is None or ord == 2:
        return reduce("sum", x * x, axis, keepdims).sqrt()
    if ord == math.inf:
        return reduce("max", abs(x), axis, keepdims)
    if ord == -math.inf:
        return reduce("min", abs(x), axis, keepdims)
    if ord == 0:
        return count_nonzero(x, axis=axis, keepdims=keepdims).astype(x.dtype)
    if ord == 1:
        return reduce("sum", abs(x), axis, keepdims)
    return reduce("sum", abs(x).pow(ord), axis, keepdims).pow(1 / ord)


__all__ = [
    "sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "count_nonzero", "cumulative_sum", "diff", "mean", "var", "std", "logsumexp", "norm",
]  # fmt: skip
