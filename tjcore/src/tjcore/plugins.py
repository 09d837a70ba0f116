"""The plugin manager: who offers which toolchain, who is broken and why, and which toolchain a graph is built with.

In: plugins, as `discovery` finds them. Out: `Selected`, a toolchain and the hooks that serve it. A plugin that fails to import
or to register is left out and remembered; the others work on. Nothing is imported before a toolchain is asked for.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from dataclasses import dataclass
from typing import Any

import pluggy

from . import builtin, hookspecs
from .discovery import Discovery, discover
from .errors import PluginError, ToolchainError, ToolchainUnavailable
from .hookspecs import PROJECT
from .options import setting
from .selected import Selected, ask
from .toolchain import Toolchain

PREFERRED = ("gcc", "clang")
"""Toolchains that are taken first when none is named; then come the others by name, then the reference evaluator."""
REFERENCE = "reference"
CORE = "tjcore"
"""The title of tjcore's own plugin."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")


@dataclass(frozen=True, slots=True)
class Status:
    """A row of `tensorjit backends`. `health`: ready, absent (its program is not here), broken, or left out (TENSORJIT_PLUGINS)."""

    toolchain: str
    plugin: str
    health: str
    detail: str
    hooks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """A toolchain and the plugin that offers it."""

    toolchain: Toolchain
    plugin: Any
    title: str


