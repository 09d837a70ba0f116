"""The op table: one row declares an op once, and everything else (graphs, evaluator, gradients, lowering, tests) reads the row.

A row holds the op's name, arity and kind, its shape and dtype rule, its NumPy meaning, its gradient rule and its accuracy.
An elementwise op's scalar meaning in loops has the op's own name (see `loops.SCALARS`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import dtypes, numerics
from .dims import Dim, Size, SizeExpr
from .dtypes import DType
from .errors import GraphError, shown
from .native.functions import FUNCTIONS

if TYPE_CHECKING:
    from .graph import Expr

Shape = tuple[Size, ...]
Kind = Literal["leaf", "elementwise", "view", "reduce", "contract"]
Meaning = Callable[..., Any]
"""`meaning(arg, size, *arrays)`: the NumPy value; `size` turns a `Size` into an int."""
Gradient = Callable[["Expr", "Expr"], Sequence["Expr | None"]]
"""`gradient(node, g)`: for the cotangent `g` of `node`, one cotangent per source (None: no gradient flows there)."""

MAX_RANK = 32


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the table. `ulp` is the largest error in units in the last place, 0 for correctly rounded."""

    name: str
    arity: int
    kind: Kind
    infer: Callable[[tuple[Expr, ...], Any], tuple[Shape, DType]]
    meaning: Meaning
    gradient: Gradient | None
    ulp: float = 0.0


def same(a: Size, b: Size) -> bool:
    """Whether two sizes are the same for every value of their symbols (structurally, which is how the canonical form proves it)."""
    return a is b or a == b


