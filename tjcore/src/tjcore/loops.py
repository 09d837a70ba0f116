"""Loop IR: what a kernel does, as loops over sizes that are known at run time.

    Program  = graph text, dims, buffers, kernels, calls, chains
    Call     = kernel, buffers            -- calls run one after another, the whole team waits between them
    Chain    = first, last, depth, scratch, tile, least
                                          -- but calls first..last run tile by tile over rows that they share
    Kernel   = name, note, params, body, grain
    Param    = name, dtype, shape, written, own
    Axis     = var, extent                -- 0 <= var < extent
    Affine   = sum of var * coefficient, + offset            (coefficients and offset are sizes)
    Stmt     = Load(reg, dtype, param, at)                   reg = param[at]
             | LoadAt(reg, dtype, param, at, index, stride, size)
                                                             reg = param[at + index * stride], index a register, brought into 0..size - 1
             | IndexOf(reg, dtype, at)                       reg = at
             | Const(reg, dtype, value)
             | SizeOf(reg, dtype, size)                      reg = size, rounded to dtype
             | Let(reg, dtype, op, args)                     reg = op(args), one of SCALARS
             | Store(param, at, value)
             | Loop(axis, body, share, lanes, tiled, paired) share: split over the team, paired: it and the loop that ends its body as
                                                             one; lanes: a vector of iterations at a time;
                                                             tiled: with the lanes loop that ends its body, in square tiles
             | Fold(reg, dtype, op, axis, body, value)       reg = value folded over axis by the documented tree
             | Scan(reg, dtype, op, axis, body, value, after)        reg = value folded over axis in order, after each step: after
             | Contract(reg, dtype, rows, cols, inner, a, b, body, batches, scratch, tiled)
                                                             scratch: a param, or None; tiled: so many of batches and rows, from the
                                                             front, are the rows of a chain, of which a call works a tile
                                                             for all batches, rows, cols: reg = chain of a[rows, inner] * b[inner, cols]; body
    Operand  = param, at                                     param[at]
             | body, value                                   the register that body computes, where the product packs it

Inside a lanes loop a Fold takes its rows one after another, all lanes at once; elsewhere lanes run along the folded axis.
Registers are assigned once and live in the body that assigns them and in what it contains. `verify_kernel` checks that,
types and bounds; `show_kernel` prints. Values are frozen: a pass builds new ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .access import Affine, show_affine
from .dims import Dim, Size, at_most, evaluate, symbols
from .dtypes import DType, int32, int64
from .errors import InternalError
from .ops import OPS, Shape, show_shape

SCALARS: dict[str, int] = {op.name: op.arity for op in OPS.values() if op.kind == "elementwise" and op.expand is None}
"""Scalar ops of `Let` and how many registers each takes: the elementwise rows of the op table, with the same meaning."""

FOLDS = ("add", "mul", "max", "min", "argmax", "argmin")
"""Operations a `Fold` can reduce with; the last two give the index of the first extreme."""


@dataclass(frozen=True, slots=True)
class Axis:
    var: int
    extent: Size


@dataclass(frozen=True, slots=True)
class Load:
    reg: int
    dtype: DType
    param: int
    at: Affine


@dataclass(frozen=True, slots=True)
class LoadAt:
    reg: int
    dtype: DType
    param: int
    at: Affine
    index: int
    stride: Size
    size: Size


@dataclass(frozen=True, slots=True)
class IndexOf:
    reg: int
    dtype: DType
    at: Affine


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    reg: int
    dtype: DType
    value: float

    def _bits(self) -> tuple[object, ...]:
        return self.reg, self.dtype, self.value, math.copysign(1, self.value)  # 0.0 and -0.0 are equal, but not the same

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._bits() == other._bits()

    def __hash__(self) -> int:
        return hash(self._bits())


@dataclass(frozen=True, slots=True)
class SizeOf:
    reg: int
    dtype: DType
    size: Size


@dataclass(frozen=True, slots=True)
class Let:
    reg: int
    dtype: DType
    op: str
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Store:
    param: int
    at: Affine
    value: int


@dataclass(frozen=True, slots=True)
class Loop:
    axis: Axis
    body: tuple[Stmt, ...]
    share: bool = False
    lanes: bool = False
    tiled: bool = False
    paired: bool = False


@dataclass(frozen=True, slots=True)
class Fold:
    reg: int
    dtype: DType
    op: str
    axis: Axis
    body: tuple[Stmt, ...]
    value: int


@dataclass(frozen=True, slots=True)
class Scan:
    reg: int
    dtype: DType
    op: str
    axis: Axis
    body: tuple[Stmt, ...]
    value: int
    after: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """What a product reads: an element of a param, or, where there is a body (and `param` is -1), the register `value` of it."""

    param: int
    at: Affine
    body: tuple[Stmt, ...] = ()
    value: int = -1

    @property
    def accesses(self) -> list[Affine]:
        """Every index that it reads at."""
        return [s.at for s in self.body if isinstance(s, (Load, LoadAt, IndexOf))] if self.body else [self.at]

    @property
    def params(self) -> list[int]:
        return [s.param for s in self.body if isinstance(s, (Load, LoadAt))] if self.body else [self.param]


@dataclass(frozen=True, slots=True)
class Contract:
    reg: int
    dtype: DType
    rows: Axis
    cols: Axis
    inner: Axis
    a: Operand
    b: Operand
    body: tuple[Stmt, ...]
    batches: tuple[Axis, ...] = ()
    scratch: int | None = None
    tiled: int = 0


Stmt = Load | LoadAt | IndexOf | Const | SizeOf | Let | Store | Loop | Fold | Scan | Contract


@dataclass(frozen=True, slots=True)
class Param:
    """A tensor that a kernel reads or writes. Of its first `own` axes, each iteration touches its own index only."""

    name: str
    dtype: DType
    shape: Shape
    written: bool
    own: int = 0


@dataclass(frozen=True, slots=True)
class Kernel:
    """`grain`: in which multiples the team shares out its outermost loop, where the kernel is a link of a chain; 0 otherwise."""

    name: str
    note: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    grain: int = 0


BufferKind = Literal["input", "output", "temporary", "constant"]
"""Who brings the memory: the caller, the caller or the call, the arena, the generated code itself."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor in memory: C-contiguous, of `shape` and `dtype`; with `per_thread`, one for each thread of the team, side by side."""

    name: str
    kind: BufferKind
    shape: Shape
    dtype: DType
    per_thread: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One run of `kernels[kernel]` on `buffers`, in the order of the kernel's params."""

    kernel: int
    buffers: tuple[int, ...]


