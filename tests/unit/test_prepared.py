"""Prepared calls and `out=`: same answers, same refusals, and no memory taken."""

import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import tjcore as tj
from tjcore import CallError, CompiledGraph, Dim, input
from tjcore import options as choices
from tjcore.plugins import manager

N = Dim("N", 1, 100_000)
pytestmark = pytest.mark.toolchain


class Labelled(np.ndarray):
    """An array whose operators could mean anything."""


def layered():
    x, w = input("x", (N, 16)), input("w", (16, 16))
    h = ((x @ w).relu() @ w).relu()
    return [h @ w, h.sum(1)]


def arrays(n, seed=0):
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal((n, 16), np.float32), "w": rng.standard_normal((16, 16), np.float32)}


@pytest.fixture(scope="module")
def graph():
    return CompiledGraph(layered())


def same(got, want):
    assert len(got) == len(want)
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape and mine.tobytes() == theirs.tobytes()


def slow(graph, given):
    """The same call through Python."""
    return graph.run_with_bindings({"N": len(given["x"])}, **given)


# ----------------------------------------------------------------------------------------------------------------- out=


def test_out_takes_arrays_and_none(graph):
    given = arrays(12)
    want = slow(graph, given)
    mine = np.empty((12, 16), np.float32), np.empty(12, np.float32)
    for out in (mine, (mine[0], None), (None, mine[1]), (None, None), None):
        got = graph(**given, out=out)
        same(got, want)
        for given_array, result in zip(out or (None, None), got, strict=True):
            assert given_array is None or result is given_array
    single = CompiledGraph([input("a", (N,)) + 1.0])
    a, room = np.ones(3, np.float32), np.empty(3, np.float32)
    assert single(a=a, out=room)[0] is room and single(a=a, out=(room,))[0] is room and room.tolist() == [2, 2, 2]


def test_out_may_lie_anywhere_that_its_dtype_allows(graph):
    # Temporaries are lent the outputs' memory, so they lie there too.
    x, w = input("x", (N, 16)), input("w", (16, 16))
    h = x
    for _ in range(4):
        h = ((h @ w).relu() + 1.0).tanh()
    chain = CompiledGraph([h, (h.exp() / h.exp().sum(1).expand_dims(1)) @ w])
    given = arrays(37)
    want = chain(**given)
    for shift in (1, 3, 7):
        room = tuple(np.empty(37 * 16 + 16, np.float32)[shift:][: 37 * 16].reshape(37, 16) for _ in want)
        same(chain(**given, out=room), want)
        same(chain.prepare(**given, out=room)(), want)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("out", "words"),
    [
        (lambda a: (np.empty((3, 16), np.float32), None), r"out\[0\]: expected shape \(12, 16\)"),
        (lambda a: (None, np.empty(12, np.float64)), r"out\[1\]: expected dtype float32, got float64"),
        (lambda a: (a["x"], None), r"out\[0\] shares memory with input 0"),
        (lambda a: np.empty((12, 16), np.float32), r"out: expected a tuple of 2 arrays.*got ndarray"),
        (lambda a: (None,), r"got a tuple of 1"),
        (lambda a: ([1], None), r"out\[0\]: expected a plain numpy.ndarray or None, got list"),
        (lambda a: (np.empty((12, 32), np.float32)[:, ::2], None), r"out\[0\]: expected a C-contiguous"),
    ],
)
def test_out_is_guarded(graph, known, out, words):
    given = arrays(12)
    if known:
        graph(**given)
    with pytest.raises(CallError, match=words):
        graph(**given, out=out(given))


