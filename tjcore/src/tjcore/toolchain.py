"""What a toolchain is: a frozen value that says how to call a compiler and what C it takes.

In: settings (which command to use). Out: version lines, fingerprints, command lines. Nothing here runs a build; `builtin` does.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import cffi

from . import child, cpu
from .errors import ToolchainError, ToolchainUnavailable
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
    void tj_pool_shutdown(void);
    void tj_pool_stream(int64_t bytes);
    int64_t tj_call_slot(const int64_t *extents, int64_t count);
    void tj_call_setup(const void *interpreter, void **call, void **prepared);
    const tj_support *tj_support_table(void);
    typedef struct tj_contract tj_contract;
    typedef void tj_contract_function(const tj_team *team, const tj_contract *contract);
    void tj_profile(int64_t *into);
    void tj_support_lend(int32_t type, tj_contract_function *product);
    tj_contract_function tj_contract_f32, tj_contract_f64, tj_contract_i32, tj_contract_i64;
    void *dlopen(const char *path, int flags);
    int dlclose(void *handle);
    char *dlerror(void);
    """
)

PROBE_SECONDS = 20
"""How long a compiler may take to say its version."""
SHOWN_VERSION = 500
"""How many characters of what it says a message repeats."""


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
    """Source text to build as one library. `files` are more source files, by path, that are built into it; `exports` are functions that
    the library must then have."""

    name: str
    text: str
    suffix: str = ".c"
    files: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Artifact:
    """A built file and the unit it was built from."""

    path: Path
    unit: SourceUnit


class Library(Protocol):
    """A loaded artifact."""

    def function(self, name: str) -> Any:
        """The callable of that name; ToolchainError where there is none."""


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """A named way to turn source into a library. Subclass, or use `CompilerToolchain`, and override what differs.

    `name` is a word of letters, digits and `_.+-`. `dialect` is the C it takes; None where it takes the graph's text instead of C.
    `features` is the plugin's own: what its other hooks, or its tests, want to know of the toolchain.
    """

    name: str
    dialect: Dialect | None
    features: frozenset[str] = frozenset()
    unsupported: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Test pattern -> reason: never supported; the conformance suite skips these."""
    xfail: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Test pattern -> reason: not yet; the suite expects these to fail, and says when they no longer do."""

    def probe(self) -> str:
        """The version line. ToolchainUnavailable, saying what to install, where the program is not on this machine; any other error
        means that it is there and does not work."""
        raise NotImplementedError(f"toolchain {self.name!r} defines no probe()")

    def fingerprint(self) -> str:
        """Equal for equal results of a build: part of the cache key."""
        return hashlib.sha256(self.probe().encode()).hexdigest()[:16]

    def command(self, source: Path, out: Path, flags: Sequence[str]) -> list[str]:
        """The command line that builds the shared library `out` from `source`. `flags` come from tjcore and from plugins, and end with
        further source files."""
        raise NotImplementedError(f"toolchain {self.name!r} defines no command(), and no plugin's tensorjit_compile has built the unit")

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
        """The command as words, the program by its full path: from the variable, or the first program found."""
        given = variable(self.variable)
        if given is None:
            for program in self.programs:
                found = shutil.which(program)
                if found:
                    return [os.path.abspath(found)]  # not its real path: compiler wrappers go by the name they are called
            raise ToolchainUnavailable(
                f"{self.name}: found no {' or '.join(self.programs)} on the PATH; {self.install}, or set {self.variable} to its command"
            )
        path = os.path.expanduser(given)
        words = [path]  # a file's path is one word, spaces and all
        if not os.path.isfile(path):
            try:
                words = shlex.split(given)
            except ValueError as error:
                raise self._wrong(given, f"it is no command line: {error}") from None
        program = os.path.expanduser(words[0])
        found = shutil.which(program)
        if found is None:
            if os.path.isdir(program):
                raise self._wrong(given, f"{program!r} is a folder")
            if os.path.isfile(program):
                raise self._wrong(given, f"{program!r} is not executable")
            raise self._wrong(given, f"{program!r} does not exist" if os.sep in program else f"there is no {program!r} on the PATH")
        rest = [os.path.abspath(w) if os.sep in w and not w.startswith("-") and os.path.isfile(w) else w for w in words[1:]]
        return [os.path.abspath(found), *rest]  # full paths, because the compiler works in another folder

    def _wrong(self, given: str, why: str) -> ToolchainError:
        """What somebody has named and is not there is an error, never a reason to look elsewhere in silence."""
        return ToolchainError(
            f"{self.name}: {self.variable}={given!r} cannot be used: {why}; set it to a compiler's command, such as {self.programs[0]!r} "
            f"or 'ccache {self.programs[0]}' (quote paths with spaces), or unset it"
        )

    def probe(self) -> str:
        prefix = self.prefix()
        command = (*prefix, *self.version_arguments)
        try:
            answer = _probe(command, _stamp(prefix))
        except OSError as error:  # perhaps a passing want of memory or processes, so it is not remembered
            answer = _Answer(trouble=f"`{shlex.join(command)}` cannot be run: {error.strerror or error}")
        if answer.trouble:
            advice = f"check {self.variable}" if variable(self.variable) else f"set {self.variable} to one that works"
            raise ToolchainError(f"{self.name}: {answer.trouble}; {advice}")
        return answer.version

    def fingerprint(self) -> str:
        prefix = self.prefix()
        text = "\n".join([*prefix, self.probe(), *_stamp(prefix), *self.flags, *self.libraries])
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]

    def command(self, source: Path, out: Path, flags: Sequence[str]) -> list[str]:
        return [*self.prefix(), *self.flags, *flags, "-o", str(out), str(source), *self.libraries]

    def target_flags(self, target: str) -> tuple[str, ...]:
        return cpu.march_flags(target) if self.march else ()


def _stamp(prefix: Sequence[str]) -> tuple[str, ...]:
    """What changes when a program is replaced: of the first word, and of the others that are programs (`ccache gcc`)."""
    stamps = []
    for word in prefix:
        found = None if word.startswith("-") else shutil.which(word)
        if found:
            status = os.stat(found)
            stamps.append(f"{os.path.realpath(found)} {status.st_size} {status.st_mtime_ns}")
    return tuple(stamps)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a program said when it was asked for its version; `trouble` when that was no answer."""

    version: str = ""
    trouble: str = ""


@lru_cache(maxsize=64)
def _probe(command: tuple[str, ...], stamp: tuple[str, ...]) -> _Answer:
    """Remembered for as long as the programs stay the same, trouble included: nobody waits twice for one that hangs."""
    shown = shlex.join(command)
    try:
        done = child.run(command, seconds=PROBE_SECONDS)
    except child.TimedOut:
        return _Answer(trouble=f"`{shown}` did not answer within {PROBE_SECONDS} s")
    words = done.out.strip() or done.err.strip()
    if done.code != 0:
        both = f"{done.err.strip()}\n{done.out.strip()}".strip()
        how = f"exit code {done.code}" if done.code > 0 else f"signal {-done.code}"
        return _Answer(trouble=f"`{shown}` failed with {how}: {_printable(both[:SHOWN_VERSION]) or 'it said nothing'}")
    line = words.splitlines()[0] if words else ""
    return _Answer(version=_printable(line[:SHOWN_VERSION]) or f"{Path(command[0]).name} (says no version)")


def _printable(text: str) -> str:
    """Without what would move a terminal's cursor, should a program that is no compiler have answered."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
