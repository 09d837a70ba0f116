"""Ranges, triangles and elements taken by index against NumPy, on every toolchain; what is refused; gradients."""

import itertools

import numpy as np
import pytest

import tjcore as tj
from tjcore import CallError, CompiledGraph, Dim, GraphError, evaluate_graph, grad, nn, read_graph, show_graph
from tjcore.traversal import toposort

N, M = Dim("N", 0, 70), Dim("M", 0, 50)
X, W, J = tj.input("x", (N, M)), tj.input("i", (M,), tj.int64), tj.input("j", (N, 3), tj.int32)
BACKENDS = ["reference", "gcc", "clang"]

CASES = {
    "arange": (tj.arange(N) * 1, lambda x, i, j: np.arange(len(x))),
    "arange with a step": (tj.arange(2, M, 3), lambda x, i, j: np.arange(2, x.shape[1], 3)),
    "arange downwards": (tj.arange(M, 0, -2), lambda x, i, j: np.arange(x.shape[1], 0, -2)),
    "eye": (tj.eye(N, M, k=1) + X, lambda x, i, j: np.eye(*x.shape, k=1, dtype=np.float32) + x),
    "tril": (tj.tril(X, k=-1), lambda x, i, j: np.tril(x, -1)),
    "triu": (tj.triu(X.T), lambda x, i, j: np.triu(x.T)),
    "one_hot": (tj.one_hot(W, M), lambda x, i, j: (i[:, None] == np.arange(x.shape[1])).astype(np.float32)),
    "meshgrid": (tj.meshgrid(tj.arange(N), W)[1] * 1, lambda x, i, j: np.meshgrid(np.arange(len(x)), i)[1]),
    "take columns": (tj.take(X, J % 5, axis=1), lambda x, i, j: np.take(x, j % 5, 1)),
    "take computed rows": (tj.take(X * 2, J, axis=0) + 1, lambda x, i, j: np.take(x * 2, j, 0) + 1),
    "take of all": (tj.take(X, J), lambda x, i, j: np.take(x, j)),
    "sum of what is taken": (tj.take(X, J, axis=0).sum(1), lambda x, i, j: np.take(x, j, 0).sum(1)),
    "take of a range": (tj.take(tj.arange(N), J, axis=0), lambda x, i, j: np.arange(len(x))[j]),
    "take_along_axis": (tj.take_along_axis(X, J % 5, axis=1), lambda x, i, j: np.take_along_axis(x, j % 5, 1)),
}


def arrays(n, m):
    r = np.random.default_rng(n * 100 + m)
    return {
        "x": r.integers(-9, 9, (n, m)).astype(np.float32),
        "i": r.integers(-3, m, m),
        "j": r.integers(-n, max(n, 1), (n, 3)).astype(np.int32),
    }


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("backend", BACKENDS)
def test_against_numpy(backend, fuse):
    compiled = CompiledGraph([expr for expr, _ in CASES.values()], backend=backend, fuse=fuse)
    for n, m in itertools.product((0, 1, 2, 17, 70), (5, 33, 50)):
        given = arrays(n, m)
        for (name, (_, numpys)), got in zip(CASES.items(), compiled(**given), strict=True):
            want = numpys(**given)
            assert got.shape == want.shape and got.dtype == want.dtype, name
            np.testing.assert_array_equal(got, want, err_msg=f"{name} at {n}, {m}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_linspace_and_a_causal_softmax(backend):
    causal = (tj.arange(N) <= tj.arange(N).expand_dims(1)).where(X @ X.T, -1e9)
    compiled = CompiledGraph(
        [tj.linspace(1, 5, M, dtype=tj.float64), nn.softmax(causal), tj.linspace(0, 1, M, endpoint=False, dtype=tj.float32)],
        backend=backend,
    )
    for n, m in ((1, 1), (70, 50), (17, 3), (2, 0)):
        x = np.random.default_rng(n).standard_normal((n, m)).astype(np.float32)
        line, soft, short = compiled(x=x)
        np.testing.assert_allclose(line, np.linspace(1, 5, m), rtol=1e-15)
        np.testing.assert_allclose(short, np.linspace(0, 1, m, endpoint=False, dtype=np.float32), rtol=1e-6)
        logits = np.where(np.tri(n, dtype=bool), x @ x.T, -1e9)
        e = np.exp(logits - logits.max(1, keepdims=True))
        np.testing.assert_allclose(soft, e / e.sum(1, keepdims=True), atol=1e-5)


def test_text_round_trip():
    text = show_graph([expr for expr, _ in CASES.values()])
    assert show_graph(read_graph(text)) == text


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_outside_is_refused_or_brought_inside(backend):
    compiled = CompiledGraph([tj.take(X, W, axis=0), tj.take(X, W * 2, axis=0)], backend=backend)
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    taken, doubled = compiled(x=x, i=np.array([-5, 4]))
    np.testing.assert_array_equal(taken, x[[-5, 4]])
    np.testing.assert_array_equal(doubled, x[[0, 4]])  # -10 and 8 are computed: the first and the last
    for wrong in (5, -6, 2**40):
        for _ in range(2):
            with pytest.raises(
                CallError, match=rf"input 'i': index {wrong} is out of range for axis 0 of take, whose size N is 5; allowed: -5..4"
            ):
                compiled(x=x, i=np.array([0, wrong]))
    with pytest.raises(CallError, match="axis 0 of size N is empty"):
        compiled(x=x[:0], i=np.array([0, 0]))


@pytest.mark.toolchain
def test_gradients_against_differences():
    x, i, k = tj.input("x", (4, 3), tj.float64), tj.input("i", (2, 5), tj.int64), tj.input("k", (2, 3), tj.int64)
    r = np.random.default_rng(0)
    given = {"x": r.standard_normal((4, 3)), "i": r.integers(-4, 4, (2, 5)), "k": r.integers(-4, 4, (2, 3))}
    for y in (tj.take(x, i, axis=0), tj.take(x, i % 3, axis=1), tj.take_along_axis(x, k, axis=0), tj.tril(x)):
        w = tj.input("w", y.shape, tj.float64)
        total = (y * w * y).sum(None)
        (dx,) = grad(total, [x])
        used = {"x": given["x"], "w": r.standard_normal(y.shape)} | {
            node.arg: given[node.arg] for node in toposort([y]) if node.arg in ("i", "k")
        }
        (got,) = evaluate_graph([dx], used, {})
        step = r.standard_normal((4, 3))
        (above,), (below,) = (evaluate_graph([total], used | {"x": given["x"] + s * step}, {}) for s in (1e-6, -1e-6))
        np.testing.assert_allclose((got * step).sum(), (above - below) / 2e-6, rtol=1e-6)
        for backend in ("gcc", "clang"):
            np.testing.assert_allclose(CompiledGraph([dx], backend=backend)(**used)[0], got, rtol=1e-12)


def test_refusals():
    for make, message in {
        lambda: tj.take(X, X, axis=0): "indices must be int32 or int64, got float32",
        lambda: tj.take(X, W, axis=2): "axis 2 is out of range",
        lambda: tj.take_along_axis(X, W): "one rank",
        lambda: tj.arange(N, 1.5): "arange: bounds must be ints or sizes",
        lambda: tj.tril(W): "at least two axes",
    }.items():
        with pytest.raises(GraphError, match=message):
            make()
