"""Where the time of a call goes: steps, their bytes and operations, and the same bits with a clock as without."""

import numpy as np
import pytest

import tjcore as tj
from tjcore import CallError, CompiledGraph, Dim, input

N = Dim("N", 0, 4096)
x, w = input("x", (N, 64)), input("w", (64, 64))
OUTPUTS = [tj.nn.softmax((x @ w).relu()), (x @ w).sum(0)]
ARRAYS = {
    "x": np.random.default_rng(0).standard_normal((300, 64)).astype(np.float32),
    "w": np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32),
}

pytestmark = pytest.mark.toolchain


@pytest.fixture
def graph(compile):
    if compile.free:
        pytest.skip("has no kernels")
    return CompiledGraph(OUTPUTS, backend=compile.backend, threads=2)


def test_every_kernel_is_in_one_step(graph):
    profile = graph.profile(repeat=3, **ARRAYS)
    assert [name for step in profile.steps for name in step.kernels] == [kernel.name for kernel in graph.plan.kernels]
    assert all(step.seconds >= 0 and step.flops >= 0 for step in profile.steps)
    assert sum(step.share for step in profile.steps) == pytest.approx(1) and profile.seconds > 0
    chain = next(step for step in profile.steps if len(step.kernels) > 1)
    assert chain.bytes < sum(row.bytes for row in graph.explain(N=300).kernels if row.name in chain.kernels), "scratch moves no bytes"
    assert sum(step.flops for step in profile.steps) == sum(row.flops for row in graph.explain(N=300).kernels)
    text = str(profile)
    assert "at N=300" in text and graph.backend in text and "GFLOP/s" in text and len(text.splitlines()) == 2 + len(profile.steps)


def test_the_graph_itself_has_no_clock(graph):
    graph.profile(repeat=1, **ARRAYS)
    assert "mark(" not in graph.source and graph.calls == 0 and graph.compilations == 1


def test_many_steps_and_none(compile):
    if compile.free:
        pytest.skip("has no kernels")
    total = input("v", (N,))
    for i in range(70):
        total = (total * 1.5).sum(None).broadcast_to((N,)) + float(i)
    profile = CompiledGraph([total], backend=compile.backend).profile(repeat=2, v=np.ones(9, np.float32))
    assert len(profile.steps) > 64, "the entry has a table of steps"
    empty = CompiledGraph(OUTPUTS, backend=compile.backend).profile(repeat=1, **(ARRAYS | {"x": np.ones((0, 64), np.float32)}))
    assert "at N=0" in str(empty)


def test_refusals(graph):
    for repeat in (0, -1, True, 2.5):
        with pytest.raises(CallError, match="profile: repeat must be an int of at least 1"):
            graph.profile(repeat=repeat, **ARRAYS)
    with pytest.raises(CallError, match="input 'x'"):
        graph.profile(x=ARRAYS["x"].astype(np.float64), w=ARRAYS["w"])
    with pytest.raises(CallError, match="the reference evaluator runs no kernels"):
        CompiledGraph(OUTPUTS, backend="reference").profile(**ARRAYS)
