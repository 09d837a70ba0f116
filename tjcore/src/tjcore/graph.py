"""The graph: immutable tensor expressions, and the operators with which users write them.

In: `input`, `constant`, numbers and expressions. Out: `Expr` values whose shape and dtype are already checked, so that
no later stage can meet an ill-formed graph. Walks are iterative: a chain of 100,000 nodes is fine.
"""

from __future__ import annotations

import hashlib
import math
import numbers
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import dtypes
from .dims import Size
from .dtypes import DType
from .errors import GraphError, shown
from .lifting import lifted
from .operators import Operators
from .ops import OPS, Shape, broadcast_shapes, check_axes, check_axis, check_shape, same, show_shape
from .shaping import Axes, Shaping


class Expr(Operators, Shaping):
    """An immutable tensor expression: `op` of `sources` with `arg`, of a `shape` (Dims and ints) and a `dtype`.

    Compared and hashed by identity. Write `x + y`, `x @ w`, `x.relu()`, `x.sum(axis)`...; nothing is computed until it is compiled.
    """

    __slots__ = ("__weakref__", "arg", "dtype", "op", "shape", "sources")
    __array_ufunc__ = None  # NumPy arrays leave `array + expr` to us

    op: str
    shape: Shape
    dtype: DType
    sources: tuple[Expr, ...]
    arg: Any

    def __init__(self, op: str, shape: Shape, dtype: DType, sources: tuple[Expr, ...] = (), arg: Any = None) -> None:
        put = object.__setattr__
        put(self, "op", op)
        put(self, "shape", shape)
        put(self, "dtype", dtype)
        put(self, "sources", sources)
        put(self, "arg", arg)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Expr is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Expr is immutable: cannot delete {name!r}")

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: Any) -> Expr:
        return self

    def __reduce__(self) -> Any:
        from .text import pickle_expr  # text reads graphs, so it lies above this module

        return pickle_expr(self)

    def __repr__(self) -> str:
        name = f" {shown(self.arg)}" if self.op in ("input", "constant") else ""
        return f"<Expr {self.op}{name} {self.dtype} {show_shape(self.shape)}>"

    def __bool__(self) -> bool:
        raise TypeError("an Expr has no truth value: its elements are not known until it is compiled and called")

    __iter__ = None  # otherwise Python would try __getitem__ forever

    @property
    def rank(self) -> int:
        return len(self.shape)

    def _with(self, op: str, *others: Any, swapped: bool = False) -> Expr:
        return _elementwise(op, *others, self) if swapped else _elementwise(op, self, *others)

    def _matmul(self, other: Any, swapped: bool = False) -> Expr:
        return _matmul(other, self) if swapped else _matmul(self, other)

    def relu(self) -> Expr:
        """`x if x > 0 else 0`, so 0 for NaN and for -0.0."""
        return elementwise("relu", self)

    def positive(self) -> Expr:
        """1 where x > 0, else 0 (NaN included), in x's dtype: the derivative of `relu`."""
        return elementwise("positive", self)

    def equals(self, other: Any) -> Expr:
        """1 where the two are equal, else 0 (NaN equals nothing), in the operands' dtype; `equal` gives bools."""
        return elementwise("equals", self, other)

    def maximum(self, other: Any) -> Expr:
        """The larger of the two, NaN if one is, as `numpy.maximum`."""
        return elementwise("maximum", self, other)

    def minimum(self, other: Any) -> Expr:
        """The smaller of the two, NaN if one is, as `numpy.minimum`."""
        return elementwise("minimum", self, other)

    def pow(self, other: Any) -> Expr:
        """This to the power of the other, as `numpy.power`."""
        return _power(self, other)

    def sqrt(self) -> Expr:
        return elementwise("sqrt", self)

    def astype(self, dtype: Any) -> Expr:
        """The same values as another type (docs/numerics.md says what becomes of those that do not fit)."""
        kind = dtypes.as_dtype(dtype)
        if kind is self.dtype:
            return self
        if (self.dtype.storage and kind is not dtypes.float32) or (kind.storage and self.dtype not in (dtypes.float32, dtypes.float64)):
            return self.astype(dtypes.float32).astype(kind)
        return apply("cast", (self,), kind.name)

    def __getattr__(self, name: str) -> Callable[..., Expr]:
        """The op table's elementwise ops as methods: `x.exp()`, `x.less(y)`, `condition.where(x, y)`."""
        op = OPS.get(name)
        if op is None or op.kind != "elementwise" or op.samples != (None,):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return lambda *others: elementwise(name, self, *others)

    def expand_dims(self, axis: int) -> Expr:
        """A new axis of size 1 at `axis` of the result, as `numpy.expand_dims`."""
        return apply("expand_dims", (self,), check_axis("expand_dims", axis, self.rank, new=True))

    def squeeze(self, axis: int | Sequence[int]) -> Expr:
        """Without `axis`, or several axes, whose declared size must be the int 1."""
        out = self
        for at in reversed(check_axes("squeeze", () if axis is None else axis, self.rank)):
            out = apply("squeeze", (out,), at)
        return out

    def _node(self, op: str, arg: Any) -> Expr:
        return apply(op, (self,), arg)

    def broadcast_to(self, shape: Sequence[Size]) -> Expr:
        """Stretched to `shape`: axes of declared size 1 repeat, new axes appear in front. Symbols may be new ones."""
        target = check_shape("broadcast_to", shape)
        if len(target) == self.rank and all(map(same, self.shape, target)):
            return self
        return apply("broadcast_to", (self,), target)

    def transpose(self) -> Expr:
        """Rows and columns exchanged; for tensors of rank two (`permute` takes any axes)."""
        if self.rank != 2:
            raise GraphError(
                f"transpose: expected a tensor of rank 2, got shape {show_shape(self.shape)}; name the axes with permute(axes)"
            )
        return self.permute((1, 0))

    @property
    def T(self) -> Expr:
        return self.transpose()

    def permute(self, axes: Sequence[int]) -> Expr:
        """Axis i of the result is axis `axes[i]` of this tensor, as `numpy.permute_dims`."""
        if isinstance(axes, str) or not isinstance(axes, Iterable):
            raise GraphError(f"permute: axes must be a sequence of ints, got {shown(axes)}")
        return apply("transpose", (self,), tuple(check_axis("permute", a, self.rank) for a in axes))

    def sum(self, axis: Axes = -1, keepdims: bool = False) -> Expr:
        """The sum over one or several axes (None: all), by the documented tree (docs/numerics.md)."""
        return reduce("sum", self, axis, keepdims)

    def prod(self, axis: Axes = -1, keepdims: bool = False) -> Expr:
        """The product over one or several axes (None: all), by the tree of sums."""
        return reduce("prod", self, axis, keepdims)

    def max(self, axis: Axes = -1, keepdims: bool = False) -> Expr:
        """The largest over one or several axes; NaN if one is, as `numpy.max`. A call with an empty axis is refused."""
        return reduce("max", self, axis, keepdims)

    def min(self, axis: Axes = -1, keepdims: bool = False) -> Expr:
        """The smallest over one or several axes; NaN if one is, as `numpy.min`. A call with an empty axis is refused."""
        return reduce("min", self, axis, keepdims)

    def mean(self, axis: Axes = -1, keepdims: bool = False) -> Expr:
        """The sum over one or several axes divided by how many elements that is; of integers in float64."""
        axes = check_axes("mean", axis, self.rank)
        x = self.astype(self.dtype.computed if self.dtype.kind == "float" else dtypes.float64)
        if self.dtype.storage:
            return x.mean(axes, keepdims).astype(self.dtype)
        return reduce("sum", x, axes, keepdims) / size_of(math.prod(self.shape[a] for a in axes), x.dtype)

    def cumulative_sum(self, axis: int = -1, back: bool = False) -> Expr:
        """The sums up to each element along one axis, added in order; `back`: from each element to the last, from the last one on."""
        if self.dtype.storage:
            return self.astype(self.dtype.computed).cumulative_sum(axis, back).astype(self.dtype)
        x = self if self.dtype.kind == "float" else self.astype(dtypes.int64)
        return apply("cumulative_sum_back" if back else "cumulative_sum", (x,), check_axis("cumulative_sum", axis, self.rank))


