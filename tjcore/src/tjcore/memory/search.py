"""Exact search: do these buffers fit under a given capacity?

In: an `Instance`, a capacity, a budget of steps. Out: offsets, or the proof that there are none, or the news that the budget ran out.
Law: the same input gives the same output on every machine; `native/pack.c` takes the very same steps, faster.

The packing grows from the bottom. Each section has a *top*, the height up to which it is decided; each unplaced buffer a *floor*, the
highest top it spans. A run of sections lower than both neighbours is a *valley*. For one section of a valley there are few ways to go on:
one of the unplaced buffers that lies wholly in the valley stands there next, or none does and the section's top is lifted, for good, to the
lowest height where something could still rest. The ways exclude each other, so no packing is met twice, and the section with the fewest ways
goes first. After each decision tops rise where no floor is as low, and a branch ends where the buffers left in a section, each no lower than its
floor, would pass the capacity. Sections that share no unplaced buffer fall apart and are solved one by one. What was proved
impossible is remembered: the same buffers on tops at least as high need not be tried again. When a dive runs into trouble, the search starts
again with another taste, and with what it remembers.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from enum import Enum
from operator import ge
from typing import Protocol

from tjcore.memory.sections import Instance


class Outcome(Enum):
    FOUND = 1
    IMPOSSIBLE = 0
    EXHAUSTED = -1


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to. `offset` holds for `FOUND` only; a step is one look at one buffer or section."""

    outcome: Outcome
    offset: tuple[int, ...]
    steps: int


class SearchFunction(Protocol):
    """This module's `search`, or the same in C."""

    def __call__(self, instance: Instance, capacity: int, budget: int) -> Found: ...


# The tastes of successive dives: which buffer of a section first, and which of equally narrow sections first.
LENGTH, SIZE, AREA, SMALL, TIGHT_MEAN, TIGHT_LEAST, TROUBLE = range(7)
SLACK, LOW, LEFT, RIGHT = range(4)
TASTES = (
    (LENGTH, RIGHT),
    (TIGHT_MEAN, SLACK),
    (SIZE, SLACK),
    (LENGTH, LOW),
    (AREA, SLACK),
    (TIGHT_LEAST, SLACK),
    (SMALL, LEFT),
    (TROUBLE, RIGHT),
)
# Nodes of the first dives, per buffer; every second round of tastes doubles it.
FIRST_DIVE = 4
# From the second round on a taste is blurred: each preference is scaled by up to twice, in steps of one 64th, from a fixed sequence.
# Without it the rounds would run into the same trouble again.
BLUR = 64
# What may be remembered: entries, entries per set of buffers, and words (one per section of an entry, one per 64 buffers).
MEMORY_ENTRIES, MEMORY_PER_SET, MEMORY_WORDS = 1 << 16, 8, 1 << 20

NOTHING = 1 << 62  # above every height


def search(instance: Instance, capacity: int, budget: int) -> Found:
    """Look for offsets under `capacity` (in the instance's unit), for at most about `budget` steps."""
    area = sum(hi - lo for lo, hi in zip(instance.lo, instance.hi, strict=True))
    if area > budget:  # setting up would already cost more
        return Found(Outcome.EXHAUSTED, (), 0)
    return _Search(instance, capacity, budget).run(area)


class _Frame:
    """One decision: the sections it is about, the ways to go on, and how far it has come."""

    __slots__ = ("a", "b", "lifted", "mark", "next_section", "tried", "ways")

    def __init__(self, a: int, b: int, mark: int) -> None:
        self.a, self.b, self.mark = a, b, mark
        self.ways: list[int] = []  # buffers, and -1 - section for a lift
        self.lifted = 0
        self.tried = 0
        self.next_section = a


