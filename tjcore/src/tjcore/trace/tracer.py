"""The value that stands for an array while a user's function is traced: an expression that behaves as NumPy's array would.

In: NumPy's operators, methods and functions (`__array_ufunc__`, `__array_function__`, `__array_namespace__`). Out: expressions. Law: what NumPy does
with an array this does to the expression, dtype included; what needs the array's numbers while there are none, or would change an array in
place, is refused with what to write instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from .. import functions
from ..dtypes import as_dtype
from ..errors import shown
from ..graph import Expr, matmul, number
from ..lifting import first_carrier
from ..ops import show_shape
from . import refusals
from .context import Trace, Traced
from .indexing import getitem
from .numpy_names import call_function
from .numpy_shapes import squeeze
from .numpy_ufuncs import OPERATORS, call_ufunc
from .operators import ArrayOperators

f: Any = functions  # of Exprs, and so of traced values


class Tracer(ArrayOperators, Traced):
    """An array of a program that is being traced; its numbers are not known yet."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, expr: Expr, weak: bool = False) -> None:
        super().__init__(trace, expr, weak)

    @property
    def expr(self) -> Expr:
        return self.carried  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<traced {self.expr.dtype} {show_shape(self.expr.shape)}>"

    def __format__(self, spec: str) -> str:
        if spec:
            self._no_number(f"format {spec!r}")
        return repr(self)

    # ------------------------------------------------------------ what it is
    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(map(self.run.size, self.expr.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.expr.dtype.numpy

    @property
    def ndim(self) -> int:
        return self.expr.rank

    @property
    def size(self) -> Any:
        total: Any = 1
        for size in self.expr.shape:
            total = total * size
        return self.run.size(total)

    @property
    def itemsize(self) -> int:
        return self.expr.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        return "cpu"

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        size = self.expr.shape[0]
        if isinstance(size, int):
            return size
        raise self.run.refuse(refusals.length(self, size))

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        size = self.expr.shape[0]
        if not isinstance(size, int):
            raise self.run.refuse(refusals.loop(self, size))
        return (self[i] for i in range(size))

    # ------------------------------------------------------------ NumPy's protocols
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        return call_ufunc(self.run, ufunc, method, inputs, named)

    def __array_function__(self, function: Any, types: Any, arguments: Any, named: Any) -> Any:
        return call_function(self.run, function, arguments, named)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return sys.modules["tjcore"]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise self.run.refuse(refusals.array(self))

    # ------------------------------------------------------------ refusals
    def _no_number(self, what: str) -> NoReturn:
        raise self.run.refuse(refusals.number(what, self))

    def __bool__(self) -> bool:
        raise self.run.refuse(refusals.truth(self))

    def __float__(self) -> float:
        self._no_number("float()")

    def __int__(self) -> int:
        self._no_number("int()")

    def __complex__(self) -> complex:
        self._no_number("complex()")

    def __index__(self) -> int:  # noqa: PLE0305 - it raises
        self._no_number("range(), or an index into a list,")

    def item(self, *where: int) -> Any:
        self._no_number("item()")

    def tolist(self) -> Any:
        self._no_number("tolist()")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise self.run.refuse(refusals.assignment(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        hint = (
            "an array here does not change"
            if name in ("sort", "fill", "put", "resize", "partition", "setfield", "byteswap")
            else "it has no counterpart here"
        )
        raise AttributeError(f"{self.run.name}: {name} of a traced array: {hint}; docs/tracing.md lists what there is")

    # ------------------------------------------------------------ operators
    def _operate(self, name: str, other: Any, swapped: bool = False) -> Any:
        if isinstance(other, list) and first_carrier(other) is None:
            other = np.asarray(other)
        if isinstance(other, complex):
            raise self.run.refuse(f"{name}: {other!r} is a complex number, and there are none here; write real and imaginary parts")
        if not isinstance(other, (Traced, Expr, int, float, np.ndarray, np.number, np.bool_)):
            return NotImplemented
        operands = (other, self) if swapped else (self, other)
        if name == "matmul":
            return self.run.lift(matmul, operands, {})
        return self.run.lift(OPERATORS[name], operands, {}, numbers=True, operator=True)

    def _alone(self, name: str) -> Any:
        return self.run.lift(OPERATORS[name], (self,), {}, numbers=True, operator=True)

    def _assigned(self, name: str, other: Any) -> Any:
        """`x += y`: a new array of x's shape and type, under x's name."""
        result = self._operate(name, other)
        if result is NotImplemented:
            return result
        if not np.can_cast(result.dtype, self.dtype, "same_kind"):
            raise self.run.refuse(
                f"{name} in place: the result is {result.dtype}, which {self!r} cannot hold; write x = x.astype({result.dtype.name!r}) first"
            )
        if result.ndim != self.ndim:
            raise self.run.refuse(f"{name} in place: the result has the shape {show_shape(result.expr.shape)}, and {self!r} keeps its own")
        return result if result.dtype == self.dtype else self.run.wrap(result.expr.astype(self.expr.dtype), self.weak)

    def __getitem__(self, key: Any) -> Any:
        return getitem(self.run, self, key)

    # ------------------------------------------------------------ NumPy's methods
    @property
    def T(self) -> Any:
        return self.transpose()

    @property
    def mT(self) -> Any:
        return f.matrix_transpose(self)

    @property
    def real(self) -> Any:
        return self

    @property
    def imag(self) -> Any:
        return f.zeros_like(self)

    def transpose(self, *axes: Any) -> Any:
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return f.permute_dims(self, tuple(range(self.ndim))[::-1] if given is None or given == () else tuple(given))

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        if order not in ("C", "A"):
            raise self.run.refuse(refusals.ORDER.format(order=order))
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return f.reshape(self, tuple(given))

    def ravel(self, order: str = "C") -> Any:
        return self.reshape(-1, order=order)

    flatten = ravel

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Any:
        return self.run.wrap(self.expr.astype(as_dtype(dtype)))

    def copy(self, order: str = "C") -> Any:
        return self.run.wrap(self.expr, self.weak)

    def squeeze(self, axis: Any = None) -> Any:
        return squeeze(self, axis)

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        return f.repeat(self, repeats, axis=axis)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return f.swapaxes(self, axis1, axis2)

    def moveaxis(self, source: Any, destination: Any) -> Any:
        return f.moveaxis(self, source, destination)

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        if device != "cpu":
            raise self.run.refuse(f"to_device: there is the device 'cpu' only, got {shown(device)}")
        return self

    def _new(self, shape: Any, value: Any, dtype: Any) -> Any:
        expr = number(value, self.expr.dtype if dtype is None else as_dtype(dtype))
        return f.broadcast_to(self.run.wrap(expr), shape)

    @property
    def at(self) -> Any:
        """`x.at[1:3].set(v)`: the array with v there; also add, subtract, multiply, divide, min, max."""
        from .updates import At  # which is made of tracers

        return At(self)


def _method(ours: Any) -> Any:
    return lambda self, *arguments, **named: call_function(self.run, ours, (self, *arguments), named)


for _name in (
    *("sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "argmax", "argmin"),
    *("cumsum", "clip", "round", "dot", "diagonal", "trace", "take", "ptp"),
):
    setattr(Tracer, _name, _method(getattr(np, _name)))  # NumPy's functions with the array first
