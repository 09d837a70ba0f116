"""The guards of a call: do these arrays and sizes fit what the graph declares?

In: a plan. Out: `Guards`, whose `check` turns the arrays and bindings of a call into one size per symbol, or raises an error
that names the input, the axis, what was expected and what came. Nothing is allocated or computed before it has passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .dims import Constraint, Dim, Size, at_most, evaluate, symbols
from .errors import CallError, DtypeError, shown
from .graph import Expr
from .ops import OPS, same, show_shape
from .ops.movement import conditions, count
from .ops.reductions import NONEMPTY


class Guards:
    """Checks for the inputs of one plan, in the plan's order. `nodes`: all of the graph, some of which have no meaning on empty axes."""

    def __init__(
        self, inputs: Sequence[Expr], symbols: Sequence[Dim], nodes: Sequence[Expr] = (), constraints: Sequence[Constraint] = ()
    ) -> None:
        self.constraints = tuple(constraints)
        self.filled = list(dict.fromkeys((n.op, n.sources[0].shape[n.arg]) for n in nodes if n.op in NONEMPTY))
        self.taken = list(dict.fromkeys(_Taken.of(n) for n in nodes if OPS[n.op].kind == "gather"))
        self.moves = [move for n in dict.fromkeys(nodes) if n.op in ("slice", "windows", "reshape") for move in _moves(n)]
        self.inputs = [_Input(node, i) for i, node in enumerate(inputs)]
        self.names = frozenset(g.name for g in self.inputs)
        self.symbols = tuple(symbols)
        self.by_name = {d.name: d for d in symbols}

    def check(self, bindings: Mapping[str, int], arrays: Mapping[str, Any]) -> tuple[tuple[NDArray[Any], ...], tuple[int, ...]]:
        """The arrays in plan order and the size of each symbol in plan order."""
        if not isinstance(bindings, Mapping):
            raise CallError(f"bindings: expected a mapping from symbol names to sizes, such as {{'N': 8}}, got {shown(bindings)}")
        if arrays.keys() != self.names:
            raise self._wrong_names(arrays)
        sizes: dict[str, int] = {}
        came_from: dict[str, str] = {}
        for name, size in bindings.items():
            sizes[name] = self._binding(name, size)
            came_from[name] = "the bindings"
        given = tuple(guard.array(arrays[guard.name]) for guard in self.inputs)
        for guard, array in zip(self.inputs, given, strict=True):
            guard.bind(array.shape, sizes, came_from)
        missing = [d.name for d in self.symbols if d.name not in sizes]
        if missing:
            known = ", ".join(f"{n}={s}" for n, s in sizes.items()) or "none"
            raise CallError(
                f"no input carries the size of {', '.join(missing)}; give it with run_with_bindings({{{missing[0]!r}: ...}}, ...). Sizes known: {known}"
            )
        for guard, array in zip(self.inputs, given, strict=True):
            guard.derived(array.shape, sizes)
        for op, size in self.filled:
            if evaluate(size, sizes) == 0:
                raise CallError(f"{op}: the axis of size {size} is empty in this call, and nothing has no {op}; give at least one element")
        for constraint in self.constraints:
            constraint.check(sizes)
        for move in self.moves:
            move.check(sizes)
        for taken in self.taken:
            taken.check(arrays, sizes)
        return given, tuple(sizes[d.name] for d in self.symbols)

    def complete(self, bindings: Mapping[str, int], arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The arrays, with a new one full of zeros for each input that has none: its sizes come from the bindings and the other arrays."""
        sizes = {name: self._binding(name, size) for name, size in bindings.items()}
        unknown = [name for name in arrays if name not in self.names]
        if unknown:
            raise self._wrong_names({**dict.fromkeys(self.names), **dict.fromkeys(unknown)})
        for guard in self.inputs:
            if guard.name in arrays:
                array = guard.array(arrays[guard.name])
                for axis, dim in guard.symbolic:
                    sizes.setdefault(dim.name, array.shape[axis])
        whole = dict(arrays)
        for guard in self.inputs:
            if guard.name not in whole:
                missing = [d.name for size in guard.shape for d in symbols(size) if d.name not in sizes]
                if missing:
                    raise CallError(
                        f"input {guard.name!r} has no array, and the size of {missing[0]} is not known; give {missing[0]}=... or {guard.name}=array"
                    )
                whole[guard.name] = np.zeros([evaluate(size, sizes) for size in guard.shape], guard.dtype.numpy)
        return whole

    def _binding(self, name: str, size: Any) -> int:
        dim = self.by_name.get(name)
        if dim is None:
            known = ", ".join(self.by_name) or "none"
            raise CallError(f"binding {shown(name)}: the graph has no symbol of that name; its symbols: {known}")
        if isinstance(size, (bool, np.bool_)) or not isinstance(size, (int, np.integer)):
            raise CallError(f"binding {shown(name)}: expected an int in {dim.lower}..{dim.upper}, got {shown(size)}")
        if not dim.lower <= size <= dim.upper:
            raise CallError(f"binding {shown(name)}: expected a size in {dim.lower}..{dim.upper}, got {shown(size)}")
        return int(size)

    def _wrong_names(self, arrays: Mapping[str, Any]) -> CallError:
        missing = [g.name for g in self.inputs if g.name not in arrays]
        extra = [name for name in arrays if name not in self.names]
        parts = []
        if missing:
            parts.append(f"missing input{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}")
        if extra:
            parts.append(f"unexpected input{'s' * (len(extra) > 1)} {', '.join(map(repr, extra))}")
        expected = ", ".join(repr(g.name) for g in self.inputs) or "no inputs"
        return CallError(f"{' and '.join(parts)}; expected {expected}")


class _Taken(NamedTuple):
    """Elements that are taken by index: from an axis that must not be empty, by the input that the indices are, if they are one."""

    op: str
    axis: int
    size: Size
    elements: Size
    input: str | None

    @classmethod
    def of(cls, node: Expr) -> _Taken:
        x, indices = node.sources
        shape = indices.shape
        while OPS[indices.op].kind == "view":
            (indices,) = indices.sources
        return cls(node.op, node.arg, x.shape[node.arg], count(shape), indices.arg if indices.op == "input" else None)

    def check(self, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        size = evaluate(self.size, sizes)
        if evaluate(self.elements, sizes) == 0:
            return
        if size == 0:
            raise CallError(f"{self.op}: axis {self.axis} of size {self.size} is empty in this call, and there is nothing to take from it")
        if self.input is not None:
            array = arrays[self.input]
            low, high = int(array.min()), int(array.max())
            if low < -size or high >= size:
                wrong = low if low < -size else high
                raise CallError(
                    f"input {self.input!r}: index {wrong} is out of range for axis {self.axis} of {self.op}, "
                    f"whose size {self.size} is {size}; allowed: {-size}..{size - 1}"
                )


class _Move(NamedTuple):
    """A comparison of sizes on which a view rests, and that could not be decided while the graph was built."""

    what: str
    length: Size
    low: Size
    sign: str
    high: Size

    def check(self, sizes: Mapping[str, int]) -> None:
        if self.length is not self.low and evaluate(self.length, sizes) == 0:
            return  # an empty part lies nowhere
        low, high = evaluate(self.low, sizes), evaluate(self.high, sizes)
        if low > high or (self.sign == "==" and low != high):
            known = ", ".join(f"{d.name} = {sizes[d.name]}" for d in dict.fromkeys((*symbols(self.low), *symbols(self.high))))
            raise CallError(
                f"{self.what}: needs {self.low} {self.sign} {self.high}, but that is {low} {self.sign} {high} in this call, where {known}"
            )


def _moves(node: Expr) -> Iterator[_Move]:
    (x,) = node.sources
    if node.op == "reshape":
        have, want = count(x.shape), count(node.shape)
        if not same(have, want):
            yield _Move(f"reshape of {show_shape(x.shape)} to {show_shape(node.shape)}", 1, have, "==", want)
        return
    what = f"{node.op} of axis {node.arg[0]} of shape {show_shape(x.shape)}"
    length = node.arg[2] if node.op == "slice" else node.arg[1]
    for low, high in conditions(node):
        if at_most(low, high) is not True:
            yield _Move(what, low if high is length else length, low, "<=", high)


class _Input:
    def __init__(self, node: Expr, position: int) -> None:
        self.name: str = node.arg
        self.position = position
        self.dtype = node.dtype
        self.shape = node.shape
        self.rank = len(node.shape)
        self.static = [(axis, size) for axis, size in enumerate(node.shape) if isinstance(size, int)]
        self.symbolic = [(axis, size) for axis, size in enumerate(node.shape) if isinstance(size, Dim)]
        self.computed: list[tuple[int, Size]] = [(axis, size) for axis, size in enumerate(node.shape) if not isinstance(size, (int, Dim))]

    def array(self, value: Any) -> NDArray[Any]:
        """The array, if its kind, dtype, rank and layout are as declared."""
        if type(value) is not np.ndarray and type(value) is not np.memmap:
            if isinstance(value, np.ndarray):
                raise CallError(
                    f"input {self.name!r}: expected a plain numpy.ndarray, got its subclass {type(value).__name__}, whose meaning would be lost; "
                    "pass numpy.asarray(x)"
                )
            raise CallError(
                f"input {self.name!r}: expected a numpy.ndarray, got {type(value).__name__}; pass numpy.asarray(x, {self.dtype.name!r})"
            )
        if value.dtype != self.dtype.numpy:
            raise DtypeError(
                f"input {self.name!r}: expected dtype {self.dtype}, got {_show_dtype(value.dtype)}; pass x.astype({self.dtype.name!r})"
            )
        if value.ndim != self.rank:
            raise CallError(
                f"input {self.name!r}: expected rank {self.rank}, shape {show_shape(self.shape)}, got rank {value.ndim}, shape {value.shape}"
            )
        flags = value.flags
        if not flags.c_contiguous:
            raise CallError(
                f"input {self.name!r}: expected a C-contiguous array, got strides {value.strides} for shape {value.shape}; pass numpy.ascontiguousarray(x)"
            )
        if not flags.aligned:
            raise CallError(
                f"input {self.name!r}: expected memory aligned to {self.dtype.numpy.alignment} bytes, got an unaligned array; pass x.copy()"
            )
        for axis, size in self.static:
            if value.shape[axis] != size:
                raise CallError(f"input {self.name!r}, axis {axis}: expected {size}, got {value.shape[axis]} (shape {value.shape})")
        return value

    def bind(self, shape: tuple[int, ...], sizes: dict[str, int], came_from: dict[str, str]) -> None:
        for axis, dim in self.symbolic:
            size = shape[axis]
            known = sizes.get(dim.name)
            if known is None:
                if not dim.lower <= size <= dim.upper:
                    raise CallError(
                        f"input {self.name!r}, axis {axis}: expected {dim.name} in {dim.lower}..{dim.upper}, got {size} (shape {shape})"
                    )
                sizes[dim.name] = size
                came_from[dim.name] = f"input {self.name!r}, axis {axis}"
            elif known != size:
                raise CallError(
                    f"input {self.name!r}, axis {axis}: expected {known}, since {dim.name} is {known} in {came_from[dim.name]}, got {size} (shape {shape})"
                )

    def derived(self, shape: tuple[int, ...], sizes: Mapping[str, int]) -> None:
        for axis, size in self.computed:
            expected = evaluate(size, sizes)
            if shape[axis] != expected:
                raise CallError(f"input {self.name!r}, axis {axis}: expected {size} = {expected}, got {shape[axis]} (shape {shape})")


def check_out(
    out: Any, dtypes: Sequence[np.dtype[Any]], shapes: Sequence[tuple[int, ...]], given: Sequence[NDArray[Any]]
) -> list[NDArray[Any] | None]:
    """The arrays that a caller gave to write the outputs to, None where one is to be made. They share memory neither with inputs nor with each other."""
    arrays = list(out) if isinstance(out, tuple) else [out]
    if len(arrays) != len(shapes):
        single = "an array or " if len(shapes) == 1 else ""
        raise CallError(f"out: expected {single}a tuple of {len(shapes)} arrays (None for one to be made), got {_counted(out)}")
    for i, (array, dtype, shape) in enumerate(zip(arrays, dtypes, shapes, strict=True)):
        if array is None:
            continue
        if type(array) is not np.ndarray and type(array) is not np.memmap:
            raise CallError(f"out[{i}]: expected a plain numpy.ndarray or None, got {type(array).__name__}")
        if array.dtype != dtype:
            raise DtypeError(f"out[{i}]: expected dtype {dtype.name}, got {_show_dtype(array.dtype)}")
        if array.shape != shape:
            raise CallError(f"out[{i}]: expected shape {shape} for these inputs, got {array.shape}")
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned and flags.writeable):
            wrong = "C-contiguous" if not flags.c_contiguous else "aligned" if not flags.aligned else "writeable"
            raise CallError(f"out[{i}]: expected a C-contiguous, aligned and writeable array, got one that is not {wrong}")
        for what, other in (*((f"input {k}", x) for k, x in enumerate(given)), *((f"out[{k}]", y) for k, y in enumerate(arrays[:i]))):
            if other is not None and np.may_share_memory(array, other):
                raise CallError(
                    f"out[{i}] shares memory with {what}, which would be overwritten while it is read; pass an array of its own"
                )
    return arrays


def check_donated(name: str, array: NDArray[Any], others: Mapping[str, NDArray[Any]]) -> None:
    """A donated input can be written to, and nothing else of the call lies where it does."""
    if not array.flags.writeable:
        raise CallError(f"input {name!r} is donated, so it is written to, but the array is read-only; pass x.copy()")
    for other, value in others.items():
        if other != name and np.may_share_memory(array, value):
            raise CallError(
                f"input {name!r} is donated, so it is written to, but it shares memory with {other!r}; pass a copy of one of them"
            )


def _counted(out: Any) -> str:
    return f"a tuple of {len(out)}" if isinstance(out, tuple) else type(out).__name__


def _show_dtype(dtype: np.dtype[Any]) -> str:
    return dtype.name if dtype.isnative else f"{dtype.name} of foreign byte order ({dtype.str})"
