"""One kernel as C: a function over its buffers and sizes, with one small function per reduction.

In: a scheduled kernel and a dialect. Out: C text. A lanes loop is written twice, for vectors and for what is left over; the
plain dialect has only the second. Reductions are written by c_fold, products by c_contract.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .access import Affine
from .c_fold import fold_along, fold_by_team, rows_loop
from .c_scalars import combine, identity, literal, scalar_c, vector_c, vector_type
from .c_tile import tile_side, tiled_loop
from .dims import Dim, Size, bounds, symbols, to_c
from .dtypes import DType
from .errors import InternalError
from .loops import Axis, Const, Contract, Fold, IndexOf, Kernel, Let, Load, LoadAt, Loop, Param, Scan, SizeOf, Stmt, Store, body_of, walk
from .toolchain import Dialect

VECTOR_BYTES = 64
"""Bytes of the widest vector a kernel uses; lanes.h cuts it where the target's registers are narrower, so the C is the same for all."""
SHARE_GRAIN = 1024
"""Elements that a thread takes at least: less is not worth a cache line's travel."""


SMALL_CACHE = 2**20
"""No last cache is smaller: results of fewer bytes are never stored past it."""


def _bytes(param: Param) -> Size:
    return math.prod(param.shape, start=param.dtype.itemsize)


@dataclass(slots=True)
class Needs:
    """What a function written for some statements must be given: they are its parameters."""

    params: dict[int, None] = field(default_factory=dict)
    dims: dict[Dim, None] = field(default_factory=dict)
    vars: dict[int, None] = field(default_factory=dict)
    regs: dict[int, None] = field(default_factory=dict)

    def with_dims(self, other: Needs) -> Needs:
        return Needs(self.params, self.dims | other.dims, self.vars, self.regs)


