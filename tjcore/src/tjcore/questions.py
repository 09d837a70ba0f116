"""What a call would take in memory, asked before anything runs: at given sizes, as formulas in the dims, and the largest size that fits.

In: a `Layout` and sizes. Out: a `MemoryReport`, `MemoryFormulas`, a size, or the BudgetError of a call that does not fit.
Law: the figures are those of the call itself; nothing is allocated to find them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .dims import Dim, Size, bounds, total
from .dims.size import terms_of, wrap
from .dims.terms import Atom, Extreme, FloorDiv, Terms, below
from .errors import BudgetError, CallError, shown
from .layout import Layout, Placement
from .memory import Allocation, align_up

SCANNED = 20_000
"""So many sizes are tried one by one where memory need not grow with a dim."""
CONTRIBUTORS = 3
"""So many of the biggest tensors a refusal names."""


@dataclass(frozen=True, slots=True)
class CallMemory:
    """What the memory of one call was. Bytes; `temporary_bytes` is the arena, `unreused_temporary_bytes` what it would be without sharing."""

    temporary_bytes: int
    unreused_temporary_bytes: int
    output_bytes: int
    input_bytes: int
    allocations: tuple[Allocation, ...]
    bindings: Mapping[str, int]
    kernel_count: int


@dataclass(frozen=True, slots=True)
class Share:
    """A tensor and the bytes it takes."""

    name: str
    kind: str
    nbytes: int

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.nbytes:,} bytes"


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """What a call with these sizes takes. Bytes; `temporary_bytes` is the workspace, `lower_bound` the least that any plan for this order
    of kernels could make of it, `peak` what is alive at `peak_kernel`, where most is, biggest first."""

    bindings: Mapping[str, int]
    input_bytes: int
    temporary_bytes: int
    unreused_temporary_bytes: int
    output_bytes: int
    total_bytes: int
    lower_bound: int
    peak_kernel: int | None
    peak: tuple[Share, ...]
    allocations: tuple[Allocation, ...]

    def __str__(self) -> str:
        at = ", ".join(f"{name}={size}" for name, size in self.bindings.items()) or "every call"
        rows = [("inputs", self.input_bytes, ""), ("outputs", self.output_bytes, "")]
        unshared = f"{self.unreused_temporary_bytes:,} without reuse, at least {self.lower_bound:,}"
        rows[1:1] = [("workspace", self.temporary_bytes, unshared if self.unreused_temporary_bytes else "")]
        lines = [f"memory at {at}", *(f"  {name:<10}{nbytes:>16,}  {note}".rstrip() for name, nbytes, note in rows)]
        lines.append(f"  {'total':<10}{self.total_bytes:>16,}")
        if self.peak_kernel is not None:
            lines.append(f"  most is alive at kernel {self.peak_kernel}: {', '.join(f'{s.name} {s.nbytes:,}' for s in self.peak)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class WorstCase:
    """No call within the bounds takes more than this."""

    input_bytes: int
    temporary_bytes: int
    output_bytes: int

    @property
    def total_bytes(self) -> int:
        return self.input_bytes + self.temporary_bytes + self.output_bytes


@dataclass(frozen=True, slots=True)
class MemoryFormulas:
    """Memory as formulas in the dims, in bytes, for people to read, and the worst case within the bounds. `offsets` are those of the temporaries."""

    inputs: str
    temporaries: str
    outputs: str
    offsets: Mapping[str, str]
    worst: WorstCase

    def __str__(self) -> str:
        rows = (
            ("inputs", self.worst.input_bytes, self.inputs),
            ("workspace", self.worst.temporary_bytes, self.temporaries),
            ("outputs", self.worst.output_bytes, self.outputs),
        )
        lines = ["memory in bytes, at most (for every size within the bounds) and as formulas"]
        lines += [f"  {name:<10}{most:>20,}  {formula}" for name, most, formula in rows]
        return "\n".join([*lines, f"  {'total':<10}{self.worst.total_bytes:>20,}"])


class Questions:
    """Questions about one layout. `symbols` are the dims of the graph, in plan order."""

    def __init__(self, layout: Layout, symbols: Sequence[Dim], max_bytes: int) -> None:
        self.layout = layout
        self.symbols = {d.name: d for d in symbols}
        self.max_bytes = max_bytes

    # ------------------------------------------------------------ figures
    def report(self, sizes: Mapping[str, int]) -> MemoryReport:
        """The figures at these sizes, one for every symbol."""
        return self.report_of(self.layout.place(self._complete("memory", sizes)))

    def report_of(self, placement: Placement) -> MemoryReport:
        kernel, peak = self._peak(placement)
        return MemoryReport(
            placement.bindings,
            placement.input_bytes,
            placement.temporary_bytes,
            placement.unreused_temporary_bytes,
            placement.output_bytes,
            placement.total_bytes,
            sum(share.nbytes for share in peak),
            kernel,
            peak,
            placement.allocations,
        )

    def formulas(self) -> MemoryFormulas:
        """The formulas, and the worst case within the bounds."""
        layout = self.layout
        inputs, outputs = (total([layout.bytes_of(i) for i in layout.numbers(kind)]) for kind in ("input", "output"))
        offsets, workspace = layout.memory.formulas()
        return MemoryFormulas(str(inputs), workspace, str(outputs), offsets, self._worst(inputs, outputs))

    def _worst(self, inputs: Size, outputs: Size) -> WorstCase:
        return WorstCase(bounds(inputs)[1], self.layout.memory.worst_case(), bounds(outputs)[1])

    def _peak(self, placement: Placement) -> tuple[int | None, tuple[Share, ...]]:
        """The kernel at which most temporaries are alive, and those."""
        held = [
            (b, align_up(placement.nbytes[i])) for i, b in zip(self.layout.numbers("temporary"), self.layout.memory.buffers, strict=True)
        ]
        moments = {b.first for b, _ in held}
        live = {at: sum(nbytes for b, nbytes in held if b.first <= at <= b.last) for at in moments}
        if not live:
            return None, ()
        kernel = max(live, key=lambda at: (live[at], -at))
        shares = [Share(b.name, "temporary", nbytes) for b, nbytes in held if b.first <= kernel <= b.last]
        return kernel, tuple(sorted(shares, key=lambda s: (-s.nbytes, s.name)))

    def complete(self, what: str, sizes: Mapping[str, int]) -> dict[str, int]:
        """The sizes by name, one for every symbol and each within its bounds, or a CallError."""
        return dict(zip(self.symbols, self._complete(what, sizes), strict=True))

    def _complete(self, what: str, sizes: Mapping[str, int], without: str | None = None) -> list[int]:
        for name, size in sizes.items():
            dim = self.symbols.get(name)
            if dim is None:
                raise CallError(f"{what}: the graph has no symbol {shown(name)}; its symbols: {', '.join(self.symbols) or 'none'}")
            if isinstance(size, bool) or not hasattr(size, "__index__"):
                raise CallError(f"{what}: the size of {name} must be an int, got {shown(size)}")
            if not dim.lower <= size.__index__() <= dim.upper:
                raise CallError(f"{what}: expected {name} in {dim.lower}..{dim.upper}, got {size}")
        missing = [name for name in self.symbols if name not in sizes and name != without]
        if missing:
            raise CallError(f"{what}: no size given for {', '.join(missing)}; give {missing[0]}=...")
        return [sizes[name].__index__() if name in sizes else 0 for name in self.symbols]

    # ------------------------------------------------------------ limits
    def max_dim(self, name: str, budget: int | None, sizes: Mapping[str, int]) -> int:
        """The largest size of one symbol with which a call stays within the budget, the other sizes being given."""
        dim = self.symbols.get(name)
        if dim is None:
            raise CallError(f"max_dim: the graph has no symbol {shown(name)}; its symbols: {', '.join(self.symbols) or 'none'}")
        if name in sizes:
            raise CallError(f"max_dim: {name} is what is asked for, so it cannot be given too (got {name}={sizes[name]})")
        dims = self._complete("max_dim", sizes, without=name)
        most = self.max_bytes if budget is None else budget
        found = self._largest(dim, dims, most, dim.upper)
        if found is None:
            dims[list(self.symbols).index(name)] = dim.lower
            raise self.refusal(self.layout.place(dims), most, "budget")
        return found

    def _largest(self, dim: Dim, dims: list[int], budget: int, upper: int) -> int | None:
        position = list(self.symbols).index(dim.name)

        def fits(size: int) -> bool:
            dims[position] = size
            return self.layout.total(dims) <= budget

        if all(_never_falls(terms_of(self.layout.bytes_of(i)), dim) for i in range(len(self.layout.buffers))):
            return _last(fits, dim.lower, upper)
        for size in range(upper, max(dim.lower, upper - SCANNED) - 1, -1):  # memory may fall as the size grows, so each is tried
            if fits(size):
                return size
        return _last(fits, dim.lower, max(dim.lower, upper - SCANNED))

    def check(self, placement: Placement) -> None:
        """BudgetError unless a call with these sizes stays within `max_bytes`."""
        if placement.total_bytes > self.max_bytes:
            raise self.refusal(placement, self.max_bytes, "max_bytes")

    def refusal(self, placement: Placement, budget: int, name: str) -> BudgetError:
        """Why such a call is refused: the need, its biggest parts, and the largest sizes that would do."""
        sizes = ", ".join(f"{n}={s}" for n, s in placement.bindings.items())
        at = f" at {sizes}" if sizes else ""
        kinds = self.layout.buffers
        shares = [Share(repr(b.name), b.kind, n) for b, n in zip(kinds, placement.nbytes, strict=True)]
        shares.sort(key=lambda s: -s.nbytes)
        if shares and shares[0].nbytes > budget:
            what = f"{shares[0].kind} {shares[0].name}{at} takes {shares[0].nbytes:,} bytes"
        else:
            what = f"a call{at} takes {placement.total_bytes:,} bytes"
        parts = f"inputs {placement.input_bytes:,}, workspace {placement.temporary_bytes:,}, outputs {placement.output_bytes:,}"
        biggest = ", ".join(map(str, shares[:CONTRIBUTORS]))
        fits: dict[str, int | None] = {}
        for n, dim in self.symbols.items():
            fits[n] = self._largest(dim, list(placement.bindings.values()), budget, placement.bindings[n])
        advice = [f"{n}={size}" for n, size in fits.items() if size is not None]
        if advice:
            rest = " with the other sizes as they are" if len(fits) > 1 else ""
            largest = f"the largest that fits is {' or '.join(advice)}{rest}; or use a larger {name}"
        else:
            largest = f"no smaller size of one symbol fits; use a larger {name}" if fits else f"use a larger {name}"
        return BudgetError(
            f"{what}, more than {name} = {budget:,} ({parts}; biggest: {biggest}); {largest}",
            need=placement.total_bytes,
            budget=budget,
            fits=fits,
        )


def _last(fits: Callable[[int], bool], low: int, high: int) -> int | None:
    """The largest that fits where what is smaller fits, too."""
    if fits(high):
        return high
    if not fits(low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def _never_falls(terms: Terms, dim: Dim) -> bool:
    """Whether a size is known never to fall as `dim` grows."""
    for monomial, coefficient in terms.items():
        if not any(atom == dim or any(dim in below(part) for part in atom.parts) for atom in monomial):
            continue
        if coefficient < 0 or any(atom.lower < 0 or not _atom_never_falls(atom, dim) for atom in monomial):
            return False
    return True


def _atom_never_falls(atom: Atom, dim: Dim) -> bool:
    if isinstance(atom, FloorDiv):
        return _never_falls(atom.num, dim) and dim not in below(atom.den) and bounds(wrap(atom.den))[0] > 0
    if isinstance(atom, Extreme):
        return all(_never_falls(arg, dim) for arg in atom.args)
    return True
