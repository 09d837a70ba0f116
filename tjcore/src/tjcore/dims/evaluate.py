"""Sizes and the numbers of a call -> numbers.

`evaluate` is for one size; `compile_sizes` makes a Python function of many sizes, for the path of every call.
Laws: both give the same numbers; no size is nested too deep or too long for either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

from ..errors import CallError, GraphError
from .size import Dim, Size, SizeExpr, terms_of
from .terms import Atom, Extreme, FloorDiv, Terms, below

_CHUNK = 64  # summands per statement: Python's own compiler recurses over a long sum


def evaluate(size: Size, bindings: Mapping[str, int]) -> int:
    """The number that `size` is for these sizes of its dims. Bounds are not checked here."""
    if type(size) is int:
        return size
    terms = terms_of(size)
    atoms = below(terms)
    missing = [atom.name for atom in atoms if isinstance(atom, Dim) and atom.name not in bindings]
    if missing:
        raise CallError(f"{size}: no size given for {', '.join(sorted(missing))}; known are {', '.join(sorted(bindings)) or 'none'}")
    values: dict[Atom, int] = {}
    for atom in atoms:
        if isinstance(atom, Dim):
            values[atom] = int(bindings[atom.name])
        elif isinstance(atom, FloorDiv):
            divisor = _value(atom.den, values)
            if divisor == 0:
                raise CallError(f"{size}: a divisor is 0 for {', '.join(f'{n} = {bindings[n]}' for n in sorted(_names(atoms)))}")
            values[atom] = _value(atom.num, values) // divisor
        elif isinstance(atom, Extreme):
            values[atom] = (min if atom.kind == "min" else max)(_value(arg, values) for arg in atom.args)
    return _value(terms, values)


def _names(atoms: Iterable[Atom]) -> set[str]:
    return {atom.name for atom in atoms if isinstance(atom, Dim)}


def _value(terms: Terms, values: Mapping[Atom, int]) -> int:
    return sum(coefficient * prod(values[atom] for atom in monomial) for monomial, coefficient in terms.items())


def symbols(size: Size) -> tuple[Dim, ...]:
    """The dims in `size`, sorted by name."""
    if isinstance(size, Dim):
        return (size,)
    if not isinstance(size, SizeExpr):
        return ()
    return tuple(sorted((atom for atom in below(size._terms()) if isinstance(atom, Dim)), key=lambda dim: dim.order))


def collect_dims(shapes: Iterable[Iterable[Size]]) -> dict[str, Dim]:
    """The dims of all shapes by name, in the order of their first appearance; one name has one declaration, else a `GraphError`."""
    found: dict[str, Dim] = {}
    seen: set[SizeExpr] = set()
    for shape in shapes:
        for size in shape:
            if isinstance(size, int):
                continue
            if isinstance(size, SizeExpr):
                if size in seen:
                    continue
                seen.add(size)
            for dim in symbols(size):
                known = found.setdefault(dim.name, dim)
                if known != dim:
                    raise GraphError(
                        f"the dim {dim.name!r} is declared twice, as {known!r} and as {dim!r}; "
                        f"give one of them another name, or both the same bounds"
                    )
    return found


def compile_sizes(sizes: Iterable[Size], order: Sequence[str]) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """A function from the sizes of the dims named in `order` (Python ints, in that order) to the values of `sizes`."""
    wanted = list(sizes)
    if len(set(order)) != len(order):
        raise GraphError(f"compile_sizes: expected different names, got {', '.join(order)}")
    body = _Body({name: position for position, name in enumerate(order)})
    results = body.add(wanted)
    lines = ["def sizes_of(given):"]
    if order:
        lines.append(f"    {', '.join(f'd{i}' for i in range(len(order)))}, = given")
    lines += [f"    {line}" for line in body.lines]
    lines.append(f"    return ({''.join(result + ', ' for result in results)})")
    # The text has nothing of the user's in it: names are positions, all else is integers and operators.
    scope: dict[str, Any] = {"__builtins__": {"min": min, "max": max}}
    exec(compile("\n".join(lines), "<sizes>", "exec"), scope)  # noqa: S102
    function: Callable[[Sequence[int]], tuple[int, ...]] = scope["sizes_of"]
    return function


class _Body:
    """Statements that compute sizes, each distinct one once."""

    def __init__(self, positions: Mapping[str, int]) -> None:
        self.positions = positions
        self.lines: list[str] = []
        self.atoms: dict[Atom, str] = {}
        self.sizes: dict[Size, str] = {}

    def add(self, sizes: Sequence[Size]) -> list[str]:
        polynomials = [terms_of(size) for size in sizes]
        for atom in below(*polynomials):
            self.atoms[atom] = self._atom(atom)
        results = []
        for size, terms in zip(sizes, polynomials, strict=True):
            if size not in self.sizes:
                text = self._sum(terms)
                self.sizes[size] = text if text.isidentifier() or text.isdecimal() else self._assign(text)
            results.append(self.sizes[size])
        return results

    def _assign(self, text: str) -> str:
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, FloorDiv):
            return self._assign(f"({self._sum(atom.num)}) // ({self._sum(atom.den)})")
        if isinstance(atom, Extreme):
            return self._assign(f"{atom.kind}({', '.join(map(self._sum, atom.args))})")
        assert isinstance(atom, Dim)
        if atom.name not in self.positions:
            known = ", ".join(self.positions) or "none"
            raise GraphError(f"compile_sizes: no position given for the dim {atom.name!r}; the order names {known}")
        return f"d{self.positions[atom.name]}"

    def _sum(self, terms: Terms) -> str:
        texts = []
        for monomial, coefficient in terms.items():
            factors = [self.atoms[atom] for atom in monomial]
            if coefficient != 1 or not factors:
                factors.insert(0, str(coefficient) if coefficient >= 0 else f"({coefficient})")
            texts.append("*".join(factors))
        while len(texts) > _CHUNK:
            texts = [self._assign(" + ".join(texts[i : i + _CHUNK])) for i in range(0, len(texts), _CHUNK)]
        return " + ".join(texts) or "0"
