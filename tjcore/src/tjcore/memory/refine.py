"""Better orders for many sizes at once: a small local search over the order that orients a plan.

In: lifetimes, the sizes at each sample with their lower bounds, and an order (lowest buffer first). Out: an order that is no worse.
Law: an order is judged by its worst ratio of arena to lower bound over the samples, then by the sum of ratios; the number of orders tried
is fixed by the caller, so the result is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tjcore.memory.orient import directly_below

# With more buffers than this an order is taken as it comes.
MAX_REFINED = 2_000

Score = tuple[float, float]


class Judge:
    """Evaluates an order at all samples together."""

    def __init__(self, first: Sequence[int], last: Sequence[int], sizes: Sequence[Sequence[int]], bounds: Sequence[int]) -> None:
        # Ratios need no exactness: floats hold any size, and what they say only ranks orders.
        self.size = np.array([[float(s) for s in at_sample] for at_sample in sizes]).T.reshape(len(first), len(sizes))
        self.bound = np.array([float(max(bound, 1)) for bound in bounds])
        self.first, self.last = first, last
        # All conflicts of each buffer, unless there are so many buffers that these lists could fill the memory.
        self.conflicts: list[np.ndarray] | None = None
        if len(first) <= MAX_REFINED:
            begin, end = np.array(first), np.array(last)
            self.conflicts = [np.flatnonzero((begin <= last[v]) & (end >= first[v])) for v in range(len(first))]

    def tops(self, order: Sequence[int]) -> np.ndarray:
        """Offset plus size of each buffer (rows) at each sample (columns)."""
        top = np.zeros_like(self.size)
        # What is not placed yet has top 0, so a maximum over all conflicts is one over what lies below.
        under = self.conflicts or [np.array((v, *below)) for v, below in enumerate(directly_below(self.first, self.last, order))]
        for v in order:
            top[v] = top[under[v]].max(axis=0) + self.size[v]
        return top

    def score(self, top: np.ndarray) -> Score:
        ratios = top.max(axis=0) / self.bound
        return float(ratios.max()), float(ratios.sum())

    def critical(self, top: np.ndarray) -> list[int]:
        """The buffers, topmost first, whose sizes add up to the arena at the worst sample."""
        sample = int((top.max(axis=0) / self.bound).argmax())
        v = int(top[:, sample].argmax())
        path = [v]
        if self.conflicts is None:
            return []
        while top[v, sample] > self.size[v, sample]:
            base = top[v, sample] - self.size[v, sample]
            under = self.conflicts[v]
            # Sums of floats in the same order are equal exactly, but stay on the safe side: take the nearest.
            v = int(under[np.abs(top[under, sample] - base).argmin()])
            if v in path:
                break
            path.append(v)
        return path


def refine(judge: Judge, order: Sequence[int], trials: int) -> list[int]:
    """Move buffers of the critical path about while that helps, for at most `trials` evaluations."""
    best = list(order)
    top = judge.tops(best)
    score = judge.score(top)
    while trials > 0 and score[0] > 1.0:
        for candidate in _moves(best, judge.critical(top)):
            if trials <= 0:
                break
            trials -= 1
            moved = judge.tops(candidate)
            if judge.score(moved) < score:
                best, top, score = candidate, moved, judge.score(moved)
                break
        else:
            break
    return best


def _moves(order: list[int], critical: list[int]) -> Iterator[list[int]]:
    """Orders in which one critical buffer has another place: lowest, highest, or right beyond another critical one."""
    for v in critical:
        rest = [u for u in order if u != v]
        yield [v, *rest]
        yield [*rest, v]
        was = order.index(v)
        for u in critical:
            if u != v:
                at = rest.index(u) + (order.index(u) > was)
                yield [*rest[:at], v, *rest[at:]]
