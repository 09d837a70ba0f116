"""Sizes as a program that is being traced sees them.

In: a size that each call may have another of. Out: arithmetic that gives sizes (`+ - * // %`) or numbers (`/`, floats); comparisons that are
answered for the sizes of this call and remembered, so that a call for which the answer is another is traced anew. What needs one int for
all calls (`range(n)`, `int(n)`) is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..dims import Size, bounds, maximum
from ..functions import elementwise as ew
from ..lifting import Carrier
from . import refusals
from .context import Trace, Traced
from .numpy_ufuncs import call_ufunc, power


class TracedSize(Traced):
    """A size of a call, such as `x.shape[0]`."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, size: Size) -> None:
        super().__init__(trace, size, True)

    @property
    def size(self) -> Any:
        return self.carried

    def __repr__(self) -> str:
        return f"<size {self.size}>"

    def __str__(self) -> str:
        return str(self.size)

    # ------------------------------------------------------------ arithmetic
    def _size(self, other: Any, of_sizes: Callable[[Any, Any], Any], of_numbers: Callable[..., Any], swapped: bool = False) -> Any:
        if isinstance(other, TracedSize):
            other = other.size
        elif isinstance(other, np.integer):
            other = int(other)
        elif isinstance(other, bool) or not isinstance(other, int):
            return self._number(other, of_numbers, swapped)
        a, b = (other, self.size) if swapped else (self.size, other)
        return self.run.size(of_sizes(a, b))

    def _divisor(self, size: Size) -> Size:
        """A size to divide by; where it may be 0, this call says that it is not."""
        if bounds(size)[0] >= 1:
            return size
        if not self.run.decide("<=", 1, size):
            raise ZeroDivisionError(f"{self.run.name}: integer division by {size}, which is 0 or less")
        return maximum(size, 1)

    def _number(self, other: Any, function: Callable[..., Any], swapped: bool = False) -> Any:
        if isinstance(other, Carrier) and not isinstance(other, TracedSize):
            return NotImplemented
        if not isinstance(other, (int, float, TracedSize, np.number, np.bool_, np.ndarray)):
            return NotImplemented
        return self.run.lift(function, (other, self) if swapped else (self, other), {}, numbers=True, operator=True)

    def __add__(self, other: Any) -> Any:
        return self._size(other, lambda a, b: a + b, ew.add)

    def __radd__(self, other: Any) -> Any:
        return self._size(other, lambda a, b: a + b, ew.add, True)

    def __sub__(self, other: Any) -> Any:
        return self._size(other, lambda a, b: a - b, ew.subtract)

    def __rsub__(self, other: Any) -> Any:
        return self._size(other, lambda a, b: a - b, ew.subtract, True)

    def __mul__(self, other: Any) -> Any:
        return self._size(other, lambda a, b: a * b, ew.multiply)

    def __rmul__(self, other: Any) -> Any:
        return self._size(other, lambda a, b: a * b, ew.multiply, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._size(other, lambda a, b: a // self._divisor(b), ew.floor_divide)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._size(other, lambda a, b: a // self._divisor(b), ew.floor_divide, True)

    def __mod__(self, other: Any) -> Any:
        return self._size(other, lambda a, b: a % self._divisor(b), ew.remainder)

    def __rmod__(self, other: Any) -> Any:
        return self._size(other, lambda a, b: a % self._divisor(b), ew.remainder, True)

    def __truediv__(self, other: Any) -> Any:
        return self._number(other, ew.divide)

    def __rtruediv__(self, other: Any) -> Any:
        return self._number(other, ew.divide, True)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and not isinstance(other, bool) and other >= 0:
            return self.run.size(self.size**other)
        return self._number(other, power)

    def __rpow__(self, other: Any) -> Any:
        return self._number(other, power, True)

    def __neg__(self) -> Any:
        return self.run.size(-self.size)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self.run.decide("<=", 0, self.size) else -self

    # ------------------------------------------------------------ questions
    def _ask(self, other: Any, question: Callable[[Any, Any], bool], function: Callable[..., Any], swapped: bool = False) -> Any:
        if isinstance(other, float) and other.is_integer():
            other = int(other)
        if isinstance(other, TracedSize):
            other = other.size
        elif isinstance(other, np.integer):
            other = int(other)
        elif isinstance(other, bool) or not isinstance(other, int):
            return self._number(other, function, swapped)
        return question(self.size, other)

    def __eq__(self, other: Any) -> Any:
        return self._ask(other, lambda a, b: self.run.decide("==", a, b), ew.equal)

    def __ne__(self, other: Any) -> Any:
        return self._ask(other, lambda a, b: not self.run.decide("==", a, b), ew.not_equal)

    def __le__(self, other: Any) -> Any:
        return self._ask(other, lambda a, b: self.run.decide("<=", a, b), ew.less_equal)

    def __lt__(self, other: Any) -> Any:
        return self._ask(other, lambda a, b: not self.run.decide("<=", b, a), ew.less)

    def __ge__(self, other: Any) -> Any:
        return self._ask(other, lambda a, b: self.run.decide("<=", b, a), ew.greater_equal)

    def __gt__(self, other: Any) -> Any:
        return self._ask(other, lambda a, b: not self.run.decide("<=", a, b), ew.greater)

    def __bool__(self) -> bool:
        return not self.run.decide("==", self.size, 0)

    # ------------------------------------------------------------ refusals
    def _no_int(self, what: str) -> NoReturn:
        where = self.run.origins.get(str(self.size))
        raise self.run.refuse(refusals.whole(what, f"{self.size}, {where}," if where else self.size))

    def __index__(self) -> int:  # noqa: PLE0305 - it raises
        self._no_int("an index, range() or a new array")

    def __int__(self) -> int:
        self._no_int("int()")

    def __float__(self) -> float:
        self._no_int("float()")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self._no_int("numpy.asarray()")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        return call_ufunc(self.run, ufunc, method, inputs, named)
