"""The command line: `tensorjit demo`, `backends`, `doctor`, `cache`. Needs the extra `tjcore[cli]` (click)."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence

import click
import numpy as np

from . import __version__, cpu, demo, options
from .build import open_disk_cache
from .errors import TensorJitError
from .plugins import manager


class _Group(click.Group):
    """Errors that tjcore raises on purpose are messages here, not tracebacks."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except TensorJitError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tensorjit")
def main() -> None:
    """tjcore: a dynamic tensor compiler with fusion and planned memory."""


@main.command("demo")
@click.option("--backend", help="The toolchain to build with.")
def demo_command(backend: str | None) -> None:
    """Train a classifier of handwritten digits, and show its kernels and its memory plan."""
    demo.run(sys.stdout, backend)


@main.command()
def backends() -> None:
    """Which toolchains are installed, from which plugin, and whether they work."""
    rows = [("toolchain", "health", "plugin", "hooks", "")]
    rows += [(s.toolchain, s.health, s.plugin, " ".join(s.hooks), s.detail) for s in manager().status()]
    _table(rows)


def _table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    for row in rows:
        first, *more = (row[-1] or "").splitlines() or [""]
        click.echo("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), first]).rstrip())
        for line in more:
            click.echo(f"{'':{sum(widths) + 2 * len(widths)}}{line}")


@main.command()
def doctor() -> None:
    """The machine, each setting with where its value came from, and the toolchains."""
    caches = ", ".join(f"{size // 1024} KiB" for size in cpu.cache_sizes())
    click.echo(f"tjcore {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, {platform.platform()}")
    click.echo(f"CPU: {cpu.model()}; {cpu.usable_cores()} usable cores; caches {caches}; vectors of {cpu.vector_bytes('native')} bytes\n")
    rows = [("setting", "value", "from", "")]
    for name in options.names():
        try:
            setting = options.setting(name)
            rows.append((name, str(setting.value), setting.source, options.describe(name)))
        except TensorJitError as error:
            rows.append((name, "unreadable", "", str(error)))
    _table(rows)
    click.echo()
    backends.callback()  # type: ignore[misc]


@main.group("cache")
def cache_group() -> None:
    """The built libraries that are kept on disk."""


@cache_group.command("info")
def cache_info() -> None:
    """Where the cache is and what it holds."""
    info = open_disk_cache().info()
    for name in ("folder", "entries", "bytes", "limit"):
        value = getattr(info, name, None)
        click.echo(f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}")


@cache_group.command("clear")
def cache_clear() -> None:
    """Remove every entry."""
    click.echo(f"removed {open_disk_cache().clear():,} bytes")


@cache_group.command("prune")
@click.option("--max-bytes", default=None, help="Keep at most so much, such as '100 MiB'; default: the cache's own limit.")
def cache_prune(max_bytes: str | None) -> None:
    """Remove the entries that were not used for longest."""
    limit = None if max_bytes is None else options.setting("max_bytes", max_bytes).value
    click.echo(f"removed {open_disk_cache().prune(limit):,} bytes")
