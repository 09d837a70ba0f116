"""What a kernel has to do, as formulas in the dims: arithmetic operations, and bytes that must move.

In: a scheduled kernel. Out: sizes. An operation on floats or integers counts 1, a function such as `exp` too; a multiply-add counts 2; comparisons,
selections, conversions and moves count nothing. Bytes are those of each tensor that is read or written, once: what a machine with a
large enough cache would move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .dims import Size, total
from .loops import Chain, Contract, Fold, Kernel, Let, Loop, Program, Scan, Stmt, walk

FREE = {"cast", "where", "equals", "positive", "less", "less_equal", "equal", "not_equal", "stop_gradient"}
"""Ops that count nothing, besides those on bools and bits."""


def operations(body: Sequence[Stmt]) -> Size:
    """Arithmetic operations of some statements."""
    parts: list[Size] = []
    for stmt in body:
        match stmt:
            case Let():
                parts.append(int(stmt.op not in FREE and not stmt.op.startswith("bitwise") and stmt.dtype.kind != "bool"))
            case Loop():
                parts.append(stmt.axis.extent * operations(stmt.body))
            case Fold():
                parts.append(stmt.axis.extent * (operations(stmt.body) + 1))
            case Scan():
                parts.append(stmt.axis.extent * (operations((*stmt.body, *stmt.after)) + 1))
            case Contract():
                elements = math.prod(axis.extent for axis in (*stmt.batches, stmt.rows, stmt.cols))
                parts.append(elements * (2 * stmt.inner.extent + operations(stmt.body)))
                for operand, axis in ((stmt.a, stmt.rows), (stmt.b, stmt.cols)):  # as if each element were packed once
                    packed = math.prod(tuple(a.extent for a in (*stmt.batches, axis, stmt.inner)))
                    parts.append(packed * operations(operand.body))
    return total(parts)


def moved_bytes(kernel: Kernel) -> Size:
    """Bytes of the tensors that a kernel reads and writes; not of the room that a product packs its operands in."""
    rooms = {stmt.scratch for stmt in walk(kernel.body) if isinstance(stmt, Contract)}
    return total([math.prod(p.shape, start=p.dtype.itemsize) for i, p in enumerate(kernel.params) if i not in rooms])


def chain_bytes(program: Program, chain: Chain) -> Size:
    """Bytes of the tensors that a chain of kernels reads and writes as a whole; what it keeps by the tile stays in the cache."""
    moved: dict[tuple[int, bool], Size] = {}
    for call in program.calls[chain.first : chain.last + 1]:
        for b, p in zip(call.buffers, program.kernels[call.kernel].params, strict=True):
            if b not in chain.scratch and not program.buffers[b].per_thread:
                moved[b, p.written] = math.prod(p.shape, start=p.dtype.itemsize)
    return total(moved.values())
