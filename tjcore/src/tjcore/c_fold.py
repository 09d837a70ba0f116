"""Reductions as C: a function for the element, a function for a block of them, and one that folds the blocks (fold.h).

In: a `Fold` and the writer of its kernel. Out: functions added to the writer, and the C that calls them. The order in which
elements are combined is that of `numerics.fold`, whichever way the lanes run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from . import c_place
from .c_place import EXTREME_OF
from .c_scalars import combine, identity, literal, nothing, vector_type
from .loops import Fold, IndexOf, Let, Load, LoadAt, Loop, SizeOf, Stmt, body_of
from .numerics import BLOCK_STEPS, lanes_of

if TYPE_CHECKING:
    from .c_body import KernelWriter, Needs


_WITHOUT_NAN = {"max": "most", "min": "least"}
"""What folds floats in one instruction where no NaN comes; that one came is noted aside, and the block's result is then NaN."""


ROWS = 5
"""Rows that a fold across columns takes at a time: each column's partial result is then loaded and stored once for all of them. A block's
first row is copied, and what is left is a multiple of these."""


FEWEST = 8
"""Blocks that a thread takes at least of one fold: a power of two."""


def call(function: str, *arguments: str) -> str:
    return f"{function}({', '.join(arguments)})"


def _element_needs(w: KernelWriter, fold: Fold, own: set[int]) -> Needs:
    needs = w.needs(fold.body, own)
    assigned = any(isinstance(s, (Load, LoadAt, IndexOf, SizeOf, Let)) and s.reg == fold.value for s in fold.body)
    if not assigned and fold.value not in w.constants:
        needs.regs[fold.value] = None
    return needs


def _element(w: KernelWriter, fold: Fold, var: int, name: str) -> Needs:
    """The function of one element of the fold, and of a vector of them along `var`. Returns what it must be given besides its index."""
    own = sorted({fold.axis.var, var})
    needs = _element_needs(w, fold, set(own))
    parameters = ", ".join([f"int64_t i{v}" for v in own] + w.declare(needs))
    touched = {v for s in fold.body if isinstance(s, (Load, LoadAt, IndexOf)) for v, _ in s.at.terms}
    unused = [f"  (void)i{v};" for v in own if v not in touched]
    c = fold.dtype.c
    lines = [f"static inline {c} {name}({parameters}) {{", *unused, *w.scalar_body(fold.body, "  ")]
    w.functions.append("\n".join([*lines, f"  return {w.scalar(fold.value)};", "}"]))
    if w.lanes > 1:
        known: set[int] = set()
        body = w.vector_body(fold.body, var, "  ", known)
        lines = [f"TJ_INLINE {vector_type(fold.dtype, w.lanes)} {name}_lanes({parameters}) {{", *unused, *body]
        w.functions.append("\n".join([*lines, f"  return {w.vector(fold.value, known)};", "}"]))
    return needs


def fold_by_team(w: KernelWriter, fold: Fold) -> str:
    """The expression for a fold that lies in no loop: threads take parts of the tree, the first one puts them together. Others get nothing from it."""
    alone = fold_along(w, fold)
    suffix, lanes = f"{fold.op}_{fold.dtype.short}x1", lanes_of(fold.dtype.itemsize)
    c, block = fold.dtype.c, lanes * BLOCK_STEPS
    name = alone[: alone.index("(")]
    needs = _element_needs(w, fold, {fold.axis.var})
    whole = needs.with_dims(w.needs([fold], set()))
    one = call(name + "_block", "i", f"i + {block} < end ? i + {block} : end", *w.give(needs))
    lines = [
        "/* A part is a complete subtree, but for the last: so the parts make the same tree. */",
        f"static {c} {call(name + '_team', 'const tj_team *team', *w.declare(whole))} {{",
        f"  const int64_t count = {w.size(fold.axis.extent)};",
        f"  if (team->size == 1 || count < {2 * FEWEST * block}) return team->index == 0 ? {alone} : 0;",
        f"  int64_t step = {FEWEST * block}, first, last;",
        "  while (step * TJ_TEAM_PARTS < count) step *= 2;",
        "  const int64_t parts = (count + step - 1) / step;",
        f"  {c} *const part = team->parts;",
        f"  tj_tree_{suffix} tree;",
        "  tj_share(team, parts, 1, &first, &last);",
        "  for (int64_t p = first; p < last; p++) {",
        "    const int64_t end = (p + 1) * step < count ? (p + 1) * step : count;",
        "    tree.count = tree.top = 0;",
        f"    for (int64_t i = p * step; i < end; i += {block}) tj_push_{suffix}(&tree, {one});",
        f"    part[p] = tj_finish_{suffix}(&tree);",
        "  }",
        "  tj_wait(team);",
        "  if (team->index != 0) return 0;",
        "  tree.count = tree.top = 0;",
        f"  for (int64_t p = 0; p < parts; p++) tj_push_{suffix}(&tree, part[p]);",
        f"  return tj_finish_{suffix}(&tree);",
        "}",
    ]
    w.functions.append("\n".join(lines))
    return call(name + "_team", "team", *w.give(whole))


