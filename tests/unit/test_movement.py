"""Parts, shapes and joins of tensors against NumPy, on every toolchain, at sizes around every edge."""

import itertools

import numpy as np
import pytest

import tjcore as tj
from tjcore import CallError, CompiledGraph, Dim, GraphError, evaluate_graph, grad, read_graph, show_graph

N, M = Dim("N", 0, 70), Dim("M", 0, 50)
X, C = tj.input("x", (N, M)), tj.input("c", (M, 4, 6))
BACKENDS = ["reference", "gcc", "clang"]

CASES = {
    "reversed": (lambda x, c: x[::-1]),
    "parts with steps": (lambda x, c: x[1:, ::2] * 2),
    "negative bounds": (lambda x, c: x[-3:-1, ::-2]),
    "new axis": (lambda x, c: x[None, ..., 1:4]),
    "an int takes an axis away": (lambda x, c: c[:, -1, 2:] + 1),
    "merge": (lambda x, c: c.reshape((-1, 6))),
    "merge what is no longer in order": (lambda x, c: (c * 2).swapaxes(0, 1).reshape((-1, 6))),
    "split": (lambda x, c: c.reshape((-1, 2, 2, 6)) + 1),
}
PAIRS = {
    "flatten": (lambda x, c: x.flatten() + 1, lambda x, c: x.flatten() + 1),
    "sum of all": (lambda x, c: x.flatten().sum(), lambda x, c: x.sum()),
    "concat": (lambda x, c: tj.concat([x, x * 2, x[1:]], axis=0), lambda x, c: np.concatenate([x, x * 2, x[1:]], 0)),
    "concat of a sum": (
        lambda x, c: tj.concat([x, x.sum(1, keepdims=True)], axis=1) + 1,
        lambda x, c: np.concatenate([x, x.sum(1, keepdims=True)], 1) + 1,
    ),
    "concat of nothing but rows": (
        lambda x, c: tj.concat([c[:, 0], c[:, 3]], axis=None),
        lambda x, c: np.concatenate([c[:, 0], c[:, 3]], None),
    ),
    "stack": (lambda x, c: tj.stack([x, x + 1], axis=2), lambda x, c: np.stack([x, x + 1], 2)),
    "unstack": (lambda x, c: tj.unstack(c, axis=1)[2] * 1, lambda x, c: c[:, 2]),
    "tile": (lambda x, c: tj.tile(x, (2, 3)), lambda x, c: np.tile(x, (2, 3))),
    "tile in front": (lambda x, c: tj.tile(x, (2, 1, 1)), lambda x, c: np.tile(x, (2, 1, 1))),
    "repeat": (lambda x, c: tj.repeat(x, 3, axis=1), lambda x, c: np.repeat(x, 3, 1)),
    "roll": (lambda x, c: tj.roll(x, 5, axis=1), lambda x, c: np.roll(x, 5, 1)),
    "roll of all": (lambda x, c: tj.roll(x, -7), lambda x, c: np.roll(x, -7)),
    "roll of a known size": (lambda x, c: tj.roll(c, (1, -9), axis=(1, 2)), lambda x, c: np.roll(c, (1, -9), (1, 2))),
    "pad": (lambda x, c: tj.pad(x, ((1, 2), (0, 3)), constant_values=7), lambda x, c: np.pad(x, ((1, 2), (0, 3)), constant_values=7)),
    "split in parts": (lambda x, c: tj.split(c, 2, axis=1)[1] * 1, lambda x, c: np.split(c, 2, 1)[1]),
    "split at places": (lambda x, c: tj.split(x, [2, 5], axis=1)[1] * 1, lambda x, c: np.split(x, [2, 5], 1)[1]),
    "flip": (lambda x, c: tj.flip(c) - 1, lambda x, c: np.flip(c) - 1),
    "moveaxis": (lambda x, c: tj.moveaxis(c, 0, -1), lambda x, c: np.moveaxis(c, 0, -1)),
    "windows": (
        lambda x, c: tj.sliding_window_view(x, 3, axis=1),
        lambda x, c: np.lib.stride_tricks.sliding_window_view(x, 3, 1) if x.shape[1] >= 3 else np.zeros((x.shape[0], 0, 3), np.float32),
    ),
    **{name: (both, both) for name, both in CASES.items()},
}
EXPRS = {name: ours(X, C) for name, (ours, _) in PAIRS.items()}


