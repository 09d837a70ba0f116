"""The arithmetic that is promised: the tree of sums and the chains of products, written once more in a few lines, against every toolchain."""

from fractions import Fraction

import numpy as np
import pytest

from tjcore import Dim, float32, float64, input, int32, int64, numerics
from tjcore.conformance.compare import assert_same
from tjcore.conformance.values import combinations, mixed, ordinary

N, M = Dim("N", 0, 1 << 20), Dim("M", 0, 1 << 10)
LENGTHS = (0, 1, 2, 3, 63, 64, 65, 127, 128, 1023, 1024, 1025, 2048, 3000, 5000, 70_000)


def tree(x):
    """The sum of a vector as the documents say it: 256 bytes of lanes, blocks of 16 steps, halves onto halves, neighbouring blocks in pairs."""
    lanes = 256 // x.itemsize
    neutral = x.dtype.type(-0.0 if x.dtype.kind == "f" else 0)
    if not len(x):
        return x.dtype.type(0)
    blocks = []
    for start in range(0, len(x), 16 * lanes):
        block = np.full(16 * lanes, neutral, x.dtype)
        part = x[start : start + 16 * lanes]
        block[: len(part)] = part
        sums = block[:lanes].copy()
        for step in range(1, 16):
            sums = sums + block[step * lanes : (step + 1) * lanes]
        while len(sums) > 1:
            sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
        blocks.append(sums[0])
    while len(blocks) > 1:
        blocks = [blocks[i] + blocks[i + 1] if i + 1 < len(blocks) else blocks[i] for i in range(0, len(blocks), 2)]
    return blocks[0]


def family(dtype):
    x, m = input("x", (N,), dtype), input("m", (M, N), dtype)
    return [x.sum(), m.sum(1), m.T.sum(0), (m * 1).T.sum(0), input("k", (N, M), dtype).sum(0), (x + x).sum()]


FAMILIES = {dtype.name: family(dtype) for dtype in (float32, float64, int32, int64)}


@pytest.mark.parametrize("dtype", [float32, float64, int32, int64], ids=str)
@pytest.mark.parametrize("special", [0.0, 0.01])
def test_sums_are_the_tree_bit_for_bit(compile, dtype, special):
    outputs = FAMILIES[dtype.name]
    f = compile(outputs)
    random = np.random.default_rng(1)
    for length in LENGTHS[:12] if compile.free else LENGTHS:
        x = mixed(dtype, (length,), random, special)
        m = mixed(dtype, (3, length), random, special)
        with np.errstate(all="ignore"):
            kept = outputs[0].dtype.numpy  # int32 is summed in int64, as NumPy does
            rows = np.array([tree(row.astype(kept)) for row in m], kept)
            want = [tree(x.astype(kept)), rows, rows, rows, rows, tree((x + x).astype(kept))]
        for i, (got, expected) in enumerate(zip(f(x=x, m=m, k=np.ascontiguousarray(m.T)), want, strict=True)):
            assert_same(got, np.asarray(expected), f"{outputs[i].sources[0].op} {dtype} over {length}")


def test_the_definition_is_these_lines():
    random = np.random.default_rng(2)
    for dtype in (np.float32, np.float64, np.int32):
        for length in LENGTHS:
            x = (random.standard_normal(length) * 100).astype(dtype)
            neutral = -0.0 if x.dtype.kind == "f" else 0
            assert_same(np.asarray(numerics.fold(np.add, neutral, 0, x, 0)), np.asarray(tree(x), dtype), f"{dtype} {length}")


def test_sums_do_not_saturate_and_keep_the_sign_of_zero(compile):
    f = compile([input("x", (N,)).sum()])
    length = 1 << 17 if compile.free else 1 << 20
    assert f(x=np.full(length, 0.1, np.float32))[0] == pytest.approx(0.1 * length, rel=1e-6)
    ones = np.full(1 << 20, 1, np.float32) * np.float32(2**24)
    assert f(x=ones)[0] == np.float32(2**44)
    assert np.signbit(f(x=np.full(5, -0.0, np.float32))[0]) and not np.signbit(f(x=np.zeros(0, np.float32))[0])
    assert not np.signbit(f(x=np.array([-0.0, 0.0], np.float32))[0])