class _Search:
    def __init__(self, instance: Instance, capacity: int, budget: int) -> None:
        self.lo, self.hi, self.size = instance.lo, instance.hi, instance.size
        self.capacity, self.budget = capacity, budget
        count, sections = len(instance), instance.sections
        self.steps = self.nodes = self.node_limit = 0
        self.value = self.tie = self.round = 0
        self.noise = 88172645463325252
        self.offset = [0] * count
        self.floor = [0] * count
        self.top = [0] * sections
        self.left: list[list[int]] = [[] for _ in range(sections)]  # the unplaced buffers of each section, by index
        self.left_size = [0] * sections
        self.bonds = [0] * sections  # unplaced buffers that cover this section and the next
        self.unplaced = [False] * count
        self.unplaced_set = 0
        # Of each section, kept current by `settle`: buffers that could stand on its top, the lowest higher floor,
        # and the lowest top a buffer beginning here, or ending here, could come to.
        self.standing = [0] * sections
        self.higher = [NOTHING] * sections
        self.begin_top = [NOTHING] * sections
        self.end_top = [NOTHING] * sections
        self.trouble = [0] * sections
        self.trail: list[tuple[list[int] | None, int, int]] = []
        self.dirty: list[int] = []
        self.is_dirty = [False] * sections
        self.memory: dict[int, list[list[int]]] = {}
        self.memory_entries = self.memory_words = 0
        self.words_per_set = (count + 63) // 64
        # Buffers that begin at or after a section, and that end at or before one: the set a component still has to place.
        self.begins_from = [0] * (sections + 1)
        self.ends_by = [0] * (sections + 1)
        for v in range(count):
            self._put_back(v)
            self.begins_from[self.lo[v]] |= 1 << v
            self.ends_by[self.hi[v]] |= 1 << v
        for s in range(sections):
            self.ends_by[s + 1] |= self.ends_by[s]
            self.begins_from[sections - 1 - s] |= self.begins_from[sections - s]
        # Of equal buffers over the same sections only the first unplaced one is ever tried.
        self.twin = [-1] * count
        last_like: dict[tuple[int, int, int], int] = {}
        for v, shape in enumerate(zip(self.lo, self.hi, self.size, strict=True)):
            self.twin[v] = last_like.get(shape, -1)
            last_like[shape] = v

    def run(self, setup: int) -> Found:
        self.steps = setup
        for s in range(len(self.top)):
            self._soil(s)
        if not self._settle():
            return Found(Outcome.IMPOSSIBLE, (), self.steps)
        mark = len(self.trail)
        dive = FIRST_DIVE * len(self.size)
        while True:
            for self.value, self.tie in TASTES:
                self._undo(mark)
                self.node_limit = self.nodes + dive
                outcome = self._dive()
                if outcome is not Outcome.EXHAUSTED:
                    return Found(outcome, tuple(self.offset) if outcome is Outcome.FOUND else (), self.steps)
                if self.steps > self.budget:
                    return Found(outcome, (), self.steps)
            if self.round % 2:
                dive *= 2
            self.round += 1

    # --- state and its trail ---

    def _put_back(self, v: int) -> None:
        for s in range(self.lo[v], self.hi[v]):
            insort(self.left[s], v)
            self.left_size[s] += self.size[v]
            if s + 1 < self.hi[v]:
                self.bonds[s] += 1
        self.unplaced[v] = True
        self.unplaced_set |= 1 << v

    def _take_out(self, v: int) -> None:
        for s in range(self.lo[v], self.hi[v]):
            self.left[s].remove(v)
            self.left_size[s] -= self.size[v]
            if s + 1 < self.hi[v]:
                self.bonds[s] -= 1
        self.unplaced[v] = False
        self.unplaced_set ^= 1 << v

    def _undo(self, mark: int) -> None:
        trail = self.trail
        while len(trail) > mark:
            column, index, old = trail.pop()
            if column is None:
                self._put_back(index)
            else:
                column[index] = old

    def _soil(self, s: int) -> None:
        if not self.is_dirty[s]:
            self.is_dirty[s] = True
            self.dirty.append(s)

    def _raise_top(self, s: int, height: int) -> None:
        floor, trail, is_dirty, dirty = self.floor, self.trail, self.is_dirty, self.dirty
        trail.append((self.top, s, self.top[s]))
        self.top[s] = height
        self._soil(s)
        self.steps += len(self.left[s])
        for v in self.left[s]:
            if floor[v] < height:
                trail.append((floor, v, floor[v]))
                floor[v] = height
                for q in range(self.lo[v], self.hi[v]):
                    if not is_dirty[q]:
                        is_dirty[q] = True
                        dirty.append(q)

    # --- consequences ---

    def _settle(self) -> bool:
        """Draw all consequences of raised tops; False when some section cannot hold what is left for it."""
        floor, size, lo, hi, top, twin, unplaced = self.floor, self.size, self.lo, self.hi, self.top, self.twin, self.unplaced
        while self.dirty:
            s = self.dirty.pop()
            self.is_dirty[s] = False
            left = self.left[s]
            if not left:
                continue
            self.steps += len(left)
            floors = [floor[v] for v in left]
            base = min(floors)
            if base + self.left_size[s] > self.capacity:
                return self._stuck(s)
            if base > top[s]:
                self._raise_top(s, base)
                continue
            standing, higher, begin_top, end_top = 0, NOTHING, NOTHING, NOTHING
            for v, at in zip(left, floors, strict=True):
                end = at + size[v]
                if lo[v] == s and end < begin_top:
                    begin_top = end
                if hi[v] == s + 1 and end < end_top:
                    end_top = end
                if at > base:
                    higher = min(higher, at)
                elif twin[v] < 0 or not unplaced[twin[v]]:
                    standing += 1
            for column, value in (
                (self.standing, standing),
                (self.higher, higher),
                (self.begin_top, begin_top),
                (self.end_top, end_top),
            ):
                if column[s] != value:
                    self.trail.append((column, s, column[s]))
                    column[s] = value
            if higher != NOTHING:
                # Stack what is left as early as floors allow: no packing of this section can end lower.
                height = base
                for at, v in sorted(zip(floors, left, strict=True)):
                    height = (at if at > height else height) + size[v]
                if height > self.capacity:
                    return self._stuck(s)
        return True

    def _stuck(self, s: int) -> bool:
        self.trouble[s] += 1
        for q in self.dirty:
            self.is_dirty[q] = False
        self.dirty.clear()
        return False

    def _place(self, v: int) -> bool:
        at = self.floor[v]
        self.offset[v] = at
        self._take_out(v)
        self.trail.append((None, v, 0))
        for s in range(self.lo[v], self.hi[v]):
            self._raise_top(s, at + self.size[v])
        return self._settle()

    # --- decisions ---

    def _choose(self, frame: _Frame) -> bool:
        """Fill in the ways of the narrowest section; False when some section has none."""
        top, standing, higher, begin_top, end_top = self.top, self.standing, self.higher, self.begin_top, self.end_top
        a, b, tie, capacity, left_size = frame.a, frame.b, self.tie, self.capacity, self.left_size
        best, fewest, best_key, best_lift = -1, 0, 0, NOTHING
        q = a
        while q < b:
            p, base = q, top[q]
            while q < b and top[q] == base:
                q += 1
            if (p > a and top[p - 1] < base) or (q < b and top[q] < base):
                continue
            self.steps += q - p
            # The lowest top of a buffer to the right of each section; to the left it is kept in passing.
            right_of = [NOTHING] * (q - p)
            for s in range(q - 1, p, -1):
                right_of[s - 1 - p] = min(begin_top[s], right_of[s - p])
            left_of = NOTHING
            for s in range(p, q):
                if s > p and end_top[s - 1] < left_of:
                    left_of = end_top[s - 1]
                ways = standing[s]
                if best >= 0 and ways > fewest:
                    continue
                slack = capacity - base - left_size[s]
                lift = min(higher[s], left_of, right_of[s - p]) if slack > 0 else NOTHING
                if lift - base > slack:
                    lift = NOTHING
                else:
                    ways += 1
                if ways == 0:
                    return False
                key = slack if tie == SLACK else base if tie == LOW else s if tie == LEFT else -s
                if best < 0 or ways < fewest or (ways == fewest and key < best_key):
                    best, fewest, best_key, best_lift = s, ways, key, lift
        base = top[best]
        stand = [v for v in self.left[best] if self.floor[v] == base and (self.twin[v] < 0 or not self.unplaced[self.twin[v]])]
        stand.sort(key=self._blurred, reverse=True)  # stable: equals stay in index order
        frame.ways = stand if best_lift == NOTHING else [*stand, -1 - best]
        frame.lifted = best_lift
        return True

    def _blurred(self, v: int) -> int:
        if not self.round:
            return self._preference(v)
        # Xorshift: the same sequence in Python and in C.
        noise = self.noise
        noise ^= noise << 13 & (1 << 64) - 1
        noise ^= noise >> 7
        noise ^= noise << 17 & (1 << 64) - 1
        self.noise = noise
        return self._preference(v) * (BLUR + noise % BLUR)

    def _preference(self, v: int) -> int:
        value, lo, hi = self.value, self.lo[v], self.hi[v]
        if value == LENGTH:
            return hi - lo
        if value == SIZE:
            return self.size[v]
        if value == AREA:
            return self.size[v] * (hi - lo)
        if value == SMALL:
            return -self.size[v]
        if value == TROUBLE:
            return sum(self.trouble[lo:hi])
        slacks = [self.capacity - self.top[s] - self.left_size[s] for s in range(lo, hi)]
        return -(sum(slacks) // (hi - lo)) if value == TIGHT_MEAN else -min(slacks)

    def _wasteful(self, frame: _Frame, section: int, base: int) -> bool:
        """Whether the lift left a hole that one of the buffers it passed over would fill: then placing that buffer is no worse."""
        return any(u >= 0 and all(t >= base + self.size[u] for t in self.top[self.lo[u] : self.hi[u]]) for u in frame.ways)

    def _try(self, frame: _Frame, way: int) -> bool:
        if way >= 0:
            return self._place(way)
        section = -1 - way
        base = self.top[section]
        self._raise_top(section, frame.lifted)
        return self._settle() and not self._wasteful(frame, section, base)

    # --- what is known to be impossible ---

    def _set_of(self, frame: _Frame) -> int:
        return self.unplaced_set & self.begins_from[frame.a] & self.ends_by[frame.b]

    def _known_impossible(self, frame: _Frame) -> bool:
        tops = self.top[frame.a : frame.b]
        return any(all(map(ge, tops, known)) for known in self.memory.get(self._set_of(frame), ()))

    def _remember(self, frame: _Frame) -> None:
        words = self.words_per_set + frame.b - frame.a
        if self.memory_entries == MEMORY_ENTRIES or self.memory_words + words > MEMORY_WORDS:
            self.memory.clear()
            self.memory_entries = self.memory_words = 0
        known = self.memory.setdefault(self._set_of(frame), [])
        if len(known) < MEMORY_PER_SET and words <= MEMORY_WORDS:
            known.append(self.top[frame.a : frame.b])
            self.memory_entries += 1
            self.memory_words += words

    # --- the dive ---

    def _dive(self) -> Outcome:
        """Depth first over decisions; a decision holds when each component left after it can be solved."""
        stack = [_Frame(0, 0, len(self.trail))]  # the whole as a decision already taken
        stack[0].b = len(self.top)
        while True:
            # Everything decided so far stands: go on with the next component of the latest decision that still has one.
            frame = stack[-1]
            a, b = frame.next_section, frame.b
            while a < b and not self.left[a]:
                a += 1
            if a == b:
                stack.pop()
                if not stack:
                    return Outcome.FOUND
                continue
            b = a
            while self.bonds[b]:
                b += 1
            frame.next_section = b + 1
            frame = _Frame(a, b + 1, len(self.trail))
            stack.append(frame)
            self.nodes += 1
            if self.steps > self.budget or self.nodes > self.node_limit:
                return Outcome.EXHAUSTED
            if self._known_impossible(frame):
                stack.pop()
                frame = stack[-1]
            elif not self._choose(frame):
                self._remember(frame)
                stack.pop()
                frame = stack[-1]
            # Take the next way that is not refused at once; where none is left, the decision before has to change.
            while True:
                if len(stack) == 1:
                    return Outcome.IMPOSSIBLE
                self._undo(frame.mark)
                if frame.tried < len(frame.ways):
                    frame.tried += 1
                    if self._try(frame, frame.ways[frame.tried - 1]):
                        frame.next_section = frame.a
                        break
                    continue
                if len(frame.ways) != 1:  # with a single way the state after it is remembered already
                    self._remember(frame)
                stack.pop()
                frame = stack[-1]
