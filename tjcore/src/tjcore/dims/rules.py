"""Floor divisions, minima and maxima of polynomials -> polynomials in canonical form.

Law: what comes out has the same value for every size within the bounds, and building it again from its
own text gives the same thing. The rules keep the notation of the user where they can (`(3*N)//2` stays);
`thorough=True` gives that up for a form in which more equal sizes look alike, for proofs only.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from .ranges import atom_range, range_of
from .terms import (
    Atom,
    Extreme,
    ExtremeKind,
    FloorDiv,
    Terms,
    add,
    add_into,
    as_constant,
    constant,
    content,
    describe,
    divide,
    multiply,
    scale,
)

_PAIRS = 12  # extremes with more arguments are thinned out by their intervals alone
_FLAT = 32  # and with more than this, extremes inside extremes stay where they are


def floor_div(num: Terms, den: Terms, *, thorough: bool = False) -> Terms:
    """num // den, rounding down, for a den that the caller has proved to be at least 1."""
    result: Terms = {}
    sign = 1  # the value is result + sign * (num // den), step by step
    while True:
        k = as_constant(den)
        if k == 1:
            return add(result, num, sign)
        whole, num = _by_constant(num, k) if k is not None else _by_terms(num, den, thorough)
        add_into(result, whole, sign)
        value = as_constant(num)
        if not num or (k is not None and value is not None):
            return result  # what is left of a constant lies within 0..k-1
        num, den, reduced = _cancel(num, den)
        if reduced:
            continue
        merged = _merge(num, den)
        if merged is not None:
            num, den = merged
            continue
        fixed = _fixed(num, den)
        if fixed is not None:
            return add(result, constant(sign * fixed))
        if all(coefficient < 0 for monomial, coefficient in num.items() if monomial) and (value is None or value < 0):
            # (-a) // b = -1 - (a - 1) // b: rounding up is written with positive terms
            num = add(scale(num, -1), constant(-1))
            add_into(result, constant(-sign))
            sign = -sign
            continue
        if thorough and k is not None:
            reduced_num, whole, flipped = _residues(num, k)
            add_into(result, whole, sign)
            sign = -sign if flipped else sign
            if reduced_num != num:
                num = reduced_num  # other rules may fit now; the residue is a fixed point, so this ends
                continue
        atom = FloorDiv(num, den, *atom_range(range_of(num), range_of(den)))
        return add(result, {(atom,): 1}, sign)


def floor_mod(num: Terms, den: Terms, *, thorough: bool = False) -> Terms:
    return add(num, multiply(den, floor_div(num, den, thorough=thorough)), -1)


def _by_constant(num: Terms, k: int) -> tuple[Terms, Terms]:
    """Terms that k divides leave the division, and the constant comes within 0..k-1."""
    whole: Terms = {}
    rest: Terms = {}
    for monomial, coefficient in num.items():
        if not monomial or coefficient % k == 0:
            quotient, coefficient = divmod(coefficient, k)
            if quotient:
                whole[monomial] = quotient
        if coefficient:
            rest[monomial] = coefficient
    return whole, rest


def _by_terms(num: Terms, den: Terms, thorough: bool) -> tuple[Terms, Terms]:
    whole, rest = divide(num, den)
    # M // (M + N) is not improved by 1 + (-N) // (M + N)
    if thorough or len(den) == 1 or len(rest) < len(num):
        return whole, rest
    return {}, num


