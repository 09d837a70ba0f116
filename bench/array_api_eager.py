"""Eager arrays over tjcore, so that the array API test suite, which looks at values as it goes, can be run on it.

    git clone https://github.com/data-apis/array-api-tests --recurse-submodules && cd array-api-tests && pip install -r requirements.txt
    PYTHONPATH=.../bench ARRAY_API_TESTS_MODULE=array_api_eager ARRAY_API_TESTS_VERSION=2024.12 pytest array_api_tests --max-examples 20

Every function and operator is traced, compiled (by the reference evaluator, or `TENSORJIT_BACKEND`) and called for the arrays at hand. What the
suite needs itself to make arrays and look into them (`x[i] = v`, `bool(x)`) is NumPy's.
"""

from __future__ import annotations

import builtins
import os
from functools import wraps
from typing import Any

import numpy as np

import tjcore as tj
from tjcore.dtypes import as_dtype

__version__ = tj.__version__
__array_api_version__ = tj.__array_api_version__
BACKEND = os.environ.get("TENSORJIT_BACKEND", "reference")


class Array:
    """A NumPy array that computes through tjcore."""

    __array_ufunc__ = None

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __repr__(self) -> str:
        return f"Array({self.values!r})"

    @property
    def dtype(self) -> Any:
        known = tj.dtypes._BY_NUMPY  # what the suite makes of complex numbers has a type of NumPy's
        return known.get(self.values.dtype, self.values.dtype)

    shape = property(lambda self: self.values.shape)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    device = property(lambda self: "cpu")
    T = property(lambda self: computed(lambda x: x.T, self))
    mT = property(lambda self: computed(lambda x: x.mT, self))

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return __import__("array_api_eager")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == self.ndim and builtins.all(isinstance(k, int) for k in key):
            return Array(self.values[key])  # one element, which the suite looks at
        return computed(lambda x: x[_bare(key)], self)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.values[_bare(key)] = _bare(value)

    def __dlpack__(self, **how: Any) -> Any:
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self.values)))

    def __len__(self) -> int:
        return len(self.values)

    __bool__ = lambda self: builtins.bool(self.values)  # noqa: E731
    __int__ = lambda self: int(self.values)  # noqa: E731
    __float__ = lambda self: float(self.values)  # noqa: E731
    __complex__ = lambda self: complex(self.values)  # noqa: E731
    __index__ = lambda self: self.values.__index__()  # noqa: E731
    __hash__ = None  # type: ignore[assignment]


def _operator(name: str) -> Any:
    def call(self: Array, *others: Any) -> Any:
        if not builtins.all(isinstance(o, (Array, int, float)) for o in others):
            return NotImplemented
        return computed(lambda x, *ys: getattr(x, name)(*ys), self, *others)

    return call


def _in_place(name: str) -> Any:
    def call(self: Array, other: Any) -> Any:
        result = getattr(self, f"__{name}__")(other)
        if result is NotImplemented:
            return result
        self.values = result.values.astype(self.values.dtype)
        return self

    return call


_BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"]
for _name in (*_BINARY, *(f"r{n}" for n in _BINARY), *["lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert"]):
    setattr(Array, f"__{_name}__", _operator(f"__{_name}__"))
for _name in _BINARY:
    setattr(Array, f"__i{_name}__", _in_place(_name))


def _bare(value: Any) -> Any:
    if isinstance(value, Array):
        return value.values
    if isinstance(value, (tuple, list)):
        return type(value)(_bare(v) for v in value)
    return value


def _wrapped(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return Array(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_wrapped(v) for v in value)
    return value


def computed(function: Any, *arguments: Any, **named: Any) -> Any:
    """A function of arrays, by tjcore; what is no array is part of the program."""
    given: list[Any] = []

    def placed(value: Any) -> Any:
        if isinstance(value, Array):
            given.append(value.values)
            at = len(given) - 1
            return lambda arrays: arrays[at]
        if isinstance(value, (tuple, list)):
            parts = [placed(v) for v in value]
            return lambda arrays: type(value)(p(arrays) for p in parts)
        return lambda arrays: value

    places = [placed(a) for a in arguments]
    names = {n: placed(a) for n, a in named.items()}

    def program(*arrays: Any) -> Any:
        return function(*(p(arrays) for p in places), **{n: p(arrays) for n, p in names.items()})

    return _wrapped(tj.jit(program, dims="fixed", backend=BACKEND)(*given))


def _lifted(function: Any) -> Any:
    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return computed(function, *arguments, **named)

    return call


_PLAIN = ("finfo", "iinfo", "isdtype", "can_cast", "result_type", "__array_namespace_info__")
for _name in tj.functions.__all__:
    _value = getattr(tj, _name)
    globals()[_name] = _lifted(_value) if callable(_value) and _name not in _PLAIN else _value

bool = tj.bool_
float32, float64, int32, int64, uint8 = tj.float32, tj.float64, tj.int32, tj.int64, tj.uint8


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Array:
    if isinstance(obj, Array):
        return Array(obj.values.astype((obj.dtype if dtype is None else as_dtype(dtype)).numpy, copy=copy is not False))
    values = np.asarray(_bare(obj))
    kind = as_dtype(dtype) if dtype is not None else None
    if kind is None and values.dtype == np.float64 and not isinstance(obj, np.ndarray):
        kind = tj.float32
    return Array(values if kind is None else values.astype(kind.numpy))


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
    return Array(np.from_dlpack(x).copy())


def finfo(type: Any, /) -> Any:
    return tj.finfo(type.dtype if isinstance(type, Array) else type)


def iinfo(type: Any, /) -> Any:
    return tj.iinfo(type.dtype if isinstance(type, Array) else type)


def can_cast(from_: Any, to: Any, /) -> Any:
    return tj.can_cast(from_.dtype if isinstance(from_, Array) else from_, to)


def result_type(*given: Any) -> Any:
    return tj.result_type(*(g.dtype if isinstance(g, Array) else g for g in given))