TILE_BYTES = 16384
"""What one scratch buffer of a chain takes in each thread (more only where a single row is longer), so that all lie in the nearest cache."""
PRODUCT_TILE_BYTES = 1 << 17
"""The same for chains with products, which lie in the second cache: a product works the better the more rows a tile has."""
PRODUCT_TILE_ROWS = 32
"""Rows that a tile has at least where products are in the chain, since each tile packs their right operands anew."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Calls `first` to `last` run tile by tile over rows, without waiting between them: over the `depth` leading axes of what they write.

    The `scratch` buffers live within a tile only, whose rows are as many as fit into `tile` bytes of each, `least` at least.
    """

    first: int
    last: int
    depth: int
    scratch: tuple[int, ...]
    tile: int = TILE_BYTES
    least: int = 1


@dataclass(frozen=True, slots=True)
class Program:
    """A whole graph, lowered. Buffers stand in the order of the native entry: inputs, outputs, temporaries."""

    graph: str
    dims: tuple[Dim, ...]
    buffers: tuple[Buffer, ...]
    kernels: tuple[Kernel, ...]
    calls: tuple[Call, ...]
    chains: tuple[Chain, ...] = ()
    profiled: bool = False
    """Whether the entry notes the time of each step."""

    def count(self, kind: BufferKind) -> int:
        return sum(b.kind == kind for b in self.buffers)


