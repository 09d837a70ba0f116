"""Element types: what each is called in NumPy, in graph text and in C, and how two of them combine.

In: names, NumPy dtypes or `DType` values. Out: `DType` values, one object per type, so `is` compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .errors import GraphError, shown

Kind = Literal["bool", "uint", "int", "float"]


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One element type. `short` names it in graph text and in generated C's vector types, `c` is its scalar C type."""

    name: str
    short: str
    c: str
    kind: Kind
    itemsize: int
    numpy: np.dtype[Any] = field(repr=False)
    storage: bool = False
    """Whether values are only kept in it: what is computed with them is computed in float32, and rounded back after each op, as NumPy does."""

    @property
    def computed(self) -> DType:
        """The type to compute with its values in."""
        return float32 if self.storage else self

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        """Equal to NumPy's names for it as well, so that `x.dtype == numpy.float32` says what it says."""
        if self is other or isinstance(other, DType):
            return self is other
        return isinstance(other, (np.dtype, type)) and _BY_NUMPY.get(_numpys(other)) is self

    def __hash__(self) -> int:
        return hash(self.numpy)

    @property
    def dtype(self) -> np.dtype[Any]:
        """By this name NumPy finds the type, as in `numpy.zeros(3, tjcore.float32)`."""
        return self.numpy

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


def _numpys(value: Any) -> Any:
    """NumPy's dtype for one of its names, None where there is none."""
    try:
        return np.dtype(value)
    except TypeError:
        return None


def _declare(short: str, c: str, kind: Kind, numpy: str, storage: bool = False) -> DType:
    dtype = np.dtype(numpy)
    return DType(dtype.name, short, c, kind, dtype.itemsize, dtype, storage)


float32 = _declare("f32", "float", "float", "float32")
float64 = _declare("f64", "double", "float", "float64")
float16 = _declare("f16", "uint16_t", "float", "float16", storage=True)
int32 = _declare("i32", "int32_t", "int", "int32")
int64 = _declare("i64", "int64_t", "int", "int64")
uint8 = _declare("u8", "uint8_t", "uint", "uint8")
bool_ = _declare("b8", "uint8_t", "bool", "bool")

DTYPES: tuple[DType, ...] = (float32, float64, float16, int32, int64, uint8, bool_)
_BY_NAME = {d.name: d for d in DTYPES} | {d.short: d for d in DTYPES}
_BY_NUMPY = {d.numpy: d for d in DTYPES}


def as_dtype(value: object) -> DType:
    """The `DType` for a name (`"float32"`, `"f32"`), a NumPy dtype or scalar type, or a `DType`; GraphError otherwise."""
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    try:
        if value is not None:  # which NumPy takes for float64
            return _BY_NUMPY[np.dtype(value)]  # type: ignore[call-overload]
    except (TypeError, ValueError, KeyError, SyntaxError):  # NumPy parses text as a structure, and Python then parses its parts
        pass
    names = ", ".join(d.name for d in DTYPES)
    raise GraphError(f"dtype: expected one of {names}, got {shown(value)}")


def result(kinds: Sequence[DType], numbers: Sequence[object]) -> DType:
    """What tensors of `kinds` and Python's `numbers` combine to: a number only changes the kind (bool < int < float), to the widest of it."""
    dtype: DType | None = None
    for kind in kinds:
        dtype = kind if dtype is None else promote(dtype, kind)
    for number in numbers:
        if isinstance(number, (bool, np.bool_)):
            least = bool_
        else:
            least = int64 if isinstance(number, (int, np.integer)) else float64
        if dtype is None or _RANK[least.kind] > _RANK[dtype.kind]:
            dtype = least
    if dtype is None:
        raise GraphError("dtype: nothing to combine")
    return dtype


_RANK: dict[Kind, int] = {"bool": 0, "uint": 1, "int": 1, "float": 2}


def promote(a: DType, b: DType) -> DType:
    """The type two arrays combine to, by NumPy's table; GraphError where NumPy's answer is no type of ours."""
    if a is b:
        return a
    joined = np.promote_types(a.numpy, b.numpy)
    if joined not in _BY_NUMPY:
        raise GraphError(f"dtype: {a} and {b} combine to {joined}, which tjcore does not have; cast one of them first")
    return _BY_NUMPY[joined]
