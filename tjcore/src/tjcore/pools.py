"""Memory that calls have finished with and later calls take again: workspaces, and large outputs, for the whole process.

In: a number of bytes. Out: memory of at least as many, its contents undefined. A workspace is given back by the call that took it; an output's
memory comes back by itself when the last array that looks into it is gone: its views keep it, like any array's. What lies idle is bounded,
in bytes and in blocks. The first write to fresh memory of the system costs more than many kernels; memory that was used before
does not have that cost.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .memory import ALIGNMENT
from .toolchain import FFI

LARGE = 2**20
"""Outputs from this size on come from the pool. Smaller ones the system's allocator keeps at hand itself."""


class Workspaces:
    """Blocks that calls have given back. Any block that is large enough serves, so one per simultaneous call is all there is to keep."""

    MOST = 4
    LARGEST = 64 * 2**20

    def __init__(self) -> None:
        # Appended to and popped from in one step of the interpreter each, so without a lock; and a deque takes no memory for that.
        self._idle: deque[NDArray[np.uint8]] = deque()

    @property
    def idle_bytes(self) -> int:
        """Bytes that lie idle."""
        return sum(block.nbytes for block in self._idle)

    def take(self, nbytes: int) -> NDArray[np.uint8]:
        """At least `nbytes` bytes that nobody else has until they are given back. One that is too small gives up its place."""
        try:
            block = self._idle.pop()
        except IndexError:
            return np.empty(nbytes, np.uint8)
        return block if block.nbytes >= nbytes else np.empty(_rounded(nbytes), np.uint8)

    def give(self, block: NDArray[np.uint8]) -> None:
        if block.nbytes <= self.LARGEST and len(self._idle) < self.MOST:
            self._idle.append(block)

    def release(self) -> int:
        """Give what lies idle back to the system; how many bytes that were."""
        released = 0
        while self._idle:
            released += self._idle.pop().nbytes
        return released


class Outputs:
    """Memory of large outputs. Thread safe; a child process after a fork has a copy of its own."""

    MOST = 8
    IDLE_LIMIT = 128 * 2**20
    SPARE = 1.25
    """How many times the bytes asked for a block may have: it may be kept for long."""

    def __init__(self) -> None:
        self._idle: list[NDArray[np.uint8]] = []
        # An RLock, since memory may come back at any moment of the thread that takes: whenever the interpreter collects garbage.
        self._lock = threading.RLock()
        self._idle_bytes = 0
        self._lent_bytes = 0

    @property
    def idle_bytes(self) -> int:
        """Bytes that lie idle."""
        return self._idle_bytes

    @property
    def lent_bytes(self) -> int:
        """Bytes that arrays look into."""
        return self._lent_bytes

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """As `numpy.empty`, aligned to 64 bytes."""
        nbytes = dtype.itemsize
        for size in shape:
            nbytes *= size
        block = self._suitable(nbytes)
        if block is None:
            block = np.empty(_rounded(nbytes) + ALIGNMENT, np.uint8)
        address = int(block.__array_interface__["data"][0])
        with self._lock:
            self._lent_bytes += block.nbytes
        lease = FFI.gc(FFI.cast("char *", address + -address % ALIGNMENT), lambda _: self._give(block))
        return np.ndarray(shape, dtype, FFI.buffer(lease, nbytes))  # which keeps the lease for as long as anything looks into it

    def release(self) -> int:
        """Give what lies idle back to the system; how many bytes that were."""
        with self._lock:
            idle, self._idle = self._idle, []
            released, self._idle_bytes = self._idle_bytes, 0
        del idle
        return released

    def _suitable(self, nbytes: int) -> NDArray[np.uint8] | None:
        """The smallest idle block that is large enough, and not too large, taken out."""
        least, most = nbytes + ALIGNMENT, int(nbytes * self.SPARE) + ALIGNMENT
        with self._lock:
            fitting = [(block.nbytes, i) for i, block in enumerate(self._idle) if least <= block.nbytes <= most]
            return self._drop(min(fitting)[1]) if fitting else None

    def _give(self, block: NDArray[np.uint8]) -> None:
        with self._lock:
            self._lent_bytes -= block.nbytes
            if block.nbytes > self.IDLE_LIMIT:
                return
            self._idle.append(block)
            self._idle_bytes += block.nbytes
            while self._idle_bytes > self.IDLE_LIMIT or len(self._idle) > self.MOST:
                self._drop(0)  # the oldest

    def _drop(self, index: int) -> NDArray[np.uint8]:
        block = self._idle.pop(index)
        self._idle_bytes -= block.nbytes
        return block

    def forget_threads(self) -> None:
        """In the child after a fork, where the thread that held the lock does not live."""
        self._lock = threading.RLock()


def _rounded(nbytes: int) -> int:
    """Up to an eighth more, so that calls whose sizes differ a little find each other's blocks."""
    step = 1 << max(nbytes.bit_length() - 4, 6)
    return -(-nbytes // step) * step


WORKSPACES = Workspaces()
OUTPUTS = Outputs()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=OUTPUTS.forget_threads)


def release_memory() -> int:
    """Give the memory that finished calls have left for later ones back to the system; how many bytes that were."""
    return WORKSPACES.release() + OUTPUTS.release()