def plain_store(stmt: Contract) -> Store | None:
    """The store to write straight to, when nothing but one row-major store follows the product."""
    if len(stmt.body) != 1 or not isinstance(store := stmt.body[0], Store) or store.value != stmt.reg:
        return None
    return store if stmt.cols.extent == 1 or store.at.coefficient(stmt.cols.var) == 1 else None


def body_of(stmt: Stmt) -> tuple[Stmt, ...]:
    if isinstance(stmt, Scan):
        return stmt.body + stmt.after
    if isinstance(stmt, Contract):
        return stmt.a.body + stmt.b.body + stmt.body
    return stmt.body if isinstance(stmt, (Loop, Fold)) else ()


def walk(stmts: Sequence[Stmt]) -> Iterator[Stmt]:
    """Every statement, a loop before what it contains."""
    for stmt in stmts:
        yield stmt
        yield from walk(body_of(stmt))


def map_index(stmts: Sequence[Stmt], change: Callable[[int, Affine], Affine]) -> tuple[Stmt, ...]:
    """The statements with each access index replaced by `change(param, index)`."""
    out: list[Stmt] = []
    for stmt in stmts:
        if isinstance(stmt, (Load, LoadAt, Store)):
            out.append(replace(stmt, at=change(stmt.param, stmt.at)))
        elif isinstance(stmt, IndexOf):
            out.append(replace(stmt, at=change(-1, stmt.at)))
        elif isinstance(stmt, Contract):
            a, b = (
                replace(o, body=map_index(o.body, change)) if o.body else replace(o, at=change(o.param, o.at)) for o in (stmt.a, stmt.b)
            )
            out.append(replace(stmt, a=a, b=b, body=map_index(stmt.body, change)))
        elif isinstance(stmt, Scan):
            out.append(replace(stmt, body=map_index(stmt.body, change), after=map_index(stmt.after, change)))
        elif isinstance(stmt, (Loop, Fold)):
            out.append(replace(stmt, body=map_index(stmt.body, change)))
        else:
            out.append(stmt)
    return tuple(out)