class Manager:
    """Plugins of one process. `discover=False` starts with tjcore's own only; `add` registers an object as if it were installed."""

    def __init__(self, *, discover: bool = True) -> None:
        self._pluggy = pluggy.PluginManager(PROJECT)
        self._pluggy.add_hookspecs(hookspecs)
        self.broken: dict[str, BaseException] = {}
        self._offers: dict[str, list[Offer]] = {}
        self._discovery = Discovery()
        self.add(builtin, CORE)
        if discover:
            self._discover()

    def _discover(self) -> None:
        self._discovery = discover(setting("plugins").value)
        self.broken.update(self._discovery.unreadable)
        for found in self._discovery.found:
            try:
                plugin = found.point.load()
            except (Exception, SystemExit) as error:  # whatever a stranger's module raises; it is kept for those who ask
                self.broken[found.title] = error
                continue
            self.add(plugin, found.title)

    # ---------------------------------------------------------------- registering
    def add(self, plugin: Any, title: str) -> None:
        """Register a plugin under the name that messages use. One that cannot be used is remembered as broken, with the reason."""
        if self._pluggy.is_registered(plugin):
            return  # two entry points that name one object offer nothing twice
        if self._pluggy.has_plugin(title) or title in self.broken:
            title = f"{title}, again"
        try:
            self._register(plugin, title)
            offered = self._offered(plugin, title)
        except (Exception, SystemExit) as error:
            if self._pluggy.get_plugin(title) is plugin:
                self._pluggy.unregister(name=title)
            self.broken[title] = error
            return
        for toolchain in offered:
            self._offers.setdefault(toolchain.name, []).append(Offer(toolchain, plugin, title))

    def _register(self, plugin: Any, title: str) -> None:
        hash(plugin)  # pluggy keeps plugins in sets, and would fail at the first call only
        # Before pluggy, which takes a function without its mark for no hook at all, and says nothing.
        for name in dir(plugin):
            if (
                name.startswith(f"{PROJECT}_")
                and callable(getattr(plugin, name))
                and self._pluggy.parse_hookimpl_opts(plugin, name) is None
            ):
                raise PluginError(f"{name} is not marked as a hook: put @hookimpl (from tjcore.hookspecs) above it")
        self._pluggy.register(plugin, title)
        self._pluggy.check_pending()  # looks at every plugin, but those before this one have passed
        if not self._pluggy.get_hookcallers(plugin):
            raise PluginError(f"{plugin!r} has no hooks: does the entry point name the module, or object, that has them?")

    def _offered(self, plugin: Any, title: str) -> list[Toolchain]:
        given: list[Toolchain] = []
        for hook in self._pluggy.hook.tensorjit_toolchains.get_hookimpls():
            if hook.plugin is not plugin:
                continue
            if hook.wrapper or hook.hookwrapper:
                raise PluginError("tensorjit_toolchains cannot be a wrapper: a plugin offers its own toolchains only")
            answer = hook.function()
            if isinstance(answer, Toolchain) or not hasattr(answer, "__iter__"):
                raise PluginError(f"tensorjit_toolchains must yield Toolchain values (or return a list of them), got {answer!r}")
            given += answer
        names: set[str] = set()
        for toolchain in given:
            if not isinstance(toolchain, Toolchain):
                raise PluginError(f"tensorjit_toolchains must yield Toolchain values, got {toolchain!r}")
            if not isinstance(toolchain.name, str) or not _NAME.fullmatch(toolchain.name):
                raise PluginError(f"a toolchain's name is one word of letters, digits and _.+-, got {toolchain.name!r}")
            if toolchain.name == REFERENCE and title != CORE:
                raise PluginError(f"toolchain {REFERENCE!r} is tjcore's own; give yours another name")
            if toolchain.name in names:
                raise PluginError(f"offers two toolchains named {toolchain.name!r}")
            names.add(toolchain.name)
        return given

    # ---------------------------------------------------------------- choosing
    @property
    def toolchains(self) -> dict[str, Toolchain]:
        """Every toolchain that one plugin, and one only, offers; by name, in the order in which a default is sought."""
        return {name: self._offers[name][0].toolchain for name in self._order() if len(self._offers[name]) == 1}

    def _order(self) -> list[str]:
        return sorted(self._offers, key=lambda n: (n == REFERENCE, PREFERRED.index(n) if n in PREFERRED else len(PREFERRED), n))

    def select(self, name: str | None = None, source: str = "argument") -> Selected:
        """The toolchain of that name, which came from `source`; by the settings when it is None or empty."""
        chosen = setting("backend", name)
        if chosen.value is None:
            return self._default()
        offer = self._named(chosen.value, source if chosen.source == "argument" else chosen.source)
        asked = f"toolchain {chosen.value!r} (from {source if chosen.source == 'argument' else chosen.source}) of plugin {offer.title}"
        try:
            version = self._probe(offer)
        except ToolchainUnavailable as error:
            raise ToolchainUnavailable(f"{asked} is not usable\n  {error}") from error
        except PluginError:
            raise
        except ToolchainError as error:
            raise ToolchainError(f"{asked} is not usable\n  {error}") from error
        return self._selected(offer, version)

    def _named(self, name: str, source: str) -> Offer:
        offers = self._offers.get(name, [])
        if len(offers) == 1:
            return offers[0]
        if offers:
            raise self._clash(name)
        lines = [f"no toolchain {name!r} (from {source})"]
        near = [n for n in self._order() if n.lower() == name.lower()]
        if near:
            lines[0] += f"; did you mean {near[0]!r}?"
        elif "," in name:
            lines[0] += "; name one, not a list"
        lines.append(f"  installed: {', '.join(self.toolchains)}")
        lines += self._troubles()
        lines.append(f"  to install one: {_hint(name)}")
        raise ToolchainError("\n".join(lines))

    def _clash(self, name: str) -> ToolchainError:
        titles = " and by ".join(offer.title for offer in self._offers[name])
        return ToolchainError(
            f"toolchain {name!r} is offered by {titles}; uninstall all but one, or name which to load in TENSORJIT_PLUGINS"
        )

    def _default(self) -> Selected:
        """The first that works. One that is not installed is passed over; one that is there and fails is too, with a warning."""
        reasons, failed = [], False
        for name in self._order():
            if name == REFERENCE:
                break
            if len(self._offers[name]) > 1:
                raise self._clash(name)  # whichever was taken, somebody would get another than they installed it for
            offer = self._offers[name][0]
            try:
                version = self._probe(offer)
            except ToolchainError as error:
                reasons.append(f"  {error}")
                failed |= not isinstance(error, ToolchainUnavailable)
                continue
            if failed:
                _warn_once("\n".join([f"toolchain {name!r} is used, because those before it do not work", *reasons]))
            return self._selected(offer, version)
        lines = ["no compiler plugin is usable, so graphs are evaluated by the slow reference evaluator", *reasons, *self._troubles()]
        if not reasons:
            lines.append(f"  to install one: {_hint()}")
        lines.append(f"  backend={REFERENCE!r} or TENSORJIT_BACKEND={REFERENCE} says that this is meant")
        _warn_once("\n".join(lines))
        offer = self._offers[REFERENCE][0]
        return self._selected(offer, self._probe(offer))

    def _probe(self, offer: Offer) -> str:
        version = ask(offer.title, offer.toolchain, "probe")
        if not isinstance(version, str) or not version.strip():
            raise PluginError(
                f"plugin {offer.title}: probe() of toolchain {offer.toolchain.name!r} must give its version line, got {version!r}"
            )
        return version

    def _selected(self, offer: Offer, version: str) -> Selected:
        # Hooks of the other providers are not for this toolchain, so that no plugin needs to ask whether it is its own; plugins that
        # offer none (a source dumper, a sanitizer switch) serve every one.
        others = [o.plugin for offers in self._offers.values() for o in offers if o.plugin is not offer.plugin and o.plugin is not builtin]
        return Selected(self._pluggy, offer.toolchain, offer.plugin, offer.title, version, tuple(others))

    # ---------------------------------------------------------------- telling
    def _troubles(self) -> list[str]:
        clashes = [name for name in self._order() if len(self._offers[name]) > 1]
        lines = [f"  clash: {self._clash(name)}" for name in clashes]
        lines += [f"  broken: plugin {title}: {_told(error)}" for title, error in sorted(self.broken.items())]
        if self._discovery.left_out:
            lines.append(f"  left out by TENSORJIT_PLUGINS: {', '.join(f.title for f in self._discovery.left_out)}")
        lines += [f"  TENSORJIT_PLUGINS names {word!r}, which is not installed" for word in self._discovery.unknown]
        return lines

    def status(self) -> list[Status]:
        """What is installed: toolchain by toolchain, then plugins that offer none, then what is broken or left out."""
        rows = []
        for name in self._order():
            offers = self._offers[name]
            if len(offers) > 1:
                rows.append(Status(name, " and ".join(o.title for o in offers), "broken", str(self._clash(name)), ()))
                continue
            try:
                health, detail = "ready", self._probe(offers[0])
            except ToolchainUnavailable as error:
                health, detail = "absent", str(error)
            except ToolchainError as error:
                health, detail = "broken", str(error)
            rows.append(Status(name, offers[0].title, health, detail, self._hooks(offers[0].plugin)))
        providers = {o.title for offers in self._offers.values() for o in offers}
        for title, plugin in self._pluggy.list_name_plugin():
            if plugin is not None and title not in providers:
                rows.append(Status("-", title, "ready", "offers no toolchain", self._hooks(plugin)))
        rows += [Status("-", title, "broken", _told(error), ()) for title, error in sorted(self.broken.items())]
        rows += [Status("-", found.title, "left out", "by TENSORJIT_PLUGINS", ()) for found in self._discovery.left_out]
        rows += [Status("-", word, "absent", "named in TENSORJIT_PLUGINS and not installed", ()) for word in self._discovery.unknown]
        return rows

    def _hooks(self, plugin: Any) -> tuple[str, ...]:
        callers = self._pluggy.get_hookcallers(plugin) or []
        return tuple(sorted(c.name.removeprefix(f"{PROJECT}_") for c in callers))


