"""Polynomial -> an interval that contains its value for every size.

Law: sound always, exact for sums of different dims, tight where it is cheap. Three ways are intersected:
plain interval arithmetic; replacing a floor division or an extreme by what is known about it (so that
`N - 8*(N//8)` is within 0..7 and `N - min(N, M)` never negative); and moving every dim to its lower or
upper bound (so that `N*M - N` is never negative).
"""

from __future__ import annotations

from .terms import (
    Atom,
    Extreme,
    FloorDiv,
    Monomial,
    Terms,
    add,
    add_into,
    as_constant,
    atoms_of,
    constant,
    divide,
    multiply,
    scale,
    split_on,
)

Range = tuple[int, int]

_STEPS = 48  # replacements per question; questions about sizes are asked all the time while a graph is built
_TERMS = 48  # longer polynomials get plain interval arithmetic


def range_of(terms: Terms) -> Range:
    """(lo, hi) with lo <= value <= hi for all sizes of the dims within their bounds."""
    found = _plain(terms)
    if found[0] == found[1] or len(terms) > _TERMS or all(len(m) == 0 or (len(m) == 1 and not m[0].parts) for m in terms):
        return found
    return _refine(terms, [_STEPS])


def atom_range(num: Range, den: Range) -> Range:
    """The interval of num // den, for a den that is at least 1."""
    low = num[0] // (den[1] if num[0] >= 0 else den[0])
    high = num[1] // (den[0] if num[1] >= 0 else den[1])
    return low, high


def _plain(terms: Terms) -> Range:
    low = high = 0
    for monomial, coefficient in terms.items():
        a, b = _monomial_range(monomial)
        if coefficient < 0:
            a, b = b, a
        low += coefficient * a
        high += coefficient * b
    return low, high


def _monomial_range(monomial: Monomial) -> Range:
    if len(monomial) == 1:
        return monomial[0].lower, monomial[0].upper
    low = high = 1
    position = 0
    while position < len(monomial):
        atom = monomial[position]
        power = 1
        while position + power < len(monomial) and monomial[position + power] == atom:
            power += 1
        position += power
        ends = (atom.lower**power, atom.upper**power)
        a, b = min(ends), max(ends)
        if power % 2 == 0 and atom.lower <= 0 <= atom.upper:
            a = 0
        corners = (low * a, low * b, high * a, high * b)
        low, high = min(corners), max(corners)
    return low, high


def _meet(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), min(a[1], b[1])


def _refine(terms: Terms, steps: list[int]) -> Range:
    """Depth is bounded by `steps`, not by the nesting of the size."""
    found = _plain(terms)
    if found[0] == found[1] or len(terms) > _TERMS:
        return found
    compounds = [atom for atom in atoms_of(terms) if atom.parts]
    if not compounds:
        return _meet(found, _shifted(terms)) if any(len(m) > 1 for m in terms) else found
    for atom in reversed(compounds):
        if steps[0] <= 0:
            break
        steps[0] -= 1
        split = split_on(terms, atom)
        if split is None:
            continue
        without = _without_division if isinstance(atom, FloorDiv) else _without_extreme
        replaced = without(atom, *split, steps)
        if replaced is not None:
            # One atom per step: the polynomial that is left is refined in the same way.
            return _meet(found, replaced)
    return found


def _without_division(atom: Atom, factor: Terms, rest: Terms, steps: list[int]) -> Range | None:
    """terms = factor * (num // den) + rest, and den * (num // den) = num - e with 0 <= e <= den - 1."""
    assert isinstance(atom, FloorDiv)
    k = as_constant(atom.den)
    if k is not None:
        # k * terms = factor * num + k * rest - factor * e
        scaled = add(multiply(factor, atom.num), scale(rest, k))
        low, high = _refine(scaled, steps)
        below, above = _times(_plain(factor), (0, k - 1))
        return -((above - low) // k), (high - below) // k
    share, left = divide(factor, atom.den)
    if left or not share:
        return None
    # terms = share * (num - e) + rest is linear in e: its ends are at e = 0 and e = den - 1
    start = add(multiply(share, atom.num), rest)
    end = add(start, multiply(share, add(atom.den, constant(-1))), -1)
    ends = _refine(start, steps), _refine(end, steps)
    return min(low for low, _ in ends), max(high for _, high in ends)


def _without_extreme(atom: Atom, factor: Terms, rest: Terms, steps: list[int]) -> Range | None:
    """A factor of known sign turns `factor * min(...) + rest` into the min (or max) of `factor * arg + rest`."""
    assert isinstance(atom, Extreme)
    low, high = _plain(factor)
    if low < 0 < high:
        return None
    choose = min if (atom.kind == "min") == (low >= 0) else max
    branches = [_refine(add(multiply(factor, arg), rest), steps) for arg in atom.args]
    return choose(a for a, _ in branches), choose(b for _, b in branches)


def _times(a: Range, b: Range) -> Range:
    corners = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(corners), max(corners)


class _Offset(Atom):
    """How far a dim is from one of its bounds: 0..width."""

    __slots__ = ("_order", "lower", "upper")

    def __init__(self, index: int, width: int) -> None:
        self.lower, self.upper, self._order = 0, width, (3, "", index, 0)

    @property
    def order(self) -> tuple[int, str, int, int]:
        return self._order


def _shifted(terms: Terms) -> Range:
    """Intervals of the same polynomial written in the distances from all lower, and from all upper, bounds."""
    if max(len(m) for m in terms) > 4:
        return _plain(terms)
    atoms = atoms_of(terms)
    offsets = [_Offset(index, atom.upper - atom.lower) for index, atom in enumerate(atoms)]
    found = _plain(terms)
    for from_lower in (True, False):
        moved: dict[Atom, Terms] = {}
        for atom, offset in zip(atoms, offsets, strict=True):
            moved[atom] = {(offset,): 1, **constant(atom.lower)} if from_lower else {(offset,): -1, **constant(atom.upper)}
        total: Terms = {}
        for monomial, coefficient in terms.items():
            product: Terms = {(): coefficient}
            for atom in monomial:
                product = multiply(product, moved[atom])
            add_into(total, product)
        found = _meet(found, _plain(total))
    return found
