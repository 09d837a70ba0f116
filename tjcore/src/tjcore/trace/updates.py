"""`x.at[1:3].set(v)`: an array like another, but for a part.

In: a traced array, a part of it and what is to stand there. Out: a new one, joined from what lies before, in and behind the part, axis by axis; for a
mask, a choice by element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import functions
from ..graph import Expr
from ..ops import show_shape
from .context import Traced

f: Any = functions  # of Exprs, and so of traced values


class At:
    """What `x.at` is; `x.at[key]` names the part."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __getitem__(self, key: Any) -> Part:
        return Part(self._x, key)


class Part:
    """A part of an array, to be given new values."""

    __slots__ = ("_key", "_x")

    def __init__(self, x: Any, key: Any) -> None:
        self._x = x
        self._key = key if isinstance(key, tuple) else (key,)

    def set(self, values: Any) -> Any:
        return self._made(lambda old: values)

    def add(self, values: Any) -> Any:
        return self._made(lambda old: old + values)

    def subtract(self, values: Any) -> Any:
        return self._made(lambda old: old - values)

    def multiply(self, values: Any) -> Any:
        return self._made(lambda old: old * values)

    def divide(self, values: Any) -> Any:
        return self._made(lambda old: old / values)

    def min(self, values: Any) -> Any:
        return self._made(lambda old: f.minimum(old, values))

    def max(self, values: Any) -> Any:
        return self._made(lambda old: f.maximum(old, values))

    def _made(self, new: Callable[[Any], Any]) -> Any:
        x = self._x
        if len(self._key) == 1 and _is_mask(self._key[0]):
            (mask,) = self._key
            for _ in range(x.ndim - mask.ndim):
                mask = mask[..., None]
            return f.where(mask, _typed(x, new(x)), x)
        return _updated(x, self._keys(), 0, new)

    def _keys(self) -> list[Any]:
        """One per axis of x."""
        keys, x = self._key, self._x
        given = [k for k in keys if k is not Ellipsis]
        for k in given:
            whole = isinstance(k, (int, np.integer)) or (isinstance(k, Traced) and not isinstance(k.carried, Expr))
            if not whole and not (isinstance(k, slice) and k.step in (None, 1)):
                raise x.run.refuse(
                    f"x.at[...]: a part is named by ints, slices without a step, ... or one mask, got {k!r}; write numpy.where(mask, value, x)"
                )
        if len(given) > x.ndim:
            raise x.run.refuse(f"x.at[...]: {len(given)} indices for an array of shape {show_shape(x.expr.shape)}")
        at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
        return [*keys[:at], *[slice(None)] * (x.ndim - len(given)), *keys[at + 1 :]]


def _is_mask(key: Any) -> bool:
    return hasattr(key, "dtype") and key.dtype == "bool"


def _typed(x: Any, values: Any) -> Any:
    """Values in x's type, as an assignment makes them."""
    if isinstance(values, (Traced, np.ndarray, np.generic)) and hasattr(values, "dtype"):
        return values.astype(x.dtype)
    return x.dtype.type(values)


def _at(x: Any, axis: int, index: Any) -> Any:
    """The part of one index, as an axis of size 1."""
    return x.run.lift(lambda expr, at: expr.slice_axis(axis, at, 1), (x, index), {})


def _updated(x: Any, keys: list[Any], axis: int, new: Callable[[Any], Any]) -> Any:
    """x with new values in the part that the keys from `axis` on name. What was an int is an axis of size 1 until the values come."""
    if axis == len(keys):
        ints = [a for a, k in enumerate(keys) if not isinstance(k, slice)]
        old = f.squeeze(x, tuple(ints)) if ints else x
        values = (
            f.broadcast_to(f.add(f.zeros_like(old), _typed(x, new(old))), old.shape)
            if x.dtype != "bool"
            else f.logical_or(f.zeros_like(old), new(old))
        )
        return f.expand_dims(values, axis=tuple(ints)) if ints else values
    key, size = keys[axis], x.shape[axis]

    def part(start: Any, stop: Any) -> Any:
        return x[(*[slice(None)] * axis, slice(start, stop))]

    if key == slice(None):
        return _updated(x, keys, axis + 1, new)
    if isinstance(key, slice):
        parts = [] if key.start in (None, 0) else [part(None, key.start)]
        parts.append(_updated(part(key.start, key.stop), keys, axis + 1, new))
        if key.stop is not None:
            parts.append(part(key.stop, None))
    else:
        at = size + key if isinstance(key, (int, np.integer)) and key < 0 else key
        parts = [part(None, at), _updated(_at(x, axis, at), keys, axis + 1, new), part(at + 1, None)]
    return f.concat(parts, axis=axis)
