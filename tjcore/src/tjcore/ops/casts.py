"""Conversions between element types (numerics.cast)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import numerics
from ..dtypes import DTYPES, DType, as_dtype, float32, float64
from ..errors import GraphError, shown
from .row import Op
from .shapes import Shape

if TYPE_CHECKING:
    from ..graph import Expr

NAMES = tuple(d.name for d in DTYPES)


def _infer_cast(sources: tuple[Expr, ...], name: object) -> tuple[Shape, DType]:
    (x,) = sources
    if name not in NAMES:  # nodes hold the full name, so that equal casts are equal
        raise GraphError(f"cast: expected one of {', '.join(NAMES)}, got {shown(name)}")
    to = as_dtype(name)
    if (x.dtype.storage and to is not float32) or (to.storage and x.dtype not in (float32, float64)):
        raise GraphError(f"cast: {x.dtype} becomes {to} by way of float32; cast it to that first, or use astype")
    return x.shape, to


def _cast_gradient(node: Expr, g: Expr) -> Sequence[Expr | None]:
    (x,) = node.sources
    return (g.astype(x.dtype) if node.dtype.kind == "float" and x.dtype.kind == "float" else None,)


ROWS = (
    Op(
        "cast",
        1,
        "elementwise",
        _infer_cast,
        lambda name, size, x: numerics.cast(x, as_dtype(name).numpy),
        _cast_gradient,
        samples=NAMES,
    ),
)
