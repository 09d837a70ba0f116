"""From temporaries with known sizes to offsets in one arena.

In: temporaries. Out: one `Allocation` each and the arena's size.
Law: the plan passes `verify_plan`, is never higher than the best greedy packing, and depends on the input alone: effort is counted in steps
of the search, never in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tjcore.memory import greedy
from tjcore.memory import search as exact
from tjcore.memory.problem import Allocation, Rectangles, Temporary, align_up, lower_bound, require_unique_names
from tjcore.memory.search import Outcome, SearchFunction
from tjcore.memory.sections import Instance, compress
from tjcore.memory.valley import mean_pressure, most_pressure, place_in_valleys

# Search steps a compilation may spend; in Python this takes about 25 ms, in C about 1 ms.
DEFAULT_EFFORT = 60_000
# Filling valleys looks at all sections for each buffer; beyond this many looks the orders of `greedy` have to do.
MAX_VALLEYS = 1_000_000


@dataclass(frozen=True, slots=True)
class Packing:
    """A placement of rectangles. `optimal` says that no smaller height exists (it is proved, not guessed)."""

    offset: tuple[int, ...]
    height: int
    lower_bound: int
    optimal: bool
    steps: int


def pack(problem: Rectangles, *, effort: int = DEFAULT_EFFORT, search: SearchFunction = exact.search) -> Packing:
    """Place the rectangles as low as `effort` search steps allow."""
    bound = lower_bound(problem.start, problem.stop, problem.size)
    best = _Best(problem)
    for _, order in greedy.orders(problem):
        best.offer(greedy.place_in_order(problem, order))
        if best.height == bound:
            return Packing(best.offset, bound, bound, True, 0)
    instance = compress(problem)
    if len(instance) * instance.sections <= MAX_VALLEYS:
        for urgency in (most_pressure, mean_pressure):
            best.offer(instance.to_rectangles(place_in_valleys(instance, urgency)))
    steps, impossible = _descend(instance, best, bound // instance.unit, effort, search)
    return Packing(best.offset, best.height, bound, best.height == (impossible + 1) * instance.unit, steps)


class _Best:
    """The lowest packing seen so far."""

    def __init__(self, problem: Rectangles) -> None:
        self.problem = problem
        self.offset: tuple[int, ...] = ()
        self.height = 0

    def offer(self, offset: Sequence[int]) -> None:
        height = max((at + size for at, size in zip(offset, self.problem.size, strict=True)), default=0)
        if not self.offset or height < self.height:
            self.offset, self.height = tuple(offset), height


def _descend(instance: Instance, best: _Best, bound: int, effort: int, search: SearchFunction) -> tuple[int, int]:
    """Improve `best` while steps last; returns the steps taken and the highest capacity proved impossible (in units)."""
    steps = 0
    impossible = bound - 1
    # The lower bound is usually within reach, so it comes first and gets a good share of the effort. After that halve the gap between what was
    # found and what was not; when nothing is left between, go over what was given up again, with larger shares.
    target, share = bound, max(min(effort, DEFAULT_EFFORT) // 2, effort // 3, 1)
    given_up = impossible
    while steps < effort:
        found = search(instance, target, min(share, effort - steps))
        if not found.steps:
            break  # too large an instance even to set up
        steps += found.steps
        if found.outcome is Outcome.FOUND:
            best.offer(instance.to_rectangles(found.offset))
        elif found.outcome is Outcome.IMPOSSIBLE:
            impossible = target
        else:
            given_up = target
        if target == bound:
            share = max(effort // 8, 1)
        height = best.height // instance.unit
        given_up = max(given_up, impossible)
        if height - 1 <= impossible:
            break
        if height - 1 <= given_up:
            given_up, share = impossible, share * 2
        target = (given_up + height) // 2
    return steps, impossible


def plan_memory(
    temporaries: Sequence[Temporary], *, effort: int = DEFAULT_EFFORT, search: SearchFunction = exact.search
) -> tuple[tuple[Allocation, ...], int]:
    """Offsets for all temporaries, in the order given, and the peak: the bytes an arena for them needs."""
    require_unique_names([t.name for t in temporaries])
    # Buffers of no bytes overlap nothing; they lie at offset 0 and take no part in the packing.
    solid = [t for t in temporaries if t.nbytes > 0]
    problem = Rectangles(tuple(t.first for t in solid), tuple(t.last + 1 for t in solid), tuple(align_up(t.nbytes) for t in solid))
    packing = pack(problem, effort=effort, search=search)
    offset = {t.name: at for t, at in zip(solid, packing.offset, strict=True)}
    return tuple(Allocation(t.name, offset.get(t.name, 0), align_up(t.nbytes)) for t in temporaries), packing.height
