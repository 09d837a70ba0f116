"""Arrays that a graph holds: data beside the code, the same after pickling, in text by their contents' name, never in the C."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import tjcore as tj
from tjcore import CompiledGraph, Dim, constant, evaluate_graph, grad, read_graph, show_graph

N = Dim("N", 0, 64)


@pytest.mark.parametrize("backend", ["reference", "gcc", "clang"])
def test_they_are_brought_along(backend):
    w = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    x = tj.input("x", (N, 4))
    y = x @ constant(w) + constant(np.arange(3, dtype=np.float32))
    compiled = CompiledGraph([y], backend=backend)
    kept = w.copy()
    w[:] = 0  # a copy was taken
    for f in (compiled, pickle.loads(pickle.dumps(compiled))):
        for n in (0, 1, 5, 5):
            a = np.ones((n, 4), np.float32)
            np.testing.assert_allclose(f(x=a)[0], a @ kept + np.arange(3), rtol=1e-6)
        call = f.prepare(x=np.ones((2, 4), np.float32))
        np.testing.assert_allclose(call()[0], np.ones((2, 4)) @ kept + np.arange(3), rtol=1e-6)
    (want,) = evaluate_graph([y], {"x": np.ones((2, 4), np.float32)}, {"N": 2})
    np.testing.assert_allclose(want, np.ones((2, 4)) @ kept + np.arange(3), rtol=1e-6)


def test_contents_make_the_node():
    a = constant(np.arange(4))
    assert a is constant(np.arange(4)) and a is not constant(np.arange(4).astype(np.int32)) and a.dtype is tj.int64
    assert constant(np.arange(4), tj.float32).dtype is tj.float32
    text = show_graph([a + 1])
    assert show_graph(read_graph(text)) == text and read_graph(text)[0].sources[0] is a
    assert pickle.loads(pickle.dumps(a)) is a


def test_a_pickle_brings_them_to_another_process(tmp_path):
    y = tj.input("x", (3,), tj.int64) * constant(np.array([5, 6, 7]))
    (tmp_path / "y").write_bytes(pickle.dumps(y))
    code = (
        "import pickle, sys, numpy as np; from tjcore import CompiledGraph; y = pickle.load(open(sys.argv[1], 'rb'));"
        "print(CompiledGraph([y], backend='reference')(x=np.array([1, 2, 3]))[0].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "y"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[5, 12, 21]"


@pytest.mark.toolchain
def test_sixteen_mebibytes_leave_the_source_small():
    big = np.random.default_rng(0).standard_normal((1 << 22,)).astype(np.float32)
    compiled = CompiledGraph([(constant(big) * tj.input("s", ())).sum()], backend="gcc")
    assert len(compiled.source) < 20_000
    assert compiled(s=np.array(2.0, np.float32))[0] == CompiledGraph([(tj.input("x", big.shape) * 2).sum()], backend="gcc")(x=big)[0]


def test_gradients_flow_past_them():
    x = tj.input("x", (3,), tj.float64)
    (dx,) = grad((x * constant(np.array([1.0, 2.0, 3.0]))).sum(), [x])
    np.testing.assert_array_equal(CompiledGraph([dx], backend="reference")()[0], [1, 2, 3])