def _told(error: BaseException) -> str:
    """An error in one line, by its class unless it is ours and says all itself."""
    text = " ".join(str(error).split())
    return text if isinstance(error, PluginError) else f"{type(error).__name__}: {text}".removesuffix(": ")


def _hint(name: str = "") -> str:
    known = [f"pip install tjbackend-{n}" for n in PREFERRED]
    if name.lower() in PREFERRED:
        return f"pip install tjbackend-{name.lower()}"
    return f"{known[0]} (or {', '.join(known[1:])}, or another toolchain plugin)"


# ---------------------------------------------------------------- the process's manager
_lock = threading.RLock()
_making = False
_current: Manager | None = None
_warned: set[str] = set()


def manager() -> Manager:
    """The process's manager, made at the first use."""
    global _current, _making
    with _lock:
        if _current is None:
            if _making:
                raise PluginError("a toolchain was asked for while plugins are being loaded; a plugin must not build or choose at import")
            _making = True
            try:
                _current = Manager()
            finally:
                _making = False
        return _current


def choose(name: str | None = None, source: str = "argument") -> Selected:
    """The toolchain to build with: argument, then settings, then environment, then the first that works. `source`: where `name` came from."""
    return manager().select(name, source)


def _renew_lock() -> None:
    """In a forked child: the thread that held the lock, and was making the manager, has stayed behind."""
    global _lock, _making
    _lock = threading.RLock()
    _making = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _warn_once(text: str) -> None:
    with _lock:
        if text in _warned:
            return
        _warned.add(text)
    warnings.warn(text, RuntimeWarning, stacklevel=_outside())


def _outside() -> int:
    """The stack level, for a warning of the caller's, of the code that called into tjcore."""
    level = 1
    while sys._getframe(level).f_globals.get("__package__") == __package__ and sys._getframe(level).f_back is not None:
        level += 1
    return level
