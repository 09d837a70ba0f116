"""Convolution and pooling against plain loops, with strides, padding, dilation and groups; sizes that are known at the call only."""

import itertools

import numpy as np
import pytest

import tjcore as tj
from tjcore import CompiledGraph, Dim, GraphError, evaluate_graph, grad, nn

B, H = Dim("B", 0, 8), Dim("H", 1, 40)


def slow_conv(x, w, stride, padding, dilation, groups):
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    filters, depth, kh, kw = w.shape
    rows, columns = (max((n - (k - 1) * dilation - 1) // stride + 1, 0) for n, k in zip(x.shape[2:], (kh, kw), strict=True))
    out = np.zeros((len(x), filters, rows, columns))
    for f, i, j in itertools.product(range(filters), range(rows), range(columns)):
        g = f // (filters // groups)
        part = x[:, g * depth : (g + 1) * depth, i * stride : i * stride + (kh - 1) * dilation + 1 : dilation]
        part = part[..., j * stride : j * stride + (kw - 1) * dilation + 1 : dilation]
        out[:, f, i, j] = (part * w[f]).sum((1, 2, 3))
    return out


SETTINGS = [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (3, 1, 1, 4)]


@pytest.mark.parametrize("backend", ["reference", "gcc", "clang"])
def test_conv2d(backend):
    x = tj.input("x", (B, 4, H, 9))
    weights = [tj.input(f"w{i}", (8, 4 // groups, 3, 2)) for i, (*_, groups) in enumerate(SETTINGS)]
    outs = [nn.conv(x, w, stride=s, padding=p, dilation=d, groups=g) for w, (s, p, d, g) in zip(weights, SETTINGS, strict=True)]
    compiled = CompiledGraph(outs, backend=backend)
    r = np.random.default_rng(0)
    ws = {w.arg: r.standard_normal(w.shape).astype(np.float32) for w in weights}
    for b, h in ((1, 1), (2, 5), (0, 3), (3, 40)):
        a = r.standard_normal((b, 4, h, 9)).astype(np.float32)
        for got, w, setting in zip(compiled(x=a, **ws), ws.values(), SETTINGS, strict=True):
            want = slow_conv(a, w, *setting)
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, atol=1e-4)


@pytest.mark.parametrize("backend", ["reference", "gcc"])
def test_conv1d_with_bias_and_pools(backend):
    x, w, bias = tj.input("x", (B, 3, H)), tj.input("w", (5, 3, 3)), tj.input("bias", (5,))
    pools = [nn.max_pool(x, 2, stride=1, padding=1), nn.avg_pool(x, 2, stride=1, padding=1), nn.max_pool(x, 1)]
    compiled = CompiledGraph([nn.conv(x, w, bias, padding=1), *pools], backend=backend)
    r = np.random.default_rng(0)
    for b, h in ((2, 7), (1, 1), (3, 40)):
        a, k, c = (r.standard_normal(s).astype(np.float32) for s in ((b, 3, h), (5, 3, 3), (5,)))
        got = compiled(x=a, w=k, bias=c)
        want = slow_conv(a[:, :, None], np.pad(k[:, :, None], ((0, 0), (0, 0), (1, 1), (0, 0))), 1, 1, 1, 1)[:, :, 0] + c[:, None]
        np.testing.assert_allclose(got[0], want, atol=1e-4)
        for y, fill, fold in ((got[1], -np.inf, np.max), (got[2], 0, np.mean)):
            p = np.pad(a, ((0, 0), (0, 0), (1, 1)), constant_values=fill)
            np.testing.assert_allclose(y, fold(np.stack([p[..., :-1], p[..., 1:]]), axis=0), rtol=1e-6)
        np.testing.assert_array_equal(got[3], a)


def test_gradients_against_differences():
    x, w = tj.input("x", (2, 2, 6, 5), tj.float64), tj.input("w", (4, 1, 2, 3), tj.float64)
    total = (nn.conv(x, w, stride=2, padding=1, groups=2) ** 2).sum(None)
    r = np.random.default_rng(0)
    given = {"x": r.standard_normal(x.shape), "w": r.standard_normal(w.shape)}
    for node, dy in zip((x, w), evaluate_graph(grad(total, [x, w]), given, {}), strict=True):
        step = r.standard_normal(node.shape)
        above, below = (evaluate_graph([total], given | {node.arg: given[node.arg] + s * step}, {})[0] for s in (1e-6, -1e-6))
        np.testing.assert_allclose((dy * step).sum(), (above - below) / 2e-6, rtol=1e-6)


def test_refusals():
    x, w = tj.input("x", (B, 4, H, 9)), tj.input("w", (8, 4, 3, 2))
    for make, message in {
        lambda: nn.conv(x, tj.input("w", (8, 3, 3, 2))): "1 groups of 3 channels do not make the 4 channels",
        lambda: nn.conv(x, w, stride=0): "stride must be an int of at least 1",
        lambda: nn.conv(x, w, padding=-1): "padding",
        lambda: nn.max_pool(tj.input("v", (3,)), 2): "expected \\(batch, channels",
    }.items():
        with pytest.raises(GraphError, match=message):
            make()


@pytest.mark.parametrize("backend", ["reference", "gcc", "clang"])
def test_a_channel_for_each_filter_has_the_bits_of_the_product(backend):
    """A second channel of zeros makes it a product: fma(0, 0, acc) leaves every chain as it is."""
    x, w = tj.input("x", (B, 3, H, 9)), tj.input("w", (3, 1, 3, 2))
    both = x.expand_dims(2).broadcast_to((B, 3, 2, H, 9)).reshape((B, 6, H, 9))
    weights = tj.concat([w, w * 0], axis=1)
    for stride, padding, dilation in ((1, 1, 1), (2, 1, 1), (1, 2, 2)):
        setting = {"stride": stride, "padding": padding, "dilation": dilation, "groups": 3}
        f = CompiledGraph([nn.conv(x, w, **setting).relu(), nn.conv(both, weights, **setting).relu()], backend=backend)
        r = np.random.default_rng(1)
        for b, h in ((1, 5), (3, 12), (2, 40)):
            one, two = f(x=r.standard_normal((b, 3, h, 9), np.float32), w=r.standard_normal((3, 1, 3, 2), np.float32))
            np.testing.assert_array_equal(one, two)


def test_what_follows_a_convolution_is_its_epilogue():
    x, w, b = tj.input("x", (B, 4, H, 9)), tj.input("w", (8, 4, 3, 2)), tj.input("b", (8, 1, 1))
    plan = tj.compile_plan([(nn.conv(x, w, padding=1) + b).relu()])
    assert [k.ops[-1] for k in plan.kernels] == ["concat", "transpose", "relu"]
    assert "matmul" in plan.kernels[-1].ops
    depthwise = tj.compile_plan([nn.conv(x, tj.input("d", (4, 1, 3, 3)), padding=1, groups=4).relu()])
    assert [k.ops[-1] for k in depthwise.kernels] == ["concat", "relu"]
