"""Lowering: a fused group becomes a kernel of plain serial loops, one per axis of its root, in axis order.

In: a `Group` and how many buffers its root goes to. Out: a `loops.Kernel` whose params are the group's reads, then the
destinations. Views are gone: they have become indices. Each node is computed once per index and loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from . import dtypes
from .access import Affine, Index, Whole, along, flat, identity, source_index, split_axes, strides
from .dims import Size
from .dtypes import DType
from .errors import InternalError
from .fusion import Group, epilogue_index
from .graph import Expr
from .loops import (
    Axis,
    Const,
    Contract,
    Fold,
    IndexOf,
    Kernel,
    Let,
    Load,
    LoadAt,
    Loop,
    Operand,
    Param,
    Scan,
    SizeOf,
    Stmt,
    Store,
)
from .ops import OPS
from .ops.scans import BACKWARD
from .products import scratch_bytes, settle, split

FOLD_OF = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "argmax": "argmax", "argmin": "argmin"}
"""The loop IR's fold for each reduction op."""


def lower(group: Group, name: str, destinations: int = 1) -> Kernel:
    """The kernel that computes the group's root into `destinations` buffers of its shape."""
    root, anchor = group.root, group.anchor
    if root.op == "concat":
        return _join(group, name, destinations)
    writes = [Param(f"y{i}", root.dtype, root.shape, True, len(root.shape)) for i in range(destinations)]
    emitter = _Emitter({node: i for i, node in enumerate(group.reads)})
    rank = len(root.shape)
    at = identity(rank)
    outer: list[Stmt] = []
    known: dict[tuple[Expr, Index], int] = {}
    if anchor is not None and OPS[anchor.op].kind == "reduce":
        outer.append(emitter.fold(anchor, at, rank, known))
    if anchor is not None and OPS[anchor.op].kind == "scan":
        return _scan(group, name, writes, emitter)
    contract = None
    if anchor is not None and OPS[anchor.op].kind == "contract":
        index = epilogue_index(anchor, root)
        assert index is not None
        contract = emitter.contract(anchor, index, rank, known)
    value = emitter.emit(root, at, outer, known)
    reads = [Param(f"x{i}", node.dtype, node.shape, False, emitter.own.get(i, 0)) for i, node in enumerate(group.reads)]
    outer += [Store(len(reads) + i, flat(at, root.shape), value) for i in range(destinations)]
    axes = [Axis(var, size) for var, size in enumerate(root.shape)]
    if contract is not None:
        assert anchor is not None
        left, right = (len(source.shape) > 1 for source in anchor.sources)
        parts = [axes[first:last] for first, last in split_axes(anchor.shape, root.shape) or ()]
        batches = parts[: len(parts) - left - right]
        rows = (parts[len(batches)] if left else []) or [Axis(rank + 1, 1)]
        cols = (parts[-1] if right else []) or [Axis(rank + 2, 1)]
        front = tuple(axis for part in batches for axis in part)
        stmt = Contract(contract.reg, contract.dtype, rows[-1], cols[-1], contract.inner, contract.a, contract.b, tuple(outer), front)
        stmt = split(stmt, rows[:-1], cols[:-1])
        scratch = scratch_bytes(settle(stmt))
        if scratch == 0:
            return Kernel(name, _note(group), (*reads, *writes), (stmt,))
        params = (*reads, *writes, Param("work", dtypes.uint8, (scratch,), True))
        return Kernel(name, _note(group), params, (replace(stmt, scratch=len(params) - 1),))
    body = tuple(outer)
    for axis in reversed(axes):
        body = (Loop(axis, body),)
    return Kernel(name, _note(group), (*reads, *writes), body)


def _join(group: Group, name: str, destinations: int) -> Kernel:
    """Tensors joined along an axis: loops for each part, which store it behind those before."""
    root = group.root
    emitter = _Emitter({node: i for i, node in enumerate(group.reads)})
    nests: list[Stmt] = []
    parts: list[tuple[Expr, tuple[Size, ...]]] = [(root, (0,) * len(root.shape))]
    while parts:
        part, starts = parts.pop()
        if part.op == "concat" and part not in emitter.params:
            behind = []
            for source in part.sources:
                behind.append((source, starts))
                starts = (*starts[: part.arg], starts[part.arg] + source.shape[part.arg], *starts[part.arg + 1 :])
            parts += reversed(behind)
            continue
        body: list[Stmt] = []
        value = emitter.emit(part, identity(len(part.shape)), body, {})
        place = tuple(along(axis) + Affine((), start) for axis, start in enumerate(starts))
        body += [Store(len(group.reads) + i, flat(place, root.shape), value) for i in range(destinations)]
        inside = tuple(body)
        for var, size in reversed(list(enumerate(part.shape))):
            inside = (Loop(Axis(var, size), inside),)
        nests += inside
    reads = [Param(f"x{i}", node.dtype, node.shape, False) for i, node in enumerate(group.reads)]
    writes = [Param(f"y{i}", root.dtype, root.shape, True) for i in range(destinations)]
    return Kernel(name, _note(group), (*reads, *writes), tuple(nests))


