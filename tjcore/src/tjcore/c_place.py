"""Where extremes are, as C: the index of the first largest or smallest element, or of the first NaN.

In: a `Fold` for the index, the same fold for the extreme itself, and the writer of their kernel. Out: the lines of functions. Along the elements
the extreme is found block by block, as fast as it is for itself, and its first place is then looked up in the one block that has it; across columns
each column keeps its extreme and where that was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .c_scalars import vector_type
from .loops import Fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from .c_body import KernelWriter

EXTREME_OF = {"argmax": "max", "argmin": "min"}
"""The fold that finds the extreme whose place is asked for."""


def along(w: KernelWriter, valued: Fold, block: int, value: Callable[[str, str], str], element: Callable[[str, str], str]) -> list[str]:
    """The body of the function that folds `valued`: `value(first, last)` calls its block, `element(suffix, at)` one element or a vector of them."""
    c, sign = valued.dtype.c, ">" if valued.op == "max" else "<"
    lines = [
        f"  const int64_t count = {w.size(valued.axis.extent)};",
        "  int64_t at = 0;",
        f"  {c} best = {value('0', f'count < {block} ? count : {block}')};",
        f"  for (int64_t i = {block}; i < count && best == best; i += {block}) {{",
        f"    const {c} other = {value('i', f'i + {block} < count ? i + {block} : count')};",
        f"    if (other {sign} best || other != other) best = other, at = i;",
        "  }",
        f"  const int64_t last = at + {block} < count ? at + {block} : count;",
    ]
    if w.lanes > 1:
        v, mask = vector_type(valued.dtype, w.lanes), f"i{8 * valued.dtype.itemsize}x{w.lanes}"
        lines += [
            f"  for (; at + {w.lanes} <= last; at += {w.lanes}) {{",
            f"    const {v} e = {element('_lanes', 'at')};",
            f"    if (tj_any_{mask}(tj_eq_{v}(e, tj_splat_{v}(best)) | tj_ne_{v}(e, e))) break;",
            "  }",
        ]
    return [
        *lines,
        "  for (; at < last; at++) {",
        f"    const {c} e = {element('', 'at')};",
        "    if (e == best || e != e) break;",
        "  }",
        "  return at;",
    ]


def across(w: KernelWriter, valued: Fold, var: int, element: Callable[[str, str], str]) -> list[str]:
    """The body of the function that folds `width` columns from `strip` on into `out`: `element(suffix, row)` calls one element, or a vector of them."""
    c, sign = valued.dtype.c, ">" if valued.op == "max" else "<"
    k, j = f"i{valued.axis.var}", f"i{var}"
    lines = [
        f"  const int64_t count = {w.size(valued.axis.extent)};",
        f"  {c} best[TJ_FOLD_COLUMNS({c})];",
        "  for (int64_t t = 0; t < width; t++) out[t] = 0;",
        "  if (count == 0) return;",
        f"  for (int64_t t = 0, {j} = strip; t < width; t++, {j}++) best[t] = {element('', '0')};",
        f"  for (int64_t {k} = 1; {k} < count; {k}++) {{",
        "    int64_t t = 0;",
    ]
    if w.lanes > 1:
        v, at, narrow = vector_type(valued.dtype, w.lanes), f"i64x{w.lanes}", valued.dtype.itemsize < 8
        compare = "gt" if sign == ">" else "lt"
        lines += [
            f"    for (int64_t {j} = strip; t + {w.lanes} <= width; t += {w.lanes}, {j} += {w.lanes}) {{",
            f"      const {v} e = {element('_lanes', k)}, b = tj_load_{v}(best + t);",
            f"      const i{8 * valued.dtype.itemsize}x{w.lanes} better = tj_{compare}_{v}(e, b) | (tj_ne_{v}(e, e) & tj_eq_{v}(b, b));",
            f"      const {at} there = {f'tj_i64_from_i32x{w.lanes}(better)' if narrow else 'better'};",
            f"      tj_store_{v}(best + t, tj_select_{v}(better, e, b));",
            f"      tj_store_{at}(out + t, tj_select_{at}(there, tj_splat_{at}({k}), tj_load_{at}(out + t)));",
            "    }",
        ]
    return [
        *lines,
        f"    for (int64_t {j} = strip + t; t < width; t++, {j}++) {{",
        f"      const {c} e = {element('', k)};",
        f"      if (e {sign} best[t] || (e != e && best[t] == best[t])) best[t] = e, out[t] = {k};",
        "    }",
        "  }",
    ]
