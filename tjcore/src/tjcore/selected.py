"""A toolchain with the hooks that serve it, and who is to blame when one of them fails.

In: what `plugins` chose. Out: source, libraries, flags. Law: whatever a plugin raises or returns, the caller gets a proper value or a
`ToolchainError` that names the plugin, with the plugin's own error as its cause. KeyboardInterrupt passes through untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pluggy

from . import builtin
from .errors import LoadError, PluginError, TensorJitError
from .loops import Program
from .toolchain import Artifact, Library, SourceUnit, Toolchain


def ask(title: str, toolchain: Toolchain, method: str, *arguments: Any) -> Any:
    """Call a method of a toolchain, which is its plugin's code."""
    try:
        return getattr(toolchain, method)(*arguments)
    except TensorJitError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"plugin {title}: {method}() of toolchain {toolchain.name!r} failed: {type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class Selected:
    """A chosen toolchain. `title` names its plugin in messages; `others` are the plugins whose hooks are not for it."""

    hooks: pluggy.PluginManager
    toolchain: Toolchain
    provider: Any
    title: str
    version: str
    others: tuple[Any, ...]

    def render(self, program: Program) -> SourceUnit:
        unit: SourceUnit = self._call("tensorjit_render", _is_unit, "a SourceUnit", program=program, toolchain=self.toolchain)
        return unit

    def compile(self, unit: SourceUnit, flags: Sequence[str], out_dir: Path) -> Artifact:
        arguments = {"unit": unit, "toolchain": self.toolchain, "flags": flags, "out_dir": out_dir}
        artifact: Artifact = self._call("tensorjit_compile", _is_artifact, "an Artifact whose path is a file", **arguments)
        return artifact

    def load(self, artifact: Artifact) -> Library:
        wanted = "a library with a method function(name)"
        library: Library = self._call("tensorjit_load", _is_library, wanted, artifact=artifact, toolchain=self.toolchain)
        return library

    def flags(self, unit: SourceUnit) -> tuple[str, ...]:
        """What plugins add to the command line, in the order in which they are registered."""
        parts = self._call("tensorjit_flags", _are_flags, "a list of texts", unit=unit, toolchain=self.toolchain)
        return tuple(flag for part in reversed(parts) for flag in part)

    def fingerprint(self) -> str:
        text = ask(self.title, self.toolchain, "fingerprint")
        if not isinstance(text, str) or not text:
            raise PluginError(f"plugin {self.title}: fingerprint() of toolchain {self.toolchain.name!r} must give text, got {text!r}")
        return text

    def target_flags(self, target: str) -> tuple[str, ...]:
        flags = ask(self.title, self.toolchain, "target_flags", target)
        if not _are_words(flags):
            name = self.toolchain.name
            raise PluginError(f"plugin {self.title}: target_flags() of toolchain {name!r} must give a list of texts, got {flags!r}")
        return tuple(flags)

    def _call(self, hook: str, proper: Callable[[Any], bool], wanted: str, **arguments: Any) -> Any:
        caller = self.hooks.subset_hook_caller(hook, self.others)
        try:
            result = caller(**arguments)
        except TensorJitError:
            raise
        except (Exception, SystemExit) as error:
            # The cache builds anew what cannot be loaded, which it knows by OSError.
            kind = LoadError if hook == "tensorjit_load" and isinstance(error, OSError) else PluginError
            title = self._culprit(caller, error)
            raise kind(f"plugin {title} failed in {hook} for toolchain {self.toolchain.name!r}: {type(error).__name__}: {error}") from error
        if not proper(result):
            titles = [i.plugin_name for i in caller.get_hookimpls() if i.plugin is not builtin] or [self.title]
            who = f"plugin {titles[0]}" if len(titles) == 1 else f"one of the plugins {', '.join(sorted(titles))}"
            raise PluginError(f"{who}: {hook} for toolchain {self.toolchain.name!r} must give {wanted}, got {result!r}")
        return result

    def _culprit(self, caller: pluggy.HookCaller, error: BaseException) -> str:
        """The plugin whose code the error came out of: the innermost hook, or method of the toolchain, in the traceback."""
        title, frame = self.title, error.__traceback__
        while frame is not None:
            for i in caller.get_hookimpls():
                if _runs(frame.tb_frame, i.function):
                    title = i.plugin_name
            if frame.tb_frame.f_locals.get("self") is self.toolchain:
                title = self.title
            frame = frame.tb_next
        return title


def _runs(frame: FrameType, function: Any) -> bool:
    """Whether a frame is a run of the function. Objects of one class share their methods' code and differ in self."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    owner = getattr(function, "__self__", None)
    return frame.f_code is code and (owner is None or owner is frame.f_locals.get("self"))


def _is_unit(result: Any) -> bool:
    return isinstance(result, SourceUnit) and isinstance(result.text, str) and isinstance(result.name, str)


def _is_artifact(result: Any) -> bool:
    return isinstance(result, Artifact) and Path(result.path).is_file()


def _is_library(result: Any) -> bool:
    return callable(getattr(result, "function", None))


def _are_words(result: Any) -> bool:
    return isinstance(result, (list, tuple)) and all(isinstance(word, str) for word in result)


def _are_flags(result: Any) -> bool:
    return all(map(_are_words, result))
