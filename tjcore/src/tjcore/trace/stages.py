"""The stages of a traced function, under the names that JAX gave them: `lower`, `compile`, call.

In: a Python function and what its arguments look like. Out: `Lowered`, the graph that one run of the function made, and `Compiled`, which
runs it. Law: a Compiled object serves exactly the calls whose structure, element types and sizes it was traced for; any other is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dims import Dim, Size, SizeExpr, evaluate
from ..dtypes import DTYPES
from ..errors import CallError, GraphError, TraceError
from ..graph import Expr, hold, input
from ..runtime import CompiledGraph
from ..text import show_graph
from .arguments import Kind, accept, ready
from .context import Guard, Trace, Traced
from .shapes import bind
from .sizes import TracedSize
from .tracer import Tracer
from .tree import LEAF, Structure, rebuild, take_apart

Call = Callable[[Sequence[Any]], Any]
"""A user's function, of the leaves of its arguments."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a call looks like, but for the sizes: its structure, what is static in it, and the kind of each leaf."""

    structure: Structure
    statics: tuple[Any, ...]
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """What one run of a function gave. `leaves` of the result are the number of an output, a size, or a value that no argument changes."""

    name: str
    signature: Signature
    paths: tuple[str, ...]
    names: tuple[str, ...]
    shapes: tuple[tuple[Size, ...], ...]
    outputs: tuple[Expr, ...]
    structure: Structure
    leaves: tuple[Any, ...]
    guards: tuple[Guard, ...]
    origins: Mapping[str, str]

    def bind(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        """The sizes of the symbols in a call; CallError for one that is not served."""
        sizes = bind(self.name, self.paths, self.shapes, shapes)
        for guard in self.guards:
            if not guard.holds(sizes):
                known = ", ".join(f"{name} = {size} ({self.origins.get(name, 'a declared size')})" for name, size in sizes.items())
                raise CallError(
                    f"{self.name}: was traced for calls in which {guard}; this one has {known}. Call the function itself, which traces anew"
                )
        return sizes


@dataclass(frozen=True, slots=True)
class _Output:
    number: int


def trace(
    name: str,
    call: Call,
    signature: Signature,
    paths: Sequence[str],
    names: Sequence[str],
    shapes: Sequence[tuple[Size, ...]],
    sizes: Mapping[str, int],
    origins: Mapping[str, str],
) -> Program:
    """One run of a function on traced values."""
    run = Trace(name, Tracer, TracedSize, sizes, origins)
    inputs = [input(n, shape, kind.dtype) for n, shape, kind in zip(names, shapes, signature.kinds, strict=True)]
    try:
        result = call([Tracer(run, node, kind.weak) for node, kind in zip(inputs, signature.kinds, strict=True)])
    except TraceError:
        raise
    except GraphError as error:
        said = str(error).removeprefix(f"{name}: ")
        raise type(error)(f"{name}: {said}{run.sizes_text(shapes)}") from error
    finally:
        run.open = False
    values, structure = take_apart(result)
    outputs: list[Expr] = []
    leaves = []
    for value in values:
        expr = _expr(value)
        if isinstance(value, TracedSize):
            leaves.append(value.size)
        elif expr is None:
            leaves.append(value)
        else:
            leaves.append(_Output(len(outputs)))
            outputs.append(expr)
    return Program(
        name, signature, tuple(paths), tuple(names), tuple(shapes), tuple(outputs), structure, tuple(leaves), tuple(run.guards), origins
    )


def _expr(value: Any) -> Expr | None:
    if isinstance(value, Traced):
        return value.carried if isinstance(value, Tracer) else None
    if isinstance(value, np.ndarray) and value.ndim and value.dtype in [d.numpy for d in DTYPES]:
        return hold(value)
    return value if isinstance(value, Expr) else None


class Lowered:
    """The graph of a function for arguments of one kind, before it is compiled."""

    def __init__(self, program: Program, options: Mapping[str, Any]) -> None:
        self.program = program
        self._options = dict(options)

    @property
    def outputs(self) -> tuple[Expr, ...]:
        """The expressions that were traced, in the order of the result's leaves."""
        return self.program.outputs

    def as_text(self) -> str:
        """The graph, which `read_graph` reads."""
        return show_graph(self.program.outputs)

    def compile(self, **options: Any) -> Compiled:
        """Plan and build it. Options are those of `CompiledGraph`, and go before those of `jit`."""
        return Compiled(self.program, {**self._options, **options})

    def __repr__(self) -> str:
        return f"<Lowered {self.program.name}: {len(self.program.outputs)} outputs>"


class Compiled:
    """A function compiled for arguments of one kind and all their sizes."""

    def __init__(self, program: Program, options: Mapping[str, Any]) -> None:
        self.program = program
        self.graph: CompiledGraph | None = CompiledGraph(program.outputs, **options) if program.outputs else None
        """What runs; None for a function whose result holds no arrays."""
        wanted = {} if self.graph is None else {node.arg: node for node in self.graph.plan.inputs}
        self._inputs = [(i, name, wanted[name].dtype.numpy) for i, name in enumerate(program.names) if name in wanted]
        carried = {size.name for i, _, _ in self._inputs for size in program.shapes[i] if isinstance(size, Dim)}
        self._bindings = [] if self.graph is None else [d.name for d in self.graph.plan.symbols if d.name not in carried]

        self._single = program.structure == (LEAF,) and program.leaves == (_Output(0),)

    def __repr__(self) -> str:
        return f"<Compiled {self.program.name}: {self.graph!r}>"

    def as_text(self) -> str:
        """The code as it was given to the toolchain."""
        return "" if self.graph is None else self.graph.source

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """A call, of the structure and element types that were lowered; arguments that were static there are left out."""
        leaves, structure = take_apart((arguments, named))
        program = self.program
        if structure != program.signature.structure:
            raise CallError(
                f"{program.name}: was compiled for arguments {', '.join(program.paths) or 'none'} of another structure than those of this call"
            )
        arrays = []
        for leaf, path, kind in zip(leaves, program.paths, program.signature.kinds, strict=True):
            array, found = accept(leaf, lambda path=path: (program.name, path))  # type: ignore[misc]
            if found is not kind:
                raise CallError(f"{program.name}: argument {path} is {found}, and {kind} was compiled")
            arrays.append(array)
        return self.run(arrays, program.bind([a.shape for a in arrays]))

    def run(self, values: Sequence[Any], sizes: Mapping[str, int]) -> Any:
        """A call whose arguments, arrays and numbers, were looked at already."""
        outputs: tuple[Any, ...] = ()
        if self.graph is not None:
            given = {name: ready(values[i], dtype) for i, name, dtype in self._inputs}
            try:
                if self._bindings:
                    outputs = self.graph.run_with_bindings({name: sizes[name] for name in self._bindings}, **given)
                else:
                    outputs = self.graph(**given)
            except CallError as error:
                where = "".join(f"; {name} is {axis}" for name, axis in self.program.origins.items() if name in str(error))
                error.args = (f"{self.program.name}: {error}{where.replace('; ', ', ').replace(', ', '; ', 1)}",)
                raise
        if self._single and outputs[0].ndim:
            return outputs[0]
        return rebuild(self.program.structure, [self._leaf(leaf, outputs, sizes) for leaf in self.program.leaves])

    def _leaf(self, leaf: Any, outputs: Sequence[NDArray[Any]], sizes: Mapping[str, int]) -> Any:
        if isinstance(leaf, _Output):
            array = outputs[leaf.number]
            return array if array.ndim else array[()]
        return evaluate(leaf, sizes) if isinstance(leaf, (Dim, SizeExpr)) else leaf
