"""`jit`: what arguments it accepts, in which structures, and what results it gives back."""

import array
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import tjcore as tj
from tjcore import CallError, DtypeError, GraphError, jit


def traced(function=None, **options):
    return jit(function, backend="reference", **options) if function is not None else lambda f: jit(f, backend="reference", **options)


def arange(*shape, dtype=np.float32):
    return np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)


Point = namedtuple("Point", "x y")


def test_structures_in_and_out():
    @traced
    def f(tree, pair=None):
        return OrderedDict(b=tree["a"][0] * 2, a=Point(tree["a"][1][0], [tree["c"], None])), (pair, 3, "name")

    result, (pair, number, name) = f({"a": [arange(2), (arange(3),)], "c": 2.0})
    assert type(result) is OrderedDict
    assert list(result) == ["b", "a"]
    assert type(result["a"]) is Point
    assert result["a"].x.tolist() == [0, 1, 2]
    assert result["a"].y == [2.0, None]
    assert (pair, number, name) == (None, 3, "name")


def test_keywords_and_defaults():
    @traced
    def f(x, scale=2.0, *, shift=1.0, mode="add", times=3):
        out = x * scale
        for _ in range(times):
            out = out + shift if mode == "add" else out - shift
        return out

    assert f(arange(2)).tolist() == [3, 5]
    assert f(arange(2), 3.0).tolist() == [3, 6]
    assert f(arange(2), scale=3.0).tolist() == [3, 6]
    assert f.compilations == 2, "f(x, 3.0) and f(x, scale=3.0) are one call"
    assert f(x=arange(2), shift=10.0).tolist() == [30, 32]
    with pytest.raises(CallError, match=r"f: argument mode is 'sub', a str; arrays and numbers are traced.*static_argnames"):
        f(arange(2), mode="sub")
    with pytest.raises(TypeError, match=r"f\(\) got an unexpected keyword argument 'wrong'"):
        f(arange(2), wrong=1)
    with pytest.raises(TypeError, match=r"missing"):
        f()


def test_static_arguments():
    def f(x, n, mode="sum"):
        return getattr(x, mode)() * n if n > 1 else x

    for options in ({"static_argnums": (1, 2)}, {"static_argnames": ("n", "mode")}, {"static_argnums": 1, "static_argnames": "mode"}):
        g = traced(f, **options)
        assert g(arange(4), 2) == 12
        assert g(arange(5), 2) == 20
        assert g(arange(4), n=1).shape == (4,)
        assert g(arange(4), 2, mode="max") == 6
        assert g.compilations == 3
    with pytest.raises(CallError, match=r"f: the static argument n is \[1\], and what is static must be hashable, as a tuple is"):
        g(arange(4), [1])


def test_static_values_are_told_apart_by_type():
    f = traced(lambda x, n: x + (10 if isinstance(n, bool) else n), static_argnums=1)
    assert [f(arange(1), n).item() for n in (1, True, 1.0)] == [1, 10, 1]


def test_methods():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @traced(static_argnums=0)
        def __call__(self, x):
            return x * self.scale

        @traced(static_argnames="self")
        def twice(self, x):
            return self(self(x))

    assert Model(3)(arange(2)).tolist() == [0, 3]
    assert Model(3).twice(arange(2)).tolist() == [0, 9]


def test_traced_functions_call_each_other():
    double = traced(lambda x: x * 2)
    f = traced(lambda x: double(x) + 1)
    assert f(arange(3)).tolist() == [1, 3, 5]
    assert double.compilations == 0


def test_what_it_wraps_shows():
    @jit
    def f(x):
        """Words."""

    assert (f.__name__, f.__doc__, f.__wrapped__.__name__) == ("f", "Words.", "f")
    assert repr(f) == "<jit f, 0 builds>"
    with pytest.raises(GraphError, match="jit: expected a function, got 3"):
        jit(3)


def test_layouts_and_byte_orders():
    f = traced(lambda x: x * 2 + x)
    base = arange(6, 8)
    wide, tall = np.zeros((6, 16), np.float32), np.zeros((18, 8), np.float32)
    wide[:, ::2], tall[1::3] = base, base
    packed = np.zeros(6, np.dtype([("pad", "u1"), ("x", "f4", 8)]))
    packed["x"] = base
    frozen = base.copy()
    frozen.flags.writeable = False
    given = {
        "C": base, "F": np.asfortranarray(base), "columns": wide[:, ::2], "rows": tall[1::3], "transposed": base.T.copy().T,
        "backwards": base[::-1, ::-1].copy()[::-1, ::-1], "big": base.astype(">f4"), "unaligned": packed["x"], "frozen": frozen,
    }  # fmt: skip
    for name, x in given.items():
        before = x.copy()
        result = f(x)
        np.testing.assert_array_equal(result, base * 3, err_msg=name)
        np.testing.assert_array_equal(x, before)
        assert not np.shares_memory(result, x)
    assert f.compilations == 1
    broadcast = np.broadcast_to(np.float32(2), (3, 4))
    np.testing.assert_array_equal(f(broadcast), np.full((3, 4), 6))


