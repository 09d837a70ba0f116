"""One kernel as C: a function over its buffers and sizes, with one small function per reduction.

In: a scheduled kernel and a dialect. Out: C text. A lanes loop is written twice, for vectors and for what is left over; the
plain dialect has only the second. What a reduction adds up is a function of the index, called from the tree of fold.h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .access import Affine
from .c_scalars import combine, identity, literal, scalar_c, vector_c, vector_type
from .dims import Dim, Size, symbols, to_c
from .dtypes import DType
from .errors import InternalError
from .loops import Axis, Const, Contract, Fold, Kernel, Let, Load, Loop, Stmt, Store, walk
from .numerics import BLOCK_STEPS, lanes_of
from .toolchain import Dialect

VECTOR_BYTES = 64
"""Bytes of the widest vector a kernel uses; lanes.h cuts it where the target's registers are narrower, so the C is the same for all."""
SHARE_GRAIN = 1024
"""Elements that a thread takes at least: less is not worth a cache line's travel."""


@dataclass(slots=True)
class Needs:
    """What a function written for some statements must be given: they are its parameters."""

    params: dict[int, None] = field(default_factory=dict)
    dims: dict[Dim, None] = field(default_factory=dict)
    vars: dict[int, None] = field(default_factory=dict)
    regs: dict[int, None] = field(default_factory=dict)


