"""One memory plan for all sizes: every conflict oriented once, offsets as longest paths.

In: buffers whose sizes are ints or expressions in the dims, and the dims' bounds. Out: a `SymbolicPlan`.
Law: of two buffers live at one time one lies below the other, without cycles (`verify_symbolic` checks it), and an offset is the
largest `offset + size` of what lies below. So no two live buffers overlap for any sizes whatever; the orientation is the certificate.
Which orientation is the planner's choice: it packs at sizes that matter and keeps the one whose worst ratio to the lower bound is least.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tjcore.errors import PlanError
from tjcore.memory import search as exact
from tjcore.memory import solver
from tjcore.memory.expressions import formulas
from tjcore.memory.orient import directly_below
from tjcore.memory.problem import Rectangles, align_up, lower_bound, require_unique_names
from tjcore.memory.refine import Judge, Score, refine
from tjcore.memory.search import SearchFunction

# Geometric steps between the bounds of each dim, by number of dims; with more dims a full grid is too large, and only lines through it are judged.
STEPS_BY_DIMS = {0: 1, 1: 16, 2: 5, 3: 2, 4: 1}
# Plans are judged at every sample, but packed at few, the worst first: as many as keep this number of buffers, between 2 and 8.
PACKED_BUFFERS = 1_000
STEPS_PER_BUFFER_TRIED = 15


@runtime_checkable
class Size(Protocol):
    """A byte count that depends on dims. Equal sizes should compare and hash equal: each distinct one is evaluated once per call."""

    def evaluate(self, bindings: Mapping[str, int]) -> int: ...
    def bounds(self) -> tuple[int, int]: ...


@dataclass(frozen=True, slots=True)
class SymbolicBuffer:
    """A buffer live from kernel `first` to kernel `last` (inclusive) whose size in bytes is an int or a `Size`."""

    name: str
    size: int | Size
    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise PlanError(f"buffer {self.name!r}: expected kernels 0 <= first <= last, got first={self.first}, last={self.last}")
        lowest = self.size if isinstance(self.size, int) else self.size.bounds()[0]
        if lowest < 0:
            raise PlanError(f"buffer {self.name!r}: its size {self.size} can be negative ({lowest})")


@dataclass(frozen=True, slots=True)
class Sample:
    """One size the plan was judged at: the dims, the arena it takes, and the least any plan could take."""

    bindings: Mapping[str, int]
    arena: int
    lower_bound: int

    @property
    def ratio(self) -> float:
        return self.arena / self.lower_bound if self.lower_bound else 1.0


@dataclass(frozen=True, slots=True)
class SymbolicPlan:
    """The orientation and what follows from it. `below` names, per buffer, the buffers directly below it."""

    buffers: tuple[SymbolicBuffer, ...]
    below: dict[str, tuple[str, ...]]
    samples: tuple[Sample, ...]
    # Steps of the evaluation, lowest first: buffer, and what it lies on.
    _steps: tuple[tuple[int, tuple[int, ...]], ...]
    # Distinct sizes, and which of them each buffer has.
    _sizes: tuple[int | Size, ...]
    _size_of: tuple[int, ...]

    @property
    def ratio(self) -> float:
        """The worst arena over lower bound at the sampled sizes."""
        return max((s.ratio for s in self.samples), default=1.0)

    def sizes(self, bindings: Mapping[str, int]) -> list[int]:
        """Bytes of each buffer, rounded up to the alignment, in the order of `buffers`."""
        distinct = [align_up(s if isinstance(s, int) else s.evaluate(bindings)) for s in self._sizes]
        return [distinct[k] for k in self._size_of]

    def layout(self, bindings: Mapping[str, int]) -> tuple[list[int], int]:
        """Offsets in the order of `buffers`, and the arena, in one pass: linear in buffers and oriented pairs."""
        return _stack(self._steps, self.sizes(bindings))

    def stacked(self, nbytes: Sequence[int]) -> tuple[list[int], int]:
        """The same for who has the bytes of each buffer already, in the order of `buffers`; each is rounded up here."""
        return _stack(self._steps, [align_up(n) for n in nbytes])

    def offsets(self, bindings: Mapping[str, int]) -> list[int]:
        return self.layout(bindings)[0]

    def arena(self, bindings: Mapping[str, int]) -> int:
        return self.layout(bindings)[1]

    def lower_bound(self, bindings: Mapping[str, int]) -> int:
        """The most bytes live at one kernel: no plan for these sizes can be smaller."""
        return lower_bound([b.first for b in self.buffers], [b.last + 1 for b in self.buffers], self.sizes(bindings))

    def worst_case(self) -> int:
        """An arena of this many bytes suffices for every size within the bounds."""
        distinct = [align_up(s if isinstance(s, int) else s.bounds()[1]) for s in self._sizes]
        return _stack(self._steps, [distinct[k] for k in self._size_of])[1]

    def formulas(self) -> tuple[dict[str, str], str]:
        """Each buffer's offset, and the arena, as formulas in the dims."""
        return formulas([b.name for b in self.buffers], [b.size for b in self.buffers], self._steps)


