"""The op table: one row declares an op once, and everything else (graphs, evaluator, gradients, lowering, tests) reads the row.

A row holds the op's name, arity and kind, its shape and dtype rule, its NumPy meaning, its gradient rule and its accuracy.
An elementwise op's scalar meaning in loops has the op's own name (see `loops.SCALARS`). A new op is a row in the module of its kind.
"""

from __future__ import annotations

from . import arithmetic, casts, choices, composed, functions, integers, leaves, products, reductions, scans, views
from .row import Op
from .shapes import MAX_RANK, Shape, broadcast_shapes, check_axes, check_axis, check_shape, same, show_shape

__all__ = ["MAX_RANK", "OPS", "Op", "Shape", "broadcast_shapes", "check_axes", "check_axis", "check_shape", "same", "show_shape"]

OPS: dict[str, Op] = {
    op.name: op
    for rows in (leaves, arithmetic, integers, choices, casts, composed, functions, views, reductions, scans, products)
    for op in rows.ROWS
}