class KernelWriter:
    """Writes one kernel; `text()` is the whole of it."""

    def __init__(self, kernel: Kernel, dialect: Dialect, dim_name: Callable[[Dim], str]) -> None:
        self.kernel = kernel
        self.dialect = dialect
        self.dim_name = dim_name
        self.types: dict[int, DType] = {}
        self.constants: dict[int, str] = {}
        for stmt in walk(kernel.body):
            if isinstance(stmt, (Load, Const, Let, Fold, Contract)):
                self.types[stmt.reg] = stmt.dtype
            if isinstance(stmt, Const):
                self.constants[stmt.reg] = literal(stmt.value, stmt.dtype)
        widest = max([t.itemsize for t in self.types.values()] + [p.dtype.itemsize for p in kernel.params])
        self.lanes = VECTOR_BYTES // max(widest, 4) if dialect.vectors else 1
        self.functions: list[str] = []
        self.folds = 0

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
                    case Let():
                        for arg in stmt.args:
                            use_reg(arg)
                    case Store():
                        found.params[stmt.param] = None
                        use_index(stmt.at)
                        use_reg(stmt.value)
                    case Loop() | Fold():
                        use_size(stmt.axis.extent)
                        bound.add(stmt.axis.var)
                        visit(stmt.body)
                        if isinstance(stmt, Fold):
                            use_reg(stmt.value)
                if isinstance(stmt, (Load, Let, Fold)):
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

    # ------------------------------------------------------------ statements
    def scalar_body(self, stmts: Sequence[Stmt], pad: str) -> list[str]:
        """One element at a time."""
        out: list[str] = []
        for stmt in stmts:
            match stmt:
                case Const():
                    pass  # written where it is used
                case Load():
                    out.append(f"{pad}const {stmt.dtype.c} r{stmt.reg} = {self.kernel.params[stmt.param].name}[{self.index(stmt.at)}];")
                case Let():
                    text = scalar_c(stmt.op, stmt.dtype, [self.scalar(a) for a in stmt.args])
                    out.append(f"{pad}const {stmt.dtype.c} r{stmt.reg} = {text};")
                case Store():
                    out.append(f"{pad}{self.kernel.params[stmt.param].name}[{self.index(stmt.at)}] = {self.scalar(stmt.value)};")
                case Loop():
                    out += self.loop(stmt, pad)
                case Fold():
                    out.append(f"{pad}const {stmt.dtype.c} r{stmt.reg} = {self.fold_along(stmt)};")
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
                    if stride == 1:
                        text = f"tj_load_{v}({address})"
                    elif stride == 0:
                        text = f"tj_splat_{v}(*({address}))"
                    else:
                        text = f"tj_gather_{v}({address}, {self.size(stride)})"
                case Let():
                    v = self.vtype(stmt.reg)
                    text = vector_c(stmt.op, stmt.dtype, self.lanes, [self.vector(a, known) for a in stmt.args])
                case Store():
                    v, address = self.vtype(stmt.value), f"{self.kernel.params[stmt.param].name} + {self.index(stmt.at)}"
                    stride = stmt.at.coefficient(var)
                    value = self.vector(stmt.value, known)
                    store = f"tj_store_{v}({address}, {value})" if stride == 1 else f"tj_scatter_{v}({address}, {self.size(stride)}, {value})"
                    out.append(f"{pad}{store};")
                    continue
                case _:
                    raise InternalError(f"kernel {self.kernel.name}: a loop lies inside a vector loop")
            out.append(f"{pad}const {v} v{stmt.reg} = {text};")
            known.add(stmt.reg)
        return out

    def lanes_loop(self, axis: Axis, body: Sequence[Stmt], first: str, last: str, pad: str) -> list[str]:
        i = f"i{axis.var}"
        if self.lanes == 1:
            return [f"{pad}for (int64_t {i} = {first}; {i} < {last}; {i}++) {{", *self.scalar_body(body, pad + "  "), f"{pad}}}"]
        return [
            f"{pad}int64_t {i} = {first};",
            f"{pad}for (; {i} + {self.lanes} <= {last}; {i} += {self.lanes}) {{",
            *self.vector_body(body, axis.var, pad + "  "),
            f"{pad}}}",
            f"{pad}for (; {i} < {last}; {i}++) {{",
            *self.scalar_body(body, pad + "  "),
            f"{pad}}}",
        ]

    def loop(self, stmt: Loop, pad: str) -> list[str]:
        first, last = "0", self.size(stmt.axis.extent)
        out: list[str] = []
        if stmt.share:
            grain = SHARE_GRAIN if stmt.lanes else 1
            out += [f"{pad}int64_t first, last;", f"{pad}tj_share(team, {last}, {grain}, &first, &last);"]
            first, last = "first", "last"
        if stmt.lanes and any(isinstance(s, Fold) for s in stmt.body):
            return out + self.rows_loop(stmt, first, last, pad)
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

    # ------------------------------------------------------------ reductions
    def _element(self, fold: Fold, var: int, name: str) -> Needs:
        """The function of one element of the fold, and of a vector of them along `var`. Returns what it must be given."""
        needs = self.needs(fold.body, {fold.axis.var, var})
        if fold.value not in self.constants and not any(isinstance(s, (Load, Let)) and s.reg == fold.value for s in fold.body):
            needs.regs[fold.value] = None
        own = [f"int64_t i{v}" for v in sorted({fold.axis.var, var})]
        parameters = ", ".join(own + self.declare(needs))
        unused = [f"  (void)i{v};" for v in sorted({fold.axis.var, var})]
        c = fold.dtype.c
        lines = [f"static inline {c} {name}({parameters}) {{", *unused, *self.scalar_body(fold.body, "  ")]
        self.functions.append("\n".join([*lines, f"  return {self.scalar(fold.value)};", "}"]))
        if self.lanes > 1:
            known: set[int] = set()
            body = self.vector_body(fold.body, var, "  ", known)
            lines = [f"TJ_INLINE {vector_type(fold.dtype, self.lanes)} {name}_lanes({parameters}) {{", *unused, *body]
            self.functions.append("\n".join([*lines, f"  return {self.vector(fold.value, known)};", "}"]))
        return needs

    def _name(self, kind: str) -> str:
        return f"{self.kernel.name}_{kind}{self.folds}"

    def fold_along(self, fold: Fold) -> str:
        """The expression that folds with lanes along the folded axis: a call of a function written for it."""
        self.folds += 1
        element, name = self._name("element"), self._name("fold")
        needs = self._element(fold, fold.axis.var, element)
        given = self.give(needs)
        c, lanes, extent = fold.dtype.c, lanes_of(fold.dtype.itemsize), self.size(fold.axis.extent)
        block = lanes * BLOCK_STEPS
        t = f"{fold.op}_{fold.dtype.short}x1"

        def at(function: str, index: str) -> str:
            return f"{function}({', '.join([index, *given])})"

        lines = [f"static {c} {name}_block({', '.join(['int64_t first', 'int64_t last', *self.declare(needs)])}) {{", "  int64_t i = first;"]
        if self.lanes == 1:
            lines += [
                f"  {c} lane[{lanes}];",
                f"  for (int t = 0; t < {lanes}; t++) lane[t] = i < last ? {at(element, 'i++')} : {identity(fold.op, fold.dtype)};",
                f"  for (int t = 0; i < last; i++, t = (t + 1) % {lanes}) lane[t] = {combine(fold.op, fold.dtype, 1, 'lane[t]', at(element, 'i'))};",
                f"  return tj_halve_{t}(lane, {lanes});",
            ]
        else:
            lines += self._block_of_vectors(fold, element, at, lanes)
        lines.append("}")
        self.functions.append("\n".join(lines))
        declare_extent = self.needs([fold], set()).dims
        whole = Needs(needs.params, needs.dims | declare_extent, needs.vars, needs.regs)
        zero = literal(0, fold.dtype)
        self.functions.append(
            "\n".join(
                [
                    f"static inline {c} {name}({', '.join(self.declare(whole)) or 'void'}) {{",
                    f"  const int64_t count = {extent};",
                    f"  if (count <= {block}) return count ? {name}_block({', '.join(['0', 'count', *given])}) : {zero};",
                    f"  tj_tree_{t} tree;",
                    "  tree.count = tree.top = 0;",
                    f"  for (int64_t i = 0; i < count; i += {block})",
                    f"    tj_push_{t}(&tree, {name}_block({', '.join(['i', f'i + {block} < count ? i + {block} : count', *given])}));",
                    f"  return tj_finish_{t}(&tree);",
                    "}",
                ]
            )
        )
        return f"{name}({', '.join(self.give(whole))})"

    def _block_of_vectors(self, fold: Fold, element: str, at: Callable[[str, str], str], lanes: int) -> list[str]:
        v, w = vector_type(fold.dtype, self.lanes), self.lanes
        parts = lanes // w
        name = self._name("part")
        c = fold.dtype.c
        needs = self.needs(fold.body, {fold.axis.var})
        if fold.value not in self.constants and not any(isinstance(s, (Load, Let)) and s.reg == fold.value for s in fold.body):
            needs.regs[fold.value] = None
        self.functions.append(
            "\n".join(
                [
                    f"/* The last elements, fewer than {w}, with lanes that hold nothing left neutral. */",
                    f"static {v} {name}({', '.join(['int64_t i', 'int64_t last', *self.declare(needs)])}) {{",
                    f"  {c} lane[{w}];",
                    f"  for (int t = 0; t < {w}; t++) lane[t] = i + t < last ? {at(element, 'i + t')} : {identity(fold.op, fold.dtype)};",
                    f"  return tj_load_{v}(lane);",
                    "}",
                ]
            )
        )

        def add(part: int, value: str) -> str:
            return f"a{part} = {combine(fold.op, fold.dtype, w, f'a{part}', value)};"

        lines = [f"  {v} a0 = tj_splat_{v}({identity(fold.op, fold.dtype)})" + "".join(f", a{p} = a0" for p in range(1, parts)) + ";"]
        lines.append(f"  for (; i + {lanes} <= last; i += {lanes}) {{")
        for p in range(parts):
            offset = "i" if p == 0 else f"i + {p * w}"
            lines.append(f"    {add(p, at(element + '_lanes', offset))}")
        lines.append("  }")
        for p in range(parts):
            rest = f"{name}({', '.join(['i', 'last', *self.give(needs)])})"
            whole = at(element + "_lanes", "i")
            lines.append(f"  if (i < last) {add(p, f'i + {w} <= last ? {whole} : {rest}')}")
            if p + 1 < parts:
                lines.append(f"  i += {w};")
        live = [f"a{p}" for p in range(parts)]
        while len(live) > 1:
            half = len(live) // 2
            live = [combine(fold.op, fold.dtype, w, live[p], live[p + half]) for p in range(half)]
        lines.append(f"  return tj_halve_{fold.op}_{v}({live[0]});")
        return lines

    def rows_loop(self, stmt: Loop, first: str, last: str, pad: str) -> list[str]:
        """Folds whose lanes run across columns: rows are taken one after another, a strip of columns at a time."""
        var = stmt.axis.var
        inner = pad + "  "
        out = [
            f"{pad}for (int64_t strip = {first}; strip < {last}; strip += TJ_FOLD_COLUMNS) {{",
            f"{inner}const int64_t width = {last} - strip < TJ_FOLD_COLUMNS ? {last} - strip : TJ_FOLD_COLUMNS;",
        ]
        results: dict[int, Fold] = {}
        rest: list[Stmt] = []
        for s in stmt.body:
            if isinstance(s, Fold):
                results[s.reg] = s
                out.append(f"{inner}{s.dtype.c} row{s.reg}[TJ_FOLD_COLUMNS];")
                out.append(f"{inner}{self._fold_rows(s, var, f'row{s.reg}')};")
            else:
                rest.append(s)
        loads = [f"const {s.dtype.c} r{reg} = row{reg}[i{var} - strip];" for reg, s in results.items()]
        i = f"i{var}"
        out += [
            f"{inner}for (int64_t {i} = strip; {i} < strip + width; {i}++) {{",
            *(f"{inner}  {line}" for line in loads),
            *self.scalar_body(rest, inner + "  "),
            f"{inner}}}",
            f"{pad}}}",
        ]
        return out

    def _fold_rows(self, fold: Fold, var: int, result: str) -> str:
        self.folds += 1
        element, name = self._name("element"), self._name("rows")
        needs = self._element(fold, var, element)
        whole = self.needs([fold], {var})
        whole = Needs(needs.params | whole.params, needs.dims | whole.dims, needs.vars, needs.regs)
        c, lanes = fold.dtype.c, lanes_of(fold.dtype.itemsize)
        block, t = lanes * BLOCK_STEPS, f"{fold.op}_{fold.dtype.short}x1"
        k, j = f"i{fold.axis.var}", f"i{var}"
        order = [k, j] if fold.axis.var < var else [j, k]
        given = self.give(needs)

        def row(keep: bool, pad: str) -> list[str]:
            """One row of elements into, or onto, its lane."""
            scalar = f"{element}({', '.join([*order, *given])})"
            one = combine(fold.op, fold.dtype, 1, "to[t]", scalar) if keep else scalar
            out = [f"{pad}int64_t t = 0;"]
            if self.lanes > 1:
                v = vector_type(fold.dtype, self.lanes)
                many = f"{element}_lanes({', '.join([*order, *given])})"
                many = combine(fold.op, fold.dtype, self.lanes, f"tj_load_{v}(to + t)", many) if keep else many
                out.append(f"{pad}for (int64_t {j} = strip; t + {self.lanes} <= width; t += {self.lanes}, {j} += {self.lanes}) tj_store_{v}(to + t, {many});")
            out.append(f"{pad}for (int64_t {j} = strip + t; t < width; t++, {j}++) to[t] = {one};")
            return out

        parameters = [f"{c} *{self.dialect.restrict} out", "int64_t strip", "int64_t width", *self.declare(whole)]
        lines = [
            f"static void {name}({', '.join(parameters)}) {{",
            f"  const int64_t count = {self.size(fold.axis.extent)};",
            f"  {c} lane[{lanes}][TJ_FOLD_COLUMNS];",
            f"  tj_rows_{t} tree;",
            "  tree.count = tree.top = 0;",
            f"  for (int64_t first = 0; first < count; first += {block}) {{",
            f"    const int64_t last = first + {block} < count ? first + {block} : count;",
            f"    for (int64_t {k} = first; {k} < last; {k}++) {{",
            f"      {c} *to = lane[({k} - first) % {lanes}];",
            f"      if ({k} - first < {lanes}) {{",
            *row(False, "        "),
            "      } else {",
            *row(True, "        "),
            "      }",
            "    }",
            f"    tj_halve_rows_{t}(lane, {lanes}, last - first < {lanes} ? last - first : {lanes}, width);",
            f"    if (count <= {block}) {{",
            "      for (int64_t t = 0; t < width; t++) out[t] = lane[0][t];",
            "      return;",
            "    }",
            f"    tj_push_rows_{t}(&tree, lane[0], width);",
            "  }",
            f"  if (!tree.top) for (int64_t t = 0; t < width; t++) out[t] = {literal(0, fold.dtype)};",
            f"  else tj_finish_rows_{t}(&tree, out, width);",
            "}",
        ]
        self.functions.append("\n".join(lines))
        return f"{name}({', '.join([result, 'strip', 'width', *self.give(whole)])})"

    # ------------------------------------------------------------ products
    def contract(self, stmt: Contract) -> list[str]:
        """A call of the support library's product, with what follows it on each element as a callback on finished tiles."""
        name = self.kernel.name
        out: list[str] = []
        plain = self._plain_destination(stmt)
        needs = self.needs(stmt.body, {stmt.rows.var, stmt.cols.var})
        needs.regs.clear()  # the product itself is the only register from outside
        if plain is None:
            self._epilogue(stmt, needs)
            given = ", ".join(self.give(needs)) or "0"
            out.append(f"  struct {name}_given given = {{{given}}};")
        a, b = stmt.a, stmt.b
        fields = {
            "m": self.size(stmt.rows.extent),
            "n": self.size(stmt.cols.extent),
            "k": self.size(stmt.inner.extent),
            "batch": "1",
            "a": self._address(a.param, a.at),
            "a_row": self.size(a.at.coefficient(stmt.rows.var)),
            "a_col": self.size(a.at.coefficient(stmt.inner.var)),
            "b": self._address(b.param, b.at),
            "b_row": self.size(b.at.coefficient(stmt.inner.var)),
            "b_col": self.size(b.at.coefficient(stmt.cols.var)),
        }
        if plain is None:
            fields |= {"epilogue": f"{name}_epilogue", "user": "&given"}
        else:
            fields |= {"c": self._address(plain.param, plain.at), "c_row": self.size(plain.at.coefficient(stmt.rows.var))}
        if stmt.scratch is not None:
            fields["scratch"] = self.kernel.params[stmt.scratch].name
        out.append("  tj_contract product = {0};")
        out += [f"  product.{key} = {value};" for key, value in fields.items()]
        out.append(f"  team->support->contract.{stmt.dtype.short}(team, &product);")
        return out

    def contract_dims(self, stmt: Contract) -> set[Dim]:
        """The symbols in the product's extents and operand strides."""
        sizes: list[Size] = [axis.extent for axis in (stmt.rows, stmt.cols, stmt.inner)]
        for at in (stmt.a.at, stmt.b.at):
            sizes += [at.offset, *(c for _, c in at.terms)]
        return {d for size in sizes for d in symbols(size)} | set(self.needs(stmt.body, {stmt.rows.var, stmt.cols.var}).dims)

    def _plain_destination(self, stmt: Contract) -> Store | None:
        """The store to write straight to, when nothing but one row-major store follows the product."""
        if len(stmt.body) == 1 and isinstance(store := stmt.body[0], Store) and store.at.coefficient(stmt.cols.var) == 1:
            return store
        return None

    def _address(self, param: int, at: Affine) -> str:
        name = self.kernel.params[param].name
        return name if at.offset == 0 else f"{name} + {self.size(at.offset)}"

    def _epilogue(self, stmt: Contract, needs: Needs) -> None:
        name, c = self.kernel.name, stmt.dtype.c
        i, j = f"i{stmt.rows.var}", f"i{stmt.cols.var}"
        fields = [f"{p.replace(self.dialect.restrict + ' ', '')};" for p in self.declare(needs)] or ["int none;"]
        self.functions.append("\n".join([f"struct {name}_given {{", *(f"  {f}" for f in fields), "};"]))
        declared, given = self.declare(needs), self.give(needs)
        lines = [
            f"static void {name}_epilogue(void *user, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, void *tile, int64_t stride) {{",
            f"  const struct {name}_given *given = user;",
            "  (void)given;",
            "  (void)batch;",
            *(f"  {d} = given->{g};" for d, g in zip(declared, given, strict=True)),
            f"  for (int64_t {i} = row; {i} < row + rows; {i}++) {{",
            f"    const {c} *const at = (const {c} *)tile + ({i} - row) * stride - col;",
        ]
        if self.lanes > 1:
            v = self.vtype(stmt.reg)
            lines += [
                f"    int64_t {j} = col;",
                f"    for (; {j} + {self.lanes} <= col + cols; {j} += {self.lanes}) {{",
                f"      const {v} v{stmt.reg} = tj_load_{v}(at + {j});",
                *self.vector_body(stmt.body, stmt.cols.var, "      ", {stmt.reg}),
                "    }",
                f"    for (; {j} < col + cols; {j}++) {{",
            ]
        else:
            lines.append(f"    for (int64_t {j} = col; {j} < col + cols; {j}++) {{")
        lines += [f"      const {c} r{stmt.reg} = at[{j}];", *self.scalar_body(stmt.body, "      "), "    }", "  }", "}"]
        self.functions.append("\n".join(lines))
