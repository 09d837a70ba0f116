"""Opening a toolchain: ready, absent or broken, and why.

In: a toolchain's name. Out: an `Opening`. Absent means that its program is not on this machine, as `probe` says by ToolchainUnavailable; whatever
else goes wrong, down to a first tiny graph that does not come out right, means broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

import tjcore
from tjcore.plugins import choose, manager
from tjcore.toolchain import Toolchain


@dataclass(frozen=True, slots=True)
class Opening:
    """How a toolchain was found. `reason` is empty when it is ready."""

    name: str
    state: Literal["ready", "absent", "broken"]
    reason: str = ""
    toolchain: Toolchain | None = None


def offered() -> list[str]:
    """The names of all toolchains that installed plugins offer, whether usable or not. Starts no process."""
    return list(manager().toolchains)


def declared(name: str) -> Toolchain | None:
    """The toolchain as its plugin offers it, or None. Starts no process."""
    return manager().toolchains.get(name)


@cache
def find_backend(name: str) -> Opening:
    """Ask the toolchain whether it is there; build nothing."""
    try:
        return Opening(name, "ready", "", choose(name).toolchain)
    except tjcore.ToolchainUnavailable as error:
        return Opening(name, "absent", str(error))
    except Exception as error:  # a stranger's code: anything may come, and all of it means broken
        return Opening(name, "broken", f"{type(error).__name__}: {error}")


@cache
def open_backend(name: str) -> Opening:
    """Ask the toolchain, then have it build and run one tiny graph."""
    found = find_backend(name)
    if found.state != "ready":
        return found
    x = tjcore.input("x", (tjcore.Dim("N", 1, 8),))
    try:
        (twice,) = tjcore.CompiledGraph([x + x], backend=name)(x=np.arange(3, dtype=np.float32))
    except Exception as error:
        return Opening(name, "broken", f"cannot build x + x: {type(error).__name__}: {error}")
    if twice.tolist() != [0, 2, 4]:
        return Opening(name, "broken", f"x + x of [0, 1, 2] gave {twice.tolist()}")
    return found