def plan_symbolic(
    buffers: Sequence[SymbolicBuffer],
    dims: Mapping[str, tuple[int, int]],
    *,
    hint: Mapping[str, int] | None = None,
    effort: int = solver.DEFAULT_EFFORT,
    search: SearchFunction = exact.search,
) -> SymbolicPlan:
    """Orient all conflicts. `dims` gives each dim's bounds; `hint` sizes the user expects (dims it leaves out take their middle)."""
    require_unique_names([b.name for b in buffers])
    distinct: dict[int | Size, int] = {}
    size_of = tuple(distinct.setdefault(b.size, len(distinct)) for b in buffers)
    sizes = tuple(distinct)
    first, last = [b.first for b in buffers], [b.last for b in buffers]

    points = sample_points(dims, hint)
    judged = []
    for point in points:
        values = [align_up(s if isinstance(s, int) else s.evaluate(point)) for s in sizes]
        at_point = [values[k] for k in size_of]
        judged.append((at_point, lower_bound(first, [t + 1 for t in last], at_point)))

    best = _choose(first, last, judged, effort, search)
    samples = tuple(Sample(dict(point), _stack(best, at_point)[1], bound) for point, (at_point, bound) in zip(points, judged, strict=True))
    below = {buffers[i].name: tuple(buffers[u].name for u in under) for i, under in best}
    return SymbolicPlan(tuple(buffers), {b.name: below[b.name] for b in buffers}, samples, best, sizes, size_of)


_Steps = tuple[tuple[int, tuple[int, ...]], ...]


def _choose(
    first: Sequence[int], last: Sequence[int], judged: Sequence[tuple[list[int], int]], effort: int, search: SearchFunction
) -> _Steps:
    """Pack at the sample where the best order so far is worst, a few times over; then refine the best order for all samples together."""
    count = len(first)
    if not count:
        return ()
    stop = tuple(t + 1 for t in last)
    judge = Judge(first, last, [at_point for at_point, _ in judged], [bound for _, bound in judged])
    orders: list[tuple[Score, list[int]]] = []
    waiting = list(range(len(judged)))
    turn, left = 0, effort
    packings = min(max(2, min(8, PACKED_BUFFERS // count)), len(judged))
    for packed in range(packings):
        waiting.remove(turn)
        # A buffer that is empty at this sample still takes its place in the order: it is not empty at others.
        solid = tuple(max(size, align_up(1)) for size in judged[turn][0])
        # The first sample, all dims at their upper bound, may spend half of the effort; each later one half of what is left.
        packing = solver.pack(Rectangles(tuple(first), stop, solid), effort=max(left // 2, 1), search=search)
        left -= packing.steps
        order = sorted(range(count), key=lambda i: (packing.offset[i], first[i], i))
        orders.append((judge.score(judge.tops(order)), order))
        score, order = min(orders)
        if score[0] <= 1.0 or packed + 1 == packings:
            break
        ratios = judge.tops(order).max(axis=0) / judge.bound
        turn = max(waiting, key=lambda k: float(ratios[k]))
    # One order tried costs about as much as this many search steps.
    trials = effort // (STEPS_PER_BUFFER_TRIED * count)
    finals = [refine(judge, order, trials // 2) for _, order in sorted(orders)[:2]]
    order = min(finals, key=lambda candidate: judge.score(judge.tops(candidate)))
    below = directly_below(first, last, order)
    return tuple((i, below[i]) for i in order)


def sample_points(dims: Mapping[str, tuple[int, int]], hint: Mapping[str, int] | None = None) -> list[dict[str, int]]:
    """The sizes a plan is judged at: the upper corner first, then the hint, then corners and geometric steps between the bounds.

    Which buffers weigh most changes somewhere between the bounds, often far from the corners; hence the steps.
    """
    for name in hint or {}:
        if name not in dims:
            raise PlanError(f"size hint names {name!r}, which is no dim of the plan; dims are {', '.join(dims) or 'none'}")
    points = [{name: high for name, (_, high) in dims.items()}]
    middle = {name: _between(low, high, 1, 2) for name, (low, high) in dims.items()}
    if hint:
        points.append({**middle, **hint})
    steps = STEPS_BY_DIMS.get(len(dims), 0)
    if steps:
        axes = [[_between(low, high, k, steps) for k in range(steps + 1)] for low, high in dims.values()]
        points += [dict(zip(dims, values, strict=True)) for values in itertools.product(*axes)]
    else:
        lower = {name: low for name, (low, _) in dims.items()}
        points += [{name: _between(low, high, k, 8) for name, (low, high) in dims.items()} for k in range(9)]
        points += [{**base, name: dims[name][k]} for base, k in ((lower, 1), (points[0], 0), (middle, 1)) for name in dims]
    unique: dict[tuple[int, ...], dict[str, int]] = {}
    for point in points:
        unique.setdefault(tuple(point.values()), point)
    return list(unique.values())


def _between(low: int, high: int, step: int, steps: int) -> int:
    """The size `step` of `steps` equal factors above `low`."""
    if step == 0 or step == steps:
        return high if step else low
    start = max(low, 1)
    factor = math.pow(max(high, 1) / start, step / steps)
    return min(max(round(start * factor), low), high)


def _stack(steps: _Steps, size: Sequence[int]) -> tuple[list[int], int]:
    offset = [0] * len(size)
    top = [0] * len(size)
    for i, under in steps:
        at = 0
        for u in under:
            if top[u] > at:
                at = top[u]
        offset[i] = at
        top[i] = at + size[i]
    return offset, max(top, default=0)
