"""Python's operators of a traced array, each by the name of NumPy's ufunc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Method = Callable[..., Any]


def _binary(name: str) -> tuple[Method, Method, Method]:
    """`x + y`, `y + x` and `x += y`."""
    return (
        lambda self, other: self._operate(name, other),
        lambda self, other: self._operate(name, other, swapped=True),
        lambda self, other: self._assigned(name, other),
    )


def _compare(name: str) -> Method:
    return lambda self, other: self._operate(name, other)


def _unary(name: str) -> Method:
    return lambda self: self._alone(name)


class ArrayOperators:  # noqa: PLW1641 - whose `==` compares elements, and so does not hash
    """Brings the operators; wants `_operate`, `_assigned` and `_alone`."""

    __slots__ = ()

    __add__, __radd__, __iadd__ = _binary("add")
    __sub__, __rsub__, __isub__ = _binary("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder")
    __pow__, __rpow__, __ipow__ = _binary("power")
    __matmul__, __rmatmul__, __imatmul__ = _binary("matmul")
    __and__, __rand__, __iand__ = _binary("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _binary("left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("right_shift")
    __lt__, __le__ = _compare("less"), _compare("less_equal")
    __gt__, __ge__ = _compare("greater"), _compare("greater_equal")
    __eq__: Any = _compare("equal")
    __ne__: Any = _compare("not_equal")
    __neg__, __pos__, __abs__, __invert__ = _unary("negative"), _unary("positive"), _unary("absolute"), _unary("invert")

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self
