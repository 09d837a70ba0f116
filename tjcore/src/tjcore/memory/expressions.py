"""Offsets and arena of a symbolic plan as formulas for people.

In: the plan's steps (lowest buffer first, with what lies directly below it) and each buffer's size. Out: one formula per offset and one for the
arena, over the dims, such as `max(64*ceil(4*N/64) + 128, 64*ceil(8*M/64))`.
Law: a formula evaluates to what the plan computes (`64*ceil(x/64)` rounds up to the alignment). Where writing all paths out would grow out of
hand, the formula speaks of `end(buffer)`, that buffer's offset plus its size.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tjcore.memory.problem import ALIGNMENT, align_up

# A formula with more terms in its maximum than this is written with `end(...)` instead.
MAX_TERMS = 8


@dataclass(frozen=True, slots=True)
class _Sum:
    """A constant plus how often each symbolic term occurs."""

    constant: int
    terms: Mapping[str, int]

    def plus(self, term: int | str) -> _Sum:
        if isinstance(term, int):
            return _Sum(self.constant + term, self.terms)
        return _Sum(self.constant, Counter(self.terms) + Counter((term,)))

    def at_most(self, other: _Sum) -> bool:
        """Whether this is no larger for every size, which shows in the terms because none can be negative."""
        return self.constant <= other.constant and all(count <= other.terms.get(term, 0) for term, count in self.terms.items())

    def __str__(self) -> str:
        parts = [term if count == 1 else f"{count}*{term}" for term, count in sorted(self.terms.items())]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


def size_term(size: object) -> int | str:
    """A size rounded up to the alignment: a number, or its formula."""
    if isinstance(size, int):
        return align_up(size)
    text = str(size)
    if not re.fullmatch(r"[\w*]+", text):
        text = f"({text})"
    return f"{ALIGNMENT}*ceil({text}/{ALIGNMENT})"


def formulas(names: Sequence[str], sizes: Sequence[object], steps: Sequence[tuple[int, tuple[int, ...]]]) -> tuple[dict[str, str], str]:
    """The offset formula of each buffer, and the arena's."""
    ends: list[list[_Sum]] = [[] for _ in names]
    offset: dict[str, str] = {}
    topmost = set(range(len(names)))
    for i, under in steps:
        topmost -= set(under)
        paths = _largest([path for u in under for path in ends[u]]) or [_Sum(0, {})]
        if len(paths) > MAX_TERMS:
            paths = [_Sum(0, {f"end({names[u]})": 1}) for u in under]
        offset[names[i]] = _maximum(paths)
        ends[i] = [path.plus(size_term(sizes[i])) for path in paths]
    paths = _largest([path for i in sorted(topmost) for path in ends[i]])
    if len(paths) > MAX_TERMS:
        paths = [_Sum(0, {f"end({names[i]})": 1}) for i in sorted(topmost)]
    return {name: offset[name] for name in names}, _maximum(paths or [_Sum(0, {})])


def _largest(paths: Sequence[_Sum]) -> list[_Sum]:
    """Without those that another one is never smaller than."""
    kept: list[_Sum] = []
    for path in paths:
        if not any(path.at_most(other) for other in kept):
            kept = [other for other in kept if not other.at_most(path)]
            kept.append(path)
    return kept


def _maximum(paths: Sequence[_Sum]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"max({', '.join(str(path) for path in paths)})"
