"""`jit`: what it builds, and its stages. The reference evaluator runs what is about tracing alone."""

import threading

import numpy as np
import pytest

import tjcore as tj
from tjcore import ArraySpec, CallError, Dim, GraphError, TraceError, jit


def traced(function=None, **options):
    return jit(function, backend="reference", **options) if function is not None else lambda f: jit(f, backend="reference", **options)


def arange(*shape, dtype=np.float32):
    return np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)


# ------------------------------------------------------------------------------------------------------------ one build


def test_one_build_serves_every_size():
    f = traced(lambda x, y: np.exp(x) * 2 + y)
    for shape in ((3, 4), (1, 4), (0, 4), (5, 1), (8, 8), (3, 4)):
        x = np.random.default_rng(0).random(shape)
        np.testing.assert_allclose(f(x, x + 1), np.exp(x) * 2 + x + 1, rtol=1e-14)
    assert f.compilations == 1
    assert f.cache_info() == (5, 1, 256, 1)
    assert len(f.compiled) == 1


def test_sizes_that_are_equal_by_chance_are_not_one_symbol():
    f = traced(lambda x, y: (x.sum(axis=1), y * 2))
    f(arange(4, 4), arange(4))
    rows, doubled = f(arange(2, 3), arange(7))
    assert rows.tolist() == [3, 12]
    assert doubled.shape == (7,)
    assert f.compilations == 1


def test_sizes_that_must_be_equal_are_one_symbol():
    f = traced(lambda x, w, b: x @ w + b)
    assert str(f.lower(arange(4, 4), arange(4, 4), arange(4)).outputs[0].shape) == str(
        f.lower(arange(2, 3), arange(3, 5), arange(5)).outputs[0].shape
    )
    text = f.lower(arange(4, 4), arange(4, 4), arange(4)).as_text()
    assert "input w float32 (x_1, w_1)" in text
    assert "input b float32 (w_1,)" in text
    assert "slice" not in text


def test_an_axis_of_size_one_broadcasts():
    f = traced(lambda x, y: x + y)
    assert f(arange(3, 4), arange(1, 4)).shape == (3, 4)
    assert f(arange(3, 4), arange(3, 4)).shape == (3, 4)
    assert f(arange(1, 4), arange(5, 4)).shape == (5, 4)
    assert f(arange(7, 2), arange(1, 2)).shape == (7, 2)
    assert f.compilations == 3
    with pytest.raises(
        GraphError, match=r"<lambda>: add: shapes \(2, 3\) and \(2, 4\) do not broadcast: axis -1 is 3 \(x_1\) and 4 \(y_1\).*axis 1 of y"
    ):
        f(arange(2, 3), arange(2, 4))


def test_builds_are_kept_and_forgotten():
    f = traced(lambda x: x + 1)
    f(arange(3))
    f(arange(3, 3))
    f(arange(3, dtype=np.float64))
    assert f.cache_info().currsize == 3
    f.cache_clear()
    assert f.cache_info().currsize == 0
    f(arange(3))
    assert f.cache_info() == (0, 4, 256, 1)


def test_the_oldest_builds_are_forgotten():
    f = traced(lambda x, n: x * n, static_argnums=1, cache_size=2)
    for n in (1, 2, 3, 1):
        assert f(arange(3), n).tolist() == [0, n, 2 * n]
    assert f.cache_info().currsize == 2
    assert f.compilations == 4


