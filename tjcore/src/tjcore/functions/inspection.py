"""What the array API standard asks about element types and about the library: constants, type functions, `__array_namespace_info__`.

In: element types and expressions. Out: element types, bools and plain values; nothing is computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import DType, as_dtype
from ..errors import GraphError, shown
from ..graph import Expr
from .creation import check_device

e, pi, inf, nan = math.e, math.pi, math.inf, math.nan
newaxis = None

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int",),
    "unsigned integer": ("uint",),
    "integral": ("int", "uint"),
    "real floating": ("float",),
    "complex floating": (),
    "numeric": ("int", "uint", "float"),
}


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """What `finfo` says of a type of floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntInfo:
    """What `iinfo` says of a type of integers."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a type of floats, or of an expression's."""
    kind = type.dtype if isinstance(type, Expr) else as_dtype(type)
    if kind.kind != "float":
        raise GraphError(f"finfo: expected a type of floats, got {kind}")
    info = np.finfo(kind.numpy)
    return FloatInfo(info.bits, float(info.eps), float(info.max), float(info.min), float(info.smallest_normal), kind)


def iinfo(type: Any, /) -> IntInfo:
    """The limits of a type of integers, or of an expression's."""
    kind = type.dtype if isinstance(type, Expr) else as_dtype(type)
    if kind.kind not in ("int", "uint"):
        raise GraphError(f"iinfo: expected a type of integers, got {kind}")
    info = np.iinfo(kind.numpy)
    return IntInfo(info.bits, int(info.max), int(info.min), kind)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a type is another, or of a kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
    "numeric", or one of a tuple of those."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise GraphError(f"isdtype: kind must be one of {', '.join(_KINDS)}, a dtype, or a tuple of those; got {shown(kind)}")
        return as_dtype(dtype).kind in _KINDS[kind]
    return as_dtype(dtype) is as_dtype(kind)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether every value of one type is one of the other, by NumPy's rules."""
    return bool(np.can_cast((from_.dtype if isinstance(from_, Expr) else as_dtype(from_)).numpy, as_dtype(to).numpy))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """What expressions, types and numbers combine to."""
    numbers = [x for x in arrays_and_dtypes if _is_number(x)]
    kinds = [x.dtype if isinstance(x, Expr) else as_dtype(x) for x in arrays_and_dtypes if not _is_number(x)]
    return dtypes.result(kinds, numbers)


def _is_number(x: object) -> bool:
    return isinstance(x, (bool, int, float)) and not isinstance(x, np.generic)


class NamespaceInfo:
    """What `__array_namespace_info__` gives."""

    def capabilities(self) -> dict[str, Any]:
        """No masks as indices and no shapes that depend on values, since sizes are known before values are."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 32}

    def default_device(self) -> str:
        return "cpu"

    def devices(self) -> list[str]:
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        check_device("default_dtypes", device)
        return {"real floating": dtypes.float32, "integral": dtypes.int64, "indexing": dtypes.int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        check_device("dtypes", device)
        return {d.name: d for d in dtypes.DTYPES if not d.storage and (kind is None or isdtype(d, kind))}


def __array_namespace_info__() -> NamespaceInfo:
    """What the library can do, as the array API standard asks."""
    return NamespaceInfo()


__all__ = [
    "e", "pi", "inf", "nan", "newaxis", "finfo", "iinfo", "isdtype", "can_cast", "result_type", "__array_namespace_info__",
]  # fmt: skip
