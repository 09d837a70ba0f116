"""Products of vectors and tensors. In: expressions. Out: an expression; of two matrices by the chains of `matmul`, otherwise sums of
products by the tree.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import graph
from ..errors import GraphError, shown
from ..graph import Expr, reduce
from ..ops import check_axis, same, show_shape
from .elementwise import multiply, operand


def matmul(x1: Expr, x2: Expr, /) -> Expr:
    """The matrix product, or several, as NumPy's matmul, in fma chains of 256."""
    return graph.matmul(x1, x2)


def matrix_transpose(x: Expr, /) -> Expr:
    """The last two axes exchanged."""
    if operand("matrix_transpose", x).rank < 2:
        raise GraphError(f"matrix_transpose: expected a tensor of at least two axes, got shape {show_shape(x.shape)}")
    return x.permute((*range(x.rank - 2), x.rank - 1, x.rank - 2))


def vecdot(x1: Expr, x2: Expr, /, *, axis: int = -1) -> Expr:
    """The sum of products along one axis of both, counted from the back; the other axes broadcast."""
    a, b = operand("vecdot", x1), operand("vecdot", x2)
    if isinstance(axis, int) and axis >= 0:
        raise GraphError(f"vecdot: axis must be negative, so that it is the same axis of both, got {axis}")
    one, other = a.shape[check_axis("vecdot", axis, a.rank)], b.shape[check_axis("vecdot", axis, b.rank)]
    if not same(one, other):
        raise GraphError(f"vecdot: axis {axis} is {one} on the left and {other} on the right; expected the same size")
    return _summed(a * b, (axis,))


def _summed(x: Expr, axes: Sequence[int]) -> Expr:
    """The sum over axes; unlike `sum` it keeps the type of integers, as products do."""
    kind = x.dtype
    return reduce("sum", x, axes).astype(kind)


def outer(x1: Expr, x2: Expr, /) -> Expr:
    """Every element of a vector times every element of another."""
    a, b = operand("outer", x1), operand("outer", x2)
    if a.rank != 1 or b.rank != 1:
        raise GraphError(f"outer: expected two vectors, got shapes {show_shape(a.shape)} and {show_shape(b.shape)}")
    return a.expand_dims(1) * b


def dot(x1: Expr, x2: Expr, /) -> Expr:
    """NumPy's dot: for vectors the sum of products, for matrices the matrix product, otherwise over the last axis and the last but one."""
    a, b = operand("dot", x1), operand("dot", x2)
    if a.rank == 0 or b.rank == 0:
        return multiply(a, b)
    return tensordot(a, b, axes=([a.rank - 1], [max(b.rank - 2, 0)]))


def tensordot(x1: Expr, x2: Expr, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Expr:
    """The sum of products over pairs of axes: the last `axes` of x1 with the first of x2, or those that are named."""
    a, b = operand("tensordot", x1), operand("tensordot", x2)
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.rank, b.rank):
            raise GraphError(
                f"tensordot: axes {axes} of shapes {show_shape(a.shape)} and {show_shape(b.shape)}; each has fewer or it is negative"
            )
        left, right = list(range(a.rank - axes, a.rank)), list(range(axes))
    else:
        if len(axes) != 2 or len(axes[0]) != len(axes[1]):
            raise GraphError(f"tensordot: axes must be an int or two sequences of equal length, got {shown(axes)}")
        left = [check_axis("tensordot", i, a.rank) for i in axes[0]]
        right = [check_axis("tensordot", i, b.rank) for i in axes[1]]
    for i, j in zip(left, right, strict=True):
        if not same(a.shape[i], b.shape[j]):
            raise GraphError(f"tensordot: axis {i} on the left is {a.shape[i]} and axis {j} on the right is {b.shape[j]}")
    rows, cols = [i for i in range(a.rank) if i not in left], [j for j in range(b.rank) if j not in right]
    a, b = a.permute((*rows, *left)), b.permute((*right, *cols))
    if len(left) == len(rows) == len(cols) == 1:
        return graph.matmul(a, b)
    for _ in cols:  # (rows, contracted, 1...) times (contracted, cols)
        a = a.expand_dims(a.rank)
    return _summed(a * b, tuple(range(len(rows), len(rows) + len(left)))) if left else a * b


__all__ = [
    "matmul", "matrix_transpose", "vecdot", "outer", "dot", "tensordot",
]  # fmt: skip