def test_threads_that_call_at_once_build_once():
    runs = []

    @traced
    def f(x):
        runs.append(1)
        return x * 2

    start = threading.Barrier(8)
    results = []

    def call(n):
        start.wait()
        results.append((n, f(arange(n + 2)).tolist()))

    threads = [threading.Thread(target=call, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert f.compilations == 1
    assert len(runs) == 1
    assert all(r == (2 * arange(n + 2)).tolist() for n, r in results)


# ---------------------------------------------------------------------------------------------------------- dims by name


def test_named_dims():
    @traced(dims={"x": ("N", 3), "w": (3, None)}, bounds={"N": (1, 100)})
    def dense(x, w, b=0.0):
        return x @ w + b

    assert dense(arange(5, 3), arange(3, 2)).shape == (5, 2)
    assert dense(arange(9, 3), arange(3, 4), b=1.0).shape == (9, 4)
    assert "dim N 1 100" in dense.lower(arange(5, 3), arange(3, 2)).as_text()
    with pytest.raises(CallError, match=r"dense: argument x, axis 1: expected 3, got 4 \(shape \(5, 4\)\)"):
        dense(arange(5, 4), arange(4, 2))
    with pytest.raises(CallError, match=r"dense: argument x, axis 0: expected N in 1..100, got 101"):
        dense(arange(101, 3), arange(3, 2))
    with pytest.raises(CallError, match=r"dense: argument x has 1 axes, and dims declares 2: \('N', 3\)"):
        dense(arange(3), arange(3, 2))


def test_named_dims_must_agree():
    f = traced(lambda x, y: x + y, dims={"x": ("N",), "y": ("N",)})
    assert f(arange(4), arange(4)).shape == (4,)
    with pytest.raises(CallError, match=r"argument y, axis 0: expected 4, since N is 4 in argument x, axis 0, got 1"):
        f(arange(4), arange(1))


def test_dims_are_computed_and_nested():
    N = Dim("N", 2, 50)
    f = traced(lambda p, y: p["a"][1:] - p["a"][:-1] + p["b"][0] + y, dims={"p": {"a": (N + 1,), "b": [("N",)]}, "y": "N"})
    a = arange(6)
    assert f({"a": a, "b": [arange(5)]}, arange(5)).tolist() == (np.diff(a) + 2 * arange(5)).tolist()
    with pytest.raises(CallError, match=r"argument p\['a'\], axis 0: expected N \+ 1 = 6, got 7"):
        f({"a": arange(7), "b": [arange(5)]}, arange(5))
    g = traced(lambda x, y: x[1:] + y, dims={"x": "M + 1", "y": "M"})
    assert g(arange(4), arange(3)).tolist() == [1, 3, 5]


def test_dims_with_an_ellipsis_and_fixed_ones():
    f = traced(lambda x: x.sum(axis=-1), dims={"x": (..., 3)})
    assert f(arange(2, 4, 3)).shape == (2, 4)
    assert f(arange(3)).shape == ()
    g = traced(lambda x: sum(x[i] for i in range(x.shape[0])), dims="fixed")
    assert g(arange(3)) == 3
    assert g(arange(4)) == 6
    assert g.compilations == 2
    h = traced(lambda x: sum(x[:, i] for i in range(x.shape[1])), dims={"x": (None, 3)})
    assert h(arange(4, 3)).tolist() == [3, 12, 21, 30]
    assert h(arange(5, 3)).shape == (5,)
    assert h.compilations == 1


def test_constraints_are_passed_on():
    f = traced(lambda x: x.reshape(-1, 4).sum(axis=1), dims={"x": ("N",)}, constraints=["N % 4 == 0"])
    assert f(arange(8)).tolist() == [6, 22]
    with pytest.raises(CallError, match=r"N % 4 == 0 does not hold"):
        f(arange(6))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dims": {"z": ("N",)}}, r"dims names 'z', and the arrays are 'x'"),
        ({"dims": "auto "}, r"dims must be 'auto', 'fixed' or a dict"),
        ({"dims": {"x": (1.5,)}}, r"dims of x, axis 0: expected a name, an int, a Dim"),
        ({"dims": {"x": {"a": 1}}}, r"dims of x: expected a shape such as \('N', 784\), got \{'a': 1\}"),
        ({"static_argnames": "q"}, r"static_argnames names 'q', and the parameters are x"),
    ],
)
def test_options_that_say_nothing(options, message):
    def f(x):
        return x

    with pytest.raises((GraphError, CallError), match=message):
        traced(f, **options)(arange(3))


# -------------------------------------------------------------------------------------------------------------- stages


def test_stages():
    f = traced(lambda x, y: (x @ y).sum())
    lowered = f.lower(arange(2, 3), arange(3, 4))
    assert f.compilations == 0
    assert [str(o.shape) for o in lowered.outputs] == ["()"]
    assert tj.show_graph(tj.read_graph(lowered.as_text())) == lowered.as_text()
    compiled = lowered.compile()
    assert compiled(arange(2, 3), arange(3, 4)) == (arange(2, 3) @ arange(3, 4)).sum()
    assert compiled(arange(5, 1), arange(1, 4)) == (arange(5, 1) @ arange(1, 4)).sum()
    assert compiled.graph.compilations == 1
    with pytest.raises(CallError, match=r"argument y, axis 0: expected 3, since x_1 is 3 in argument x, axis 1, got 2"):
        compiled(arange(2, 3), arange(2, 4))
    with pytest.raises(CallError, match=r"argument x is float64 of 2 axes, and float32 of 2 axes was compiled"):
        compiled(arange(2, 3, dtype=np.float64), arange(3, 4))
    with pytest.raises(CallError, match="another structure"):
        compiled(arange(2, 3))


@pytest.mark.toolchain
def test_the_text_of_compiled_code():
    compiled = jit(lambda x: x * 2).lower(arange(3)).compile()
    assert "float" in compiled.as_text()
    assert "<Compiled <lambda>: <CompiledGraph (x) -> 1 outputs" in repr(compiled)


@pytest.mark.toolchain
def test_specifications_in_place_of_arrays():
    f = traced(lambda x, w: x @ w)
    compiled = f.lower(ArraySpec(("N", 3), "float64"), ArraySpec((3, "M"), np.float64)).compile()
    assert compiled(arange(5, 3, dtype=float), arange(3, 2, dtype=float)).shape == (5, 2)
    assert tj.compile(f, ArraySpec((Dim("N", 1, 9), 3)), arange(3, 2)).program.shapes[0] == (Dim("N", 1, 9), 3)
    assert tj.compile(lambda x: x + 1, ArraySpec(("N",)))(arange(3)).tolist() == [1, 2, 3]
    with pytest.raises(GraphError, match=r"matmul: inner sizes differ, K .* and M"):
        f.lower(ArraySpec(("N", "K")), ArraySpec(("M", 2)))
    with pytest.raises(TraceError, match=r"whether N <= 4 depends on sizes that are not known here"):
        traced(lambda x: x if x.shape[0] <= 4 else -x).lower(ArraySpec(("N",)))


def test_expressions_as_arguments_build_a_graph():
    f = traced(lambda x, y: tj.exp(x) + y)
    x = tj.input("x", (Dim("N"),))
    assert isinstance(f(x, 1.0), tj.Expr)
