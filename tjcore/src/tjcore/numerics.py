"""What tjcore's arithmetic means, written in NumPy: the reduction tree and the product chains of the numeric contract.

In: NumPy arrays. Out: arrays with the very bits that generated code must give. These few functions are
the definition; docs/numerics.md quotes them, and every toolchain is compared with them bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LANE_BYTES = 256
"""A reduction keeps `LANE_BYTES // itemsize` partial results side by side: enough to fill vector units."""
BLOCK_STEPS = 16
"""Each of them takes so many elements before the block is folded into one value."""
CHAIN = 256
"""A product's inner axis is cut into blocks of so many multiply-adds; block results are added in ascending order."""


def lanes_of(itemsize: int) -> int:
    """How many partial results a reduction over elements of `itemsize` bytes keeps."""
    return LANE_BYTES // itemsize


def maximum(a: Array, b: Array) -> Array:
    """The larger of two; NaN if one is; of equal ones (-0.0 and 0.0) the first."""
    return np.where((a >= b) | (a != a), a, b)


def minimum(a: Array, b: Array) -> Array:
    """The smaller of two; NaN if one is; of equal ones (-0.0 and 0.0) the first."""
    return np.where((a <= b) | (a != a), a, b)


def cast(x: Array, to: np.dtype[Any]) -> Array:
    """`x` as another type. Floats go to integers towards zero; NaN and what does not fit give the smallest integer; uint8 is reached
    through int32, and integers wrap. To bool: whether it is not 0, so NaN is True."""
    with np.errstate(all="ignore"):
        if to.kind == "b":
            return np.asarray(x != 0)
        if x.dtype.kind == "f" and to.kind in "iu":
            through = to if to.itemsize >= 4 else np.dtype(np.int32)
            least = np.iinfo(through).min
            whole = np.trunc(x)
            fits = (whole >= float(least)) & (whole < -float(least))
            return np.where(fits, np.where(fits, whole, 0).astype(through), least).astype(to)
        return x.astype(to)


def power(a: Array, b: Array) -> Array:
    """Integers to the power of integers, wrapping. A negative exponent gives 1 / a**|b| without its fraction: 0 but for 1 and -1, and 0 for 0."""
    result, square, rest = np.ones_like(a * b), a + 0 * b, np.maximum(b, 0) + 0 * a
    with np.errstate(all="ignore"):
        while (rest > 0).any():
            result = np.where(rest & 1 == 1, result * square, result)
            square, rest = square * square, rest >> 1
        return np.where(b < 0, np.where(a == 1, 1, np.where(a == -1, np.where(b & 1 == 1, -1, 1), 0)), result).astype(a.dtype)


def fold(op: Callable[[Array, Array], Array], identity: Any, empty: Any, x: Array, axis: int) -> Array:
    """Reduce `x` over `axis` by tjcore's tree, which depends on nothing but the extent and the element size.

    `identity` must be a true identity of `op` (for addition that is -0.0: x + -0.0 is x for every x);
    `empty` is the result over an axis of size 0.
    """
    lanes = lanes_of(x.itemsize)
    x = np.moveaxis(x, axis, 0)
    if len(x) == 0:
        return np.full(x.shape[1:], empty, x.dtype)
    blocks = -(-len(x) // (lanes * BLOCK_STEPS))
    padded = np.full((blocks * BLOCK_STEPS * lanes, *x.shape[1:]), identity, x.dtype)
    padded[: len(x)] = x
    steps = padded.reshape(blocks, BLOCK_STEPS, lanes, *x.shape[1:])
    acc = steps[:, 0]
    for step in range(1, BLOCK_STEPS):  # element i of a block goes to lane i % lanes, in ascending order
        acc = op(acc, steps[:, step])
    while acc.shape[1] > 1:  # a block's lanes: the upper half onto the lower
        half = acc.shape[1] // 2
        acc = op(acc[:, :half], acc[:, half:])
    total = acc[:, 0]
    while len(total) > 1:  # the blocks: neighbours in pairs, an odd one waits
        even = len(total) // 2 * 2
        total = np.concatenate([op(total[0:even:2], total[1:even:2]), total[even:]])
    result: Array = total[0]
    return result


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a rounded sum and its exact error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _to_odd(s: Array, error: Array) -> Array:
    """The float64 sum `s` with exact `error`, rounded to odd instead: rounding once more is then harmless (Boldo, Melquiond 2008)."""
    bits = s.view(np.int64)
    inexact = (error != 0) & np.isfinite(error) & np.isfinite(s)
    toward_larger_magnitude = (error > 0) == (s > 0)
    step = np.where(toward_larger_magnitude, 1, -1)
    return np.where(inexact & (bits & 1 == 0), bits + step, bits).view(np.float64)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b of float64 as a rounded product and its exact error (Dekker's splitting)."""

    def split(v: Array) -> tuple[Array, Array]:
        c = v * 134217729.0
        high = c - (c - v)
        return high, v - high

    p = a * b
    (ah, al), (bh, bl) = split(a), split(b)
    return p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c rounded once, for float32 and float64."""
    with np.errstate(all="ignore"):
        if np.result_type(a, b, c) == np.float32:
            product = np.multiply(a, b, dtype=np.float64)
            s, error = _two_sum(product, np.asarray(c, np.float64))
            return _to_odd(s, error).astype(np.float32)
        high, low = _two_product(a, b)
        th, tl = _two_sum(np.asarray(c), low)
        vh, vl = _two_sum(high, th)
        result = np.asarray(vh + _to_odd(*_two_sum(tl, vl)))
        plain = a * b + c
        size, ends = np.abs(high), np.maximum(np.maximum(np.abs(a), np.abs(b)), np.abs(c))
        tame = (ends < 2.0**990) & (size > 2.0**-900) & (size < 2.0**990)  # nothing above overflows or underflows
        result = np.where(tame, result, np.where(np.isfinite(a) & np.isfinite(b) & np.isinf(c), c, plain))
        for at in np.argwhere(~tame & (ends < np.inf) & (a != 0) & (b != 0)):
            result[tuple(at)] = _exact_fma(*(float(v[tuple(at)]) for v in np.broadcast_arrays(a, b, c)))
        return result


def _exact_fma(a: float, b: float, c: float) -> float:
    """a * b + c of finite numbers, a and b not 0, by fractions."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        size = float(abs(exact))
    except OverflowError:
        size = math.inf
    return -size if exact < 0 else size


def product(a: Array, b: Array) -> Array:
    """Matrix product of (..., m, k) and (..., k, n) by the chain rule: fma chains of `CHAIN`, ascending; integers wrap.

    An operand of rank 1 is a row on the left, a column on the right, as in NumPy.
    """
    if a.ndim == 1:
        return np.asarray(product(a[None, :], b)[..., 0, :] if b.ndim > 1 else product(a[None, :], b)[..., 0])
    if b.ndim == 1:
        return np.asarray(product(a, b[:, None])[..., 0])
    k = a.shape[-1]
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1])
    floating = a.dtype.kind == "f"
    total = np.zeros(shape, a.dtype)
    for start in range(0, k, CHAIN):
        acc = np.zeros(shape, a.dtype)
        for i in range(start, min(start + CHAIN, k)):
            left, right = a[..., :, i, None], b[..., None, i, :]
            with np.errstate(all="ignore"):
                acc = fma(left, right, acc) if floating else acc + left * right
        with np.errstate(all="ignore"):
            total = acc if start == 0 else total + acc
    return total
