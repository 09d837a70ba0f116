"""The exact search in C, behind the same function as in Python.

In: the library that `native/pack.c` was built into, opened with cffi. Out: a `SearchFunction`.
Law: outcome, offsets and steps equal those of `search.search`; instances whose numbers 64 bits could not hold go there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tjcore.memory import search as python_search
from tjcore.memory.search import Found, Outcome, SearchFunction
from tjcore.memory.sections import Instance

SOURCE = Path(__file__).parent.parent / "native" / "pack.c"
DECLARATION = """
int tj_pack(int32_t count, int32_t sections, const int32_t *lo, const int32_t *hi, const int64_t *size, int64_t capacity, int64_t budget,
            int64_t *offset, int64_t *steps);
"""


def native_search(ffi: Any, library: Any) -> SearchFunction:
    """The search as a call into `library`, an `ffi.dlopen` result; `ffi` knows `DECLARATION`."""

    def search(instance: Instance, capacity: int, budget: int) -> Found:
        largest = max(capacity, sum(instance.size) * max(instance.sections, 1))
        if largest >= 2**55:
            return python_search.search(instance, capacity, budget)
        lo, hi = (np.array(column, dtype=np.int32) for column in (instance.lo, instance.hi))
        size = np.array(instance.size, dtype=np.int64)
        offset, steps = np.zeros(len(instance), dtype=np.int64), np.zeros(1, dtype=np.int64)

        def pointer(array: np.ndarray) -> Any:
            return ffi.cast(f"{array.dtype.name}_t *", ffi.from_buffer(array))

        code = library.tj_pack(
            len(instance),
            instance.sections,
            pointer(lo),
            pointer(hi),
            pointer(size),
            capacity,
            min(budget, 2**62),
            pointer(offset),
            pointer(steps),
        )
        if code not in (1, 0, -1):  # no memory: Python may still find some
            return python_search.search(instance, capacity, budget)
        outcome = Outcome(code)
        return Found(outcome, tuple(offset.tolist()) if outcome is Outcome.FOUND else (), int(steps[0]))

    return search
