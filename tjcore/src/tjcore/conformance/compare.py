"""Comparing bit for bit, and saying where two arrays differ.

In: two arrays. Out: nothing, or an AssertionError with the first differing element in full. A NaN equals a NaN, whatever its sign and payload; -0.0 and
0.0 differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def assert_same(got: Array, want: Array, what: str, steps: int = 0) -> None:
    """Same shape, same dtype, same bits; `steps` allows floats so many neighbours away."""
    __tracebackhide__ = True
    if got.dtype != want.dtype or got.shape != want.shape:
        raise AssertionError(f"{what}: got {got.dtype} of shape {got.shape}, expected {want.dtype} of shape {want.shape}")
    wrong = ~_close(got, want, steps)
    if not wrong.any():
        return
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    allowed = f", more than {steps} steps apart" if steps else ""
    raise AssertionError(
        f"{what}: {int(wrong.sum())} of {wrong.size} elements differ{allowed}; the first at {at}: got {_show(got[at])}, expected {_show(want[at])}"
    )


def _close(got: Array, want: Array, steps: int) -> NDArray[np.bool_]:
    if got.dtype.kind != "f":
        return np.asarray(_bytes(got) == _bytes(want))
    both_nan = np.isnan(got) & np.isnan(want)
    if not steps:
        return np.asarray(both_nan | ((got == want) & (np.signbit(got) == np.signbit(want))))
    a, b = _ordered(got), _ordered(want)
    near = np.maximum(a, b) - np.minimum(a, b) <= np.uint64(steps)
    return np.asarray(both_nan | (near & ~np.isnan(got) & ~np.isnan(want)))


def _bytes(x: Array) -> Array:
    """Integers as they are; bools as the bytes they are kept in, since a bool of 2 is none."""
    return x.view(np.uint8) if x.dtype.kind == "b" else x


def _ordered(x: Array) -> NDArray[np.uint64]:
    """Floats as unsigned integers in the same order, neighbours one apart; -0.0 and 0.0 are the same."""
    signed = x.view(np.int32 if x.itemsize == 4 else np.int64).astype(np.int64)
    low = np.int64(-(2 ** (8 * x.itemsize - 1)))
    up = np.where(signed < 0, low - signed, signed)
    return up.view(np.uint64) ^ np.uint64(2**63)


def _show(value: Any) -> str:
    return f"{value!r} ({float(value).hex()})" if value.dtype.kind == "f" else repr(value)
