"""The exact search's view of a packing instance: time cut down to the moments that matter.

In: rectangles with any start and stop. Out: an `Instance` whose buffers cover ranges of *sections*, and the buffer behind each row.
A section is a maximal set of buffers live together; every two conflicting buffers share one, so nothing else about time matters.
Law: rows are sorted by falling size, then by place, so that equal rows stand side by side; sizes are divided by their greatest common
divisor, `unit`.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tjcore.memory.problem import Rectangles


@dataclass(frozen=True, slots=True)
class Instance:
    """Buffer `i` covers sections `lo[i]` to `hi[i]` (half-open) and is `size[i]` high; `origin[i]` is its index in the rectangles."""

    sections: int
    lo: tuple[int, ...]
    hi: tuple[int, ...]
    size: tuple[int, ...]
    origin: tuple[int, ...]
    unit: int

    def __len__(self) -> int:
        return len(self.size)

    def to_rectangles(self, offset: Sequence[int]) -> list[int]:
        """Offsets of the rows, in units, as offsets of the rectangles."""
        placed = [0] * len(self)
        for row, at in zip(self.origin, offset, strict=True):
            placed[row] = at * self.unit
        return placed


def compress(problem: Rectangles) -> Instance:
    """Cut time into sections and bring the buffers into the order the search wants."""
    begins, ends = set(problem.start), set(problem.stop)
    moments = sorted(begins | ends)
    section_at: list[int] = []
    grown = False
    for moment, following in itertools.pairwise(moments):
        grown = grown or moment in begins
        # The live set is maximal when something has begun since the last end and something ends next.
        if grown and following in ends:
            section_at.append(moment)
            grown = False
    lo = [bisect.bisect_left(section_at, start) for start in problem.start]
    hi = [bisect.bisect_left(section_at, stop) for stop in problem.stop]
    origin = sorted(range(len(problem)), key=lambda i: (-problem.size[i], lo[i], hi[i], i))
    unit = math.gcd(*problem.size) or 1
    return Instance(
        len(section_at),
        tuple(lo[i] for i in origin),
        tuple(hi[i] for i in origin),
        tuple(problem.size[i] // unit for i in origin),
        tuple(origin),
        unit,
    )
