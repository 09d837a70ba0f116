"""NumPy's ufuncs, and scipy.special's of the same kind, on traced values.

In: a ufunc as `__array_ufunc__` receives it. Out: the function of ours that gives its answer, dtype included; a refusal that says what to write
for what a pure function cannot do (`out=`, `where=`, `at`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import dtypes, functions, nn
from ..functions import creation
from ..functions import elementwise as ew
from ..graph import Expr, number
from ..lifting import first_carrier, lifted
from . import refusals
from .context import Trace

f: Any = functions  # of Exprs, and so of traced values

SAME = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "negative",
    "positive",
    "sign",
    "maximum",
    "minimum",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "logaddexp",
    "sqrt",
    "cbrt",
    "square",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "floor",
    "ceil",
    "trunc",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "copysign",
    "nextafter",
    "hypot",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "matmul",
    "vecdot",
]
"""Ufuncs that the array API calls by the same name."""

OTHER = {
    "power": "pow", "absolute": "abs", "fabs": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "rint": "round", "erf": "erf", "erfc": "erfc",
}  # fmt: skip
"""Ufuncs that it calls by another."""


def _of_exprs(function: Callable[..., Any]) -> Callable[..., Any]:
    return lifted(function, numbers=True)


def _not_nan(pick: Callable[..., Any]) -> Callable[..., Any]:
    """fmax and fmin: of a NaN and a number the number."""

    def function(a: Any, b: Any) -> Any:
        chosen = pick(a, b)
        return f.where(f.not_equal(a, a), b, f.where(f.not_equal(b, b), a, chosen))

    return function


def _bools_to(logical: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """What NumPy makes of two bools in `+` and `*`."""

    def call(a: Any, b: Any) -> Any:
        return (logical if _bool(a) and _bool(b) else function)(a, b)

    call.__name__ = function.__name__  # for messages
    return call


def power(a: Any, b: Any) -> Any:
    """`a ** b`. For float64, of which there is no function yet: by multiples of a half products and roots, else exp(b * log(a))."""
    numbers = [x for x in (a, b) if not isinstance(x, Expr)]
    if dtypes.result([x.dtype for x in (a, b) if isinstance(x, Expr)], numbers) is not dtypes.float64 or (
        isinstance(a, Expr) and b in (1, 2)
    ):
        return ew.pow(a, b)
    a = a.astype(dtypes.float64) if isinstance(a, Expr) else number(float(a), dtypes.float64)
    if isinstance(b, Expr):
        return _power_of_elements(a, b.astype(dtypes.float64))
    if b == 0:
        return creation.ones_like(a)
    if not float(2 * b).is_integer() or abs(b) > 32:
        return _power_of_elements(a, float(b)) if float(b).is_integer() else ew.exp(ew.multiply(ew.log(a), b))
    whole, half = divmod(int(abs(2 * b)), 2)
    square = a
    result: Any = a.sqrt() if half else None
    while whole:
        if whole % 2:
            result = square if result is None else result * square
        whole //= 2
        square = square * square if whole else square
    return result if b > 0 else 1 / result


def _power_of_elements(a: Expr, b: Any) -> Expr:
    """By magnitude and sign: NaN for negative a and fractions, 1 for b = 0."""
    b = b if isinstance(b, Expr) else number(b, dtypes.float64)
    size = ew.exp(b * ew.log(abs(a)))
    odd = ew.equal(ew.remainder(b, 2.0), 1.0)
    signed = ew.where(ew.less(a, 0.0), ew.where(ew.equal(ew.floor(b), b), ew.where(odd, -size, size), math.nan), size)
    return ew.where(ew.equal(b, 0.0), 1.0, signed)


def _bool(value: Any) -> bool:
    dtype = value.dtype.name if isinstance(value, Expr) else getattr(value, "dtype", None)
    return isinstance(value, bool) or dtype == "bool"


UFUNCS: dict[str, Callable[..., Any]] = {
    **{name: getattr(f, name) for name in SAME if name not in ("add", "multiply")},
    **{name: getattr(f, ours) for name, ours in OTHER.items()},
    "add": _of_exprs(_bools_to(ew.bitwise_or, ew.add)),
    "multiply": _of_exprs(_bools_to(ew.bitwise_and, ew.multiply)),
    "power": _of_exprs(power),
    "true_divide": f.divide,
    "mod": f.remainder,
    "float_power": _of_exprs(lambda a, b: power(*(ew.multiply(x, 1.0) if isinstance(x, Expr) else float(x) for x in (a, b)))),
    "divmod": lambda a, b: (f.floor_divide(a, b), f.remainder(a, b)),
    "fmax": _not_nan(f.maximum),
    "fmin": _not_nan(f.minimum),
    "heaviside": lambda x, at_zero: f.where(f.less(x, 0), 0.0, f.where(f.greater(x, 0), 1.0, f.where(f.equal(x, 0), at_zero, x))),
    "deg2rad": lambda x: f.multiply(x, math.pi / 180),
    "radians": lambda x: f.multiply(x, math.pi / 180),
    "rad2deg": lambda x: f.multiply(x, 180 / math.pi),
    "degrees": lambda x: f.multiply(x, 180 / math.pi),
    "logaddexp2": lambda a, b: f.divide(f.logaddexp(f.multiply(a, math.log(2)), f.multiply(b, math.log(2))), math.log(2)),
    "conjugate": lambda x: x,
    "ldexp": lambda x, power: f.multiply(x, f.exp2(f.multiply(power, 1.0))),
    "expit": nn.sigmoid,
    "log_expit": nn.log_sigmoid,
    "logit": lambda x: f.log(f.divide(x, f.subtract(1, x))),
    "xlogy": lambda x, y: f.where(f.equal(x, 0), 0.0, f.multiply(x, f.log(y))),
    "xlog1py": lambda x, y: f.where(f.equal(x, 0), 0.0, f.multiply(x, f.log1p(y))),
    "ndtr": lambda x: f.multiply(0.5, f.add(1, f.erf(f.multiply(x, math.sqrt(0.5))))),
}

_NAMES = [
    "subtract",
    "divide",
    "floor_divide",
    "remainder",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
    "negative",
    "positive",
    "absolute",
    "invert",
]
OPERATORS: dict[str, Callable[..., Any]] = {
    **{name: getattr(ew, OTHER.get(name, name)) for name in _NAMES},
    "power": power,
    "add": _bools_to(ew.bitwise_or, ew.add),
    "multiply": _bools_to(ew.bitwise_and, ew.multiply),
}
"""What Python's operators do, on Exprs."""