def reduce(op: str, x: Expr, axis: Axes, keepdims: bool = False) -> Expr:
    """A reduction over several axes: the last one first, each by its tree. Narrow integers are summed in int64, as NumPy does."""
    axes = check_axes(op, axis, x.rank)
    kind = x.dtype
    if kind.storage:
        return reduce(op, x.astype(kind.computed), axes, keepdims).astype(kind)
    if kind.kind != "float":
        x = x.astype(dtypes.int64) if op in ("sum", "prod") else x.astype(dtypes.int32) if kind.itemsize < 4 else x
    for at in reversed(axes):
        x = apply(op, (x,), at)
    if keepdims:
        for at in axes:
            x = x.expand_dims(at)
    return x if op in ("sum", "prod") else x.astype(kind)


def apply(op: str, sources: tuple[Expr, ...], arg: Any = None) -> Expr:
    """A checked node of the op table."""
    row = OPS.get(op)
    if row is None:
        raise GraphError(f"there is no op {shown(op)} yet; the ops are {', '.join(OPS)}")
    if row.computes:
        for source in sources:
            if source.dtype.storage:
                raise GraphError(f"{op}: values are kept as {source.dtype}, and not computed with; cast to {source.dtype.computed} first")
    shape, dtype = row.infer(sources, arg)
    return Expr(op, shape, dtype, sources, arg)


