"""Which product a kernel works: batches become rows where they can, thin products lie along memory, and what scratch that takes.

In: a `Contract` as lowering reads it off the graph. Out: one with the same stores of the same bits. Law: only the order of elements
changes, never a chain; both operands of a multiplication may change places, for it gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from .access import Affine
from .dims import Size
from .loops import Axis, Contract, Load, Store, map_index, plain_store, walk
from .ops import Shape, same
from .packing import packing_bytes


def split(stmt: Contract, rows: Sequence[Axis], cols: Sequence[Axis]) -> Contract:
    """The product whose rows and columns are stored as several axes, of which `stmt` has the last: one axis again, where every access
    runs through them as through one; what is left is a batch."""
    stmt = replace(stmt, batches=(*stmt.batches, *rows, *cols))
    for axis in reversed(rows):
        if not _step_together(stmt, axis, stmt.rows):
            break
        stmt = replace(_without(stmt, axis), rows=Axis(stmt.rows.var, axis.extent * stmt.rows.extent))
    for axis in reversed(cols):
        if not _step_together(stmt, axis, stmt.cols):
            break
        stmt = replace(_without(stmt, axis), cols=Axis(stmt.cols.var, axis.extent * stmt.cols.extent))
    return stmt


def settle(stmt: Contract) -> Contract:
    """The product with axes of one element gone, batches merged with one another and into the rows, and vectors on the left."""
    for axis in stmt.batches:
        if axis.extent == 1:
            stmt = _without(stmt, axis)
    if stmt.cols.extent == 1 and stmt.rows.extent != 1:
        stmt = replace(stmt, rows=stmt.cols, cols=stmt.rows, a=stmt.b, b=stmt.a)
    for i in reversed(range(1, len(stmt.batches))):
        outer, inner = stmt.batches[i - 1 : i + 1]
        if _step_together(stmt, outer, inner):
            merged = Axis(inner.var, outer.extent * inner.extent)
            stmt = replace(_without(stmt, outer), batches=(*stmt.batches[: i - 1], merged, *stmt.batches[i + 1 :]))
    if stmt.batches:
        last = stmt.batches[-1]
        if _step_together(stmt, last, stmt.rows):
            return replace(_without(stmt, last), rows=Axis(stmt.rows.var, last.extent * stmt.rows.extent))
        if stmt.rows.extent == 1 and _step_together(stmt, last, stmt.cols):
            return replace(_without(stmt, last), cols=Axis(stmt.cols.var, last.extent * stmt.cols.extent))
    return stmt


def link(stmt: Contract, shape: Shape, depth: int) -> Contract | None:
    """The product as a link of a chain whose rows are the first `depth` axes of `shape`, which it stores: batches, and the product's rows
    where they are among them. None where they are other axes, or do not run through as one or two."""
    front = [axis for axis in (*stmt.batches, stmt.rows) if axis.var < depth]
    rest = tuple(axis for axis in stmt.batches if axis.var >= depth)
    if stmt.cols.var < depth or not same(math.prod(a.extent for a in front), math.prod(shape[:depth])) or (rest and stmt.rows in front):
        return None
    for axis in front[:-1]:
        if axis.extent == 1:
            stmt, front = _without(stmt, axis), [a for a in front if a != axis]
    for i in reversed(range(1, len(front))):
        outer, inner = front[i - 1 : i + 1]
        if _step_together(stmt, outer, inner):
            stmt = _without(stmt, outer)
            front[i - 1 : i + 1] = [merged := Axis(inner.var, outer.extent * inner.extent)]
            if inner == stmt.rows:
                stmt = replace(stmt, rows=merged)
    batches = [axis for axis in front if axis != stmt.rows]
    if not front or len(batches) > 1:
        return None
    return replace(stmt, batches=(*batches, *rest), tiled=len(front))


def scratch_bytes(stmt: Contract) -> Size:
    """Bytes per thread beside the operands, for the memory plan: none for a product with a vector, which packs nothing."""
    if stmt.rows.extent == 1:
        return 0
    return packing_bytes(stmt.dtype, stmt.rows.extent, stmt.cols.extent, stmt.inner.extent, plain_store(stmt) is None)


def _without(stmt: Contract, axis: Axis) -> Contract:
    """The product in which the batch axis is always 0."""
    (changed,) = map_index([stmt], lambda _, at: at.substitute({axis.var: Affine()}))
    assert isinstance(changed, Contract)
    return replace(changed, batches=tuple(b for b in stmt.batches if b != axis))


def _step_together(stmt: Contract, outer: Axis, inner: Axis) -> bool:
    """Whether every access runs through both axes as through one, without a gap."""
    indices = [*stmt.a.accesses, *stmt.b.accesses, *(s.at for s in walk(stmt.body) if isinstance(s, (Load, Store)))]
    return all(same(at.coefficient(outer.var), at.coefficient(inner.var) * inner.extent) for at in indices)
