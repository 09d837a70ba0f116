"""The command line: `tensorjit demo`, `explain`, `backends`, `doctor`, `cache`. Needs the extra `tjcore[cli]` (click)."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from . import __version__, cpu, demo, drawing, explain, options
from .build import open_disk_cache
from .errors import GraphError, TensorJitError
from .graph import Expr
from .layout import Layout
from .plugins import manager
from .program import compile_plan
from .questions import Questions
from .runtime import CompiledGraph
from .text import read_graph


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


@main.command("explain")
@click.argument("graph")
@click.option("--json", "as_json", is_flag=True, help="The kernels as JSON.")
@click.option("--memory", is_flag=True, help="Draw the workspace over the kernels' schedule.")
@click.option("--svg", type=click.Path(dir_okay=False, writable=True), help="Write the drawing to this file.")
@click.option("--size", "sizes", multiple=True, metavar="NAME=SIZE", help="The size of a symbol; its upper bound where none is given.")
@click.option("--no-fuse", is_flag=True, help="Each op a kernel of its own.")
@click.option("--no-reuse", is_flag=True, help="Each tensor memory of its own.")
@click.option("--effort", type=int, default=None, help="Search steps that planning the memory may take.")
@click.option("--threads", type=int, default=None, help="Threads of a call: scratch is there once for each.")
def explain_command(
    graph: str,
    as_json: bool,
    memory: bool,
    svg: str | None,
    sizes: Sequence[str],
    no_fuse: bool,
    no_reuse: bool,
    effort: int | None,
    threads: int | None,
) -> None:
    """Show the kernels of GRAPH, or its memory. Nothing is built or run.

    GRAPH is a file as show_graph writes it, or module:attribute, which is an Expr, a list of them, a CompiledGraph, or a function that
    returns one of these.
    """
    chosen = options.Options.resolve(threads=threads, reuse=False if no_reuse else None, plan_effort=effort)
    plan = compile_plan(find_graph(graph), fuse=not no_fuse, reuse=chosen.reuse)
    layout = Layout(plan, chosen.reuse, chosen.threads, chosen.plan_effort)
    questions = Questions(layout, plan.symbols, chosen.max_bytes)
    given = questions.complete("explain", {d.name: d.upper for d in plan.symbols} | dict(map(_size, sizes)))
    if not memory and svg is None:
        explanation = explain.explain(plan, given if sizes else None)
        click.echo(explanation.json() if as_json else str(explanation))
        return
    picture = drawing.draw(plan, layout, questions, given)
    if svg is not None:
        Path(svg).write_text(picture.svg(), encoding="utf-8")
        click.echo(f"written to {svg}")
    if memory:
        if plan.symbols:
            click.echo(f"{questions.formulas()}\n")
        if len(sizes) < len(plan.symbols):
            click.echo("sizes that were not given are at their upper bounds\n")
        click.echo(picture.text(_colour if sys.stdout.isatty() and "NO_COLOR" not in os.environ else lambda text, _: text))


def _size(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    if not size.strip().isdigit():
        raise click.BadParameter(f"expected NAME=SIZE such as N=64, got {text!r}", param_hint="--size")
    return name.strip(), int(size)


def _colour(text: str, number: int) -> str:
    return str(click.style(text, fg="black", bg=("blue", "yellow", "green", "red", "cyan", "magenta", "white")[number % 7]))


def find_graph(where: str) -> Sequence[Expr]:
    """The outputs in a file, or in a module's attribute."""
    if Path(where).is_file():
        return read_graph(Path(where).read_text(encoding="utf-8"))
    module, _, attribute = where.partition(":")
    if not attribute:
        raise GraphError(f"explain: there is no file {where!r}, and it is no module:attribute")
    sys.path.insert(0, os.getcwd())  # as `python -m` has it
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise GraphError(f"explain: {where!r} cannot be loaded: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    if callable(found) and not isinstance(found, (Expr, CompiledGraph)):
        found = found()
    if isinstance(found, CompiledGraph):
        return found.plan.outputs
    if isinstance(found, Expr):
        return [found]
    if isinstance(found, (list, tuple)) and all(isinstance(node, Expr) for node in found):
        return found
    raise GraphError(f"explain: {where!r} is of type {type(found).__name__}; expected an Expr, a list of them, or a CompiledGraph")


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