def input(name: str, shape: Sequence[Size], dtype: Any = dtypes.float32) -> Expr:
    """An array given at each call under `name`; each axis of `shape` is a `Dim`, a size expression or an int below 2**31."""
    if not isinstance(name, str) or not name.isidentifier():
        raise GraphError(f"input: the name must be an identifier, got {shown(name)}")
    return Expr("input", check_shape(f"input {name!r}", shape), dtypes.as_dtype(dtype), (), name)


# Arrays that graphs hold: each an input whose name says its contents, which calls bring along by themselves.
_HELD: weakref.WeakKeyDictionary[Expr, NDArray[Any]] = weakref.WeakKeyDictionary()
_HELD_BY_NAME: weakref.WeakValueDictionary[str, Expr] = weakref.WeakValueDictionary()


def hold(array: NDArray[Any], dtype: Any = None) -> Expr:
    """An array known now, of which a copy is kept: data beside the code, never in it. Equal arrays are one node."""
    kept = np.array(array, dtypes.as_dtype(array.dtype if dtype is None else dtype).numpy, order="C", copy=True)
    kept.flags.writeable = False
    digest = hashlib.sha256(f"{kept.dtype.str} {kept.shape} ".encode())
    digest.update(kept.tobytes())
    node = _HELD_BY_NAME.get(name := f"data_{digest.hexdigest()[:32]}")
    if node is None:
        node = input(name, kept.shape, kept.dtype)
        _HELD[node] = kept
        _HELD_BY_NAME[name] = node
    return node


def held(node: Expr) -> NDArray[Any] | None:
    """The array that a node of `hold` stands for; None for any other."""
    return _HELD.get(node)


def held_by_name(name: str) -> Expr | None:
    return _HELD_BY_NAME.get(name)


