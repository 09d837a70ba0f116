"""Questions about sizes -> True, False or None.

True and False hold for every size within the bounds of the dims (and every size that keeps the constraints);
None says that it depends on the sizes, or that no proof was found. Laws: an answer is never wrong; it does not change from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from math import gcd, prod

from ..errors import GraphError
from .constraints import Constraint
from .evaluate import collect_dims, compile_sizes
from .facts import facts_of, rebuild
from .ranges import range_of
from .rules import floor_mod
from .size import Size, bounds, terms_of, wrap
from .terms import FloorDiv, Terms, add, as_constant, constant, content, describe, scale

_ENUMERATED = 256  # as many combinations of sizes are simply tried out
_PARTS = 32  # N//k + (N+1)//k + ... + (N+k-1)//k is known to be N up to this k


def equal(a: Size, b: Size, constraints: Iterable[Constraint] = ()) -> bool | None:
    """Whether a and b are the same for all sizes (True), for none (False)."""
    if type(a) is int and type(b) is int:
        return a == b
    gap = add(terms_of(a), terms_of(b), -1)
    given = tuple(constraints)
    found = _is_zero(gap)
    if found is None:
        deep = _thorough(gap)
        found = _is_zero(deep)
        if found is None and given:
            facts = facts_of(given)
            deep = _thorough(facts.apply(gap))
            found = _is_zero(deep)
            if found is None:
                above, under = facts.proves_not_negative(deep), facts.proves_not_negative(scale(deep, -1))
                if above and under:
                    return True
                one = constant(1)
                if above and facts.proves_not_negative(add(deep, one, -1)):
                    return False
                if under and facts.proves_not_negative(add(scale(deep, -1), one, -1)):
                    return False
    return _tried_out(gap, given, lambda value: value == 0) if found is None else found


def at_most(a: Size, b: Size, constraints: Iterable[Constraint] = ()) -> bool | None:
    """Whether a <= b for all sizes (True), for none (False)."""
    if type(a) is int and type(b) is int:
        return a <= b
    gap = add(terms_of(b), terms_of(a), -1)
    given = tuple(constraints)
    found = _is_not_negative(gap)
    if found is None:
        deep = _thorough(gap)
        found = _is_not_negative(deep)
        if found is None and given:
            facts = facts_of(given)
            deep = _thorough(facts.apply(gap))
            found = _is_not_negative(deep)
            if found is None:
                if facts.proves_not_negative(deep):
                    return True
                if facts.proves_not_negative(add(scale(deep, -1), constant(-1))):
                    return False
    return _tried_out(gap, given, lambda value: value >= 0) if found is None else found


def divides(k: Size, a: Size, constraints: Iterable[Constraint] = ()) -> bool | None:
    """Whether a is a multiple of k for all sizes (True), for none (False); k is at least 1."""
    if bounds(k)[0] < 1:
        raise GraphError(f"divides({k}, {a}): expected a divisor that is at least 1, but with the declared bounds it can be {bounds(k)[0]}")
    num, den = terms_of(a), terms_of(k)
    given = tuple(constraints)
    found = _is_multiple(num, den)
    if found is None and given:
        facts = facts_of(given)
        new_num, new_den = facts.apply(num), facts.apply(den)
        if range_of(new_den)[0] >= 1:
            found = _is_multiple(new_num, new_den)
    if found is None:
        found = _tried_out(terms_of(a % k), given, lambda value: value == 0)
    return found


def _is_zero(terms: Terms) -> bool | None:
    low, high = range_of(terms)
    if low > 0 or high < 0:
        return False
    if low == high:
        return True
    step = content(terms)
    return False if step and terms.get((), 0) % step else None


def _is_not_negative(terms: Terms) -> bool | None:
    low, high = range_of(terms)
    return True if low >= 0 else False if high < 0 else None


def _is_multiple(num: Terms, den: Terms) -> bool | None:
    left = _thorough(floor_mod(_thorough(num), den, thorough=True))
    k = as_constant(den)
    if k is not None:
        step = gcd(content(num), k)
        if num.get((), 0) % step:
            return False
    return _is_zero(left)


def _thorough(terms: Terms) -> Terms:
    """The form in which the most equal sizes look alike."""
    deep = rebuild(terms, {}, thorough=True)
    return terms if deep is None else _without_parts(deep)


def _without_parts(terms: Terms) -> Terms:
    """Sums of N//k, (N+1)//k, ..., (N+k-1)//k are N: what splitting an axis and joining the parts gives."""
    families: dict[tuple[str, int], dict[int, FloorDiv]] = {}
    for monomial in terms:
        atom = monomial[0] if len(monomial) == 1 else None
        if isinstance(atom, FloorDiv) and (k := as_constant(atom.den)) is not None and k <= _PARTS:
            linear = {m: c for m, c in atom.num.items() if m}
            families.setdefault((describe(linear), k), {})[atom.num.get((), 0)] = atom
    for (_, k), members in sorted(families.items()):
        if len(members) == k:
            factor = terms[(members[k - 1],)]
            terms = add(terms, {(atom,): 1 for atom in members.values()}, -factor)
            terms = add(terms, {m: c for m, c in members[0].num.items() if m}, factor)
    return terms


def _tried_out(terms: Terms, constraints: tuple[Constraint, ...], holds: Callable[[int], bool]) -> bool | None:
    """The answer by trying every size, where there are few."""
    size = wrap(terms)
    dims = collect_dims([[size], *((one.left, one.right) for one in constraints)])
    if prod(dim.upper - dim.lower + 1 for dim in dims.values()) > _ENUMERATED:
        return None
    function = compile_sizes([size], list(dims))
    found: bool | None = None
    for sizes in product(*(range(dim.lower, dim.upper + 1) for dim in dims.values())):
        if constraints and not all(one.holds(dict(zip(dims, sizes, strict=True))) for one in constraints):
            continue
        answer = holds(function(sizes)[0])
        if found is not None and found != answer:
            return None
        found = answer
    return found
