"""The order of a program's steps: another one than the graph's, where that keeps fewer bytes alive at once.

In: steps with the temporaries that they write and read, and what must run before what. Out: orders worth a look.
Nothing is promised of them here: who asks compares what comes of each with the order that was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

EXACT_STEPS = 12
"""Up to so many steps the best order is found by trying all."""
MOST_STEPS = 2000


@dataclass(frozen=True, slots=True)
class Step:
    """What a step does with temporaries (by number), and the steps that must have run before."""

    writes: tuple[int, ...]
    reads: tuple[int, ...]
    after: frozenset[int]


def peak(steps: Sequence[Step], order: Sequence[int], sizes: Sequence[int]) -> int:
    """The most bytes of temporaries that are alive during one step."""
    left = _readers(steps, len(sizes))
    live = most = 0
    for i in order:
        live += sum(sizes[b] for b in steps[i].writes)
        most = max(most, live)
        for b in {*steps[i].writes, *steps[i].reads}:
            left[b] -= 1
            if left[b] == 0:
                live -= sizes[b]
    return most


def orders(steps: Sequence[Step], sizes: Sequence[int]) -> list[list[int]]:
    """Orders that may have a low peak at these sizes."""
    if len(steps) > MOST_STEPS:
        return []
    found = [_by_depth(steps, sizes), _greedy(steps, sizes)]
    if len(steps) <= EXACT_STEPS:
        found.append(_exact(steps, sizes))
    return found


def _readers(steps: Sequence[Step], count: int) -> list[int]:
    """How many steps touch each temporary."""
    left = [0] * count
    for step in steps:
        for b in {*step.writes, *step.reads}:
            left[b] += 1
    return left


def _greedy(steps: Sequence[Step], sizes: Sequence[int]) -> list[int]:
    """Of what can run next, always the step after which least is alive."""
    left = _readers(steps, len(sizes))
    waiting = {i: len(step.after) for i, step in enumerate(steps)}
    later: list[list[int]] = [[] for _ in steps]
    for i, step in enumerate(steps):
        for j in step.after:
            later[j].append(i)
    ready = [i for i, count in waiting.items() if count == 0]
    order = []
    while ready:

        def cost(i: int) -> tuple[int, int, int]:
            made = sum(sizes[b] for b in steps[i].writes)
            ended = sum(sizes[b] for b in {*steps[i].writes, *steps[i].reads} if left[b] == 1)
            return made - ended, made, i

        chosen = min(ready, key=cost)
        ready.remove(chosen)
        order.append(chosen)
        for b in {*steps[chosen].writes, *steps[chosen].reads}:
            left[b] -= 1
        for i in later[chosen]:
            waiting[i] -= 1
            if waiting[i] == 0:
                ready.append(i)
    return order


def _by_depth(steps: Sequence[Step], sizes: Sequence[int]) -> list[int]:
    """Each result's own steps before those of the next, and of a step's sources first the one that needs most on its way."""
    need = [0] * len(steps)
    for i, step in enumerate(steps):  # sources stand before what reads them
        held = 0
        for j in sorted(step.after, key=lambda j: -need[j]):
            need[i] = max(need[i], held + need[j])
            held += sum(sizes[b] for b in steps[j].writes)
        need[i] = max(need[i], held + sum(sizes[b] for b in step.writes))
    used = {j for step in steps for j in step.after}
    order: list[int] = []
    done = [False] * len(steps)
    for end in (i for i in range(len(steps)) if i not in used):
        stack = [(end, False)]
        while stack:
            i, sources_done = stack.pop()
            if done[i]:
                continue
            if sources_done:
                done[i] = True
                order.append(i)
            else:
                stack.append((i, True))
                stack.extend((j, False) for j in sorted(steps[i].after, key=lambda j: (need[j], -j)) if not done[j])
    return order


def _exact(steps: Sequence[Step], sizes: Sequence[int]) -> list[int]:
    """The order of the lowest peak, the first of equals: over all sets of steps that can have run."""
    total = _readers(steps, len(sizes))
    touch = [{*step.writes, *step.reads} for step in steps]
    best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
    for _ in steps:
        following: dict[int, tuple[int, tuple[int, ...]]] = {}
        for done, (most, order) in best.items():
            counts = [0] * len(sizes)
            for i in order:
                for b in touch[i]:
                    counts[b] += 1
            live = sum(size for b, size in enumerate(sizes) if 0 < counts[b] < total[b])
            for i, step in enumerate(steps):
                if done >> i & 1 or any(not done >> j & 1 for j in step.after):
                    continue
                here = max(most, live + sum(sizes[b] for b in step.writes))
                candidate = (here, (*order, i))
                key = done | 1 << i
                if key not in following or candidate < following[key]:
                    following[key] = candidate
        best = following
    ((_, order),) = best.values() or ((0, ()),)
    return list(order)