def exact_fma(a, b, c):
    """a * b + c rounded once, by rational arithmetic; for finite results of ordinary size."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = np.float32(float(exact))
    around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    # the nearest, and of two equally near ones the even one
    return min(around, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(np.int32)) & 1))


def test_fma_rounds_once():
    random = np.random.default_rng(3)
    a, b, c = (np.ldexp(random.standard_normal(3000).astype(np.float32), random.integers(-8, 8, 3000)).astype(np.float32) for _ in range(3))
    c[::2] = (-a[::2] * b[::2]) * np.float32(1 + 2**-20)
    got = numerics.fma(a, b, c)
    for i in range(len(a)):
        assert got[i] == exact_fma(a[i], b[i], c[i]), (a[i], b[i], c[i])


def test_fma_of_special_values():
    a, b, c = (np.array(v, np.float32) for v in zip(*[(x, y, z) for x in SPECIALS for y in SPECIALS for z in SPECIALS], strict=True))
    with np.errstate(all="ignore"):
        wide = (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float32)
    got = numerics.fma(a, b, c)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wide))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(wide))
    both = ~np.isnan(wide)
    np.testing.assert_array_equal(np.signbit(got[both]), np.signbit(wide[both]))


def test_fma_of_float64_neither_overflows_nor_underflows_on_the_way():
    huge, tiny, least = float(np.finfo(np.float64).max), float(np.finfo(np.float64).smallest_normal), 5e-324
    cases = [
        (huge, 1 + 2**-52, -huge, huge * 2**-52),
        (huge, 2.0, -np.inf, -np.inf),
        (-huge, 2.0, np.inf, np.inf),
        (huge, huge, -huge, np.inf),
        (tiny, 2.0**-30, -least, tiny * 2.0**-30 - least),
        (least, 0.5, 0.0, 0.0),
        (-least, 0.5, 0.0, -0.0),
        (least, 0.75, 0.0, least),
        (least, 0.5, least, 2 * least),
        (least, 0.5, 1.0, 1.0),
        (1 + 2**-52, 1 - 2**-53, -1.0, 2**-53 - 2**-105),
        (0.0, -1.0, -0.0, -0.0),
        (0.0, np.inf, 1.0, np.nan),
    ]
    a, b, c, want = (np.array(column) for column in zip(*cases, strict=True))
    got = numerics.fma(a, b, c)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[:-1]), np.signbit(want[:-1]))


SPECIALS = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38)


def chain(a, b):
    """A product as the documents say it: chains of fma over 256, then the blocks in ascending order."""
    total = None
    for start in range(0, max(a.shape[1], 1), 256):
        acc = np.zeros((a.shape[0], b.shape[1]), a.dtype)
        for k in range(start, min(start + 256, a.shape[1])):
            acc = numerics.fma(a[:, k, None], b[None, k, :], acc) if a.dtype.kind == "f" else acc + a[:, k, None] * b[None, k, :]
        total = acc if total is None else total + acc
    return total


LEFT, RIGHT = Dim("L", 0, 2000), Dim("R", 0, 2000)
PRODUCTS = {d.name: [input("a", (LEFT, N), d) @ input("b", (N, RIGHT), d)] for d in (float32, float64, int32, int64)}


@pytest.mark.parametrize("dtype", [float32, float64, int32, int64], ids=str)
def test_products_are_the_chain_bit_for_bit(compile, dtype):
    f = compile(PRODUCTS[dtype.name])
    random = np.random.default_rng(4)
    for rows, inner, columns in ((1, 1, 1), (3, 0, 2), (2, 255, 3), (3, 256, 2), (2, 257, 5), (1, 513, 1), (5, 700, 17), (17, 3, 33)):
        a, b = ordinary(dtype, (rows, inner), random), ordinary(dtype, (inner, columns), random)
        assert_same(f(a=a, b=b)[0], chain(a, b), f"({rows}, {inner}) @ ({inner}, {columns}) {dtype}")


def test_a_long_product_of_ones_does_not_saturate(compile):
    f = compile(PRODUCTS["float32"])
    length = 1 << 20 if not compile.free else 1 << 12
    ones = np.full((1, length), 2.0**12, np.float32)
    assert f(a=ones, b=ones.T.copy())[0][0, 0] == np.float32(length * 2.0**24)


@pytest.mark.parametrize("dtype", [float32, float64, int32], ids=str)
def test_extremes_propagate_nan_and_take_the_first_of_equals(compile, dtype):
    a, b = input("a", (N,), dtype), input("b", (N,), dtype)
    left, right = combinations((dtype, dtype))
    largest, smallest = compile([a.maximum(b), a.minimum(b)])(a=left, b=right)
    with np.errstate(all="ignore"):
        assert_same(np.abs(largest), np.abs(np.maximum(left, right)), "maximum")
        assert_same(np.abs(smallest), np.abs(np.minimum(left, right)), "minimum")
    if dtype.kind == "float":
        equal = left == right
        np.testing.assert_array_equal(np.signbit(largest[equal]), np.signbit(left[equal]))
        np.testing.assert_array_equal(np.signbit(smallest[equal]), np.signbit(left[equal]))
    m = input("m", (N, 2), dtype)
    pairs = np.stack([left, right], 1)
    got = compile([m.max(1), m.min(1), m.max(0), m.min(0)])(m=pairs)
    with np.errstate(all="ignore"):
        for mine, theirs in zip(got, (pairs.max(1), pairs.min(1), pairs.max(0), pairs.min(0)), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_integers_wrap(compile):
    a, b = input("a", (N,), int32), input("b", (N,), int32)
    left, right = combinations((int32, int32))
    with np.errstate(all="ignore"):
        want = [left + right, left - right, left * right, -left, np.abs(left)]
    for got, expected in zip(compile([a + b, a - b, a * b, -a, abs(a)])(a=left, b=right), want, strict=True):
        assert_same(got, expected, "integers")
