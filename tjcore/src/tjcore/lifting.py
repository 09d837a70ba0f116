"""How functions of expressions work on what stands for an expression: the values of a program that is being traced.

In: functions of Exprs. Out: the same functions, which hand a call with such a value in it over to that value (`Carrier.lift`). The
tracer lies far above; the functions know no more of it than this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Carrier:
    """Stands for an expression or a size. Operators of an Expr leave it to a Carrier what the two make."""

    __slots__ = ()

    def lift(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], numbers: bool) -> Any:
        """`function` of what the carriers among the arguments stand for; its result stands for expressions in the same way."""
        raise NotImplementedError


def first_carrier(values: Iterable[Any]) -> Carrier | None:
    """The first of the values, or of the lists and tuples among them, that is a carrier."""
    for value in values:
        if isinstance(value, Carrier):
            return value
        if isinstance(value, (list, tuple)) and (found := first_carrier(value)) is not None:
            return found
    return None


def lifted(function: Function, numbers: bool = False) -> Function:
    """The function for carriers too. `numbers`: its operands are numbers and tensors, never sizes or axes."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        carrier = first_carrier(arguments)
        if carrier is None and named:
            carrier = first_carrier(named.values())
        return function(*arguments, **named) if carrier is None else carrier.lift(function, arguments, named, numbers)

    return call  # type: ignore[return-value]
