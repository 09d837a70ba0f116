"""From a graph to a lowered program: check, simplify, fuse, lower, schedule, and give every tensor its buffer.

In: the outputs a user names. Out: a `Plan`, which holds the `loops.Program` and what each kernel computes. Equal kernels
share one function, so a chain of a hundred equal layers is written once.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from .chains import find_chains
from .dims import Constraint, Dim, Size, parse_constraint, total
from .errors import GraphError, shown
from .fusion import Group, fuse
from .graph import Expr
from .loops import Buffer, Call, Chain, Param, Program, verify_kernel
from .loops import Kernel as LoopKernel
from .lower import lower
from .ops import OPS, show_shape
from .ops.movement import count, decided
from .options import either
from .render_c import render_kernel, render_program
from .schedule import schedule
from .simplify import prepare
from .storage import Arrangement, arrange, lifetimes
from .storage_check import verify_arrangement
from .text import graph_dims, show_graph
from .toolchain import C11
from .traversal import check_outputs, toposort


@dataclass(frozen=True, eq=False)
class Kernel:
    """One step of a plan: the node it computes, the buffers (by name) it reads and writes, why it is a kernel of its own."""

    name: str
    node: Expr
    ops: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    reason: str
    loops: LoopKernel
    dims: tuple[Dim, ...]
    saved: Size = 0
    """Bytes that storing and reading each result it computes on its way would move."""
    apart: str = ""
    """Why it does not run by the tile with the kernel before it in the graph's order; empty where it does."""

    @cached_property
    def source(self) -> str:
        """The kernel's function in plain C11."""
        return render_kernel(self.loops, C11, self.dims)


@dataclass(frozen=True, eq=False)
class Plan:
    """A compiled graph before any toolchain has seen it."""

    inputs: tuple[Expr, ...]
    outputs: tuple[Expr, ...]
    kernels: tuple[Kernel, ...]
    symbols: tuple[Dim, ...]
    names: Mapping[Expr, str]
    program: Program
    stored: tuple[Buffer, ...] = ()
    """Every tensor that is stored whole and is neither input nor output, whether it has a buffer of its own or lives in another's."""
    tiles: tuple[tuple[Buffer, Chain], ...] = ()
    """The same for tensors of which a chain keeps a tile."""
    aliases: Mapping[int, int] = field(default_factory=dict)
    """For each output that is written over a donated input, by their numbers: that input."""
    order: tuple[int, ...] = ()
    """For each kernel, the number it had in the graph's order, which is also that of its group."""
    constraints: tuple[Constraint, ...] = ()
    """What the sizes of every call keep."""

    @cached_property
    def source(self) -> str:
        """The whole program in plain C11."""
        return render_program(self.program, C11)

    def lifetimes(self) -> dict[int, tuple[int, int]]:
        """For each temporary buffer: the first and the last call that touches it. What a chain touches, it touches from its first call to its last."""
        return {b: span for b, span in lifetimes(self.program).items() if self.program.buffers[b].kind == "temporary"}


def compile_plan(
    outputs: Sequence[Expr], fuse: bool = True, reuse: bool = True, donate: Sequence[str] = (), constraints: Sequence[Constraint | str] = ()
) -> Plan:
    """The plan for `outputs`. `fuse=False` makes each op a kernel of its own; `reuse=False` gives each stored tensor a buffer of its own, and
    keeps the order of the graph. The results have the same bits. `donate` names inputs whose arrays may be overwritten.
    `constraints` are what the sizes of every call keep: made by `multiple_of`, `le`, `lt` and `eq`, or text such as "N % 8 == 0"."""
    plan = _Planner(_checked(outputs), either("fuse", fuse)).plan(either("reuse", reuse), donate)
    return replace(plan, constraints=_constraints(constraints, plan.symbols)) if constraints else plan


def _constraints(given: Sequence[Constraint | str], symbols: Sequence[Dim]) -> tuple[Constraint, ...]:
    if isinstance(given, (str, Constraint)) or not isinstance(given, Sequence):
        raise GraphError(f"constraints: expected a sequence of constraints or texts, got {shown(given)}")
    dims = {d.name: d for d in symbols}
    out = []
    for constraint in given:
        declared = constraint if isinstance(constraint, Constraint) else parse_constraint(constraint, dims)
        for dim in declared.dims:
            if dims.get(dim.name) != dim:
                known = ", ".join(map(repr, symbols)) or "none"
                raise GraphError(f"constraint {declared}: the graph has no symbol {dim!r}; its symbols: {known}")
        out.append(declared)
    return tuple(out)


def _checked(outputs: Sequence[Expr]) -> tuple[Expr, ...]:
    given = check_outputs("compile", outputs)
    if not given:
        raise GraphError("compile: expected at least one Expr as output, got none")
    seen: dict[str, Expr] = {}
    for node in toposort(given):
        if node.op == "input":
            other = seen.setdefault(node.arg, node)
            if other is not node:
                raise GraphError(
                    f"two inputs are named {shown(node.arg)}: {other.dtype} {show_shape(other.shape)} and {node.dtype} {show_shape(node.shape)}; "
                    "build the input once and use it twice"
                )
    return given


