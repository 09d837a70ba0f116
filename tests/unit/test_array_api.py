"""`tjcore` as a namespace of the array API standard, 2024.12: names, signatures, types; what is out of reach is listed in docs/array-api.md."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import tjcore as tj

PAGE = Path(__file__).resolve().parents[2] / "docs" / "array-api.md"

STANDARD = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
clip(x, /, min=None, max=None)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0)
expand_dims(x, /, *, axis=0)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
where(condition, x1, x2, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
__array_namespace_info__()
"""
ONE = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log1p log2 log10 logical_not
    negative positive real reciprocal round sign signbit sin sinh square sqrt tan tanh trunc"""
TWO = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide greater greater_equal hypot
    less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract"""
SIGNATURES = [
    *STANDARD.split("\n")[1:-1],
    *(f"{name}(x, /)" for name in ONE.split()),
    *(f"{name}(x1, x2, /)" for name in TWO.split()),
]


def absent():
    """The names in the first column of the page's table of what there is not."""
    table = re.search(r"<!-- absent -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    return {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def parameters(signature):
    return [(p.name, p.kind, None if p.default is p.empty else repr(p.default)) for p in signature.parameters.values()]


def test_what_is_absent_is_what_the_page_says():
    names = {text.partition("(")[0] for text in SIGNATURES}
    assert {name for name in names if not hasattr(tj, name)} == absent()


@pytest.mark.parametrize("text", SIGNATURES, ids=lambda text: text.partition("(")[0])
def test_signatures(text):
    name = text.partition("(")[0]
    if name in absent():
        assert not hasattr(tj, name)
        return
    space = {}
    exec(f"def {text}: pass", space)
    wanted, ours = parameters(inspect.signature(space[name])), parameters(inspect.signature(getattr(tj, name)))
    extra = [p for p in ours if p not in wanted]
    assert [p for p in ours if p in wanted] == wanted
    assert all(kind is inspect.Parameter.KEYWORD_ONLY and default is not None for _, kind, default in extra), extra


def test_constants_and_types():
    assert (tj.e, tj.pi, tj.inf, tj.newaxis) == (np.e, np.pi, np.inf, None)
    assert np.isnan(tj.nan)
    assert tj.bool is tj.bool_
    assert tj.float32 == np.float32
    assert np.dtype("int64") == tj.int64
    assert tj.float32 != np.float64
    assert tj.float32 != "float32"
    assert hash(tj.float32) == hash(np.dtype("float32"))
    assert np.zeros(2, tj.int32).dtype == np.int32
    assert tj.isdtype(tj.float32, "real floating")
    assert tj.isdtype(np.int64, ("bool", "integral"))
    assert not tj.isdtype(tj.bool, "numeric")
    assert tj.isdtype(tj.uint8, tj.uint8)
    assert tj.result_type(tj.float32, tj.int32, 1.0) is tj.float64
    assert tj.result_type(tj.float32, 1.0) is tj.float32
    assert tj.result_type(tj.input("x", (3,), tj.uint8), np.int32) is tj.int32
    assert tj.can_cast(tj.int32, tj.float64)
    assert not tj.can_cast(tj.input("x", (), tj.float64), tj.float32)
    info = tj.finfo(tj.float32)
    assert (info.bits, info.eps, info.max, info.dtype) == (32, np.finfo(np.float32).eps, np.finfo(np.float32).max, tj.float32)
    assert (tj.iinfo(np.int32).max, tj.iinfo(tj.uint8).bits) == (2**31 - 1, 8)
    for refused in (lambda: tj.finfo(tj.int32), lambda: tj.iinfo(tj.float32), lambda: tj.isdtype(tj.int32, "whole")):
        with pytest.raises(tj.GraphError, match=r"expected a type of|kind must be one of"):
            refused()


def test_what_the_namespace_says_of_itself():
    info = tj.input("x", (3,)).__array_namespace__().__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 32}
    assert (info.default_device(), info.devices()) == ("cpu", ["cpu"])
    assert info.default_dtypes() == {"real floating": tj.float32, "integral": tj.int64, "indexing": tj.int64}
    assert info.dtypes(kind="integral") == {"int32": tj.int32, "int64": tj.int64, "uint8": tj.uint8}
    assert set(info.dtypes()) == {"float32", "float64", "int32", "int64", "uint8", "bool"}
    assert tj.zeros((2,)).dtype is tj.linspace(0, 1, 3).dtype is tj.asarray([1.0]).dtype is tj.eye(2).dtype is tj.float32
    with pytest.raises(tj.GraphError, match=r"full: device must be 'cpu' or None, got 'gpu'"):
        tj.zeros((2,), device="gpu")


def test_attributes_of_an_expression():
    x = tj.input("x", (tj.Dim("N"), 3, 4))
    assert (x.ndim, str(x.size), x.device, x.to_device("cpu") is x) == (3, "12*N", "cpu", True)
    assert [str(n) for n in x.mT.shape] == ["N", "4", "3"]
    with pytest.raises(tj.GraphError, match="there is the device 'cpu' only"):
        x.to_device("gpu")


def test_functions_that_are_new_here():
    def program(x, v):
        xp = x.__array_namespace__()
        return (
            xp.asarray([1, 2, 3]) + v[:3] * 0, xp.asarray(np.float64(2.5)) * x, xp.empty_like(x), xp.searchsorted(v, x),
            xp.searchsorted(v, x, side="right"),
            xp.diff(v, prepend=v[:1], append=v[-1:]), xp.diff(x, axis=0, n=2), xp.cumulative_sum(v, include_initial=True), xp.conj(x), xp.real(x),
            xp.from_dlpack(np.arange(3.0)) + 0 * v[0], xp.finfo(x.dtype).eps * v, xp.astype(x, xp.float32) if x.dtype == xp.float64 else v,
        )  # fmt: skip

    x = np.random.default_rng(0).integers(0, 9, (4, 5)) * 1.0
    v = np.array([0.0, 2.0, 2.0, 5.0, 7.0])
    expected = (
        np.array([1.0, 2, 3]), 2.5 * x, 0 * x, np.searchsorted(v, x), np.searchsorted(v, x, side="right"), np.diff(v, prepend=v[:1], append=v[-1:]),
        np.diff(x, 2, 0),
        np.concatenate([[0], np.cumsum(v)]), x, x, np.arange(3.0), np.finfo(float).eps * v, x.astype(np.float32),
    )  # fmt: skip
    for result, wanted in zip(tj.jit(program, backend="reference")(x, v), expected, strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted)


@pytest.mark.parametrize("bounds", [(5,), (2, 9, 3), (9, 2, -3), (0, 1, 0.25), (5, 0.0, -1.5), (3.5,), (1, 1, 1.0)], ids=str)
def test_ranges_of_ints_and_floats(bounds):
    (values,) = tj.evaluate_graph([tj.arange(*bounds)], {}, {})
    assert values.dtype == (np.float32 if any(isinstance(b, float) for b in bounds) else np.int64)
    np.testing.assert_array_equal(values, np.arange(*bounds))
