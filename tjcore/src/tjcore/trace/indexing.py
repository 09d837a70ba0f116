"""`x[...]` of a traced array, by NumPy's rules.

In: ints, sizes, slices, None, ..., and arrays of ints, traced or NumPy's. Out: views and elements taken by index. A mask of bools is refused: how
many elements it picks depends on the values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import functions
from ..dims import bounds, maximum, minimum
from ..dtypes import int64
from ..graph import hold, size_of
from ..ops import show_shape
from . import refusals
from .context import Trace, Traced

f: Any = functions  # of Exprs, and so of traced values


def getitem(trace: Trace, x: Any, key: Any) -> Any:
    keys = [_plain(k) for k in (key if isinstance(key, tuple) else (key,))]
    if any(_is_mask(k) for k in keys):
        raise trace.refuse(refusals.MASK)
    if not any(_is_array(k) for k in keys):
        return trace.lift(lambda e, *ks: e[tuple(ks)], (x, *(_bare(trace, k) for k in keys)), {})
    return _taken(trace, x, keys)


def _plain(k: Any) -> Any:
    if isinstance(k, list):
        k = np.asarray(k, np.int64 if not k else None)
    return int(k) if isinstance(k, np.integer) or (isinstance(k, np.ndarray) and k.ndim == 0 and k.dtype.kind in "iu") else k


def _bare(trace: Trace, k: Any) -> Any:
    """A key with the sizes that it and its bounds are. Where a size may be negative, this call decides which end it counts from."""
    if isinstance(k, slice):
        return slice(_bare(trace, k.start), _bare(trace, k.stop), _bare(trace, k.step))
    if not isinstance(k, Traced):
        return k
    low, high = bounds(k.carried)
    if low >= 0 or high < 0:
        return k.carried
    return maximum(k.carried, 0) if trace.decide("<=", 0, k.carried) else minimum(k.carried, -1)


def _is_array(k: Any) -> bool:
    return isinstance(k, np.ndarray) or (isinstance(k, Traced) and hasattr(k.carried, "op"))


def _is_mask(k: Any) -> bool:
    return isinstance(k, (bool, np.bool_)) or (_is_array(k) and k.dtype == "bool")


def _taken(trace: Trace, x: Any, keys: list[Any]) -> Any:
    """Indices that are arrays: they broadcast, and their axes stand where the first of them stood, or in front if others lie between them."""
    count = sum(k is not None and k is not Ellipsis for k in keys)
    if count > x.ndim:
        raise trace.refuse(f"x[...]: {count} indices for an array of {x.ndim} axes, {show_shape(x.expr.shape)}")
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    keys = [*keys[:at], *[slice(None)] * (x.ndim - count), *keys[at + 1 :]]
    # NumPy takes ints beside arrays for arrays too.
    advanced = [i for i, k in enumerate(keys) if k is not None and not isinstance(k, slice)]
    x = x[tuple(slice(None) if i in advanced else k for i, k in enumerate(keys))]
    indices = []
    for i in advanced:
        size, k = x.shape[i], keys[i]
        if isinstance(k, np.ndarray):
            k = trace.wrap(hold(k.astype(np.int64)))
        elif not _is_array(k):
            k = trace.wrap(size_of(_bare(trace, k), int64))
        indices.append(k if len(advanced) == 1 else f.where(f.less(k, 0), k + size, k))
    if len(advanced) == 1:
        return f.take(x, indices[0], axis=advanced[0])
    others = [a for a in range(x.ndim) if a not in advanced]
    sizes = [x.shape[a] for a in advanced]
    place = indices[0]
    for size, k in zip(sizes[1:], indices[1:], strict=True):
        place = place * size + k
    rows = f.permute_dims(x, (*advanced, *others)).reshape((math.prod(sizes), *(x.shape[a] for a in others)))
    out = f.take(rows, place, axis=0)
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    if together and advanced[0]:
        out = f.moveaxis(out, tuple(range(place.ndim)), tuple(range(advanced[0], advanced[0] + place.ndim)))
    return out
