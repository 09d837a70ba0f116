"""Sanitizers for everything that tjcore builds: memory outside of an array and undefined behaviour end the program, with a report.

The process must have started with the address sanitizer's library, as `tox -e sanitize` does. Leaks are not looked for, since Python itself keeps
much until it ends.
"""

from tjcore.hookspecs import hookimpl

FLAGS = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]


@hookimpl
def tensorjit_flags(unit, toolchain):
    gnu = toolchain.dialect is not None and toolchain.dialect.vectors  # the compilers that have the sanitizers
    return FLAGS if gnu else []
