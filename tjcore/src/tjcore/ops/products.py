"""The matrix product, in fma chains (numerics.product)."""

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
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise GraphError(f"matmul: both operands must have rank 2, got {show_shape(a.shape)} and {show_shape(b.shape)}")
    if a.dtype is not b.dtype:
        raise GraphError(f"matmul: operands must have one dtype, got {a.dtype} and {b.dtype}")
    check_accumulates("matmul", a.dtype)
    if not same(a.shape[1], b.shape[0]):
        hint = "; transpose one operand?" if same(a.shape[0], b.shape[0]) or same(a.shape[1], b.shape[1]) else ""
        raise GraphError(f"matmul: inner sizes differ, {a.shape[1]} (left, axis 1) and {b.shape[0]} (right, axis 0){hint}")
    return (a.shape[0], b.shape[1]), a.dtype


def _matmul_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    a, b = node.sources
    return g @ b.transpose(), a.transpose() @ g


ROWS = (Op("matmul", 2, "contract", _infer_matmul, lambda a, s, x, y: numerics.product(x, y), _matmul_gradient),)
