"""Where a call's bytes go: the size of every buffer and the arena of the temporaries, for any sizes of the dims.

In: a plan. Out: a `Layout`, which turns the sizes of a call into shapes, bytes and offsets, and is asked before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .dims import Size, bounds, compile_sizes, evaluate, maximum, minimum
from .loops import TILE_BYTES, BufferKind
from .memory import Allocation, SymbolicBuffer, SymbolicPlan, align_up, plan_symbolic, verify_symbolic
from .ops import Shape
from .program import Plan


@dataclass(frozen=True, slots=True)
class ByteSize:
    """A size in bytes as the memory planner takes it."""

    size: Size

    def evaluate(self, bindings: Mapping[str, int]) -> int:
        return evaluate(self.size, bindings)

    def bounds(self) -> tuple[int, int]:
        return bounds(self.size)

    def __str__(self) -> str:
        return str(self.size)


@dataclass(frozen=True, slots=True)
class Placement:
    """One size of a call: each buffer's shape and bytes, and where each temporary lies in the arena."""

    bindings: Mapping[str, int]
    shapes: tuple[tuple[int, ...], ...]
    nbytes: tuple[int, ...]
    offsets: tuple[int, ...]
    """One per temporary, in buffer order."""
    temporary_bytes: int
    unreused_temporary_bytes: int
    input_bytes: int
    output_bytes: int
    allocations: tuple[Allocation, ...]

    @property
    def total_bytes(self) -> int:
        return self.input_bytes + self.temporary_bytes + self.output_bytes


class Layout:
    """The sizes of a plan's buffers as functions of the dims.

    `reuse=False` gives every temporary memory of its own. Scratch is there once per thread.
    """

    def __init__(self, plan: Plan, reuse: bool = True, threads: int = 1) -> None:
        buffers = plan.program.buffers
        self.order = [d.name for d in plan.symbols]
        self.buffers = buffers
        self.counts = {kind: plan.program.count(kind) for kind in _KINDS}
        self.ranks = [len(b.shape) for b in buffers]
        elements: list[Size] = [count_of(b.shape) * b.dtype.itemsize * (threads if b.per_thread else 1) for b in buffers]
        for chain in plan.program.chains:
            for i in chain.scratch:
                row = count_of(buffers[i].shape[chain.depth :]) * buffers[i].dtype.itemsize
                elements[i] = minimum(elements[i], maximum(TILE_BYTES, (row + 63) // 64 * 64) * threads)
        self._sizes: Callable[[Sequence[int]], tuple[int, ...]] = compile_sizes(
            [*(s for b in buffers for s in b.shape), *elements], self.order
        )
        spans = plan.lifetimes()
        last = max(len(plan.program.calls) - 1, 0)
        temporaries = [
            SymbolicBuffer(b.name, n if isinstance(n := elements[i], int) else ByteSize(n), *(spans[i] if reuse else (0, last)))
            for i, b in enumerate(buffers)
            if b.kind == "temporary"
        ]
        limits = {d.name: (d.lower, d.upper) for d in plan.symbols}
        self.memory: SymbolicPlan = plan_symbolic(temporaries, limits)
        verify_symbolic(temporaries, self.memory)

    def place(self, dims: Sequence[int]) -> Placement:
        """Everything for these sizes, given in the order of the plan's symbols."""
        sizes = self._sizes(dims)
        shapes: list[tuple[int, ...]] = []
        at = 0
        for rank in self.ranks:
            shapes.append(sizes[at : at + rank])
            at += rank
        nbytes = list(sizes[at:])
        bindings = dict(zip(self.order, dims, strict=True))
        offsets = tuple(self.memory.offsets(bindings))
        inputs, outputs = self.counts["input"], self.counts["output"]
        held = nbytes[inputs + outputs :]
        placed = zip(self.buffers[inputs + outputs :], offsets, held, strict=True)
        allocations = tuple(Allocation(b.name, offset, align_up(n)) for b, offset, n in placed if n or not b.per_thread)
        return Placement(
            bindings,
            tuple(shapes),
            tuple(nbytes),
            offsets,
            max((a.offset + a.nbytes for a in allocations), default=0),
            sum(a.nbytes for a in allocations),
            sum(nbytes[:inputs]),
            sum(nbytes[inputs : inputs + outputs]),
            allocations,
        )


_KINDS: tuple[BufferKind, ...] = ("input", "output", "temporary")


def count_of(shape: Shape) -> Size:
    """The number of elements."""
    count: Size = 1
    for size in shape:
        count = count * size
    return count