# ---------------------------------------------------------------- verifier
def verify_kernel(kernel: Kernel, deferred: bool = False) -> None:
    """InternalError unless registers, variables, types, nesting and (where they can be proved) bounds are in order.

    `deferred`: some of its indices are within bounds only for the sizes that the guards let through.
    """
    assigned: set[int] = set()

    def fail(stmt: Stmt, why: str) -> InternalError:
        return InternalError(f"kernel {kernel.name}: {why}\n  in: {_show_stmt(kernel, stmt, '')[0]}\n{show_kernel(kernel)}")

    def access(stmt: Stmt, param: int, at: Affine, scope: dict[int, Axis], dtype: DType | None) -> None:
        if not 0 <= param < len(kernel.params):
            raise fail(stmt, f"no param {param}")
        if dtype is not None and kernel.params[param].dtype is not dtype:
            raise fail(stmt, f"{kernel.params[param].name} holds {kernel.params[param].dtype}, not {dtype}")
        last: Size = at.offset
        for var, c in at.terms:
            if var not in scope:
                raise fail(stmt, f"i{var} is not in scope")
            last = last + c * (scope[var].extent - 1)
        count = math.prod(kernel.params[param].shape)
        if at_most(last + 1, count) is False or (not deferred and _past(last, count, [scope[var].extent for var, _ in at.terms])):
            raise fail(stmt, f"index {show_affine(at)} reaches {last}, past the {count} elements of {kernel.params[param].name}")

    def check(stmts: Sequence[Stmt], scope: dict[int, Axis], types: dict[int, DType], inside: frozenset[str]) -> None:
        types = dict(types)

        def define(stmt: Load | LoadAt | IndexOf | Const | SizeOf | Let | Fold | Scan | Contract) -> None:
            if stmt.reg in assigned:
                raise fail(stmt, f"r{stmt.reg} is assigned twice")
            assigned.add(stmt.reg)
            types[stmt.reg] = stmt.dtype

        def enter(axis: Axis, stmt: Stmt) -> dict[int, Axis]:
            if axis.var in scope:
                raise fail(stmt, f"i{axis.var} is already a loop variable")
            return {**scope, axis.var: axis}

        for stmt in stmts:
            match stmt:
                case Load():
                    access(stmt, stmt.param, stmt.at, scope, stmt.dtype)
                    define(stmt)
                case LoadAt():
                    if types.get(stmt.index) not in (int32, int64):
                        raise fail(stmt, f"r{stmt.index} is no index in scope")
                    access(stmt, stmt.param, stmt.at, scope, stmt.dtype)
                    define(stmt)
                case IndexOf():
                    if any(var not in scope for var, _ in stmt.at.terms):
                        raise fail(stmt, "a loop variable is not in scope")
                    define(stmt)
                case Const() | SizeOf():
                    define(stmt)
                case Let():
                    if SCALARS.get(stmt.op) != len(stmt.args):
                        raise fail(stmt, f"no scalar op {stmt.op} of {len(stmt.args)} arguments")
                    if any(r not in types for r in stmt.args):
                        raise fail(stmt, "an argument is not in scope")
                    define(stmt)
                case Store():
                    if stmt.value not in types:
                        raise fail(stmt, f"r{stmt.value} is not in scope")
                    access(stmt, stmt.param, stmt.at, scope, types[stmt.value])
                    if not kernel.params[stmt.param].written:
                        raise fail(stmt, f"{kernel.params[stmt.param].name} is not to be written")
                case Loop():
                    if stmt.share and inside:
                        raise fail(stmt, "only an outermost loop can be shared")
                    if "lanes" in inside:
                        raise fail(stmt, "no loop may lie inside a lanes loop")
                    if stmt.tiled and not (stmt.body and isinstance(last := stmt.body[-1], Loop) and last.lanes):
                        raise fail(stmt, "a tiled loop must end with a lanes loop")
                    if stmt.paired and not (stmt.share and stmt.body and isinstance(stmt.body[-1], Loop)):
                        raise fail(stmt, "a paired loop must be shared and end with a loop")
                    check(stmt.body, enter(stmt.axis, stmt), types, inside | {"lanes" if stmt.lanes else "loop"})
                case Fold():
                    if stmt.op not in FOLDS:
                        raise fail(stmt, f"no fold {stmt.op}")
                    check(stmt.body, enter(stmt.axis, stmt), types, inside | {"fold"})
                    if (
                        not any(isinstance(s, (Load, LoadAt, IndexOf, Const, SizeOf, Let)) and s.reg == stmt.value for s in stmt.body)
                        and stmt.value not in types
                    ):
                        raise fail(stmt, f"r{stmt.value} is not in scope")
                    define(stmt)
                case Scan():
                    if stmt.op not in FOLDS[:4]:
                        raise fail(stmt, f"no scan {stmt.op}")
                    if "lanes" in inside:
                        raise fail(stmt, "no scan may lie inside a lanes loop")
                    define(stmt)
                    check((*stmt.body, *stmt.after), enter(stmt.axis, stmt), types, inside | {"scan"})
                case Contract():
                    around = dict(scope)
                    for axis in (*stmt.batches, stmt.rows, stmt.cols, stmt.inner):
                        if axis.var in around:
                            raise fail(stmt, f"i{axis.var} is already a loop variable")
                        around[axis.var] = axis
                    for operand, absent in ((stmt.a, stmt.cols), (stmt.b, stmt.rows)):
                        inner = {v: x for v, x in around.items() if v != absent.var}
                        if not operand.body:
                            access(stmt, operand.param, operand.at, inner, stmt.dtype)
                            continue
                        check(operand.body, inner, types, inside | {"contract"})
                        if not any(getattr(s, "reg", None) == operand.value and s.dtype is stmt.dtype for s in operand.body):  # type: ignore[union-attr]
                            raise fail(stmt, f"r{operand.value} is no {stmt.dtype} that the operand computes")
                    define(stmt)
                    check(stmt.body, {v: x for v, x in around.items() if v != stmt.inner.var}, types, inside | {"contract"})

    check(kernel.body, {}, {}, frozenset())


