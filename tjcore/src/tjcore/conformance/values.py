"""Values to compute with: the awkward ones of each element type, and ordinary ones.

In: a dtype, a shape, a random generator. Out: arrays. The same generator state gives the same arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tjcore import DType

Array = NDArray[Any]


def special(dtype: DType) -> Array:
    """NaN, infinities, both zeros, the largest, the smallest normal and subnormal ones, halves between integers; for integers the ends."""
    kind = dtype.numpy
    if dtype.kind == "bool":
        return np.array([False, True])
    if dtype.kind != "float":
        info = np.iinfo(kind)
        near = [v for v in (0, 1, 2, 3, 7, -1, -2, -5) if v >= info.min]
        return np.array([*near, info.min, info.min + 1, info.max, info.max - 1, info.max // 2], kind)
    f = np.finfo(kind)
    tiny, least, huge = float(f.smallest_normal), float(f.smallest_subnormal), float(f.max)
    integers = float(2**f.nmant)  # above it, neighbours are whole numbers
    halves = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, integers / 2 + 0.5, integers - 0.5, integers + 1]
    ends = [tiny, -tiny, least, -least, tiny - least, 3 * least, huge, -huge, huge / 2, float(np.sqrt(f.max))]
    return np.array(
        [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1 + float(f.eps), 1 - float(f.epsneg), 0.1, -3.0, 88.5, *ends, *halves], kind
    )


def combinations(dtypes: Sequence[DType]) -> list[Array]:
    """Arrays of these types that hold, side by side, every combination of their special values."""
    grids = np.meshgrid(*map(special, dtypes), indexing="ij")
    return [np.ascontiguousarray(grid.ravel()) for grid in grids]


def ordinary(dtype: DType, shape: Sequence[int], random: np.random.Generator) -> Array:
    """Values of a common size, of both signs where there are any; floats have all their bits in use."""
    if dtype.kind == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind == "float":
        return random.standard_normal(shape).astype(dtype.numpy)
    info = np.iinfo(dtype.numpy)
    return random.integers(max(info.min, -1000), min(info.max, 1000), shape, endpoint=True).astype(dtype.numpy)


def mixed(dtype: DType, shape: Sequence[int], random: np.random.Generator, share: float = 0.02) -> Array:
    """Ordinary values, and special ones in that share of the places."""
    array = ordinary(dtype, shape, random)
    odd = random.random(shape) < share
    array[odd] = random.choice(special(dtype), int(odd.sum()))
    return array


def finite(dtype: DType, shape: Sequence[int], random: np.random.Generator) -> Array:
    """Floats over many magnitudes, none so large or small that sums of products leave the range; other types as `ordinary`."""
    array = ordinary(dtype, shape, random)
    if dtype.kind == "float":
        array = np.ldexp(array, random.integers(-12, 12, shape)).astype(dtype.numpy)
    return array
