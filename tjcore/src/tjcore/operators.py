"""The operators that users write between expressions, each an op of the table.

`==` and `!=` are not here: expressions are compared and hashed by identity, and `equal` and `not_equal` compare elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .graph import Expr


class Operators:
    """What `Expr` inherits; it brings `_with`, which promotes and broadcasts, and `_matmul`."""

    __slots__ = ()

    def _with(self, op: str, *others: Any, swapped: bool = False) -> Expr:
        raise NotImplementedError

    def _matmul(self, other: Any, swapped: bool = False) -> Expr:
        raise NotImplementedError

    def pow(self, other: Any) -> Expr:
        raise NotImplementedError

    def __add__(self, other: Any) -> Expr:
        return self._with("add", other)

    def __radd__(self, other: Any) -> Expr:
        return self._with("add", other, swapped=True)

    def __sub__(self, other: Any) -> Expr:
        return self._with("sub", other)

    def __rsub__(self, other: Any) -> Expr:
        return self._with("sub", other, swapped=True)

    def __mul__(self, other: Any) -> Expr:
        return self._with("mul", other)

    def __rmul__(self, other: Any) -> Expr:
        return self._with("mul", other, swapped=True)

    def __truediv__(self, other: Any) -> Expr:
        return self._with("div", other)

    def __rtruediv__(self, other: Any) -> Expr:
        return self._with("div", other, swapped=True)

    def __floordiv__(self, other: Any) -> Expr:
        return self._with("floor_divide", other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return self._with("floor_divide", other, swapped=True)

    def __mod__(self, other: Any) -> Expr:
        return self._with("remainder", other)

    def __rmod__(self, other: Any) -> Expr:
        return self._with("remainder", other, swapped=True)

    def __divmod__(self, other: Any) -> tuple[Expr, Expr]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Expr, Expr]:
        return other // self, other % self

    def __pow__(self, other: Any) -> Expr:
        return self.pow(other)

    def __rpow__(self, other: Any) -> Expr:
        return self._with("pow", other, swapped=True)

    def __matmul__(self, other: Any) -> Expr:
        return self._matmul(other)

    def __rmatmul__(self, other: Any) -> Expr:
        return self._matmul(other, swapped=True)

    def __abs__(self) -> Expr:
        return self._with("abs")

    def __neg__(self) -> Expr:
        return self._with("neg")

    def __lt__(self, other: Any) -> Expr:
        return self._with("less", other)

    def __le__(self, other: Any) -> Expr:
        return self._with("less_equal", other)

    def __gt__(self, other: Any) -> Expr:
        return self._with("less", other, swapped=True)

    def __ge__(self, other: Any) -> Expr:
        return self._with("less_equal", other, swapped=True)

    def __and__(self, other: Any) -> Expr:
        return self._with("bitwise_and", other)

    def __rand__(self, other: Any) -> Expr:
        return self._with("bitwise_and", other, swapped=True)

    def __or__(self, other: Any) -> Expr:
        return self._with("bitwise_or", other)

    def __ror__(self, other: Any) -> Expr:
        return self._with("bitwise_or", other, swapped=True)

    def __xor__(self, other: Any) -> Expr:
        return self._with("bitwise_xor", other)

    def __rxor__(self, other: Any) -> Expr:
        return self._with("bitwise_xor", other, swapped=True)

    def __invert__(self) -> Expr:
        return self._with("bitwise_invert")

    def __lshift__(self, other: Any) -> Expr:
        return self._with("bitwise_left_shift", other)

    def __rlshift__(self, other: Any) -> Expr:
        return self._with("bitwise_left_shift", other, swapped=True)

    def __rshift__(self, other: Any) -> Expr:
        return self._with("bitwise_right_shift", other)

    def __rrshift__(self, other: Any) -> Expr:
        return self._with("bitwise_right_shift", other, swapped=True)
