"""The graph: immutable tensor expressions, and the operators with which users write them.

In: `input`, `constant`, numbers and expressions. Out: `Expr` values whose shape and dtype are already checked, so that
no later stage can meet an ill-formed graph. Walks are iterative: a chain of 100,000 nodes is fine.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from . import dtypes
from .dims import Size
from .dtypes import DType
from .errors import GraphError, shown
from .ops import OPS, Shape, broadcast_shapes, check_axis, check_shape, same, show_shape


class Expr:
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

    def __add__(self, other: Any) -> Expr:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        return _binary("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return _binary("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return _binary("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return _binary("mul", other, self)

    def __truediv__(self, other: Any) -> Expr:
        return _binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return _binary("div", other, self)

    def __abs__(self) -> Expr:
        return apply("abs", (self,))

    def __neg__(self) -> Expr:
        return apply("neg", (self,))

    def __matmul__(self, other: Any) -> Expr:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Expr:
        return matmul(other, self)

    def relu(self) -> Expr:
        """`x if x > 0 else 0`, so 0 for NaN and for -0.0."""
        return apply("relu", (self,))

    def positive(self) -> Expr:
        """1 where x > 0, else 0 (NaN included), in x's dtype: the derivative of `relu`."""
        return apply("positive", (self,))

    def equals(self, other: Any) -> Expr:
        """1 where the two are equal, else 0 (NaN equals nothing), in the operands' dtype."""
        return _binary("equals", self, other)

    def maximum(self, other: Any) -> Expr:
        """The larger of the two, NaN if one is, as `numpy.maximum`."""
        return _binary("maximum", self, other)

    def minimum(self, other: Any) -> Expr:
        """The smaller of the two, NaN if one is, as `numpy.minimum`."""
        return _binary("minimum", self, other)

    def pow(self, other: Any) -> Expr:
        """This to the power of the other, as `numpy.power`."""
        return _binary("pow", self, other)

    __pow__ = pow

    def sqrt(self) -> Expr:
        return apply("sqrt", (self,))

    def __getattr__(self, name: str) -> Any:
        """The op table's functions of one operand as methods: `x.exp()`, `x.tanh()`."""
        op = OPS.get(name)
        if op is None or op.kind != "elementwise" or op.arity != 1:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return lambda: apply(name, (self,))

    def expand_dims(self, axis: int) -> Expr:
        """A new axis of size 1 at `axis` of the result, as `numpy.expand_dims`."""
        return apply("expand_dims", (self,), check_axis("expand_dims", axis, self.rank, new=True))

    def squeeze(self, axis: int) -> Expr:
        """Without `axis`, whose declared size must be the int 1."""
        return apply("squeeze", (self,), check_axis("squeeze", axis, self.rank))

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

    def sum(self, axis: int = -1) -> Expr:
        """The sum over one axis, by the documented tree (docs/numerics.md)."""
        return apply("sum", (self,), check_axis("sum", axis, self.rank))

    def max(self, axis: int = -1) -> Expr:
        """The largest over one axis; NaN if one is, as `numpy.max`. A call with an empty axis is refused."""
        return apply("max", (self,), check_axis("max", axis, self.rank))

    def min(self, axis: int = -1) -> Expr:
        """The smallest over one axis; NaN if one is, as `numpy.min`. A call with an empty axis is refused."""
        return apply("min", (self,), check_axis("min", axis, self.rank))

    def mean(self, axis: int = -1) -> Expr:
        """The sum over one axis divided by its size."""
        axis = check_axis("mean", axis, self.rank)
        return self.sum(axis) / size_of(self.shape[axis], self.dtype)


def apply(op: str, sources: tuple[Expr, ...], arg: Any = None) -> Expr:
    """A checked node of the op table."""
    row = OPS.get(op)
    if row is None:
        raise GraphError(f"there is no op {shown(op)} yet; the ops are {', '.join(OPS)}")
    shape, dtype = row.infer(sources, arg)
    return Expr(op, shape, dtype, sources, arg)


def input(name: str, shape: Sequence[Size], dtype: Any = dtypes.float32) -> Expr:
    """An array given at each call under `name`; each axis of `shape` is a `Dim`, a size expression or an int below 2**31."""
    if not isinstance(name, str) or not name.isidentifier():
        raise GraphError(f"input: the name must be an identifier, got {shown(name)}")
    return Expr("input", check_shape(f"input {name!r}", shape), dtypes.as_dtype(dtype), (), name)


def constant(value: float, dtype: Any = dtypes.float32) -> Expr:
    """A scalar known now: a finite int or float within the dtype's range (no bool), rounded to the dtype."""
    kind = dtypes.as_dtype(dtype)
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
    if isinstance(size, int) and not isinstance(size, bool):
        return constant(size, kind)
    (checked,) = check_shape("size_of", (size,))
    return Expr("size", (), kind, (), checked)


def _operand(op: str, value: Any, like: Expr | None) -> Expr:
    if isinstance(value, Expr):
        return value
    if like is not None and isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)):
        return constant(value, like.dtype)  # type: ignore[arg-type]
    if isinstance(value, np.ndarray):
        raise GraphError(f"{op}: got a NumPy array of shape {value.shape}; declare it with input(name, shape) and pass it at the call")
    raise GraphError(f"{op}: expected an Expr{'' if op == 'matmul' else ' or a number'}, got {shown(value)}")


def _binary(op: str, a: Any, b: Any) -> Expr:
    left = _operand(op, a, b if isinstance(b, Expr) else None)
    right = _operand(op, b, left)
    if left.dtype is not right.dtype:
        raise GraphError(f"{op}: operands must have one dtype, got {left.dtype} and {right.dtype}")
    shape = broadcast_shapes(op, left.shape, right.shape)
    return apply(op, (left.broadcast_to(shape), right.broadcast_to(shape)))


def matmul(a: Any, b: Any) -> Expr:
    """The matrix product of two tensors of rank two, in fma chains of 256 (docs/numerics.md)."""
    for side in (a, b):
        if isinstance(side, numbers.Real):
            raise GraphError(f"matmul: expected two Exprs of rank 2, got {shown(side)}; a number multiplies with *")
        _operand("matmul", side, None)
    return apply("matmul", (a, b))


def check_outputs(where: str, outputs: object) -> tuple[Expr, ...]:
    """The outputs of a graph as a user names them, in order; GraphError for anything but a sequence of Exprs."""
    if isinstance(outputs, Expr):
        raise GraphError(f"{where}: outputs must be a sequence of Exprs, got a single Expr; write [expr]")
    if isinstance(outputs, (str, bytes, Set, Mapping)) or not isinstance(outputs, Iterable):  # a set would give another order each time
        raise GraphError(f"{where}: outputs must be a sequence of Exprs, got {shown(outputs)}")
    given = tuple(outputs)
    for i, output in enumerate(given):
        if not isinstance(output, Expr):
            raise GraphError(f"{where}: expected an Expr at position {i} of the outputs, got {shown(output)}")
    return given


def toposort(outputs: Iterable[Expr]) -> list[Expr]:
    """Every node the outputs depend on, sources first, in one fixed order. Iterative."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack: list[tuple[Expr, int]] = []
    for output in outputs:
        if output in seen:
            continue
        seen.add(output)
        stack.append((output, 0))
        while stack:
            node, i = stack.pop()
            while i < len(node.sources):
                source = node.sources[i]
                i += 1
                if source not in seen:
                    seen.add(source)
                    stack.append((node, i))
                    stack.append((source, 0))
                    break
            else:
                order.append(node)
    return order
