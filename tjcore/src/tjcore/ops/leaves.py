"""Leaves: what a graph is given. They carry their own shape and dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dtypes import DType
from .row import Op
from .shapes import Shape

if TYPE_CHECKING:
    from ..graph import Expr


def _leaf(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
    raise AssertionError("leaves carry their own shape and dtype")


def _unreachable(arg: Any, size: Any, *arrays: Any) -> Any:
    raise AssertionError("leaves are given, not computed")


ROWS = tuple(Op(name, 0, "leaf", _leaf, _unreachable, None) for name in ("input", "constant", "size"))
