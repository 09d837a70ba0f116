"""How long a call takes on one thread, by a rough estimate: enough to tell whether other threads are worth waking.

In: a program. Out: for given sizes, microseconds. What moves and what is computed is counted, and weighted with speeds of one core of a present-day
machine that finds its data near; a factor of two either way does no harm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .dims import Size, evaluate
from .loops import Contract, Fold, Let, Load, LoadAt, Loop, Program, Scan, Stmt, Store
from .native.functions import FUNCTIONS

BYTE, STEP, FUNCTION, MULTIPLY_ADD = 0.01, 0.02, 0.4, 0.02
"""Nanoseconds for a byte moved; for one operation on four bytes; for a function such as exp; for a step of a product."""


class Work:
    """The estimate for one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._parts: dict[tuple[Size, ...], float] = {}
        """For each nest of loops, by its extents, nanoseconds for one turn of the innermost. Counted when it is first asked for."""

    def _add(self, body: Sequence[Stmt], around: tuple[Size, ...]) -> None:
        cost = 0.0
        for stmt in body:
            match stmt:
                case Load() | LoadAt():
                    cost += BYTE * stmt.dtype.itemsize
                case Store():
                    cost += BYTE * 4
                case Let():
                    cost += (FUNCTION if stmt.op in FUNCTIONS else STEP) * stmt.dtype.itemsize / 4
                case Loop():
                    self._add(stmt.body, (*around, stmt.axis.extent))
                case Fold() | Scan():
                    cost += STEP
                    self._add(stmt.body, (*around, stmt.axis.extent))
                case Contract():
                    every = (*around, *(axis.extent for axis in (*stmt.batches, stmt.rows, stmt.cols)))
                    self._add(stmt.body, every)
                    self._count((*every, stmt.inner.extent), MULTIPLY_ADD * stmt.dtype.itemsize / 4)
        self._count(around, cost)

    def _count(self, extents: tuple[Size, ...], cost: float) -> None:
        if cost:
            self._parts[extents] = self._parts.get(extents, 0.0) + cost

    def microseconds(self, sizes: Mapping[str, int]) -> float:
        if not self._parts:
            for call in self._program.calls:
                self._add(self._program.kernels[call.kernel].body, ())
        known: dict[Size, int] = {}

        def value(size: Size) -> int:
            if isinstance(size, int):
                return size
            if size not in known:
                known[size] = evaluate(size, sizes)
            return known[size]

        return sum(cost * math.prod(map(value, extents)) for extents, cost in self._parts.items()) / 1000

    def threads(self, most: int, least_each: float, sizes: Mapping[str, int]) -> int:
        """How many of `most` threads have at least `least_each` microseconds to do; one in any case."""
        if most == 1 or not least_each:
            return most
        return max(1, min(most, int(self.microseconds(sizes) / least_each)))
