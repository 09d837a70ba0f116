"""What a call of a traced function may be given for an array, and what becomes of it.

In: NumPy's arrays of any layout and byte order, its scalars, Python's numbers, DLPack tensors, buffers, and what NumPy can take for an array. Out:
plain arrays of our element types; a copy is made only where memory is not in C order, not aligned or of foreign byte order. What would lose its
meaning, such as a masked array, is refused with the function's name and the way to the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dims import Size
from ..dtypes import DTYPES, DType, as_dtype
from ..errors import CallError, DtypeError, shown

_KNOWN = {d.numpy: d for d in DTYPES}
_LIMIT = 2**63

Where = Callable[[], tuple[str, str]]
"""The function's name and the way to the argument, when a message needs them."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array of which only shape and element type are known: what `lower` takes in place of one. An axis is an int, a name, a text such as
    "N + 1", or a Dim."""

    shape: tuple[Size | str, ...]
    dtype: Any = "float32"

    def __post_init__(self) -> None:
        shape = self.shape if isinstance(self.shape, Sequence) and not isinstance(self.shape, str) else (self.shape,)
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "dtype", as_dtype(self.dtype))


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """What of an argument decides which code it needs, but for its sizes. There is one object for each."""

    dtype: DType
    rank: int
    weak: bool = False
    """Whether it is one of Python's numbers, which only change the kind of what they meet."""

    def __str__(self) -> str:
        return f"a {self.dtype.kind} of Python's" if self.weak else f"{self.dtype} of {self.rank} axes"


KINDS: dict[tuple[np.dtype[Any], int], Kind] = {}
"""Kinds that were met, by NumPy's dtype and the number of axes."""
_WEAK = {bool: Kind(as_dtype("bool"), 0, True), int: Kind(as_dtype("int64"), 0, True), float: Kind(as_dtype("float64"), 0, True)}


def accept(value: Any, where: Where) -> tuple[NDArray[Any], Kind]:
    """An argument as an array, and its kind."""
    weak = _WEAK.get(type(value))
    array = value if type(value) is np.ndarray else _array(value, where)
    return array, weak or kind_of(array.dtype, array.ndim, where)


def kind_of(numpy: np.dtype[Any], rank: int, where: Where) -> Kind:
    kind = KINDS.get((numpy, rank))
    if kind is None:
        native = numpy.newbyteorder("=")
        dtype = _KNOWN.get(native)
        if dtype is None:
            name, path = where()
            names = ", ".join(d.name for d in DTYPES)
            raise DtypeError(f"{name}: argument {path} has the dtype {numpy}, of which there is none here ({names}); pass x.astype(...)")
        kind = KINDS.setdefault((native, rank), Kind(dtype, rank))
        KINDS[numpy, rank] = kind
    return kind


def _array(value: Any, where: Where) -> NDArray[Any]:
    if isinstance(value, (np.generic, np.memmap)):
        return np.asarray(value)
    name, path = where() if type(value) not in _WEAK else ("", "")
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        if type(value) not in _WEAK:  # an enum, a subclass with a meaning of its own
            raise CallError(
                f"{name}: argument {path} is {shown(value)}, a {type(value).__name__}; name it in static_argnames, or pass a plain number"
            )
        if isinstance(value, int) and not -_LIMIT <= value < _LIMIT:
            name, path = where()
            raise CallError(f"{name}: argument {path} is {shown(value)}, which no int64 holds; pass a float")
        return np.array(value, _WEAK[type(value)].dtype.numpy)
    if isinstance(value, np.ndarray):
        raise CallError(
            f"{name}: argument {path} is a {type(value).__name__}, a subclass of numpy.ndarray whose meaning would be lost; pass numpy.asarray(x)"
        )
    if isinstance(value, (str, bytes)) or callable(value):
        raise _no_array(value, where)
    try:
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            return np.asarray(value)
        return np.asarray(memoryview(value))
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise _no_array(value, where, f" ({error})") from error


def _no_array(value: Any, where: Where, why: str = "") -> CallError:
    name, path = where()
    return CallError(
        f"{name}: argument {path} is {shown(value)}, a {type(value).__name__}{why}; arrays and numbers are traced, in lists, tuples and "
        "dicts too. What decides what is computed is named in static_argnames"
    )


def ready(value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The array, or number, as a compiled graph takes it: itself, or a copy in C order."""
    if type(value) is np.ndarray and value.dtype == dtype:
        flags = value.flags
        if flags.c_contiguous and flags.aligned:
            return value
    return np.array(value, dtype, order="C", copy=True)
