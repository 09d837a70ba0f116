"""What a compiled graph does, for people: its kernels with their ops, loops, bytes and operations, and why each is a kernel of its own.

In: a plan, and sizes or none. Out: text, and data for JSON. Nothing is built or run: no toolchain is needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from .counts import moved_bytes, operations
from .dims import Size, evaluate
from .loops import Contract, Fold, Loop, Scan, Stmt
from .program import Kernel, Plan

INLINED = ("constant", "size", "broadcast_to", "expand_dims", "squeeze")
"""Ops that cost nothing, left out where kernels are named by their ops."""


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One run of a kernel. Figures are numbers where sizes are known, formulas in the dims otherwise (`counts.py` says what counts)."""

    number: int
    name: str
    chain: int | None
    """Kernels of one chain run tile by tile, and what passes between them stays in the cache."""
    ops: tuple[str, ...]
    loops: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    bytes: int | str
    flops: int | str
    intensity: float | None
    """Operations per byte; None where sizes are not known, or no byte moves."""
    reason: str
    """Why it is a kernel of its own, and not part of the one that reads its result."""
    saved: int | str
    """Bytes that fusing saved it: what it computes on its way, had that been stored and read."""
    apart: str
    """Why it is not in the chain of the kernel before it in the graph's order; empty where it is, and for the first."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The kernels of a plan: one row each. `str()` of it is a table, `json()` the same for programs."""

    title: str
    kernels: tuple[KernelRow, ...]

    def __str__(self) -> str:
        table = [("kernel", "ops", "loops", "reads -> writes", "bytes", "flops", "flop/byte" if any(_intense(self)) else "")]
        for row in self.kernels:
            name = f"{row.number} {row.name}" + (f" chain {row.chain}" if row.chain is not None else "")
            flow = f"{', '.join(row.reads) or 'nothing'} -> {', '.join(row.writes)}"
            intensity = "" if row.intensity is None else f"{row.intensity:.2f}"
            table.append((name, " ".join(row.ops) or "copy", row.loops, flow, _figure(row.bytes), _figure(row.flops), intensity))
        widths = [min(max(len(cells[i]) for cells in table), 60) for i in range(6)]
        lines = [self.title]
        for cells in table:
            shown = [shortened(cell, width).ljust(width) for cell, width in zip(cells, widths, strict=False)]
            lines.append("  " + "  ".join([*shown, cells[6]]).rstrip())
        lines += ["why each is a kernel of its own"]
        lines += [f"  {row.number} {row.name}: {row.reason}" for row in self.kernels]
        saved = [f"  {row.number} {row.name}: {_figure(row.saved)}" for row in self.kernels if row.saved not in (0, "0")]
        apart = [f"  {row.number} {row.name}: {row.apart}" for row in self.kernels if row.apart]
        lines += ["bytes that were not moved, by fusing", *saved] if saved else []
        lines += ["why a kernel is in no chain with the one before it", *apart] if apart else []
        return "\n".join(lines)

    def json(self) -> str:
        """The rows as JSON text: an object with `title` and `kernels`, whose keys are the fields of `KernelRow`."""
        return json.dumps(asdict(self), indent=2)


def _intense(explanation: Explanation) -> list[bool]:
    return [row.intensity is not None for row in explanation.kernels]


def _figure(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def explain(plan: Plan, sizes: Mapping[str, int] | None = None) -> Explanation:
    """Kernel by kernel, in the order they run: the ops, the loops, where tensors come from and go, bytes and operations (for `sizes`, or as formulas)."""
    chains = {at: i for i, chain in enumerate(plan.program.chains) for at in range(chain.first, chain.last + 1)}
    rows = []
    for at, kernel in enumerate(plan.kernels):
        moved, flops = (_known(size, sizes) for size in (moved_bytes(kernel.loops), operations(kernel.loops.body)))
        intensity = round(flops / moved, 4) if isinstance(moved, int) and isinstance(flops, int) and moved and sizes is not None else None
        loops = show_loops(kernel.loops.body, sizes)
        row = KernelRow(
            at,
            kernel.name,
            chains.get(at),
            computing(kernel),
            loops,
            kernel.reads,
            kernel.writes,
            moved,
            flops,
            intensity,
            kernel.reason,
            _known(kernel.saved, sizes),
            kernel.apart,
        )
        rows.append(row)
    words = f"{len(rows)} kernel{'s' * (len(rows) != 1)}, {len(plan.program.kernels)} functions"
    return Explanation(words + (f", at {show_sizes(sizes)}" if sizes else ""), tuple(rows))


def _known(size: Size, sizes: Mapping[str, int] | None) -> int | str:
    return evaluate(size, sizes or {}) if sizes is not None or isinstance(size, int) else str(size)


def computing(kernel: Kernel) -> tuple[str, ...]:
    """The ops of a kernel that compute something."""
    return tuple(op for op in kernel.ops if op not in INLINED)


def ops_of(kernel: Kernel) -> str:
    """The same in words."""
    return " ".join(computing(kernel)) or "copy"


def show_sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def show_loops(body: Sequence[Stmt], sizes: Mapping[str, int] | None = None) -> str:
    """A kernel's loops in one line: extents from outside in, what is shared by threads, what takes vector lanes."""
    parts: list[str] = []
    for stmt in body:
        match stmt:
            case Loop():
                marks = " threads" * (stmt.share and not stmt.paired) + " lanes" * stmt.lanes
                inner = show_loops(stmt.body, sizes)
                parts.append(f"{_size(stmt.axis.extent, sizes)}{marks}" + (f" x ({inner})" if inner else ""))
            case Fold():
                parts.append(f"{stmt.op} over {_size(stmt.axis.extent, sizes)}")
            case Scan():
                parts.append(f"{stmt.op} along {_size(stmt.axis.extent, sizes)}")
            case Contract():
                rows, cols, inner_size = (_size(axis.extent, sizes) for axis in (stmt.rows, stmt.cols, stmt.inner))
                one = f"({rows}) x ({cols}) over ({inner_size})" if sizes is None else f"{rows} x {cols} over {inner_size}"
                parts.append("".join(f"{_size(axis.extent, sizes)} x " for axis in stmt.batches) + one)
    return "; ".join(parts)


def _size(size: Size, sizes: Mapping[str, int] | None) -> str:
    return str(size) if sizes is None else f"{evaluate(size, sizes):,}"


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