class KernelWriter:
    """Writes one kernel; `text()` is the whole of it."""

    def __init__(self, kernel: Kernel, dialect: Dialect, dim_name: Callable[[Dim], str]) -> None:
        self.kernel = kernel
        self.dialect = dialect
        self.dim_name = dim_name
        self.types: dict[int, DType] = {}
        self.constants: dict[int, str] = {}
        for stmt in walk(kernel.body):
            if isinstance(stmt, (Load, LoadAt, IndexOf, Const, SizeOf, Let, Fold, Scan, Contract)):
                self.types[stmt.reg] = stmt.dtype
            if isinstance(stmt, Const):
                self.constants[stmt.reg] = literal(stmt.value, stmt.dtype)
        widest = max([t.itemsize for t in self.types.values()] + [p.dtype.itemsize for p in kernel.params])
        self.lanes = VECTOR_BYTES // max(widest, 4) if dialect.vectors else 1
        self.functions: list[str] = []
        self.copies: dict[tuple[int, Affine], str] = {}
        """Reads that are found in a copy just now, and where (see c_tile)."""
        self.past: dict[int, str] = {}
        """Params that the loop in hand may store past the cache, and the variable that says whether it does."""
        self.streams = False
        """Whether some loop may: then the kernel ends with a fence."""
        self.team_fold: Fold | None = None
        """A fold that threads share, because nothing else of the kernel can be."""
        self._numbered = 0

    def number(self) -> int:
        """A number that no other helper function of this kernel has."""
        self._numbered += 1
        return self._numbered

    # ------------------------------------------------------------ names and sizes
    def size(self, size: Size) -> str:
        return to_c(size, self.dim_name)

    def _factor(self, size: Size) -> str:
        text = self.size(size)
        return text if text.isidentifier() or text.isdigit() else f"({text})"

    def index(self, at: Affine) -> str:
        parts = [f"i{v}" if c == 1 else f"i{v}*{self._factor(c)}" for v, c in at.terms]
        if not at.terms or at.offset != 0:
            parts.append(self._factor(at.offset))
        return " + ".join(parts)

    def scalar(self, reg: int) -> str:
        return self.constants.get(reg, f"r{reg}")

    def vector(self, reg: int, known: set[int]) -> str:
        return f"v{reg}" if reg in known else f"tj_splat_{self.vtype(reg)}({self.scalar(reg)})"

    def vtype(self, reg: int) -> str:
        return vector_type(self.types[reg], self.lanes)

    def pointer(self, param: int) -> str:
        p = self.kernel.params[param]
        const = "" if p.written else "const "
        return f"{const}{p.dtype.c} *{self.dialect.restrict} {p.name}"

    def needs(self, stmts: Sequence[Stmt], bound: set[int]) -> Needs:
        """What the statements use and do not define; `bound` are loop variables that the function has of its own."""
        found = Needs()
        defined: set[int] = set()
        bound = set(bound)

        def use_size(size: Size) -> None:
            found.dims.update(dict.fromkeys(symbols(size)))

        def use_index(at: Affine) -> None:
            use_size(at.offset)
            for var, c in at.terms:
                use_size(c)
                if var not in bound:
                    found.vars[var] = None

        def use_reg(reg: int) -> None:
            if reg not in defined and reg not in self.constants:
                found.regs[reg] = None

        def visit(body: Sequence[Stmt]) -> None:
            for stmt in body:
                match stmt:
                    case Load():
                        found.params[stmt.param] = None
                        use_index(stmt.at)
                    case LoadAt():
                        found.params[stmt.param] = None
                        use_index(stmt.at)
                        use_reg(stmt.index)
                        use_size(stmt.stride)
                        use_size(stmt.size)
                    case IndexOf():
                        use_index(stmt.at)
                    case SizeOf():
                        use_size(stmt.size)
                    case Let():
                        for arg in stmt.args:
                            use_reg(arg)
                    case Store():
                        found.params[stmt.param] = None
                        use_index(stmt.at)
                        use_reg(stmt.value)
                    case Loop() | Fold() | Scan():
                        if isinstance(stmt, Scan):
                            defined.add(stmt.reg)
                        use_size(stmt.axis.extent)
                        bound.add(stmt.axis.var)
                        visit(body_of(stmt))
                        if isinstance(stmt, Fold):
                            use_reg(stmt.value)
                if isinstance(stmt, (Load, LoadAt, IndexOf, SizeOf, Let, Fold)):
                    defined.add(stmt.reg)

        visit(stmts)
        return found

    def declare(self, needs: Needs) -> list[str]:
        out = [self.pointer(p) for p in sorted(needs.params)]
        out += [f"int64_t {self.dim_name(d)}" for d in sorted(needs.dims, key=lambda d: d.name)]
        out += [f"int64_t i{v}" for v in sorted(needs.vars)]
        return out + [f"{self.types[r].c} r{r}" for r in sorted(needs.regs)]

    def give(self, needs: Needs) -> list[str]:
        out = [self.kernel.params[p].name for p in sorted(needs.params)]
        out += [self.dim_name(d) for d in sorted(needs.dims, key=lambda d: d.name)]
        return out + [f"i{v}" for v in sorted(needs.vars)] + [f"r{r}" for r in sorted(needs.regs)]

    def _element(self, load: Load) -> str:
        return self.copies.get((load.param, load.at)) or f"{self.kernel.params[load.param].name}[{self.index(load.at)}]"

    def gathered(self, stmt: LoadAt, number: str, moved: str = "") -> str:
        """The element at an index that a register holds, brought into its axis first."""
        at = f"tj_at({number}, {self.size(stmt.size)})"
        return f"{self.kernel.params[stmt.param].name}[{moved}{self.index(stmt.at)} + {at}*{self._factor(stmt.stride)}]"

    # ------------------------------------------------------------ statements
    def scalar_body(self, stmts: Sequence[Stmt], pad: str) -> list[str]:
        """One element at a time."""
        out: list[str] = []
        for stmt in stmts:
            match stmt:
                case Const():
                    pass  # written where it is used
                case Load():
                    out.append(f"{pad}const {stmt.dtype.c} r{stmt.reg} = {self._element(stmt)};")
                case LoadAt():
                    out.append(f"{pad}const {stmt.dtype.c} r{stmt.reg} = {self.gathered(stmt, self.scalar(stmt.index))};")
                case IndexOf():
                    out.append(f"{pad}const {stmt.dtype.c} r{stmt.reg} = {self.index(stmt.at)};")
                case SizeOf():
                    out.append(f"{pad}const {stmt.dtype.c} r{stmt.reg} = ({stmt.dtype.c})({self.size(stmt.size)});")
                case Let():
                    text = scalar_c(stmt.op, stmt.dtype, [self.scalar(a) for a in stmt.args], [self.types[a] for a in stmt.args])
                    out.append(f"{pad}const {stmt.dtype.c} r{stmt.reg} = {text};")
                case Store():
                    out.append(f"{pad}{self.kernel.params[stmt.param].name}[{self.index(stmt.at)}] = {self.scalar(stmt.value)};")
                case Loop():
                    out += self.loop(stmt, pad)
                case Fold():
                    text = fold_by_team(self, stmt) if stmt is self.team_fold else fold_along(self, stmt)
                    out.append(f"{pad}const {stmt.dtype.c} r{stmt.reg} = {text};")
                    out += [f"{pad}if (team->index != 0) return;"] * (stmt is self.team_fold)
                case Scan():
                    out += self.scan(stmt, pad)
                case Contract():
                    raise InternalError(f"kernel {self.kernel.name}: a product lies inside a loop")
        return out

    def vector_body(self, stmts: Sequence[Stmt], var: int, pad: str, known: set[int] | None = None) -> list[str]:
        """`self.lanes` consecutive values of `var` at a time."""
        known = set() if known is None else known
        out: list[str] = []
        for stmt in stmts:
            match stmt:
                case Const():
                    continue
                case Load():
                    v, address = self.vtype(stmt.reg), f"{self.kernel.params[stmt.param].name} + {self.index(stmt.at)}"
                    stride = stmt.at.coefficient(var)
                    if (stmt.param, stmt.at) in self.copies:
                        text = f"tj_load_{v}(&{self.copies[stmt.param, stmt.at]})"
                    elif stride == 1:
                        text = f"tj_load_{v}({address})"
                    elif stride == 0:
                        text = f"tj_splat_{v}(*({address}))"
                    else:
                        text = f"tj_gather_{v}({address}, {self.size(stride)})"
                case LoadAt():
                    v, i, by = self.vtype(stmt.reg), self.vtype(stmt.index), self._factor(stmt.at.coefficient(var))
                    number = f"j{stmt.reg}"
                    moved = f"l{stmt.reg}*{by} + " if by != "0" else ""
                    out += [
                        f"{pad}{self.types[stmt.index].c} {number}[{self.lanes}];",
                        f"{pad}{stmt.dtype.c} g{stmt.reg}[{self.lanes}];",
                        f"{pad}tj_store_{i}({number}, {self.vector(stmt.index, known)});",
                        f"{pad}for (int l{stmt.reg} = 0; l{stmt.reg} < {self.lanes}; l{stmt.reg}++)",
                        f"{pad}  g{stmt.reg}[l{stmt.reg}] = {self.gathered(stmt, f'{number}[l{stmt.reg}]', moved)};",
                    ]
                    text = f"tj_load_{v}(g{stmt.reg})"
                case IndexOf():
                    v, stride = self.vtype(stmt.reg), stmt.at.coefficient(var)
                    text = f"tj_splat_{v}({self.index(stmt.at)})"
                    if stride != 0:
                        ramp = ", ".join(map(str, range(self.lanes)))
                        text += f" + tj_load_{v}((const {stmt.dtype.c}[]){{{ramp}}}) * tj_splat_{v}({self.size(stride)})"
                case SizeOf():
                    v = self.vtype(stmt.reg)
                    text = f"tj_splat_{v}(({stmt.dtype.c})({self.size(stmt.size)}))"
                case Let():
                    v = self.vtype(stmt.reg)
                    values, types = [self.vector(a, known) for a in stmt.args], [self.types[a] for a in stmt.args]
                    text = vector_c(stmt.op, stmt.dtype, self.lanes, values, types)
                case Store():
                    v, address = self.vtype(stmt.value), f"{self.kernel.params[stmt.param].name} + {self.index(stmt.at)}"
                    stride = stmt.at.coefficient(var)
                    value = self.vector(stmt.value, known)
                    if stride == 1 and stmt.param in self.past:
                        out.append(f"{pad}tj_put({v}, {self.past[stmt.param]}, {address}, {value});")
                        continue
                    store = (
                        f"tj_store_{v}({address}, {value})" if stride == 1 else f"tj_scatter_{v}({address}, {self.size(stride)}, {value})"
                    )
                    out.append(f"{pad}{store};")
                    continue
                case _:
                    raise InternalError(f"kernel {self.kernel.name}: a loop lies inside a vector loop")
            out.append(f"{pad}const {v} v{stmt.reg} = {text};")
            known.add(stmt.reg)
        return out

    def scan(self, stmt: Scan, pad: str) -> list[str]:
        """A running fold: one element after another."""
        i, r = f"i{stmt.axis.var}", f"r{stmt.reg}"
        return [
            f"{pad}{stmt.dtype.c} {r} = {identity(stmt.op, stmt.dtype)};",
            f"{pad}for (int64_t {i} = 0; {i} < {self.size(stmt.axis.extent)}; {i}++) {{",
            *self.scalar_body(stmt.body, pad + "  "),
            f"{pad}  {r} = {combine(stmt.op, stmt.dtype, 1, r, self.scalar(stmt.value))};",
            *self.scalar_body(stmt.after, pad + "  "),
            f"{pad}}}",
        ]

    def lanes_loop(self, axis: Axis, body: Sequence[Stmt], first: str, last: str, pad: str) -> list[str]:
        i = f"i{axis.var}"
        if self.lanes == 1:
            return [f"{pad}for (int64_t {i} = {first}; {i} < {last}; {i}++) {{", *self.scalar_body(body, pad + "  "), f"{pad}}}"]
        lines = [f"{pad}int64_t {i} = {first};"]
        for stmt in body:
            if isinstance(stmt, Store) and stmt.at.coefficient(axis.var) == 1 and self._may_pass(self.kernel.params[stmt.param]):
                name, bytes_ = self.kernel.params[stmt.param].name, self.size(_bytes(self.kernel.params[stmt.param]))
                lines.append(f"{pad}const int past_{name} = tj_streams(team, {name} + {self.index(stmt.at)}, {bytes_});")
                self.past[stmt.param] = f"past_{name}"
                self.streams = True
        lines += [
            f"{pad}for (; {i} + {self.lanes} <= {last}; {i} += {self.lanes}) {{",
            *self.vector_body(body, axis.var, pad + "  "),
            f"{pad}}}",
            f"{pad}for (; {i} < {last}; {i}++) {{",
            *self.scalar_body(body, pad + "  "),
            f"{pad}}}",
        ]
        self.past.clear()
        return lines

    def _may_pass(self, param: Param) -> bool:
        """Whether a result may be larger than a cache for some sizes. Links of a chain store what the next one reads."""
        return not self.kernel.grain and not param.dtype.storage and bounds(_bytes(param))[1] >= SMALL_CACHE

    def loop(self, stmt: Loop, pad: str) -> list[str]:
        if stmt.share and sum(isinstance(s, Loop) and s.share for s in self.kernel.body) > 1:  # each with its own first and last
            return [f"{pad}{{", *self._loop(stmt, pad + "  "), f"{pad}}}"]
        return self._loop(stmt, pad)

    def _paired(self, stmt: Loop, pad: str) -> list[str]:
        """Two loops that the team shares out as one: each thread's part may begin and end within the inner one."""
        inner = stmt.body[-1]
        assert isinstance(inner, Loop)
        i, j, count = f"i{stmt.axis.var}", f"i{inner.axis.var}", self._factor(inner.axis.extent)
        return [
            f"{pad}int64_t first, last;",
            f"{pad}tj_share(team, {self._factor(stmt.axis.extent)} * {count}, {self.kernel.grain or 1}, &first, &last);",
            f"{pad}for (int64_t {i} = first < last ? first / {count} : 0; first < last && {i} * {count} < last; {i}++) {{",
            f"{pad}  const int64_t {j}_from = first > {i} * {count} ? first - {i} * {count} : 0;",
            f"{pad}  const int64_t {j}_end = last < ({i} + 1) * {count} ? last - {i} * {count} : {count};",
            *self.scalar_body(stmt.body[:-1], pad + "  "),
            *self._loop(inner, pad + "  ", f"{j}_from", f"{j}_end"),
            f"{pad}}}",
        ]

    def _loop(self, stmt: Loop, pad: str, first: str = "0", last: str = "") -> list[str]:
        if stmt.paired:
            return self._paired(stmt, pad)
        last = last or self.size(stmt.axis.extent)
        out: list[str] = []
        if stmt.share:
            grain = self.kernel.grain or (SHARE_GRAIN if stmt.lanes else tile_side(stmt) if stmt.tiled else 1)
            out += [f"{pad}int64_t first, last;", f"{pad}tj_share(team, {last}, {grain}, &first, &last);"]
            first, last = "first", "last"
        if stmt.tiled:
            return out + tiled_loop(self, stmt, first, last, pad)
        if stmt.lanes and any(isinstance(s, Fold) for s in stmt.body):
            return out + rows_loop(self, stmt, first, last, pad)
        if stmt.lanes:
            inner = self.lanes_loop(stmt.axis, stmt.body, first, last, pad if stmt.share else pad + "  ")
            return out + (inner if stmt.share else [f"{pad}{{", *inner, f"{pad}}}"])
        i = f"i{stmt.axis.var}"
        return [
            *out,
            f"{pad}for (int64_t {i} = {first}; {i} < {last}; {i}++) {{",
            *self.scalar_body(stmt.body, pad + "  "),
            f"{pad}}}",
        ]
