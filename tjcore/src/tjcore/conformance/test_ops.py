"""Every op of the table, for every element type that it takes, against the reference evaluator: sizes around every edge, and special values."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tjcore import CallError, DType, TensorJitError, evaluate_graph
from tjcore.dtypes import DTYPES
from tjcore.numerics import BLOCK_STEPS, lanes_of
from tjcore.ops import OPS

from . import opcases
from .compare import assert_same
from .compiling import Arrays, Compile, call, one_of
from .values import combinations, finite, mixed, ordinary

LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 255, 1023, 1025, 4099)
"""Sizes of an axis that is split into vectors: empty, single, odd, one around each vector length, several of each."""
PRODUCT_SIZES = (
    *((1, 1, 1), (2, 3, 4), (0, 5, 3), (3, 0, 2), (3, 5, 0), (1, 257, 1), (5, 255, 17), (7, 256, 9)),
    *((17, 513, 33), (33, 70, 64), (64, 16, 130), (130, 20, 7)),
)
"""(M, K, N): empty ones, chains of less than, exactly and more than one block of 256, tiles that fit and that do not."""


def check(compile: Compile, family: opcases.Family, label: str, arrays: Arrays, sizes: dict[str, int]) -> None:
    """The labelled graph at these sizes is what the reference evaluator says."""
    compiled, at = one_of(compile, family, label)
    got = call(compiled, arrays, sizes)[at]
    expr = family[label]
    (want,) = evaluate_graph([expr], arrays, sizes)
    allowed = opcases.steps(OPS[expr.op], expr.dtype)
    assert_same(got, want, f"{label} {expr.dtype} at {sizes}", allowed)


class TestTable:
    """What the suite itself covers; no backend is asked."""

    once = True

    def test_every_op_has_cases(self) -> None:
        bare = opcases.without_cases()
        assert not bare, f"ops that the suite does not test: {', '.join(bare)}; give them a graph in tjcore/conformance/opcases.py"


class TestElementwise:
    """Ops that work element by element."""

    @pytest.mark.parametrize("case", opcases.cases("elementwise"), ids=opcases.identify)
    def test_sizes(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        random = np.random.default_rng(1)
        for n in LENGTHS:
            arrays = {node.arg: ordinary(node.dtype, (n,), random) for node in opcases.inputs_of(label, dtype)}
            check(compile, opcases.elementwise(dtype), label, arrays, {"N": n})

    @pytest.mark.parametrize("case", opcases.cases("elementwise"), ids=opcases.identify)
    def test_special_values(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        random = np.random.default_rng(2)
        arrays = special_arrays(label, dtype)
        order = random.permutation(len(next(iter(arrays.values()))))  # so that one vector holds unlike values
        arrays = {name: column[order] for name, column in arrays.items()}
        check(compile, opcases.elementwise(dtype), label, arrays, {"N": len(order)})


def special_arrays(label: str, dtype: DType) -> dict[str, NDArray[Any]]:
    """Every combination of special values of the labelled op's operands."""
    nodes = opcases.inputs_of(label, dtype)
    return dict(zip((node.arg for node in nodes), combinations([node.dtype for node in nodes]), strict=True))


