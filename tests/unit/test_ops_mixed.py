"""Kernels in which element types meet, as toolchains build them: lanes of unlike width, bytes that wrap, constants that are no numbers."""

import numpy as np
import pytest

import tjcore as tj
from tjcore import CompiledGraph, Dim

pytestmark = pytest.mark.toolchain
N = Dim("N", 0, 1000)


def check(outputs, wants, **arrays):
    with np.errstate(all="ignore"):
        for got, want in zip(CompiledGraph(outputs)(**arrays), wants, strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_bytes_wrap_before_they_are_widened():
    u, s = tj.input("u", (N,), "u8"), np.arange(0, 256, dtype=np.uint8)
    outputs = [(u + u).astype("i32"), -u < 4, (u * u).astype("f4"), (u - 10).astype("i64"), u.astype("f8") / 3]
    check(outputs, [(s + s).astype("i4"), -s < 4, (s * s).astype("f4"), (s - np.uint8(10)).astype("i8"), s.astype("f8") / 3], u=s)


def test_every_type_in_one_kernel():
    x, i, b = tj.input("x", (N,)), tj.input("i", (N,), "i64"), tj.input("b", (N,), "bool")
    random = np.random.default_rng(0)
    v, k, c = random.standard_normal(333).astype("f4"), random.integers(-9, 9, 333), random.integers(0, 2, 333).astype(bool)
    y = tj.where(b & (x < 1), x, i.astype("i32").astype("f4"))
    check([y * 2, ~b | (i % 3).equal(0)], [np.where(c & (v < 1), v, k.astype("f4")) * 2, ~c | (k % 3 == 0)], x=v, i=k, b=c)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 1e-45])
def test_constants_that_are_not_finite_or_hardly_there(number):
    x, v = tj.input("x", (N,)), np.array([1, -1, 0, -0.0, np.nan], "f4")
    with np.errstate(all="ignore"):
        wants = [np.where(v > 0, np.float32(number), v), v * np.float32(number)]
    check([tj.where(x > 0, number, x), x * number], wants, x=v)
