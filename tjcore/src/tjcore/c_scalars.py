"""How the scalar ops of loop IR are written in C: one row each, for one element and for a vector of them.

`{0}`, `{1}` are the operands. `{v}` is the vector type's suffix as lanes.h names it (`f32x16`; `f32x1` for one element), of the last
operand: the results of comparisons and conversions are of another. `{mask}` and `{bool}` are the suffixes of that operand's masks
(`mask32x16`) and of bools (`boolx16`); `{c}` and `{u}` are the C types of the result, the second unsigned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    "where": Form("{0} ? {1} : {2}", "tj_select_{v}(tj_{mask_from_bool}({0}), {1}, {2})"),
    **{
        name: Form(f"{{0}} {operator} {{1}}", f"tj_{{bool_from_mask}}(tj_{function}_{{v}}({{0}}, {{1}}))")
        for name, operator, function in (
            ("less", "<", "lt"),
            ("less_equal", "<=", "le"),
            ("equal", "==", "eq"),
            ("not_equal", "!=", "ne"),
        )
    },
    **{
        name: Form(f"({{c}})({{0}} {operator} {{1}})", f"{{0}} {operator} {{1}}")
        for name, operator in (("bitwise_and", "&"), ("bitwise_or", "|"), ("bitwise_xor", "^"))
    },
    "bitwise_invert": Form("({c})~{0}", "~{0}"),
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
_BOOL = _ANY | {"bitwise_invert": Form("{0} ^ 1", "{0} ^ 1")}
_UNSIGNED = {"int32_t": "uint32_t", "int64_t": "uint64_t", "uint8_t": "uint32_t"}


def _cast(to: DType, of: DType) -> Form:
    """A conversion: from lanes.h; floats go to uint8 through int32."""
    source, target = element_name(of), element_name(to)
    if to.kind == "bool":
        return Form("{0} != 0", "{0}" if of.kind == "bool" else "tj_{bool_from_mask}(tj_ne_{v}({0}, tj_splat_{v}(0)))")
    if to.storage or of.storage:
        return Form(*[f"tj_{to.short}_from_{of.short}x{{w}}({{0}})"] * 2)
    if source == target:
        return Form("{0}", "{0}")
    if target == "u8" and of.kind == "float":
        both = f"tj_u8_from_i32x{{w}}(tj_i32_from_{source}x{{w}}({{0}}))"
        return Form(both, both)
    return Form(*[f"tj_{target}_from_{source}x{{w}}({{0}})"] * 2)


def _form(op: str, to: DType, types: Sequence[DType]) -> Form:
    """The row of an op; what has none is a function of lanes.h, arithmetic.h or native/math by the op's own name."""
    if op == "cast":
        return _cast(to, types[0])
    form = (_FLOAT if types[-1].kind == "float" else _BOOL if types[-1].kind == "bool" else _INTEGER).get(op)
    if form is None:
        places = ", ".join(f"{{{i}}}" for i in range(OPS[op].arity))
        form = Form(f"tj_{op}_{{v}}({places})", f"tj_{op}_{{v}}({places})")
    return form


def scalar_c(op: str, dtype: DType, args: Sequence[str], types: Sequence[DType]) -> str:
    """The C expression of `op`, which gives one element of `dtype`, on operands of `types`."""
    return _form(op, dtype, types).scalar.format(*args, c=dtype.c, u=_UNSIGNED.get(dtype.c), v=vector_type(types[-1], 1), w=1)


def vector_c(op: str, dtype: DType, lanes: int, args: Sequence[str], types: Sequence[DType]) -> str:
    """The C expression of `op`, which gives `lanes` elements of `dtype`, on operands of `types`."""
    v, mask = vector_type(types[-1], lanes), f"mask{8 * types[-1].itemsize}"
    names = {"mask_from_bool": f"{mask}_from_boolx{lanes}", "bool_from_mask": f"bool_from_{mask}x{lanes}"}
    return _form(op, dtype, types).vector.format(*args, v=v, w=lanes, **names)


_ARITHMETIC = ("floor_divide", "remainder", "fmod", "bitwise_left_shift", "bitwise_right_shift", "nextafter")


def header(op: str, dtype: DType) -> str | None:
    """The header that holds the op where it is not lanes.h."""
    if op in _ARITHMETIC or (op == "pow" and dtype.kind != "float"):
        return "arithmetic.h"
    function = FUNCTIONS.get(op)
    return function.header(dtype.short) if function else None


def element_name(dtype: DType) -> str:
    """An element type as the headers name it: a bool is kept in a byte, a float of 16 bits in the integer that holds its bits."""
    return "u8" if dtype.kind == "bool" else "u16" if dtype.storage else dtype.short


def vector_type(dtype: DType, lanes: int) -> str:
    return f"{element_name(dtype)}x{lanes}"


def literal(value: float, dtype: DType) -> str:
    """A constant in C that reads back to the same bits: hexadecimal for floats."""
    if dtype.kind != "float":
        if dtype.itemsize < 8:
            return f"({value + 1} - 1)" if value == -(2**31) else str(value)
        return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"
    if math.isnan(value):
        return "(0.0f / 0.0f)" if dtype.name == "float32" else "(0.0 / 0.0)"
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
    if op == "mul":
        return literal(1, dtype)
    return literal(lowest(dtype, 1 if op == "max" else -1), dtype)


def nothing(op: str, dtype: DType) -> str:
    """The fold over an empty axis; for max and min a call with one is refused."""
    return literal(1 if op == "mul" else 0, dtype)


def combine(op: str, dtype: DType, lanes: int, a: str, b: str) -> str:
    """One step of a fold, by fold.h's own definition."""
    return f"TJ_COMBINE_{op}({vector_type(dtype, lanes)}, {a}, {b})"