def test_out_is_not_read_only_and_not_twice_the_same():
    f = CompiledGraph([input("a", (N,)) + 1.0, input("a2", (N,)) * 2.0])
    a, b, room = np.ones(6, np.float32), np.ones(6, np.float32), np.empty(9, np.float32)
    f(a=a, a2=b)
    with pytest.raises(CallError, match=r"out\[1\] shares memory with out\[0\]"):
        f(a=a, a2=b, out=(room[:6], room[3:]))
    frozen = np.empty(6, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(CallError, match=r"writeable array, got one that is not writeable"):
        f(a=a, a2=b, out=(frozen, None))


# ------------------------------------------------------------------------------------------------------- prepared calls


def test_a_prepared_call_reads_its_inputs_where_they_are(graph):
    p = graph.prepare(N=20)
    assert p.bindings == {"N": 20} and p.inputs["x"].shape == (20, 16) and not p.inputs["x"].any()
    for seed in range(3):
        given = arrays(20, seed)
        p.inputs["x"][...], p.inputs["w"][...] = given["x"], given["w"]
        got = p()
        assert got is p.outputs
        same(got, slow(graph, given))


def test_a_prepared_call_can_be_bound_to_arrays(graph):
    given = arrays(20)
    room = np.empty((20, 16), np.float32)
    p = graph.prepare(**given, out=(room, None))
    assert p.outputs[0] is room and p.inputs["x"] is given["x"]
    same(p(), slow(graph, given))
    other = arrays(20, 1)
    assert p.bind(x=other["x"]) is p and p.inputs["w"] is given["w"]
    same(p(), slow(graph, {"x": other["x"], "w": given["w"]}))
    half = graph.prepare(N=20, w=given["w"])
    assert half.inputs["w"] is given["w"] and half.inputs["x"].shape == (20, 16)
    assert "PreparedCall (x, w) -> 2 outputs at N=20" in repr(p)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, r"input 'x' has no array, and the size of N is not known; give N=\.\.\. or x=array"),
        ({"N": 0}, r"N.*1\.\.100000.*0"),
        ({"N": 3, "Q": 4}, "'Q'"),
        ({"N": 3, "x": np.zeros((4, 16), np.float32)}, "expected 3, since N is 3 in the bindings, got 4"),
        ({"N": 3, "out": (np.zeros(3, np.float32), None)}, r"out\[0\]: expected shape \(3, 16\)"),
    ],
)
def test_preparing_is_guarded(graph, values, words):
    with pytest.raises(ValueError, match=words):
        graph.prepare(**values)


def test_binding_is_guarded(graph):
    p = graph.prepare(N=6)
    with pytest.raises(CallError, match="expected 6, since N is 6 in the bindings, got 7"):
        p.bind(x=np.zeros((7, 16), np.float32))
    with pytest.raises(CallError, match="unexpected input 'y'"):
        p.bind(y=np.zeros(3, np.float32))
    with pytest.raises(CallError, match="shares memory"):
        p.bind(x=p.outputs[0])
    assert len(p()) == 2


def test_an_array_that_was_changed_since_is_found(graph):
    given = arrays(6)
    p = graph.prepare(**given)
    p()
    given["x"].resize((3, 16), refcheck=False)
    with pytest.raises(CallError, match="prepared for N=6"):
        p()
    q = graph.prepare(N=6)
    q.outputs[0].flags.writeable = False
    with pytest.raises(CallError, match="writeable"):
        q()
    q.outputs[0].flags.writeable = True
    assert q() is q.outputs


def test_a_prepared_call_runs_in_one_thread_at_a_time():
    x = input("x", (N, 64))
    w = input("w", (64, 64))
    h = x
    for _ in range(6):
        h = h @ w
    f = CompiledGraph([h])
    p = f.prepare(N=20_000)
    assert len(p()) == 1
    p._native.state.running = 1  # as while another thread is in it
    with pytest.raises(CallError, match="running in another thread"):
        p()
    with pytest.raises(CallError, match="running in another thread"):
        p.bind(w=np.ones((64, 64), np.float32))
    p._native.state.running = 0
    refused = []

    def run():
        for _ in range(3):
            try:
                p()
            except CallError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("prepare one call for each thread" in text for text in refused)
    assert f.calls == 1 + 12 - len(refused)


