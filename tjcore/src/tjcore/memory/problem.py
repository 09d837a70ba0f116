"""What the memory planner is asked and what it answers, and nothing of how.

In: `Temporary`, a buffer with its size and the kernels between which it is live (both ends count).
Out: `Allocation`, the same buffer with an offset in the arena.
Law: offsets and sizes of allocations are multiples of `ALIGNMENT`; names are unique within one plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from tjcore.errors import PlanError

ALIGNMENT = 64


def align_up(nbytes: int) -> int:
    """The smallest multiple of `ALIGNMENT` that holds `nbytes`."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _as_int(owner: str, field: str, value: object) -> int:
    # NumPy integers are welcome; a bool or a float is a mistake of the caller.
    if not isinstance(value, bool) and isinstance(value, SupportsIndex):
        return value.__index__()
    raise PlanError(f"temporary {owner!r}: {field} must be an int, got {value!r} ({type(value).__name__})")


@dataclass(frozen=True, slots=True)
class Temporary:
    """A buffer of `nbytes` written first by kernel `first` and read last by kernel `last` (inclusive; never read: `last == first`)."""

    name: str
    nbytes: int
    first: int
    last: int

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise PlanError(f"a temporary's name must be a non-empty string, got {self.name!r}")
        for field in ("nbytes", "first", "last"):
            object.__setattr__(self, field, _as_int(self.name, field, getattr(self, field)))
        if self.nbytes < 0:
            raise PlanError(f"temporary {self.name!r}: nbytes must be 0 or more, got {self.nbytes}")
        if self.first < 0:
            raise PlanError(f"temporary {self.name!r}: first must be a kernel index of 0 or more, got {self.first}")
        if self.last < self.first:
            raise PlanError(
                f"temporary {self.name!r}: last ({self.last}) lies before first ({self.first}); a buffer nothing reads has last equal to first"
            )


@dataclass(frozen=True, slots=True)
class Allocation:
    """Where a temporary lies: `nbytes` (rounded up) from `offset` on."""

    name: str
    offset: int
    nbytes: int

    @property
    def end(self) -> int:
        return self.offset + self.nbytes


def require_unique_names(names: Sequence[str]) -> None:
    """Refuse two buffers of one name, naming the first such name and both positions."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in seen:
            raise PlanError(
                f"two temporaries are named {name!r} (positions {seen[name]} and {position}); names must be unique within a plan"
            )
        seen[name] = position


@dataclass(frozen=True, slots=True)
class Rectangles:
    """A packing instance in plain numbers: buffer `i` lives in the half-open [start[i], stop[i]) and has `size[i]` > 0."""

    start: tuple[int, ...]
    stop: tuple[int, ...]
    size: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.size)


def lower_bound(start: Sequence[int], stop: Sequence[int], size: Sequence[int]) -> int:
    """The largest sum of sizes that are live at one moment; no plan can be smaller."""
    change: dict[int, int] = {}
    for begin, end, amount in zip(start, stop, size, strict=True):
        change[begin] = change.get(begin, 0) + amount
        change[end] = change.get(end, 0) - amount
    live = peak = 0
    for moment in sorted(change):
        live += change[moment]
        peak = max(peak, live)
    return peak
