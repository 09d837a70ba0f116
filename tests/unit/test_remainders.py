"""Division with a whole quotient and its remainder, where quotients are all but whole, huge or not there: NumPy's results, bit for bit."""

import numpy as np
import pytest

import tjcore as tj

N = tj.Dim("N", 0, 1 << 20)
OPS = {"fmod": np.fmod, "remainder": np.remainder, "floor_divide": np.floor_divide}


def pairs(dtype, random, count):
    """Any bits at all; multiples of the divisor and their neighbours; quotients around the type's precision; special values."""
    if dtype.kind == "i":
        info = np.iinfo(dtype)
        edges = np.array([0, 1, -1, 2, -2, 3, 7, info.max, info.min, info.min + 1], dtype)
        a = np.concatenate([random.integers(info.min, info.max, count, dtype), np.repeat(edges, len(edges))])
        b = np.concatenate(
            [random.integers(info.min, info.max, count, dtype) >> random.integers(0, 31, count).astype(dtype), np.tile(edges, len(edges))]
        )
        return a, b
    bits = np.uint32 if dtype.itemsize == 4 else np.uint64
    a, b = (random.integers(0, np.iinfo(bits).max, count, bits).view(dtype) for _ in range(2))
    near = random.standard_normal(count).astype(dtype)
    whole = np.round(np.exp2(random.uniform(0, np.finfo(dtype).nmant + 3, count))).astype(dtype)
    multiple = near * whole
    edges = np.array(
        [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny, np.nextafter(dtype.type(0), dtype.type(1))],
        dtype,
    )
    left = [
        a,
        multiple,
        np.nextafter(multiple, dtype.type(np.inf)),
        np.nextafter(multiple, dtype.type(-np.inf)),
        np.repeat(edges, len(edges)),
    ]
    return np.concatenate(left), np.concatenate([b, near, near, near, np.tile(edges, len(edges))])


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [tj.float32, tj.float64, tj.int32, tj.int64], ids=str)
@pytest.mark.parametrize("target", ["native", "generic"])
def test_quotients_and_remainders_are_numpys(backend, dtype, target):
    a, b = tj.input("a", (N,), dtype), tj.input("b", (N,), dtype)
    f = tj.CompiledGraph([getattr(tj, name)(a, b) for name in OPS], backend=backend, target=target)
    x, y = pairs(dtype.numpy, np.random.default_rng(12), 20_000)
    with np.errstate(all="ignore"):
        for (name, numpy_op), got in zip(OPS.items(), f(a=x, b=y), strict=True):
            want = numpy_op(x, y)
            wrong = np.flatnonzero(~((got == want) & (np.signbit(got) == np.signbit(want)) | (got != got) & (want != want)))
            assert not len(wrong), f"{name}({x[wrong[0]]!r}, {y[wrong[0]]!r}) = {got[wrong[0]]!r}, not {want[wrong[0]]!r}"
