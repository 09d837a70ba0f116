"""Lowering: a fused group as plain serial loops. Run one element at a time, they compute what the graph means."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tjcore import Dim, constant, evaluate_graph, float64, input, int32
from tjcore.conformance.compare import assert_same
from tjcore.conformance.graphs import random_samples
from tjcore.conformance.interpret import run_kernel
from tjcore.conformance.values import ordinary
from tjcore.dims import evaluate
from tjcore.fusion import fuse
from tjcore.loops import Contract, Fold, Load, Loop, Store, show_kernel, verify_kernel, walk
from tjcore.lower import lower
from tjcore.schedule import schedule
from tjcore.simplify import prepare

N, M, K = Dim("N", 0, 64), Dim("M", 1, 64), Dim("K", 1, 64)
x, m, v, s = input("x", (N,)), input("m", (M, K)), input("v", (K,)), input("s", ())
a, b = input("a", (M, K)), input("b", (K, N))

GRAPHS = {
    "elementwise": [((x + x) * 3 - x).relu()],
    "a scalar": [s * 2 + 1],
    "a constant alone": [constant(2).broadcast_to((M, 2))],
    "a size": [m.mean(0), x.mean()],
    "rows and columns": [m * v, m - m.sum(1).expand_dims(1)],
    "transposes": [m.T + 1, m.T.expand_dims(1).permute((2, 1, 0)), m + m.T.T],
    "sums over each axis": [m.sum(0), m.sum(1), m.sum(1).sum(0), (m * 2 + v).sum(0) - 1],
    "extremes": [m.max(0), m.min(1)],
    "products": [a @ b, (a.T @ a) + 1, (a @ b).relu() * 2, (a @ b).T],
    "an input as an output": [x, m.T],
    "empty and static": [input("e", (0, 3)) + 1, input("t", (1, 3, 1)) * 2],
    "integers": [input("i", (M,), int32) * input("j", (M,), int32) + 7],
    "float64": [input("d", (M, K), float64).sum(0) / 3],
}


def kernels_of(outputs, fused=True):
    final = prepare(outputs, fused)
    groups = fuse(final, fused)
    return final, groups, [lower(group, f"k{i}") for i, group in enumerate(groups)]


def run(outputs, arrays, sizes, change=lambda kernel: kernel, fused=True):
    """The outputs, each kernel run one element at a time."""
    shapes, results = {}, {}
    final, groups, kernels = kernels_of(outputs, fused)
    home = {node: arrays[node.arg].reshape(-1) for group in groups for node in group.reads if node.op == "input"}
    for group, kernel in zip(groups, kernels, strict=True):
        verify_kernel(kernel)
        shape = [d if isinstance(d, int) else evaluate(d, sizes) for d in group.root.shape]
        result = np.full(int(np.prod(shape)), 77, group.root.dtype.numpy)
        run_kernel(change(kernel), [*(home[node] for node in group.reads), result], sizes)
        if group.root.op != "input":
            home[group.root] = result
        shapes[group.root] = shape
        results[group.root] = result
    return [results[node].reshape(shapes[node]) for node in final]


def arrays_of(outputs, sizes, seed=0):
    random = np.random.default_rng(seed)
    _, groups, _ = kernels_of(outputs)
    found = {node.arg: node for group in groups for node in group.reads if node.op == "input"}
    return {n: ordinary(e.dtype, [d if isinstance(d, int) else evaluate(d, sizes) for d in e.shape], random) for n, e in found.items()}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("change", [lambda kernel: kernel, schedule], ids=["lowered", "scheduled"])
def test_loops_compute_what_the_graph_means(name, change):
    outputs = GRAPHS[name]
    for sizes in ({"N": 3, "M": 2, "K": 4}, {"N": 1, "M": 1, "K": 1}, {"N": 0, "M": 3, "K": 1}):
        arrays = arrays_of(outputs, sizes)
        for i, (got, want) in enumerate(zip(run(outputs, arrays, sizes, change), evaluate_graph(outputs, arrays, sizes), strict=True)):
            assert_same(got, want, f"output {i} of {name} at {sizes}")


@given(sample=random_samples())
@settings(max_examples=40, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_random_graphs_are_lowered_and_scheduled_without_changing_a_bit(sample):
    sizes = {"P": 3, "Q": 2}
    arrays = sample.arrays(sizes)
    want = evaluate_graph(sample.outputs, arrays, sizes)
    for change, fused in ((lambda kernel: kernel, True), (schedule, True), (lambda kernel: kernel, False)):
        for got, expected in zip(run(sample.outputs, arrays, sizes, change, fused), want, strict=True):
            assert_same(got, expected, "run one element at a time")


def test_there_is_one_loop_per_axis_in_axis_order_and_each_node_once():
    (kernel,) = kernels_of([(m * v + m * v).T])[2]
    loops = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Loop)]
    assert [str(loop.axis.extent) for loop in loops] == ["K", "M"]
    assert sum(isinstance(stmt, Load) for stmt in walk(kernel.body)) == 2, show_kernel(kernel)
    assert sum(isinstance(stmt, Store) for stmt in walk(kernel.body)) == 1


def test_views_have_become_indices():
    (kernel,) = kernels_of([m.T.expand_dims(0) * 2])[2]
    assert {type(stmt).__name__ for stmt in walk(kernel.body)} == {"Loop", "Load", "Const", "Let", "Store"}


def test_an_anchor_comes_with_what_stands_before_and_behind_it():
    (kernel,) = kernels_of([(m * v).sum(1) + 1])[2]
    (fold,) = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Fold)]
    assert fold.op == "add" and str(fold.axis.extent) == "K"
    (kernel,) = kernels_of([(a @ b) * 2])[2]
    assert isinstance(kernel.body[0], Contract) and len(kernel.body[0].body) > 1


def test_one_node_may_go_to_several_buffers():
    (group,) = fuse(prepare([x * 2], True))
    kernel = lower(group, "k", 3)
    verify_kernel(kernel)
    buffers = [np.arange(3, dtype=np.float32), *(np.zeros(3, np.float32) for _ in range(3))]
    run_kernel(kernel, buffers, {"N": 3})
    assert all((buffer == [0, 2, 4]).all() for buffer in buffers[1:])


def test_what_a_kernel_touches_at_its_own_index_only_is_noted():
    (kernel,) = kernels_of([m * v])[2]
    assert [param.own for param in kernel.params] == [2, 0, 2]
    (kernel,) = kernels_of([m.T * 2])[2]
    assert [param.own for param in kernel.params] == [0, 2]


def test_the_same_graph_gives_the_same_kernels():
    once, again = (kernels_of([(m * v).sum(1) + 1, m.T])[2] for _ in range(2))
    assert once == again and [show_kernel(k) for k in once] == [show_kernel(k) for k in again]
