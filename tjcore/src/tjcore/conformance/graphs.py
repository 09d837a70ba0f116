"""Graphs of some size to hold the numeric contract on: networks written by hand, and random ones grown from the op table.

In: nothing, or a seed. Out: `Sample`s: outputs, and how to make arrays for given sizes. In `exact` samples every op is exactly
defined, so the reference evaluator gives their very bits. `row_axes` tells which outputs have rows that do not know each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tjcore import Dim, DType, Expr, GraphError, float32, float64, grad, input, int32, int64, matmul
from tjcore.dims import evaluate, symbols
from tjcore.graph import apply
from tjcore.ops import OPS, Shape
from tjcore.traversal import toposort

from . import opcases
from .values import mixed


@dataclass(frozen=True)
class Sample:
    """Outputs to compile, their inputs, whether all ops are exactly defined, and which outputs have one row per element of axis 0's symbol B."""

    name: str
    outputs: tuple[Expr, ...]
    inputs: tuple[Expr, ...]
    exact: bool
    rows: tuple[int, ...] = ()
    wild: bool = True
    """Whether the reference gives the very bits for special values too: float64 products are exact only short of overflow and underflow."""

    def __str__(self) -> str:
        return self.name

    def arrays(self, sizes: Mapping[str, int], seed: int = 0, special: float = 0.0) -> dict[str, NDArray[Any]]:
        """Arrays for the inputs; `special` is the share of NaN, infinities, zeros of both signs, subnormals and other ends of the range."""
        random = np.random.default_rng(seed)
        shapes = {node.arg: [s if isinstance(s, int) else evaluate(s, sizes) for s in node.shape] for node in self.inputs}
        return {node.arg: mixed(node.dtype, shapes[node.arg], random, special) for node in self.inputs}


B, H = Dim("B", 1, 4096), Dim("H", 1, 512)


@cache
def classifier() -> Sample:
    """A two-layer classifier with softmax, its loss, and the gradients of its weights: forward and backward in one graph."""
    x, y = input("x", (B, 24)), input("y", (B, 10))
    w1, b1, w2, b2 = input("w1", (24, 48)), input("b1", (48,)), input("w2", (48, 10)), input("b2", (10,))
    scores = (x @ w1 + b1).relu() @ w2 + b2
    shifted = scores - scores.max(1).expand_dims(1).broadcast_to((B, 10))
    powers = shifted.exp()
    total = powers.sum(1)
    probabilities = powers / total.expand_dims(1).broadcast_to((B, 10))
    loss = ((total.log().expand_dims(1).broadcast_to((B, 10)) - shifted) * y).sum(1)
    slopes = grad(loss.sum(0), (w1, b1, w2, b2))
    return Sample("classifier", (probabilities, loss, *slopes), (x, y, w1, b1, w2, b2), False, rows=(0, 1))


@cache
def residual(dtype: DType) -> Sample:
    """A deep network on which many temporaries live at once and die at different times: the planner's work shows here."""
    x, w, b = input("x", (B, H), dtype), input("w", (H, H), dtype), input("b", (H,), dtype)
    h, kept = x, []
    for i in range(6):
        inner = (h @ w + b).relu()
        h = h - inner.sum(1).expand_dims(1).broadcast_to((B, H)) * 2 if i % 2 else inner + h
        kept.append(h)
    per_row = (kept[1] * kept[4] - h).sum(1)
    across = h.T @ kept[2]
    return Sample(f"residual-{dtype}", (h, per_row, across.sum(0), kept[3]), (x, w, b), True, rows=(0, 1, 3))


@cache
def statistics() -> Sample:
    """Means, variances, extremes and what is normalised by them, along both axes."""
    x = input("x", (B, H))
    centred = x - x.mean(1).expand_dims(1).broadcast_to((B, H))
    variance = (centred * centred).mean(1)
    normal = centred / (variance + 1e-5).sqrt().expand_dims(1).broadcast_to((B, H))
    spread = normal.max(1) - normal.min(1)
    columns = x.sum(0) + normal.max(0)
    return Sample("statistics", (normal, spread, variance, columns), (x,), True, rows=(0, 1, 2))


def samples() -> list[Sample]:
    """The networks written by hand."""
    return [classifier(), statistics(), residual(float32), residual(float64), residual(int32)]


# ---------------------------------------------------------------------------------------------------------- random graphs