def show_shape(shape: Sequence[Size]) -> str:
    return "(" + ", ".join(str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"


def check_axis(op: str, axis: object, rank: int, *, new: bool = False) -> int:
    """`axis` as a non-negative int of a tensor of `rank` axes (`new`: of the result, which has one more)."""
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise GraphError(f"{op}: axis must be an int, got {shown(axis)}")
    count = rank + new
    if not -count <= axis < count:
        allowed = f"{-count}..{count - 1}" if count else "none, the tensor has no axes"
        raise GraphError(f"{op}: axis {shown(axis)} is out of range for a tensor of rank {rank}; allowed: {allowed}")
    return int(axis) % count


def broadcast_shapes(op: str, a: Shape, b: Shape) -> Shape:
    """NumPy's rule on declared sizes: equal sizes agree, the int 1 stretches; a symbol is never taken for 1."""
    rank = max(len(a), len(b))
    wide_a, wide_b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    out: list[Size] = []
    for axis, (x, y) in enumerate(zip(wide_a, wide_b, strict=True)):
        if same(x, y) or (isinstance(y, int) and y == 1):
            out.append(x)
        elif isinstance(x, int) and x == 1:
            out.append(y)
        else:
            why = "two symbols never broadcast" if not isinstance(x, int) and not isinstance(y, int) else "only the int 1 broadcasts"
            if str(x) == str(y):
                why = f"they are declared with different bounds, {x!r} and {y!r}; give both the same, or one another name"
            raise GraphError(f"{op}: shapes {show_shape(a)} and {show_shape(b)} do not broadcast: axis {axis - rank} is {x} and {y}; {why}")
    return tuple(out)


def check_shape(op: str, shape: object) -> Shape:
    """A shape as a user may write it: a sequence of Dims, size expressions and ints below 2**31."""
    if isinstance(shape, (int, np.integer, Dim, SizeExpr)) and not isinstance(shape, bool):
        shape = (shape,)
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise GraphError(f"{op}: shape must be a tuple of Dims and ints, got {shown(shape)}")
    out: list[Size] = []
    for axis, size in enumerate(shape):
        if isinstance(size, (Dim, SizeExpr)):
            out.append(size)
        elif isinstance(size, (int, np.integer)) and not isinstance(size, bool) and 0 <= size < 2**31:
            out.append(int(size))
        else:
            raise GraphError(f"{op}: axis {axis} must be a Dim or an int in 0..2**31-1, got {shown(size)}")
    if len(out) > MAX_RANK:
        raise GraphError(f"{op}: at most {MAX_RANK} axes, got {len(out)}")
    return tuple(out)


# ---------------------------------------------------------------- shape and dtype rules
def _leaf(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
    raise AssertionError("leaves carry their own shape and dtype")


def _elementwise(name: str) -> Callable[[tuple[Expr, ...], Any], tuple[Shape, DType]]:
    def infer(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
        first = sources[0]
        for other in sources[1:]:
            if other.dtype is not first.dtype:
                raise GraphError(f"{name}: operands must have one dtype, got {first.dtype} and {other.dtype}")
            if len(other.shape) != len(first.shape) or not all(map(same, first.shape, other.shape)):
                raise GraphError(f"{name}: operands must have one shape, got {show_shape(first.shape)} and {show_shape(other.shape)}")
        if first.dtype is dtypes.bool_:
            raise GraphError(f"{name}: needs numbers, got bool; cast it first")
        return first.shape, first.dtype

    return infer


def _float_elementwise(name: str) -> Callable[[tuple[Expr, ...], Any], tuple[Shape, DType]]:
    function = FUNCTIONS.get(name)

    def infer(sources: tuple[Expr, ...], arg: Any) -> tuple[Shape, DType]:
        shape, dtype = _elementwise(name)(sources, arg)
        if dtype.kind != "float":
            raise GraphError(f"{name}: needs a float dtype, got {dtype}; cast it first")
        if function is not None and dtype.short not in function.dtypes:
            raise GraphError(f"{name}: is not there for {dtype} yet; it is for {', '.join(function.dtypes)}")
        return shape, dtype

    return infer


def _stored_axis(op: str, axis: object, count: int) -> int:
    """An axis as nodes hold it: counted from the front. Graph text can say anything here."""
    if type(axis) is not int or not 0 <= axis < count:
        allowed = f"an int in 0..{count - 1}" if count else "a tensor that has axes"
        raise GraphError(f"{op}: expected {allowed}, got {shown(axis)}")
    return axis


def _infer_expand_dims(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
    (x,) = sources
    axis = _stored_axis("expand_dims", axis, len(x.shape) + 1)
    if len(x.shape) == MAX_RANK:
        raise GraphError(f"expand_dims: at most {MAX_RANK} axes, and shape {show_shape(x.shape)} has {MAX_RANK} already")
    return (*x.shape[:axis], 1, *x.shape[axis:]), x.dtype


def _infer_squeeze(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
    (x,) = sources
    axis = _stored_axis("squeeze", axis, len(x.shape))
    if x.shape[axis] != 1:
        raise GraphError(f"squeeze: axis {axis} of shape {show_shape(x.shape)} is {x.shape[axis]}, expected the int 1")
    return (*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype


def _infer_broadcast(sources: tuple[Expr, ...], shape: object) -> tuple[Shape, DType]:
    (x,) = sources
    if not isinstance(shape, tuple):
        raise GraphError(f"broadcast_to: expected a shape such as (N, 3), got {shown(shape)}")
    if len(shape) < len(x.shape):
        raise GraphError(f"broadcast_to: {show_shape(shape)} has fewer axes than {show_shape(x.shape)}")
    for back in range(1, len(x.shape) + 1):
        have, want = x.shape[-back], shape[-back]
        if not same(have, want) and not (isinstance(have, int) and have == 1):
            raise GraphError(
                f"broadcast_to: shape {show_shape(x.shape)} does not broadcast to {show_shape(shape)}: "
                f"axis {-back} is {have}, wanted {want}; only the int 1 stretches"
            )
    return shape, x.dtype


def _infer_transpose(sources: tuple[Expr, ...], perm: object) -> tuple[Shape, DType]:
    (x,) = sources
    if not isinstance(perm, tuple) or not all(type(axis) is int for axis in perm):
        raise GraphError(f"transpose: expected axes such as (1, 0), got {shown(perm)}")
    if sorted(perm) != list(range(len(x.shape))):
        raise GraphError(f"transpose: axes {perm} are no permutation of the {len(x.shape)} axes of {show_shape(x.shape)}")
    return tuple(x.shape[p] for p in perm), x.dtype


def _infer_reduce(name: str) -> Callable[[tuple[Expr, ...], Any], tuple[Shape, DType]]:
    def infer(sources: tuple[Expr, ...], axis: object) -> tuple[Shape, DType]:
        (x,) = sources
        _check_accumulates(name, x.dtype)
        axis = _stored_axis("a reduction's axis", axis, len(x.shape))
        return (*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype

    return infer


def _check_accumulates(name: str, dtype: DType) -> None:
    """Folds and chains are built for the types that results are commonly kept in."""
    if dtype.kind not in ("float", "int"):
        raise GraphError(f"{name}: is for float32, float64, int32 and int64, got {dtype}; cast it first")


def _infer_matmul(sources: tuple[Expr, ...], arg: None) -> tuple[Shape, DType]:
    a, b = sources
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise GraphError(f"matmul: both operands must have rank 2, got {show_shape(a.shape)} and {show_shape(b.shape)}")
    if a.dtype is not b.dtype:
        raise GraphError(f"matmul: operands must have one dtype, got {a.dtype} and {b.dtype}")
    _check_accumulates("matmul", a.dtype)
    if not same(a.shape[1], b.shape[0]):
        hint = "; transpose one operand?" if same(a.shape[0], b.shape[0]) or same(a.shape[1], b.shape[1]) else ""
        raise GraphError(f"matmul: inner sizes differ, {a.shape[1]} (left, axis 1) and {b.shape[0]} (right, axis 0){hint}")
    return (a.shape[0], b.shape[1]), a.dtype


# ---------------------------------------------------------------- meanings beyond one NumPy call
def _relu(arg: None, size: Any, x: Any) -> Any:
    return np.where(x > 0, x, np.zeros((), x.dtype))


def _positive(arg: None, size: Any, x: Any) -> Any:
    return (x > 0).astype(x.dtype)


def _sum(axis: int, size: Any, x: Any) -> Any:
    zero = -0.0 if x.dtype.kind == "f" else 0
    with np.errstate(all="ignore"):
        return numerics.fold(np.add, zero, 0, x, axis)


def _extreme(op: Callable[[Any, Any], Any], sign: int) -> Meaning:
    def meaning(axis: int, size: Any, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return numerics.fold(op, lowest(dtypes.as_dtype(x.dtype), sign), 0, x, axis)

    return meaning


def lowest(dtype: DType, sign: int = 1) -> float:
    """The identity of max, or of min for `sign` -1: the least (greatest) value there is."""
    if dtype.kind == "float":
        return -math.inf * sign
    info = np.iinfo(dtype.numpy)
    return int(info.min if sign > 0 else info.max)


def _wide(function: Callable[..., Any]) -> Meaning:
    """The function in float64, rounded: for float32 that is correct but for the rarest ties."""

    def meaning(arg: None, size: Any, *arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*(np.asarray(a, np.float64) for a in arrays)).astype(arrays[0].dtype)

    return meaning


def _quiet(ufunc: Callable[..., Any]) -> Meaning:
    def meaning(arg: None, size: Any, *arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            return ufunc(*arrays)

    return meaning


# ---------------------------------------------------------------- gradient rules
def _broadcast_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    (x,) = node.sources
    added = len(node.shape) - len(x.shape)
    for _ in range(added):
        g = g.sum(0)
    for axis, (have, want) in enumerate(zip(x.shape, node.shape[added:], strict=True)):
        if not same(have, want):
            g = g.sum(axis).expand_dims(axis)
    return (g,)


def _transpose_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    back = tuple(int(i) for i in np.argsort(node.arg))
    return (g.permute(back),)


def _sum_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    (x,) = node.sources
    return (g.expand_dims(node.arg).broadcast_to(x.shape),)


def _matmul_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    a, b = node.sources
    return g @ b.transpose(), a.transpose() @ g


def _extreme_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    """To the elements that equal the extreme, in equal parts."""
    (x,) = node.sources
    axis = node.arg
    ties = x.equals(node.expand_dims(axis).broadcast_to(x.shape))
    share = (g / ties.sum(axis)).expand_dims(axis).broadcast_to(x.shape)
    return (ties * share,)


def _pick_gradient(node: Expr, g: Expr) -> Sequence[Expr]:
    """To the operand that was taken, half to each where they are equal."""
    a, b = node.sources
    half = a.equals(b) * 0.5
    first = half + (a - b).positive() if node.op == "maximum" else half + (b - a).positive()
    return g * first, g * (1 - first)


def _row(name: str, arity: int, meaning: Meaning, gradient: Gradient | None) -> Op:
    return Op(name, arity, "elementwise", _elementwise(name), meaning, gradient)


def _float_row(name: str, arity: int, meaning: Meaning, gradient: Gradient | None) -> Op:
    ulp = max(FUNCTIONS[name].ulp.values()) if name in FUNCTIONS else 0.0
    return Op(name, arity, "elementwise", _float_elementwise(name), meaning, gradient, ulp)


def _sigmoid(x: Any) -> Any:
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


_erf = np.vectorize(math.erf, otypes=[np.float64])

# Transcendental functions: the meaning in float64 NumPy, and the gradient. A function is an op as soon as native/math has it.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], Gradient]] = {
    "exp": (np.exp, lambda node, g: (g * node,)),
    "exp2": (np.exp2, lambda node, g: (g * node * math.log(2),)),
    "expm1": (np.expm1, lambda node, g: (g * (node + 1),)),
    "log": (np.log, lambda node, g: (g / node.sources[0],)),
    "log2": (np.log2, lambda node, g: (g / (node.sources[0] * math.log(2)),)),
    "log10": (np.log10, lambda node, g: (g / (node.sources[0] * math.log(10)),)),
    "log1p": (np.log1p, lambda node, g: (g / (node.sources[0] + 1),)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda node, g: (g * -0.5 * node / node.sources[0],)),
    "sigmoid": (_sigmoid, lambda node, g: (g * node * (1 - node),)),
    "tanh": (np.tanh, lambda node, g: (g * (1 - node * node),)),
    "erf": (_erf, lambda node, g: (g * (2 / math.sqrt(math.pi)) * (-(node.sources[0] * node.sources[0])).exp(),)),
    "sin": (np.sin, lambda node, g: (g * node.sources[0].cos(),)),
    "cos": (np.cos, lambda node, g: (-(g * node.sources[0].sin()),)),
    "tan": (np.tan, lambda node, g: (g * (1 + node * node),)),
    "asin": (np.arcsin, lambda node, g: (g / (1 - node.sources[0] * node.sources[0]).sqrt(),)),
    "acos": (np.arccos, lambda node, g: (-(g / (1 - node.sources[0] * node.sources[0]).sqrt()),)),
    "atan": (np.arctan, lambda node, g: (g / (1 + node.sources[0] * node.sources[0]),)),
    "sinh": (np.sinh, lambda node, g: (g * node.sources[0].cosh(),)),
    "cosh": (np.cosh, lambda node, g: (g * node.sources[0].sinh(),)),
    "asinh": (np.arcsinh, lambda node, g: (g / (node.sources[0] * node.sources[0] + 1).sqrt(),)),
    "acosh": (np.arccosh, lambda node, g: (g / (node.sources[0] * node.sources[0] - 1).sqrt(),)),
    "atanh": (np.arctanh, lambda node, g: (g / (1 - node.sources[0] * node.sources[0]),)),
    "cbrt": (np.cbrt, lambda node, g: (g * node / (node.sources[0] * 3),)),
    "pow": (
        np.power,
        lambda node, g: (
            g * node.sources[1] * node.sources[0].pow(node.sources[1] - 1),
            g * node * node.sources[0].log(),
        ),
    ),
}


def _unreachable(arg: Any, size: Any, *arrays: Any) -> Any:
    raise AssertionError("leaves are given, not computed")


OPS: dict[str, Op] = {
    op.name: op
    for op in (
        Op("input", 0, "leaf", _leaf, _unreachable, None),
        Op("constant", 0, "leaf", _leaf, _unreachable, None),
        Op("size", 0, "leaf", _leaf, _unreachable, None),
        _row("add", 2, _quiet(np.add), lambda node, g: (g, g)),
        _row("sub", 2, _quiet(np.subtract), lambda node, g: (g, -g)),
        _row("mul", 2, _quiet(np.multiply), lambda node, g: (g * node.sources[1], g * node.sources[0])),
        _row("neg", 1, _quiet(np.negative), lambda node, g: (-g,)),
        _row("relu", 1, _relu, lambda node, g: (g * node.sources[0].positive(),)),
        _row("positive", 1, _positive, lambda node, g: (None,)),
        _row("equals", 2, lambda a, s, x, y: (x == y).astype(x.dtype), lambda node, g: (None, None)),
        _row("abs", 1, _quiet(np.abs), lambda node, g: (g * (node.sources[0].positive() - (-node.sources[0]).positive()),)),
        _row("maximum", 2, _quiet(numerics.maximum), _pick_gradient),
        _row("minimum", 2, _quiet(numerics.minimum), _pick_gradient),
        _float_row("div", 2, _quiet(np.divide), lambda node, g: (g / node.sources[1], -(g * node / node.sources[1]))),
        _float_row("sqrt", 1, _quiet(np.sqrt), lambda node, g: (g * 0.5 / node,)),
        _float_row("floor", 1, _quiet(np.floor), lambda node, g: (None,)),
        _float_row("ceil", 1, _quiet(np.ceil), lambda node, g: (None,)),
        _float_row("trunc", 1, _quiet(np.trunc), lambda node, g: (None,)),
        _float_row("round", 1, _quiet(np.rint), lambda node, g: (None,)),
        *(_float_row(name, FUNCTIONS[name].arity, _wide(f), slope) for name, (f, slope) in _FUNCTIONS.items() if name in FUNCTIONS),
        Op("expand_dims", 1, "view", _infer_expand_dims, lambda a, s, x: np.expand_dims(x, a), lambda node, g: (g.squeeze(node.arg),)),
        Op("squeeze", 1, "view", _infer_squeeze, lambda a, s, x: np.squeeze(x, a), lambda node, g: (g.expand_dims(node.arg),)),
        Op("broadcast_to", 1, "view", _infer_broadcast, lambda a, s, x: np.broadcast_to(x, tuple(map(s, a))), _broadcast_gradient),
        Op("transpose", 1, "view", _infer_transpose, lambda a, s, x: np.transpose(x, a), _transpose_gradient),
        Op("sum", 1, "reduce", _infer_reduce("sum"), _sum, _sum_gradient),
        Op("max", 1, "reduce", _infer_reduce("max"), _extreme(numerics.maximum, 1), _extreme_gradient),
        Op("min", 1, "reduce", _infer_reduce("min"), _extreme(numerics.minimum, -1), _extreme_gradient),
        Op("matmul", 2, "contract", _infer_matmul, lambda a, s, x, y: numerics.product(x, y), _matmul_gradient),
    )
}
