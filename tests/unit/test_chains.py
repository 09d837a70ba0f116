"""Chains of kernels over shared rows: which kernels meet, what their scratch takes, and that no tiling changes a bit."""

from collections.abc import Callable

import numpy as np
import pytest

import tjcore as tj
from tjcore.layout import Layout
from tjcore.loops import PRODUCT_TILE_ROWS, TILE_BYTES

R = tj.Dim("R", 0, 100_000)
C = tj.Dim("C", 1, 100_000)


def rows(v: tj.Expr, shape: tuple[object, ...]) -> tj.Expr:
    return v.expand_dims(-1).broadcast_to(shape)  # type: ignore[arg-type]


def softmax(x: tj.Expr) -> tj.Expr:
    e = (x - rows(x.max(-1), x.shape)).exp()
    return e / rows(e.sum(-1), x.shape)


def layer_norm(x: tj.Expr) -> tj.Expr:
    d = x - rows(x.mean(-1), x.shape)
    return d * rows(((d * d).mean(-1) + 1e-5).rsqrt(), x.shape)


def chains(output: tj.Expr, fuse: bool = True) -> list[tuple[int, int, int]]:
    return [(c.first, c.last, c.depth) for c in tj.compile_plan([output], fuse).program.chains]


@pytest.mark.parametrize("function", [softmax, layer_norm])
def test_row_wise_functions_are_one_chain(function: Callable[[tj.Expr], tj.Expr]) -> None:
    plan = tj.compile_plan([function(tj.input("x", (R, C)))])
    (chain,) = plan.program.chains
    assert (chain.first, chain.last, chain.depth) == (0, len(plan.kernels) - 1, 1)
    temporaries = [i for i, b in enumerate(plan.program.buffers) if b.kind == "temporary"]
    assert sorted(chain.scratch) == temporaries, "nothing that only the chain touches is kept as a whole"


def test_leading_axes_are_the_rows() -> None:
    x = tj.input("x", (tj.Dim("B"), tj.Dim("H"), R, C))
    assert {depth for _, _, depth in chains(softmax(x))} == {3}


def test_no_chain_without_fusion_or_along_other_rows() -> None:
    x = tj.input("x", (R, C))
    assert chains(softmax(x), fuse=False) == []
    down = x.max(0).expand_dims(0).broadcast_to((R, C))  # each row needs all rows
    assert all(last - first < 2 for first, last, _ in chains((x - down).exp()))
    square = tj.input("s", (C, C))
    total = square.sum(-1)
    across = total.expand_dims(0).broadcast_to((C, C)) * square  # column i needs row i's sum
    assert chains(across) == []


def test_scratch_is_bounded_by_the_tile_not_by_the_rows() -> None:
    e = (tj.input("x", (R, C)) * 2.0).exp()
    plan = tj.compile_plan([e / rows(e.sum(-1), (R, C))])
    for threads in (1, 3):
        layout = Layout(plan, threads=threads)
        order = layout.order
        for r, c in ((0, 5), (1, 1), (7, 1000), (90_000, 1000), (5, 90_000)):
            placed = layout.place([{"R": r, "C": c}[name] for name in order])
            piece = max(TILE_BYTES, -(-4 * c // 64) * 64)
            assert placed.temporary_bytes <= min(4 * r * c, threads * piece) + min(4 * r, threads * TILE_BYTES) + 128


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [softmax, layer_norm])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 70_000), (37, 1003), (5000, 3), (300, 64)])
def test_tiles_and_threads_change_no_bit(function: Callable[[tj.Expr], tj.Expr], shape: tuple[int, int], backend: str) -> None:
    output = function(tj.input("x", (R, C)))
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    (plain,) = tj.CompiledGraph([output], fuse=False, backend=backend)(x=x)
    for threads in (1, 2, 5):
        (chained,) = tj.CompiledGraph([output], backend=backend, threads=threads)(x=x)
        assert chained.tobytes() == plain.tobytes(), f"{threads} threads"