P, Q = Dim("P", 0, 1 << 12), Dim("Q", 0, 1 << 12)
RANDOM_DTYPES = (float32, float64, int32, int64)
MAX_STEPS = 30
NUMBERS = (0, 1, 2, -1, 3, 0.5, -0.25, -0.0, 0.1, 1e-40, 3e38)


class _Growing:
    """A graph as it grows: each step takes nodes that are there and adds one, or nothing where the op refuses them."""

    def __init__(self, dtype: DType, random: Random, exact: bool) -> None:
        self.random = random
        self.dtype = dtype
        self.exact = exact
        shapes: dict[str, Shape] = {"x": (P, Q), "y": (P, Q), "v": (Q,), "u": (P,), "line": (1, Q), "column": (P, 1), "cube": (P, 3, Q)}
        self.inputs = tuple(input(name, shape, dtype) for name, shape in shapes.items())
        self.nodes: list[Expr] = list(self.inputs)
        self.tame: set[Expr] = set(self.inputs)  # values as given, which no product can drive out of the range
        self.multiplied = False
        names = {opcases.op_of(label).name for label in opcases.elementwise(dtype)}
        self.elementwise = [op for op in opcases.of_kind("elementwise") if op.name in names and not (exact and op.ulp)]
        self.reductions = [op for op in opcases.of_kind("reduce") if not (exact and op.ulp)]

    def step(self) -> None:
        steps = {
            "elementwise": self._elementwise,
            "number": self._number,
            "reduce": self._reduce,
            "view": self._view,
            "product": self._product,
            "slope": self._slope,
        }
        kind = self.random.choice(
            ("elementwise", "elementwise", "elementwise", "elementwise", "number", "reduce", "view", "view", "product", "slope")
        )
        node = self.pick()
        try:
            added: Expr = steps[kind](node)
        except GraphError:  # shapes or dtypes that do not go together: an op's own business
            return
        if all(isinstance(s, int) or s in (P, Q) for s in added.shape) and len(added.shape) <= 4:
            self.nodes.append(added)

    def pick(self) -> Expr:
        """A node, more often a late one, so that graphs grow deep."""
        return self.nodes[-1 - min(self.random.randrange(len(self.nodes)) for _ in range(3))]

    def _elementwise(self, node: Expr) -> Expr:
        op = self.random.choice(self.elementwise)
        operands = []
        for i, name in enumerate(op.operands or ("",) * op.arity):
            operand = node if i == op.arity - 1 else self.fit(self.pick(), node.shape)
            operands.append(operand.astype(name or node.dtype))
        added = apply(op.name, tuple(operands), self.random.choice(op.samples))
        if added.dtype is float64 and self.dtype is not float64:
            raise GraphError("float64 has rules of its own")
        return added

    def fit(self, other: Expr, shape: Shape) -> Expr:
        """The other operand at this shape: as it is, stretched, turned or summed until it fits."""
        for candidate in (other, other.permute(tuple(reversed(range(other.rank)))) if other.rank else other, *self.inputs):
            try:
                return candidate.broadcast_to(shape)
            except GraphError:
                continue
        raise GraphError("nothing fits")

    def _number(self, node: Expr) -> Expr:
        value = self.random.choice(NUMBERS)
        added = self.random.choice((lambda: node + value, lambda: node * value, lambda: value - node))()
        if added.dtype is not node.dtype:
            raise GraphError("a fraction turns integers into float64")
        return added

    def _reduce(self, node: Expr) -> Expr:
        if not node.rank:
            raise GraphError("a scalar has no axis")
        axis = self.random.randrange(node.rank)
        reduced = apply(self.random.choice(self.reductions).name, (node,), axis)
        return reduced.expand_dims(axis).broadcast_to(node.shape) if self.random.random() < 0.6 else reduced

    def _view(self, node: Expr) -> Expr:
        choice = self.random.randrange(4)
        if choice == 0:
            return node.expand_dims(self.random.randint(0, node.rank))
        if choice == 1 and 1 in node.shape:
            return node.squeeze(node.shape.index(1))
        if choice == 2:
            return node.broadcast_to((P, Q)) if node.rank < 2 else node.broadcast_to((2, *node.shape))
        view = node.permute(self.random.sample(range(node.rank), node.rank))
        if node in self.tame:
            self.tame.add(view)
        return view

    def _product(self, node: Expr) -> Expr:
        # NumPy has no fused multiply-add: for float64 the reference's own is exact only where nothing overflows or underflows.
        if self.dtype is float64 and node not in self.tame:
            node = self.random.choice(self.inputs[:2])
        partners = [n for n in self.nodes if n.rank == 2 and n.dtype is node.dtype and (self.dtype is not float64 or n in self.tame)]
        if not partners:
            raise GraphError("no partner")
        partner = self.random.choice(partners)
        for right in (partner, partner.T):
            try:
                added = matmul(node, right)
            except GraphError:
                continue
            self.multiplied = True
            return added
        raise GraphError("no partner")

    def _slope(self, node: Expr) -> Expr:
        """The gradient of a node, weighted by another, with respect to an earlier one."""
        if self.dtype is float64 and self.multiplied:
            raise GraphError("the gradient of a product is a product, of values that may be anything")
        weights = self.fit(self.pick(), node.shape)
        slope = grad(node, self.pick(), cotangent=weights)
        if self.exact and inexact_ops((slope,)):
            raise GraphError("not exactly defined")
        return slope