def fold_along(w: KernelWriter, fold: Fold) -> str:
    """The expression that folds with lanes along the folded axis: a call of a function written for it."""
    asked, fold = fold, _valued(w, fold)
    number = w.number()
    element, name = f"{w.kernel.name}_element{number}", f"{w.kernel.name}_fold{number}"
    needs = _element(w, fold, fold.axis.var, element)
    given = w.give(needs)
    c, lanes = fold.dtype.c, lanes_of(fold.dtype.itemsize)
    block, suffix = lanes * BLOCK_STEPS, f"{fold.op}_{fold.dtype.short}x1"
    body = _scalar_block(fold, element, given, lanes) if w.lanes == 1 else _vector_block(w, fold, element, needs, number)
    parameters = ", ".join(["int64_t first", "int64_t last", *w.declare(needs)])
    w.functions.append("\n".join([f"static {c} {name}_block({parameters}) {{", *body, "}"]))
    whole = needs.with_dims(w.needs([fold], set()))
    if asked.op != fold.op:
        found = c_place.along(
            w,
            fold,
            block,
            lambda first, last: call(name + "_block", first, last, *given),
            lambda suffix, at: call(element + suffix, at, *given),
        )
        w.functions.append("\n".join([f"static {asked.dtype.c} {call(name, *w.declare(whole) or ['void'])} {{", *found, "}"]))
        return call(name, *w.give(whole))
    lines = [
        f"static inline {c} {call(name, *w.declare(whole) or ['void'])} {{",
        f"  const int64_t count = {w.size(fold.axis.extent)};",
        f"  if (count == 0) return {nothing(fold.op, fold.dtype)};",
        f"  if (count <= {block}) return {call(name + '_block', '0', 'count', *given)};",
        f"  tj_tree_{suffix} tree;",
        "  tree.count = tree.top = 0;",
        f"  for (int64_t i = 0; i < count; i += {block})",
        f"    tj_push_{suffix}(&tree, {call(name + '_block', 'i', f'i + {block} < count ? i + {block} : count', *given)});",
        f"  return tj_finish_{suffix}(&tree);",
        "}",
    ]
    w.functions.append("\n".join(lines))
    return call(name, *w.give(whole))


def _valued(w: KernelWriter, fold: Fold) -> Fold:
    """The fold itself, or of one that asks for the place of an extreme the fold that finds the extreme."""
    return replace(fold, op=EXTREME_OF[fold.op], dtype=w.types[fold.value]) if fold.op in EXTREME_OF else fold


def _scalar_block(fold: Fold, element: str, given: Sequence[str], lanes: int) -> list[str]:
    one = combine(fold.op, fold.dtype, 1, "lane[t]", call(element, "i", *given))
    return [
        f"  {fold.dtype.c} lane[{lanes}];",
        "  int64_t i = first;",
        f"  for (int t = 0; t < {lanes}; t++, i++) lane[t] = i < last ? {call(element, 'i', *given)} : {identity(fold.op, fold.dtype)};",
        f"  for (int t = 0; i < last; i++, t = (t + 1) % {lanes}) lane[t] = {one};",
        f"  return tj_halve_{fold.op}_{fold.dtype.short}x1(lane, {lanes});",
    ]


