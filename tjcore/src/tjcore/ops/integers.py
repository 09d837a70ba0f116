"""Bits and shifts, and division with a whole quotient: NumPy's meaning, which is defined for every value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import DType
from ..errors import GraphError
from .arithmetic import elementwise, float_elementwise
from .choices import alike
from .row import Gradient, Infer, Op, quiet
from .shapes import Shape

if TYPE_CHECKING:
    from ..graph import Expr


def _infer_bits(name: str, *, bools: bool) -> Infer:
    def infer(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
        first = sources[0]
        for other in sources[1:]:
            alike(name, first, other)
        if first.dtype.kind == "float" or (first.dtype.kind == "bool" and not bools):
            raise GraphError(f"{name}: needs integers{' or bools' if bools else ''}, got {first.dtype}; cast it first")
        return first.shape, first.dtype

    return infer


def _bits(name: str, arity: int, meaning: Callable[..., Any], *, bools: bool = True) -> Op:
    return Op(name, arity, "elementwise", _infer_bits(name, bools=bools), quiet(meaning), None)


def _number(name: str, meaning: Callable[..., Any], gradient: Gradient | None) -> Op:
    return Op(name, 2, "elementwise", elementwise(name), quiet(meaning), gradient)


def _remainder_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    a, b = node.sources
    return g, -(g * a.floor_divide(b))


def _copysign_gradient(node: Expr, g: Expr) -> Sequence[Expr | None]:
    a, b = node.sources
    g = a.less(0).where(-g, g)
    return (a.abs() + 1).copysign(b).less(0).where(-g, g), None


def _fmod_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    a, b = node.sources
    return g, -(g * (a / b).trunc())


ROWS = (
    _bits("bitwise_and", 2, np.bitwise_and),
    _bits("bitwise_or", 2, np.bitwise_or),
    _bits("bitwise_xor", 2, np.bitwise_xor),
    _bits("bitwise_invert", 1, np.invert),
    _bits("bitwise_left_shift", 2, np.left_shift, bools=False),
    _bits("bitwise_right_shift", 2, np.right_shift, bools=False),
    _number("floor_divide", np.floor_divide, None),
    _number("remainder", np.remainder, _remainder_gradient),
    _number("fmod", np.fmod, _fmod_gradient),
    Op(
        "copysign",
        2,
        "elementwise",
        float_elementwise("copysign"),
        quiet(np.copysign),
        _copysign_gradient,
        floats=True,
    ),
    Op("nextafter", 2, "elementwise", float_elementwise("nextafter"), quiet(np.nextafter), None, floats=True),
)
