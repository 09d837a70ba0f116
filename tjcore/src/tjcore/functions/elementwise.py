"""Element by element: arithmetic, comparisons, logic, bits, roundings and transcendental functions.

In: expressions and numbers, promoted by NumPy 2's rules (numbers are weak) and broadcast. Out: expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import as_dtype
from ..errors import GraphError, shown
from ..graph import Expr, number, power
from ..graph import elementwise as apply_elementwise

Operand = Expr | float


def operand(name: str, x: object) -> Expr:
    """`x`, if it is an expression."""
    if not isinstance(x, Expr):
        raise GraphError(f"{name}: expected an Expr, got {shown(x)}")
    return x


def _unary(name: str, op: str, doc: str) -> Callable[[Expr], Expr]:
    def function(x: Expr, /) -> Expr:
        return apply_elementwise(op, operand(name, x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _binary(name: str, op: str, doc: str, swapped: bool = False) -> Callable[[Operand, Operand], Expr]:
    def function(x1: Operand, x2: Operand, /) -> Expr:
        return apply_elementwise(op, x2, x1) if swapped else apply_elementwise(op, x1, x2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


# ------------------------------------------------------------------------------------------------------------ arithmetic

add = _binary("add", "add", "x1 + x2")
subtract = _binary("subtract", "sub", "x1 - x2")
multiply = _binary("multiply", "mul", "x1 * x2")
divide = _binary("divide", "div", "x1 / x2, in float64 for integers")
floor_divide = _binary("floor_divide", "floor_divide", "x1 // x2: the whole quotient, rounded down; 0 for integers divided by 0")
remainder = _binary("remainder", "remainder", "x1 % x2, with the sign of x2; 0 for integers divided by 0")
fmod = _binary("fmod", "fmod", "the remainder with the sign of x1, as C's fmod")
negative = _unary("negative", "neg", "-x")
abs = _unary("abs", "abs", "The distance from 0; the smallest integer stays as it is.")
hypot = _binary("hypot", "hypot", "sqrt(x1 * x1 + x2 * x2), without overflow on the way")
copysign = _binary("copysign", "copysign", "x1 with the sign of x2")
nextafter = _binary("nextafter", "nextafter", "the float after x1 on the way to x2")


def positive(x: Expr, /) -> Expr:
    """+x: x itself. (The method `x.positive()` is the step function, the derivative of relu.)"""
    return operand("positive", x)


def pow(x1: Operand, x2: Operand, /) -> Expr:
    """x1 ** x2; for the numbers 2, 1, 0.5 and -1 a square, x1, a square root, a reciprocal, as NumPy does."""
    return power(x1, x2)


def square(x: Expr, /) -> Expr:
    """x * x"""
    return operand("square", x) * x


def reciprocal(x: Expr, /) -> Expr:
    """1 / x"""
    return 1 / operand("reciprocal", x)


def sign(x: Expr, /) -> Expr:
    """-1, 0 or 1; NaN for NaN."""
    operand("sign", x)
    if x.dtype.kind == "float":
        return x.not_equal(x).where(x, x.positive() - (-x).positive())
    return x.less(0).where(-1, x.positive()) if x.dtype.kind == "int" else x.positive()


def maximum(x1: Operand, x2: Operand, /) -> Expr:
    """The larger of the two, NaN if one is."""
    return apply_elementwise("bitwise_or" if _bools(x1, x2) else "maximum", x1, x2)


def minimum(x1: Operand, x2: Operand, /) -> Expr:
    """The smaller of the two, NaN if one is."""
    return apply_elementwise("bitwise_and" if _bools(x1, x2) else "minimum", x1, x2)


def _bools(*operands: object) -> bool:
    return all(isinstance(x, Expr) and x.dtype is dtypes.bool_ for x in operands)


def clip(x: Expr, /, min: Operand | None = None, max: Operand | None = None) -> Expr:
    """x, or the nearer end where it lies outside `min` to `max`; None: no end."""
    result = operand("clip", x)
    if min is not None:
        result = maximum(result, min)
    return result if max is None else minimum(result, max)


def _rounding(name: str, doc: str) -> Callable[[Expr], Expr]:
    def function(x: Expr, /) -> Expr:
        return apply_elementwise(name, x) if operand(name, x).dtype.kind == "float" else x

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + " Integers stay as they are."
    return function


floor = _rounding("floor", "The largest whole number that is not larger.")
ceil = _rounding("ceil", "The smallest whole number that is not smaller.")
trunc = _rounding("trunc", "The whole number on the way to 0.")
round = _rounding("round", "The nearest whole number, of two the even one.")

# ------------------------------------------------------------------------------------------------- comparisons and logic

less = _binary("less", "less", "x1 < x2, as bools")
less_equal = _binary("less_equal", "less_equal", "x1 <= x2, as bools")
greater = _binary("greater", "less", "x1 > x2, as bools", swapped=True)
greater_equal = _binary("greater_equal", "less_equal", "x1 >= x2, as bools", swapped=True)
equal = _binary("equal", "equal", "Whether elements are equal, as bools. (`==` compares expressions by identity.)")
not_equal = _binary("not_equal", "not_equal", "Whether elements differ, as bools.")


def where(condition: Expr, x1: Operand, x2: Operand, /) -> Expr:
    """x1 where the condition (bools) holds, else x2."""
    return apply_elementwise("where", operand("where", condition), x1, x2)


def isnan(x: Expr, /) -> Expr:
    """Whether an element is NaN."""
    return operand("isnan", x).not_equal(x)


def isfinite(x: Expr, /) -> Expr:
    """Whether an element is neither NaN nor infinite."""
    if operand("isfinite", x).dtype.kind != "float":
        return x.equal(x)
    return x.abs().less_equal(float(np.finfo(x.dtype.numpy).max))


def isinf(x: Expr, /) -> Expr:
    """Whether an element is infinite."""
    if operand("isinf", x).dtype.kind != "float":
        return x.not_equal(x)
    return x.abs() > float(np.finfo(x.dtype.numpy).max)


def signbit(x: Expr, /) -> Expr:
    """Whether the sign is negative, that of -0.0 too."""
    return x.less(0) if operand("signbit", x).dtype.kind != "float" else apply_elementwise("copysign", 1.0, x).less(0)


def _truth(name: str, x: object) -> Expr:
    if isinstance(x, (bool, int, float)):
        return number(int(bool(x)), dtypes.bool_)
    return operand(name, x).astype(dtypes.bool_)


def logical_and(x1: Operand, x2: Operand, /) -> Expr:
    """Whether both are true (not 0)."""
    return _truth("logical_and", x1) & _truth("logical_and", x2)


def logical_or(x1: Operand, x2: Operand, /) -> Expr:
    """Whether at least one is true (not 0)."""
    return _truth("logical_or", x1) | _truth("logical_or", x2)


def logical_xor(x1: Operand, x2: Operand, /) -> Expr:
    """Whether exactly one is true (not 0)."""
    return _truth("logical_xor", x1) ^ _truth("logical_xor", x2)


def logical_not(x: Expr, /) -> Expr:
    """Whether it is not true (0)."""
    return ~_truth("logical_not", x)


bitwise_and = _binary("bitwise_and", "bitwise_and", "x1 & x2, for integers and bools")
bitwise_or = _binary("bitwise_or", "bitwise_or", "x1 | x2, for integers and bools")
bitwise_xor = _binary("bitwise_xor", "bitwise_xor", "x1 ^ x2, for integers and bools")
bitwise_invert = _unary("bitwise_invert", "bitwise_invert", "~x, for integers and bools")
bitwise_left_shift = _binary("bitwise_left_shift", "bitwise_left_shift", "x1 << x2; 0 for shifts by the width and more")
bitwise_right_shift = _binary("bitwise_right_shift", "bitwise_right_shift", "x1 >> x2, which keeps the sign")

# ---------------------------------------------------------------------------------------------------- transcendental ones

exp = _unary("exp", "exp", "e to the power of x")
exp2 = _unary("exp2", "exp2", "2 to the power of x")
expm1 = _unary("expm1", "expm1", "exp(x) - 1, exact near 0")
log = _unary("log", "log", "the natural logarithm")
log2 = _unary("log2", "log2", "the logarithm to base 2")
log10 = _unary("log10", "log10", "the logarithm to base 10")
log1p = _unary("log1p", "log1p", "log(1 + x), exact near 0")
logaddexp = _binary("logaddexp", "logaddexp", "log(exp(x1) + exp(x2)), without overflow on the way")
sqrt = _unary("sqrt", "sqrt", "the square root, correctly rounded")
rsqrt = _unary("rsqrt", "rsqrt", "1 / sqrt(x)")
cbrt = _unary("cbrt", "cbrt", "the cube root")
sin = _unary("sin", "sin", "the sine of an angle in radians")
cos = _unary("cos", "cos", "the cosine of an angle in radians")
tan = _unary("tan", "tan", "the tangent of an angle in radians")
asin = _unary("asin", "asin", "the inverse of the sine")
acos = _unary("acos", "acos", "the inverse of the cosine")
atan = _unary("atan", "atan", "the inverse of the tangent")
atan2 = _binary("atan2", "atan2", "the angle of the point (x2, x1)")
sinh = _unary("sinh", "sinh", "the hyperbolic sine")
cosh = _unary("cosh", "cosh", "the hyperbolic cosine")
tanh = _unary("tanh", "tanh", "the hyperbolic tangent")
asinh = _unary("asinh", "asinh", "the inverse of the hyperbolic sine")
acosh = _unary("acosh", "acosh", "the inverse of the hyperbolic cosine")
atanh = _unary("atanh", "atanh", "the inverse of the hyperbolic tangent")
erf = _unary("erf", "erf", "the error function")
erfc = _unary("erfc", "erfc", "1 - erf(x), exact where that is near 0 (float32 only)")


def conj(x: Expr, /) -> Expr:
    """The complex conjugate, which of a real number is itself."""
    return operand("conj", x)


def real(x: Expr, /) -> Expr:
    """The real part, which of a real number is itself."""
    return operand("real", x)


def astype(x: Expr, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Expr:
    """The same values as another type; floats go to integers towards zero, and what does not fit gives the smallest integer."""
    if device not in (None, "cpu"):
        raise GraphError(f"astype: device must be 'cpu' or None, got {shown(device)}")
    return operand("astype", x).astype(as_dtype(dtype))


def stop_gradient(x: Expr, /) -> Expr:
    """x, through which no gradient flows."""
    return apply_elementwise("stop_gradient", operand("stop_gradient", x))


__all__ = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "negative", "abs", "hypot", "copysign", "nextafter",
    "positive", "pow", "square", "reciprocal", "sign", "maximum", "minimum", "clip", "floor", "ceil", "trunc", "round", "less",
    "less_equal", "greater", "greater_equal", "equal", "not_equal", "where", "isnan", "isfinite", "isinf", "signbit", "logical_and",
    "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", "bitwise_left_shift",
    "bitwise_right_shift", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "sqrt", "rsqrt", "cbrt", "sin", "cos",
    "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "conj", "real", "astype", "stop_gradient",
]  # fmt: skip
