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
from .loops import Contract, Program, walk
from .native_call import NativeEntry
from .options import Options, setting
from .plugins import choose
from .selected import Selected
from .toolchain import Artifact, Library, SourceUnit, Toolchain

NATIVE = Path(__file__).parent / "native"
SUPPORT_FILES = ("pool.c", "call.c")
SUPPORT_FUNCTIONS = (
    "tj_support_table",
    "tj_pool_run",
    "tj_call_slot",
    "tj_call_setup",
    "tj_pool_shutdown",
    "tj_pool_stream",
    "tj_support_lend",
)
PRODUCTS = ("f32", "f64", "i32", "i64")
"""Element types of products, as contract.h numbers them."""

_lock = threading.Lock()
_libraries: dict[tuple[str, str, tuple[str, ...]], Library] = {}
"""The shared libraries of this process. They stay loaded for its whole life: the pool's workers sleep inside their code."""


class Built:
    """A built and loaded program. Thread safe: every call brings its own memory."""

    def __init__(self, selected: Selected, unit: SourceUnit, library: Library, support: Library | None) -> None:
        self.toolchain: Toolchain = selected.toolchain
        self.version = selected.version
        self.source = unit.text
        self.suffix = unit.suffix
        self.entry = NativeEntry(library.function(ENTRY), support)
        self.library = library  # keeps the code loaded


def build(program: Program, options: Options) -> Built:
    """The program built by the toolchain that the options choose."""
    selected = choose(options.backend, options.backend_source)
    unit = selected.render(program)
    if selected.toolchain.dialect is None:
        return Built(selected, unit, _load(selected, unit, (), options), None)
    flags = _flags(selected, unit, options)
    support = support_library(selected, options)
    statements = (stmt for kernel in program.kernels for stmt in walk(kernel.body))
    for dtype in dict.fromkeys(stmt.dtype.short for stmt in statements if isinstance(stmt, Contract)):
        _lend(support, dtype, selected, options)
    return Built(selected, unit, _load(selected, unit, flags, options), support)


def support_library(selected: Selected, options: Options) -> Library:
    """The support library of a toolchain, built at its first use. Products are lent to it as graphs need them."""
    return _shared("support.c", SUPPORT_FILES, SUPPORT_FUNCTIONS, selected, options)


def _lend(support: Library, dtype: str, selected: Selected, options: Options) -> None:
    """Give a support library the product of one element type. They are apart because building all takes seconds, and most graphs need one."""
    product = _shared(f"contract_{dtype}.c", (), (f"tj_contract_{dtype}",), selected, options)
    support.function("tj_support_lend")(PRODUCTS.index(dtype), product.function(f"tj_contract_{dtype}"))


def _shared(file: str, more: tuple[str, ...], exports: tuple[str, ...], selected: Selected, options: Options) -> Library:
    """A library made of a file in native/ (and more files), which all graphs of a toolchain share."""
    unit = SourceUnit(Path(file).stem, (NATIVE / file).read_text(), files=tuple(str(NATIVE / name) for name in more), exports=exports)
    flags = _flags(selected, unit, options)
    key = (file, selected.fingerprint(), flags)
    with _lock:
        library = _libraries.get(key)
        if library is None:
            library = _libraries[key] = _load(selected, unit, flags, options)
            if "tj_pool_shutdown" in exports:
                atexit.register(library.function("tj_pool_shutdown"))
                library.function("tj_pool_stream")(cpu.cache_sizes()[2])
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
