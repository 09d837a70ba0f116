"""tjcore's own hook implementations, registered last: the C renderer, the compiler call, dlopen, and the `reference` toolchain.

`reference` needs no compiler: its source is the graph's text, its library evaluates that text with NumPy over the same buffers
that native code would get.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__
from .dims import evaluate
from .errors import CompileError
from .graph import toposort
from .hookspecs import hookimpl
from .loops import Program
from .reference import evaluate_graph
from .render_c import ENTRY, render_program
from .text import graph_dims, read_graph
from .toolchain import FFI, Artifact, Library, SourceUnit, Toolchain

SHOWN_OUTPUT = 4000
"""How many characters of a compiler's words an error message repeats."""


@dataclass(frozen=True, kw_only=True)
class ReferenceToolchain(Toolchain):
    """The NumPy evaluator as a toolchain: always there, slow, and the definition of what a graph means."""

    name: str = "reference"
    dialect: None = None

    def probe(self) -> str:
        return f"tjcore {__version__} reference evaluator on NumPy {np.__version__}"


@hookimpl
def tensorjit_toolchains() -> Iterable[Toolchain]:
    return [ReferenceToolchain()]


@hookimpl(trylast=True)
def tensorjit_render(program: Program, toolchain: Toolchain) -> SourceUnit:
    if toolchain.dialect is None:
        return SourceUnit("graph", program.graph, suffix=".txt")
    return SourceUnit("graph", render_program(program, toolchain.dialect))


@hookimpl(trylast=True)
def tensorjit_compile(unit: SourceUnit, toolchain: Toolchain, flags: Sequence[str], out_dir: Path) -> Artifact:
    source = out_dir / f"{unit.name}{unit.suffix}"
    source.write_text(unit.text, encoding="utf-8")
    if toolchain.dialect is None:
        return Artifact(source, unit)
    out = out_dir / f"{unit.name}.so"
    command = tuple(toolchain.command(source, out, [*flags, *unit.files]))
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, cwd=out_dir, env={**os.environ, "LC_ALL": "C", "TMPDIR": str(out_dir)}, check=False
        )
    except OSError as error:
        raise CompileError(
            f"{toolchain.name}: cannot run `{shlex.join(command)}`: {error.strerror}", command=command, source=unit.text
        ) from error
    output = (done.stderr + done.stdout).decode(errors="replace")
    if done.returncode != 0:
        how = f"exit code {done.returncode}" if done.returncode > 0 else f"signal {signal.Signals(-done.returncode).name}"
        raise _failure(toolchain, unit, command, done.returncode, output, f"failed with {how}")
    if not out.is_file():
        raise _failure(toolchain, unit, command, 0, output, "succeeded, but wrote no library")
    return Artifact(out, unit)


def _failure(toolchain: Toolchain, unit: SourceUnit, command: tuple[str, ...], code: int, output: str, what: str) -> CompileError:
    words = output if len(output) <= SHOWN_OUTPUT else output[:SHOWN_OUTPUT] + f"\n... {len(output) - SHOWN_OUTPUT} more characters"
    text = f"{toolchain.name} {what}\n  command: {shlex.join(command)}\n  it said: {words.strip() or 'nothing'}\n  the source is in .source of this error"
    return CompileError(text, command=command, exit_code=code, output=output, source=unit.text)


@hookimpl(trylast=True)
def tensorjit_load(artifact: Artifact, toolchain: Toolchain) -> Library:
    if toolchain.dialect is None:
        return _ReferenceLibrary(artifact.path.read_text(encoding="utf-8"))
    return _SharedLibrary(artifact.path)


class _SharedLibrary:
    def __init__(self, path: Path) -> None:
        self._library = FFI.dlopen(str(path))

    def function(self, name: str) -> Any:
        return getattr(self._library, name)


class _ReferenceLibrary:
    """A graph's text as something to call: the same arguments as a native entry, answered by the evaluator."""

    def __init__(self, text: str) -> None:
        self.outputs = read_graph(text)
        nodes = toposort(self.outputs)
        self.inputs = [node for node in nodes if node.op == "input"]
        self.dims = [d.name for _, d in sorted(graph_dims(nodes).items())]

    def function(self, name: str) -> Any:
        if name != ENTRY:
            raise AttributeError(name)
        return self.run

    def run(self, team: Any, buffers: Any, dims: Any) -> None:
        sizes = {name: dims[i] for i, name in enumerate(self.dims)}

        def view(i: int, node: Any) -> Any:
            shape = tuple(evaluate(s, sizes) for s in node.shape)
            count = int(np.prod(shape, dtype=np.int64))
            memory = FFI.buffer(FFI.cast("char *", buffers[i]), count * node.dtype.itemsize)
            return np.frombuffer(memory, node.dtype.numpy, count).reshape(shape) if count else np.empty(shape, node.dtype.numpy)

        arrays = {node.arg: view(i, node) for i, node in enumerate(self.inputs)}
        for i, (node, value) in enumerate(zip(self.outputs, evaluate_graph(self.outputs, arrays, sizes), strict=True)):
            view(len(self.inputs) + i, node)[...] = value
