"""Transposed reads as C: the two innermost loops in square tiles, each of which first copies what lies across into order.

In: a `Loop` that is marked `tiled`, and the writer of its kernel. Out: its statements. A read that steps along the outer of the two loops would touch
a new cache line for each element of the inner one; within a tile, lines are used whole while they are near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import InternalError
from .loops import Load, Loop
from .schedule import lies_across

if TYPE_CHECKING:
    from .c_body import KernelWriter

TILE = 32
"""Rows and columns of a tile: two cache lines of float32, and few enough for every copy to lie in the nearest cache."""
MAX_COPIES = 4
"""Reads of one tile that are copied; more would not stay in the nearest cache."""


def tiled_loop(w: KernelWriter, stmt: Loop, first: str, last: str, pad: str) -> list[str]:
    """The loop from `first` to `last`, and the one inside it, tile by tile."""
    inner = stmt.body[-1]
    if not isinstance(inner, Loop):
        raise InternalError(f"kernel {w.kernel.name}: a tiled loop holds no loop")
    i, j = f"i{stmt.axis.var}", f"i{inner.axis.var}"
    end = w.size(inner.axis.extent)
    across = dict.fromkeys(
        (s.param, s.at, s.dtype) for s in inner.body if isinstance(s, Load) and lies_across(s, stmt.axis.var, inner.axis.var)
    )
    lines = [
        f"for (int64_t {i}_tile = {first}; {i}_tile < {last}; {i}_tile += {TILE}) {{",
        f"  const int64_t {i}_end = {i}_tile + {TILE} < {last} ? {i}_tile + {TILE} : {last};",
        f"  for (int64_t {j}_tile = 0; {j}_tile < {end}; {j}_tile += {TILE}) {{",
        f"    const int64_t {j}_end = {j}_tile + {TILE} < {end} ? {j}_tile + {TILE} : {end};",
    ]
    for n, (param, at, dtype) in enumerate(list(across)[:MAX_COPIES]):
        place = f"[{i} - {i}_tile][{j} - {j}_tile]"
        lines += [
            f"    {dtype.c} across{n}[{TILE}][{TILE}];",
            f"    for (int64_t {j} = {j}_tile; {j} < {j}_end; {j}++)",
            f"      for (int64_t {i} = {i}_tile; {i} < {i}_end; {i}++) across{n}{place} = {w.kernel.params[param].name}[{w.index(at)}];",
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
