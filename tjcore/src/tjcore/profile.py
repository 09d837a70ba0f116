"""Where the time of a call goes: a graph built once more, with a clock around each step.

In: a compiled graph and the arrays of a call. Out: what each step (a kernel, or a chain of kernels) took, with the bytes that it moves and the operations
that it does. The clock is read by one thread, when all are through with a step; results have the same bits as without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from .build import Built, build
from .c_entry import PROFILE
from .counts import chain_bytes, moved_bytes, operations
from .dims import Size, evaluate, total
from .errors import CallError, shown
from .explain import ops_of, show_sizes
from .program import Plan
from .runtime import CompiledGraph, rebuild
from .toolchain import FFI


@dataclass(frozen=True, slots=True)
class StepTime:
    """One step. `seconds` is the median of the calls; `bytes` and `flops` as `explain` counts them, a chain's own scratch left out."""

    kernels: tuple[str, ...]
    """More than one where they run as a chain, tile by tile."""
    ops: str
    seconds: float
    share: float
    """Of the time of all steps, 0 to 1."""
    bytes: int
    flops: int


@dataclass(frozen=True, slots=True)
class Profile:
    """The steps of a call in the order they run. `str()` of it is a table."""

    title: str
    steps: tuple[StepTime, ...]

    @property
    def seconds(self) -> float:
        """Of all steps."""
        return sum(step.seconds for step in self.steps)

    def __str__(self) -> str:
        table: list[tuple[str, ...]] = [("kernels", "ops", "time", "share", "GB/s", "GFLOP/s")]
        for step in self.steps:
            speeds = [f"{amount / step.seconds / 1e9:.1f}" if step.seconds else "" for amount in (step.bytes, step.flops)]
            ops = step.ops if len(step.ops) <= 48 else step.ops[:45] + "..."
            table.append((" ".join(step.kernels), ops, f"{step.seconds * 1e6:,.1f} us", f"{step.share:.0%}", *speeds))
        widths = [max(len(row[i]) for row in table) for i in range(6)]
        lines = [self.title]
        for row in table:
            cells = [cell.ljust(width) if i < 2 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))]
            lines.append("  " + "  ".join(cells).rstrip())
        return "\n".join(lines)


class _Profiled(CompiledGraph):
    """The same graph with a clock."""

    def _build(self) -> Built:
        return build(replace(self.plan.program, profiled=True), self.options)

    def clock(self) -> Any:
        """What each step of the last call took is written to the array given, in nanoseconds."""
        return self._built.library.function(PROFILE)


def profile(graph: CompiledGraph, /, *, repeat: int = 10, **arrays: Any) -> Profile:
    """What each step of a call takes: the median of `repeat` calls after a first one. Builds the graph once more, with a clock in it.

    CallError for `repeat` below 1, for arrays that a call would refuse, and where the graph runs in the reference evaluator, which has no kernels.
    """
    if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 1:
        raise CallError(f"profile: repeat must be an int of at least 1, got {shown(repeat)}")
    if graph.backend == "reference":
        raise CallError("profile: the reference evaluator runs no kernels; compile the graph with a toolchain, such as backend='gcc'")
    _, (_, *state) = graph.__reduce__()
    again = rebuild(_Profiled, *state)
    call = again.prepare(**arrays)
    steps = list(_steps(again.plan))
    times = FFI.new("int64_t[]", max(len(steps), 1))
    read = again.clock()
    taken: list[list[int]] = []
    for _ in range(repeat + 1):
        call()
        read(times)
        taken.append(list(times)[: len(steps)])
    nanoseconds = [median(row[i] for row in taken[1:]) for i in range(len(steps))]
    whole = sum(nanoseconds) or 1
    sizes = call.bindings
    rows = [
        StepTime(names, ops, spent / 1e9, spent / whole, evaluate(moved, sizes), evaluate(flops, sizes))
        for (names, ops, moved, flops), spent in zip(steps, nanoseconds, strict=True)
    ]
    where = f" at {show_sizes(sizes)}" if sizes else ""
    return Profile(f"{len(rows)} steps{where}, {graph.backend}, {sum(nanoseconds) / 1e3:,.1f} us in all", tuple(rows))


def _steps(plan: Plan) -> Iterator[tuple[tuple[str, ...], str, Size, Size]]:
    """In the order of the entry: names, ops, bytes and operations of each step."""
    starts = {chain.first: chain for chain in plan.program.chains}
    at = 0
    while at < len(plan.kernels):
        chain = starts.get(at)
        last = at if chain is None else chain.last
        kernels = plan.kernels[at : last + 1]
        moved = moved_bytes(kernels[0].loops) if chain is None else chain_bytes(plan.program, chain)
        flops = total(operations(k.loops.body) for k in kernels)
        yield tuple(k.name for k in kernels), "; ".join(map(ops_of, kernels)), moved, flops
        at = last + 1
