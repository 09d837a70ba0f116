"""tjcore's own hook implementations, registered last: the C renderer, the compiler call, dlopen, and the `reference` toolchain.

`reference` needs no compiler: its source is the graph's text, its library evaluates that text with NumPy over the same buffers
that native code would get.
"""

from __future__ import annotations

import errno
import os
import shlex
import signal
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__, child
from .c_entry import ENTRY, PROFILE
from .dims import evaluate
from .errors import CompileError, LoadError
from .hookspecs import hookimpl
from .loops import Program
from .options import setting
from .reference import evaluate_graph
from .render_c import render_program
from .text import graph_dims, read_graph
from .toolchain import FFI, Artifact, Library, SourceUnit, Toolchain
from .traversal import toposort

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
    return SourceUnit("graph", render_program(program, toolchain.dialect), exports=(ENTRY, PROFILE) if program.profiled else (ENTRY,))


@hookimpl(trylast=True)
def tensorjit_compile(unit: SourceUnit, toolchain: Toolchain, flags: Sequence[str], out_dir: Path) -> Artifact:
    out_dir = out_dir.absolute()  # the compiler works inside it, where a relative path would lead elsewhere
    source = out_dir / f"{unit.name}{unit.suffix}"
    source.write_text(unit.text, encoding="utf-8")
    if toolchain.dialect is None:
        return Artifact(source, unit)
    out = out_dir / f"{unit.name}.so"
    command = tuple(toolchain.command(source, out, [*flags, *unit.files]))

    def failure(what: str, output: str, code: int | None) -> CompileError:
        return _failure(toolchain, unit, command, what, output, code)

    limit = setting("compile_timeout")
    try:
        done = child.run(command, seconds=limit.value, folder=out_dir)
    except child.TimedOut as late:
        what = f"took longer than {limit.value:g} s (TENSORJIT_COMPILE_TIMEOUT, from {limit.source}) and was stopped"
        raise failure(what, late.words, None) from None
    except OSError as error:
        raise failure(_cannot_start(command[0], error), "", None) from error
    output = done.err + done.out
    if done.code > 0:
        raise failure(f"failed with exit code {done.code}", output, done.code)
    if done.code < 0:
        raise failure(f"was killed by {_signal_name(-done.code)}", output, done.code)
    if not out.is_file() or not out.stat().st_size:
        raise failure("ended with exit code 0 and wrote no library", output, 0)
    return Artifact(out, unit)


def _cannot_start(program: str, error: OSError) -> str:
    """Why the operating system would not run a program, by kind: each has another remedy."""
    match error.errno:
        case errno.ENOENT:
            return f"could not be started: there is no {program}, or the interpreter that its first line names is missing"
        case errno.EACCES | errno.EPERM:
            return f"could not be started: {program} may not be executed by this user, or lies on a mount without execution"
        case errno.ENOEXEC:
            return f"could not be started: {program} is no program for this machine"
    return f"could not be started: {error.strerror or error}"


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"{name} (often: the machine has run out of memory)" if number == signal.SIGKILL else name


def _failure(toolchain: Toolchain, unit: SourceUnit, command: tuple[str, ...], what: str, output: str, code: int | None) -> CompileError:
    words = output.strip() or "nothing"
    if len(words) > SHOWN_OUTPUT:
        words = f"{words[:SHOWN_OUTPUT]}\n... and {len(words) - SHOWN_OUTPUT:,} more characters, which .output of this error holds"
    text = f"{toolchain.name}: the compiler {what}\n  command: {shlex.join(command)}\n  it said: {words}\n  its source is kept in .source of this error"
    return CompileError(text, command=command, exit_code=code, output=output, source=unit.text)


@hookimpl(trylast=True)
def tensorjit_load(artifact: Artifact, toolchain: Toolchain) -> Library:
    if toolchain.dialect is None:
        return _ReferenceLibrary(artifact.path.read_text(encoding="utf-8"))
    library = _SharedLibrary(toolchain.name, Path(artifact.path))
    for name in artifact.unit.exports:
        library.function(name)
    return library


# By the system's own dlopen, because FFI.dlopen(path) goes on, when the path fails, to search for a library of that *name*: it
# starts ldconfig, gcc and ld for it, and buries the loader's words under its own.
_LOADER = FFI.dlopen(None)
# Looked up once and now: a look-up between a call and dlerror would take the error away.
_DLOPEN, _DLERROR, _DLCLOSE = _LOADER.dlopen, _LOADER.dlerror, _LOADER.dlclose


class _SharedLibrary:
    """A loaded library. It is closed when this object goes, so whoever keeps a function of it must keep it too."""

    def __init__(self, toolchain: str, path: Path) -> None:
        self._where = f"{toolchain}: the library {path}"
        handle = _DLOPEN(os.fsencode(path), FFI.RTLD_NOW)
        if handle == FFI.NULL:
            words = FFI.string(_DLERROR()).decode(errors="replace")
            raise LoadError(f"{self._where} cannot be loaded: {words}")
        weakref.finalize(self, _DLCLOSE, handle).atexit = False  # at exit, threads may still run in it
        self._library = FFI.dlopen(handle)

    def function(self, name: str) -> Any:
        try:
            return getattr(self._library, name)
        except AttributeError as error:
            raise LoadError(f"{self._where} has no function {name}: it was not built from the source that it should be") from error


class _ReferenceLibrary:
    """A graph's text as something to call: the same arguments as a native entry, answered by the evaluator."""

    def __init__(self, text: str) -> None:
        self.outputs = read_graph(text)
        nodes = toposort(self.outputs)
        self.inputs = [node for node in nodes if node.op == "input"]
        self.dims = [d.name for _, d in sorted(graph_dims(nodes).items())]

    def function(self, name: str) -> Any:
        if name != ENTRY:
            raise LoadError(f"reference: a graph has one function, {ENTRY}, and no {name}")
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
