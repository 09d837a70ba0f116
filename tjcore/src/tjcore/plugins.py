"""The plugin manager: who offers which toolchain, who is broken and why, and which toolchain a graph is built with.

In: the entry points of group `tensorjit`. Out: `Selected`, a toolchain and the hooks that serve it. A plugin that fails to import
or to register is left out and remembered; the others work on. Nothing is imported before a toolchain is asked for.
"""

from __future__ import annotations

import importlib.metadata
import threading
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pluggy

from . import builtin, hookspecs
from .errors import PluginError, TensorJitError, ToolchainError, ToolchainUnavailable
from .hookspecs import PROJECT
from .loops import Program
from .options import setting
from .toolchain import Artifact, Library, SourceUnit, Toolchain

PREFERRED = ("gcc", "clang")
"""Toolchains that are taken first when none is named; then come the others by name, then the reference evaluator."""
REFERENCE = "reference"
HINT = "pip install tjbackend-gcc (or tjbackend-clang, or another toolchain plugin)"


@dataclass(frozen=True, slots=True)
class Found:
    """An entry point as it is installed."""

    name: str
    distribution: str
    version: str
    point: Any

    @property
    def title(self) -> str:
        """How messages name the plugin: `tcc (tjbackend-tcc 0.3)`."""
        return f"{self.name} ({self.distribution} {self.version})"


@dataclass(frozen=True, slots=True)
class Status:
    """A row of `tensorjit backends`. `health`: ready, absent (its program is not here) or broken."""

    toolchain: str
    plugin: str
    health: str
    detail: str
    hooks: tuple[str, ...]


