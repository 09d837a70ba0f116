"""Products as C: a call of the support library (contract.h), with what follows each element as a callback on finished tiles.

In: a `Contract` and the writer of its kernel. Out: the statements of the kernel's function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .access import Affine
from .dims import Dim, Size, symbols
from .loops import Axis, Contract, plain_store

if TYPE_CHECKING:
    from .c_body import KernelWriter, Needs


def contract(w: KernelWriter, stmt: Contract) -> list[str]:
    """The body of the kernel's function: one call, in loops over the batch axes that one stride cannot run through."""
    name = w.kernel.name
    out: list[str] = []
    plain = plain_store(stmt)
    a, b = stmt.a, stmt.b
    outer, batch = stmt.batches[:-1], stmt.batches[-1] if stmt.batches else None
    fields = {
        "m": w.size(stmt.rows.extent),
        "n": w.size(stmt.cols.extent),
        "k": w.size(stmt.inner.extent),
        "batch": w.size(batch.extent) if batch else "1",
        "a": _address(w, a.param, a.at, outer),
        "a_row": w.size(a.at.coefficient(stmt.rows.var)),
        "a_col": w.size(a.at.coefficient(stmt.inner.var)),
        "b": _address(w, b.param, b.at, outer),
        "b_row": w.size(b.at.coefficient(stmt.inner.var)),
        "b_col": w.size(b.at.coefficient(stmt.cols.var)),
    }
    if batch:
        fields |= {"a_batch": w.size(a.at.coefficient(batch.var)), "b_batch": w.size(b.at.coefficient(batch.var))}
    given: list[str] = []
    if plain is None:
        needs = _epilogue_needs(w, stmt)
        _epilogue(w, stmt, needs)
        given.append(f"struct {name}_given given = {{{', '.join(w.give(needs)) or '0'}}};")
        fields |= {"epilogue": f"{name}_epilogue", "user": "&given"}
    else:
        fields |= {"c": _address(w, plain.param, plain.at, outer), "c_row": w.size(plain.at.coefficient(stmt.rows.var))}
        if batch:
            fields["c_batch"] = w.size(plain.at.coefficient(batch.var))
    if stmt.scratch is not None:
        fields["scratch"] = w.kernel.params[stmt.scratch].name
    lines = [*given, "tj_contract product = {0};", *(f"product.{key} = {value};" for key, value in fields.items())]
    lines.append(f"team->support->contract.{stmt.dtype.short}(team, &product);")
    for depth, axis in enumerate(outer):
        out.append(f"{'  ' * (depth + 1)}for (int64_t i{axis.var} = 0; i{axis.var} < {w.size(axis.extent)}; i{axis.var}++) {{")
    out += ["  " * (len(outer) + 1) + line for line in lines]
    return [*out, *("  " * depth + "}" for depth in range(len(outer), 0, -1))]


def contract_dims(w: KernelWriter, stmt: Contract) -> set[Dim]:
    """The symbols in the product's extents, its operands' strides and what follows it."""
    sizes: list[Size] = [axis.extent for axis in (*stmt.batches, stmt.rows, stmt.cols, stmt.inner)]
    for at in (stmt.a.at, stmt.b.at):
        sizes += [at.offset, *(c for _, c in at.terms)]
    return {d for size in sizes for d in symbols(size)} | set(_epilogue_needs(w, stmt).dims)


def _epilogue_needs(w: KernelWriter, stmt: Contract) -> Needs:
    needs = w.needs(stmt.body, {stmt.rows.var, stmt.cols.var, *(axis.var for axis in stmt.batches[-1:])})
    needs.regs.clear()  # the product itself is the only register from outside
    return needs


def _address(w: KernelWriter, param: int, at: Affine, outer: Sequence[Axis]) -> str:
    """Where the product of this turn of the outer loops starts."""
    name = w.kernel.params[param].name
    start = Affine(tuple((axis.var, c) for axis in outer if (c := at.coefficient(axis.var)) != 0), at.offset)
    return name if start == Affine() else f"{name} + {w.index(start)}"


def _epilogue(w: KernelWriter, stmt: Contract, needs: Needs) -> None:
    name, c = w.kernel.name, stmt.dtype.c
    i, j = f"i{stmt.rows.var}", f"i{stmt.cols.var}"
    declared, given = w.declare(needs), w.give(needs)
    fields = [f"{d.replace(w.dialect.restrict + ' ', '')};" for d in declared] or ["int none;"]
    w.functions.append("\n".join([f"struct {name}_given {{", *(f"  {f}" for f in fields), "};"]))
    head = f"static void {name}_epilogue(void *user, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, void *tile, int64_t stride)"
    lines = [
        head + " {",
        f"  const struct {name}_given *given = user;",
        *(f"  {d} = given->{g};" for d, g in zip(declared, given, strict=True)),
        "  (void)batch, (void)given;",
        *(f"  const int64_t i{axis.var} = batch;" for axis in stmt.batches[-1:]),
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