def _cancel(num: Terms, den: Terms) -> tuple[Terms, Terms, bool]:
    """Divides both sides by a common integer, or by a common atom that is never below 1."""
    factor = content(den, den.get((), 0))
    factor = content(num, factor)
    if factor > 1:
        num = {m: c // factor for m, c in num.items() if c // factor}
        return num, {m: c // factor for m, c in den.items()}, True
    if () not in den and num and () not in num:
        shared = [atom for atom in next(iter(den)) if atom.lower >= 1 and all(atom in m for m in den) and all(atom in m for m in num)]
        if shared:
            return _strip(num, shared[0]), _strip(den, shared[0]), True
    return num, den, False


def _strip(terms: Terms, atom: Atom) -> Terms:
    stripped: Terms = {}
    for monomial, coefficient in terms.items():
        left = list(monomial)
        left.remove(atom)
        stripped[tuple(left)] = coefficient
    return stripped


def _merge(num: Terms, den: Terms) -> tuple[Terms, Terms] | None:
    """(x//m + y) // k = (x + m*y) // (m*k): divisions inside divisions become one, however many there were."""
    inner = [m[0] for m, c in num.items() if len(m) == 1 and c == 1 and isinstance(m[0], FloorDiv)]
    if as_constant(den) is None:
        inner = inner if len(num) == 1 else []
    else:
        inner = [atom for atom in inner if len(num) == 1 or as_constant(atom.den) is not None]
    if not inner:
        return None
    atom = min(inner, key=lambda one: one.order)
    others = {m: c for m, c in num.items() if m != (atom,)}
    return add(atom.num, multiply(atom.den, others)), multiply(atom.den, den)


def _fixed(num: Terms, den: Terms) -> int | None:
    """The value of num // den if the bounds leave only one."""
    num_range, den_range = range_of(num), range_of(den)
    low, high = atom_range(num_range, den_range)
    if low == high:
        return low
    if as_constant(den) is None:
        if num_range[0] >= 0 and range_of(add(num, den, -1))[1] < 0:
            return 0
        if num_range[1] < 0 and range_of(add(num, den))[0] >= 0:
            return -1
    return None


def _residues(num: Terms, k: int) -> tuple[Terms, Terms, bool]:
    """num // k as whole + (or, flipped, minus) rest // k, where rest is one of the two residues of num modulo k, always the same one."""
    whole: Terms = {}
    rest: Terms = {}
    for monomial, coefficient in num.items():
        quotient, remainder = divmod(coefficient, k)
        if quotient:
            whole[monomial] = quotient
        if remainder:
            rest[monomial] = remainder
    # rest // k = -((-rest + k - 1) // k), and -c = (k - c) - k
    mirror: Terms = {m: k - c for m, c in rest.items() if m}
    mirrored_constant = k - 1 - rest.get((), 0)
    if mirrored_constant:
        mirror[()] = mirrored_constant
    if _residue_key(mirror) >= _residue_key(rest):
        return rest, whole, False
    add_into(whole, {m: 1 for m in rest if m})
    return mirror, whole, True


def _residue_key(terms: Terms) -> tuple[list[tuple[list[tuple[int, str, int, int]], int]], int]:
    return sorted(([atom.order for atom in m], c) for m, c in terms.items() if m), terms.get((), 0)


def extreme(kind: ExtremeKind, args: Iterable[Terms], *, thorough: bool = False) -> Terms:
    """The least (or greatest) of `args`, at least one."""
    left = _thin(kind, _flatten(kind, list(args)))
    if len(left) == 1:
        return left[0]
    if thorough:
        return _plain_minimum(kind, left)
    common = _common(left)
    if common:
        left = [add(arg, common, -1) for arg in left]
    return add(common, {(_atom(kind, left),): 1})


def _atom(kind: ExtremeKind, args: list[Terms]) -> Extreme:
    choose = min if kind == "min" else max
    ranges = [range_of(arg) for arg in args]
    return Extreme(kind, args, choose(a for a, _ in ranges), choose(b for _, b in ranges))


def _flatten(kind: ExtremeKind, args: list[Terms]) -> list[Terms]:
    if len(args) > _FLAT:
        return args
    flat: list[Terms] = []
    for arg in args:
        atom = next(iter(arg))[0] if len(arg) == 1 and len(next(iter(arg))) == 1 and next(iter(arg.values())) == 1 else None
        inner = atom.args if isinstance(atom, Extreme) and atom.kind == kind and len(atom.args) <= _FLAT else (arg,)
        flat.extend(inner)
    return flat


def _thin(kind: ExtremeKind, args: list[Terms]) -> list[Terms]:
    """Without doubles and without arguments that never decide, in an order that depends on content alone."""
    flip = 1 if kind == "min" else -1
    by_text = {describe(arg): arg for arg in args}
    left = [by_text[text] for text in sorted(by_text)]
    if len(left) > _PAIRS:
        ranges = [range_of(scale(arg, flip)) for arg in left]
        best = min(range(len(left)), key=lambda i: (ranges[i][1], i))
        return [arg for i, arg in enumerate(left) if i == best or ranges[i][0] < ranges[best][1]]
    kept: list[Terms] = []
    for arg in left:
        if any(range_of(scale(add(arg, other, -1), flip))[0] >= 0 for other in kept):
            continue
        kept = [other for other in kept if range_of(scale(add(other, arg, -1), flip))[0] < 0]
        kept.append(arg)
    return kept


def _common(args: list[Terms]) -> Terms:
    """What all arguments have as a summand."""
    first, *others = args
    return {m: c for m, c in first.items() if all(other.get(m, 0) == c for other in others)}


def _plain_minimum(kind: ExtremeKind, args: list[Terms]) -> Terms:
    """Minima only, translated and scaled to one representative."""
    if len(args) > 2:
        if kind == "max":
            return scale(_plain_minimum("min", [scale(arg, -1) for arg in args]), -1)
        common = _common(args)
        return add(common, {(_atom("min", [add(arg, common, -1) for arg in args]),): 1})
    a, b = args
    if kind == "max":  # max(a, b) = a + b - min(a, b)
        return add(add(a, b), _plain_minimum("min", args), -1)
    gap = add(a, b, -1)  # min(a, b) = b + min(gap, 0), and min(gap, 0) = gap + min(-gap, 0)
    outside = dict(b)
    if sorted(([x.order for x in m], c) for m, c in gap.items() if m)[0][1] < 0:
        add_into(outside, gap)
        gap = scale(gap, -1)
    factor = gcd(content(gap), gap.get((), 0))
    reduced = {m: c // factor for m, c in gap.items()}
    return add(outside, {(_atom("min", [reduced, {}]),): 1}, factor)
