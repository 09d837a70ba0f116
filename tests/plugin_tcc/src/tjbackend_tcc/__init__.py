"""The tcc toolchain for tjcore: the Tiny C Compiler, without vector extensions, in the blink of an eye."""

from collections.abc import Iterable

from tjcore.hookspecs import hookimpl
from tjcore.toolchain import C11, CompilerToolchain, Toolchain


@hookimpl
def tensorjit_toolchains() -> Iterable[Toolchain]:
    yield CompilerToolchain(
        name="tcc",
        dialect=C11,
        variable="TENSORJIT_TCC",
        programs=("tcc",),
        flags=("-shared", "-fPIC", "-pthread"),
        version_arguments=("-v",),
        install="install it (Debian: apt-get install tcc)",
        libraries=("-lm", "-lpthread"),
    )