def _scan(group: Group, name: str, writes: list[Param], emitter: _Emitter) -> Kernel:
    """A running fold: a loop per other axis, and in it the one that goes in order. Which rows it reads and writes is its own only in front of its axis."""
    root = group.root
    (source,) = root.sources
    axis = Axis(root.arg, root.shape[root.arg])
    along_it = along(axis.var)
    if root.op == BACKWARD:
        along_it = Affine(((axis.var, -1),), axis.extent - 1)
    at = tuple(along_it if var == axis.var else along(var) for var in range(len(root.shape)))
    body: list[Stmt] = []
    value = emitter.emit(source, at, body, {})
    reg = emitter.new()
    reads = [Param(f"x{i}", node.dtype, node.shape, False, min(axis.var, emitter.own.get(i, 0))) for i, node in enumerate(group.reads)]
    stores = tuple(Store(len(reads) + i, flat(at, root.shape), reg) for i in range(len(writes)))
    inner: tuple[Stmt, ...] = (Scan(reg, root.dtype, "add", axis, tuple(body), value, stores),)
    for var in reversed([v for v in range(len(root.shape)) if v != axis.var]):
        inner = (Loop(Axis(var, root.shape[var]), inner),)
    return Kernel(name, _note(group), (*reads, *(replace(w, own=axis.var) for w in writes)), inner)


def _note(group: Group) -> str:
    """The ops of a kernel as a comment says them: in order, runs of one op counted."""
    names = [m.op for m in group.members if m.op not in ("constant", "size", "broadcast_to", "expand_dims", "squeeze", "reshape")] or [
        group.root.op
    ]
    words: list[str] = []
    i = 0
    while i < len(names):
        j = i
        while j < len(names) and names[j] == names[i]:
            j += 1
        words.append(names[i] if j == i + 1 else f"{j - i} {names[i]}")
        i = j
    return ", ".join(words)


@dataclass(slots=True)
class _Product:
    reg: int
    dtype: DType
    inner: Axis
    a: Operand
    b: Operand


@dataclass(slots=True)
class _Emitter:
    params: dict[Expr, int]
    count: int = 0
    own: dict[int, int] = field(default_factory=dict)
    """Of each param, how many leading axes have been read at the kernel's own index only."""

    def new(self) -> int:
        self.count += 1
        return self.count - 1

    def emit(self, node: Expr, at: Index, body: list[Stmt], known: dict[tuple[Expr, Index], int]) -> int:
        """The register holding element `at` of `node`, with what computes it appended to `body`. Iterative."""
        stack = [(node, at)]
        while stack:
            here, index = stack[-1]
            if (here, index) in known:
                stack.pop()
                continue
            if here in self.params:
                reg, param = self.new(), self.params[here]
                body.append(Load(reg, here.dtype, param, flat(index, here.shape)))
                self.note_own(param, index)
            elif here.op == "constant":
                reg = self.new()
                body.append(Const(reg, here.dtype, here.arg))
            elif here.op == "iota":
                reg = self.new()
                body.append(IndexOf(reg, here.dtype, flat(index, here.shape)))
            elif here.op == "size":
                reg = self.new()
                body.append(SizeOf(reg, here.dtype, here.arg))
            else:
                kind = OPS[here.op].kind
                if kind == "gather":
                    use = (here.sources[1], source_index(here, 1, index, -1))
                    if use not in known:
                        stack.append(use)
                        continue
                    known[here, index] = self.gather(here, index, known[use], body)
                    stack.pop()
                    continue
                if kind not in ("elementwise", "view"):
                    raise InternalError(f"lower: {here.op} is no elementwise op and no view, but was inlined")
                needed = [(s, source_index(here, i, index, -1)) for i, s in enumerate(here.sources)]
                missing = [use for use in needed if use not in known]
                if missing:
                    stack.extend(reversed(missing))
                    continue
                regs = tuple(known[use] for use in needed)
                if kind == "view":
                    reg = regs[0]
                else:
                    reg = self.new()
                    body.append(Let(reg, here.dtype, here.op, regs))
            known[here, index] = reg
            stack.pop()
        return known[node, at]

    def note_own(self, param: int, index: Index) -> None:
        own = 0 if isinstance(index, Whole) else next((k for k, at in enumerate(index) if at != along(k)), len(index))
        self.own[param] = min(own, self.own.get(param, own))

    def gather(self, node: Expr, at: Index, number: int, body: list[Stmt]) -> int:
        source = node.sources[0]
        reg, param = self.new(), self.params[source]
        start = flat(source_index(node, 0, at, -1), source.shape)
        body.append(LoadAt(reg, node.dtype, param, start, number, strides(source.shape)[node.arg], source.shape[node.arg]))
        self.own[param] = 0
        return reg

    def fold(self, node: Expr, at: Index, var: int, known: dict[tuple[Expr, Index], int]) -> Fold:
        (source,) = node.sources
        body: list[Stmt] = []
        inner: dict[tuple[Expr, Index], int] = {}
        value = self.emit(source, source_index(node, 0, at, var), body, inner)
        reg = self.new()
        known[node, at] = reg
        return Fold(reg, node.dtype, FOLD_OF[node.op], Axis(var, source.shape[node.arg]), tuple(body), value)

    def contract(self, node: Expr, at: Index, var: int, known: dict[tuple[Expr, Index], int]) -> _Product:
        a, b = (self.operand(node, position, at, var) for position in range(2))
        reg = self.new()
        known[node, at] = reg
        return _Product(reg, node.dtype, Axis(var, node.sources[0].shape[-1]), a, b)

    def operand(self, node: Expr, position: int, at: Index, var: int) -> Operand:
        """Where a product reads: a stored tensor through views, or what is computed while it is packed."""
        start = index = source_index(node, position, at, var)
        source = node.sources[position]
        while source not in self.params:
            if OPS[source.op].kind != "view":
                body: list[Stmt] = []
                value = self.emit(node.sources[position], start, body, {})
                return Operand(-1, Affine(), tuple(body), value)
            index = source_index(source, 0, index, -1)
            (source,) = source.sources
        self.note_own(self.params[source], index)
        return Operand(self.params[source], flat(index, source.shape))