class _Planner:
    def __init__(self, outputs: tuple[Expr, ...], fused: bool) -> None:
        nodes = toposort(outputs)
        self.outputs = outputs
        self.inputs = tuple(node for node in nodes if node.op == "input")
        self.dims = tuple(d for _, d in sorted(graph_dims(nodes).items()))
        self.text = show_graph(outputs)
        self.fused = fused
        self.final = prepare(outputs, fused)
        self.groups = fuse(self.final, fused)
        self.buffers = [Buffer(node.arg, "input", node.shape, node.dtype) for node in self.inputs]
        self.buffers += [Buffer(f"out{i}", "output", node.shape, node.dtype) for i, node in enumerate(self.final)]
        self.temporaries, self.workspaces = itertools.count(), itertools.count()
        self.home: dict[Expr, int] = {node: i for i, node in enumerate(self.inputs)}
        self.destinations: dict[Expr, list[int]] = {}
        for i, node in enumerate(self.final):
            self.destinations.setdefault(node, []).append(len(self.inputs) + i)
        self.functions: dict[object, int] = {}
        self.bodies: list[LoopKernel] = []
        self.calls: list[Call] = []
        self.kernels: list[Kernel] = []
        self.apart: dict[int, str] = {}

    def plan(self, reuse: bool, donate: Sequence[str]) -> Plan:
        raw = [lower(group, "k", len(self.destinations.get(group.root, [0]))) for group in self.groups]
        links, self.apart = find_chains(self.groups, raw) if self.fused else ([], dict.fromkeys(range(1, len(raw)), "fusion is off"))
        for chain in links:
            for at, link in enumerate(chain.kernels, chain.first):
                raw[at] = link
        for group, kernel in zip(self.groups, raw, strict=True):
            self._add(group, kernel)
        chains = tuple(Chain(c.first, c.last, c.depth, self._scratch(c.first, c.last), c.tile, c.least) for c in links)
        program = Program(self.text, self.dims, tuple(self.buffers), tuple(self.bodies), tuple(self.calls), chains)
        donated = self._donated(donate)
        scratch = {b for chain in chains for b in chain.scratch}
        stored = tuple(b for i, b in enumerate(self.buffers) if b.kind == "temporary" and not b.per_thread and i not in scratch)
        tiles = tuple((self.buffers[b], chain) for chain in chains for b in chain.scratch)
        if not reuse:
            names = {node: self.buffers[b].name for node, b in self.home.items()}
            return Plan(
                self.inputs, self.outputs, tuple(self.kernels), self.dims, names, program, stored, tiles, {}, tuple(range(len(self.calls)))
            )
        arranged = arrange(program, donated)
        verify_arrangement(program, arranged.program, arranged.order, arranged.home, donated)
        program, home = arranged.program, arranged.home
        names = {node: program.buffers[home[b]].name for node, b in self.home.items()}
        kernels = [self._arranged(old, call, arranged) for old, call in zip(arranged.order, program.calls, strict=True)]
        return Plan(self.inputs, self.outputs, tuple(kernels), self.dims, names, program, stored, tiles, arranged.aliases(), arranged.order)

    def _donated(self, names: Sequence[str]) -> frozenset[int]:
        known = {node.arg: i for i, node in enumerate(self.inputs)}
        for name in names:
            if name not in known:
                raise GraphError(f"donate: the graph has no input {shown(name)}; its inputs: {', '.join(known) or 'none'}")
        return frozenset(known[name] for name in names)

    def _arranged(self, old: int, call: Call, arranged: Arrangement) -> Kernel:
        """What call `old` computes, by the buffers where its tensors now live."""
        body = arranged.program.kernels[call.kernel]
        params = zip(self.calls[old].buffers, self.bodies[self.calls[old].kernel].params, strict=True)
        lives = [(arranged.program.buffers[arranged.home[b]].name, p.written) for b, p in params if not self.buffers[b].per_thread]
        reads, writes = (tuple(name for name, written in lives if written is kind) for kind in (False, True))
        return replace(self.kernels[old], name=body.name, reads=reads, writes=writes, loops=body)

    def _workspace(self, param: Param) -> int:
        """A buffer for what a kernel needs beside its tensors, for each thread."""
        self.buffers.append(Buffer(f"work{next(self.workspaces)}", "temporary", param.shape, param.dtype, per_thread=True))
        return len(self.buffers) - 1

    def _scratch(self, first: int, last: int) -> tuple[int, ...]:
        """Temporaries that calls `first` to `last` write and no other call reads."""
        outside = {b for at, call in enumerate(self.calls) if not first <= at <= last for b in call.buffers}
        inside = dict.fromkeys(b for call in self.calls[first : last + 1] for b in call.buffers)
        return tuple(b for b in inside if self.buffers[b].kind == "temporary" and b not in outside and not self.buffers[b].per_thread)

    def _add(self, group: Group, raw: LoopKernel) -> None:
        root = group.root
        targets = self.destinations.get(root)
        reads = [self.home[node] for node in group.reads]  # before the root has a home: an input that is an output is copied
        if targets is None:
            self.buffers.append(Buffer(f"t{next(self.temporaries)}", "temporary", root.shape, root.dtype))
            targets = [len(self.buffers) - 1]
        if root.op != "input":
            self.home[root] = targets[0]
        key = (tuple(replace(p, name="") for p in raw.params), raw.body, raw.grain)
        index = self.functions.get(key)
        if index is None:
            index = self.functions[key] = len(self.bodies)
            kernel = replace(raw if raw.grain else schedule(raw), name=f"k{index}")
            verify_kernel(kernel, deferred=not all(map(decided, group.members)))
            self.bodies.append(kernel)
        workspace = [self._workspace(p) for p in raw.params[len(reads) + len(targets) :]]
        self.calls.append(Call(index, (*reads, *targets, *workspace)))
        body = self.bodies[index]
        ops = tuple(m.op for m in group.members)
        written = tuple(self.buffers[t].name for t in targets)
        read = tuple(self.buffers[r].name for r in reads)
        inside = [m for m in group.members if m is not root and OPS[m.op].kind not in ("leaf", "view")]
        saved = total([2 * m.dtype.itemsize * count(m.shape) for m in inside])
        apart = self.apart.get(len(self.kernels), "")
        self.kernels.append(Kernel(body.name, root, ops, read, written, group.reason, body, self.dims, saved, apart))