class Manager:
    """Plugins of one process. `discover=False` starts with tjcore's own only; `add` registers an object as if it were installed."""

    def __init__(self, *, discover: bool = True) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._manager.register(builtin, "tjcore")
        self.broken: dict[str, BaseException] = {}
        self._toolchains: dict[str, tuple[Toolchain, Any]] = {}
        self._clashes: dict[str, list[str]] = {}
        self._offer(builtin, "tjcore")
        if discover:
            for found in installed():
                self._load(found)

    def _load(self, found: Found) -> None:
        try:
            plugin = found.point.load()
        except Exception as error:  # whatever a stranger's module raises; its message is kept for those who ask
            self.broken[found.title] = error
            return
        self.add(plugin, found.title)

    def add(self, plugin: Any, title: str) -> None:
        """Register a plugin under the name that messages use. One that pluggy refuses, or whose toolchains cannot be listed, is remembered as broken."""
        try:
            self._manager.register(plugin, title)
            self._manager.check_pending()
        except Exception as error:
            if self._manager.get_plugin(title) is not None:
                self._manager.unregister(name=title)
            self.broken[title] = error
            return
        try:
            self._offer(plugin, title)
        except Exception as error:
            self._manager.unregister(name=title)
            self.broken[title] = error

    def _offer(self, plugin: Any, title: str) -> None:
        hook = getattr(plugin, "tensorjit_toolchains", None)
        if hook is None:
            return
        offered = list(hook())
        for toolchain in offered:
            if not isinstance(toolchain, Toolchain):
                raise PluginError(f"plugin {title}: tensorjit_toolchains must give Toolchain values, got {toolchain!r}")
        for toolchain in offered:
            if toolchain.name in self._toolchains or toolchain.name in self._clashes:
                first = self._clashes.setdefault(toolchain.name, [])
                if not first:
                    first.append(self._title(self._toolchains.pop(toolchain.name)[1]))
                first.append(title)
            else:
                self._toolchains[toolchain.name] = (toolchain, plugin)

    def _title(self, plugin: Any) -> str:
        return self._manager.get_name(plugin) or "an unregistered plugin"

    @property
    def toolchains(self) -> dict[str, Toolchain]:
        """Every toolchain that one plugin, and one only, offers; by name, in the order in which a default is sought."""
        order = sorted(self._toolchains, key=lambda n: (n == REFERENCE, PREFERRED.index(n) if n in PREFERRED else len(PREFERRED), n))
        return {name: self._toolchains[name][0] for name in order}

    def select(self, name: str | None = None) -> Selected:
        """The toolchain of that name, by the settings when it is None."""
        chosen = setting("backend", name)
        if chosen.value is not None:
            asked = chosen.value.strip()
            self._refuse_unknown(asked, chosen.source)
            toolchain, plugin = self._toolchains[asked]
            toolchain.probe()
            return Selected(self, toolchain, plugin)
        reasons = []
        for candidate, toolchain in self.toolchains.items():
            if candidate == REFERENCE:
                break
            try:
                toolchain.probe()
            except ToolchainUnavailable as error:
                reasons.append(f"  {error}")
                continue
            return Selected(self, toolchain, self._toolchains[candidate][1])
        _warn_once(
            "no compiler plugin is usable, so graphs are evaluated by the slow reference evaluator; "
            + "\n".join([HINT, *reasons, *self._troubles()])
        )
        toolchain, plugin = self._toolchains[REFERENCE]
        return Selected(self, toolchain, plugin)

    def _refuse_unknown(self, name: str, source: str) -> None:
        if name in self._clashes:
            raise ToolchainError(f"toolchain {name!r} is offered by {' and by '.join(self._clashes[name])}; uninstall all but one")
        if name in self._toolchains:
            return
        lines = [f"no toolchain {name!r} (from {source})"]
        near = [n for n in self._toolchains if n.lower() == name.lower()]
        if near:
            lines[0] += f"; did you mean {near[0]!r}?"
        lines.append(f"  installed: {', '.join(self.toolchains)}")
        lines += self._troubles()
        lines.append(f"  to install one: {HINT}")
        raise ToolchainError("\n".join(lines))

    def _troubles(self) -> list[str]:
        lines = [f"  clash: {name} is offered by {' and by '.join(titles)}" for name, titles in sorted(self._clashes.items())]
        return lines + [f"  broken: plugin {title}: {type(e).__name__}: {e}" for title, e in sorted(self.broken.items())]

    def status(self) -> list[Status]:
        """What is installed, toolchain by toolchain, then plugins that offer none, then what is broken."""
        rows = []
        for name, toolchain in self.toolchains.items():
            plugin = self._toolchains[name][1]
            try:
                health, detail = "ready", toolchain.probe()
            except ToolchainUnavailable as error:
                health, detail = "absent", str(error)
            except Exception as error:
                health, detail = "broken", f"{type(error).__name__}: {error}"
            rows.append(Status(name, self._title(plugin), health, detail, self._hooks(plugin)))
        providers = [plugin for _, plugin in self._toolchains.values()]
        for title, plugin in self._manager.list_name_plugin():
            if plugin is not None and plugin not in providers and title not in str(self._clashes):
                rows.append(Status("-", title, "ready", "offers no toolchain", self._hooks(plugin)))
        rows += [
            Status(name, " and ".join(titles), "broken", "two plugins offer this name", ())
            for name, titles in sorted(self._clashes.items())
        ]
        rows += [Status("-", title, "broken", f"{type(e).__name__}: {e}", ()) for title, e in sorted(self.broken.items())]
        return rows

    def _hooks(self, plugin: Any) -> tuple[str, ...]:
        callers = self._manager.get_hookcallers(plugin) or []
        return tuple(sorted(c.name.removeprefix("tensorjit_") for c in callers))

    def hook(self, name: str, provider: Any) -> Any:
        """A hook without the providers of other toolchains, so that no plugin needs to ask whether a toolchain is its own."""
        others = [plugin for _, plugin in self._toolchains.values() if plugin is not provider and plugin is not builtin]
        return self._manager.subset_hook_caller(name, others)

    def blame(self, hook: str, toolchain: Toolchain, provider: Any, error: Exception) -> NoReturn:
        """Raise PluginError naming the plugin whose code `error` came from."""
        titles = {
            self._module(plugin): title
            for title, plugin in self._manager.list_name_plugin()
            if plugin is not None and plugin is not builtin
        }
        frame, culprit = error.__traceback__, None
        while frame is not None:
            culprit = titles.get(frame.tb_frame.f_globals.get("__name__", ""), culprit)
            frame = frame.tb_next
        title = culprit or self._title(provider)
        raise PluginError(f"plugin {title} failed in {hook} for toolchain {toolchain.name!r}: {type(error).__name__}: {error}") from error

    @staticmethod
    def _module(plugin: Any) -> str:
        return str(getattr(plugin, "__name__", None) or type(plugin).__module__)


