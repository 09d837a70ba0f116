"""What a call would take in memory: figures, formulas, the worst case, the largest size that fits, and refusals that say what would."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tjcore as tj
from tjcore import BudgetError, CallError, CompiledGraph, Dim, input
from tjcore.layout import Layout
from tjcore.program import compile_plan
from tjcore.questions import Questions

N, M = Dim("N", 1, 300), Dim("M", 2, 50)
native = pytest.mark.toolchain


def questions(outputs, max_bytes=2**28, **options):
    plan = compile_plan(outputs, **options)
    return Questions(Layout(plan), plan.symbols, max_bytes)


def product():
    x, w = input("x", (N, M)), input("w", (M, 64))
    return [((x @ w) @ w.transpose()).relu() @ w]


def need(asked, **sizes):
    return asked.report(sizes).total_bytes


@native
def test_the_figures_are_those_of_the_call():
    f = CompiledGraph(product())
    before = f.memory(N=30, M=7)
    arrays = {"x": np.ones((30, 7), np.float32), "w": np.ones((7, 64), np.float32)}
    f(**arrays)
    last = f.last_memory
    for name in ("input_bytes", "output_bytes", "temporary_bytes", "unreused_temporary_bytes", "allocations", "bindings"):
        assert getattr(before, name) == getattr(last, name), name
    assert before.total_bytes == before.input_bytes + before.temporary_bytes + before.output_bytes
    assert before.input_bytes == (30 * 7 + 7 * 64) * 4 and before.output_bytes == 30 * 64 * 4
    assert f.memory(N=30, M=7) == before and f.calls == 1


def test_the_peak_names_what_is_alive_and_adds_up_to_the_lower_bound():
    for n, m in itertools.product((1, 2, 17, 300), (2, 50)):
        report = questions(product()).report({"N": n, "M": m})
        assert sum(share.nbytes for share in report.peak) == report.lower_bound <= report.temporary_bytes
        assert [s.nbytes for s in report.peak] == sorted((s.nbytes for s in report.peak), reverse=True)
        spans = {b.name: (b.first, b.last) for b in questions(product()).layout.memory.buffers}
        assert all(spans[s.name][0] <= report.peak_kernel <= spans[s.name][1] for s in report.peak)
    nothing = questions([input("x", (N,)) * 2]).report({"N": 3})
    assert (nothing.temporary_bytes, nothing.lower_bound, nothing.peak_kernel, nothing.peak) == (0, 0, None, ())


def test_formulas_say_what_the_figures_are():
    asked = questions(product())
    formulas = asked.formulas()
    for n, m in itertools.product((1, 2, 15, 16, 17, 299), (2, 3, 49)):
        report = asked.report({"N": n, "M": m})
        values = {"N": n, "M": m, "ceil": math.ceil, "max": max}
        assert eval(formulas.inputs, {}, values) == report.input_bytes
        assert eval(formulas.outputs, {}, values) == report.output_bytes
        assert eval(formulas.temporaries, {}, values) == report.temporary_bytes
        for a in report.allocations:
            assert eval(formulas.offsets[a.name], {}, values) == a.offset
    assert "N" in str(formulas) and f"{formulas.worst.total_bytes:,}" in str(formulas)


@given(st.integers(1, 300), st.integers(2, 50))
def test_no_size_takes_more_than_the_worst_case(n, m):
    asked = questions(product())
    worst, report = asked.formulas().worst, asked.report({"N": n, "M": m})
    assert report.temporary_bytes <= worst.temporary_bytes and report.total_bytes <= worst.total_bytes
    assert need(asked, N=300, M=50) == worst.total_bytes, "sizes that grow are worst at their upper bounds"


def brute(asked, name, budget, fixed):
    dim = asked.symbols[name]
    return max((s for s in range(dim.lower, dim.upper + 1) if need(asked, **{name: s}, **fixed) <= budget), default=None)


@given(st.integers(0, 400_000), st.integers(2, 50))
@settings(max_examples=15)
def test_the_largest_size_that_fits(budget, m):
    asked = questions(product())
    want = brute(asked, "N", budget, {"M": m})
    if want is None:
        with pytest.raises(BudgetError, match=f"N=1.*budget = {budget:,}"):
            asked.max_dim("N", budget, {"M": m})
    else:
        assert asked.max_dim("N", budget, {"M": m}) == want


def test_the_largest_size_where_memory_falls_as_a_dim_grows():
    k = Dim("K", 1, 90)
    a, b = input("a", (100 - k, 100)), input("b", (k,))  # the bigger K, the smaller a
    asked = questions([a.sum(1), b.sum(0) * 1.0])
    for budget in (3_000, 4_400, 20_000, 40_500):
        want = brute(asked, "K", budget, {})
        if want is None:
            with pytest.raises(BudgetError):
                asked.max_dim("K", budget, {})
        else:
            assert asked.max_dim("K", budget, {}) == want == 90


@native
def test_budgets_read_like_the_setting():
    f = CompiledGraph(product(), max_bytes="100 KiB")
    assert f.max_dim("N", M=50) == f.max_dim("N", 102_400, M=50) == f.max_dim("N", budget="100 KiB", M=50)
    assert f.memory(N=f.max_dim("N", M=50), M=50).total_bytes <= 102_400 < f.memory(N=f.max_dim("N", M=50) + 1, M=50).total_bytes


@native
def test_a_refusal_names_the_need_the_biggest_parts_and_what_would_fit():
    f = CompiledGraph(product(), max_bytes=60_000, reuse=True)
    with pytest.raises(BudgetError) as caught:
        f(x=np.ones((200, 50), np.float32), w=np.ones((50, 64), np.float32))
    error, report = caught.value, f.memory(N=200, M=50)
    assert (error.need, error.budget) == (report.total_bytes, 60_000)
    text = str(error)
    for part in (
        f"{report.total_bytes:,} bytes",
        "at M=50, N=200",
        "max_bytes = 60,000",
        "output 'out0' 51,200 bytes",
        "input 'x' 40,000 bytes",
    ):
        assert part in text, f"{part!r} is not in {text!r}"
    assert error.fits["N"] == f.max_dim("N", M=50) and f"N={error.fits['N']}" in text
    assert error.fits["M"] == f.max_dim("M", N=200) and f"M={error.fits['M']}" in text
    assert f.calls == 0
    fitting = f(x=np.ones((error.fits["N"], 50), np.float32), w=np.ones((50, 64), np.float32))
    assert fitting[0].shape == (error.fits["N"], 64)


@native
def test_a_refusal_where_no_size_fits():
    f = CompiledGraph([input("x", (N, 4096)) * 2.0], max_bytes=100)
    with pytest.raises(BudgetError, match=r"no smaller size of one symbol fits; use a larger max_bytes") as caught:
        f(x=np.ones((3, 4096), np.float32))
    assert caught.value.fits == {"N": None}
    g = CompiledGraph([input("x", (4096,)) * 2.0], max_bytes=100)
    with pytest.raises(BudgetError, match=r"input 'x' takes 16,384 bytes.*; use a larger max_bytes"):
        g(x=np.ones(4096, np.float32))


@native
@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"N": 3}, "no size given for M; give M="),
        ({"N": 3, "M": 1}, r"expected M in 2\.\.50, got 1"),
        ({"N": 3, "M": 2, "K": 1}, "the graph has no symbol 'K'; its symbols: M, N"),
        ({"N": True, "M": 2}, "the size of N must be an int, got True"),
        ({"N": 2.0, "M": 2}, r"the size of N must be an int, got 2\.0"),
    ],
)
def test_questions_with_the_wrong_sizes(sizes, words):
    with pytest.raises(CallError, match=words):
        CompiledGraph(product()).memory(**sizes)


@native
def test_questions_about_no_such_dim():
    f = CompiledGraph(product())
    with pytest.raises(CallError, match="max_dim: the graph has no symbol 'Q'; its symbols: M, N"):
        f.max_dim("Q", M=2)
    with pytest.raises(CallError, match=r"max_dim: N is what is asked for.*got N=3"):
        f.max_dim("N", N=3, M=2)
    with pytest.raises(CallError, match="no size given for M"):
        f.max_dim("N")


def test_the_report_reads_well():
    text = str(questions(product()).report({"N": 30, "M": 7}))
    assert text.splitlines()[0] == "memory at M=7, N=30"
    assert "workspace" in text and "without reuse" in text and "most is alive at kernel" in text
    assert isinstance(questions(product()).formulas(), tj.MemoryFormulas)
