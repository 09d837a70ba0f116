"""Products as C: a call of the support library (contract.h), with what follows each element as a callback on finished tiles.

In: a `Contract` and the writer of its kernel. Out: the statements of the kernel's function.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .access import Affine
from .dims import Dim, Size, symbols
from .loops import Axis, Contract, Operand, plain_store

if TYPE_CHECKING:
    from .c_body import KernelWriter, Needs


_BLOCK = "void *user, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols"
"""What a callback is told of the block it works on."""


def contract(w: KernelWriter, stmt: Contract) -> list[str]:
    """The body of the kernel's function: one call, in loops over the batch axes that one stride cannot run through."""
    name = w.kernel.name
    out: list[str] = []
    plain = plain_store(stmt)
    a, b = stmt.a, stmt.b
    outer, batch = _loops(stmt)
    fields = {
        "m": f"end{stmt.rows.var} - from{stmt.rows.var}" if _rows_by_tile(stmt) else w.size(stmt.rows.extent),
        "n": w.size(stmt.cols.extent),
        "k": w.size(stmt.inner.extent),
        "batch": w.size(batch.extent) if batch else "1",
    }
    for letter, operand, row, col in (("a", a, stmt.rows, stmt.inner), ("b", b, stmt.inner, stmt.cols)):
        if operand.body:
            continue
        fields |= {
            letter: _address(w, stmt, operand.param, operand.at),
            f"{letter}_row": w.size(operand.at.coefficient(row.var)),
            f"{letter}_col": w.size(operand.at.coefficient(col.var)),
        }
        if batch:
            fields[f"{letter}_batch"] = w.size(operand.at.coefficient(batch.var))
    given: list[str] = []
    if plain is None or a.body or b.body:
        needs = _callback_needs(w, stmt)
        values = [*w.give(needs), *([f"from{stmt.rows.var}"] if _rows_by_tile(stmt) else [])]
        _given(w, stmt, needs)
        given.append(f"struct {name}_given given = {{{', '.join(values) or '0'}}};")
        fields["user"] = "&given"
        for letter, operand, row, col in (("a", a, stmt.rows, stmt.inner), ("b", b, stmt.inner, stmt.cols)):
            if operand.body:
                by_columns = _packs_by_columns(operand, row, col)
                _pack(w, stmt, needs, letter, (col, row) if by_columns else (row, col), by_columns)
                fields |= {f"pack_{letter}": f"{name}_pack_{letter}", f"pack_{letter}_by_columns": str(int(by_columns))}
    if plain is None:
        _epilogue(w, stmt, needs)
        fields["epilogue"] = f"{name}_epilogue"
    else:
        fields |= {"c": _address(w, stmt, plain.param, plain.at), "c_row": w.size(plain.at.coefficient(stmt.rows.var))}
        if batch:
            fields["c_batch"] = w.size(plain.at.coefficient(batch.var))
    if stmt.scratch is not None:
        fields["scratch"] = w.kernel.params[stmt.scratch].name
    lines = [*given, "tj_contract product = {0};", *(f"product.{key} = {value};" for key, value in fields.items())]
    lines.append(f"team->support->contract.{stmt.dtype.short}({'&alone' if stmt.tiled else 'team'}, &product);")
    if stmt.tiled:
        out += _tile(w, stmt)
    for depth, axis in enumerate(outer):
        first, last, open_ = _tile_bounds(w, stmt) if stmt.tiled and depth == 0 and _tiled_batch(stmt) else ("0", w.size(axis.extent), [])
        out.append(f"{'  ' * (depth + 1)}for (int64_t i{axis.var} = {first}; i{axis.var} < {last}; i{axis.var}++) {{")
        out += open_
    out += ["  " * (len(outer) + 1) + line for line in lines]
    return [*out, *("  " * depth + "}" for depth in range(len(outer), 0, -1))]


def contract_dims(w: KernelWriter, stmt: Contract) -> set[Dim]:
    """The symbols in the product's extents, its operands' strides and what follows it."""
    sizes: list[Size] = [axis.extent for axis in (*stmt.batches, stmt.rows, stmt.cols, stmt.inner)]
    for at in (*stmt.a.accesses, *stmt.b.accesses):
        sizes += [at.offset, *(c for _, c in at.terms)]
    return {d for size in sizes for d in symbols(size)} | set(_callback_needs(w, stmt).dims)


