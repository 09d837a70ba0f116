"""Every error class of tjcore. Each docstring says what to do when it is met.

Errors about a graph or a call are `ValueError`, as NumPy users expect; errors about the machine
(compilers, plugins, the cache) are `RuntimeError`. All share the base `TensorJitError`.
"""


def shown(value: object, limit: int = 120) -> str:
    """A value as messages show it: its repr, cut where it would drown the message, and never an error of its own."""
    try:
        text = repr(value)
    except Exception:  # a foreign __repr__, or an int of more digits than Python prints
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


class TensorJitError(Exception):
    """Base of every error that tjcore raises on purpose."""


class GraphError(TensorJitError, ValueError):
    """The graph cannot be built as written: shapes, dtypes, axes or names disagree."""


class TraceError(GraphError, TypeError):
    """A program that is being traced asks for what only a call has: the numbers in an array, or a size where Python needs an int. The message
    says what to write instead."""


class CallError(TensorJitError, ValueError):
    """The arrays or sizes of a call do not fit what the graph declares. Nothing was computed."""


class DtypeError(CallError, TypeError):
    """An array of a call has another element type than declared. Cast it with `astype`."""


class BudgetError(CallError):
    """The call would need more memory than `max_bytes`. Nothing was allocated; use smaller sizes or a larger budget.

    `need` and `budget` are bytes; `fits` is, for each symbol, its largest size that would fit with the others as they are (None: no size would).
    """

    def __init__(self, message: str, *, need: int = 0, budget: int = 0, fits: dict[str, int | None] | None = None) -> None:
        super().__init__(message)
        self.need = need
        self.budget = budget
        self.fits = fits or {}


class PlanError(TensorJitError, ValueError):
    """A memory plan breaks one of its laws. The message names the law and the buffers."""


class InternalError(TensorJitError, RuntimeError):
    """A stage of tjcore produced something its verifier refuses. Please report it with the graph text."""


class ToolchainError(TensorJitError, RuntimeError):
    """No usable toolchain under that name. The message lists what is installed and what is broken."""


class ToolchainUnavailable(ToolchainError):
    """The toolchain's program is not on this machine. The message says what to install."""


class CompileError(ToolchainError):
    """The compiler refused generated code. `command`, `exit_code`, `output` and `source` tell the rest."""

    def __init__(
        self, message: str, *, command: tuple[str, ...] = (), exit_code: int | None = None, output: str = "", source: str = ""
    ) -> None:
        super().__init__(message)
        self.command = command
        self.exit_code = exit_code
        self.output = output
        self.source = source


class LoadError(ToolchainError, OSError):
    """A library was built, or found in the cache, and cannot be loaded. The message says what the system's loader said."""


class PluginError(ToolchainError):
    """A plugin misbehaved; the message names it, and `__cause__` holds what it raised."""


class CacheError(TensorJitError, RuntimeError):
    """The cache folder cannot be trusted (owner or permissions). The message names the path and the variable to set."""