def _past(last: Size, count: Size, extents: Sequence[Size]) -> bool:
    """Whether element `last` lies behind `count` elements at the ends of the dims' bounds, if the loops around it run there at all."""
    dims = {dim.name: dim for size in (last, count, *extents) for dim in symbols(size)}
    for sizes in ({name: max(d.lower, 1) for name, d in dims.items()}, {name: d.upper for name, d in dims.items()}):
        if all(_value(extent, sizes) > 0 for extent in extents) and _value(last, sizes) >= _value(count, sizes):
            return True
    return False


def _value(size: Size, sizes: Mapping[str, int]) -> int:
    return size if isinstance(size, int) else evaluate(size, sizes)


# ---------------------------------------------------------------- printed form
def _show_stmt(kernel: Kernel, stmt: Stmt, pad: str) -> list[str]:
    def at(param: int, index: Affine) -> str:
        name = kernel.params[param].name if 0 <= param < len(kernel.params) else f"param{param}"  # a broken kernel is shown, too
        return f"{name}[{show_affine(index)}]"

    match stmt:
        case Load():
            return [f"{pad}r{stmt.reg} = load {at(stmt.param, stmt.at)}"]
        case LoadAt():
            return [f"{pad}r{stmt.reg} = load {at(stmt.param, stmt.at)} + r{stmt.index} * {stmt.stride}, r{stmt.index} < {stmt.size}"]
        case IndexOf():
            return [f"{pad}r{stmt.reg} = index {show_affine(stmt.at)}"]
        case Const():
            return [f"{pad}r{stmt.reg} = {stmt.value!r} {stmt.dtype}"]
        case SizeOf():
            return [f"{pad}r{stmt.reg} = size {stmt.size} {stmt.dtype}"]
        case Let():
            return [f"{pad}r{stmt.reg} = {stmt.op} " + " ".join(f"r{a}" for a in stmt.args)]
        case Store():
            return [f"{pad}store {at(stmt.param, stmt.at)} = r{stmt.value}"]
        case Loop():
            mode = " share" * stmt.share + " lanes" * stmt.lanes + " tiled" * stmt.tiled + " paired" * stmt.paired
            head = f"{pad}for i{stmt.axis.var} < {stmt.axis.extent}{mode}"
        case Fold():
            head = f"{pad}r{stmt.reg} = fold {stmt.op} r{stmt.value} over i{stmt.axis.var} < {stmt.axis.extent}"
        case Scan():
            head = f"{pad}r{stmt.reg} = scan {stmt.op} r{stmt.value} over i{stmt.axis.var} < {stmt.axis.extent}"
        case Contract():
            rows, cols, inner = (f"i{a.var} < {a.extent}" for a in (stmt.rows, stmt.cols, stmt.inner))
            every = ", ".join([*(f"i{a.var} < {a.extent}" for a in stmt.batches), rows, cols])
            a, b = (f"r{o.value}" if o.body else at(o.param, o.at) for o in (stmt.a, stmt.b))
            head = f"{pad}r{stmt.reg} = contract {a} * {b} for {every} over {inner}"
            for operand, name in ((stmt.a, a), (stmt.b, b)):
                if operand.body:
                    head += "".join(
                        f"\n{pad}  {line}"
                        for line in (f"packing {name}", *(f"  {text}" for s in operand.body for text in _show_stmt(kernel, s, "")))
                    )
    return [head, *(line for inner_stmt in stmt.body for line in _show_stmt(kernel, inner_stmt, pad + "  "))]


def show_kernel(kernel: Kernel) -> str:
    """A kernel as a person reads it."""
    params = ", ".join(f"{p.name}: {p.dtype} {show_shape(p.shape)}{' out' if p.written else ''}" for p in kernel.params)
    lines = [f"kernel {kernel.name}({params})  # {kernel.note}"]
    for stmt in kernel.body:
        lines += _show_stmt(kernel, stmt, "  ")
    return "\n".join(lines)
