"""Which plugins are installed: the entry points of group `tensorjit`, found without importing any of them.

In: the metadata of the installed distributions, and the value of TENSORJIT_PLUGINS. Out: a `Discovery`. Law: the same installation gives
the same plugins in the same order, whatever the order of sys.path; a distribution whose metadata cannot be read is told apart and stops nothing.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import importlib.metadata

GROUP = "tensorjit"
NONE = "none"
"""As the value of TENSORJIT_PLUGINS: no plugin at all."""


@dataclass(frozen=True, slots=True)
class Found:
    """An entry point as it is installed. `point.load()` imports it."""

    name: str
    distribution: str
    version: str
    point: Any

    @property
    def title(self) -> str:
        """How messages name the plugin: `tcc (tjbackend-tcc 0.3)`."""
        return f"{self.name} ({self.distribution} {self.version})"


@dataclass(slots=True)
class Discovery:
    """What there is to load; what TENSORJIT_PLUGINS leaves out; which of its words name nothing; what cannot be read, by title."""

    found: list[Found] = field(default_factory=list)
    left_out: list[Found] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unreadable: dict[str, Exception] = field(default_factory=dict)


def discover(only: str | None = None) -> Discovery:
    """The installed plugins. `only`: names of entry points or distributions, comma separated; `none` for no plugin."""
    import importlib.metadata  # here: importing tjcore should not wait for what a first compilation needs

    seen: set[str] = set()
    result = Discovery()
    points: list[Found] = []
    for distribution in importlib.metadata.distributions():
        try:
            text = distribution.read_text("entry_points.txt")
            if not text or f"[{GROUP}]" not in text:
                continue
            name, version = _identity(distribution)
            if _plain(name) in seen:
                continue  # listed twice, or an older copy further back on sys.path: Python imports the first, so that one counts
            seen.add(_plain(name))
            points += [Found(p.name, name, version, p) for p in distribution.entry_points if p.group == GROUP]
        except Exception as error:
            result.unreadable[f"of {_folder(distribution)}"] = error
    wanted = None if only is None else [word.strip() for word in only.split(",") if word.strip()]
    for found in sorted(points, key=lambda f: (_plain(f.distribution), f.name, f.point.value)):
        chosen = wanted is None or any(word == found.name or _plain(word) == _plain(found.distribution) for word in wanted)
        (result.found if chosen else result.left_out).append(found)
    known = {f.name for f in points} | {_plain(f.distribution) for f in points} | {NONE}
    result.unknown = [word for word in wanted or () if word not in known and _plain(word) not in known]
    return result


def _identity(distribution: importlib.metadata.Distribution) -> tuple[str, str]:
    """Name and version; from the folder's name where there is no readable METADATA."""
    with contextlib.suppress(Exception):  # which error a missing METADATA raises differs between Python versions
        name: Any = distribution.metadata["Name"]
        version: Any = distribution.version
        if isinstance(name, str) and isinstance(version, str):
            return name, version
    stem = re.sub(r"\.(dist|egg)-info$", "", _folder(distribution))
    first, _, second = stem.partition("-")
    return first, second or "?"


def _folder(distribution: importlib.metadata.Distribution) -> str:
    path = getattr(distribution, "_path", None)  # the one thing that a distribution without metadata can be named by
    return str(getattr(path, "name", "an unreadable distribution"))


def _plain(name: str) -> str:
    """A distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
