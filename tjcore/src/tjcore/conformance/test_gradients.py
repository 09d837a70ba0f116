"""Gradients built by the toolchain against finite differences of the op's NumPy meaning in float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tjcore import Dim, DType, Expr, float32, float64, grad, input
from tjcore.graph import apply
from tjcore.ops import Op

from . import opcases
from .compiling import Compile, call, one_of

N = 24
INTERVALS = ((0.1, 0.4), (0.6, 0.9), (1.1, 1.4), (-0.4, -0.1))
"""Where to differentiate: away from 0, from 1 and from halves, on which some op has an edge; each op where it is defined."""
D = Dim("D", 1, 64)
FLOATS = (float32, float64)


@cache
def elementwise(dtype: DType) -> dict[str, Expr]:
    """For each differentiable elementwise op and each operand: the gradient of the weighted sum of its results."""
    found = {}
    weights = {kind: input(f"weights_{kind}", (D,), kind) for kind in FLOATS}
    for label in (*opcases.elementwise(dtype), *opcases.composed(dtype)):
        op, arg = opcases.op_of(label), argument(label)
        operands = opcases.operands(op, dtype, D)
        result = apply(op.name, operands, arg)
        if op.gradient is not None and result.dtype in FLOATS:
            wanted = [node for node in operands if node.dtype in FLOATS]
            for node, slope in zip(wanted, grad(result, wanted, cotangent=weights[result.dtype]), strict=True):
                found[f"{label}-{node.arg}"] = slope
    return found


def argument(label: str) -> Any:
    """The argument of the op in a label such as `cast-float64`."""
    return next((arg for arg in opcases.op_of(label).samples if str(arg) == label.partition("-")[2]), None)


def smooth_cases() -> list[tuple[str, DType]]:
    """Each op at the widest float type it takes."""
    wide = elementwise(float64)
    return [(label, float64) for label in wide] + [(label, float32) for label in elementwise(float32) if label not in wide]


def value(op: Op, arg: Any, operands: list[NDArray[Any]]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = np.asarray(op.meaning(None if op.samples == (None,) else arg, int, *operands), np.float64)
    return result


def difference(f: Callable[[NDArray[np.float64]], NDArray[np.float64]], x: NDArray[np.float64], step: float = 2e-4) -> NDArray[np.float64]:
    """The derivative, by a central difference of fourth order."""
    result: NDArray[np.float64] = (8 * (f(x + step) - f(x - step)) - (f(x + 2 * step) - f(x - 2 * step))) / (12 * step)
    return result


class TestGradients:
    """Every differentiable op of the table, and compositions of the structural ones."""

    @pytest.mark.parametrize("case", smooth_cases(), ids=opcases.identify)
    def test_elementwise(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        name, _, operand = label.rpartition("-")
        op, arg = opcases.op_of(name), argument(name)
        nodes = opcases.operands(op, dtype, D)
        which = next(i for i, node in enumerate(nodes) if node.arg == operand)
        compiled, at = one_of(compile, elementwise(dtype), label)
        random, tried = np.random.default_rng(4), 0
        for low, high in INTERVALS:
            points: list[NDArray[Any]] = [random.uniform(low, high, N).astype(dtype.numpy) for _ in nodes]
            points = [point if node.dtype in FLOATS else point > point.mean() for point, node in zip(points, nodes, strict=True)]
            operands = [point.astype(np.float64) if node.dtype in FLOATS else point for point, node in zip(points, nodes, strict=True)]
            with np.errstate(all="ignore"):
                slopes = difference(lambda x: value(op, arg, [*operands[:which], x, *operands[which + 1 :]]), operands[which])  # noqa: B023 - called at once
            if not np.isfinite(slopes).all():
                continue  # outside the op's domain
            tried += 1
            weights = random.uniform(0.5, 2, N).astype(np.float32)
            arrays: dict[str, Any] = {node.arg: point for node, point in zip(nodes, points, strict=True)}
            arrays |= {f"weights_{kind}": weights.astype(kind.numpy) for kind in FLOATS}
            got = call(compiled, arrays, {"D": N})[at]
            tolerance = (
                1e-3 if arg == "float32" else 1e-8 if dtype is float64 else 2e-5
            )  # a rounded value's slope is nearly that of the value
            np.testing.assert_allclose(
                got, slopes * weights, rtol=tolerance, atol=tolerance, err_msg=f"gradient of {name} in {low}..{high}"
            )
        assert tried, f"{name} is finite in none of {INTERVALS}"

    def test_structure(self, compile: Compile) -> None:
        x, w, b = input("x", (D, 5), float64), input("w", (5, 3), float64), input("b", (3,), float64)
        inner = x @ w + b
        shares = inner.max(1) * inner.min(0).sum(0) + inner.T.expand_dims(1).squeeze(1).sum(0)
        loss = (shares * shares).sum(0) + (x.T @ x).sum(0).sum(0)
        random = np.random.default_rng(8)
        arrays = {"x": random.standard_normal((7, 5)), "w": random.standard_normal((5, 3)), "b": random.standard_normal(3)}
        value_of = compile([loss])
        slopes = compile(list(grad(loss, (x, w, b))))(**arrays)
        for slope, (name, at) in zip(slopes, (("x", (2, 3)), ("w", (4, 1)), ("b", (0,))), strict=True):

            def along(t: NDArray[np.float64], name: str = name, at: tuple[int, ...] = at) -> NDArray[np.float64]:
                moved = arrays[name].copy()
                moved[at] += float(t)
                return np.asarray(value_of(**arrays | {name: moved})[0])

            np.testing.assert_allclose(slope[at], difference(along, np.float64(0), 1e-4), rtol=1e-6, err_msg=f"slope of {name}{at}")  # type: ignore[arg-type]