def test_contiguous_arrays_are_not_copied(monkeypatch):
    f = traced(lambda x: x + 1)
    f(arange(4))
    seen = []
    graph = f.compiled[0].graph
    monkeypatch.setattr(type(graph), "__call__", lambda self, **arrays: seen.append(arrays["x"]) or (arange(4),))
    x = arange(4)
    f(x)
    assert seen[0] is x


def test_other_things_that_are_arrays():
    f = traced(lambda x: x * 2)
    assert f(memoryview(arange(3))).tolist() == [0, 2, 4]
    assert f(array.array("d", [1.0, 2.0])).tolist() == [2, 4]
    assert f(bytearray(b"\x01\x02")).tolist() == [2, 4]

    class Tensor:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **how):
            return self.x.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    class Convertible:
        def __array__(self, dtype=None, copy=None):
            return arange(2)

    assert f(Tensor(arange(3))).tolist() == [0, 2, 4]
    assert f(Convertible()).tolist() == [0, 2]
    assert f(np.float32(1.5)) == np.float32(3)
    assert f(np.float32(1.5)).dtype == np.float32


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (
            np.zeros(3, np.int16),
            DtypeError,
            r"f: argument x has the dtype int16, of which there is none here \(float32, .*pass x.astype",
        ),
        (np.zeros(3, complex), DtypeError, "argument x has the dtype complex128"),
        (np.ma.array([1.0]), CallError, "argument x is a MaskedArray, a subclass of numpy.ndarray whose meaning would be lost"),
        ("text", CallError, r"argument x is 'text', a str; arrays and numbers are traced"),
        (object(), CallError, r"argument x is <object object at .*>, an? object"),
        (2**63, CallError, r"argument x is 9223372036854775808, which no int64 holds; pass a float"),
        (1j, CallError, r"argument x is 1j, a complex"),
        ({"w": [3, "a"]}, CallError, r"argument x\['w'\]\[1\] is 'a', a str"),
    ],
)
def test_what_is_no_array_is_refused_by_name(value, error, message):
    def f(x):
        return x

    with pytest.raises(error, match=message):
        traced(f)(value)


def test_python_numbers_are_weak():
    f = traced(lambda x, a: x * a)
    assert f(arange(3), 2).dtype == np.float32
    assert f(arange(3), 2.5).dtype == np.float32
    assert f(arange(3, dtype=np.int32), 2).dtype == np.int32
    assert f(arange(3, dtype=np.int32), 2.5).dtype == np.float64
    assert f(arange(3), np.float64(2.5)).dtype == np.float64
    assert f(arange(3, dtype=np.uint8), True).dtype == np.uint8
    assert f(2.0, 3) == 6.0
    assert f(2, 3).dtype == np.int64
    g = traced(lambda x, a: x * (a / 2 + 1) - a**2)
    np.testing.assert_array_equal(g(arange(3), 3), arange(3) * np.float32(2.5) - np.float32(9))
    assert g(arange(3), 3).dtype == np.float32


def test_numpy_scalars_are_what_numpy_says():
    f = traced(lambda x: (np.sqrt(2) * x, np.float32(2) * x, x + np.int64(1), x * np.array(2.0)))
    for dtype in (np.float32, np.int32):
        x = arange(3, dtype=dtype)
        expected = (np.sqrt(2) * x, np.float32(2) * x, x + np.int64(1), x * np.array(2.0))
        assert [r.dtype for r in f(x)] == [e.dtype for e in expected]


def test_results_are_new_and_numpys():
    constant = arange(3)

    @traced
    def f(x):
        return x, x.sum(), constant, x.shape[0], x.shape, np.zeros(2)

    x = arange(4)
    same, total, held, size, shape, new = f(x)
    assert same.tolist() == x.tolist()
    assert not np.shares_memory(same, x)
    assert type(total) is np.float32
    assert not np.shares_memory(held, constant)
    assert (size, shape) == (4, (4,))
    assert new.tolist() == [0, 0]
    assert f(arange(7))[3:5] == (7, (7,))
    assert f.compilations == 1


def test_arrays_that_are_closed_over_are_data():
    w = arange(3, 2)
    f = traced(lambda x: x @ w + np.ones(2, np.float32))
    np.testing.assert_array_equal(f(arange(4, 3)), arange(4, 3) @ w + 1)
    w[:] = 0  # a copy was taken
    np.testing.assert_array_equal(f(arange(1, 3)), [[11, 14]])


def test_a_function_without_arrays_in_its_result():
    f = traced(lambda x: {"n": x.shape[0] * 2, "name": "a"})
    assert f(arange(3)) == {"n": 6, "name": "a"}
    g = traced(lambda x: tj.zeros((x.shape[0], 2)))
    assert g(arange(3)).shape == (3, 2)
    assert g(arange(5)).shape == (5, 2)
    assert traced(lambda: np.float32(3) + tj.ones((2,)))().tolist() == [4, 4]
