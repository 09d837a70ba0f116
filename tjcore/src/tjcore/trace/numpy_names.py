"""NumPy's functions on traced values, under NumPy's names and with NumPy's arguments.

In: a function as `__array_function__` receives it. Out: a composition of ours with its answer. What writes into arrays (`out=`), or has no
counterpart, is refused by name. Reductions and the like take None for all axes, as NumPy does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from .. import functions
from ..errors import GraphError, shown
from . import refusals
from .context import Trace, Traced

f: Any = functions  # of Exprs, and so of traced values

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy's function: ours."""


def of(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Ours for NumPy's functions of these names, where this NumPy has them."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            try:
                theirs = attrgetter(name)(np)
            except AttributeError:
                continue
            FUNCTIONS[theirs] = function
        return function

    return register


def call_function(trace: Trace, function: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    ours = FUNCTIONS.get(function)
    module = function.__module__.replace("numpy._core", "numpy").partition(".lib")[0]
    what = f"{module if module.startswith('numpy') else 'numpy'}.{function.__name__}"
    if ours is None:
        raise trace.refuse(f"{what} has no counterpart here; docs/tracing.md lists what has one")
    given = {name: v for name, v in named.items() if v is not np._NoValue}
    if given.pop("out", None) is not None:
        raise trace.refuse(f"{what}: {refusals.OUT.format(what=what)}")
    for name in ("order", "subok", "optimize", "casting", "like"):
        given.pop(name, None)
    try:
        return ours(*arguments, **given)
    except TypeError as error:
        if isinstance(error, GraphError) or not str(error).startswith(f"{ours.__qualname__}()"):
            raise
        raise trace.refuse(f"{what}: {str(error).replace(ours.__qualname__ + '()', 'here it')}") from error


# ------------------------------------------------------------------------------------------------------------ reductions


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _reduction(name: str) -> Callable[..., Any]:
    ours = getattr(f, name)

    def reduction(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Any:
        return _as(ours(a if dtype is None else a.astype(dtype), axis=_axes(axis), keepdims=bool(keepdims)), dtype)

    return reduction


def _as(x: Any, dtype: Any) -> Any:
    return x if dtype is None else x.astype(dtype)


def _positional(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's order of arguments where there is no dtype."""

    def reduction(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
        return function(a, axis, keepdims=keepdims)

    return reduction


sum_, prod, mean = (of(name)(_reduction(name)) for name in ("sum", "prod", "mean"))
max_, min_, any_, all_ = (
    of(*names)(_positional(_reduction(names[0])))
    for names in (("max", "amax"), ("min", "amin"), ("any",), ("all",))
)  # fmt: skip


@of("std")
def std(a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, correction: float | None = None, keepdims: Any = False) -> Any:
    return var(a, axis, dtype, ddof=ddof, correction=correction, keepdims=keepdims) ** 0.5


@of("var")
def var(a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, correction: float | None = None, keepdims: Any = False) -> Any:
    less = ddof if correction is None else correction
    return f.var(a if dtype is None else a.astype(dtype), axis=_axes(axis), correction=less, keepdims=bool(keepdims))


@of("argmax")
def argmax(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return f.argmax(a, axis=axis, keepdims=bool(keepdims))


@of("argmin")
def argmin(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return f.argmin(a, axis=axis, keepdims=bool(keepdims))


@of("count_nonzero")
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return f.count_nonzero(a, axis=_axes(axis), keepdims=bool(keepdims))


@of("ptp")
def ptp(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return max_(a, axis, keepdims=keepdims) - min_(a, axis, keepdims=keepdims)


@of("average")
def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: Any = False) -> Any:
    if weights is None:
        return mean(a, axis, keepdims=keepdims)
    if np.ndim(weights) != np.ndim(a):
        shape = [1] * np.ndim(a)
        shape[axis] = -1
        weights = f.reshape(weights, tuple(shape)) if isinstance(weights, Traced) else np.reshape(weights, shape)
    scale = f.multiply(f.full_like(a, 1) if isinstance(a, Traced) else np.ones_like(a), weights)
    return sum_(f.multiply(a, weights), axis, keepdims=keepdims) / sum_(scale, axis, keepdims=keepdims)


@of("nansum")
def nansum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Any:
    return sum_(f.where(f.isnan(a), 0, a), axis, dtype, keepdims=keepdims)


@of("nanmean")
def nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Any:
    count = sum_(f.logical_not(f.isnan(a)), axis, keepdims=keepdims)
    total = nansum(a, axis, dtype, keepdims=keepdims)
    return total / count.astype(total.dtype)


@of("nanmax")
def nanmax(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return max_(f.where(f.isnan(a), -math.inf, a), axis, keepdims=keepdims)


@of("nanmin")
def nanmin(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return min_(f.where(f.isnan(a), math.inf, a), axis, keepdims=keepdims)


@of("cumsum", "cumulative_sum")
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return f.cumulative_sum(a if axis is not None else a.reshape(-1), axis=0 if axis is None else axis, dtype=dtype)


@of("linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if ord == "fro":
        ord = None
    if isinstance(ord, str) or (len(axes) > 1 and ord is not None):
        raise GraphError(f"numpy.linalg.norm: of matrices only ord=None and 'fro', got {shown(ord)} for axes {axes}")
    return f.norm(x, axis=axes, keepdims=keepdims, ord=ord)


@of("linalg.vector_norm")
def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    return f.norm(x, axis=_axes(axis), keepdims=keepdims, ord=ord)


@of("linalg.matrix_norm")
def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@of("trace", "linalg.trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return diagonal(a, offset, axis1, axis2).sum(-1, dtype=dtype)


# --------------------------------------------------------------------------------------------------- element by element


@of("where")
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise GraphError(refusals.NONZERO)
    if isinstance(condition, Traced) and condition.dtype != "bool":
        condition = condition.astype("bool")
    return f.where(condition, x, y)


@of("clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    out = a if low is None else f.maximum(a, low)
    return out if high is None else f.minimum(out, high)


@of("round", "around")
def round_(a: Any, decimals: int = 0) -> Any:
    if decimals == 0 or np.dtype(a.dtype).kind != "f":
        return f.round(a)
    scale = float(10 ** abs(decimals))
    return f.round(a * scale) / scale if decimals > 0 else f.round(a / scale) * scale


@of("isclose")
def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    same = f.logical_or(f.equal(a, b), f.logical_and(f.less_equal(f.abs(f.subtract(a, b)), atol + f.abs(b) * rtol), f.isfinite(b)))
    return f.logical_or(same, f.logical_and(f.isnan(a), f.isnan(b))) if equal_nan else same


@of("allclose")
def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    return isclose(a, b, rtol, atol, equal_nan).all()


@of("array_equal")
def array_equal(a1: Any, a2: Any) -> Any:
    return f.equal(a1, a2).all() if np.shape(a1) == np.shape(a2) else False


@of("nan_to_num")
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    limits = np.finfo(x.dtype)
    out = f.where(f.isnan(x), nan, x)
    out = f.where(f.equal(x, math.inf), float(limits.max) if posinf is None else posinf, out)
    return f.where(f.equal(x, -math.inf), float(limits.min) if neginf is None else neginf, out)


@of("sinc")
def sinc(x: Any) -> Any:
    y = f.multiply(f.where(f.equal(x, 0), 1.0e-20, x), math.pi)
    return f.sin(y) / y


@of("real", "real_if_close", "copy", "ascontiguousarray", "asfortranarray", "conj")
def same(a: Any) -> Any:
    return a


@of("imag")
def imag(a: Any) -> Any:
    return f.zeros_like(a)


@of("astype")
def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Any:
    return x.astype(dtype)


# ------------------------------------------------------------------------------------------------- new ones like others


@of("full_like")
def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    if shape is not None:
        return a._new(shape, fill_value, dtype)
    if isinstance(fill_value, (Traced, np.ndarray)):
        return f.broadcast_to(fill_value.astype(a.dtype if dtype is None else dtype), a.shape)
    return f.full_like(a, fill_value, dtype=dtype)


@of("zeros_like", "empty_like")
def zeros_like(a: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    return full_like(a, 0, dtype, shape=shape)


@of("ones_like")
def ones_like(a: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    return full_like(a, 1, dtype, shape=shape)


@of("tril")
def tril(m: Any, k: int = 0) -> Any:
    return f.tril(m, k=k)


@of("triu")
def triu(m: Any, k: int = 0) -> Any:
    return f.triu(m, k=k)


@of("diagonal", "linalg.diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    if a.ndim < 2:
        raise GraphError(f"numpy.diagonal: expected at least two axes, got {a.ndim}")
    out = a.moveaxis((axis1, axis2), (-2, -1))
    out = out[..., max(-offset, 0) :, max(offset, 0) :]
    size = min(out.shape[-2], out.shape[-1])
    kept = f.where(f.eye(size, size, dtype="bool"), out[..., :size, :size], a.dtype.type(0))
    return kept.any(-1) if a.dtype == "bool" else kept.sum(-1, dtype=a.dtype)


@of("diag")
def diag(v: Any, k: int = 0) -> Any:
    if v.ndim != 1:
        return diagonal(v, k)
    inner = f.where(f.eye(v.shape[0], v.shape[0], dtype="bool"), v, v.dtype.type(0))
    return f.pad(inner, ((max(-k, 0), max(k, 0)), (max(k, 0), max(-k, 0)))) if k else inner


@of("meshgrid")
def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> Any:
    return f.meshgrid(*xi, indexing=indexing)
