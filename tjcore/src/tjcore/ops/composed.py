"""Ops that stand for other expressions and only have a gradient of their own. They are gone before anything is computed (`simplify.expand`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import DType
from .arithmetic import float_elementwise
from .row import Op, quiet
from .shapes import Shape

if TYPE_CHECKING:
    from ..graph import Expr


def _infer_same(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
    (x,) = sources
    return x.shape, x.dtype


def _apart(a: Expr, b: Expr) -> Expr:
    """a - b, and 0 for equal infinities."""
    apart = a - b
    return (a.equal(b) & apart.not_equal(apart)).where(0, apart)


def _logaddexp(node: Expr) -> Expr:
    """The larger one and what the other adds to it. Where they are equal, infinities too, that is log(2)."""
    a, b = node.sources
    return a.maximum(b) + (-abs(_apart(a, b))).exp().log1p()


def _logaddexp_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    """The share of each in the sum: smooth where they are equal, which the maximum is not."""
    apart = _apart(*node.sources)
    return g * apart.sigmoid(), g * (-apart).sigmoid()


ROWS = (
    Op("stop_gradient", 1, "elementwise", _infer_same, lambda arg, size, x: x, None, expand=lambda node: node.sources[0]),
    Op(
        "logaddexp",
        2,
        "elementwise",
        float_elementwise("logaddexp"),
        quiet(np.logaddexp),
        _logaddexp_gradient,
        floats=True,
        expand=_logaddexp,
    ),
)
