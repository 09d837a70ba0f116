"""Transposed reads as C: the two innermost loops in square tiles, each of which first copies what lies across into order.

In: a `Loop` that is marked `tiled`, and the writer of its kernel. Out: its statements. A read that steps along the outer of the two loops would touch
a new cache line for each element of the inner one; within a tile, lines are used whole while they are near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .access import Affine
from .c_scalars import element_name
from .dtypes import DType
from .errors import InternalError
from .loops import Load, Loop
from .schedule import lies_across

if TYPE_CHECKING:
    from .c_body import KernelWriter

SIDES = (64, 32)
"""Rows and columns of a tile, with one copy of elements of four bytes and with more: copies stay near, and rows of a tile are long enough for
memory to be read ahead (4096 x 4096 float32 from memory: 24 ms with 64, 39 ms with 32)."""
MAX_COPIES = 4
"""Reads of one tile that are copied; more would not stay in the nearest cache."""


def _across(stmt: Loop) -> list[tuple[int, Affine, DType]]:
    """The reads of a tiled loop that are copied."""
    inner = stmt.body[-1]
    if not isinstance(inner, Loop):
        raise InternalError("a tiled loop holds no loop")
    loads = (s for s in inner.body if isinstance(s, Load) and lies_across(s, stmt.axis.var, inner.axis.var))
    return list(dict.fromkeys((s.param, s.at, s.dtype) for s in loads))[:MAX_COPIES]


def tile_side(stmt: Loop) -> int:
    """Rows and columns of the loop's tiles."""
    return SIDES[sum(dtype.itemsize for _, _, dtype in _across(stmt)) > 4]


def tiled_loop(w: KernelWriter, stmt: Loop, first: str, last: str, pad: str) -> list[str]:
    """The loop from `first` to `last`, and the one inside it, tile by tile."""
    inner = stmt.body[-1]
    if not isinstance(inner, Loop):
        raise InternalError(f"kernel {w.kernel.name}: a tiled loop holds no loop")
    i, j = f"i{stmt.axis.var}", f"i{inner.axis.var}"
    end = w.size(inner.axis.extent)
    across = _across(stmt)
    side = tile_side(stmt)
    lines = [
        f"for (int64_t {i}_tile = {first}; {i}_tile < {last}; {i}_tile += {side}) {{",
        f"  const int64_t {i}_end = {i}_tile + {side} < {last} ? {i}_tile + {side} : {last};",
        f"  for (int64_t {j}_tile = 0; {j}_tile < {end}; {j}_tile += {side}) {{",
        f"    const int64_t {j}_end = {j}_tile + {side} < {end} ? {j}_tile + {side} : {end};",
    ]
    for n, (param, at, dtype) in enumerate(across):
        place = f"[{i} - {i}_tile][{j} - {j}_tile]"
        row = w.size(at.coefficient(inner.axis.var))
        lines += [
            f"    {dtype.c} across{n}[{side}][{side}];",
            "    {",
            f"      const int64_t {i} = {i}_tile, {j} = {j}_tile;",
            f"      const {dtype.c} *from = {w.kernel.params[param].name} + {w.index(at)};",
            f"      tj_transpose_{element_name(dtype)}(from, {row}, {j}_end - {j}, {i}_end - {i}, across{n}[0], {side});",
            "    }",
        ]
        w.copies[param, at] = f"across{n}{place}"
    lines += [
        f"    for (int64_t {i} = {i}_tile; {i} < {i}_end; {i}++) {{",
        *w.scalar_body(stmt.body[:-1], "      "),
        *w.lanes_loop(inner.axis, inner.body, f"{j}_tile", f"{j}_end", "      "),
        "    }",
        "  }",
        "}",
    ]
    w.copies.clear()
    return [pad + line for line in lines]
