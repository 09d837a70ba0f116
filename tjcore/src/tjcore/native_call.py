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

MOST_BUFFERS = 64
"""As MOST_BUFFERS in support.c."""
_NULL = FFI.NULL
_ZEROS = tuple((0,) * (8 - count) for count in range(9))
"""By the number of arrays: what fills up the arguments of tj_run_frame."""


def _data_offset() -> int | None:
    """How far into an array object NumPy keeps the address of its data; None where that cannot be seen.

    Asking each array for its address through Python costs more than a small kernel takes, and the object's first field has been that
    address in every NumPy; but it is no promise, so it is looked up, and several arrays must agree.
    """
    if sys.implementation.name != "cpython":
        return None
    samples: list[NDArray[Any]] = [np.empty(3, np.float32), np.empty((2, 5), np.float64)[:, 1:], np.zeros((), np.uint8)]
    for offset in range(ctypes.sizeof(ctypes.c_void_p), 64, ctypes.sizeof(ctypes.c_void_p)):
        if all(ctypes.c_void_p.from_address(id(a) + offset).value == a.__array_interface__["data"][0] for a in samples):
            return offset
    return None


DATA_OFFSET = _data_offset()


class Frame:
    """What the calls of one graph for one set of sizes have in common: the entry, sizes and offsets as C sees them, the arena's bytes."""

    __slots__ = ("_keep", "arena_bytes", "c", "dims", "places")

    def __init__(
        self, entry: NativeEntry, arrays: int, dims: Sequence[int], offsets: Sequence[int], temporary_bytes: int, threads: int
    ) -> None:
        self.dims = FFI.new("int64_t[]", list(dims) or 1)
        self.places = tuple(offsets)
        self.arena_bytes = temporary_bytes + ALIGNMENT if offsets else 0
        self._keep = FFI.new("int64_t[]", list(offsets) or 1)
        self.c = None
        if entry.run_frame is not None and arrays + len(offsets) <= MOST_BUFFERS:
            self.c = FFI.new("tj_frame *", (entry.function, self.dims, self._keep, len(offsets), arrays, DATA_OFFSET, threads))


class NativeEntry:
    """A built graph's entry with the support library that runs it; without one (the reference evaluator) the entry is called directly."""

    def __init__(self, function: Any, support: Library | None) -> None:
        self.function = function
        self.run_frame: Any = None
        self._pool_run: Any = None
        if support is not None:
            self._table = support.function("tj_support_table")()
            self._pool_run = support.function("tj_pool_run")
            if DATA_OFFSET is not None:
                self.run_frame = support.function("tj_run_frame")

    def call(self, arrays: Sequence[NDArray[Any]], arena: NDArray[np.uint8] | None, frame: Frame, threads: int) -> None:
        """Run on the arrays, in plan order (inputs, then outputs)."""
        if frame.c is not None:
            base = _NULL if arena is None else FFI.from_buffer(arena)
            if len(arrays) <= 8:
                self.run_frame(frame.c, base, *map(id, arrays), *_ZEROS[len(arrays)])
            else:
                table = FFI.new("uintptr_t[]", [*map(id, arrays)])
                self.run_frame(frame.c, base, int(FFI.cast("uintptr_t", table)), *_ZEROS[1])
            return
        buffers = FFI.new("void *[]", self._pointers(arrays, arena, frame) or 1)
        if self._pool_run is not None:
            self._pool_run(self.function, self._table, buffers, frame.dims, threads)
        else:
            self.function(FFI.NULL, buffers, frame.dims)

    @staticmethod
    def _pointers(arrays: Sequence[NDArray[Any]], arena: NDArray[np.uint8] | None, frame: Frame) -> list[Any]:
        pointers: list[Any] = [FFI.from_buffer(a) for a in arrays]
        if arena is not None:
            base = FFI.from_buffer(arena)
            start = -int(FFI.cast("uintptr_t", base)) % ALIGNMENT
            pointers += [base + (start + place) for place in frame.places]
        return pointers
