"""From a program to something that runs: render, compile, load, each through the plugins' hooks and the disk cache.

In: a `Program` and options. Out: a `Built`, whose `run` is one native call. What never changes (products, the thread pool) is
the support library: built once per toolchain, flags and CPU by the same hooks, and loaded beside.
"""

from __future__ import annotations

import atexit
import os
import threading
from pathlib import Path

from . import __version__, cache, cpu
from .c_entry import ENTRY
from .loops import Program
from .native_call import NativeEntry
from .options import Options, setting
from .plugins import choose
from .selected import Selected
from .toolchain import Artifact, Library, SourceUnit, Toolchain

NATIVE = Path(__file__).parent / "native"
SUPPORT_FILES = ("pool.c", "call.c", "contract.c", "contract_f32.c", "contract_f64.c", "contract_i32.c", "contract_i64.c")
SUPPORT_FUNCTIONS = ("tj_support_table", "tj_pool_run", "tj_call_slot", "tj_call_setup", "tj_pool_shutdown")

_lock = threading.Lock()
_support: dict[tuple[str, tuple[str, ...]], Library] = {}
"""Support libraries of this process. They stay loaded for its whole life: the pool's workers sleep inside their code."""


class Built:
    """A built and loaded program. Thread safe: every call brings its own memory."""

    def __init__(self, selected: Selected, unit: SourceUnit, library: Library, support: Library | None) -> None:
        self.toolchain: Toolchain = selected.toolchain
        self.version = selected.version
        self.source = unit.text
        self.suffix = unit.suffix
        self.entry = NativeEntry(library.function(ENTRY), support)
        self._library = library  # keeps the code loaded


def build(program: Program, options: Options) -> Built:
    """The program built by the toolchain that the options choose."""
    selected = choose(options.backend, options.backend_source)
    unit = selected.render(program)
    if selected.toolchain.dialect is None:
        return Built(selected, unit, _load(selected, unit, (), options), None)
    flags = _flags(selected, unit, options)
    support = support_library(selected, options)
    return Built(selected, unit, _load(selected, unit, flags, options), support)


def support_library(selected: Selected, options: Options) -> Library:
    """The support library of a toolchain, built at its first use."""
    text = (NATIVE / "support.c").read_text()
    unit = SourceUnit("support", text, files=tuple(str(NATIVE / name) for name in SUPPORT_FILES), exports=SUPPORT_FUNCTIONS)
    flags = _flags(selected, unit, options)
    key = (selected.fingerprint(), flags)
    with _lock:
        library = _support.get(key)
        if library is None:
            library = _support[key] = _load(selected, unit, flags, options)
            atexit.register(library.function("tj_pool_shutdown"))
    return library


def _flags(selected: Selected, unit: SourceUnit, options: Options) -> tuple[str, ...]:
    return (f"-I{NATIVE}", *selected.target_flags(options.target), *selected.flags(unit))


def _load(selected: Selected, unit: SourceUnit, flags: tuple[str, ...], options: Options) -> Library:
    toolchain = selected.toolchain
    key = cache.digest(
        {
            "tjcore": __version__,
            "native": _native_digest(),
            "toolchain": f"{toolchain.name} {selected.fingerprint()}",
            "target": cpu.target_key(options.target),
            "flags": "\0".join(flags),
            "unit": unit.name,
            "source": unit.text,
        }
    )

    def compile_in(folder: Path) -> Path:
        return Path(selected.compile(unit, flags, folder).path)

    about = {"toolchain": toolchain.name, "unit": unit.name}
    return open_disk_cache().load(key, compile_in, lambda path: selected.load(Artifact(path, unit)), about=about)


def _native_digest() -> str:
    global _native
    if _native is None:
        _native = cache.digest({str(p.relative_to(NATIVE)): p.read_bytes() for p in sorted(NATIVE.rglob("*.[ch]"))})
    return _native


_native: str | None = None
_open: tuple[tuple[object, ...], cache.Cache] | None = None


def open_disk_cache() -> cache.Cache:
    """The disk cache as the settings are now."""
    global _open
    folder, enabled = setting("cache_dir").value, setting("cache").value
    state = (folder, enabled, *(os.environ.get(name) for name in ("HOME", "XDG_CACHE_HOME")))
    if _open is None or _open[0] != state:
        where = cache.locate(folder, os.environ)
        _open = (state, cache.open_cache(where, version=__version__, enabled=enabled))
    return _open[1]
