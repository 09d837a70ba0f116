"""Running a compiled graph: guards, budget, memory, one native call.

In: outputs and options, then arrays. Out: new NumPy arrays. The object is compiled once, for every size; calls from several
threads are independent: each has an arena of its own, and native code runs without the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .build import Built, build
from .dims import Constraint
from .direct import OUT, Direct, Prepared, Record, maker
from .drawing import Drawing, draw
from .dump import dump_plan, dump_source
from .errors import CallError
from .explain import Explanation, explain
from .graph import Expr, held
from .guards import Guards, check_donated, check_out
from .layout import Layout, Placement
from .memory import ALIGNMENT
from .options import Options, setting
from .pools import WORKSPACES, release_memory
from .prepared import PreparedCall
from .program import Plan, compile_plan
from .questions import CallMemory, MemoryFormulas, MemoryReport, Questions
from .traversal import check_outputs, toposort
from .work import Work

if TYPE_CHECKING:
    from .profile import Profile

REMEMBERED_SIZES = 1024
"""Of how many sizes an object remembers shapes and offsets; the oldest are forgotten."""


class _Sized:
    """What is remembered of one set of sizes."""

    __slots__ = ("makers", "placement", "record", "shapes", "threads", "workspace")

    def __init__(self, placement: Placement, shapes: tuple[tuple[int, ...], ...], nbytes: Sequence[int], threads: int) -> None:
        self.placement = placement
        self.threads = threads
        self.shapes = shapes
        """Of the outputs."""
        self.makers = [maker(n) for n in nbytes]
        self.workspace = placement.temporary_bytes
        self.record: Record | None = None


Graph = TypeVar("Graph", bound="CompiledGraph")


class CompiledGraph:
    """Outputs compiled for every size within the bounds of their symbols.

    Call it with the inputs as keyword arguments; it returns a tuple of new arrays, one per output. `run_with_bindings` also takes
    sizes for symbols that no input carries. `max_bytes` bounds each tensor, and inputs, workspace and outputs together, of any call;
    a call that would need more is refused with BudgetError before any work.
    `backend` names a toolchain (default: TENSORJIT_BACKEND, else the first that works). `reuse=False` gives every stored tensor memory of
    its own; `plan_effort` is how many steps the search for a memory plan may take. `donate` names inputs whose arrays a call may overwrite,
    and return as outputs. `constraints` are what the sizes of every call keep, such as "N % 8 == 0" or "N <= M"; a call whose sizes do not
    is refused.
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
        reuse: bool | None = None,
        plan_effort: int | None = None,
        donate: Sequence[str] = (),
        constraints: Sequence[Constraint | str] = (),
    ) -> None:
        self.options = Options.resolve(
            fuse=fuse,
            max_bytes=max_bytes,
            backend=backend,
            threads=threads,
            target=target,
            reuse=reuse,
            plan_effort=plan_effort,
            donate=donate,
        )
        self._outputs = check_outputs("CompiledGraph", outputs)
        self.plan: Plan = compile_plan(
            self._outputs, fuse=self.options.fuse, reuse=self.options.reuse, donate=self.options.donate, constraints=constraints
        )
        self._held = {node.arg: array for node in self.plan.inputs if (array := held(node)) is not None}
        """Arrays that the graph brings along."""
        self._guards = Guards(self.plan.inputs, self.plan.symbols, toposort(self.plan.outputs), self.plan.constraints)
        self._layout = Layout(self.plan, self.options.reuse, self.options.threads, self.options.plan_effort)
        self._work = Work(self.plan.program)
        self._questions = Questions(self._layout, self.plan.symbols, self.options.max_bytes)
        dump_plan(self.plan, self._layout, self.options.fuse)
        self._built: Built = self._build()
        dump_source(self.plan, self.options.fuse, self._built.source, self.backend, self._built.suffix)
        self._entry = self._built.entry
        self._dtypes = [node.dtype.numpy for node in self.plan.outputs]
        self._sizes: dict[tuple[int, ...], _Sized] = {}
        self._lock = threading.Lock()
        self._calls = itertools.count()
        self._last: tuple[int, ...] | None = None
        self._state = self._direct()
        self._call = None if self._state is None or self.options.fill is not None else self._state.call

    def _build(self) -> Built:
        return build(self.plan.program, self.options)

    def _direct(self) -> Direct | None:
        plan = self.plan
        inputs = [(node.arg, node.dtype.numpy, len(node.shape)) for node in plan.inputs]
        outputs = [(node.dtype.numpy, len(node.shape)) for node in plan.outputs]
        temporaries = plan.program.count("temporary")
        extents = sum(len(node.shape) for node in (*plan.inputs, *plan.outputs))
        if self._guards.taken:
            return None  # what the indices are is looked at in each call
        if plan.aliases or self.options.donate:
            return None  # an output that is an input's array, and one that is not to overlap others: Python sees to both
        if not Direct.possible(self._entry, len(inputs) + len(outputs), temporaries, len(plan.symbols), extents):
            return None
        return Direct(self._entry, inputs, outputs, temporaries, len(plan.symbols))

    def __reduce__(self) -> Any:
        return rebuild, (CompiledGraph, self._outputs, self.options, self.plan.constraints)

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
        through_python = int(repr(self._calls)[len("count(") : -1])
        return through_python + (0 if self._state is None else int(self._state.state.calls))

    @property
    def last_memory(self) -> CallMemory | None:
        """The memory of the last completed call, or None before the first."""
        if not self.calls:
            return None
        dims = self._last if self._state is None else tuple(self._state.state.last[0 : len(self.plan.symbols)])
        if dims is None:
            return None
        last = self._sized(dims).placement
        return CallMemory(
            last.temporary_bytes,
            last.unreused_temporary_bytes,
            last.output_bytes,
            last.input_bytes,
            last.allocations,
            last.bindings,
            len(self.plan.kernels),
        )

    # ------------------------------------------------------------ questions
    @overload
    def memory(self) -> MemoryFormulas: ...
    @overload
    def memory(self, **dims: int) -> MemoryReport: ...
    def memory(self, **dims: int) -> MemoryReport | MemoryFormulas:
        """What a call takes, before anything runs: figures for these sizes, one for each symbol; without sizes, formulas and the worst case."""
        return self._questions.report(dims) if dims else self._questions.formulas()

    def max_dim(self, name: str, /, budget: int | str | None = None, **dims: int) -> int:
        """The largest size of symbol `name` with which a call stays within the budget (such as "64 MiB"; default: `max_bytes`), the other
        symbols having the sizes given. BudgetError where not even its lower bound does."""
        return self._questions.max_dim(name, None if budget is None else setting("max_bytes", budget).value, dims)

    def explain(self, **dims: int) -> Explanation:
        """The kernels in the order they run: ops, loops, tensors, bytes; as formulas, or for these sizes. Print it."""
        return explain(self.plan, self._questions.complete("explain", dims) if dims else None)

    def draw_memory(self, **dims: int) -> Drawing:
        """The workspace over the kernels' schedule for these sizes: `.text()` for a terminal, `.svg()` for a file."""
        return draw(self.plan, self._layout, self._questions, dims)

    def profile(self, /, *, repeat: int = 10, **arrays: Any) -> Profile:
        """Where the time of a call with these inputs goes: each step's time, bytes and operations. Print it (`profile.py` has the fields)."""
        from .profile import profile  # above this room, and needed by few

        return profile(self, repeat=repeat, **arrays)

    # ------------------------------------------------------------ calls
    def __call__(self, /, **arrays: Any) -> tuple[NDArray[Any], ...]:
        """The outputs for these inputs. `out=` takes arrays to write them to: a tuple, None in it for those to be made, or one array for a
        single output (where an input is named `out`, `prepare` is the way)."""
        if self._held:
            arrays = {**self._held, **arrays}
        call = self._call
        if call is not None:
            outputs: tuple[NDArray[Any], ...] | None = call(**arrays)
            if outputs is not None:
                return outputs
        return self._run({}, arrays)

    def run_with_bindings(self, bindings: Mapping[str, int], /, **arrays: Any) -> tuple[NDArray[Any], ...]:
        """A call that also gives the sizes of symbols by name."""
        return self._run(bindings, {**self._held, **arrays})

    def prepare(self, /, **values: Any) -> PreparedCall:
        """A call whose arrays are chosen now: `prepare(N=8)`, `prepare(x=array)`, with `out=` as for a call. Running it again takes no memory.

        Sizes are ints, inputs are arrays; an input without an array gets one full of zeros, to be filled.
        """
        values = {**self._held, **values}
        out = self._split(values)
        bindings = {name: v for name, v in values.items() if name not in self._guards.names or not isinstance(v, np.ndarray)}
        arrays = {name: v for name, v in values.items() if name not in bindings}
        given, dims = self._check(bindings, self._guards.complete(bindings, arrays))
        sized = self._sized(dims)
        outputs = self._targets(out, sized, given)
        workspace = np.empty(sized.workspace + ALIGNMENT, np.uint8)

        def check(arrays: Mapping[str, Any], outputs: tuple[NDArray[Any], ...]) -> tuple[NDArray[Any], ...]:
            again, sizes = self._check(bindings, arrays)
            if sizes != dims:
                raise CallError(
                    f"this call was prepared for {_sizes_text(sized.placement.bindings)}; the arrays have other sizes; prepare another call"
                )
            targets = [None if i in self.plan.aliases else array for i, array in enumerate(outputs)]
            check_out(tuple(targets), self._dtypes, sized.shapes, again)
            return again

        def start(given: tuple[NDArray[Any], ...], outputs: tuple[NDArray[Any], ...]) -> Prepared | None:
            if self._state is None or self._call is None:
                return None
            base = workspace.ctypes.data
            base += -base % ALIGNMENT
            places = [base + offset for offset in sized.placement.offsets]
            return self._state.prepare((*given, *outputs), outputs, self._record(sized, given), workspace, places)

        def run(given: tuple[NDArray[Any], ...], outputs: tuple[NDArray[Any], ...]) -> None:
            self._execute(given, outputs, sized, workspace)

        names = [node.arg for node in self.plan.inputs]
        return PreparedCall(names, given, outputs, sized.placement.bindings, check, start, run)

    def release(self) -> int:
        """Forget the sizes that were met, and give the memory that finished calls have left for later ones back to the system (all compiled
        graphs share it); how many bytes that were."""
        with self._lock:
            self._sizes.clear()
            if self._state is not None:
                self._state.forget()
        return release_memory()

    def _run(self, bindings: Mapping[str, int], arrays: dict[str, Any]) -> tuple[NDArray[Any], ...]:
        out = self._split(arrays)
        given, dims = self._check(bindings, arrays)
        sized = self._sized(dims)
        outputs = self._targets(out, sized, given)
        if not sized.workspace:
            self._execute(given, outputs, sized, None)
        else:
            workspace = WORKSPACES.take(sized.workspace + ALIGNMENT)
            self._execute(given, outputs, sized, workspace)
            WORKSPACES.give(workspace)
        if self._call is not None and not bindings:
            with self._lock:
                assert self._state is not None
                self._state.learn([size for array in given for size in array.shape], self._record(sized, given))
        return outputs

    def _check(self, bindings: Mapping[str, int], arrays: Mapping[str, Any]) -> tuple[tuple[NDArray[Any], ...], tuple[int, ...]]:
        given, dims = self._guards.check(bindings, arrays)
        for name in self.options.donate:
            check_donated(name, arrays[name], arrays)
        return given, dims

    def _split(self, arrays: dict[str, Any]) -> Any:
        """What is given for the outputs, taken out. A name of the graph's own comes first."""
        return None if OUT in self._guards.names or isinstance(arrays.get(OUT), int) else arrays.pop(OUT, None)

    def _targets(self, out: Any, sized: _Sized, given: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
        """The outputs: the caller's, or new ones."""
        count = len(self._dtypes)
        wanted = [None] * count if out is None else check_out(out, self._dtypes, sized.shapes, given)
        outputs = []
        for i, array in enumerate(wanted):
            if array is None and i in self.plan.aliases:
                array = given[self.plan.aliases[i]]
            elif array is None:
                array = sized.makers[i](sized.shapes[i], self._dtypes[i])
                self._fill(array)
            outputs.append(array)
        return tuple(outputs)

    def _fill(self, array: NDArray[Any]) -> None:
        if self.options.fill is not None and array.nbytes:
            ctypes.memset(array.ctypes.data, self.options.fill, array.nbytes)

    def _execute(
        self, given: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]], sized: _Sized, workspace: NDArray[np.uint8] | None
    ) -> None:
        if workspace is not None:
            self._fill(workspace)
        placement = sized.placement
        dims = tuple(placement.bindings.values())
        written = list(outputs)
        if self._entry.support is None:  # the reference evaluator knows nothing of one array for two
            for i, x in self.plan.aliases.items():
                if outputs[i] is given[x]:
                    written[i] = np.empty_like(given[x])
        self._entry.call((*given, *written), workspace, placement.offsets, dims, sized.threads)
        for i, x in self.plan.aliases.items():
            if self._entry.support is None:
                np.copyto(outputs[i], written[i])
            elif outputs[i] is not given[x]:
                np.copyto(outputs[i], given[x])
        next(self._calls)  # one step of the interpreter, so calls from several threads are all counted
        self._last = dims
        if self._state is not None:
            self._state.state.last[0 : len(dims)] = dims

    def _sized(self, dims: tuple[int, ...]) -> _Sized:
        sized = self._sizes.get(dims)
        if sized is not None:
            return sized
        placement = self._layout.place(dims)
        self._questions.check(placement)
        numbers = self._layout.numbers("output")
        threads = self._work.threads(self.options.threads, self.options.thread_work, placement.bindings)
        sized = _Sized(placement, tuple(placement.shapes[i] for i in numbers), [placement.nbytes[i] for i in numbers], threads)
        with self._lock:
            while len(self._sizes) >= REMEMBERED_SIZES:
                self._sizes.pop(next(iter(self._sizes)))
            self._sizes[dims] = sized
        return sized

    def _record(self, sized: _Sized, given: Sequence[NDArray[Any]]) -> Record:
        record = sized.record
        if record is None:
            placement = sized.placement
            extents = [size for array in given for size in array.shape] + [size for shape in sized.shapes for size in shape]
            dims = list(placement.bindings.values())
            record = sized.record = Record(extents, dims, placement.offsets, sized.workspace, sized.threads, sized.shapes, sized.makers)
        return record


def _sizes_text(bindings: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in bindings.items()) or "its fixed sizes"


def rebuild(kind: type[Graph], outputs: Sequence[Expr], options: Options, constraints: Sequence[Constraint]) -> Graph:
    """A graph as a pickle keeps it."""
    return kind(
        outputs,
        fuse=options.fuse,
        max_bytes=options.max_bytes,
        backend=options.backend,
        threads=options.threads,
        target=options.target,
        reuse=options.reuse,
        plan_effort=options.plan_effort,
        donate=options.donate,
        constraints=constraints,
    )
