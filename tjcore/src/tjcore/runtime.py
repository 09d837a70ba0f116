"""Running a compiled graph: guards, budget, memory, one native call.

In: outputs and options, then arrays. Out: new NumPy arrays. The object is compiled once, for every size; calls from several
threads are independent: each has an arena of its own, and native code runs without the interpreter's lock.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .build import Built, build
from .dump import dump_plan, dump_source
from .errors import BudgetError
from .graph import Expr, check_outputs, toposort
from .guards import Guards
from .layout import Layout, Placement
from .memory import Allocation
from .native_call import Frame
from .options import Options
from .program import Plan, compile_plan

REMEMBERED_SIZES = 256
"""Of how many sizes an object remembers shapes and offsets; the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class CallMemory:
    """What the memory of one call was. Bytes; `temporary_bytes` is the arena, `unreused_temporary_bytes` what it would be without sharing."""

    temporary_bytes: int
    unreused_temporary_bytes: int
    output_bytes: int
    input_bytes: int
    allocations: tuple[Allocation, ...]
    bindings: Mapping[str, int]
    kernel_count: int


@dataclass(frozen=True, slots=True)
class _Sized:
    """What is remembered of one set of sizes."""

    placement: Placement
    outputs: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]
    frame: Frame


class ArenaPool:
    """Arenas that calls have finished with. At most `MOST` of them, none above `LARGEST` bytes: the rest goes back to the system."""

    MOST = 4
    LARGEST = 64 * 2**20

    def __init__(self) -> None:
        self._free: list[NDArray[np.uint8]] = []

    def take(self, nbytes: int) -> NDArray[np.uint8]:
        """An arena of at least `nbytes`, its contents undefined. No other call has it until it is given back."""
        try:
            arena = self._free.pop()
        except IndexError:
            return np.empty(nbytes, np.uint8)
        return arena if arena.nbytes >= nbytes else np.empty(nbytes, np.uint8)

    def give(self, arena: NDArray[np.uint8]) -> None:
        if arena.nbytes <= self.LARGEST and len(self._free) < self.MOST:
            self._free.append(arena)


