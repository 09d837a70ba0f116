"""How many threads a call takes: by the work that there is."""

import numpy as np
import pytest

import tjcore as tj
from tjcore.work import Work

N, M = tj.Dim("N", 0, 1 << 24), tj.Dim("M", 0, 1 << 12)


def work(*outputs):
    return Work(tj.compile_plan(list(outputs)).program)


def test_work_grows_with_elements_ops_and_bytes():
    x, d = tj.input("x", (N,)), tj.input("d", (N,), tj.float64)
    small, large = ({"N": n} for n in (1000, 100_000))
    assert work(x + 1).microseconds(large) == pytest.approx(100 * work(x + 1).microseconds(small))
    assert work(d + 1).microseconds(small) > work(x + 1).microseconds(small)
    assert work(x.exp()).microseconds(small) > 2 * work(x + 1).microseconds(small)
    assert work(x.sum()).microseconds({"N": 0}) < 0.01


def test_products_count_their_multiply_adds():
    product = work(tj.input("a", (M, M)) @ tj.input("b", (M, M)))
    assert product.microseconds({"M": 512}) == pytest.approx(512**3 * 0.02 / 1000, rel=0.1)


def test_threads_are_taken_for_work_only():
    estimate = work(tj.input("x", (N,)) + 1)
    assert [estimate.threads(4, 10, {"N": n}) for n in (0, 1000, 10**7)] == [1, 1, 4]
    assert estimate.threads(4, 0, {"N": 0}) == 4 and estimate.threads(1, 10, {"N": 10**7}) == 1


@pytest.mark.toolchain
def test_a_small_call_wakes_nobody(backend, monkeypatch):
    monkeypatch.setenv("TENSORJIT_THREAD_WORK", "10")
    graph = tj.CompiledGraph([tj.input("x", (N,)) * 3.0], backend=backend, threads=2)
    for n, threads in ((8, 1), (1 << 20, 2), (8, 1)):
        x = np.arange(n, dtype=np.float32)
        for _ in range(2):
            np.testing.assert_array_equal(graph(x=x)[0], x * 3)
        assert graph._sizes[n,].threads == threads
        prepared = graph.prepare(x=x)
        np.testing.assert_array_equal(prepared()[0], x * 3)


def test_the_setting_is_read_with_the_others():
    with tj.settings(thread_work="2.5"):
        assert tj.options.Options.resolve().thread_work == 2.5
    with pytest.raises(tj.errors.GraphError, match="microseconds"), tj.settings(thread_work="-1"):
        pass