def constant(value: float | NDArray[Any], dtype: Any = None) -> Expr:
    """A scalar known now: a finite int or float within the dtype's range (no bool), rounded to the dtype (default float32).

    Or an array, of its own dtype if no other is named (`hold`).
    """
    if isinstance(value, np.ndarray) and value.ndim:
        return hold(value, dtype)
    kind = dtypes.as_dtype(dtypes.float32 if dtype is None else dtype)
    if kind.storage:
        return constant(_rounded(value, kind), kind.computed).astype(kind)
    if kind is dtypes.bool_ and isinstance(value, (bool, np.bool_)):
        value = int(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise GraphError(f"constant: expected an int or a float, got {shown(value)}")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        raise GraphError(f"constant: expected a finite value, got {shown(value)}")
    if kind.kind == "float":
        with np.errstate(over="ignore", under="ignore"):
            rounded = kind.numpy.type(value)
        if not np.isfinite(rounded):
            raise GraphError(f"constant: {shown(value)} is out of the range of {kind}")
        return Expr("constant", (), kind, (), float(rounded))
    if int(value) != value:
        raise GraphError(f"constant: {shown(value)} is no {kind}; round it first, or use a float dtype")
    info = np.iinfo(kind.numpy) if kind.kind != "bool" else None
    low, high = (int(info.min), int(info.max)) if info else (0, 1)
    if not low <= int(value) <= high:
        raise GraphError(f"constant: {shown(value)} is out of the range {low}..{high} of {kind}")
    return Expr("constant", (), kind, (), int(value))


def size_of(size: Size, dtype: Any = dtypes.float32) -> Expr:
    """A size as a scalar to compute with: its value at the call, rounded to the dtype."""
    kind = dtypes.as_dtype(dtype)
    if kind.storage:
        return size_of(size, kind.computed).astype(kind)
    if isinstance(size, int) and not isinstance(size, bool):
        return constant(size, kind)
    return Expr("size", (), kind, (), check_shape("size_of", (size,))[0])


def number(value: Any, kind: DType) -> Expr:
    """A number beside tensors of a dtype; unlike a constant it may be NaN or infinite. It has the type to compute in."""
    if kind.storage:
        return number(_rounded(value, kind), kind.computed)
    if isinstance(value, float) and not math.isfinite(value) and kind.kind == "float":
        return Expr("constant", (), kind, (), float(value))
    return constant(value, kind)


def _rounded(value: Any, kind: DType) -> Any:
    """A number as a type of storage keeps it; what is none, or does not fit, stays, for others to refuse."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        return value
    with np.errstate(over="ignore", under="ignore"):
        kept = float(kind.numpy.type(float(value)))
    if math.isinf(kept) and math.isfinite(value):
        raise GraphError(f"constant: {shown(value)} is out of the range of {kind}")
    return kept


def elementwise(op: str, *operands: Any) -> Expr:
    """An elementwise op on Exprs and numbers, promoted to one dtype (NumPy 2's rules; numbers are weak, NumPy's scalars too) and broadcast."""
    row = OPS[op]
    if len(operands) != row.arity:
        raise GraphError(f"{op}: takes {row.arity} operands, got {len(operands)}")
    fixed = row.operands or ("",) * row.arity
    given = [value.item() if isinstance(value, (np.number, np.bool_)) else value for value in operands]
    kinds = [value.dtype for value, name in zip(given, fixed, strict=True) if isinstance(value, Expr) and not name]
    for value in given:
        if isinstance(value, np.ndarray):
            raise GraphError(f"{op}: got a NumPy array of shape {value.shape}; declare it with input(name, shape) and pass it at the call")
        if not isinstance(value, (Expr, numbers.Real)) or (
            isinstance(value, (bool, np.bool_)) and any(k is not dtypes.bool_ for k in kinds)
        ):
            raise GraphError(f"{op}: expected an Expr or a number, got {shown(value)}")
    kind = dtypes.result(kinds, [value for value, name in zip(given, fixed, strict=True) if not isinstance(value, Expr) and not name])
    if row.floats and kind.kind != "float":
        kind = dtypes.float64
    nodes = []
    for value, name in zip(given, fixed, strict=True):
        wanted = dtypes.as_dtype(name) if name else kind
        node = value if isinstance(value, Expr) else number(value, wanted)
        nodes.append(node if name else node.astype(wanted).astype(wanted.computed))
    shape = nodes[0].shape
    for node in nodes[1:]:
        shape = broadcast_shapes(op, shape, node.shape)
    out = apply(op, tuple(node.broadcast_to(shape) for node in nodes))
    return out.astype(kind) if kind.storage and out.dtype is kind.computed else out


def power(a: Any, b: Any) -> Expr:
    """`a ** b`. Where b is one of Python's numbers it is, as in NumPy, a square, a square root, a reciprocal or a itself where that says the same."""
    if isinstance(a, Expr) and a.dtype is not dtypes.bool_ and isinstance(b, (int, float)) and not isinstance(b, bool):
        if a.dtype.kind == "float" or isinstance(b, int):
            if b == 1:
                return a
            if b == 2:
                return a * a
        if a.dtype.kind == "float" and b in (0.5, -1):
            return a.sqrt() if b == 0.5 else 1 / a
    return elementwise("pow", a, b)


def matmul(a: Any, b: Any) -> Expr:
    """The matrix product as NumPy's matmul, in fma chains of 256 (docs/contractions.md).

    Axes in front of the last two are a batch and broadcast; an operand of rank 1 is a row on the left and a column on the right.
    """
    for side in (a, b):
        if isinstance(side, numbers.Real):
            raise GraphError(f"matmul: expected two Exprs, got {shown(side)}; a number multiplies with *")
        if isinstance(side, np.ndarray):
            raise GraphError(f"matmul: got a NumPy array of shape {side.shape}; declare it with input(name, shape) and pass it at the call")
        if not isinstance(side, Expr):
            raise GraphError(f"matmul: expected an Expr, got {shown(side)}")
    kind = dtypes.promote(a.dtype, b.dtype)
    if kind.storage:
        return matmul(a.astype(kind.computed), b.astype(kind.computed)).astype(kind)
    a, b = a.astype(kind), b.astype(kind)
    if a.rank >= 2 and b.rank >= 2:
        batch = broadcast_shapes("matmul (axes in front of the last two)", a.shape[:-2], b.shape[:-2])
        a, b = a.broadcast_to((*batch, *a.shape[-2:])), b.broadcast_to((*batch, *b.shape[-2:]))
    return apply("matmul", (a, b))


_elementwise, _power, _matmul = lifted(elementwise, numbers=True), lifted(power, numbers=True), lifted(matmul)