@pytest.mark.toolchain
def test_rows_of_single_elements(backend: str) -> None:
    """Elementwise kernels that meet in all their axes run tile by tile over elements; many of them through a table of steps."""
    x = tj.input("x", (R, C))
    value, outputs = x, []
    for i in range(150):
        value = value * 0.5 + float(i % 3)
        outputs.append(value)
    plan = tj.compile_plan(outputs)
    assert plan.program.chains
    given = np.random.default_rng(3).standard_normal((61, 97)).astype(np.float32)
    expected = given
    for i, got in enumerate(tj.CompiledGraph(outputs, backend=backend, threads=2)(x=given)):
        expected = expected * np.float32(0.5) + np.float32(i % 3)
        assert got.tobytes() == expected.tobytes(), f"output {i}"


def attention(q: tj.Expr, k: tj.Expr, v: tj.Expr, mask: tj.Expr | None = None) -> tj.Expr:
    turned = k.permute((*range(k.rank - 2), k.rank - 1, k.rank - 2))
    scores = (q @ turned) * 0.125
    if mask is not None:
        scores = scores + mask.broadcast_to(scores.shape)
    return softmax(scores) @ v


HEADS, QUERIES, KEYS = tj.Dim("HEADS", 1, 16), tj.Dim("QUERIES", 0, 2000), tj.Dim("KEYS", 1, 2000)
SHAPES = {
    "heads": ((HEADS, QUERIES, 8), (HEADS, KEYS, 8)),
    "one head": ((QUERIES, 8), (KEYS, 8)),
    "a batch of heads": ((2, HEADS, QUERIES, 8), (2, HEADS, KEYS, 8)),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_attention_is_one_chain_and_keeps_a_tile_of_its_scores(name: str, masked: bool) -> None:
    of_q, of_k = SHAPES[name]
    mask = tj.input("mask", (QUERIES, KEYS)) if masked else None
    plan = tj.compile_plan([attention(tj.input("q", of_q), tj.input("k", of_k), tj.input("v", of_k), mask)])
    (chain,) = plan.program.chains
    assert (chain.first, chain.last, chain.depth) == (0, len(plan.kernels) - 1, len(of_q) - 1)
    layout = Layout(plan)
    sizes = {"HEADS": 16, "QUERIES": 2000, "KEYS": 2000}
    scores = 4 * 2000 * PRODUCT_TILE_ROWS
    assert layout.place([sizes[d] for d in layout.order]).temporary_bytes < 3 * scores


@pytest.mark.toolchain
@pytest.mark.parametrize("name", SHAPES)
def test_attention_has_the_bits_of_its_steps(name: str, backend: str) -> None:
    of_q, of_k = SHAPES[name]
    inputs = {"q": of_q, "k": of_k, "v": of_k, "mask": (QUERIES, KEYS)}
    output = attention(*(tj.input(n, shape) for n, shape in inputs.items()))
    plain = tj.CompiledGraph([output], fuse=False, backend=backend)
    chained = [tj.CompiledGraph([output], backend=backend, threads=threads) for threads in (1, 2, 5)]
    rng = np.random.default_rng(3)
    for heads, queries, keys in ((1, 1, 1), (3, 70, 65), (2, 0, 9), (5, 33, 200)):
        sizes = {HEADS: heads, QUERIES: queries, KEYS: keys}
        given = {n: rng.standard_normal([sizes.get(d, d) for d in shape]).astype(np.float32) for n, shape in inputs.items()}
        want = plain(**given)[0].tobytes()
        assert [f(**given)[0].tobytes() for f in chained] == [want] * 3


@pytest.mark.toolchain
def test_gradients_through_attention_have_the_bits_of_their_steps(backend: str) -> None:
    q, k, v = (tj.input(n, (HEADS, QUERIES, 8)) for n in "qkv")
    outputs = tj.grad(attention(q, k, v).sum(None), [q, k, v])
    plain, chained = tj.CompiledGraph(outputs, fuse=False, backend=backend), tj.CompiledGraph(outputs, backend=backend, threads=2)
    rng = np.random.default_rng(3)
    given = {n: rng.standard_normal((3, 67, 8)).astype(np.float32) for n in "qkv"}
    assert [x.tobytes() for x in plain(**given)] == [x.tobytes() for x in chained(**given)]


def test_a_product_is_no_link_where_its_right_operand_would_be_packed_too_often() -> None:
    x, w, up = tj.input("x", (R, 256)), tj.input("w", (256, 300)), tj.input("up", (300, 10))
    assert chains(softmax(x @ w)) == [(1, 4, 1)]
    assert chains(softmax(tj.input("y", (R, 300))) @ up) == [(0, 4, 1)]  # few columns: less to pack than its left operand has