def _callback_needs(w: KernelWriter, stmt: Contract) -> Needs:
    """What the epilogue and the packing of operands must be given: one struct for all."""
    _, batch = _loops(stmt)
    own = {stmt.rows.var, stmt.cols.var, stmt.inner.var, *([batch.var] if batch else [])}
    needs = w.needs((*stmt.a.body, *stmt.b.body, *(stmt.body if plain_store(stmt) is None else ())), own)
    needs.regs.clear()  # the product itself is the only register from outside
    return needs


def _loops(stmt: Contract) -> tuple[tuple[Axis, ...], Axis | None]:
    """The batch axes that are loops around the call, and the one that is a stride of it. Of a chain's rows, none is."""
    if len(stmt.batches) <= bool(_tiled_batch(stmt)):
        return stmt.batches, None
    return stmt.batches[:-1], stmt.batches[-1]


def _rows_by_tile(stmt: Contract) -> bool:
    return stmt.tiled > len(stmt.batches)


def _tiled_batch(stmt: Contract) -> bool:
    return stmt.tiled > 0 and bool(stmt.batches)


def _tile(w: KernelWriter, stmt: Contract) -> list[str]:
    """The tile's own rows: first to last, counted through the batch and the product's rows."""
    axes = (*stmt.batches, stmt.rows)[: stmt.tiled]
    count = math.prod(axis.extent for axis in axes)
    lines = [
        "  const tj_team alone = {0, 1, 0, 0, team->support};",
        "  int64_t first, last;",
        f"  tj_share(team, {w.size(count)}, {w.kernel.grain}, &first, &last);",
    ]
    if not _tiled_batch(stmt):
        lines.append(f"  const int64_t from{stmt.rows.var} = first, end{stmt.rows.var} = last;")
    return lines


def _tile_bounds(w: KernelWriter, stmt: Contract) -> tuple[str, str, list[str]]:
    """From where to where the loop over the tile's batches goes, and what it starts with."""
    if not _rows_by_tile(stmt):
        return "first", "last", []
    i, r, rows = f"i{stmt.batches[0].var}", stmt.rows.var, w.size(stmt.rows.extent)
    rows = rows if rows.isidentifier() or rows.isdigit() else f"({rows})"
    return (
        f"first < last ? first / {rows} : 0",
        f"(first < last ? (last - 1) / {rows} + 1 : 0)",
        [
            f"    const int64_t from{r} = first > {i} * {rows} ? first - {i} * {rows} : 0;",
            f"    const int64_t end{r} = last < ({i} + 1) * {rows} ? last - {i} * {rows} : {rows};",
        ],
    )


def _address(w: KernelWriter, stmt: Contract, param: int, at: Affine) -> str:
    """Where the product of this turn of the outer loops starts."""
    name = w.kernel.params[param].name
    outer, _ = _loops(stmt)
    start = Affine(tuple((axis.var, c) for axis in outer if (c := at.coefficient(axis.var)) != 0), at.offset)
    moved = "" if start == Affine() else f" + {w.index(start)}"
    if _rows_by_tile(stmt) and (step := at.coefficient(stmt.rows.var)) != 0:
        moved += f" + from{stmt.rows.var}*({w.size(step)})"
    return name + moved


def _given(w: KernelWriter, stmt: Contract, needs: Needs) -> None:
    name, declared = w.kernel.name, w.declare(needs)
    fields = [f"{d.replace(w.dialect.restrict + ' ', '')};" for d in declared]
    fields += ["int64_t from;"] if _rows_by_tile(stmt) else []
    fields = fields or ["int none;"]
    w.functions.append("\n".join([f"struct {name}_given {{", *(f"  {f}" for f in fields), "};"]))


