"""The hooks a plugin may implement. Entry-point group and project name: `tensorjit`.

An implementation carries `@hookimpl` and may leave out arguments that it does not need. Hooks of a plugin that offers toolchains are
called for its own toolchains only; those of a plugin that offers none are called for every toolchain. docs/plugins.md is the guide.
"""

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
    """Offer toolchains. Called once, when the first toolchain is asked for; must start no process.

    For a compiler with cc's command line, this is the whole plugin:

        from tjcore.hookspecs import hookimpl
        from tjcore.toolchain import C11, CompilerToolchain

        @hookimpl
        def tensorjit_toolchains():
            yield CompilerToolchain(
                name="tcc",
                dialect=C11,
                variable="TENSORJIT_TCC",
                programs=("tcc",),
                flags=("-shared", "-fPIC"),
                version_arguments=("-v",),
                install="install it (Debian: apt-get install tcc)",
                libraries=("-lm", "-lpthread"),
            )
    """


@hookspec(firstresult=True)
def tensorjit_render(program: Program, toolchain: Toolchain) -> SourceUnit | None:
    """Write the source of a program for a toolchain, or return None to leave it to the next plugin; tjcore's C renderer answers last.

    For instance, keep every source in a folder, whatever toolchain it is for:

        from pathlib import Path
        from tjcore.hookspecs import hookimpl

        @hookimpl(wrapper=True)
        def tensorjit_render(toolchain):
            unit = yield
            Path(f"/tmp/{toolchain.name}-{unit.name}{unit.suffix}").write_text(unit.text)
            return unit
    """


@hookspec(firstresult=True)
def tensorjit_compile(unit: SourceUnit, toolchain: Toolchain, flags: Sequence[str], out_dir: Path) -> Artifact | None:
    """Build a unit inside `out_dir`, or return None; tjcore's own runs `toolchain.command(...)`. A failure is a CompileError.

    For instance, say how long each build took:

        import time
        from tjcore.hookspecs import hookimpl

        @hookimpl(wrapper=True)
        def tensorjit_compile(unit, toolchain):
            start = time.perf_counter()
            artifact = yield
            print(f"{toolchain.name}: {unit.name} in {time.perf_counter() - start:.3f} s")
            return artifact
    """


@hookspec(firstresult=True)
def tensorjit_load(artifact: Artifact, toolchain: Toolchain) -> Library | None:
    """Load what was built, or return None; tjcore's own opens a shared library and checks that it has `artifact.unit.exports`.

    For instance, for a toolchain whose artifacts are Python files:

        import runpy
        from tjcore.hookspecs import hookimpl

        class PythonLibrary:
            def __init__(self, path):
                self.names = runpy.run_path(str(path))

            def function(self, name):
                return self.names[name]

        @hookimpl
        def tensorjit_load(artifact):
            return PythonLibrary(artifact.path)
    """


@hookspec
def tensorjit_flags(unit: SourceUnit, toolchain: Toolchain) -> Sequence[str]:  # type: ignore[empty-body]
    """More flags for a build, from any plugin; they are part of the cache key.

    For instance, debug information and a sanitizer (which stops the program at the fault, and needs no library for that) for compilers
    that speak GNU C:

        from tjcore.hookspecs import hookimpl

        @hookimpl
        def tensorjit_flags(toolchain):
            gnu = toolchain.dialect is not None and toolchain.dialect.vectors
            return ["-g", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"] if gnu else []
    """
