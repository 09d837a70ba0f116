"""From temporaries with known sizes to offsets in one arena.

In: temporaries. Out: one `Allocation` each and the arena's size.
Law: the plan passes `verify_plan`, and depends on the input alone: work is counted in search steps, never in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tjcore.memory import greedy
from tjcore.memory.problem import Allocation, Rectangles, Temporary, align_up, lower_bound, require_unique_names

DEFAULT_EFFORT = 1_000


@dataclass(frozen=True, slots=True)
class Packing:
    """A placement of rectangles. `optimal` says that no smaller height exists (it is proved, not guessed)."""

    offset: tuple[int, ...]
    height: int
    lower_bound: int
    optimal: bool
    steps: int


def pack(problem: Rectangles, *, effort: int = DEFAULT_EFFORT) -> Packing:
    """Place the rectangles as low as `effort` search steps allow."""
    floor = lower_bound(problem.start, problem.stop, problem.size)
    best: tuple[int, ...] = ()
    best_height = -1
    for _, order in greedy.orders(problem):
        offset = greedy.place_in_order(problem, order)
        height = max((o + s for o, s in zip(offset, problem.size, strict=True)), default=0)
        if best_height < 0 or height < best_height:
            best, best_height = tuple(offset), height
        if best_height == floor:
            break
    return Packing(best, best_height, floor, best_height == floor, 0)


def plan_memory(temporaries: Sequence[Temporary], *, effort: int = DEFAULT_EFFORT) -> tuple[tuple[Allocation, ...], int]:
    """Offsets for all temporaries, in the order given, and the peak: the bytes an arena for them needs."""
    require_unique_names([t.name for t in temporaries])
    # Buffers of no bytes overlap nothing; they lie at offset 0 and take no part in the packing.
    solid = [t for t in temporaries if t.nbytes > 0]
    problem = Rectangles(tuple(t.first for t in solid), tuple(t.last + 1 for t in solid), tuple(align_up(t.nbytes) for t in solid))
    packing = pack(problem, effort=effort)
    offset = {t.name: at for t, at in zip(solid, packing.offset, strict=True)}
    return tuple(Allocation(t.name, offset.get(t.name, 0), align_up(t.nbytes)) for t in temporaries), packing.height
