"""The matrix product, in fma chains (numerics.product).

A node's operands have the same axes in front of their last two, or one operand has rank 1: a row on the left, a column on the right, shared
by the whole batch. Whoever builds a node brings other shapes into this form (`graph.matmul`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import numerics
from ..dtypes import DType
from ..errors import GraphError
from .row import Op, check_accumulates
from .shapes import Shape, same, show_shape

if TYPE_CHECKING:
    from ..graph import Expr


def _infer_matmul(sources: tuple[Expr, ...], arg: None) -> tuple[Shape, DType]:
    a, b = sources
    if not a.shape or not b.shape:
        raise GraphError(f"matmul: both operands must have axes, got {show_shape(a.shape)} and {show_shape(b.shape)}; scale with *")
    if a.dtype is not b.dtype:
        raise GraphError(f"matmul: operands must have one dtype, got {a.dtype} and {b.dtype}")
    check_accumulates("matmul", a.dtype)
    left, right = a.rank - 1, max(b.rank - 2, 0)
    if not same(a.shape[left], b.shape[right]):
        turned = a.rank > 1 and b.rank > 1 and (same(a.shape[-2], b.shape[-2]) or same(a.shape[-1], b.shape[-1]))
        hint = "; transpose one operand?" if turned else ""
        raise GraphError(
            f"matmul: inner sizes differ, {a.shape[left]} (left, axis {left}) and {b.shape[right]} (right, axis {right}){hint}"
        )
    if a.rank > 1 and b.rank > 1 and not (a.rank == b.rank and all(map(same, a.shape[:-2], b.shape[:-2]))):
        raise GraphError(
            f"matmul: axes in front of the last two must be the same, got {show_shape(a.shape)} and {show_shape(b.shape)}; broadcast_to first"
        )
    batch = a.shape[:-2] if a.rank > 1 and b.rank == 1 else b.shape[:-2]
    return (*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.rank > 1 else ())), a.dtype


def _turned(x: Expr) -> Expr:
    return x.permute((*range(x.rank - 2), x.rank - 1, x.rank - 2))


def _matmul_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    a, b = node.sources
    batch = node.shape[: max(a.rank, b.rank, 2) - 2]
    left = a if a.rank > 1 else a.expand_dims(0).broadcast_to((*batch, 1, *a.shape))
    right = b if b.rank > 1 else b.expand_dims(1).broadcast_to((*batch, *b.shape, 1))
    g = g if a.rank > 1 else g.expand_dims(len(batch))
    g = g if b.rank > 1 else g.expand_dims(g.rank)
    of_a, of_b = g @ _turned(right), _turned(left) @ g
    axes = tuple(range(len(batch)))
    if a.rank == 1:
        of_a = (of_a.sum(axes) if axes else of_a).squeeze(0)
    if b.rank == 1:
        of_b = (of_b.sum(axes) if axes else of_b).squeeze(1)
    return of_a, of_b


ROWS = (Op("matmul", 2, "contract", _infer_matmul, lambda a, s, x, y: numerics.product(x, y), _matmul_gradient),)
