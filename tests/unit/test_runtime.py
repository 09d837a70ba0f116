"""Running a compiled graph: what a call returns, what it remembers, what several threads may do, and what an object keeps when it is pickled."""

import gc
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tjcore import BudgetError, CompiledGraph, Dim, evaluate_graph, float64, input, settings, show_graph
from tjcore.memory import ALIGNMENT
from tjcore.runtime import REMEMBERED_SIZES

N, M = Dim("N", 0, 4096), Dim("M", 1, 512)
x, w = input("x", (N, M)), input("w", (M, M))
LAYERS = [((x @ w).relu() @ w).relu() @ w, x.sum(0)]


def reals(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_outputs_are_new_contiguous_arrays_that_own_their_memory(compile):
    f = compile([x, x.T, x * 2, x.sum(0)])
    a = reals(5, 3)
    first, second = f(x=a), f(x=a)
    assert isinstance(first, tuple)
    for one, other in zip(first, second, strict=True):
        assert type(one) is np.ndarray and one.flags.c_contiguous and one.flags.writeable and one.flags.aligned
        assert not np.shares_memory(one, a) and not np.shares_memory(one, other)
        np.testing.assert_array_equal(one, other)


def test_results_outlive_the_graph_and_later_calls(compile):
    f = CompiledGraph(LAYERS, backend=compile.backend)
    a, b = reals(7, 4), reals(4, 4, seed=1)
    got, _ = f(x=a, w=b)
    kept = got.copy()
    for seed in range(5):
        f(x=reals(7, 4, seed=seed), w=b)
    del f
    gc.collect()
    np.testing.assert_array_equal(got, kept)


def test_sizes_in_any_order_are_as_if_each_were_alone(compile):
    f = compile(LAYERS)
    for n, m in ((3, 2), (0, 2), (40, 7), (3, 2), (1, 1), (0, 7), (64, 33), (3, 2)):
        a, b = reals(n, m, seed=n), reals(m, m, seed=m)
        for got, want in zip(f(x=a, w=b), evaluate_graph(LAYERS, {"x": a, "w": b}, {"N": n, "M": m}), strict=True):
            assert got.tobytes() == want.tobytes()


def test_more_sizes_than_are_remembered(compile):
    f = compile([x * 2])
    for n in (*range(REMEMBERED_SIZES + 30), 5, 0):
        (got,) = f(x=np.ones((n, 1), np.float32))
        assert got.shape == (n, 1) and (got == 2).all()
    assert len(f._sizes) <= REMEMBERED_SIZES
    assert f.last_memory.bindings == {"M": 1, "N": 0}


def test_seventy_arrays(compile):
    count = 70
    inputs = [input(f"a{i}", (N,)) for i in range(count)]
    total = inputs[0]
    for e in inputs[1:]:
        total = total + e
    f = compile([total, inputs[-1] * 2, inputs[0] - inputs[1]])
    arrays = {f"a{i}": np.full(3, i, np.float32) for i in range(count)}
    got = f(**arrays)
    np.testing.assert_array_equal(got[0], np.full(3, sum(range(count)), np.float32))
    np.testing.assert_array_equal(got[1], np.full(3, 2 * (count - 1), np.float32))


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 17])
def test_any_number_of_arrays(compile, count):
    if compile.free:
        pytest.skip("how arrays reach native code does not concern it")
    inputs = [input(f"a{i}", (N,)) for i in range(count)]
    f = compile([e + i for i, e in enumerate(inputs)])
    got = f(**{f"a{i}": np.full(2, 10 * i, np.float32) for i in range(count)})
    assert [g.tolist() for g in got] == [[11 * i] * 2 for i in range(count)]


def test_names_that_arguments_of_python_have(compile):
    f = compile([input("self", (N,)) + input("bindings", (N,)) * 2])
    one = np.ones(2, np.float32)
    np.testing.assert_array_equal(f(self=one, bindings=one)[0], [3, 3])
    np.testing.assert_array_equal(f.run_with_bindings({"N": 2}, self=one, bindings=one)[0], [3, 3])


def test_input_arrays_are_let_go_and_never_written(compile):
    f = compile([x * 2, x.T])
    a = reals(4, 3)
    before, count = a.copy(), sys.getrefcount(a)
    a.flags.writeable = False
    f(x=a)
    assert sys.getrefcount(a) == count
    np.testing.assert_array_equal(a, before)
    alive = weakref.ref(f(x=a)[0])
    gc.collect()
    assert alive() is None, "nothing keeps an output that the caller has let go"


def test_memory_maps_and_slices_of_larger_arrays(compile, tmp_path):
    f = compile([x + 1])
    whole = np.memmap(tmp_path / "x", np.float32, "w+", shape=(6, 4))
    whole[:] = reals(6, 4)
    np.testing.assert_array_equal(f(x=whole)[0], np.asarray(whole) + 1)
    part = np.asarray(whole)[2:5]
    np.testing.assert_array_equal(f(x=part)[0], part + 1)
    del part
    whole._mmap.close()


