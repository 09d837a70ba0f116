"""`jit`: a Python function of arrays, traced and compiled at its first call, for every size.

In: a function. Out: a function with the same answers. Law: which code a call runs follows from its structure, its element types, its static
arguments, and what the traced program asked about sizes, never from which calls came before; one build serves every call that looks alike.
"""

from __future__ import annotations

import inspect
import itertools
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from types import MethodType
from typing import Any, NamedTuple, overload

import numpy as np

from ..dims import Dim, Size
from ..errors import CallError, GraphError, TraceError, shown
from ..graph import Expr
from .arguments import ArraySpec, accept, kind_of
from .context import Traced
from .shapes import Bounds, Declared, alike, bind, complete, join
from .stages import Compiled, Lowered, Program, Signature, trace
from .tree import paths, rebuild, take_apart

MAX_SHAPES = 4096
"""Of how many combinations of shapes it remembers which build serves them."""


_Found = tuple[Compiled, Mapping[str, int]]
"""What serves a call: a build, and the sizes of its symbols."""


class CacheInfo(NamedTuple):
    """How often a call found its code, and how often it had to be built; how many builds are kept at most, and now."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


class _Given(NamedTuple):
    """A call's arguments: what is traced, in order, each with its name, and what is static."""

    positional: tuple[Any, ...]
    keyword: dict[str, Any]
    statics: tuple[Any, ...]
    values: Mapping[int | str, Any]
    """The static ones."""


class _Variants:
    """The builds for one signature."""

    __slots__ = ("compiled", "lock")

    def __init__(self) -> None:
        self.compiled: tuple[Compiled, ...] = ()
        self.lock = threading.RLock()