def _unpacked(w: KernelWriter, stmt: Contract, needs: Needs, rows: bool) -> list[str]:
    """The first lines of a callback: what it was given, by name. `rows`: it counts the product's rows."""
    _, batch = _loops(stmt)
    declared = [(d, g, d.split()[-1].lstrip("*")) for d, g in zip(w.declare(needs), w.give(needs), strict=True)]
    return [
        f"  const struct {w.kernel.name}_given *given = user;",
        *(f"  {d} = given->{g};" for d, g, _ in declared),
        "".join(["  (void)batch, (void)given", *(f", (void){name}" for _, _, name in declared), ";"]),
        *(["  row += given->from;"] if rows and _rows_by_tile(stmt) else []),
        *([f"  const int64_t i{batch.var} = batch;", f"  (void)i{batch.var};"] if batch else []),
    ]


def _packs_by_columns(operand: Operand, row: Axis, col: Axis) -> bool:
    """Whether what the operand reads lies along its columns rather than along its rows."""

    def along(axis: Axis) -> int:
        return sum(at.coefficient(axis.var) == 1 for at in operand.accesses)

    return along(row) > along(col)


def _pack(w: KernelWriter, stmt: Contract, needs: Needs, letter: str, axes: tuple[Axis, Axis], by_columns: bool) -> None:
    """The callback that computes a block of an operand, `axes` from outside in: a loop, and lanes inside."""
    name, c, operand = w.kernel.name, stmt.dtype.c, stmt.a if letter == "a" else stmt.b
    outer, inner = axes
    i, j = f"i{outer.var}", f"i{inner.var}"
    (first, count), (start, width) = (("col", "cols"), ("row", "rows")) if by_columns else (("row", "rows"), ("col", "cols"))
    lines = [
        f"static void {name}_pack_{letter}({_BLOCK}, void *block, int64_t stride) {{",
        *_unpacked(w, stmt, needs, letter == "a"),
        f"  for (int64_t {i} = {first}; {i} < {first} + {count}; {i}++) {{",
        f"    {c} *const to = ({c} *)block + ({i} - {first}) * stride - {start};",
        f"    int64_t {j} = {start};",
    ]
    if w.lanes > 1:
        known: set[int] = set()
        body = w.vector_body(operand.body, inner.var, "      ", known)
        v = w.vtype(operand.value)
        lines += [
            f"    for (; {j} + {w.lanes} <= {start} + {width}; {j} += {w.lanes}) {{",
            *body,
            f"      tj_store_{v}(to + {j}, {w.vector(operand.value, known)});",
            "    }",
        ]
    lines += [
        f"    for (; {j} < {start} + {width}; {j}++) {{",
        *w.scalar_body(operand.body, "      "),
        f"      to[{j}] = {w.scalar(operand.value)};",
        "    }",
        "  }",
        "}",
    ]
    w.functions.append("\n".join(lines))


def _epilogue(w: KernelWriter, stmt: Contract, needs: Needs) -> None:
    name, c = w.kernel.name, stmt.dtype.c
    i, j = f"i{stmt.rows.var}", f"i{stmt.cols.var}"
    lines = [
        f"static void {name}_epilogue({_BLOCK}, void *tile, int64_t stride) {{",
        *_unpacked(w, stmt, needs, True),
        f"  for (int64_t {i} = row; {i} < row + rows; {i}++) {{",
        f"    const {c} *const at = (const {c} *)tile + ({i} - row) * stride - col;",
    ]
    if w.lanes > 1:
        v = w.vtype(stmt.reg)
        lines += [
            f"    int64_t {j} = col;",
            f"    for (; {j} + {w.lanes} <= col + cols; {j} += {w.lanes}) {{",
            f"      const {v} v{stmt.reg} = tj_load_{v}(at + {j});",
            *w.vector_body(stmt.body, stmt.cols.var, "      ", {stmt.reg}),
            "    }",
            f"    for (; {j} < col + cols; {j}++) {{",
        ]
    else:
        lines.append(f"    for (int64_t {j} = col; {j} < col + cols; {j}++) {{")
    lines += [f"      const {c} r{stmt.reg} = at[{j}];", *w.scalar_body(stmt.body, "      "), "    }", "  }", "}"]
    w.functions.append("\n".join(lines))
