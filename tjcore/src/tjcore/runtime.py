"""Running a compiled graph: guards, budget, memory, one native call.

In: outputs and options, then arrays. Out: new NumPy arrays. The object is compiled once, for every size; calls from several
threads are independent: each has an arena of its own, and native code runs without the interpreter's lock.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .build import Built, build
from .errors import BudgetError
from .graph import Expr
from .guards import Guards
from .layout import Layout, Placement
from .memory import ALIGNMENT, Allocation
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
        max_bytes: int | None = None,
        backend: str | None = None,
        threads: int | None = None,
        target: str | None = None,
        reuse: bool = True,
    ) -> None:
        self.options = Options.resolve(fuse=fuse, max_bytes=max_bytes, backend=backend, threads=threads, target=target, reuse=reuse)
        self._outputs = tuple(outputs) if not isinstance(outputs, Expr) else outputs
        self.plan: Plan = compile_plan(self._outputs, fuse=self.options.fuse)
        self._guards = Guards(self.plan.inputs, self.plan.symbols)
        self._layout = Layout(self.plan, self.options.reuse)
        self._built: Built = build(self.plan.program, self.options)
        self._placements: dict[tuple[int, ...], Placement] = {}
        self._lock = threading.Lock()
        self._calls = 0
        self._last_memory: CallMemory | None = None

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
        return self._calls

    @property
    def last_memory(self) -> CallMemory | None:
        """The memory of the last completed call, or None before the first."""
        return self._last_memory

    def __call__(self, **arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        return self._run({}, arrays)

    def run_with_bindings(self, bindings: Mapping[str, int], /, **arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """A call that also gives the sizes of symbols by name."""
        return self._run(bindings, arrays)

    def _run(self, bindings: Mapping[str, int], arrays: Mapping[str, Any]) -> tuple[NDArray[Any], ...]:
        given, dims = self._guards.check(bindings, arrays)
        placement = self._placements.get(dims)
        if placement is None:
            placement = self._place(dims)
        first = len(given)
        outputs = tuple(np.empty(placement.shapes[first + i], node.dtype.numpy) for i, node in enumerate(self.plan.outputs))
        arena = np.empty(placement.temporary_bytes + ALIGNMENT, np.uint8)
        self._built.run([*given, *outputs], arena, placement.offsets, dims, self.options.threads)
        memory = CallMemory(
            placement.temporary_bytes,
            placement.unreused_temporary_bytes,
            placement.output_bytes,
            placement.input_bytes,
            placement.allocations,
            placement.bindings,
            len(self.plan.kernels),
        )
        with self._lock:
            self._calls += 1
            self._last_memory = memory
        return outputs

    def _place(self, dims: tuple[int, ...]) -> Placement:
        placement = self._layout.place(dims)
        self._check_budget(placement)
        with self._lock:
            while len(self._placements) >= REMEMBERED_SIZES:
                self._placements.pop(next(iter(self._placements)))
            self._placements[dims] = placement
        return placement

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
