"""One native call: from NumPy arrays and a workspace to the addresses that a built graph takes.

In: a loaded entry, and arrays that passed the guards. Out: nothing but what the entry writes. The arrays must stay referenced by
the caller while it runs; the interpreter's lock is released meanwhile. This is the way that always works; `direct.py` is the fast one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .memory import ALIGNMENT
from .toolchain import FFI, Library


class NativeEntry:
    """A built graph's entry with the support library that runs it; without one (the reference evaluator) the entry is called directly."""

    def __init__(self, function: Any, support: Library | None) -> None:
        self.function = function
        self.support = support
        self._pool_run: Any = None
        if support is not None:
            self._table = support.function("tj_support_table")()
            self._pool_run = support.function("tj_pool_run")

    def call(
        self, arrays: Sequence[NDArray[Any]], workspace: NDArray[np.uint8] | None, places: Sequence[int], dims: Sequence[int], threads: int
    ) -> None:
        """Run on the arrays, in plan order (inputs, then outputs), and on the temporaries at their places in the workspace, which has
        room to be aligned."""
        pointers: list[Any] = [FFI.from_buffer(a) for a in arrays]
        if workspace is not None:
            base = FFI.from_buffer(workspace)
            start = -int(FFI.cast("uintptr_t", base)) % ALIGNMENT
            pointers += [base + (start + place) for place in places]
        else:
            pointers += [FFI.NULL] * len(places)  # empty, so nothing is read there; but the entry looks the addresses up
        buffers = FFI.new("void *[]", pointers or 1)
        sizes = FFI.new("int64_t[]", list(dims) or 1)
        if self._pool_run is not None:
            self._pool_run(self.function, self._table, buffers, sizes, threads)
        else:
            self.function(FFI.NULL, buffers, sizes)
