"""The hooks a plugin may implement. Entry-point group and project name: `tensorjit`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pluggy

from .loops import Program
from .toolchain import Artifact, Library, SourceUnit, Toolchain

PROJECT = "tensorjit"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def tensorjit_toolchains() -> Iterable[Toolchain]:  # type: ignore[empty-body]
    """Offer toolchains. Called once; must start no process.

    A whole plugin for one more compiler:

        from tjcore.hookspecs import hookimpl
        from tjcore.toolchain import GNU, CompilerToolchain

        @hookimpl
        def tensorjit_toolchains():
            yield CompilerToolchain(name="zig", dialect=GNU, variable="TENSORJIT_ZIG", programs=("zig",), ...)
    """


@hookspec(firstresult=True)
def tensorjit_render(program: Program, toolchain: Toolchain) -> SourceUnit | None:
    """Write the source of a program for a toolchain, or return None to leave it to the next plugin; tjcore's C renderer answers last."""


@hookspec(firstresult=True)
def tensorjit_compile(unit: SourceUnit, toolchain: Toolchain, flags: Sequence[str], out_dir: Path) -> Artifact | None:
    """Build a unit inside `out_dir`, or return None; tjcore's own runs `toolchain.command(...)`. A failure is a CompileError."""


@hookspec(firstresult=True)
def tensorjit_load(artifact: Artifact, toolchain: Toolchain) -> Library | None:
    """Load what was built, or return None; tjcore's own opens a shared library."""


@hookspec
def tensorjit_flags(unit: SourceUnit, toolchain: Toolchain) -> Sequence[str]:  # type: ignore[empty-body]
    """More flags for a build, from any plugin (sanitizers, -g); they are part of the cache key."""
