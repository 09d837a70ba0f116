"""The gcc toolchain for tjcore: the command, its flags, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from tjcore.hookspecs import hookimpl
from tjcore.toolchain import GNU, CompilerToolchain, Toolchain

FLAGS = (
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-shared",
    "-pthread",
    "-ffp-contract=off",  # a product and a sum stay two operations, as the graph says
    "-fno-math-errno",  # nothing here reads errno
    "-fwrapv",  # integers wrap
)


@hookimpl
def tensorjit_toolchains() -> Iterable[Toolchain]:
    yield CompilerToolchain(
        name="gcc",
        dialect=GNU,
        variable="TENSORJIT_GCC",
        programs=("gcc",),
        flags=FLAGS,
        install="install it (Debian: apt-get install gcc)",
        march=True,
    )
