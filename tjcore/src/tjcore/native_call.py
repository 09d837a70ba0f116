"""One native call: from NumPy arrays and an arena to the addresses that a built graph takes.

In: a loaded entry, arrays that passed the guards, one `Frame` per set of sizes. Out: nothing but what the entry writes. The
arrays must stay referenced by the caller while it runs; the interpreter's lock is released meanwhile.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .memory import ALIGNMENT
from .toolchain import FFI, Library

MOST_ARRAYS = 64
"""As TJ_MOST_ARRAYS in support.c."""


def _data_offset() -> int | None:
    """How far into an array object NumPy keeps the address of its data; None where that cannot be seen.

    Asking each array for its address through Python costs more than a small kernel takes, and the object's first field has been that
    address in every NumPy; but it is no promise, so it is looked up, and several arrays must agree.
    """
    if sys.implementation.name != "cpython":
        return None
    samples = [np.empty(3, np.float32), np.empty((2, 5), np.float64)[:, 1:], np.zeros((), np.uint8)]
    for offset in range(ctypes.sizeof(ctypes.c_void_p), 64, ctypes.sizeof(ctypes.c_void_p)):
        if all(ctypes.c_void_p.from_address(id(a) + offset).value == a.__array_interface__["data"][0] for a in samples):
            return offset
    return None


DATA_OFFSET = _data_offset()


class Frame:
    """What a call needs besides its arrays, made once per set of sizes: sizes and offsets as C sees them, and the arena's bytes."""

    __slots__ = ("arena_bytes", "dims", "offsets", "places")

    def __init__(self, dims: Sequence[int], offsets: Sequence[int], temporary_bytes: int) -> None:
        self.dims = FFI.new("int64_t[]", list(dims) or 1)
        self.places = tuple(offsets)
        self.offsets = FFI.new("int64_t[]", list(offsets) or 1)
        self.arena_bytes = temporary_bytes + ALIGNMENT if offsets else 0


class NativeEntry:
    """A built graph's entry with the support library that runs it; without one (the reference evaluator) the entry is called directly."""

    def __init__(self, entry: Any, support: Library | None) -> None:
        self._entry = entry
        self._support = support
        if support is not None:
            self._table = support.function("tj_support_table")()
            self._pool_run = support.function("tj_pool_run")
            self._run_arrays = support.function("tj_run_arrays") if DATA_OFFSET is not None else None

    def call(self, arrays: Sequence[NDArray[Any]], arena: NDArray[np.uint8] | None, frame: Frame, threads: int) -> None:
        """Run on the arrays, in plan order (inputs, then outputs)."""
        if self._support is not None and self._run_arrays is not None and len(arrays) + len(frame.places) <= MOST_ARRAYS:
            addresses = FFI.new("uintptr_t[]", [*map(id, arrays)])
            base = FFI.NULL if arena is None else FFI.from_buffer(arena)
            count = len(arrays)
            self._run_arrays(
                self._entry, self._table, addresses, count, DATA_OFFSET, base, frame.offsets, len(frame.places), frame.dims, threads
            )
            return
        buffers = FFI.new("void *[]", self._pointers(arrays, arena, frame) or 1)
        if self._support is not None:
            self._pool_run(self._entry, self._table, buffers, frame.dims, threads)
        else:
            self._entry(FFI.NULL, buffers, frame.dims)

    @staticmethod
    def _pointers(arrays: Sequence[NDArray[Any]], arena: NDArray[np.uint8] | None, frame: Frame) -> list[Any]:
        pointers: list[Any] = [FFI.from_buffer(a) for a in arrays]
        if arena is not None:
            base = FFI.from_buffer(arena)
            start = -int(FFI.cast("uintptr_t", base)) % ALIGNMENT
            pointers += [base + (start + place) for place in frame.places]
        return pointers