@pytest.mark.parametrize("backend", ["gcc", "clang", "tcc", "reference"])
def test_every_toolchain(backend):
    if backend not in manager().toolchains:
        pytest.skip(f"no {backend}")
    f = CompiledGraph(layered(), backend=backend)
    given = arrays(10)
    want = CompiledGraph(layered())(**given)
    same(f(**given), want)
    same(f(**given), want)
    same(f.prepare(**given)(), want)
    room = np.empty(10, np.float32)
    assert f(**given, out=(None, room))[1] is room
    assert f.calls == 4


def test_prepared_calls_of_copies(graph):
    given = arrays(4)
    again = pickle.loads(pickle.dumps(graph))
    same(again.prepare(**given)(), slow(graph, given))


def test_filled_memory_changes_nothing(graph):
    given = arrays(50)
    with choices.settings(fill=0xFF):
        filled = CompiledGraph(layered())
    assert filled._call is None and filled.options.fill == 0xFF
    same(filled(**given), slow(graph, given))
    same(filled.prepare(**given)(), slow(graph, given))


# ----------------------------------------------------------------------------------------------- nothing is allocated


def test_python_takes_no_memory_of_tensor_size(graph):
    given = arrays(20_000)
    room = tuple(np.empty_like(a) for a in graph(**given))
    p = graph.prepare(**given)
    graph(**given, out=room), p()
    tracemalloc.start()
    try:
        p(), graph(**given, out=room)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            p()
        prepared = tracemalloc.get_traced_memory()[1] - before
        for _ in range(50):
            graph(**given, out=room)
        with_out = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert prepared < 1_000, f"{prepared} bytes for a prepared call"
    assert with_out < 4_000, f"{with_out} bytes for a call with out="


COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
static volatile long count;
long allocations(void) { return count; }
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
void *malloc(size_t n) { __atomic_add_fetch(&count, 1, 5); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { __atomic_add_fetch(&count, 1, 5); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { __atomic_add_fetch(&count, 1, 5); return __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { __atomic_add_fetch(&count, 1, 5); return __libc_memalign(a, n); }
"""

COUNTED = """
import ctypes, numpy as np, tjcore as tj
counter = ctypes.CDLL(None).allocations
N = tj.Dim("N", 1, 100000)
x, w = tj.input("x", (N, 16)), tj.input("w", (16, 16))
h = ((x @ w).relu() @ w).relu()
for threads in (1, 2):
    f = tj.CompiledGraph([h @ w, h.sum(1)], threads=threads)
    given = {"x": np.ones((30000, 16), np.float32), "w": np.ones((16, 16), np.float32)}
    room = tuple(np.empty_like(a) for a in f(**given))
    p = f.prepare(**given)
    for _ in range(20):
        p(), f(**given, out=room)
    before = counter()
    for _ in range(200):
        p()
    middle = counter()
    for _ in range(200):
        f(**given, out=room)
    print(threads, middle - before, counter() - middle)
    live = counter()
    np.empty(10**6)
    assert counter() > live, "the counter counts nothing"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts by LD_PRELOAD")
def test_no_heap_allocation_in_native_code(tmp_path):
    toolchains = manager().toolchains
    if "gcc" not in toolchains:
        pytest.skip("the counter is built by gcc")
    (tmp_path / "count.c").write_text(COUNTER)
    library = tmp_path / "count.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, tmp_path / "count.c"], check=True)
    path = os.pathsep.join(filter(None, [str(Path(tj.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    env = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": path, "PYTHONMALLOC": "pymalloc"}
    done = subprocess.run([sys.executable, "-c", COUNTED], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        threads, prepared, with_out = map(int, line.split())
        assert prepared <= 2, f"{prepared} allocations in 200 prepared calls on {threads} threads"
        assert with_out <= 2, f"{with_out} allocations in 200 calls with out= on {threads} threads"
    assert len(done.stdout.splitlines()) == 2
