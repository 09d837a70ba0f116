"""`Dim`, and sizes computed from dims: what the shape of a tensor is made of.

In: names with bounds, and Python's arithmetic on them. Out: a `Size`: an `int`, a `Dim`, or a `SizeExpr`,
whichever is the simplest that says the same. Law: values in canonical form are equal (`==`) exactly when they are
written the same, so `N + M - N` is the dim `M` itself; whether two different sizes agree is asked with `equal`.

    size ::= int | Dim | SizeExpr          SizeExpr ::= sum of coefficient * product of atoms
    atom ::= Dim | sum // sum | min(sum, ...) | max(sum, ...)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import index
from typing import Any, TypeAlias, cast

from ..errors import GraphError, shown
from .printing import Notation, Printer
from .ranges import Range, range_of
from .rules import extreme, floor_div, floor_mod
from .terms import Atom, Extreme, ExtremeKind, FloorDiv, Order, Terms, add, as_constant, below, constant, multiply, scale

LARGEST_SIZE = 2**31 - 1
"""The greatest size an axis may have, and the greatest `upper` of a dim."""

_PRODUCT_LIMIT = 250_000


class Arithmetic:
    """The operators of dims and sizes; `//` and `%` round down and need a divisor that is at least 1 within the bounds."""

    __slots__ = ()
    __array_ufunc__ = None  # a NumPy integer on the left leaves the operation to us

    def _terms(self) -> Terms:
        raise NotImplementedError

    def __add__(self, other: object) -> Size:
        more = _operand(other)
        return NotImplemented if more is None else wrap(add(self._terms(), more))

    def __radd__(self, other: object) -> Size:
        return self.__add__(other)

    def __sub__(self, other: object) -> Size:
        more = _operand(other)
        return NotImplemented if more is None else wrap(add(self._terms(), more, -1))

    def __rsub__(self, other: object) -> Size:
        more = _operand(other)
        return NotImplemented if more is None else wrap(add(more, self._terms(), -1))

    def __neg__(self) -> Size:
        return wrap(scale(self._terms(), -1))

    def __pos__(self) -> Size:
        return wrap(self._terms())

    def __mul__(self, other: object) -> Size:
        more = _operand(other)
        return NotImplemented if more is None else _product(self._terms(), more)

    def __rmul__(self, other: object) -> Size:
        return self.__mul__(other)

    def __pow__(self, power: object) -> Size:
        if type(power) is not int:
            return NotImplemented
        if not 0 <= power <= 64:
            raise GraphError(f"{self} ** {power}: the power of a size is an int within 0..64")
        result: Size = 1
        for _ in range(power):
            result = result * self
        return result

    def __floordiv__(self, other: object) -> Size:
        return cast(Size, _divided(self, other, "//", floor_div))

    def __rfloordiv__(self, other: object) -> Size:
        return cast(Size, _divided(other, self, "//", floor_div))

    def __mod__(self, other: object) -> Size:
        return cast(Size, _divided(self, other, "%", floor_mod))

    def __rmod__(self, other: object) -> Size:
        return cast(Size, _divided(other, self, "%", floor_mod))

    def __divmod__(self, other: object) -> tuple[Size, Size]:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> tuple[Size, Size]:
        return self.__rfloordiv__(other), self.__rmod__(other)

    def __le__(self, other: object) -> bool:
        return _compared(self, other, "<=", self, other)

    def __ge__(self, other: object) -> bool:
        return _compared(self, other, ">=", other, self)

    def __lt__(self, other: object) -> bool:
        return not _compared(self, other, "<", other, self)

    def __gt__(self, other: object) -> bool:
        return not _compared(self, other, ">", self, other)


@dataclass(frozen=True, slots=True, repr=False)
class Dim(Arithmetic, Atom):
    """A symbolic dimension: any size within `lower`..`upper`, the same one wherever the name stands.

    Compared by value: one name with two different bounds makes two different dims, and a graph refuses to have both.
    """

    name: str
    lower: int = 1
    upper: int = 4096

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise GraphError(f"Dim: expected a name that is a str, got {shown(self.name)} ({type(self.name).__name__})")
        if not self.name.isidentifier():
            raise GraphError(f"Dim {shown(self.name)}: expected a name that is an identifier (letters, digits and _, no digit first)")
        for which, bound in (("lower", self.lower), ("upper", self.upper)):
            if isinstance(bound, bool) or not isinstance(bound, int):
                raise GraphError(f"Dim {shown(self.name)}: expected {which} to be an int, got {shown(bound)} ({type(bound).__name__})")
        if self.lower < 0:
            raise GraphError(f"Dim {shown(self.name)}: expected lower >= 0, got {shown(self.lower)}")
        if self.upper > LARGEST_SIZE:
            raise GraphError(f"Dim {shown(self.name)}: expected upper < 2**31, got {shown(self.upper)}")
        if self.lower > self.upper:
            raise GraphError(
                f"Dim {shown(self.name)}: expected lower <= upper, got lower {shown(self.lower)} and upper {shown(self.upper)}"
            )

    @property
    def order(self) -> Order:
        return (0, self.name, self.lower, self.upper)

    def _terms(self) -> Terms:
        return {(self,): 1}

    def __repr__(self) -> str:
        return f"Dim({self.name!r}, {self.lower}, {self.upper})"

    def __str__(self) -> str:
        return self.name

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: object) -> Dim:
        return self


class SizeExpr(Arithmetic):
    """A size computed from dims: neither an int nor a single dim. Built by arithmetic, never by hand."""

    __slots__ = ("_hash", "_polynomial", "_range", "_text")

    def __init__(self, polynomial: Terms) -> None:
        self._polynomial = polynomial
        self._hash: int | None = None
        self._range: Range | None = None
        self._text: str | None = None

    def _terms(self) -> Terms:
        return self._polynomial

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, SizeExpr) and hash(self) == hash(other) and self._polynomial == other._polynomial

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._polynomial.items()))
        return self._hash

    def __str__(self) -> str:
        if self._text is None:
            self._text = Printer(Notation(str)).show(self._polynomial)[0]
        return self._text

    def __repr__(self) -> str:
        return f"<size {self}>"

    def __copy__(self) -> SizeExpr:
        return self

    def __deepcopy__(self, memo: object) -> SizeExpr:
        return self

    def __reduce__(self) -> tuple[Callable[[Any, Any], SizeExpr], tuple[Any, Any]]:
        # A flat list, since pickle would recurse once per level of nesting.
        atoms = below(self._polynomial)
        place = {atom: position for position, atom in enumerate(atoms)}

        def flat(terms: Terms) -> tuple[tuple[int, tuple[int, ...]], ...]:
            return tuple((c, tuple(place[atom] for atom in m)) for m, c in terms.items())

        rows: list[Any] = []
        for atom in atoms:
            kind = atom.kind if isinstance(atom, Extreme) else "//"
            rows.append((kind, atom.lower, atom.upper, tuple(map(flat, atom.parts))) if atom.parts else atom)
        return _unpickle, (tuple(rows), flat(self._polynomial))


Size: TypeAlias = int | Dim | SizeExpr


def _unpickle(rows: Any, root: Any) -> SizeExpr:
    atoms: list[Atom] = []

    def terms(flat: Any) -> Terms:
        return {tuple(atoms[position] for position in places): c for c, places in flat}

    for row in rows:
        if isinstance(row, Dim):
            atoms.append(row)
            continue
        kind, lower, upper, parts = row
        polynomials = [terms(part) for part in parts]
        atoms.append(FloorDiv(polynomials[0], polynomials[1], lower, upper) if kind == "//" else Extreme(kind, polynomials, lower, upper))
    return SizeExpr(terms(root))


def wrap(terms: Terms) -> Size:
    """The simplest size that `terms` is."""
    if len(terms) <= 1:
        for monomial, coefficient in terms.items():
            if not monomial:
                return coefficient
            if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Dim):
                return monomial[0]
            return SizeExpr(terms)
        return 0
    return SizeExpr(terms)


def _operand(value: object) -> Terms | None:
    """The polynomial of an operand; None for what is no size (a bool, a float, ...)."""
    if isinstance(value, Arithmetic):
        return value._terms()
    if type(value) is int:
        return {(): value} if value else {}
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    return constant(index(value))


def terms_of(size: object) -> Terms:
    """The polynomial of a size; a `GraphError` for anything else."""
    terms = _operand(size)
    if terms is None:
        raise GraphError(f"expected a size (an int, a Dim or arithmetic on them), got {shown(size)} ({type(size).__name__})")
    return terms


def _product(a: Terms, b: Terms) -> Size:
    if len(a) * len(b) > _PRODUCT_LIMIT:
        raise GraphError(
            f"the product of two sizes of {len(a)} and {len(b)} terms is too long; multiply at most {_PRODUCT_LIMIT} pairs of terms"
        )
    return wrap(multiply(a, b))


def _divided(left: object, right: object, sign: str, rule: Callable[[Terms, Terms], Terms]) -> Any:
    num, den = _operand(left), _operand(right)
    if num is None or den is None:
        return NotImplemented
    divisor = as_constant(den)
    low = divisor if divisor is not None else range_of(den)[0]
    if low < 1:
        is_known = "it is" if divisor is not None else f"with the declared bounds {right} can be"
        raise GraphError(f"({left}) {sign} ({right}): expected a divisor that is at least 1, but {is_known} {low}")
    return wrap(rule(num, den))


def _compared(left: object, right: object, sign: str, less: object, more: object) -> bool:
    """Whether less <= more, where the bounds decide it."""
    a, b = _operand(less), _operand(more)
    if a is None or b is None:
        raise TypeError(f"'{sign}' not supported between instances of {type(left).__name__!r} and {type(right).__name__!r}")
    low, high = range_of(add(b, a, -1))
    if low < 0 <= high:
        raise GraphError(
            f"{left} {sign} {right} depends on the sizes of a call, so Python cannot decide it while the graph is built; "
            f"declare tighter bounds, or use dims.minimum, dims.maximum or dims.at_most"
        )
    return low >= 0


def extreme_of(kind: ExtremeKind, sizes: tuple[Size, ...]) -> Size:
    if not sizes:
        raise GraphError(f"{kind}imum: expected at least one size")
    return wrap(extreme(kind, map(terms_of, sizes)))


def minimum(*sizes: Size) -> Size:
    """The least of the sizes."""
    return extreme_of("min", sizes)


def maximum(*sizes: Size) -> Size:
    """The greatest of the sizes."""
    return extreme_of("max", sizes)


def bounds(size: Size) -> Range:
    """(lo, hi): every value of `size` within the bounds of its dims lies in lo..hi. Not always the narrowest such interval."""
    if type(size) is int:
        return size, size
    if isinstance(size, Dim):
        return size.lower, size.upper
    if isinstance(size, SizeExpr):
        if size._range is None:
            size._range = range_of(size._polynomial)
        return size._range
    value = as_constant(terms_of(size))
    assert value is not None
    return value, value


def total(sizes: Iterable[Size]) -> Size:
    """The sum of many sizes, in one pass."""
    result: Terms = {}
    for size in sizes:
        for monomial, coefficient in terms_of(size).items():
            value = result.get(monomial, 0) + coefficient
            if value:
                result[monomial] = value
            else:
                result.pop(monomial, None)
    return wrap(result)
