"""Where a call's bytes go: the size of every buffer and the arena of the temporaries, for any sizes of the dims.

In: a plan. Out: a `Layout`, which turns the sizes of a call into shapes, bytes and offsets, and is asked before anything runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .dims import Size, bounds, compile_sizes, evaluate, maximum, minimum, total
from .loops import Buffer, BufferKind, Chain
from .memory import DEFAULT_EFFORT, Allocation, SymbolicBuffer, SymbolicPlan, align_up, plan_symbolic, verify_symbolic
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

    `reuse=False` gives every temporary memory of its own. Scratch is there once per thread. `effort` is what the search for a plan may cost, in steps.
    """

    def __init__(self, plan: Plan, reuse: bool = True, threads: int = 1, effort: int = DEFAULT_EFFORT) -> None:
        buffers = plan.program.buffers
        self.order = [d.name for d in plan.symbols]
        self.buffers = buffers
        self.counts = {kind: plan.program.count(kind) for kind in _KINDS}
        self.ranks = [len(b.shape) for b in buffers]
        self._bytes: list[Size] = [math.prod(b.shape, start=b.dtype.itemsize) * (threads if b.per_thread else 1) for b in buffers]
        for chain in plan.program.chains:
            for i in chain.scratch:
                self._bytes[i] = tile_bytes(buffers[i], chain, threads)
        # No axis is negative in a call (guards see to it), which intervals cannot always tell from a long sum of products.
        self._bytes = [n if bounds(n)[0] >= 0 else maximum(n, 0) for n in self._bytes]
        self._sizes: Callable[[Sequence[int]], tuple[int, ...]] = compile_sizes(
            [*(s for b in buffers for s in b.shape), *self._bytes], self.order
        )
        first = self.counts["input"]
        self.brought = [first + i for i in range(self.counts["output"]) if i not in plan.aliases]
        """Outputs with memory of their own: not written over a donated input."""
        self._outside = compile_sizes([total([self._bytes[i] for i in (*range(first), *self.brought)])], self.order)
        scratch = [tile_bytes(buffer, chain, threads) for buffer, chain in plan.tiles]
        scratch += [self._bytes[i] for i, b in enumerate(buffers) if b.per_thread]
        self._unreused = compile_sizes([*(math.prod(b.shape, start=b.dtype.itemsize) for b in plan.stored), *scratch], self.order)
        spans = plan.lifetimes()
        last = max(len(plan.program.calls) - 1, 0)
        temporaries = [
            SymbolicBuffer(buffers[i].name, n if isinstance(n := self._bytes[i], int) else ByteSize(n), *(spans[i] if reuse else (0, last)))
            for i in self.numbers("temporary")
        ]
        limits = {d.name: (d.lower, d.upper) for d in plan.symbols}
        self.memory: SymbolicPlan = plan_symbolic(temporaries, limits, effort=effort)
        verify_symbolic(temporaries, self.memory)

    def numbers(self, kind: BufferKind) -> range:
        """The numbers of all buffers of one kind."""
        first = sum(self.counts[k] for k in _KINDS[: _KINDS.index(kind)])
        return range(first, first + self.counts[kind])

    def bytes_of(self, buffer: int) -> Size:
        """A buffer's bytes as an expression in the dims."""
        return self._bytes[buffer]

    def total(self, dims: Sequence[int]) -> int:
        """Inputs, workspace and outputs together for these sizes."""
        return self._outside(dims)[0] + self.memory.arena(dict(zip(self.order, dims, strict=True)))

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
        inputs, outputs = self.counts["input"], self.counts["output"]
        held = nbytes[inputs + outputs :]
        offsets = tuple(self.memory.stacked(held)[0])
        placed = zip(self.buffers[inputs + outputs :], offsets, held, strict=True)
        allocations = tuple(Allocation(b.name, offset, align_up(n)) for b, offset, n in placed if n or not b.per_thread)
        return Placement(
            bindings,
            tuple(shapes),
            tuple(nbytes),
            offsets,
            max((a.offset + a.nbytes for a in allocations), default=0),
            sum(map(align_up, self._unreused(dims))),
            sum(nbytes[:inputs]),
            sum(nbytes[i] for i in self.brought),
            allocations,
        )


_KINDS: tuple[BufferKind, ...] = ("input", "output", "temporary")


def tile_bytes(buffer: Buffer, chain: Chain, threads: int) -> Size:
    """What a chain keeps of a tensor: a tile of its rows for each thread, or all of it where that is less."""
    row = math.prod(buffer.shape[chain.depth :], start=buffer.dtype.itemsize)
    whole = math.prod(buffer.shape, start=buffer.dtype.itemsize)
    return minimum(whole, maximum(chain.tile, (chain.least * row + 63) // 64 * 64) * threads)
