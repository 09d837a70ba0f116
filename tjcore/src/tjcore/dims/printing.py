"""Polynomial -> text, in Python's notation (which `parse_size` reads back) or in C's.

Law: equal polynomials have equal texts. `N - 8*(N//8)` is written as `N % 8`; positive terms come first,
powers before products before single dims, dims before divisions and extremes, the constant last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import GraphError
from .ranges import range_of
from .terms import Atom, Extreme, FloorDiv, Monomial, Order, Terms, add, as_constant, atoms_of, below, divide, multiply, scale, split_on

_TIGHT, _PRODUCT, _SUM = 0, 1, 2  # how strongly a text holds together
Text = tuple[str, int]

LENGTH_LIMIT = 100_000
"""Longer texts (extremes nested very deep) are replaced by `<size DIGEST>`, which cannot be read back, or refused in C."""


class Mod(Atom):
    """`num % den`, only while a polynomial is being printed."""

    __slots__ = ("_order", "den", "lower", "num", "upper")

    def __init__(self, division: FloorDiv) -> None:
        self.num, self.den = division.num, division.den
        self.lower, self.upper = 0, range_of(division.den)[1] - 1
        self._order = (3, division.order[1], 0, 0)

    @property
    def order(self) -> Order:
        return self._order

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mod) and self._order == other._order

    def __hash__(self) -> int:
        return hash(self._order)


@dataclass(frozen=True, slots=True)
class Notation:
    """What differs between the two languages."""

    name: Callable[[Atom], str]
    c: bool = False


class Printer:
    def __init__(self, notation: Notation) -> None:
        self.notation = notation
        self.texts: dict[Atom, Text] = {}
        self.sides: dict[Order, tuple[str, str]] = {}

    def show(self, *roots: Terms) -> list[str]:
        for atom in below(*roots):
            self.texts[atom] = self._atom(atom)
        return [self._sum(root)[0] for root in roots]

    def _atom(self, atom: Atom) -> Text:
        if isinstance(atom, FloorDiv):
            num, den = _held(self._sum(atom.num), _TIGHT), _held(self._sum(atom.den), _TIGHT)
            self.sides[atom.order] = (num, den)
            if not self.notation.c:
                text = f"{num}//{den}", _PRODUCT
            elif range_of(atom.num)[0] >= 0:
                text = f"{num} / {den}", _PRODUCT
            else:
                text = f"tj_floordiv({_bare(num)}, {_bare(den)})", _TIGHT
        elif isinstance(atom, Extreme):
            text = self._extreme(atom), _TIGHT
        else:
            return self.notation.name(atom), _TIGHT
        if len(text[0]) <= LENGTH_LIMIT:
            return text
        if self.notation.c:
            raise GraphError(
                f"a size is too long to be written as one C expression (over {LENGTH_LIMIT} characters); "
                f"evaluate it with compile_sizes and pass the number in"
            )
        return f"<size {atom.order[1]}>", _TIGHT

    def _extreme(self, atom: Extreme) -> str:
        args = sorted((as_constant(arg) is not None, self._sum(arg)[0]) for arg in atom.args)
        texts = [text for _, text in args]
        if not self.notation.c:
            return f"{atom.kind}({', '.join(texts)})"
        joined = texts[0]
        for text in texts[1:]:
            joined = f"tj_{atom.kind}({joined}, {text})"
        return joined

    def _mod(self, atom: Mod) -> Text:
        num, den = self.sides[(1, atom.order[1], 0, 0)]
        if self.notation.c and range_of(atom.num)[0] < 0:
            return f"tj_floormod({_bare(num)}, {_bare(den)})", _TIGHT
        return f"{num} % {den}", _PRODUCT

    def _sum(self, terms: Terms) -> Text:
        if not terms:
            return "0", _TIGHT
        rows = []
        for monomial, coefficient in with_mods(terms).items():
            text, level = self._term(monomial, abs(coefficient))
            compound = any(not _is_dim(atom) for atom in monomial)
            rows.append(((-len(monomial) or 1, compound, text), coefficient, text, level))
        rows.sort(key=lambda row: row[0])
        first = next((i for i, row in enumerate(rows) if row[1] > 0), 0)
        rows.insert(0, rows.pop(first))
        _, coefficient, text, level = rows[0]
        if coefficient < 0:
            # -N//4 would be (-N)//4
            text = "-" + (_held((text, level), _TIGHT) if coefficient == -1 else text)
            level = _SUM
        if len(rows) == 1:
            return text, level
        return text + "".join(f" {'-' if row[1] < 0 else '+'} {row[2]}" for row in rows[1:]), _SUM

    def _term(self, monomial: Monomial, coefficient: int) -> Text:
        if self.notation.c and coefficient >= 2**63:
            raise GraphError(f"a size has the constant {coefficient}, which does not fit into 64 bits")
        if not monomial:
            return str(coefficient), _TIGHT
        if len(monomial) == 1 and coefficient == 1:
            return self._factor(monomial[0])
        factors = [] if coefficient == 1 else [str(coefficient)]
        for atom in sorted(set(monomial), key=lambda one: (not _is_dim(one), self._factor(one), one.order)):
            held, power = _held(self._factor(atom), _TIGHT), monomial.count(atom)
            factors += [held] * power if self.notation.c or power == 1 else [f"{held}**{power}"]
        return "*".join(factors), _PRODUCT

    def _factor(self, atom: Atom) -> Text:
        return self._mod(atom) if isinstance(atom, Mod) else self.texts[atom]


def _is_dim(atom: Atom) -> bool:
    return not isinstance(atom, (FloorDiv, Extreme, Mod))


def _held(text: Text, level: int) -> str:
    return text[0] if text[1] <= level else f"({text[0]})"


def _bare(text: str) -> str:
    """Without the parentheses that `_held` put around a whole argument."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text


def with_mods(terms: Terms) -> Terms:
    """`terms` with `g*(x - k*(x//k))` written as `g*(x % k)` wherever that makes it shorter."""
    for atom in atoms_of(terms):
        if not isinstance(atom, FloorDiv):
            continue
        split = split_on(terms, atom)
        if split is None:
            continue
        factor, rest = split
        times, left = divide(scale(factor, -1), atom.den)
        k = as_constant(atom.den)
        if k is not None:
            times, left = ({m: -c // k for m, c in factor.items()}, {}) if all(c % k == 0 for c in factor.values()) else ({}, factor)
        if left or not times:
            continue
        remaining = add(rest, multiply(times, atom.num), -1)
        shorter = add(remaining, multiply(times, {(Mod(atom),): 1}))
        if len(shorter) < len(terms):
            terms = shorter
    return terms