class CompiledGraph:
    """Outputs compiled for every size within the bounds of their symbols.

    Call it with the inputs as keyword arguments; it returns a tuple of new arrays, one per output. `run_with_bindings` also takes
    sizes for symbols that no input carries. `max_bytes` bounds each tensor, and inputs, workspace and outputs together, of any call;
    a call that would need more is refused with BudgetError before any work.
    `backend` names a toolchain (default: TENSORJIT_BACKEND, else the first that works).
    """

    def __init__(
        self,
        outputs: Sequence[Expr],
        *,
        fuse: bool = True,
        max_bytes: int | str | None = None,
        backend: str | None = None,
        threads: int | None = None,
        target: str | None = None,
        reuse: bool = True,
    ) -> None:
        self.options = Options.resolve(fuse=fuse, max_bytes=max_bytes, backend=backend, threads=threads, target=target, reuse=reuse)
        self._outputs = check_outputs("CompiledGraph", outputs)
        self.plan: Plan = compile_plan(self._outputs, fuse=self.options.fuse)
        self._guards = Guards(self.plan.inputs, self.plan.symbols, toposort(self.plan.outputs))
        self._layout = Layout(self.plan, self.options.reuse, self.options.threads)
        dump_plan(self.plan, self._layout, self.options.fuse)
        self._built: Built = build(self.plan.program, self.options)
        dump_source(self.plan, self.options.fuse, self._built.source, self.backend, self._built.suffix)
        self._entry = self._built.entry
        self._threads = self.options.threads
        self._sizes: dict[tuple[int, ...], _Sized] = {}
        self._seen: dict[tuple[tuple[int, ...], ...], _Sized] = {}
        self._arenas = ArenaPool()
        self._lock = threading.Lock()
        self._calls = itertools.count()
        self._last: Placement | None = None

    def __reduce__(self) -> Any:
        return _rebuild, (self._outputs, self.options)

    def __repr__(self) -> str:
        inputs = ", ".join(node.arg for node in self.plan.inputs)
        return f"<CompiledGraph ({inputs}) -> {len(self.plan.outputs)} outputs, {len(self.plan.kernels)} kernels, {self.backend}>"

    @property
    def backend(self) -> str:
        """The name of the toolchain that built it."""
        return self._built.toolchain.name

    @property
    def toolchain_version(self) -> str:
        """What the toolchain says of itself."""
        return self._built.version

    @property
    def threads(self) -> int:
        """How many threads a call may use."""
        return self.options.threads

    @property
    def source(self) -> str:
        """The code as it was given to the toolchain."""
        return self._built.source

    @property
    def compilations(self) -> int:
        """How often this object was compiled: 1 for its whole life, whatever sizes it meets."""
        return 1

    @property
    def calls(self) -> int:
        """How many calls have completed."""
        return int(repr(self._calls)[len("count(") : -1])

    @property
    def last_memory(self) -> CallMemory | None:
        """The memory of the last completed call, or None before the first."""
        last = self._last
        if last is None:
            return None
        return CallMemory(
            last.temporary_bytes,
            last.unreused_temporary_bytes,
            last.output_bytes,
            last.input_bytes,
            last.allocations,
            last.bindings,
            len(self.plan.kernels),
        )

    def __call__(self, /, **arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        guards = self._guards
        key = guards.key(arrays)
        if key is None:  # something differs from the declaration: find out what, and say so
            return self._run({}, arrays)
        shapes, given = key
        sized = self._seen.get(shapes)
        if sized is None:
            _, dims = guards.check({}, arrays)
            sized = self._sized(dims)
            with self._lock:
                while len(self._seen) >= REMEMBERED_SIZES:
                    self._seen.pop(next(iter(self._seen)))
                self._seen[shapes] = sized
        return self._execute(given, sized)

    def run_with_bindings(self, bindings: Mapping[str, int], /, **arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """A call that also gives the sizes of symbols by name."""
        return self._run(bindings, arrays)

    def _run(self, bindings: Mapping[str, int], arrays: Mapping[str, Any]) -> tuple[NDArray[Any], ...]:
        given, dims = self._guards.check(bindings, arrays)
        return self._execute(given, self._sized(dims))

    def _execute(self, given: Sequence[NDArray[Any]], sized: _Sized) -> tuple[NDArray[Any], ...]:
        empty = np.empty
        outputs = tuple([empty(shape, dtype) for shape, dtype in sized.outputs])
        frame = sized.frame
        arena = None
        if frame.arena_bytes:
            arena = self._arenas.take(frame.arena_bytes)
        self._entry.call((*given, *outputs), arena, frame, self._threads)
        if arena is not None:
            self._arenas.give(arena)
        next(self._calls)  # one step of the interpreter, so calls from several threads are all counted
        self._last = sized.placement
        return outputs

    def _sized(self, dims: tuple[int, ...]) -> _Sized:
        sized = self._sizes.get(dims)
        if sized is not None:
            return sized
        placement = self._layout.place(dims)
        self._check_budget(placement)
        first = len(self.plan.inputs)
        shapes = placement.shapes[first : first + len(self.plan.outputs)]
        outputs = tuple((shape, node.dtype.numpy) for shape, node in zip(shapes, self.plan.outputs, strict=True))
        sized = _Sized(placement, outputs, self._frame(dims, placement))
        with self._lock:
            while len(self._sizes) >= REMEMBERED_SIZES:
                self._sizes.pop(next(iter(self._sizes)))
            self._sizes[dims] = sized
        return sized

    def _frame(self, dims: tuple[int, ...], placement: Placement) -> Frame:
        arrays = len(self.plan.inputs) + len(self.plan.outputs)
        return Frame(self._entry, arrays, dims, placement.offsets, placement.temporary_bytes, self._threads)

    def _check_budget(self, placement: Placement) -> None:
        budget = self.options.max_bytes
        sizes = ", ".join(f"{n}={s}" for n, s in placement.bindings.items())
        at = f" at {sizes}" if sizes else ""
        for buffer, n in zip(self.plan.program.buffers, placement.nbytes, strict=True):
            if n > budget:
                raise BudgetError(
                    f"{buffer.kind} {buffer.name!r}{at} takes {n:,} bytes, more than max_bytes = {budget:,}; use smaller sizes or a larger max_bytes"
                )
        if placement.total_bytes > budget:
            raise BudgetError(
                f"a call{at} takes {placement.total_bytes:,} bytes (inputs {placement.input_bytes:,}, workspace {placement.temporary_bytes:,}, "
                f"outputs {placement.output_bytes:,}), more than max_bytes = {budget:,}; use smaller sizes or a larger max_bytes"
            )


def _rebuild(outputs: Sequence[Expr], options: Options) -> CompiledGraph:
    return CompiledGraph(
        outputs,
        fuse=options.fuse,
        max_bytes=options.max_bytes,
        backend=options.backend,
        threads=options.threads,
        target=options.target,
        reuse=options.reuse,
    )
