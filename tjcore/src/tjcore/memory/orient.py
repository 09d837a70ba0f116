"""Which of two conflicting buffers lies below the other: from an order of the buffers to the few pairs that need saying.

In: lifetimes and a total order, lowest buffer first. Out: per buffer, the buffers directly below it.
Law: every two buffers live at one time are ordered, directly or through others; no pair is listed that others imply. Longest paths
over the listed pairs are therefore the same as over all conflicts.
"""

from __future__ import annotations

from collections.abc import Sequence


def directly_below(first: Sequence[int], last: Sequence[int], order: Sequence[int]) -> list[tuple[int, ...]]:
    """For each buffer, those directly below it under `order` (inclusive lifetimes)."""
    count = len(order)
    position = [0] * count
    for place, i in enumerate(order):
        position[i] = place

    # Sets of buffers are Python integers with one bit per position in the order: whole sets are joined and subtracted in one step.
    moments = sorted({*first, *last})
    moment_index = {moment: k for k, moment in enumerate(moments)}
    begun = _prefix_sets([moment_index[f] for f in first], position, len(moments))  # first <= moment
    ended = _prefix_sets([moment_index[t] for t in last], position, len(moments))  # last <= moment

    below: list[tuple[int, ...]] = [()] * count
    reach = [0] * count  # by position: all that lies below, directly or through others
    for place, i in enumerate(order):
        lower = (1 << place) - 1
        earlier_moment = moment_index[first[i]] - 1
        gone = ended[earlier_moment] if earlier_moment >= 0 else 0
        remaining = begun[moment_index[last[i]]] & ~gone & lower
        direct = []
        under = 0
        while remaining:
            # The highest one left cannot lie below another one left, so it must be said; all it implies need not.
            top = remaining.bit_length() - 1
            direct.append(order[top])
            under |= reach[top] | (1 << top)
            remaining &= ~under
        reach[place] = under
        below[i] = tuple(sorted(direct))
    return below


def _prefix_sets(moment_of: Sequence[int], position: Sequence[int], moments: int) -> list[int]:
    sets = [0] * moments
    for i, moment in enumerate(moment_of):
        sets[moment] |= 1 << position[i]
    for k in range(1, moments):
        sets[k] |= sets[k - 1]
    return sets