REDUCE = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}
"""Ufuncs whose `reduce` is a reduction of ours."""


def call_ufunc(trace: Trace, ufunc: np.ufunc, method: str, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
    named = {name: v for name, v in named.items() if v is not None and name not in ("casting", "order", "subok")}
    inputs = [np.asarray(x) if isinstance(x, list) and first_carrier(x) is None else x for x in inputs]
    what = f"numpy.{ufunc.__name__}"
    if "out" in named:
        raise trace.refuse(f"{what}: {refusals.OUT.format(what=what)}")
    dtype = named.pop("dtype", None)
    if named.pop("where", True) is not True:
        raise trace.refuse(f"{what}: where= leaves elements undefined; write numpy.where(condition, {what}(...), other)")
    if method == "__call__" and not named:
        function = UFUNCS.get(ufunc.__name__)
        if function is None:
            raise trace.refuse(f"{what} has no counterpart here; docs/ops.md lists what has one")
        if dtype is not None:  # which NumPy computes in
            inputs = [x.astype(dtype) if hasattr(x, "astype") else np.asarray(x, dtype) for x in inputs]
        return function(*inputs)
    if method == "outer" and not named and len(inputs) == 2:
        a, b = inputs
        rank = b.ndim
        return call_ufunc(trace, ufunc, "__call__", (a[(..., *[None] * rank)], b), {"dtype": dtype})
    if method == "reduce" and ufunc.__name__ in REDUCE and set(named) <= {"axis", "keepdims"}:
        (x,) = inputs
        x = x if dtype is None else x.astype(dtype)
        return getattr(f, REDUCE[ufunc.__name__])(x, axis=named.get("axis", 0), keepdims=bool(named.get("keepdims", False)))
    if method == "accumulate" and ufunc is np.add and set(named) <= {"axis"}:
        return f.cumulative_sum(inputs[0], axis=named.get("axis", 0), dtype=dtype)
    if method == "at":
        raise trace.refuse(f"{what}{refusals.AT}")
    given = ", ".join(named)
    raise trace.refuse(f"{what}{'.' + method if method != '__call__' else ''}({given}) has no counterpart here")
