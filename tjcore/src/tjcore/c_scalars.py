"""How the scalar ops of loop IR are written in C: one row each, for one element and for a vector of them.

`{0}`, `{1}` are the operands; `{v}` is the vector type's suffix as lanes.h names it (`f32x16`; `f32x1` for one element).
Where the scalar form is empty the vector form, with `x1`, serves for both.
"""

from __future__ import annotations

from dataclasses import dataclass

from .dtypes import DType


@dataclass(frozen=True, slots=True)
class Form:
    scalar: str
    vector: str


_FLOAT: dict[str, Form] = {
    "add": Form("{0} + {1}", "{0} + {1}"),
    "sub": Form("{0} - {1}", "{0} - {1}"),
    "mul": Form("{0} * {1}", "{0} * {1}"),
    "neg": Form("-{0}", "-{0}"),
    "relu": Form("{0} > 0 ? {0} : 0", "tj_most_{v}({0}, tj_splat_{v}(0))"),
    "positive": Form("{0} > 0 ? 1 : 0", "tj_select_{v}(tj_gt_{v}({0}, tj_splat_{v}(0)), tj_splat_{v}(1), tj_splat_{v}(0))"),
}
# Integers wrap. Scalars go through unsigned arithmetic, in which C defines that; vectors rely on -fwrapv.
_INTEGER: dict[str, Form] = {
    "add": Form("({c})(({u}){0} + ({u}){1})", "{0} + {1}"),
    "sub": Form("({c})(({u}){0} - ({u}){1})", "{0} - {1}"),
    "mul": Form("({c})(({u}){0} * ({u}){1})", "{0} * {1}"),
    "neg": Form("({c})(0 - ({u}){0})", "-{0}"),
    "relu": _FLOAT["relu"],
    "positive": _FLOAT["positive"],
}
_INTEGER["relu"] = Form("{0} > 0 ? {0} : 0", "tj_max_{v}({0}, tj_splat_{v}(0))")
_UNSIGNED = {"int32_t": "uint32_t", "int64_t": "uint64_t", "uint8_t": "uint32_t"}


def scalar_c(op: str, dtype: DType, args: list[str]) -> str:
    """The C expression of `op` on one element of `dtype`."""
    if dtype.kind == "float":
        return _FLOAT[op].scalar.format(*args)
    return _INTEGER[op].scalar.format(*args, c=dtype.c, u=_UNSIGNED[dtype.c])


def vector_c(op: str, dtype: DType, lanes: int, args: list[str]) -> str:
    """The C expression of `op` on `lanes` elements of `dtype`."""
    table = _FLOAT if dtype.kind == "float" else _INTEGER
    return table[op].vector.format(*args, v=vector_type(dtype, lanes))


def vector_type(dtype: DType, lanes: int) -> str:
    return f"{dtype.short}x{lanes}"


def literal(value: float, dtype: DType) -> str:
    """A constant in C that reads back to the same bits: hexadecimal for floats."""
    if dtype.kind != "float":
        return f"INT64_C({value})" if dtype.itemsize == 8 else str(value)
    text = float(value).hex()
    mantissa, _, exponent = text.partition("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    mantissa = "0" if mantissa == "0x0" else "-0" if mantissa == "-0x0" else mantissa
    text = f"{mantissa}.0" if mantissa in ("0", "-0") else f"{mantissa}p{exponent}"
    text += "f" if dtype.name == "float32" else ""
    return text


IDENTITY = {"add": {"float": -0.0}}
"""What a fold starts its lanes with: the value that leaves every other one as it is."""


def identity(op: str, dtype: DType) -> str:
    return literal(IDENTITY[op].get(dtype.kind, 0), dtype)


def combine(op: str, dtype: DType, lanes: int, a: str, b: str) -> str:
    """One step of a fold, by fold.h's own definition."""
    return f"TJ_COMBINE_{op}({vector_type(dtype, lanes)}, {a}, {b})"
