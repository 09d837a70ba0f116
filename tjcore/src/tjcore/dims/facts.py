"""Constraints -> what a proof may use: replacements for dims, and polynomials known to be at least 0.

Law: for every size that keeps the constraints, a replaced polynomial has the value of the original. A constraint that fits no
rule here is left out, which costs proofs and never makes a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import gcd

from ..errors import GraphError
from .constraints import Constraint
from .ranges import atom_range, range_of
from .rules import extreme, floor_div
from .size import terms_of
from .terms import (
    Atom,
    Extreme,
    ExtremeKind,
    FloorDiv,
    Order,
    Terms,
    add,
    as_constant,
    below,
    constant,
    multiply,
    quotient,
    scale,
    substitute,
)

_ATOMS = 200  # sizes made of more are not rewritten
_ROUNDS = 3  # of narrowing bounds by each other
_TRIES = 96  # combinations of facts per question


class Unknown(Atom):
    """The quotient that a divisibility constraint promises, or a dim within narrower bounds."""

    __slots__ = ("_order", "lower", "upper")

    def __init__(self, name: str, lower: int, upper: int) -> None:
        self.lower, self.upper, self._order = lower, upper, (4, name, lower, upper)

    @property
    def order(self) -> Order:
        return self._order

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self._order == other._order

    def __hash__(self) -> int:
        return hash(self._order)


Decide = Callable[[Terms], bool]


def rebuild(terms: Terms, values: Mapping[Atom, Terms], *, thorough: bool = False, never_negative: Decide | None = None) -> Terms | None:
    """`terms` with atoms replaced at every depth and all rules applied again; None if a divisor might not be positive then.

    `never_negative` tells which arguments of an extreme never decide.
    """
    atoms = below(terms)
    if len(atoms) > _ATOMS:
        return None
    forms: dict[Atom, Terms] = dict(values)
    for atom in atoms:
        if isinstance(atom, FloorDiv):
            den = substitute(atom.den, forms)
            if range_of(den)[0] < 1:
                return None
            forms[atom] = floor_div(substitute(atom.num, forms), den, thorough=thorough)
        elif isinstance(atom, Extreme):
            args = [substitute(arg, forms) for arg in atom.args]
            if never_negative is not None:
                args = _deciding(atom.kind, args, never_negative)
            forms[atom] = extreme(atom.kind, args, thorough=thorough)
        elif atom.lower == atom.upper and atom not in forms:
            forms[atom] = constant(atom.lower)
    return substitute(terms, forms)


def _deciding(kind: ExtremeKind, args: list[Terms], never_negative: Decide) -> list[Terms]:
    flip = 1 if kind == "min" else -1
    kept: list[Terms] = []
    for arg in args:
        if any(never_negative(scale(add(arg, other, -1), flip)) for other in kept):
            continue
        kept = [other for other in kept if not never_negative(scale(add(other, arg, -1), flip))]
        kept.append(arg)
    return kept


class Facts:
    """What a set of constraints gives. `steps` are applied one after the other."""

    def __init__(self, constraints: Iterable[Constraint]) -> None:
        self.steps: list[dict[Atom, Terms]] = []
        self.zero: list[Terms] = []
        self.not_negative: list[Terms] = []
        self.multiples: list[tuple[Terms, Terms]] = []
        for constraint in constraints:
            left, right = terms_of(constraint.left), terms_of(constraint.right)
            if constraint.kind == "multiple":
                self.multiples.append((left, right))
            elif constraint.kind == "<=":
                self.not_negative.append(add(right, left, -1))
            else:
                self.zero.append(add(right, left, -1))
        self._narrow()
        while self.zero:
            self._solve(self.zero.pop(0), None)
        while self.multiples:
            num, den = self.multiples.pop(0)
            self._solve(num, den)

    def apply(self, terms: Terms) -> Terms:
        for values in self.steps:
            replaced = rebuild(terms, values)
            if replaced is None:
                return terms
            terms = replaced
        decided = rebuild(terms, {}, never_negative=self.proves_not_negative) if self.not_negative else terms
        return terms if decided is None else decided

    def _replace(self, atom: Atom, value: Terms) -> None:
        values = {atom: value}
        self.steps.append(values)

        def renewed(rows: list[Terms]) -> list[Terms]:
            return [row for old in rows if (row := rebuild(old, values))]

        self.zero, self.not_negative = renewed(self.zero), renewed(self.not_negative)
        pairs = [(rebuild(num, values), rebuild(den, values)) for num, den in self.multiples]
        self.multiples = [(num, den) for num, den in pairs if num and den and range_of(den)[0] >= 1]

    def _narrow(self) -> None:
        """Bounds of single dims from inequalities and equations that they occur in linearly."""
        for _ in range(_ROUNDS):
            changed = False
            for row in [*self.not_negative, *self.zero, *(scale(row, -1) for row in self.zero)]:
                for atom, factor, rest in _linear(row):
                    # factor * atom >= -rest
                    reach = range_of(rest)[1]
                    low, high = atom.lower, atom.upper
                    if factor > 0:
                        low = max(low, -(reach // factor))
                    else:
                        high = min(high, reach // -factor)
                    if low > high:
                        raise GraphError(
                            f"the constraints cannot all hold: {atom.order[1]} would have to be at least {low} and at most {high}"
                        )
                    if (low, high) != (atom.lower, atom.upper):
                        self._replace(atom, {(Unknown(atom.order[1], low, high),): 1})
                        changed = True
                        break
                if changed:
                    break
            if not changed:
                break

    def _solve(self, num: Terms, den: Terms | None) -> None:
        """num = 0, or num = den * (an unknown integer), solved for one dim."""
        right: Terms = {}
        k = None if den is None else as_constant(den)
        if den is not None:
            if len(num) == 1 and k is not None:
                # c * N is a multiple of k, so N is one of k / gcd(k, c)
                ((monomial, factor),) = num.items()
                if len(monomial) == 1 and not monomial[0].parts:
                    step = k // gcd(k, factor)
                    atom = monomial[0]
                    low, high = -(-atom.lower // step), atom.upper // step
                    if low > high:
                        raise GraphError(
                            f"the constraints cannot all hold: {atom.order[1]} has no multiple of {step} within {atom.lower}..{atom.upper}"
                        )
                    if step > 1:
                        self._replace(atom, {(Unknown(f"{atom.order[1]}/{step}", low, high),): step})
                    return
            low, high = atom_range(range_of(num), range_of(den))
            right = multiply(den, {(Unknown(f"quotient {len(self.steps)}", low, high),): 1})
        for atom, factor, rest in _linear(num):
            if abs(factor) != 1 or any(atom == inner for inner in below(right)):
                continue
            # factor * atom + rest = right
            value = scale(add(right, rest, -1), factor)
            self._replace(atom, value)
            self.not_negative += [add(value, constant(-atom.lower)), add(constant(atom.upper), value, -1)]
            return
        if den is None:
            self.not_negative += [num, scale(num, -1)]

    def proves_not_negative(self, terms: Terms) -> bool:
        """Whether terms >= 0 follows from the bounds and a few facts added up."""
        tries = _TRIES
        front = [terms]
        for _ in range(3):
            following: list[Terms] = []
            for row in front:
                if range_of(row)[0] >= 0:
                    return True
                for fact in self.not_negative:
                    for factor in _factors(row, fact):
                        if tries <= 0:
                            return False
                        tries -= 1
                        left = add(row, multiply(factor, fact), -1)
                        if range_of(left)[0] >= 0:
                            return True
                        following.append(left)
            front = following
        return False


def _linear(terms: Terms) -> list[tuple[Atom, int, Terms]]:
    """(atom, factor, rest) for terms = factor * atom + rest, for each dim or unknown that is nowhere in rest."""
    found = []
    for monomial, factor in terms.items():
        if len(monomial) == 1 and not monomial[0].parts:
            rest = {m: c for m, c in terms.items() if m != monomial}
            if monomial[0] not in below(rest):
                found.append((monomial[0], factor, rest))
    return sorted(found, key=lambda row: row[0].order)


def _factors(row: Terms, fact: Terms) -> list[Terms]:
    """Multipliers, never negative, that make a term of `fact` cancel a term of `row`."""
    found: dict[tuple[tuple[Order, ...], int], Terms] = {}
    for monomial, coefficient in row.items():
        for other, unit in fact.items():
            if not other or coefficient * unit <= 0 or coefficient % unit:
                continue
            left = quotient(monomial, other)
            if left is not None and all(atom.lower >= 0 for atom in left):
                found[tuple(atom.order for atom in left), coefficient // unit] = {left: coefficient // unit}
    return [found[key] for key in sorted(found)]


@lru_cache(maxsize=256)
def facts_of(constraints: tuple[Constraint, ...]) -> Facts:
    return Facts(constraints)
