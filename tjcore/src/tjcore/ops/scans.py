"""Running folds along one axis, element after element in order: `result[i] = result[i - 1] + x[i]`, as `numpy.cumsum` adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import DType
from .row import Infer, Meaning, Op, check_accumulates
from .shapes import Shape, stored_axis

if TYPE_CHECKING:
    from ..graph import Expr


def _infer_scan(name: str) -> Infer:
    def infer(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
        (x,) = sources
        check_accumulates(name, x.dtype)
        stored_axis(f"{name}: the axis", axis, len(x.shape))
        return x.shape, x.dtype

    return infer


def _running(back: bool) -> Meaning:
    def meaning(axis: int, size: Any, x: Any) -> Any:
        with np.errstate(all="ignore"):
            if back:
                return np.flip(np.add.accumulate(np.flip(x, axis), axis, dtype=x.dtype), axis)
            return np.add.accumulate(x, axis, dtype=x.dtype)

    return meaning


BACKWARD = "cumulative_sum_back"
"""The scan that runs from the last element to the first: the gradient of the other."""

ROWS = (
    Op(
        "cumulative_sum",
        1,
        "scan",
        _infer_scan("cumulative_sum"),
        _running(False),
        lambda node, g: (g.cumulative_sum(node.arg, back=True),),
    ),
    Op(BACKWARD, 1, "scan", _infer_scan(BACKWARD), _running(True), lambda node, g: (g.cumulative_sum(node.arg),)),
)