def _vector_block(w: KernelWriter, fold: Fold, element: str, needs: Needs, number: int) -> list[str]:
    v, width, lanes = vector_type(fold.dtype, w.lanes), w.lanes, lanes_of(fold.dtype.itemsize)
    parts, given = lanes // width, w.give(needs)
    rest, neutral = f"{w.kernel.name}_rest{number}", identity(fold.op, fold.dtype)
    w.functions.append(
        "\n".join(
            [
                f"/* The last elements, fewer than {width}; lanes without one are neutral. */",
                f"static {v} {call(rest, 'int64_t i', 'int64_t last', *w.declare(needs))} {{",
                f"  {fold.dtype.c} lane[{width}];",
                f"  for (int t = 0; t < {width}; t++) lane[t] = i + t < last ? {call(element, 'i + t', *given)} : {neutral};",
                f"  return tj_load_{v}(lane);",
                "}",
            ]
        )
    )

    op = _WITHOUT_NAN[fold.op] if fold.dtype.kind == "float" and fold.op in _WITHOUT_NAN else fold.op
    aside = op != fold.op

    def add(part: int) -> str:
        return f"a{part} = {combine(op, fold.dtype, width, f'a{part}', f'e{part}')};"

    def see(part: int, other: int) -> str:
        return f"seen = tj_see_{v}(seen, e{part}, e{other});"

    lines = ["  int64_t i = first;", f"  {v} a0 = tj_splat_{v}({neutral})" + "".join(f", a{p} = a0" for p in range(1, parts)) + ";"]
    lines += [f"  tj_nans_{v} seen = {{0}};"] * aside
    lines.append(f"  for (; i + {lanes} <= last; i += {lanes}) {{")
    for p in range(parts):
        lines.append(f"    const {v} e{p} = {call(element + '_lanes', f'i + {p * width}' if p else 'i', *given)};")
        lines.append(f"    {add(p)}")
        lines += [f"    {see(p - 1, p)}"] * (aside and p % 2)
    lines.append("  }")
    for p in range(parts):
        full, short = call(element + "_lanes", "i", *given), call(rest, "i", "last", *given)
        note = f" {see(p, p)}" if aside else ""
        lines.append(f"  if (i < last) {{ const {v} e{p} = i + {width} <= last ? {full} : {short}; {add(p)}{note} }}")
        if p + 1 < parts:
            lines.append(f"  i += {width};")
    lines += [f"  if (tj_saw_{v}(seen)) return {literal(math.nan, fold.dtype)};"] * aside
    live = [f"a{p}" for p in range(parts)]
    while len(live) > 1:
        half = len(live) // 2
        live = [combine(op, fold.dtype, width, live[p], live[p + half]) for p in range(half)]
    return [*lines, f"  return tj_halve_{op}_{v}({live[0]});"]


def definitions(writers: Iterable[KernelWriter]) -> list[str]:
    """What the kernels of these writers want of fold.h."""
    found: dict[str, None] = {}

    def visit(stmts: Sequence[Stmt], w: KernelWriter, across: bool) -> None:
        for s in stmts:
            if isinstance(s, Fold) and not (across and s.op in EXTREME_OF):
                fold = _valued(w, s)
                one, many = vector_type(fold.dtype, 1), vector_type(fold.dtype, w.lanes)
                rows = f"TJ_FOLD_ROWS({fold.op}, {many}, {one}, {fold.dtype.c}, {w.lanes})"
                found[rows if across else f"TJ_FOLD_TREE({fold.op}, {one}, {fold.dtype.c})"] = None
            visit(body_of(s), w, across or (isinstance(s, Loop) and s.lanes))

    for w in writers:
        visit(w.kernel.body, w, False)
    return sorted(found)


def rows_loop(w: KernelWriter, stmt: Loop, first: str, last: str, pad: str) -> list[str]:
    """Folds whose lanes run across columns: rows are taken one after another, a strip of columns at a time."""
    var = stmt.axis.var
    i, inner = f"i{var}", pad + "  "
    folds = [fold for s in stmt.body if isinstance(s, Fold) for fold in (s, _valued(w, s))]
    columns = f"TJ_FOLD_COLUMNS({max((fold.dtype for fold in folds), key=lambda dtype: dtype.itemsize).c})"
    out = [
        f"{pad}for (int64_t strip = {first}; strip < {last}; strip += {columns}) {{",
        f"{inner}const int64_t width = {last} - strip < {columns} ? {last} - strip : {columns};",
    ]
    loads: list[str] = []
    rest: list[Stmt] = []
    for s in stmt.body:
        if isinstance(s, Fold):
            out.append(f"{inner}{s.dtype.c} row{s.reg}[{columns}];")
            out.append(f"{inner}{_fold_rows(w, s, var, f'row{s.reg}')};")
            loads.append(f"{inner}  const {s.dtype.c} r{s.reg} = row{s.reg}[{i} - strip];")
        else:
            rest.append(s)
    out.append(f"{inner}for (int64_t {i} = strip; {i} < strip + width; {i}++) {{")
    return [*out, *loads, *w.scalar_body(rest, inner + "  "), f"{inner}}}", f"{pad}}}"]


