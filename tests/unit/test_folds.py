"""Reductions in the shapes that are written differently: along the elements, across columns, with NaN in every place, for every width of vectors."""

import numpy as np
import pytest

import tjcore as tj
from tjcore import cpu, float32, float64, int32, int64, numerics
from tjcore.conformance.compare import assert_same
from tjcore.conformance.values import mixed

N, M = tj.Dim("N", 1, 1 << 20), tj.Dim("M", 1, 1 << 20)
TARGETS = ["generic", *(t for t in ("x86-64-v3",) if cpu.machine() == "x86_64" and cpu.vector_bytes("native") >= 32), "native"]
LENGTHS = (1, 2, 15, 16, 17, 63, 64, 65, 127, 320, 384, 385, 700, 1000, 1023, 1024, 1025, 1500, 5000)


def extremes(dtype):
    m = tj.input("m", (M, N), dtype)
    return [m.max(1), m.min(1), m.max(0), m.min(0), (m + m).max(1)]


def expected_extremes(m):
    with np.errstate(all="ignore"):
        twice = m + m
    lowest, highest = (-np.inf, np.inf) if m.dtype.kind == "f" else (np.iinfo(m.dtype).min, np.iinfo(m.dtype).max)
    return [
        numerics.fold(numerics.maximum, lowest, 0, m, 1),
        numerics.fold(numerics.minimum, highest, 0, m, 1),
        numerics.fold(numerics.maximum, lowest, 0, m, 0),
        numerics.fold(numerics.minimum, highest, 0, m, 0),
        numerics.fold(numerics.maximum, lowest, 0, twice, 1),
    ]


@pytest.mark.parametrize(
    "dtype, target", [*((float32, t) for t in TARGETS), (float64, "native"), (int32, "native"), (int64, "native")], ids=str
)
def test_extremes_are_numpys_and_the_trees(compile, dtype, target):
    if compile.free and target != "native":
        pytest.skip("without a compiler there is no target")
    f = compile(extremes(dtype), target=target)
    random = np.random.default_rng(5)
    for length in LENGTHS:
        m = mixed(dtype, (4, length), random, 0.1)
        if m.dtype.kind == "f":
            m[1] = np.where(np.isnan(m[1]), -0.0, m[1])
            m[2] = -np.inf
            m[3] = np.where(random.random(length) < 0.5, 0.0, -0.0)
        for got, want in zip(f(m=m), expected_extremes(m), strict=True):
            assert_same(got, want, f"{dtype} over {length}")
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(f(m=m)[0], m.max(1))


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_one_nan_is_enough_wherever_it_lies(compile, dtype):
    f = compile([tj.input("m", (M, N), dtype).max(1), tj.input("w", (N, M), dtype).min(0)])
    length = 150 if compile.free else 1100
    m = np.zeros((length, length), dtype.numpy)
    np.fill_diagonal(m, np.nan)
    m[:, 0] = np.inf
    m[0, 0] = np.nan
    got, across = f(m=m, w=m.T.copy())
    assert np.isnan(got).all() and np.isnan(across).all()


def places(dtype):
    m = tj.input("m", (M, N), dtype)
    return [m.argmax(1), m.argmin(1), m.argmax(0), m.argmin(0), (m + m).argmax(1), m.argmax(), m.T.argmin(0)]


@pytest.mark.parametrize("dtype", [float32, float64, int32, int64], ids=str)
def test_places_of_extremes_are_numpys(compile, dtype):
    f = compile(places(dtype))
    random = np.random.default_rng(6)
    for length in LENGTHS:
        m = mixed(dtype, (5, length), random, 0.02)
        if m.dtype.kind == "f":
            m[1] = np.where(np.isnan(m[1]), 1, m[1])
            m[2] = -np.inf
            m[3] = np.where(random.random(length) < 0.5, 0.0, -0.0)
        m[4] = m[4].flat[0]  # ties: the first
        with np.errstate(all="ignore"):
            want = [m.argmax(1), m.argmin(1), m.argmax(0), m.argmin(0), (m + m).argmax(1), np.asarray(m.argmax()), m.argmin(1)]
        for got, expected in zip(f(m=m), want, strict=True):
            assert got.dtype == np.int64
            np.testing.assert_array_equal(got, expected, f"{dtype} over {length}")


def test_places_keep_axes_and_take_every_type():
    x = tj.input("x", (M, N))
    assert x.argmax(1, keepdims=True).shape == (M, 1) and x.argmin(keepdims=True).shape == (1, 1) and x.argmax().shape == ()
    assert tj.argmax(tj.input("b", (N,), tj.bool_)).dtype is int64 and tj.argmin(x, axis=-1).shape == (M,)
    with pytest.raises(tj.errors.GraphError, match="a scalar has no axis"):
        tj.constant(1.0).argmax()


@pytest.mark.parametrize("dtype", [float32, float64, int64], ids=str)
def test_one_long_fold_has_the_same_bits_on_any_number_of_threads(compile, dtype):
    x = tj.input("x", (N,), dtype)
    outputs = [x.sum(), x.max(), x.mean(), (x * x).min(), x.prod()]
    alone = compile(outputs)
    random = np.random.default_rng(11)
    lengths = (1, 5000) if compile.free else (1, 1000, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 100_003, 1 << 19, (1 << 20) - 5)
    for threads in (2, 3, 7):
        shared = compile(outputs, threads=threads)
        for length in lengths:
            given = (random.standard_normal(length) * 100).astype(dtype.numpy)
            for one, many in zip(alone(x=given), shared(x=given), strict=True):
                assert_same(many, one, f"{dtype} over {length} on {threads} threads")
