"""The op table: one row declares an op once, and everything else (graphs, evaluator, gradients, lowering, tests) reads the row.

A row holds the op's name, arity and kind, its shape and dtype rule, its NumPy meaning, its gradient rule and its accuracy.
An elementwise op's scalar meaning in loops has the op's own name (see `loops.SCALARS`). A new op is a row in the module of its kind.
"""

from __future__ import annotations

from . import arithmetic, functions, leaves, products, reductions, views
from .row import Op
from .shapes import MAX_RANK, Shape, broadcast_shapes, check_axis, check_shape, same, show_shape

__all__ = ["MAX_RANK", "OPS", "Op", "Shape", "broadcast_shapes", "check_axis", "check_shape", "same", "show_shape"]

OPS: dict[str, Op] = {
    op.name: op for op in (*leaves.ROWS, *arithmetic.ROWS, *functions.ROWS, *views.ROWS, *reductions.ROWS, *products.ROWS)
}