def grow(seed: int, exact: bool = True) -> Sample:
    """The graph of a seed: up to MAX_STEPS random ops, its outputs most of what nothing reads. `exact`: of exactly defined ops only."""
    random = Random(seed)
    dtype = random.choice(RANDOM_DTYPES if exact else RANDOM_DTYPES[:2])
    growing = _Growing(dtype, random, exact)
    wanted = len(growing.nodes) + random.randint(2, MAX_STEPS)
    for _ in range(3 * MAX_STEPS):  # some steps add nothing
        if len(growing.nodes) < wanted:
            growing.step()
    read = {source for node in growing.nodes for source in node.sources}
    last = [node for node in growing.nodes if node not in read and node.sources] or [growing.nodes[-1]]
    picked = random.sample(last, min(len(last), random.randint(1, 4)))
    picked += [growing.pick() for _ in range(random.choice((0, 0, 1, 2)))]
    outputs = tuple(dict.fromkeys(picked))
    return Sample("random", outputs, growing.inputs, exact and not inexact_ops(outputs), wild=not (dtype is float64 and growing.multiplied))


def random_samples(exact: bool = True) -> st.SearchStrategy[Sample]:
    """Random graphs for hypothesis. It chooses seeds: graphs grow deeper so than by its own small steps, and `shrink` makes them small."""
    return st.integers(0, 2**32 - 1).map(lambda seed: grow(seed, exact))


Rows = int | Literal["none", "mixed"]
"""How a node depends on a batch: by the rows of one axis, not at all, or in a way that mixes rows."""


def row_axes(outputs: tuple[Expr, ...], batch: Dim) -> list[int | None]:
    """For each output the axis of size `batch` along which its rows do not know each other; None where there is none, or it cannot be told."""
    found: dict[Expr, Rows] = {}
    for node in toposort(outputs):
        axes = [axis for axis, size in enumerate(node.shape) if not isinstance(size, int) and batch in symbols(size)]
        rows: Rows = "mixed" if len(axes) > 1 or any(node.shape[axis] != batch for axis in axes) else axes[0] if axes else "none"
        if node.op == "size" and batch in symbols(node.arg):
            rows = "mixed"
        found[node] = rows if rows == "mixed" else _rows(node, rows, [found[source] for source in node.sources])
    return [rows if isinstance(rows := found[output], int) else None for output in outputs]


def _rows(node: Expr, at: Rows, sources: list[Rows]) -> Rows:
    """What the op makes of its sources' rows, if the result's only axis of the batch is `at`."""
    if "mixed" in sources:
        return "mixed"
    if not sources or all(rows == "none" for rows in sources):
        return at
    if OPS[node.op].kind == "elementwise" or node.op in ("expand_dims", "squeeze", "transpose", "broadcast_to"):
        return at
    if OPS[node.op].kind == "reduce":
        return "mixed" if sources[0] == node.arg else at
    if node.op == "matmul":
        inner = (node.sources[0].rank - 1, max(node.sources[1].rank - 2, 0))
        return "mixed" if sources[0] == inner[0] or sources[1] == inner[1] or at == "none" else at
    return "mixed"  # an op that this does not know


def inexact_ops(outputs: tuple[Expr, ...]) -> set[str]:
    """Ops in the graph that are not exactly defined."""
    seen, stack, found = set(outputs), list(outputs), set()
    while stack:
        node = stack.pop()
        if OPS[node.op].ulp:
            found.add(node.op)
        for source in node.sources:
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return found
