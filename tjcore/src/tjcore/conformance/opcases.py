"""Graphs made from the op table: one small graph per op and element type, grouped into families that are built together.

In: the table. Out: families, label -> Expr. A new elementwise op or reduction gets its cases from its row alone; a view, a product or a leaf needs a
sample of its argument here, and `without_cases` names those that have none.

Names: inputs a, b, c are (N,); m is (M, K), k is (K, M), cube is (M, K, 3); left is (M, K), right is (K, N),
stack is (3, M, K), tower is (3, 2, M, K), gains is (K,).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import floor

from tjcore import Dim, DType, Expr, GraphError, constant, input
from tjcore.dims import maximum
from tjcore.dtypes import DTYPES, as_dtype
from tjcore.graph import apply
from tjcore.ops import OPS, Op

from .values import special

LARGEST = 1 << 17
N, M, K = Dim("N", 0, LARGEST), Dim("M", 0, LARGEST), Dim("K", 0, LARGEST)
LETTERS = "abcdefgh"

Family = Mapping[str, Expr]


def of_kind(kind: str) -> list[Op]:
    return [op for op in OPS.values() if op.kind == kind]


def steps(op: Op, dtype: DType) -> int:
    """How many neighbours away the op's result may lie from the reference evaluator's.

    The row's error is against the exact value, and the reference has rounded that too: half a unit for float32, computed in float64. For float64 the
    reference is NumPy's own function, itself good to some units.
    """
    if op.ulp == 0:
        return 0
    return floor(op.ulp + 0.5) if dtype.itemsize < 8 else floor(op.ulp) + 4


# ------------------------------------------------------------------------------------------------------------- elementwise


@cache
def elementwise(dtype: DType) -> Family:
    """Each elementwise op that takes this dtype, of inputs of shape (N,)."""
    makers: dict[str, Callable[[], Expr]] = {}
    for op in of_kind("elementwise"):
        if op.expand is not None:
            continue
        sources = operands(op, dtype, N)
        for arg in op.samples:
            label = op.name if arg is None else f"{op.name}-{arg}"
            makers[label] = lambda op=op, sources=sources, arg=arg: apply(op.name, sources, arg)  # type: ignore[misc]
    return _accepted(makers)


@cache
def composed(dtype: DType) -> Family:
    """The elementwise rows that stand for other expressions."""
    return _accepted({op.name: lambda op=op: apply(op.name, operands(op, dtype, N)) for op in OPS.values() if op.expand is not None})  # type: ignore[misc]


def operands(op: Op, dtype: DType, size: Dim) -> tuple[Expr, ...]:
    """Inputs for an elementwise op, of the dtypes that its row says: `a`, `b`... of `dtype`, others named with their dtype."""
    names = op.operands or ("",) * op.arity
    return tuple(
        _operand(f"{letter}_{name}" if name else letter, size, as_dtype(name or dtype))
        for letter, name in zip(LETTERS, names, strict=False)
    )


@cache
def _operand(name: str, size: Dim, dtype: DType) -> Expr:
    """One node for one name, so that several ops can be outputs of one graph."""
    return input(name, (size,), dtype)


def inputs_of(label: str, dtype: DType) -> tuple[Expr, ...]:
    """The inputs of a labelled elementwise graph."""
    return operands(op_of(label), dtype, N)


def op_of(label: str) -> Op:
    """The op that a label begins with."""
    return OPS[label.partition("-")[0]]


def _accepted(makers: Mapping[str, Callable[[], Expr]]) -> dict[str, Expr]:
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except GraphError:  # the row's own rule: this op is not there for this dtype
            continue
    return found


# -------------------------------------------------------------------------------------------------------------- reductions


@cache
def reductions(dtype: DType) -> Family:
    """Each reduction over a vector, over the inner, the outer and a middle axis, and of an expression."""
    a, m, cube = input("a", (K,), dtype), input("m", (M, K), dtype), input("cube", (M, K, 3), dtype)
    makers: dict[str, Callable[[], Expr]] = {}
    for op in of_kind("reduce"):
        for where, (x, axis) in {"vector": (a, 0), "inner": (m, 1), "outer": (m.permute((1, 0)), 0), "middle": (cube, 1)}.items():
            makers[f"{op.name}-{where}"] = lambda op=op, x=x, axis=axis: apply(op.name, (x,), axis)  # type: ignore[misc]
        makers[f"{op.name}-columns"] = lambda op=op: apply(op.name, (input("k", (K, M), dtype),), 0)  # type: ignore[misc]
        makers[f"{op.name}-fused"] = lambda op=op: apply(op.name, (m + m * a,), 1) - 1  # type: ignore[misc]
    return _accepted(makers)


@cache
def scans(dtype: DType) -> Family:
    """Each running fold over a vector, over the inner, the outer and a middle axis, of an expression and with work behind it."""
    a, m, cube = input("a", (K,), dtype), input("m", (M, K), dtype), input("cube", (M, K, 3), dtype)
    makers: dict[str, Callable[[], Expr]] = {}
    for op in of_kind("scan"):
        for where, (x, axis) in {"vector": (a, 0), "inner": (m, 1), "outer": (m.permute((1, 0)), 0), "middle": (cube, 1)}.items():
            makers[f"{op.name}-{where}"] = lambda op=op, x=x, axis=axis: apply(op.name, (x,), axis)  # type: ignore[misc]
        makers[f"{op.name}-columns"] = lambda op=op: apply(op.name, (input("k", (K, M), dtype),), 0)  # type: ignore[misc]
        makers[f"{op.name}-fused"] = lambda op=op: apply(op.name, (m + m * a,), 1) * m - 1  # type: ignore[misc]
        makers[f"{op.name}-twice"] = lambda op=op: apply(op.name, (apply(op.name, (m,), 1),), 0)  # type: ignore[misc]
    return _accepted(makers)


# --------------------------------------------------------------------------------------------------- views, products, leaves


@cache
def views(dtype: DType) -> Family:
    """Each view of matrices and of a tensor with an axis of size 1, alone and stacked."""
    a, m, cube, thin = input("a", (K,), dtype), input("m", (M, K), dtype), input("cube", (M, K, 3), dtype), input("thin", (M, 1, K), dtype)
    return _accepted(
        {
            "expand_dims-first": lambda: a.expand_dims(0),
            "expand_dims-last": lambda: m.expand_dims(-1),
            "squeeze-middle": lambda: thin.squeeze(1),
            "broadcast_to-rows": lambda: a.broadcast_to((M, K)),
            "broadcast_to-columns": lambda: thin.broadcast_to((M, N, K)),
            "transpose-matrix": lambda: m.permute((1, 0)),
            "transpose-last": lambda: cube.permute((0, 2, 1)),
            "transpose-round": lambda: cube.permute((2, 0, 1)),
            "slice-rows": lambda: m[1:],
            "slice-steps": lambda: cube[::-2, 1::3, ::-1] if dtype.kind == "bool" else cube[::-2, 1::3, ::-1] + cube[::-2, 1::3, ::-1],
            "reshape-merge": lambda: cube.reshape((-1, 3)),
            "reshape-copy": lambda: cube.permute((1, 0, 2)).reshape((-1,)),
            "reshape-split": lambda: m.expand_dims(2).broadcast_to((M, K, 4)).reshape((M, K, 2, 2)),
            "windows-columns": lambda: apply("windows", (m,), (1, maximum((K - 3 + 1) // 2, 0), 3, 2, 1)),
            "transpose-stacked": lambda: cube.permute((1, 0, 2)).expand_dims(0).broadcast_to((N, K, M, 3)).permute((3, 1, 0, 2)),
        }
    )


@cache
def joins(dtype: DType) -> Family:
    """Tensors joined along each axis, as they are and computed."""
    m, k, cube, thin = (
        input("m", (M, K), dtype),
        input("k", (K, M), dtype),
        input("cube", (M, K, 3), dtype),
        input("thin", (M, 1, K), dtype),
    )
    return _accepted(
        {
            "concat-rows": lambda: apply("concat", (m, k.permute((1, 0)), m[1:]), 0),
            "concat-columns": lambda: apply("concat", (m, m[:, ::-1], m[:, :2]), 1),
            "concat-computed": lambda: apply("concat", (cube + cube, m.expand_dims(2)), 2),
            "concat-read": lambda: apply("concat", (thin, thin), 1).reshape((M, -1)).permute((1, 0)),
        }
    )


@cache
def gathers(dtype: DType) -> Family:
    """Elements by index: of inputs and of computed tensors, along each axis; indices of both types, some outside."""
    m, cube, rows = input("m", (M, K), dtype), input("cube", (M, K, 3), dtype), apply("iota", (), M)
    return _accepted(
        {
            "take-rows": lambda: apply("take", (m, rows * 3 - 5), 0),
            "take-columns": lambda: apply("take", (cube, (rows - 2).astype("int32")), 1),
            "take-computed": lambda: apply("take", (m.permute((1, 0)), rows.expand_dims(1) - rows), 1),
            "take_along_axis-columns": lambda: apply("take_along_axis", (m, rows.expand_dims(1).broadcast_to((M, 4)) - 1), 1),
            "iota-mask": lambda: (rows.expand_dims(1) < apply("iota", (), K)).where(m, m[:, ::-1]),
        }
    )


@cache
def products(dtype: DType) -> Family:
    """Each product: plain, of transposed operands, of computed operands, with work behind it, twice."""
    left, right, wide = input("left", (M, K), dtype), input("right", (K, N), dtype), input("wide", (K, M), dtype)
    bias, scale, gains = input("bias", (N,), dtype), input("scale", (M,), dtype), input("gains", (K,), dtype)
    stack, tower = input("stack", (3, M, K), dtype), input("tower", (3, 2, M, K), dtype)
    return _accepted(
        {
            "matmul-plain": lambda: left @ right,
            "matmul-left-transposed": lambda: wide.T @ right,
            "matmul-right-transposed": lambda: left @ wide.T,
            "matmul-gram": lambda: wide.T @ wide,
            "matmul-computed": lambda: (left * scale.expand_dims(1) - 1) @ (right + bias),
            "matmul-epilogue": lambda: (left @ right + bias).relu() - scale.expand_dims(1),
            "matmul-twice": lambda: (left @ right) @ (right.T @ left.T),
            "matmul-summed": lambda: (left @ right).sum(0),
            "matmul-batch": lambda: stack @ stack.permute((0, 2, 1)),
            "matmul-batch-by-matrix": lambda: (stack @ right + bias).relu() * 2,
            "matmul-matrix-by-batch": lambda: left.T @ left.expand_dims(0).broadcast_to((3, M, K)),
            "matmul-batch-of-batches": lambda: tower @ stack.permute((0, 2, 1)).expand_dims(1) + scale,
            "matmul-row": lambda: gains @ right + bias,
            "matmul-column": lambda: (left @ gains - 1).relu() + scale,
            "matmul-vectors": lambda: gains @ gains,
            "matmul-batch-by-column": lambda: stack @ gains + scale,
            "matmul-row-by-batch": lambda: scale @ stack,
        }
    )


@cache
def leaves(dtype: DType) -> Family:
    """Inputs and constants as outputs, and sizes as numbers."""
    a = input("a", (N,), dtype)
    makers: dict[str, Callable[[], Expr]] = {"input-copied": lambda: a, "size-mean": lambda: input("m", (M, N), dtype).mean(0)}
    for i, value in enumerate(v for v in special(dtype) if dtype.kind != "float" or abs(v) < float("inf")):
        makers[f"constant-{i}"] = lambda value=value: constant(value.item(), dtype).broadcast_to((N,))  # type: ignore[misc]
    return _accepted(makers)


FAMILIES: Mapping[str, Callable[[DType], Family]] = {
    "elementwise": elementwise,
    "reduce": reductions,
    "scan": scans,
    "view": views,
    "join": joins,
    "gather": gathers,
    "contract": products,
    "leaf": leaves,
}
"""By kind of op. Labels begin with the op's name."""


def cases(kind: str) -> list[tuple[str, DType]]:
    """Every label of a kind with every dtype that has it, as parameters of a test."""
    return [(label, dtype) for dtype in DTYPES for label in FAMILIES[kind](dtype)]


def identify(value: object) -> str | None:
    """How pytest shows such a parameter: `exp-float32`."""
    return f"{value[0]}-{value[1]}" if isinstance(value, tuple) and isinstance(value[1], DType) else None


def without_cases() -> list[str]:
    """Ops of the table that no graph above uses: their row alone does not tell how, and a sample belongs in this module."""
    covered = {label.partition("-")[0] for kind in FAMILIES for label, _ in cases(kind)}
    covered |= {label for dtype in DTYPES for label in composed(dtype)}
    return [f"{op.name} ({op.kind})" for op in OPS.values() if op.name not in covered]
