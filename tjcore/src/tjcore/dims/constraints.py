"""What a user promises about sizes, beyond the bounds of the dims.

In: sizes. Out: `Constraint` values, which proofs take as given and which are checked against the sizes of a call. Law: a
constraint that is seen to have no solution within the bounds is refused when it is declared. (`==` on sizes compares values, so
constraints are made by functions.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ..errors import CallError, GraphError
from .evaluate import collect_dims, evaluate
from .ranges import range_of
from .size import Dim, Size, bounds, terms_of
from .terms import add

ConstraintKind = Literal["multiple", "<=", "=="]


@dataclass(frozen=True, slots=True, repr=False)
class Constraint:
    """`left % right == 0`, `left <= right` or `left == right`, by `kind`; made by `multiple_of`, `le`, `lt` and `eq`."""

    kind: ConstraintKind
    left: Size
    right: Size

    def __str__(self) -> str:
        if self.kind != "multiple":
            return f"{self.left} {self.kind} {self.right}"
        return f"{_operand(self.left)} % {_operand(self.right)} == 0"

    def __repr__(self) -> str:
        return f"<constraint {self}>"

    @property
    def dims(self) -> tuple[Dim, ...]:
        return tuple(collect_dims([(self.left, self.right)]).values())

    def holds(self, bindings: Mapping[str, int]) -> bool:
        left, right = evaluate(self.left, bindings), evaluate(self.right, bindings)
        if self.kind == "multiple":
            return left % right == 0
        return left <= right if self.kind == "<=" else left == right

    def check(self, bindings: Mapping[str, int]) -> None:
        """A `CallError` that names the declaration, the dims and their sizes, unless the constraint holds."""
        if self.holds(bindings):
            return
        left, right = evaluate(self.left, bindings), evaluate(self.right, bindings)
        dims = sorted(self.dims, key=lambda dim: dim.name)
        sizes = ", ".join(f"{dim.name} = {int(bindings[dim.name])}" for dim in dims)
        if self.kind == "multiple":
            facts = f"{_operand(self.left)} % {_operand(self.right)} is {left % right}"
        else:
            facts = f"it would say {left} {self.kind} {right}"
        raise CallError(f"{sizes}: the declared constraint {self} does not hold, {facts}; declared are {', '.join(map(repr, dims))}")


def _operand(size: Size) -> str:
    return str(size) if isinstance(size, (int, Dim)) else f"({size})"


def multiple_of(size: Size, divisor: Size) -> Constraint:
    """size % divisor == 0, for a divisor that is at least 1."""
    low, high = bounds(size)
    least, greatest = bounds(divisor)
    if least < 1:
        raise GraphError(f"multiple_of({size}, {divisor}): expected a divisor that is at least 1, but it can be {least}")
    if (low > 0 or high < 0) and least == greatest and low // least == high // least and low % least:
        raise GraphError(f"multiple_of({size}, {divisor}) can never hold: the declared bounds keep {size} within {low}..{high}")
    return Constraint("multiple", size, divisor)


def le(left: Size, right: Size) -> Constraint:
    """left <= right"""
    if range_of(add(terms_of(right), terms_of(left), -1))[1] < 0:
        raise GraphError(f"{left} <= {right} can never hold within the declared bounds: {_ranges(left, right)}")
    return Constraint("<=", left, right)


def lt(left: Size, right: Size) -> Constraint:
    """left < right, which is left + 1 <= right"""
    return le(left + 1, right)


def eq(left: Size, right: Size) -> Constraint:
    """left == right"""
    low, high = range_of(add(terms_of(right), terms_of(left), -1))
    if low > 0 or high < 0:
        raise GraphError(f"{left} == {right} can never hold within the declared bounds: {_ranges(left, right)}")
    return Constraint("==", left, right)


def _ranges(*sizes: Size) -> str:
    return " and ".join(f"{size} is within {low}..{high}" for size in sizes for low, high in [bounds(size)])


def check_bindings(dims: Iterable[Dim], bindings: Mapping[str, object], constraints: Iterable[Constraint] = ()) -> dict[str, int]:
    """The sizes of a call as plain ints: each dim has one, within its bounds, no name is unknown, every constraint holds.

    Otherwise a `CallError`.
    """
    declared = {dim.name: dim for dim in dims}
    unknown = sorted(set(bindings) - set(declared))
    if unknown:
        raise CallError(f"no dim is named {', '.join(unknown)}; the dims are {', '.join(sorted(declared)) or 'none'}")
    missing = sorted(set(declared) - set(bindings))
    if missing:
        raise CallError(f"no size is given for {', '.join(repr(declared[name]) for name in missing)}; bind it to an int")
    checked: dict[str, int] = {}
    for name, dim in declared.items():
        size = bindings[name]
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise CallError(f"{name} = {size!r}: expected an int within {dim.lower}..{dim.upper}, got {type(size).__name__}")
        value = int(size.__index__())
        if not dim.lower <= value <= dim.upper:
            raise CallError(f"{name} = {value}: expected a size within {dim.lower}..{dim.upper}, as declared by {dim!r}")
        checked[name] = value
    for constraint in constraints:
        constraint.check(checked)
    return checked