@pytest.mark.toolchain
def test_reuse_and_its_absence_in_numbers():
    a, b = reals(64, 32), reals(32, 32, seed=1)
    shared, apart = CompiledGraph(LAYERS), CompiledGraph(LAYERS, reuse=False)
    for got, want in zip(shared(x=a, w=b), apart(x=a, w=b), strict=True):
        assert got.tobytes() == want.tobytes()
    deep = x
    for _ in range(8):
        deep = (deep @ w + 1).relu()
    shared, apart = CompiledGraph([deep], reuse=True), CompiledGraph([deep], reuse=False)
    assert shared(x=a, w=b)[0].tobytes() == apart(x=a, w=b)[0].tobytes()
    assert shared.last_memory.temporary_bytes < apart.last_memory.temporary_bytes == apart.last_memory.unreused_temporary_bytes


@pytest.mark.parametrize("threads", [1, 3])
def test_a_graph_of_one_object_in_many_threads_counts_every_call(compile, threads):
    f = CompiledGraph(LAYERS, backend=compile.backend, threads=threads)
    jobs = [(reals(1 + 7 * i % 50, 8, seed=i), reals(8, 8, seed=i + 100)) for i in range(16)]
    want = [[r.tobytes() for r in f(x=a, w=b)] for a, b in jobs]
    barrier = threading.Barrier(6)

    def work(_):
        barrier.wait()
        return [[r.tobytes() for r in f(x=a, w=b)] for a, b in jobs]

    with ThreadPoolExecutor(6) as pool:
        assert all(found == want for found in pool.map(work, range(6)))
    assert f.calls == 7 * len(jobs) and f.compilations == 1


def test_a_failed_call_counts_for_nothing(compile):
    f = CompiledGraph([x * 2], backend=compile.backend, max_bytes=100)
    f(x=reals(2, 2))
    memory = f.last_memory
    for bad in ({}, {"x": reals(2)}, {"x": reals(20, 20)}):
        with pytest.raises(ValueError):
            f(**bad)
    assert f.calls == 1 and f.last_memory == memory


def test_the_budget_counts_to_the_byte(compile):
    for budget, good in ((31, False), (32, True)):
        f = CompiledGraph([x * 2], backend=compile.backend, max_bytes=budget)
        if good:
            assert f(x=reals(2, 2))[0].nbytes == 16
        else:
            with pytest.raises(BudgetError, match="takes 32 bytes"):
                f(x=reals(2, 2))


def test_a_pickle_is_compiled_again_and_gives_the_same_bits(compile):
    f = CompiledGraph(LAYERS, backend=compile.backend, fuse=False, threads=2, reuse=False, max_bytes="64 MiB")
    g = pickle.loads(pickle.dumps(f))
    assert g.options == f.options and show_graph(g.plan.outputs) == show_graph(f.plan.outputs) and g.calls == 0
    a, b = reals(5, 3), reals(3, 3, seed=1)
    assert [r.tobytes() for r in g(x=a, w=b)] == [r.tobytes() for r in f(x=a, w=b)]


def test_what_an_object_shows(compile):
    f = CompiledGraph(LAYERS, backend=compile.backend)
    assert repr(f) == f"<CompiledGraph (x, w) -> 2 outputs, {len(f.plan.kernels)} kernels, {compile.backend}>"
    assert f.backend == compile.backend and f.toolchain_version and f.threads >= 1 and f.last_memory is None
    assert all(name in f.source for name in ("tj_graph",)) or compile.free


def test_settings_are_read_when_the_graph_is_compiled():
    with settings(backend="reference", threads=3, max_bytes=64):
        f = CompiledGraph([x * 2])
    assert (f.backend, f.threads, f.options.max_bytes) == ("reference", 3, 64)
    with pytest.raises(BudgetError):
        f(x=reals(4, 4))


def test_the_workspace_is_aligned(compile):
    f = compile([((x.T @ x) @ w).sum(0)])
    f(x=reals(5, 3), w=reals(3, 3))
    assert f.last_memory.allocations and all(a.offset % ALIGNMENT == 0 for a in f.last_memory.allocations)


def test_one_process_may_hold_many_graphs(compile):
    graphs = [CompiledGraph([x * 2], backend=compile.backend) for _ in range(10)]
    others = [CompiledGraph([input("d", (N,), float64) + 2], backend=compile.backend) for _ in range(3)]
    a = reals(2, 2)
    assert all((f(x=a)[0] == a * 2).all() for f in graphs) and all((f(d=np.ones(2))[0] == 3).all() for f in others)
    assert all(f.compilations == 1 for f in graphs)


def test_temporaries_without_a_byte_have_addresses_too(compile):
    """An entry looks all addresses up, also those of temporaries that are empty at these sizes."""
    if compile.free:
        pytest.skip("evaluates, and has no temporaries")
    n = Dim("N", 0, 64)
    v = input("x", (n, 4))
    f = CompiledGraph([(v.sum(0) + v).exp() + (v @ v.T).sum(1).expand_dims(1)], backend=compile.backend)
    given: list[int] = []

    def spy(function, table, buffers, sizes, threads):
        given.append(len(buffers))
        return run(function, table, buffers, sizes, threads)

    run = f._entry._pool_run
    f._entry._pool_run = spy
    f.run_with_bindings({}, x=np.ones((0, 4), np.float32))
    assert given == [len(f.plan.program.buffers)]