class TestReductions:
    """Ops that fold an axis, over every edge of the tree: lanes, blocks, several blocks."""

    @pytest.mark.parametrize("case", opcases.cases("reduce"), ids=opcases.identify)
    def test_extents(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        for i, (k, m) in enumerate(zip(extents(dtype), cycle((3, 17, 1, 2, 0, 65, 5)), strict=False)):
            random = np.random.default_rng(i)
            arrays = tensors(dtype, m, k, random, ordinary)
            check(compile, opcases.reductions(dtype), label, arrays, {"M": m, "K": k})

    @pytest.mark.parametrize("case", opcases.cases("reduce"), ids=opcases.identify)
    def test_special_values(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        for i, (k, share) in enumerate(((1, 1.0), (2, 1.0), (9, 0.2), (1100, 0.001), (1100, 0.0))):
            random = np.random.default_rng(10 + i)
            arrays = tensors(dtype, 33, k, random, lambda d, s, r, share=share: mixed(d, s, r, share))
            if not share:
                arrays = {name: np.copysign(0, x).astype(x.dtype) if dtype.kind == "float" else x for name, x in arrays.items()}
            check(compile, opcases.reductions(dtype), label, arrays, {"M": 33, "K": k})

    @pytest.mark.parametrize("case", opcases.cases("reduce"), ids=opcases.identify)
    def test_empty_axis(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        expr = opcases.reductions(dtype)[label]
        compiled = compile([expr])
        arrays, sizes = tensors(dtype, 5, 0, np.random.default_rng(0), ordinary), {"M": 5, "K": 0}
        if label.startswith(("sum", "prod")):
            assert_same(call(compiled, arrays, sizes)[0], evaluate_graph([expr], arrays, sizes)[0], f"{label} over an empty axis")
            return
        with pytest.raises(CallError):  # there is no largest of nothing
            call(compiled, arrays, sizes)


def extents(dtype: DType) -> list[int]:
    lanes = lanes_of(dtype.itemsize)
    block = lanes * BLOCK_STEPS
    return [1, 2, 3, 7, lanes - 1, lanes, lanes + 1, 3 * lanes + 5, block - 1, block, block + 1, 2 * block + lanes + 3, 5 * block + 1]


def tensors(dtype: DType, m: int, k: int, random: np.random.Generator, make: Any) -> dict[str, NDArray[Any]]:
    shapes = {"a": (k,), "m": (m, k), "k": (k, m), "cube": (m, k, 3), "thin": (m, 1, k)}
    return {name: make(dtype, shape, random) for name, shape in shapes.items()}


class TestScans:
    """Ops that run along an axis in order."""

    @pytest.mark.parametrize("case", opcases.cases("scan"), ids=opcases.identify)
    def test_extents(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        for i, (m, k) in enumerate(((1, 1), (3, 0), (0, 3), (2, 7), (17, 16), (5, 65), (70, 2), (2, 1030))):
            random = np.random.default_rng(20 + i)
            arrays = tensors(dtype, m, k, random, lambda d, s, r, i=i: mixed(d, s, r, 0.01 * (i % 2)))
            check(compile, opcases.scans(dtype), label, arrays, {"M": m, "K": k})


class TestComposed:
    """Ops that stand for other expressions: close to what NumPy has, and exactly what the reference evaluator makes of the same expression."""

    @pytest.mark.parametrize("case", [(name, d) for d in DTYPES for name in opcases.composed(d)], ids=opcases.identify)
    def test_values(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        compiled, at = one_of(compile, opcases.composed(dtype), label)
        for arrays in (
            special_arrays(label, dtype),
            {n.arg: ordinary(dtype, (999,), np.random.default_rng(3)) for n in opcases.inputs_of(label, dtype)},
        ):
            got = call(compiled, arrays, {"N": len(arrays["a"])})[at]
            want = OPS[label].meaning(None, int, *arrays.values())
            if dtype.kind == "float":
                np.testing.assert_allclose(got, want, rtol=8 * np.finfo(dtype.numpy).eps, atol=2 * np.finfo(dtype.numpy).eps)
            else:
                assert_same(got, want, f"{label} of {dtype}")


class TestViews:
    """Ops that only say where elements lie."""

    @pytest.mark.parametrize("case", opcases.cases("view"), ids=opcases.identify)
    def test_shapes(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        for m, k, n in ((1, 1, 1), (2, 3, 2), (0, 4, 1), (4, 0, 2), (3, 5, 0), (17, 33, 3), (70, 9, 2), (5, 300, 1)):
            arrays = tensors(dtype, m, k, np.random.default_rng(m), lambda d, s, r: mixed(d, s, r, 0.3))
            check(compile, opcases.views(dtype), label, arrays, {"M": m, "K": k, "N": n})


class TestJoins:
    """Ops that put tensors side by side."""

    @pytest.mark.parametrize("case", opcases.cases("join"), ids=opcases.identify)
    def test_shapes(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        for m, k in ((1, 1), (2, 3), (0, 4), (4, 0), (17, 33), (5, 300)):
            arrays = tensors(dtype, m, k, np.random.default_rng(m), lambda d, s, r: mixed(d, s, r, 0.3))
            check(compile, opcases.joins(dtype), label, arrays, {"M": m, "K": k})


class TestGathers:
    """Ops that read elements by index."""

    @pytest.mark.parametrize("case", opcases.cases("gather"), ids=opcases.identify)
    def test_shapes(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        for m, k in ((1, 1), (2, 3), (0, 4), (17, 33), (5, 300), (33, 8)):
            arrays = tensors(dtype, m, k, np.random.default_rng(m), lambda d, s, r: mixed(d, s, r, 0.3))
            check(compile, opcases.gathers(dtype), label, arrays, {"M": m, "K": k})


class TestProducts:
    """Ops that contract an axis, around every edge of chains and tiles."""

    @pytest.mark.parametrize("case", opcases.cases("contract"), ids=opcases.identify)
    def test_sizes(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        for m, k, n in PRODUCT_SIZES:
            check(compile, opcases.products(dtype), label, factors(dtype, m, k, n, finite), {"M": m, "K": k, "N": n})

    @pytest.mark.parametrize("case", opcases.cases("contract"), ids=opcases.identify)
    def test_special_values(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        for m, k, n in ((3, 4, 5), (8, 40, 24), (5, 300, 7)):
            arrays = factors(dtype, m, k, n, endless if dtype.kind == "float" else lambda d, s, r: mixed(d, s, r, 0.3))
            check(compile, opcases.products(dtype), label, arrays, {"M": m, "K": k, "N": n})


def factors(dtype: DType, m: int, k: int, n: int, make: Any) -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(m * 1000 + n)
    shapes = {
        "left": (m, k),
        "right": (k, n),
        "wide": (k, m),
        "bias": (n,),
        "scale": (m,),
        "gains": (k,),
        "stack": (3, m, k),
        "tower": (3, 2, m, k),
    }
    return {name: make(dtype, shape, random) for name, shape in shapes.items()}


def endless(dtype: DType, shape: tuple[int, ...], random: np.random.Generator) -> NDArray[Any]:
    """NaN, infinities and both zeros here and there. Not the ends of the range: there NumPy has no exact fused multiply-add to compare with."""
    array = finite(dtype, shape, random)
    odd = random.random(shape) < 0.05
    array[odd] = random.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype.numpy), int(odd.sum()))
    return array


class TestLeaves:
    """Inputs, constants and sizes."""

    @pytest.mark.parametrize("case", opcases.cases("leaf"), ids=opcases.identify)
    def test_values(self, case: tuple[str, DType], compile: Compile) -> None:
        label, dtype = case
        for n in (0, 1, 5, 70):
            arrays = {"a": mixed(dtype, (n,), np.random.default_rng(n), 0.5), "m": ordinary(dtype, (9, n), np.random.default_rng(n))}
            check(compile, opcases.leaves(dtype), label, arrays, {"N": n, "M": 9})


class TestPeers:
    """Ops that are only nearly exact: the reference evaluator leaves them some room, but toolchains on this machine give the same bits."""

    @pytest.mark.parametrize(
        "case", [(label, dtype) for label, dtype in opcases.cases("elementwise") if opcases.op_of(label).ulp], ids=opcases.identify
    )
    def test_elementwise(self, case: tuple[str, DType], compile: Compile, peers: tuple[Compile, ...]) -> None:
        if compile.free:
            pytest.skip("builds no code")
        if not peers:
            pytest.skip("no other toolchain is installed and ready")
        label, dtype = case
        family, random = opcases.elementwise(dtype), np.random.default_rng(5)
        arrays = {x: np.concatenate([s, finite(dtype, (3000,), random)]) for x, s in special_arrays(label, dtype).items()}
        sizes = {"N": len(arrays["a"])}
        compiled, at = one_of(compile, family, label)
        got = call(compiled, arrays, sizes)[at]
        for peer in peers:
            try:
                other, place = one_of(peer, family, label)
            except TensorJitError:  # its own run says so
                continue
            assert_same(got, call(other, arrays, sizes)[place], f"{label}: {compile.backend} (got) against {peer.backend} (expected)")