def arrays(n, m):
    random = np.random.default_rng(n * 100 + m)
    return {"x": random.integers(-9, 9, (n, m)).astype(np.float32), "c": random.integers(-9, 9, (m, 4, 6)).astype(np.float32)}


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("backend", BACKENDS)
def test_against_numpy(backend, fuse):
    compiled = CompiledGraph(list(EXPRS.values()), backend=backend, fuse=fuse)
    for n, m in itertools.product((0, 1, 2, 17, 70), (0, 1, 5, 50)):
        given = arrays(n, m)
        for (name, (_, numpys)), got in zip(PAIRS.items(), compiled(**given), strict=True):
            want = numpys(given["x"], given["c"])
            assert got.shape == want.shape, (name, n, m)
            np.testing.assert_array_equal(got, want, err_msg=f"{name} at {n}, {m}")


def test_text_round_trip():
    text = show_graph(list(EXPRS.values()))
    assert show_graph(read_graph(text)) == text


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_pad_modes(mode, backend):
    widths = ((2, 1), (0, 3))
    compiled = CompiledGraph([tj.pad(X, widths, mode)], backend=backend)
    for shape in ((4, 5), (70, 50)):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        np.testing.assert_array_equal(compiled(x=x)[0], np.pad(x, widths, mode))
    with pytest.raises(CallError, match=r"axis 0 of shape \(N, M\).*N = 0"):
        compiled(x=np.zeros((0, 5), np.float32))


def test_gradients_are_the_transposed_maps():
    """The map is linear: its gradient with cotangent g is A^T g, which the elements of the identity give one by one."""
    n, m = 5, 4
    x = tj.input("x", (n, m), tj.float64)
    c = tj.input("c", (m, 4, 6), tj.float64)
    random = np.random.default_rng(0)
    given = {"x": random.standard_normal((n, m)), "c": random.standard_normal((m, 4, 6))}
    for name, (ours, _) in PAIRS.items():
        y = ours(x, c)
        g = random.standard_normal(y.shape)
        weights = tj.input("g", y.shape, tj.float64)
        total = (y * weights).sum(None)
        for node in (x, c):
            (dx,) = grad(total, [node])
            (got,) = evaluate_graph([dx], {**given, "g": g}, {})
            step = random.standard_normal(node.shape)
            moved = {**given, "g": g, node.arg: given[node.arg] + step}
            (before,), (after,) = evaluate_graph([total], {**given, "g": g}, {}), evaluate_graph([total], moved, {})
            np.testing.assert_allclose((got * step).sum(), after - before, atol=1e-9, err_msg=name)


def test_refusals_name_axis_and_sizes():
    for make, message in {
        lambda: X[0, 1, 2]: "3 indices for a tensor of rank 2",
        lambda: C[:, 4]: r"index 4 is out of range for axis 1 of shape \(M, 4, 6\)",
        lambda: C[0].reshape((5, 5)): "24 elements.*has 25",
        lambda: X.reshape((-1, -1)): "one size at most may be -1",
        lambda: X["a"]: "an index is an int",
        lambda: X[::0]: "step",
        lambda: tj.concat([C, C[:, 1:]], axis=0): "axis 1 of the operands must agree, got 4 .* and 3",
        lambda: tj.split(C, 3, axis=1): "3 equal parts",
        lambda: tj.pad(C, ((0, 0), (5, 0), (0, 0)), "reflect"): "has 3 elements to take along axis 1",
    }.items():
        with pytest.raises(GraphError, match=message):
            make()


def test_what_depends_on_sizes_is_checked_at_the_call():
    compiled = CompiledGraph([X.reshape((M, N)), X[2]], backend="reference")
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(compiled(x=x)[0], x.reshape(2, 3))
    with pytest.raises(CallError, match=r"axis 0 of shape \(N, M\): needs 2 <= N - 1, but that is 2 <= 1 in this call, where N = 2"):
        compiled(x=x[:2])
    square = CompiledGraph([tj.split(X, 2)[0]], backend="reference")
    with pytest.raises(CallError, match="N = 3"):
        square(x=x)


def test_a_part_of_a_stored_tensor_and_donation():
    y = X @ X.T
    compiled = CompiledGraph([y[:3], X * 2], donate=["x"])
    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    want = evaluate_graph([y[:3], X * 2], {"x": x}, {"N": 5, "M": 4})
    for a, b in zip(compiled(x=x.copy()), want, strict=True):
        np.testing.assert_array_equal(a, b)
