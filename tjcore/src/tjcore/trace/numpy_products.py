"""NumPy's products, and what is made of them, on traced values (`numpy_names.py` says how they are found)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import functions
from ..errors import GraphError, shown
from .context import Traced
from .numpy_names import of
from .numpy_shapes import concatenate, squeeze

f: Any = functions  # of Exprs, and so of traced values


def _arrays(*operands: Any) -> list[Any]:
    return [x if isinstance(x, Traced) else np.asarray(x) for x in operands]


@of("dot")
def dot(a: Any, b: Any) -> Any:
    a, b = _arrays(a, b)
    return f.multiply(a, b) if np.ndim(a) == 0 or np.ndim(b) == 0 else f.dot(a, b)


@of("inner")
def inner(a: Any, b: Any) -> Any:
    a, b = _arrays(a, b)
    return f.multiply(a, b) if np.ndim(a) == 0 or np.ndim(b) == 0 else f.tensordot(a, b, axes=([np.ndim(a) - 1], [np.ndim(b) - 1]))


@of("vdot")
def vdot(a: Any, b: Any) -> Any:
    return f.dot(np.ravel(a), np.ravel(b))


@of("outer", "linalg.outer")
def outer(a: Any, b: Any) -> Any:
    return f.multiply(np.ravel(a)[:, None], np.ravel(b))


@of("tensordot", "linalg.tensordot")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = _arrays(a, b)
    if not isinstance(axes, int):
        axes = tuple([x] if isinstance(x, int) else list(x) for x in axes)
    return f.tensordot(a, b, axes=axes)


@of("linalg.matmul")
def matmul(x1: Any, x2: Any, /) -> Any:
    return f.matmul(x1, x2)


@of("linalg.vecdot")
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return f.vecdot(x1, x2, axis=axis)


@of("einsum")
def einsum(subscripts: Any, *operands: Any) -> Any:
    return f.einsum(subscripts, *_arrays(*operands))


@of("kron")
def kron(a: Any, b: Any) -> Any:
    rank = max(np.ndim(a), np.ndim(b))
    sides = [np.reshape(x, (*[1] * (rank - np.ndim(x)), *np.shape(x))) for x in (a, b)]
    wide = [np.reshape(x, [n for size in np.shape(x) for n in ((size, 1) if i == 0 else (1, size))]) for i, x in enumerate(sides)]
    return f.multiply(*wide).reshape(tuple(m * n for m, n in zip(np.shape(sides[0]), np.shape(sides[1]), strict=True)))


@of("cross", "linalg.cross")
def cross(a: Any, b: Any, axis: int = -1) -> Any:
    x, y = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
    if np.shape(x)[-1] != 3 or np.shape(y)[-1] != 3:
        raise GraphError(f"numpy.cross: expected axes of size 3, got {np.shape(a)} and {np.shape(b)}")
    parts = [x[..., (i + 1) % 3] * y[..., (i + 2) % 3] - x[..., (i + 2) % 3] * y[..., (i + 1) % 3] for i in range(3)]
    return np.moveaxis(np.stack(parts, -1), -1, axis)


@of("convolve")
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = _arrays(a, v)
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    width = v.shape[0]
    if not isinstance(width, int):
        raise GraphError(
            f"numpy.convolve: the number of weights must be known, and it is {width}; fix it: @tj.jit(dims={{'v': (3,)}}), or use an array "
            "from outside the function"
        )
    whole = sum(f.pad(a, (k, width - 1 - k)) * v[k] for k in range(width))
    if mode == "full":
        return whole
    if mode not in ("same", "valid"):
        raise GraphError(f"numpy.convolve: mode must be 'full', 'same' or 'valid', got {shown(mode)}")
    start = width - 1 if mode == "valid" else (width - 1) // 2
    return whole[start : start + a.shape[0]] if mode == "same" else whole[start : -start or None]


@of("interp")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    x, xp, fp = (f.asarray(a) if isinstance(a, np.ndarray) else a for a in _arrays(x, xp, fp))
    last = np.shape(xp)[0] - 1 if isinstance(xp, Traced) else xp.shape[0] - 1
    at = f.maximum(f.minimum(f.searchsorted(xp, x, side="right") - 1, last - 1), 0)
    x0, x1, y0, y1 = (f.take(a, at + k, axis=0) for a in (xp, fp) for k in (0, 1))
    out = y0 + (y1 - y0) / (x1 - x0) * (f.minimum(f.maximum(x, xp[0]), xp[-1]) - x0)
    out = out if left is None else f.where(f.less(x, xp[0]), left, out)
    return out if right is None else f.where(f.greater(x, xp[-1]), right, out)


@of("cov")
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
    rows = [np.atleast_2d(a) if rowvar or np.ndim(a) == 1 else np.transpose(a) for a in (m, y) if a is not None]
    x = rows[0] if len(rows) == 1 else concatenate(rows, 0)
    x = x - x.mean(axis=1, keepdims=True)
    count = x.shape[1] - (int(not bias) if ddof is None else ddof)
    return squeeze((x @ x.T) / count)


@of("corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    scale = f.sqrt(np.diagonal(c))
    return np.clip(c / scale[:, None] / scale[None, :], -1, 1)


@of("block")
def block(arrays: Any) -> Any:
    def depth(value: Any) -> int:
        return 1 + max(map(depth, value)) if isinstance(value, list) else 0

    deepest = depth(arrays)

    def joined(value: Any, level: int) -> Any:
        if isinstance(value, list):
            return concatenate([joined(v, level + 1) for v in value], level - deepest)
        while np.ndim(value) < deepest:
            value = value[None]
        return value

    return joined(arrays, 0)


@of("polyval")
def polyval(p: Any, x: Any) -> Any:
    out = f.zeros_like(x) if isinstance(x, Traced) else np.zeros_like(x)
    for i in range(np.shape(p)[0]):
        out = out * x + p[i]
    return out
