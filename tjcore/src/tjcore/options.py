"""Settings: what a graph is compiled with, and where each value came from.

Order: argument > `settings` and `configure` in code > environment > default. This is the only module that reads the environment, and it
does so when it is asked, never at import. White space around a value does not count, and an empty value means the default.
"""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .errors import GraphError, shown
from .memory import DEFAULT_EFFORT

PREFIX = "TENSORJIT_"
DEFAULT_MAX_BYTES = 256 * 2**20
THREAD_WORK = 10.0
"""Handing a call to a second thread takes 1 to 4 microseconds while it is looking for work, and 6 to 9 when it sleeps (docs/threads.md)."""
STAGES = ("graph", "simplified", "groups", "loops", "scheduled", "memory", "source")
"""What `dump` can show, in the order in which it happens."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it came from: "argument", "code", "environment TENSORJIT_...", or "default"."""

    name: str
    value: Any
    source: str


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a str")
    return value


def _threads(value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if isinstance(value, (bool, float)) or not 1 <= number <= 1024:
        raise ValueError("expected a number of threads in 1..1024")
    return number


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def _bytes(value: Any) -> int:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 0:
        return int(value)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", value) if isinstance(value, str) else None
    if match is None or match[2].lower() not in _UNITS:
        raise ValueError("expected a number of bytes such as 268435456 or '256 MiB'")
    whole, _, part = match[1].partition(".")
    exact: int = int(whole + part) * _UNITS[match[2].lower()] // 10 ** len(part)  # as no float could
    return exact


def _steps(value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if isinstance(value, (bool, float)) or not 0 <= number < 10**12:
        raise ValueError("expected a number of search steps, such as 60000")
    return number


def _seconds(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if isinstance(value, bool) or not 0 < number < 10**9:
        raise ValueError("expected a number of seconds above 0")
    return number


def _microseconds(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number < 10**9:
        raise ValueError("expected a number of microseconds, 0 or more")
    return number


def _byte(value: Any) -> int:
    try:
        number = int(value, 0) if isinstance(value, str) else int(value)
    except (TypeError, ValueError):
        number = -1
    if isinstance(value, (bool, float)) or not 0 <= number <= 255:
        raise ValueError("expected a byte such as 0xff (NaN in every float) or 0")
    return number


def _path(value: Any) -> str:
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise ValueError("expected a path")
    return path


def _stages(value: Any) -> str:
    words = [word.strip() for word in _text(value).split(",") if word.strip()]
    if "all" in words:
        return ",".join(STAGES)
    if not words or any(word not in STAGES for word in words):
        raise ValueError(f"expected stages such as 'loops,source', out of {', '.join(STAGES)}, or 'all'")
    return ",".join(stage for stage in STAGES if stage in words)


def _switch(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in ("1", "on", "true", "yes"):
        return True
    if word in ("0", "off", "false", "no"):
        return False
    raise ValueError("expected 1 or 0, on or off")


def either(name: str, value: Any) -> bool:
    """An argument that is a bool: the text "no" is true to Python, and means the contrary."""
    if not isinstance(value, bool):
        raise GraphError(f"{name}: expected True or False, got {shown(value)}")
    return value


_READERS: dict[str, tuple[Any, Any, str]] = {
    "backend": (_text, None, "the toolchain, by name"),
    "threads": (_threads, 1, "threads of a call"),
    "thread_work": (
        _microseconds,
        THREAD_WORK,
        "microseconds of work, by estimate, below which a call takes no further thread; 0: take all",
    ),
    "target": (_text, "native", "the CPU to build for: native, generic, or a level such as x86-64-v3"),
    "max_bytes": (_bytes, DEFAULT_MAX_BYTES, "what a call may take in memory"),
    "reuse": (_switch, True, "let tensors share memory where one ends before another begins"),
    "plan_effort": (_steps, DEFAULT_EFFORT, "search steps that planning the memory of a graph may take"),
    "cache": (_switch, True, "keep built libraries on disk"),
    "cache_dir": (_path, None, "the folder for them; default: the system's cache folder"),
    "dump": (_stages, None, f"stages to show, comma separated: {', '.join(STAGES)}, or all"),
    "dump_dir": (_path, None, "the folder for them; default: standard error"),
    "plugins": (_text, None, "only these plugins load, comma separated, by entry point or distribution"),
    "fill": (_byte, None, "a byte to fill workspaces and new outputs with before each call, to find what is read before it is written"),
    "compile_timeout": (_seconds, 600.0, "seconds that a compiler may take for one library"),
}

_process: dict[str, Any] = {}
"""What `configure` has set."""
_scoped: ContextVar[Mapping[str, Any]] = ContextVar("tensorjit settings", default=MappingProxyType({}))
"""What the `with settings(...)` blocks around the running code have set, the inner ones over the outer: of each thread and task its own."""


def names() -> list[str]:
    return list(_READERS)


def describe(name: str) -> str:
    return str(_READERS[name][2])


def setting(name: str, argument: Any = None) -> Setting:
    """The value of a setting as it stands now. GraphError, naming the source, for a value that cannot be read."""
    _check_name(name)
    read, default, _ = _READERS[name]
    variable = PREFIX + name.upper()
    in_code = {**_process, **_scoped.get()}.get(name)
    for value, source in ((argument, "argument"), (in_code, "code"), (os.environ.get(variable), f"environment {variable}")):
        if isinstance(value, str):
            value = value.strip() or None
        if value is not None:
            try:
                return Setting(name, read(value), source)
            except ValueError as error:
                what = variable if source.startswith("environment") else name
                raise GraphError(f"{what}: {error}, got {shown(value)} (from {source})") from None
    return Setting(name, default, "default")


def variable(name: str) -> str | None:
    """A toolchain's own variable, such as TENSORJIT_GCC; None when unset or empty."""
    return os.environ.get(name, "").strip() or None


def _check_name(name: str) -> None:
    if name not in _READERS:
        raise GraphError(f"settings: no setting {shown(name)}; there are {', '.join(_READERS)}")


def _check(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        _check_name(name)
        if value is not None:
            setting(name, value)


@contextmanager
def settings(**values: Any) -> Iterator[None]:
    """Settings for the code inside: `with settings(backend="clang", threads=2): ...`. Arguments still win.

    They hold in this thread (and asyncio task); other threads see what `configure` has set.
    """
    _check(values)
    before = _scoped.get()
    _scoped.set({**before, **values})
    try:
        yield
    finally:
        _scoped.set(before)


def configure(**values: Any) -> None:
    """Settings for the whole process, from now on: `configure(backend="clang")`; None takes one back."""
    _check(values)
    for name, value in values.items():
        if value is None:
            _process.pop(name, None)
        else:
            _process[name] = value


@dataclass(frozen=True, slots=True)
class Options:
    """What a graph is compiled with."""

    fuse: bool = True
    max_bytes: int = DEFAULT_MAX_BYTES
    threads: int = 1
    backend: str | None = None
    backend_source: str = "default"
    """Where `backend` came from, for messages."""
    target: str = "native"
    reuse: bool = True
    plan_effort: int = DEFAULT_EFFORT
    donate: tuple[str, ...] = ()
    fill: int | None = None
    thread_work: float = THREAD_WORK

    @classmethod
    def resolve(
        cls,
        *,
        fuse: bool = True,
        max_bytes: int | str | None = None,
        threads: int | None = None,
        backend: str | None = None,
        target: str | None = None,
        reuse: bool | None = None,
        plan_effort: int | None = None,
        donate: Sequence[str] = (),
    ) -> Options:
        """Arguments that are None are taken from the settings."""
        chosen = setting("backend", backend)
        return cls(
            either("fuse", fuse),
            setting("max_bytes", max_bytes).value,
            setting("threads", threads).value,
            chosen.value,
            chosen.source,
            setting("target", target).value,
            setting("reuse", None if reuse is None else either("reuse", reuse)).value,
            setting("plan_effort", plan_effort).value,
            _donated(donate),
            setting("fill").value,
            setting("thread_work").value,
        )


def _donated(names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise GraphError(f"donate: expected the names of inputs, such as ('x',), got {shown(names)}")
    return tuple(dict.fromkeys(names))
