"""Products as C: a call of the support library (contract.h), with what follows each element as a callback on finished tiles.

In: a `Contract` and the writer of its kernel. Out: the statements of the kernel's function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .access import Affine
from .dims import Dim, Size, symbols
from .loops import Contract, plain_store

if TYPE_CHECKING:
    from .c_body import KernelWriter, Needs


def contract(w: KernelWriter, stmt: Contract) -> list[str]:
    """The body of the kernel's function."""
    name = w.kernel.name
    out: list[str] = []
    plain = plain_store(stmt)
    a, b = stmt.a, stmt.b
    fields = {
        "m": w.size(stmt.rows.extent),
        "n": w.size(stmt.cols.extent),
        "k": w.size(stmt.inner.extent),
        "batch": "1",
        "a": _address(w, a.param, a.at),
        "a_row": w.size(a.at.coefficient(stmt.rows.var)),
        "a_col": w.size(a.at.coefficient(stmt.inner.var)),
        "b": _address(w, b.param, b.at),
        "b_row": w.size(b.at.coefficient(stmt.inner.var)),
        "b_col": w.size(b.at.coefficient(stmt.cols.var)),
    }
    if plain is None:
        needs = _epilogue_needs(w, stmt)
        _epilogue(w, stmt, needs)
        given = ", ".join(w.give(needs)) or "0"
        out.append(f"  struct {name}_given given = {{{given}}};")
        fields |= {"epilogue": f"{name}_epilogue", "user": "&given"}
    else:
        fields |= {"c": _address(w, plain.param, plain.at), "c_row": w.size(plain.at.coefficient(stmt.rows.var))}
    if stmt.scratch is not None:
        fields["scratch"] = w.kernel.params[stmt.scratch].name
    out.append("  tj_contract product = {0};")
    out += [f"  product.{key} = {value};" for key, value in fields.items()]
    return [*out, f"  team->support->contract.{stmt.dtype.short}(team, &product);"]


def contract_dims(w: KernelWriter, stmt: Contract) -> set[Dim]:
    """The symbols in the product's extents, its operands' strides and what follows it."""
    sizes: list[Size] = [axis.extent for axis in (stmt.rows, stmt.cols, stmt.inner)]
    for at in (stmt.a.at, stmt.b.at):
        sizes += [at.offset, *(c for _, c in at.terms)]
    return {d for size in sizes for d in symbols(size)} | set(_epilogue_needs(w, stmt).dims)


def _epilogue_needs(w: KernelWriter, stmt: Contract) -> Needs:
    needs = w.needs(stmt.body, {stmt.rows.var, stmt.cols.var})
    needs.regs.clear()  # the product itself is the only register from outside
    return needs


def _address(w: KernelWriter, param: int, at: Affine) -> str:
    name = w.kernel.params[param].name
    return name if at.offset == 0 else f"{name} + {w.size(at.offset)}"


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
