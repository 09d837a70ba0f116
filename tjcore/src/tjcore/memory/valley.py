"""Fast packings from the bottom up: fill the lowest valley with what presses most.

In: an instance by sections. Out: one offset per row (in the instance's unit).
Law: two rows that share a section never overlap; the same input gives the same output. No promise about height, but on tight instances it
ends well below placing by size, because it looks at how much a section still has to hold.
"""

from __future__ import annotations

from collections.abc import Callable

from tjcore.memory.sections import Instance

NOTHING_LEFT = 1 << 80  # the top of a section that is done: above every height, so that it ends valleys


def mean_pressure(pressure: list[int]) -> float:
    return sum(pressure) / len(pressure)


def most_pressure(pressure: list[int]) -> float:
    return max(pressure)


def place_in_valleys(instance: Instance, urgency: Callable[[list[int]], float]) -> list[int]:
    """Place rows one by one on the lowest valley they fit in, the one under the greatest pressure first.

    The pressure in a section is its top plus all it still has to hold: the least height it can end at.
    """
    lo, hi, size = instance.lo, instance.hi, instance.size
    left: list[list[int]] = [[] for _ in range(instance.sections)]
    for v in range(len(instance)):
        for s in range(lo[v], hi[v]):
            left[s].append(v)
    remaining = [sum(size[v] for v in rows) for rows in left]
    top = [0] * instance.sections
    offset = [0] * len(instance)
    unplaced = len(instance)
    while unplaced:
        base = min(top)
        begin = end = top.index(base)
        while end < len(top) and top[end] == base:
            end += 1
        fitting = [v for s in range(begin, end) for v in left[s] if lo[v] == s and hi[v] <= end]
        if not fitting:
            beside = min(top[begin - 1] if begin else NOTHING_LEFT, top[end] if end < len(top) else NOTHING_LEFT)
            top[begin:end] = [beside] * (end - begin)
            continue
        pressure = [t + r for t, r in zip(top, remaining, strict=True)]
        # Rows come largest first, and max keeps the first of equals.
        chosen = max(fitting, key=lambda v: urgency(pressure[lo[v] : hi[v]]))
        offset[chosen] = base
        unplaced -= 1
        for s in range(lo[chosen], hi[chosen]):
            left[s].remove(chosen)
            remaining[s] -= size[chosen]
            top[s] = base + size[chosen] if left[s] else NOTHING_LEFT
    return offset
