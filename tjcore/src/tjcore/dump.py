"""What each stage made of a graph, as text: the setting `dump` names the stages, `dump_dir` a folder; without one they go to standard error.

In: a compiled plan and its memory layout, then the source that the toolchain was given. Out: one text per stage that was asked for. What
a plan does not keep (the simplified graph, the loops before scheduling) is computed again: these stages are functions of the graph alone.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

from .errors import GraphError
from .fusion import fuse
from .layout import Layout
from .loops import show_kernel
from .lower import lower
from .ops import show_shape
from .options import STAGES, setting
from .program import Plan
from .simplify import prepare
from .text import show_graph


def dump_plan(plan: Plan, layout: Layout, fused: bool) -> None:
    """The stages up to the memory plan. Before the build, so that they are there when a compiler refuses the source."""
    makers: dict[str, Callable[[], str]] = {
        "graph": lambda: show_graph(plan.outputs),
        "simplified": lambda: show_graph(prepare(plan.outputs, fused)),
        "groups": lambda: show_groups(plan),
        "loops": lambda: show_loops(plan, fused),
        "scheduled": lambda: "\n\n".join(show_kernel(kernel) for kernel in plan.program.kernels) + "\n",
        "memory": lambda: show_memory(plan, layout),
    }
    for stage in wanted():
        if stage in makers:
            _write(plan, fused, stage, makers[stage](), f"{STAGES.index(stage) + 1}-{stage}.txt")


def dump_source(plan: Plan, fused: bool, source: str, toolchain: str, suffix: str) -> None:
    """The last stage: the source, just as the toolchain was given it."""
    if "source" in wanted():
        _write(plan, fused, "source", source, f"{STAGES.index('source') + 1}-source-{toolchain}{suffix}")


def wanted() -> tuple[str, ...]:
    """The stages that the setting names, in the order in which they happen."""
    text = setting("dump").value
    return tuple(text.split(",")) if text else ()


def show_groups(plan: Plan) -> str:
    """For each kernel that runs: its function, the ops fused into it, what it reads and writes, and why it is a kernel of its own; then the chains."""
    lines = []
    for kernel in plan.kernels:
        reads, writes = ", ".join(kernel.reads) or "nothing", ", ".join(kernel.writes)
        lines.append(f"{kernel.name}: {' '.join(kernel.ops) or 'copy'}\n    {reads} -> {writes}; {kernel.reason}\n")
    for chain in plan.program.chains:
        links = " ".join(kernel.name for kernel in plan.kernels[chain.first : chain.last + 1])
        rows = show_shape(plan.program.kernels[plan.program.calls[chain.first].kernel].params[-1].shape[: chain.depth])
        scratch = ", ".join(plan.program.buffers[b].name for b in chain.scratch) or "nothing"
        lines.append(f"chain: {links}, tile by tile over rows {rows}; scratch for {scratch}\n")
    return "".join(lines)


def show_loops(plan: Plan, fused: bool) -> str:
    """The kernels as they were lowered, before scheduling; of equal ones the first."""
    final = prepare(plan.outputs, fused)
    shown: dict[str, str] = {}
    groups = fuse(final, fused)
    for kernel, number in zip(plan.kernels, plan.order, strict=True):
        if kernel.name not in shown:
            shown[kernel.name] = show_kernel(lower(groups[number], kernel.name, len(kernel.writes)))
    return "\n\n".join(shown.values()) + "\n"


def show_memory(plan: Plan, layout: Layout) -> str:
    """Each temporary's offset and size in bytes as formulas in the dims, the kernels it lives through, and the arena."""
    offsets, arena = layout.memory.formulas()
    lines = [f"arena: {arena} bytes, at most {layout.memory.worst_case():,}\n"]
    lines += [f"{b.name}: {b.size} bytes at {offsets[b.name]}, kernels {b.first} to {b.last}\n" for b in layout.memory.buffers]
    return "".join(lines)


def _write(plan: Plan, fused: bool, stage: str, text: str, file: str) -> None:
    graph = hashlib.sha256(plan.program.graph.encode()).hexdigest()[:12] + ("" if fused else "-unfused")
    folder = setting("dump_dir").value
    if folder is None:
        sys.stderr.write(f"--- tensorjit {graph}: {stage}\n{text}")
        return
    path = Path(folder).expanduser() / graph / file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise GraphError(f"dump_dir: cannot write {path}: {error.strerror or error}; name a folder that you may write to") from error