def _fold_rows(w: KernelWriter, fold: Fold, var: int, result: str) -> str:
    asked, fold = fold, _valued(w, fold)
    number = w.number()
    element, name = f"{w.kernel.name}_element{number}", f"{w.kernel.name}_rows{number}"
    needs = _element(w, fold, var, element)
    whole = needs.with_dims(w.needs([fold], {var}))
    c, lanes = fold.dtype.c, lanes_of(fold.dtype.itemsize)
    block, suffix = lanes * BLOCK_STEPS, f"{fold.op}_{vector_type(fold.dtype, w.lanes)}"
    k, j = f"i{fold.axis.var}", f"i{var}"
    at = [*([k, j] if fold.axis.var < var else [j, k]), *w.give(needs)]

    def rows(count: int, keep: bool) -> list[str]:
        """`count` rows, `lanes` apart, folded into their lane: onto what it keeps, or as the first of it."""
        pad, out = "        ", ["        int64_t t = 0;"]
        steps = [str(n * lanes) for n in range(count)]

        def folded(width: int, kept: str, function: str) -> str:
            value = kept
            for n in steps:
                one = call(function, *(f"{k} + {n}" if place == k and n != "0" else place for place in at))
                value = combine(fold.op, fold.dtype, width, value, one) if value else one
            return value

        if w.lanes > 1:
            v = vector_type(fold.dtype, w.lanes)
            value = folded(w.lanes, f"tj_load_{v}(to + t)" if keep else "", element + "_lanes")
            out.append(f"{pad}for (int64_t {j} = strip; t + {w.lanes} <= width; t += {w.lanes}, {j} += {w.lanes})")
            out.append(f"{pad}  tj_store_{v}(to + t, {value});")
        value = folded(1, "to[t]" if keep else "", element)
        return [*out, f"{pad}for (int64_t {j} = strip + t; t < width; t++, {j}++) to[t] = {value};"]

    parameters = [f"{asked.dtype.c} *{w.dialect.restrict} out", "int64_t strip", "int64_t width", *w.declare(whole)]
    if asked.op != fold.op:
        found = c_place.across(w, fold, var, lambda suffix, row: call(element + suffix, *(row if place == k else place for place in at)))
        w.functions.append("\n".join([f"static void {call(name, *parameters)} {{", *found, "}"]))
        return call(name, result, "strip", "width", *w.give(whole))
    lines = [
        f"static void {call(name, *parameters)} {{",
        f"  const int64_t count = {w.size(fold.axis.extent)};",
        f"  {c} lane[{lanes} / TJ_FOLD_GROUPS][TJ_FOLD_COLUMNS({c})], group[TJ_FOLD_GROUPS][TJ_FOLD_COLUMNS({c})];",
        f"  tj_rows_{suffix} tree;",
        "  tree.count = tree.top = 0;",
        f"  for (int64_t first = 0; first < count; first += {block}) {{",
        f"    const int64_t last = first + {block} < count ? first + {block} : count;",
        "    for (int64_t g = 0; g < TJ_FOLD_GROUPS && first + g < last; g++) {",
        f"      const int64_t filled = last - first < {lanes} ? (last - first - g + TJ_FOLD_GROUPS - 1) / TJ_FOLD_GROUPS : {lanes} / TJ_FOLD_GROUPS;",
        f"      for (int64_t {k} = first + g; {k} < last && {k} < first + {lanes}; {k} += TJ_FOLD_GROUPS) {{",
        f"        {c} *to = lane[({k} - first) / TJ_FOLD_GROUPS];",
        *rows(1, False),
        "      }",
        f"      for (int64_t step = first + {lanes} + g; step < last; step += {ROWS * lanes})",
        f"        for (int64_t row = step; row < step + {lanes} && row < last; row += TJ_FOLD_GROUPS) {{",
        f"          {c} *to = lane[(row - step) / TJ_FOLD_GROUPS];",
        f"          int64_t {k} = row;",
        f"          if ({k} + {(ROWS - 1) * lanes} < last) {{",
        *("    " + line for line in rows(ROWS, True)),
        f"            {k} = last;",
        "          }",
        f"          for (; {k} < last; {k} += {lanes}) {{",
        *("    " + line for line in rows(1, True)),
        "          }",
        "        }",
        f"      tj_halve_rows_{suffix}(lane, {lanes} / TJ_FOLD_GROUPS, filled, width);",
        "      for (int64_t t = 0; t < width; t++) group[g][t] = lane[0][t];",
        "    }",
        f"    tj_halve_rows_{suffix}(group, TJ_FOLD_GROUPS, last - first < TJ_FOLD_GROUPS ? last - first : TJ_FOLD_GROUPS, width);",
        f"    if (count <= {block}) {{",
        "      for (int64_t t = 0; t < width; t++) out[t] = group[0][t];",
        "      return;",
        "    }",
        f"    tj_push_rows_{suffix}(&tree, group[0], width);",
        "  }",
        "  if (tree.top) {",
        f"    tj_finish_rows_{suffix}(&tree, out, width);",
        "  } else {",
        f"    for (int64_t t = 0; t < width; t++) out[t] = {nothing(fold.op, fold.dtype)};",
        "  }",
        "}",
    ]
    w.functions.append("\n".join(lines))
    return call(name, result, "strip", "width", *w.give(whole))