@dataclass(frozen=True, slots=True)
class Selected:
    """A toolchain and the hooks that serve it."""

    manager: Manager
    toolchain: Toolchain
    provider: Any

    def render(self, program: Program) -> SourceUnit:
        unit: SourceUnit = self._call("tensorjit_render", SourceUnit, program=program, toolchain=self.toolchain)
        return unit

    def compile(self, unit: SourceUnit, flags: Sequence[str], out_dir: Path) -> Artifact:
        artifact: Artifact = self._call("tensorjit_compile", Artifact, unit=unit, toolchain=self.toolchain, flags=flags, out_dir=out_dir)
        if not Path(artifact.path).is_file():
            title = self.manager._title(self.provider)
            raise PluginError(f"plugin {title}: tensorjit_compile for {self.toolchain.name!r} gave {artifact.path}, which does not exist")
        return artifact

    def load(self, artifact: Artifact) -> Library:
        library: Library = self._call("tensorjit_load", None, artifact=artifact, toolchain=self.toolchain)
        return library

    def flags(self, unit: SourceUnit) -> tuple[str, ...]:
        parts = self._call("tensorjit_flags", list, unit=unit, toolchain=self.toolchain)
        return tuple(flag for part in reversed(parts) for flag in part)

    def _call(self, hook: str, kind: type | None, **arguments: Any) -> Any:
        try:
            result = self.manager.hook(hook, self.provider)(**arguments)
        except TensorJitError:
            raise
        except OSError as error:
            if hook == "tensorjit_load":
                raise
            self.manager.blame(hook, self.toolchain, self.provider, error)
        except Exception as error:
            self.manager.blame(hook, self.toolchain, self.provider, error)
        if result is None or (kind is not None and not isinstance(result, kind)):
            title = self.manager._title(self.provider)
            wanted = kind.__name__ if kind else "a library"
            raise PluginError(f"plugin {title}: {hook} for {self.toolchain.name!r} must give {wanted}, got {result!r}")
        return result


def installed() -> list[Found]:
    """The installed plugins, one per entry point, in a fixed order. TENSORJIT_PLUGINS, a comma-separated list, restricts them."""
    only = setting("plugins").value
    wanted = None if only is None else {word.strip() for word in only.split(",")}
    found: dict[tuple[str, str, str], Found] = {}
    for point in importlib.metadata.entry_points(group=PROJECT):
        name = point.dist.name if point.dist else "unknown"
        version = point.dist.version if point.dist else "?"
        if wanted is None or point.name in wanted or name in wanted:
            found.setdefault(
                (name.lower(), point.name, point.value), Found(point.name, name, version, point)
            )  # one distribution may be on the path twice
    return [found[key] for key in sorted(found)]


_lock = threading.Lock()
_current: Manager | None = None
_warned: set[str] = set()


def manager() -> Manager:
    """The process's manager, made at the first use."""
    global _current
    with _lock:
        if _current is None:
            _current = Manager()
        return _current


def choose(name: str | None = None) -> Selected:
    """The toolchain to build with: argument, then settings, then environment, then the first that works."""
    return manager().select(name)


def toolchain_names() -> Iterable[str]:
    return manager().toolchains


def _warn_once(text: str) -> None:
    with _lock:
        if text in _warned:
            return
        _warned.add(text)
    warnings.warn(text, RuntimeWarning, stacklevel=4)