class Jitted:
    """A function that is traced and compiled when it is called; made by `jit`."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        dims: Any = "auto",
        bounds: Bounds | None = None,
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (),
        cache_size: int = 256,
        options: Mapping[str, Any],
    ) -> None:
        if not callable(function):
            raise GraphError(f"jit: expected a function, got {shown(function)}")
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self._dims, self._bounds = dims, bounds
        Declared(self.name, dims, bounds)  # refused here if it says nothing
        self._options = dict(options)
        if isinstance(cache_size, bool) or not isinstance(cache_size, int) or cache_size < 1:
            raise GraphError(f"jit: cache_size must be an int of at least 1, got {shown(cache_size)}")
        self._cache_size = cache_size
        try:
            self._parameters = inspect.signature(function)
        except (TypeError, ValueError):  # a builtin that does not say
            self._parameters = inspect.Signature([inspect.Parameter("x", inspect.Parameter.VAR_POSITIONAL)])
        self._order = [p.name for p in self._parameters.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self._rest = next((p.name for p in self._parameters.parameters.values() if p.kind is p.VAR_POSITIONAL), "arguments")
        self._static_at, self._static_names = self._statics(static_argnums, static_argnames)
        self._lock = threading.Lock()
        self._programs: dict[Signature, _Variants] = {}
        self._found: dict[Any, _Found] = {}
        self._built: list[tuple[Signature, Compiled]] = []
        self._calls, self._builds = itertools.count(), 0
        update_wrapper(self, function, updated=())

    def _statics(self, argnums: int | Sequence[int], argnames: str | Sequence[str]) -> tuple[frozenset[int], frozenset[str]]:
        names = {argnames} if isinstance(argnames, str) else set(argnames)
        unknown = [n for n in names if n not in self._parameters.parameters]
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in self._parameters.parameters.values()):
            raise GraphError(
                f"{self.name}: static_argnames names {unknown[0]!r}, and the parameters are {', '.join(self._parameters.parameters)}"
            )
        places = {argnums} if isinstance(argnums, int) else set(argnums)
        places = {p + len(self._order) if p < 0 else p for p in places}
        names |= {self._order[p] for p in places if p < len(self._order)}
        return frozenset(places | {i for i, n in enumerate(self._order) if n in names}), frozenset(names)

    def __repr__(self) -> str:
        return f"<jit {self.name}, {len(self._built)} builds>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    # ------------------------------------------------------------ calls
    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        if not named and not self._static_at:  # a call of arrays and numbers alone is looked up without taking it apart
            looks = _looks(arguments)
            known = None if looks is None else self._found.get(looks)
            if known is not None:
                next(self._calls)
                return known[0].run(arguments, known[1])
        given = self._split(arguments, named)
        leaves, structure = take_apart((given.positional, given.keyword))
        key: Any = (structure, given.statics, looks) if (looks := _looks(leaves)) is not None else None
        known = self._found.get(key)
        if known is None:
            if any(isinstance(leaf, (Traced, Expr)) for leaf in leaves):
                return self.function(*arguments, **named)
            accepted = [accept(leaf, lambda i=i: (self.name, self._paths(given)[i])) for i, leaf in enumerate(leaves)]  # type: ignore[misc]
            leaves = [array for array, _ in accepted]
            signature = Signature(structure, given.statics, tuple([kind for _, kind in accepted]))
            shapes = tuple([array.shape for array in leaves])
            known = self._found.get((signature, shapes))
            if known is None:
                quick = [key] if key is not None else []
                quick += [looks] if not named and not self._static_at and (looks := _looks(arguments)) is not None else []
                known = self._find(given, signature, shapes, [(signature, shapes), *quick])
        next(self._calls)
        return known[0].run(leaves, known[1])

    def _split(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> _Given:
        if named:  # f(x, y=1) and f(x, 1) are one call
            try:
                bound = self._parameters.bind(*arguments, **named)
            except TypeError as error:
                raise TypeError(f"{self.name}() {error}") from None
            arguments, named = bound.args, bound.kwargs
        if not self._static_names and not self._static_at:
            return _Given(arguments, named, (), {})
        values: dict[int | str, Any] = {i: v for i, v in enumerate(arguments) if i in self._static_at}
        values |= {n: v for n, v in named.items() if n in self._static_names}
        for place, value in values.items():
            try:
                hash(value)
            except TypeError:
                raise CallError(
                    f"{self.name}: the static argument {self._name(place)} is {shown(value)}, and what is static must be "
                    "hashable, as a tuple is; or trace it"
                ) from None
        statics = tuple((place, type(v), v) for place, v in values.items())
        positional = tuple([v for i, v in enumerate(arguments) if i not in values])
        return _Given(positional, {n: v for n, v in named.items() if n not in values}, statics, values)

    def _name(self, place: int | str) -> str:
        if isinstance(place, str):
            return place
        return self._order[place] if place < len(self._order) else f"{self._rest}_{place - len(self._order)}"

    def _arguments(self, given: _Given) -> dict[str, Any]:
        """What is traced, by name."""
        free = (i for i in itertools.count() if i not in given.values)
        return {**{self._name(i): v for i, v in zip(free, given.positional, strict=False)}, **given.keyword}

    def _paths(self, given: _Given) -> list[str]:
        return [path for name, value in self._arguments(given).items() for path, _ in paths(value, name)]

    # ------------------------------------------------------------ building
    def _find(self, given: _Given, signature: Signature, shapes: tuple[tuple[int, ...], ...], keys: Sequence[Any]) -> _Found:
        ways = self._paths(given)
        declared = Declared(self.name, self._dims, self._bounds).of(self._arguments(given), ways, [len(s) for s in shapes])
        bind(self.name, ways, declared, shapes)
        with self._lock:
            variants = self._programs.setdefault(signature, _Variants())
        found = _serving(variants, shapes)
        if found is None:
            with variants.lock:
                found = _serving(variants, shapes)
                if found is None:
                    compiled = Lowered(self._trace(given, signature, shapes), self._options).compile()
                    found = compiled, compiled.program.bind(shapes)
                    self._keep(signature, variants, compiled)
        with self._lock:
            for key in keys:
                while len(self._found) >= MAX_SHAPES:
                    self._found.pop(next(iter(self._found)))
                self._found[key] = found
        return found

    def _keep(self, signature: Signature, variants: _Variants, compiled: Compiled) -> None:
        with self._lock:
            self._builds += 1
            variants.compiled = (*variants.compiled, compiled)
            self._built.append((signature, compiled))
            while len(self._built) > self._cache_size:
                old, gone = self._built.pop(0)
                kept = self._programs[old]
                kept.compiled = tuple(c for c in kept.compiled if c is not gone)
                if not kept.compiled:
                    del self._programs[old]
                self._found = {key: value for key, value in self._found.items() if value[0] is not gone}

    def _trace(self, given: _Given, signature: Signature, shapes: Sequence[Sequence[Any]], specified: Sequence[int] = ()) -> Program:
        """A run for arrays of these shapes. Of the leaves `specified` only the shape is known, whose ints are fixed and whose other axes may have
        any size."""
        ways = self._paths(given)
        names = _names(ways)
        said = Declared(self.name, self._dims, self._bounds)
        declared = said.of(self._arguments(given), ways, [len(s) for s in shapes])
        for i in specified:
            declared[i] = tuple(said.size(ways[i], axis, size) for axis, size in enumerate(shapes[i]))
        known = [i for i in range(len(ways)) if i not in specified]
        sizes = bind(self.name, [ways[i] for i in known], [declared[i] for i in known], [shapes[i] for i in known])
        if self._dims == "fixed":
            declared = [
                tuple(s if size is None else size for size, s in zip(axes, shape, strict=True))
                for axes, shape in zip(declared, shapes, strict=True)
            ]
        whole = complete(names, declared, shapes, sizes, {*names, *sizes})
        origins = {
            size.name: f"axis {i} of {path}"
            for path, shape in reversed(list(zip(ways, whole, strict=True)))
            for i, size in enumerate(shape)
            if isinstance(size, Dim)
        }
        places = {i: v for i, v in given.values.items() if isinstance(i, int)}
        keywords = {n: v for n, v in given.values.items() if isinstance(n, str)}

        def call(leaves: Sequence[Any]) -> Any:
            positional, keyword = rebuild(signature.structure, leaves)
            positional = list(positional)
            for i in sorted(places):
                positional.insert(i, places[i])
            return self.function(*positional, **keyword, **keywords)

        def run(whole: list[tuple[Size, ...]]) -> Program:
            return trace(self.name, call, signature, ways, names, whole, sizes, origins)

        return _settled(run, whole, sizes)

    def lower(self, *arguments: Any, **named: Any) -> Lowered:
        """The graph for arguments like these, which may be `ArraySpec`s. Nothing is compiled yet."""
        given = self._split(arguments, named)
        leaves, structure = take_apart((given.positional, given.keyword))
        shapes, kinds, specified = [], [], []
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, ArraySpec):
                specified.append(i)
                shapes.append(leaf.shape)
                kinds.append(kind_of(leaf.dtype.numpy, len(leaf.shape), lambda: (self.name, "")))
            else:
                array, kind = accept(leaf, lambda i=i: (self.name, self._paths(given)[i]))  # type: ignore[misc]
                shapes.append(array.shape)
                kinds.append(kind)
        return Lowered(self._trace(given, Signature(structure, given.statics, tuple(kinds)), shapes, specified), self._options)

    # ------------------------------------------------------------ questions
    def cache_info(self) -> CacheInfo:
        """How many calls found their code, how many builds there were, and how many are kept."""
        calls = int(repr(self._calls)[len("count(") : -1])
        return CacheInfo(max(calls - self._builds, 0), self._builds, self._cache_size, len(self._built))

    @property
    def compilations(self) -> int:
        """How often the function was compiled."""
        return self._builds

    @property
    def compiled(self) -> tuple[Compiled, ...]:
        """The builds that are kept, the oldest first."""
        return tuple(c for _, c in self._built)

    def cache_clear(self) -> None:
        """Forget every build."""
        with self._lock:
            self._programs, self._found, self._built = {}, {}, []


def _settled(run: Callable[[list[tuple[Size, ...]]], Program], shapes: list[tuple[Size, ...]], sizes: Mapping[str, int]) -> Program:
    """The program for the most general shapes: sizes are one symbol only where the program needs them to be equal."""
    try:
        program = run(shapes)
    except TraceError:
        raise
    except GraphError:  # where what is needed cannot be told from a refusal, sizes that are equal in this call are one
        joined = join(shapes, alike(shapes, sizes))
        if joined == shapes:
            raise
        return run(joined)
    while True:
        needed = [(g.left, g.right) for g in program.guards if g.question == "==" and g.answer]
        joined = join(program.shapes, [pair for pair in needed if all(isinstance(size, (int, Dim)) for size in pair)])
        if joined == list(program.shapes):
            return program
        program = run(joined)


def _serving(variants: _Variants, shapes: Sequence[Sequence[int]]) -> _Found | None:
    for compiled in variants.compiled:
        try:
            return compiled, compiled.program.bind(shapes)
        except CallError:
            continue
    return None


def _looks(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """What arrays and numbers look like, sizes too; None where there is anything else."""
    parts: list[Any] = []
    for value in arguments:
        kind = type(value)
        if kind is np.ndarray:
            parts += (value.dtype, value.shape)
        elif kind is float or kind is int or kind is bool:
            parts.append(kind)
        else:
            return None
    return tuple(parts)


def _names(ways: Sequence[str]) -> list[str]:
    """An identifier for each leaf, from the way to it, none twice."""
    names: list[str] = []
    for way in ways:
        name = re.sub(r"\W+", "_", way).strip("_") or "x"
        name = f"x{name}" if name[0].isdigit() else name
        while name in names or name == "out":
            name += "_"
        names.append(name)
    return names


@overload
def jit(function: Callable[..., Any], /, **options: Any) -> Jitted: ...
@overload
def jit(function: None = None, /, **options: Any) -> Callable[[Callable[..., Any]], Jitted]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    dims: Any = "auto",
    bounds: Bounds | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    cache_size: int = 256,
    **options: Any,
) -> Any:
    """The function, compiled. As `@jit` or `@jit(...)`.

    `dims`: "auto" (each axis may have any size, and one build serves all), "fixed" (a build for each set of sizes), or names and sizes by
    argument, such as {"x": ("N", 784)}; None and arguments that are not named are "auto". `bounds`: lower and upper bounds by name. `static_argnums`
    and `static_argnames` name arguments that are Python values, a build for each. `cache_size` builds are kept, the oldest are forgotten. Other
    options are those of `CompiledGraph`.
    """

    def wrap(function: Callable[..., Any]) -> Jitted:
        return Jitted(
            function,
            dims=dims,
            bounds=bounds,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            cache_size=cache_size,
            options=options,
        )

    return wrap if function is None else wrap(function)


def compile(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Compiled:
    """The function, which may be one of `jit`, traced and compiled now for arguments like these; they may be `ArraySpec`s."""
    jitted = function if isinstance(function, Jitted) else jit(function)
    return jitted.lower(*arguments, **named).compile()
