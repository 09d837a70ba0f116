"""Which symbols the axes of a call's arrays have.

In: what was declared per argument (`dims=`), and the sizes of one call. Out: a shape per argument, and the size of each symbol. Law: axes that nothing is
declared of get a symbol each; symbols that the program needs to be equal become one (`join`). An axis of size 1 has the size 1, because it may
broadcast. A later call to which that does not apply gets shapes of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..dims import LARGEST_SIZE, Dim, Size, SizeExpr, evaluate, parse_size, symbols
from ..errors import CallError, GraphError, shown

Bounds = Mapping[str, tuple[int, int]]


class Declared:
    """What `dims=` and `bounds=` say. `dims` is "auto", "fixed", or a mapping from arguments to shapes."""

    def __init__(self, function: str, dims: Any, bounds: Bounds | None) -> None:
        if dims not in ("auto", "fixed") and not isinstance(dims, Mapping):
            raise GraphError(f"{function}: dims must be 'auto', 'fixed' or a dict such as {{'x': ('N', 784)}}, got {shown(dims)}")
        self.function = function
        self.dims = dims
        self.bounds = dict(bounds or {})
        self._symbols: dict[str, Dim] = {}
        for dim in _dims_in(dims):
            self._declare(dim)

    def symbol(self, name: str) -> Dim:
        dim = self._symbols.get(name)
        if dim is None:
            lower, upper = self.bounds.get(name, (0, LARGEST_SIZE))
            dim = self._symbols[name] = Dim(name, lower, upper)
        return dim

    def _declare(self, dim: Dim) -> Dim:
        known = self._symbols.setdefault(dim.name, dim)
        if known != dim:
            raise GraphError(f"{self.function}: dims: {dim.name} is declared as {known!r} and as {dim!r}; give both the same bounds")
        return dim

    def of(self, arguments: Mapping[str, Any], paths: Sequence[str], ranks: Sequence[int]) -> list[tuple[Size | None, ...]]:
        """For each leaf its declared axes, None for those of which nothing is said."""
        if not isinstance(self.dims, Mapping):
            return [(None,) * rank for rank in ranks]
        unknown = [name for name in self.dims if name not in arguments]
        if unknown:
            raise GraphError(
                f"{self.function}: dims names {shown(unknown[0])}, and the arrays are {', '.join(map(repr, arguments)) or 'none'}"
            )
        found: dict[str, Any] = {}
        for name, value in arguments.items():
            _pair(self.function, value, self.dims.get(name), name, found)
        return [self._shape(path, found.get(path), rank) for path, rank in zip(paths, ranks, strict=True)]

    def _shape(self, path: str, given: Any, rank: int) -> tuple[Size | None, ...]:
        if given is None:
            return (None,) * rank
        if isinstance(given, Mapping) or not isinstance(given, (str, int, Dim, SizeExpr, Sequence)):
            raise GraphError(f"{self.function}: dims of {path}: expected a shape such as ('N', 784), got {shown(given)}")
        axes = (given,) if isinstance(given, (str, int, Dim, SizeExpr)) else tuple(given)
        if Ellipsis in axes:
            at = axes.index(Ellipsis)
            axes = (*axes[:at], *[None] * (rank - len(axes) + 1), *axes[at + 1 :])
        if len(axes) != rank:
            raise CallError(f"{self.function}: argument {path} has {rank} axes, and dims declares {len(axes)}: {shown(given)}")
        return tuple(self.size(path, i, axis) for i, axis in enumerate(axes))

    def size(self, path: str, axis: int, size: Any) -> Size | None:
        if isinstance(size, str):
            return parse_size(size, {name: self.symbol(name) for name in re.findall(r"[^\W\d]\w*", size) if name not in ("min", "max")})
        if isinstance(size, Dim):
            return self._declare(size)
        if size is None or isinstance(size, SizeExpr) or (isinstance(size, int) and not isinstance(size, bool)):
            return size
        raise GraphError(
            f"{self.function}: dims of {path}, axis {axis}: expected a name, an int, a Dim, a text such as 'N + 1', or None, got {shown(size)}"
        )


def _dims_in(value: Any) -> Iterator[Dim]:
    """The Dims in what was declared, before names are read that may mean them."""
    if isinstance(value, (Dim, SizeExpr)):
        yield from symbols(value)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _dims_in(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _dims_in(part)


def _pair(function: str, value: Any, declared: Any, path: str, found: dict[str, Any]) -> None:
    """Declared shapes by the way to the leaf that each is of."""
    if declared is None or value is None:
        return
    if isinstance(value, dict):
        if not isinstance(declared, Mapping) or set(declared) - set(value):
            raise GraphError(f"{function}: dims of {path}: expected a dict with keys of {shown(list(value))}, got {shown(declared)}")
        for name, part in value.items():
            _pair(function, part, declared.get(name), f"{path}[{name!r}]", found)
    elif isinstance(value, (list, tuple)):
        if not isinstance(declared, Sequence) or isinstance(declared, str) or len(declared) != len(value):
            raise GraphError(f"{function}: dims of {path}: expected a shape for each of {len(value)} parts, got {shown(declared)}")
        fields = getattr(value, "_fields", None)
        for i, (part, one) in enumerate(zip(value, declared, strict=True)):
            _pair(function, part, one, f"{path}.{fields[i]}" if fields else f"{path}[{i}]", found)
    else:
        found[path] = declared


def bind(function: str, paths: Sequence[str], declared: Sequence[Sequence[Size | None]], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    """The sizes of declared symbols in a call; CallError where an axis does not fit."""
    sizes: dict[str, int] = {}
    origin: dict[str, str] = {}
    for path, axes, shape in zip(paths, declared, shapes, strict=True):
        for i, (size, got) in enumerate(zip(axes, shape, strict=True)):
            where = f"{function}: argument {path}, axis {i}"
            if isinstance(size, int) and size != got:
                raise CallError(f"{where}: expected {size}, got {got} (shape {tuple(shape)})")
            if isinstance(size, Dim):
                known = sizes.setdefault(size.name, got)
                if known != got:
                    raise CallError(
                        f"{where}: expected {known}, since {size.name} is {known} in {origin[size.name]}, got {got} (shape {tuple(shape)})"
                    )
                if not size.lower <= got <= size.upper:
                    raise CallError(f"{where}: expected {size.name} in {size.lower}..{size.upper}, got {got} (shape {tuple(shape)})")
                origin.setdefault(size.name, f"argument {path}, axis {i}")
    for path, axes, shape in zip(paths, declared, shapes, strict=True):
        for i, (size, got) in enumerate(zip(axes, shape, strict=True)):
            if isinstance(size, SizeExpr):
                missing = [d.name for d in symbols(size) if d.name not in sizes]
                if missing:
                    raise CallError(
                        f"{function}: argument {path}, axis {i} is declared as {size}, and no axis is {missing[0]} itself; declare one that is"
                    )
                if evaluate(size, sizes) != got:
                    raise CallError(
                        f"{function}: argument {path}, axis {i}: expected {size} = {evaluate(size, sizes)}, got {got} (shape {tuple(shape)})"
                    )
    return sizes


def complete(
    names: Sequence[str],
    declared: Sequence[Sequence[Size | None]],
    shapes: Sequence[Sequence[int | None]],
    sizes: dict[str, int],
    taken: set[str],
) -> list[tuple[Size, ...]]:
    """A shape for each leaf, with a symbol of its own for each axis of which nothing is declared, but for those of size 1; the sizes of new
    symbols, where they are known, are added to `sizes`."""
    out: list[tuple[Size, ...]] = []
    for name, axes, shape in zip(names, declared, shapes, strict=True):
        whole: list[Size] = []
        for i, (size, got) in enumerate(zip(axes, shape, strict=True)):
            if size is None and got == 1:
                size = 1
            elif size is None:
                symbol = f"{name}_{i}"
                while symbol in taken:
                    symbol += "_"
                taken.add(symbol)
                if got is not None:
                    sizes[symbol] = got
                size = Dim(symbol, 0, LARGEST_SIZE)
            whole.append(size)
        out.append(tuple(whole))
    return out


def join(shapes: Sequence[tuple[Size, ...]], pairs: Iterable[tuple[Size, Size]]) -> list[tuple[Size, ...]]:
    """The shapes with one symbol, the first, or one int for each set of sizes that are to be equal."""
    stands_for: dict[Size, Size] = {}

    def root(size: Size) -> Size:
        while size in stands_for:
            size = stands_for[size]
        return size

    order = {size: i for i, size in enumerate(dict.fromkeys(s for shape in shapes for s in shape))}
    for pair in pairs:
        a, b = sorted(map(root, pair), key=lambda size: -1 if isinstance(size, int) else order.get(size, len(order)))
        if a != b and not isinstance(b, int):
            stands_for[b] = a
    return [tuple(map(root, shape)) for shape in shapes]


def alike(shapes: Sequence[tuple[Size, ...]], sizes: Mapping[str, int]) -> list[tuple[Size, Size]]:
    """The pairs of symbols that have the same size in this call."""
    first: dict[int, Size] = {}
    symbolic = [size for shape in shapes for size in shape if isinstance(size, Dim) and size.name in sizes]
    return [(first.setdefault(sizes[size.name], size), size) for size in symbolic]
