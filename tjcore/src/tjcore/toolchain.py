"""What a toolchain is: a frozen value that says how to call a compiler and what C it takes.

In: settings (which command to use). Out: version lines, fingerprints, command lines. Nothing here runs a build; `builtin` does.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import cffi

from . import cpu
from .errors import ToolchainUnavailable
from .options import variable

FFI: Any = cffi.FFI()
"""The one FFI of the process: pointers of one library can be handed to another."""
FFI.cdef(
    """
    typedef struct tj_team tj_team;
    typedef struct tj_support tj_support;
    void tj_graph(const tj_team *team, void *const *buffers, const int64_t *dims);
    int tj_pool_run(void (*entry)(const tj_team *, void *const *, const int64_t *), const tj_support *support,
                    void *const *buffers, const int64_t *dims, int64_t threads);
    typedef struct tj_frame {
      void (*entry)(const tj_team *, void *const *, const int64_t *);
      const int64_t *dims;
      const int64_t *offsets;
      int64_t temporaries, arrays, data_offset, threads;
    } tj_frame;
    int tj_run_frame(const tj_frame *frame, char *arena, uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4, uintptr_t a5,
                     uintptr_t a6, uintptr_t a7);
    void tj_pool_shutdown(void);
    const tj_support *tj_support_table(void);
    """
)

PROBE_SECONDS = 20
"""How long a compiler may take to say its version."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The C that a compiler takes: GNU vector types or not, the restrict word, the attribute of exported functions, lines put first."""

    name: str
    vectors: bool = False
    restrict: str = "restrict"
    export: str = ""
    prelude: str = ""


C11 = Dialect("c11")
"""Plain C11 without extensions: any compiler."""
GNU = Dialect("gnu", vectors=True, export='__attribute__((visibility("default")))')
"""GNU C with vector types: gcc, clang and what is built on them."""


@dataclass(frozen=True, slots=True)
class SourceUnit:
    """Source text to build as one library. `files` are more source files, by path, that are built into it."""

    name: str
    text: str
    suffix: str = ".c"
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Artifact:
    """A built file and the unit it was built from."""

    path: Path
    unit: SourceUnit


class Library(Protocol):
    """A loaded artifact."""

    def function(self, name: str) -> Any:
        """The callable of that name; AttributeError where there is none."""


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """A named way to turn source into a library. Subclass, or use `CompilerToolchain`, and override what differs."""

    name: str
    dialect: Dialect | None
    features: frozenset[str] = frozenset()
    unsupported: Mapping[str, str] = field(default_factory=dict)
    """Test pattern -> reason: never supported; the conformance suite skips these."""
    xfail: Mapping[str, str] = field(default_factory=dict)
    """Test pattern -> reason: not yet; the suite expects these to fail, and says when they no longer do."""

    def probe(self) -> str:
        """The version line. ToolchainUnavailable, saying what to install, where the program is not on this machine."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Equal for equal results of a build: part of the cache key."""
        return hashlib.sha256(self.probe().encode()).hexdigest()[:16]

    def command(self, source: Path, out: Path, flags: Sequence[str]) -> list[str]:
        """The command line that builds the shared library `out` from `source`."""
        raise NotImplementedError

    def target_flags(self, target: str) -> tuple[str, ...]:
        """Flags that aim at a CPU."""
        return ()


@dataclass(frozen=True, kw_only=True)
class CompilerToolchain(Toolchain):
    """A compiler with the command line of cc: `program flags -o out source`.

    `variable` names the environment variable that holds another command (arguments allowed: `ccache gcc`); otherwise the first of
    `programs` on the PATH is taken. `flags` are always passed. `install` says how to get it.
    """

    variable: str
    programs: tuple[str, ...]
    flags: tuple[str, ...]
    install: str
    version_arguments: tuple[str, ...] = ("--version",)
    march: bool = False
    libraries: tuple[str, ...] = ("-lm",)

    def prefix(self) -> list[str]:
        """The command as words: from the variable, or the first program found."""
        given = variable(self.variable)
        if given is not None:
            if Path(given).is_file():  # a path with spaces is one word
                return [given]
            try:
                words = shlex.split(given)
            except ValueError as error:
                raise ToolchainUnavailable(f"{self.variable}={given!r} is no command line: {error}") from None
            return words
        for program in self.programs:
            found = shutil.which(program)
            if found:
                return [found]
        raise ToolchainUnavailable(
            f"{self.name}: no {' or '.join(self.programs)} on the PATH; {self.install}, or set {self.variable} to its path"
        )

    def probe(self) -> str:
        prefix = self.prefix()
        return _probe(self.name, self.variable, tuple(prefix), self.version_arguments, _stamp(prefix[0]))

    def fingerprint(self) -> str:
        prefix = self.prefix()
        text = "\n".join([*prefix, self.probe(), _stamp(prefix[0]), *self.flags])
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]

    def command(self, source: Path, out: Path, flags: Sequence[str]) -> list[str]:
        return [*self.prefix(), *self.flags, *flags, "-o", str(out), str(source), *self.libraries]

    def target_flags(self, target: str) -> tuple[str, ...]:
        return cpu.march_flags(target) if self.march else ()


def _stamp(program: str) -> str:
    """What changes when the program is replaced."""
    found = shutil.which(program)
    if found is None:
        return ""
    status = os.stat(found)
    return f"{os.path.realpath(found)} {status.st_size} {status.st_mtime_ns}"


@lru_cache(maxsize=64)
def _probe(name: str, variable_name: str, prefix: tuple[str, ...], arguments: tuple[str, ...], stamp: str) -> str:
    command = [*prefix, *arguments]
    shown = shlex.join(command)
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, env=environment, check=False)
    except subprocess.TimeoutExpired:
        raise ToolchainUnavailable(f"{name}: `{shown}` did not answer within {PROBE_SECONDS} s; check {variable_name}") from None
    except OSError as error:
        raise ToolchainUnavailable(f"{name}: cannot run `{shown}`: {error.strerror}; check {variable_name}") from error
    output = (done.stdout or done.stderr).decode(errors="replace").strip()
    if done.returncode != 0:
        raise ToolchainUnavailable(f"{name}: `{shown}` failed with exit code {done.returncode}: {output[:500]}; check {variable_name}")
    return output.splitlines()[0] if output else f"{name} (says no version)"
