"""Integer polynomials over atoms: what every size is made of.

In: atoms (dims, floor divisions, minima and maxima) and integers. Out: `Terms`, a dictionary from
monomials to coefficients. Laws: no coefficient is 0; `()` is the constant's monomial; the atoms of a
monomial are sorted, a power is a repetition; nobody changes a dictionary that was handed out. So two
polynomials are the same exactly when their dictionaries are equal.

An atom is compared by its digest, which covers all that lies below it. Comparing, hashing and sorting
are therefore flat, however deep a size is nested.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from math import gcd
from typing import Literal

Order = tuple[int, str, int, int]
ExtremeKind = Literal["min", "max"]


class Atom:
    """Something that a polynomial treats as a variable. `lower` and `upper` hold for every size of the dims in it."""

    __slots__ = ()
    lower: int
    upper: int

    @property
    def order(self) -> Order:
        """A total order that depends on content alone, so that no result depends on hash seeds."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[Terms, ...]:
        """The polynomials inside; none for a dim."""
        return ()


Monomial = tuple[Atom, ...]
Terms = dict[Monomial, int]


class _Compound(Atom):
    __slots__ = ("_hash", "_order", "lower", "upper")
    _order: Order
    _hash: int

    @property
    def order(self) -> Order:
        return self._order

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Compound) and self._order == other._order)

    def __hash__(self) -> int:
        return self._hash

    def _seal(self, rank: int, parts: Iterable[str]) -> None:
        digest = blake2b("|".join(parts).encode(), digest_size=16).hexdigest()
        self._order = (rank, digest, 0, 0)
        self._hash = hash((rank, int(digest[:15], 16)))


class FloorDiv(_Compound):
    """`num // den` that no rule simplified; `den` is at least 1 for every size."""

    __slots__ = ("den", "num")

    def __init__(self, num: Terms, den: Terms, lower: int, upper: int) -> None:
        self.num, self.den, self.lower, self.upper = num, den, lower, upper
        self._seal(1, ("div", describe(num), describe(den)))

    @property
    def parts(self) -> tuple[Terms, ...]:
        return (self.num, self.den)


class Extreme(_Compound):
    """The least or the greatest of two or more polynomials, none of which is known to lose always."""

    __slots__ = ("args", "kind")

    def __init__(self, kind: ExtremeKind, args: Iterable[Terms], lower: int, upper: int) -> None:
        self.kind: ExtremeKind = kind
        self.lower, self.upper = lower, upper
        described = sorted(((describe(arg), arg) for arg in args), key=lambda pair: pair[0])
        self.args = tuple(arg for _, arg in described)
        self._seal(2, (kind, *(text for text, _ in described)))

    @property
    def parts(self) -> tuple[Terms, ...]:
        return self.args


def describe(terms: Terms) -> str:
    """A text that is the same exactly for equal polynomials (not meant for people)."""
    return ";".join(sorted(f"{c}*" + "*".join(":".join(map(str, atom.order)) for atom in m) for m, c in terms.items()))


def constant(value: int) -> Terms:
    return {(): value} if value else {}


def as_constant(terms: Terms) -> int | None:
    """The integer that `terms` is, or None if it has an atom."""
    if not terms:
        return 0
    return terms.get(()) if len(terms) == 1 else None


def add_into(total: Terms, more: Terms, factor: int = 1) -> None:
    """total += factor * more, in place: for dictionaries that the caller has just made."""
    for monomial, coefficient in more.items():
        value = total.get(monomial, 0) + factor * coefficient
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)


def add(a: Terms, b: Terms, factor: int = 1) -> Terms:
    """a + factor * b"""
    total = dict(a)
    add_into(total, b, factor)
    return total


def scale(terms: Terms, factor: int) -> Terms:
    return {monomial: coefficient * factor for monomial, coefficient in terms.items()} if factor else {}


