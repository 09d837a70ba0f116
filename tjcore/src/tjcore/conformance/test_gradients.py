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
from tjcore.ops import OPS, Op

from . import opcases
from .compiling import Compile, one_of

N = 24
INTERVALS = ((0.1, 0.4), (0.6, 0.9), (1.1, 1.4), (-0.4, -0.1))
"""Where to differentiate: away from 0, from 1 and from halves, on which some op has an edge; each op where it is defined."""
D = Dim("D", 1, 64)


@cache
def elementwise(dtype: DType) -> dict[str, Expr]:
    """For each differentiable elementwise op and each operand: the gradient of the weighted sum of its results."""
    found = {}
    inputs = [input(letter, (D,), dtype) for letter in opcases.LETTERS]
    weights = input("weights", (D,), dtype)
    for label in opcases.elementwise(dtype):
        op = OPS[label]
        if op.gradient is not None:
            operands = tuple(inputs[: op.arity])
            for i, slope in enumerate(grad(apply(op.name, operands), operands, cotangent=weights)):
                found[f"{label}-{opcases.LETTERS[i]}"] = slope
    return found


def smooth_cases() -> list[tuple[str, DType]]:
    """Each op at the widest float type it takes."""
    wide = elementwise(float64)
    return [(label, float64) for label in wide] + [(label, float32) for label in elementwise(float32) if label not in wide]


def value(op: Op, operands: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = np.asarray(op.meaning(None, int, *operands), np.float64)
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
        name, _, letter = label.rpartition("-")
        op, which = OPS[name], opcases.LETTERS.index(letter)
        compiled, at = one_of(compile, elementwise(dtype), label)
        random, tried = np.random.default_rng(4), 0
        for low, high in INTERVALS:
            points = [random.uniform(low, high, N).astype(dtype.numpy).astype(np.float64) for _ in opcases.LETTERS]
            operands = points[: op.arity]
            with np.errstate(all="ignore"):
                slopes = difference(lambda x: value(op, [*operands[:which], x, *operands[which + 1 :]]), operands[which])  # noqa: B023 - called at once
            if not np.isfinite(slopes).all():
                continue  # outside the op's domain
            tried += 1
            weights = random.uniform(0.5, 2, N).astype(dtype.numpy)
            arrays: dict[str, Any] = {x: p.astype(dtype.numpy) for x, p in zip(opcases.LETTERS, points, strict=True)} | {"weights": weights}
            inputs = {node.arg: arrays[node.arg] for node in compiled.plan.inputs}
            got = compiled.run_with_bindings({"D": N}, **inputs)[at]
            tolerance = 1e-8 if dtype is float64 else 2e-5
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
