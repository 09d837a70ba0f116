"""Transcendental functions: a function is an op as soon as native/math has it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..errors import GraphError
from ..native.functions import FUNCTIONS
from .arithmetic import elementwise, float_elementwise
from .row import Gradient, Infer, Meaning, Op
from .shapes import Shape

if TYPE_CHECKING:
    from ..graph import Expr


def _infer(name: str) -> Infer:
    function = FUNCTIONS[name]

    def infer(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
        check = elementwise if name == "pow" else float_elementwise  # integers have powers too, exact ones
        shape, dtype = check(name)(sources, arg)
        if dtype.kind != "float":
            return shape, dtype
        if dtype.short not in function.dtypes:
            raise GraphError(f"{name}: is not there for {dtype} yet; it is for {', '.join(function.dtypes)}")
        return shape, dtype

    return infer


def _wide(function: Callable[..., Any]) -> Meaning:
    """The function in float64, rounded: for float32 that is correct but for the rarest ties."""

    def meaning(arg: None, size: Any, *arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*(np.asarray(a, np.float64) for a in arrays)).astype(arrays[0].dtype)

    return meaning


def _meaning(name: str, function: Callable[..., Any]) -> Meaning:
    wide = _wide(function)
    if name != "pow":
        return wide
    return lambda arg, size, a, b: wide(arg, size, a, b) if a.dtype.kind == "f" else numerics.power(a, b)


def _sigmoid(x: Any) -> Any:
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _pow_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    """Of x**0 no slope by x, and of 0**y none by y, rather than what 0 times infinity is."""
    a, b = node.sources
    none = b.equal(0)
    return g * none.where(0, b) * a.pow(none.where(1, b) - 1), g * node * a.equal(0).where(1, a).log()


# The meaning in float64 NumPy, and the gradient.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], Gradient]] = {
    "exp": (np.exp, lambda node, g: (g * node,)),
    "exp2": (np.exp2, lambda node, g: (g * node * math.log(2),)),
    "expm1": (np.expm1, lambda node, g: (g * (node + 1),)),
    "log": (np.log, lambda node, g: (g / node.sources[0],)),
    "log2": (np.log2, lambda node, g: (g / (node.sources[0] * math.log(2)),)),
    "log10": (np.log10, lambda node, g: (g / (node.sources[0] * math.log(10)),)),
    "log1p": (np.log1p, lambda node, g: (g / (node.sources[0] + 1),)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda node, g: (g * -0.5 * node / node.sources[0],)),
    "sigmoid": (_sigmoid, lambda node, g: (g * node * (1 - node),)),
    "tanh": (np.tanh, lambda node, g: (g * (1 - node * node),)),
    "erf": (_erf, lambda node, g: (g * (2 / math.sqrt(math.pi)) * (-(node.sources[0] * node.sources[0])).exp(),)),
    "erfc": (_erfc, lambda node, g: (g * (-2 / math.sqrt(math.pi)) * (-(node.sources[0] * node.sources[0])).exp(),)),
    "sin": (np.sin, lambda node, g: (g * node.sources[0].cos(),)),
    "cos": (np.cos, lambda node, g: (-(g * node.sources[0].sin()),)),
    "tan": (np.tan, lambda node, g: (g * (1 + node * node),)),
    "asin": (np.arcsin, lambda node, g: (g / (1 - node.sources[0] * node.sources[0]).sqrt(),)),
    "acos": (np.arccos, lambda node, g: (-(g / (1 - node.sources[0] * node.sources[0]).sqrt()),)),
    "atan": (np.arctan, lambda node, g: (g / (1 + node.sources[0] * node.sources[0]),)),
    "sinh": (np.sinh, lambda node, g: (g * node.sources[0].cosh(),)),
    "cosh": (np.cosh, lambda node, g: (g * node.sources[0].sinh(),)),
    "asinh": (np.arcsinh, lambda node, g: (g / (node.sources[0] * node.sources[0] + 1).sqrt(),)),
    "acosh": (np.arccosh, lambda node, g: (g / (node.sources[0] * node.sources[0] - 1).sqrt(),)),
    "atanh": (np.arctanh, lambda node, g: (g / (1 - node.sources[0] * node.sources[0]),)),
    "cbrt": (np.cbrt, lambda node, g: (g * node / (node.sources[0] * 3),)),
    "pow": (np.power, _pow_gradient),
    "atan2": (
        np.arctan2,
        lambda node, g: (
            g * node.sources[1] / (node.sources[0] * node.sources[0] + node.sources[1] * node.sources[1]),
            -(g * node.sources[0] / (node.sources[0] * node.sources[0] + node.sources[1] * node.sources[1])),
        ),
    ),
    "hypot": (np.hypot, lambda node, g: (g * node.sources[0] / node, g * node.sources[1] / node)),
}

ROWS = tuple(
    Op(
        name,
        FUNCTIONS[name].arity,
        "elementwise",
        _infer(name),
        _meaning(name, meaning),
        gradient,
        max(FUNCTIONS[name].ulp.values()),
        name != "pow",
    )
    for name, (meaning, gradient) in _FUNCTIONS.items()
    if name in FUNCTIONS
)
