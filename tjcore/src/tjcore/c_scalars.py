"""How the scalar ops of loop IR are written in C: one row each, for one element and for a vector of them.

`{0}`, `{1}` are the operands; `{v}` is the vector type's suffix as lanes.h names it (`f32x16`; `f32x1` for one element).
Where the scalar form is empty the vector form, with `x1`, serves for both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .dtypes import DType
from .native.functions import FUNCTIONS
from .ops import OPS
from .ops.reductions import lowest


@dataclass(frozen=True, slots=True)
class Form:
    scalar: str
    vector: str


_ONE_ZERO = "tj_select_{v}({0}, tj_splat_{v}(1), tj_splat_{v}(0))"
_ANY: dict[str, Form] = {
    "relu": Form("{0} > 0 ? {0} : 0", "tj_max_{v}({0}, tj_splat_{v}(0))"),
    "positive": Form("{0} > 0 ? 1 : 0", _ONE_ZERO.replace("{0}", "tj_gt_{v}({0}, tj_splat_{v}(0))")),
    "equals": Form("{0} == {1} ? 1 : 0", _ONE_ZERO.replace("{0}", "tj_eq_{v}({0}, {1})")),
    "maximum": Form("tj_max_{v}({0}, {1})", "tj_max_{v}({0}, {1})"),
    "minimum": Form("tj_min_{v}({0}, {1})", "tj_min_{v}({0}, {1})"),
    "abs": Form("tj_abs_{v}({0})", "tj_abs_{v}({0})"),
}
_FLOAT: dict[str, Form] = _ANY | {
    "add": Form("{0} + {1}", "{0} + {1}"),
    "sub": Form("{0} - {1}", "{0} - {1}"),
    "mul": Form("{0} * {1}", "{0} * {1}"),
    "div": Form("{0} / {1}", "{0} / {1}"),
    "neg": Form("-{0}", "-{0}"),
    "relu": Form("{0} > 0 ? {0} : 0", "tj_most_{v}({0}, tj_splat_{v}(0))"),  # the cheap maximum is relu: NaN gives 0
    "round": Form("tj_rint_{v}({0})", "tj_rint_{v}({0})"),
}
# Integers wrap. Scalars go through unsigned arithmetic, in which C defines that; vectors rely on -fwrapv.
_INTEGER: dict[str, Form] = _ANY | {
    "add": Form("({c})(({u}){0} + ({u}){1})", "{0} + {1}"),
    "sub": Form("({c})(({u}){0} - ({u}){1})", "{0} - {1}"),
    "mul": Form("({c})(({u}){0} * ({u}){1})", "{0} * {1}"),
    "neg": Form("({c})(0 - ({u}){0})", "-{0}"),
}
_UNSIGNED = {"int32_t": "uint32_t", "int64_t": "uint64_t", "uint8_t": "uint32_t"}


def _form(op: str, dtype: DType) -> Form:
    """The row of an op; what has none is a function of lanes.h or native/math by the op's own name."""
    form = (_FLOAT if dtype.kind == "float" else _INTEGER).get(op)
    if form is None:
        places = ", ".join(f"{{{i}}}" for i in range(OPS[op].arity))
        form = Form(f"tj_{op}_{{v}}({places})", f"tj_{op}_{{v}}({places})")
    return form


def scalar_c(op: str, dtype: DType, args: list[str]) -> str:
    """The C expression of `op` on one element of `dtype`."""
    return _form(op, dtype).scalar.format(*args, c=dtype.c, u=_UNSIGNED.get(dtype.c), v=vector_type(dtype, 1))


def vector_c(op: str, dtype: DType, lanes: int, args: list[str]) -> str:
    """The C expression of `op` on `lanes` elements of `dtype`."""
    return _form(op, dtype).vector.format(*args, v=vector_type(dtype, lanes))


def header(op: str, dtype: DType) -> str | None:
    """The header of native/math that holds the op, if one does."""
    function = FUNCTIONS.get(op)
    return function.header(dtype.short) if function else None


def vector_type(dtype: DType, lanes: int) -> str:
    return f"{'u8' if dtype.kind == 'bool' else dtype.short}x{lanes}"  # a bool is kept in a byte


def literal(value: float, dtype: DType) -> str:
    """A constant in C that reads back to the same bits: hexadecimal for floats."""
    if dtype.kind != "float":
        if dtype.itemsize < 8:
            return f"({value + 1} - 1)" if value == -(2**31) else str(value)
        return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"
    if math.isinf(value):
        return f"({'-' if value < 0 else ''}1.0{'f' if dtype.name == 'float32' else ''} / 0.0{'f' if dtype.name == 'float32' else ''})"
    text = float(value).hex()
    mantissa, _, exponent = text.partition("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    mantissa = "0" if mantissa == "0x0" else "-0" if mantissa == "-0x0" else mantissa
    text = f"{mantissa}.0" if mantissa in ("0", "-0") else f"{mantissa}p{exponent}"
    text += "f" if dtype.name == "float32" else ""
    return text


def identity(op: str, dtype: DType) -> str:
    """What a fold starts its lanes with: the value that leaves every other one as it is."""
    if op == "add":
        return literal(-0.0 if dtype.kind == "float" else 0, dtype)
    return literal(lowest(dtype, 1 if op == "max" else -1), dtype)


def combine(op: str, dtype: DType, lanes: int, a: str, b: str) -> str:
    """One step of a fold, by fold.h's own definition."""
    return f"TJ_COMBINE_{op}({vector_type(dtype, lanes)}, {a}, {b})"
