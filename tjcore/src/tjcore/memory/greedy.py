"""Fast packings without search: place buffers one by one, each at the lowest gap that fits.

In: a packing instance and an order. Out: one offset per buffer.
Law: two buffers live at one time never overlap; the same input gives the same output. No promise about height.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tjcore.memory.problem import Rectangles


def orders(problem: Rectangles) -> Iterator[tuple[str, list[int]]]:
    """Orders worth trying, the usually best first. Ties go to the earlier, then the larger buffer, then the lower index."""
    start, stop, size = problem.start, problem.stop, problem.size
    everything = range(len(problem))
    yield "size", sorted(everything, key=lambda i: (-size[i], start[i], i))
    yield "area", sorted(everything, key=lambda i: (-size[i] * (stop[i] - start[i]), start[i], i))
    yield "start", sorted(everything, key=lambda i: (start[i], -size[i], i))
    yield "length", sorted(everything, key=lambda i: (start[i] - stop[i], -size[i], i))
    yield "stop", sorted(everything, key=lambda i: (-stop[i], -size[i], i))


def place_in_order(problem: Rectangles, order: Sequence[int]) -> list[int]:
    """Place each buffer of `order` at the lowest offset where it meets no live buffer already placed."""
    start, stop, size = problem.start, problem.stop, problem.size
    total = sum(size)
    dtype = np.int64 if total < 2**62 else object
    count = len(order)
    # What is placed so far, kept sorted by offset so that the gaps of any subset read off in one pass.
    low = np.zeros(count, dtype=dtype)
    high = np.zeros(count, dtype=dtype)
    begin = np.zeros(count, dtype=np.int64)
    end = np.zeros(count, dtype=np.int64)
    offset = [0] * len(problem)
    for placed, i in enumerate(order):
        live = np.flatnonzero((begin[:placed] < stop[i]) & (end[:placed] > start[i]))
        at = _lowest_gap(low[live], high[live], size[i]) if live.size else 0
        offset[i] = at
        position = int(np.searchsorted(low[:placed], at))
        for column, value in ((low, at), (high, at + size[i]), (begin, start[i]), (end, stop[i])):
            column[position + 1 : placed + 1] = column[position:placed]
            column[position] = value
    return offset


def _lowest_gap(low: np.ndarray, high: np.ndarray, size: int) -> int:
    if low[0] >= size:
        return 0
    covered = np.maximum.accumulate(high)
    fits = np.flatnonzero(low[1:] - covered[:-1] >= size)
    return int(covered[fits[0]]) if fits.size else int(covered[-1])
