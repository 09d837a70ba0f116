"""NumPy's functions that rearrange, join and multiply arrays, on traced values (`numpy_names.py` says how they are found)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import functions
from ..dims import minimum
from ..errors import GraphError, shown
from .context import Traced
from .numpy_names import of

f: Any = functions  # of Exprs, and so of traced values


@of("reshape")
def reshape(a: Any, /, shape: Any = None, *, newshape: Any = None, copy: bool | None = None) -> Any:
    return a.reshape(newshape if shape is None else shape)


@of("ravel")
def ravel(a: Any) -> Any:
    return a.reshape(-1)


@of("transpose", "permute_dims")
def transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose(axes)


@of("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(x: Any) -> Any:
    return f.matrix_transpose(x)


@of("moveaxis")
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return f.moveaxis(a, source, destination)


@of("rollaxis")
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    axis %= a.ndim
    start = start + a.ndim if start < 0 else start
    return f.moveaxis(a, axis, start - 1 if axis < start else start)


@of("swapaxes")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return f.swapaxes(a, axis1, axis2)


@of("expand_dims")
def expand_dims(a: Any, axis: Any) -> Any:
    return f.expand_dims(a, axis=axis)


@of("squeeze")
def squeeze(a: Any, axis: Any = None) -> Any:
    if axis is None:
        axis = tuple(i for i, size in enumerate(a.shape) if size == 1)
    return f.squeeze(a, axis)


@of("flip")
def flip(m: Any, axis: Any = None) -> Any:
    return f.flip(m, axis=axis)


@of("flipud")
def flipud(m: Any) -> Any:
    return f.flip(m, axis=0)


@of("fliplr")
def fliplr(m: Any) -> Any:
    return f.flip(m, axis=1)


@of("rot90")
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    a, b = axes
    k %= 4
    if k == 2:
        return f.flip(m, axis=(a, b))
    if k == 0:
        return m
    return f.swapaxes(f.flip(m, axis=b), a, b) if k == 1 else f.flip(f.swapaxes(m, a, b), axis=b)


@of("broadcast_to")
def broadcast_to(array: Any, shape: Any) -> Any:
    return f.broadcast_to(array, shape)


@of("broadcast_arrays")
def broadcast_arrays(*args: Any) -> Any:
    return tuple(f.broadcast_arrays(*args))


@of("roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return f.roll(a, shift, axis=axis)


@of("tile")
def tile(A: Any, reps: Any) -> Any:
    return f.tile(A, reps)


@of("repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    return f.repeat(a, repeats, axis=axis)


@of("pad")
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: float = 0) -> Any:
    return f.pad(array, pad_width, mode, constant_values=constant_values)


@of("atleast_1d")
def atleast_1d(*arys: Any) -> Any:
    out = [a.reshape(1) if a.ndim == 0 else a for a in arys]
    return out[0] if len(out) == 1 else tuple(out)


@of("atleast_2d")
def atleast_2d(*arys: Any) -> Any:
    out = [a[None, :] if a.ndim == 1 else a.reshape(1, 1) if a.ndim == 0 else a for a in arys]
    return out[0] if len(out) == 1 else tuple(out)


# --------------------------------------------------------------------------------------------------------- joins, parts


@of("concatenate", "concat")
def concatenate(arrays: Any, /, axis: Any = 0, *, dtype: Any = None) -> Any:
    out = f.concat(list(arrays), axis=axis)
    return out if dtype is None else out.astype(dtype)


@of("stack")
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None) -> Any:
    out = f.stack(_scalars(arrays), axis=axis)
    return out if dtype is None else out.astype(dtype)


def _scalars(arrays: Any) -> list[Any]:
    """What is stacked, numbers among it as constants."""
    return [a if isinstance(a, (Traced, np.ndarray)) else np.asarray(a) for a in arrays]


@of("vstack", "row_stack")
def vstack(tup: Any) -> Any:
    return concatenate([np.atleast_2d(a) for a in tup], 0)


@of("hstack")
def hstack(tup: Any) -> Any:
    parts = [np.atleast_1d(a) for a in tup]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@of("dstack")
def dstack(tup: Any) -> Any:
    parts = [np.atleast_2d(a) for a in tup]
    return concatenate([p[..., None] if p.ndim == 2 else p for p in parts], 2)


@of("column_stack")
def column_stack(tup: Any) -> Any:
    return concatenate([a[:, None] if np.ndim(a) == 1 else a for a in tup], 1)


@of("append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return concatenate([np.ravel(arr), np.ravel(values)])
    return concatenate([arr, values], axis)


@of("unstack")
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    return f.unstack(x, axis=axis)


@of("split")
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return f.split(ary, indices_or_sections, axis=axis)


@of("array_split")
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if not isinstance(indices_or_sections, int):
        return split(ary, indices_or_sections, axis)
    size, parts = ary.shape[axis], indices_or_sections
    ends = [size // parts * i + _least(size % parts, i) for i in range(1, parts)]
    return split(ary, ends, axis)


def _least(rest: Any, i: int) -> Any:
    """min(rest, i), which for a size needs no decision."""
    if isinstance(rest, int):
        return min(rest, i)
    return rest.run.size(minimum(rest.size, i))


@of("diff")
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    at = axis % a.ndim
    ahead: list[Any] = [slice(None)] * a.ndim
    behind = list(ahead)
    ahead[at], behind[at] = slice(1, None), slice(None, -1)
    for _ in range(n):
        one, other = a[tuple(ahead)], a[tuple(behind)]
        a = f.not_equal(one, other) if a.dtype == "bool" else one - other
    return a


@of("gradient")
def gradient(y: Any, *varargs: Any, axis: Any = None) -> Any:
    axes = tuple(range(y.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    steps = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    if len(steps) != len(axes) or any(np.ndim(step) for step in steps):
        raise GraphError(f"numpy.gradient: expected one number as the distance, or one for each of {len(axes)} axes, got {shown(varargs)}")
    out = []
    for at, step in zip(axes, steps, strict=True):
        z = f.moveaxis(y if y.dtype.kind == "f" else y.astype("float64"), at, 0)
        inner = (z[2:] - z[:-2]) / (2.0 * step)
        out.append(f.moveaxis(concatenate([(z[1:2] - z[:1]) / step, inner, (z[-1:] - z[-2:-1]) / step]), 0, at))
    return out[0] if len(out) == 1 else tuple(out)


@of("trapezoid", "trapz")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    z = f.moveaxis(y, axis, -1) if isinstance(y, Traced) else np.moveaxis(y, axis, -1)
    step = dx if x is None else np.diff(x)
    return f.multiply(f.add(z[..., 1:], z[..., :-1]) * 0.5, step).sum(-1)


@of("take")
def take(a: Any, indices: Any, axis: Any = None) -> Any:
    return f.take(a, np.asarray(indices) if isinstance(indices, list) else indices, axis=axis)


@of("take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    return f.take_along_axis(arr, indices, axis=axis)


@of("lib.stride_tricks.sliding_window_view")
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    return f.sliding_window_view(x, window_shape, axis)


# ------------------------------------------------------------------------------------------------------------ questions


@of("shape")
def shape(a: Any) -> Any:
    return a.shape


@of("ndim")
def ndim(a: Any) -> int:
    return len(a.shape)


@of("size")
def size(a: Any, axis: int | None = None) -> Any:
    return math.prod(a.shape) if axis is None else a.shape[axis]


@of("iscomplexobj")
def iscomplexobj(x: Any) -> bool:
    return False


@of("isrealobj")
def isrealobj(x: Any) -> bool:
    return True


@of("result_type")
def result_type(*given: Any) -> Any:
    return np.result_type(*(x.dtype if isinstance(x, Traced) and not x.weak else 1.0 if isinstance(x, Traced) else x for x in given))


@of("can_cast")
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype if isinstance(from_, Traced) else from_, to, casting)
