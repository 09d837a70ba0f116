"""Elementwise arithmetic: exact or correctly rounded, with the IEEE 754 meaning of each operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, numerics
from ..dtypes import DType
from ..errors import GraphError
from .row import Gradient, Infer, Meaning, Op, quiet
from .shapes import Shape, same, show_shape

if TYPE_CHECKING:
    from ..graph import Expr


def elementwise(name: str) -> Infer:
    def infer(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
        first = sources[0]
        for other in sources[1:]:
            if other.dtype is not first.dtype:
                raise GraphError(f"{name}: operands must have one dtype, got {first.dtype} and {other.dtype}")
            if len(other.shape) != len(first.shape) or not all(map(same, first.shape, other.shape)):
                raise GraphError(f"{name}: operands must have one shape, got {show_shape(first.shape)} and {show_shape(other.shape)}")
        if first.dtype is dtypes.bool_:
            raise GraphError(f"{name}: needs numbers, got bool; cast it first")
        return first.shape, first.dtype

    return infer


def float_elementwise(name: str) -> Infer:
    def infer(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
        shape, dtype = elementwise(name)(sources, arg)
        if dtype.kind != "float":
            raise GraphError(f"{name}: needs a float dtype, got {dtype}; cast it first")
        return shape, dtype

    return infer


def _relu(arg: None, size: Any, x: Any) -> Any:
    return np.where(x > 0, x, np.zeros((), x.dtype))


def _positive(arg: None, size: Any, x: Any) -> Any:
    return (x > 0).astype(x.dtype)


def _pick_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    """To the operand that was taken, half to each where they are equal."""
    a, b = node.sources
    half = a.equals(b) * 0.5
    first = half + (a - b).positive() if node.op == "maximum" else half + (b - a).positive()
    return g * first, g * (1 - first)


def _row(name: str, arity: int, meaning: Meaning, gradient: Gradient | None) -> Op:
    return Op(name, arity, "elementwise", elementwise(name), meaning, gradient)


def _float_row(name: str, arity: int, meaning: Meaning, gradient: Gradient | None) -> Op:
    return Op(name, arity, "elementwise", float_elementwise(name), meaning, gradient, floats=True)


ROWS = (
    _row("add", 2, quiet(np.add), lambda node, g: (g, g)),
    _row("sub", 2, quiet(np.subtract), lambda node, g: (g, -g)),
    _row("mul", 2, quiet(np.multiply), lambda node, g: (g * node.sources[1], g * node.sources[0])),
    _row("neg", 1, quiet(np.negative), lambda node, g: (-g,)),
    _row("relu", 1, _relu, lambda node, g: (g * node.sources[0].positive(),)),
    _row("positive", 1, _positive, lambda node, g: (None,)),
    _row("equals", 2, lambda a, s, x, y: (x == y).astype(x.dtype), lambda node, g: (None, None)),
    _row("abs", 1, quiet(np.abs), lambda node, g: (g * (node.sources[0].positive() - (-node.sources[0]).positive()),)),
    _row("maximum", 2, quiet(numerics.maximum), _pick_gradient),
    _row("minimum", 2, quiet(numerics.minimum), _pick_gradient),
    _float_row("div", 2, quiet(np.divide), lambda node, g: (g / node.sources[1], -(g * node / node.sources[1]))),
    _float_row("fma", 3, quiet(numerics.fma), lambda node, g: (g * node.sources[1], g * node.sources[0], g)),
    _float_row("sqrt", 1, quiet(np.sqrt), lambda node, g: (g * 0.5 / node,)),
    _float_row("floor", 1, quiet(np.floor), lambda node, g: (None,)),
    _float_row("ceil", 1, quiet(np.ceil), lambda node, g: (None,)),
    _float_row("trunc", 1, quiet(np.trunc), lambda node, g: (None,)),
    _float_row("round", 1, quiet(np.rint), lambda node, g: (None,)),
)
