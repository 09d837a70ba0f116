"""Declared constraints on the sizes of a graph: accepted as values and as text, checked at each call, kept by pickles."""

import pickle

import numpy as np
import pytest

import tjcore as tj
from tjcore import CallError, CompiledGraph, Dim, GraphError, compile_plan
from tjcore.dims import le, multiple_of, parse_constraint

N, M = Dim("N", 0, 64), Dim("M", 0, 64)
X, Y = tj.input("x", (N,)), tj.input("y", (M,))


@pytest.mark.parametrize("constraints", [[multiple_of(N, 8), le(N, M)], ["N % 8 == 0", "N <= M"]])
@pytest.mark.parametrize("backend", ["reference", "gcc"])
def test_calls_keep_what_is_declared(backend, constraints):
    compiled = CompiledGraph([X.sum() + Y.sum()], backend=backend, constraints=constraints)
    for f in (compiled, pickle.loads(pickle.dumps(compiled))):
        for n, m in ((0, 0), (8, 8), (16, 20), (8, 8)):
            assert f(x=np.ones(n, np.float32), y=np.ones(m, np.float32))[0] == n + m
        for _ in range(2):
            with pytest.raises(CallError, match=r"N = 12: the declared constraint N % 8 == 0 does not hold"):
                f(x=np.ones(12, np.float32), y=np.ones(12, np.float32))
            with pytest.raises(CallError, match=r"M = 7, N = 8: the declared constraint N <= M does not hold"):
                f(x=np.ones(8, np.float32), y=np.ones(7, np.float32))


def test_text():
    dims = {"N": N, "M": M}
    for text, shown in {
        "N < M": "N + 1 <= M",
        "N >= M": "M <= N",
        "N > 2": "3 <= N",
        "N == 2*M": "N == 2*M",
        "(N + M) % 4 == 0": "(M + N) % 4 == 0",
    }.items():
        assert str(parse_constraint(text, dims)) in (shown, shown.replace("M + N", "N + M"))


def test_refusals():
    plan = compile_plan([X + 1], constraints=["N % 2 == 0"])
    assert [str(c) for c in plan.constraints] == ["N % 2 == 0"]
    for wrong, message in {"N": "expected text such as", "K < 3": "one of the dims N", "N > 64": "can never hold"}.items():
        with pytest.raises(GraphError, match=message):
            compile_plan([X + 1], constraints=[wrong])
    with pytest.raises(GraphError, match="no symbol Dim\\('M'"):
        compile_plan([X + 1], constraints=[le(N, M)])
    with pytest.raises(GraphError, match="expected a sequence"):
        compile_plan([X + 1], constraints="N < 3")