def join(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    return tuple(sorted(a + b, key=lambda atom: atom.order))


def multiply(a: Terms, b: Terms) -> Terms:
    for one, other in ((a, b), (b, a)):
        value = as_constant(one)
        if value is not None:
            return scale(other, value)
    product: Terms = {}
    for monomial_a, coefficient_a in a.items():
        for monomial_b, coefficient_b in b.items():
            monomial = join(monomial_a, monomial_b)
            product[monomial] = product.get(monomial, 0) + coefficient_a * coefficient_b
    return {monomial: coefficient for monomial, coefficient in product.items() if coefficient}


def quotient(a: Monomial, b: Monomial) -> Monomial | None:
    """a / b where every atom of b is in a, otherwise None."""
    left = list(a)
    for atom in b:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _leading_key(monomial: Monomial) -> tuple[int, tuple[Order, ...]]:
    return (-len(monomial), tuple(atom.order for atom in monomial))


DIVISION_LIMIT = 4096
"""Products of term counts above this are not divided; the result is then a plain floor division, which is correct too."""


def divide(a: Terms, b: Terms) -> tuple[Terms, Terms]:
    """(q, r) with a = q * b + r, no term of r divisible by b's leading term. Integer coefficients throughout."""
    if not b or len(a) * len(b) > DIVISION_LIMIT:
        return {}, dict(a)
    leading = min(b, key=_leading_key)
    head = b[leading]
    whole: Terms = {}
    rest: Terms = {}
    work = dict(a)
    while work:
        # Greatest first: what a step adds is smaller, so every monomial is looked at once.
        monomial = min(work, key=_leading_key)
        factor = quotient(monomial, leading)
        if factor is None or work[monomial] % head:
            rest[monomial] = work.pop(monomial)
            continue
        step = {factor: work[monomial] // head}
        add_into(whole, step)
        add_into(work, multiply(step, b), -1)
    return whole, rest


def content(terms: Terms, start: int = 0) -> int:
    """The greatest common divisor of `start` and all coefficients but the constant's."""
    for monomial, coefficient in terms.items():
        if monomial:
            start = gcd(start, coefficient)
    return start


def split_on(terms: Terms, atom: Atom) -> tuple[Terms, Terms] | None:
    """(A, B) with terms = A * atom + B and neither containing atom at top level; None if atom occurs with a power."""
    inside: Terms = {}
    outside: Terms = {}
    for monomial, coefficient in terms.items():
        times = monomial.count(atom)
        if times == 0:
            outside[monomial] = coefficient
        elif times == 1:
            inside[tuple(other for other in monomial if other != atom)] = coefficient
        else:
            return None
    return inside, outside


def atoms_of(terms: Terms) -> list[Atom]:
    """The distinct atoms of `terms`, without those inside them, sorted."""
    return sorted({atom for monomial in terms for atom in monomial}, key=lambda atom: atom.order)


def below(*roots: Terms) -> list[Atom]:
    """Every distinct atom in or under `roots`, each after the atoms it is made of. No recursion: nesting has no limit."""
    done: dict[Atom, None] = {}
    stack: list[tuple[Atom, bool]] = [(atom, False) for root in reversed(roots) for atom in reversed(atoms_of(root))]
    while stack:
        atom, ready = stack.pop()
        if atom in done:
            continue
        if ready or not atom.parts:
            done[atom] = None
            continue
        stack.append((atom, True))
        for part in reversed(atom.parts):
            stack.extend((inner, False) for inner in reversed(atoms_of(part)) if inner not in done)
    return list(done)


def substitute(terms: Terms, values: dict[Atom, Terms]) -> Terms:
    """`terms` with its own atoms replaced; atoms that `values` lacks stay."""
    total: Terms = {}
    for monomial, coefficient in terms.items():
        product: Terms = {(): coefficient}
        for atom in monomial:
            product = multiply(product, values.get(atom, {(atom,): 1}))
        add_into(total, product)
    return total
