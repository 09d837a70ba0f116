"""Memory that calls leave for later ones: it comes back when the last view is gone, it is bounded, and nobody has it twice."""

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tjcore as tj
from tjcore import CompiledGraph, Dim, input
from tjcore.pools import LARGE, OUTPUTS, Outputs, Workspaces

F32 = np.dtype(np.float32)
COUNT = LARGE // 4
native = pytest.mark.toolchain


@pytest.fixture(name="pool")
def pool_():
    return Outputs()


def address(array):
    return array.__array_interface__["data"][0]


# -------------------------------------------------------------------------------------------------------------- outputs


def test_memory_comes_back_when_the_array_is_dropped(pool):
    a = pool.empty((COUNT,), F32)
    assert address(a) % 64 == 0 and a.flags.writeable and a.flags.c_contiguous and a.shape == (COUNT,)
    assert pool.idle_bytes == 0 and pool.lent_bytes >= a.nbytes
    where = address(a)
    del a
    assert pool.lent_bytes == 0 < pool.idle_bytes
    assert address(pool.empty((COUNT,), F32)) == where


@pytest.mark.parametrize(
    "look",
    [
        lambda a: a[3:7],
        lambda a: a.reshape(2, -1).T[::3],
        lambda a: a.view(np.uint8)[:64],
        memoryview,
        lambda a: np.frombuffer(a, np.int32),
        lambda a: a[1:].view(np.ndarray)[1:],
        lambda a: np.lib.stride_tricks.as_strided(a, (3, 3), (4, 8)),
        lambda a: np.asarray(memoryview(a[10:20])),
        lambda a: a.base,
        lambda a: np.broadcast_to(a, (2, COUNT)),
    ],
)
def test_any_view_keeps_the_memory(pool, look):
    a = pool.empty((COUNT,), F32)
    a[...] = 5
    where = address(a)
    kept = look(a)
    del a
    gc.collect()
    assert pool.idle_bytes == 0, "the view is still there"
    b = pool.empty((COUNT,), F32)
    assert address(b) != where
    b[...] = 9
    assert np.ascontiguousarray(kept).view(np.float32).ravel()[0] == 5
    del kept
    gc.collect()
    assert pool.idle_bytes > 0


def test_what_lies_idle_is_bounded(pool):
    arrays = [pool.empty((COUNT + 4096 * i,), F32) for i in range(3 * pool.MOST)]
    del arrays
    assert len(pool._idle) == pool.MOST
    big = [pool.empty((pool.IDLE_LIMIT // 8,), F32) for _ in range(4)]
    del big
    assert pool.idle_bytes <= pool.IDLE_LIMIT
    huge = pool.empty((pool.IDLE_LIMIT // 4 + 1000,), F32)
    before = pool.idle_bytes
    del huge
    assert pool.idle_bytes == before, "one block above the limit goes back to the system at once"
    assert pool.release() == before and pool.idle_bytes == 0 and pool.lent_bytes == 0


def test_a_block_is_not_lent_for_much_less(pool):
    a = pool.empty((8 * COUNT,), F32)
    del a
    b = pool.empty((COUNT,), F32)
    assert pool.idle_bytes > 8 * LARGE - 100 and b.nbytes == LARGE
    near = pool.empty((8 * COUNT - 5000,), F32)
    assert pool.idle_bytes == 0 and near.size == 8 * COUNT - 5000


def test_other_threads_never_get_the_same_memory(pool):
    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            a = pool.empty((COUNT + int(rng.integers(0, 5000)),), F32)
            a[::4096] = seed
            b = pool.empty((COUNT,), F32)
            b[::4096] = -seed
            if not ((a[::4096] == seed).all() and (b[::4096] == -seed).all()):
                return False
        return True

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(work, range(1, 7)))
    assert pool.lent_bytes == 0


def test_memory_may_come_back_while_the_pool_is_at_work(pool):
    # As when the collector runs in the middle of a take, in the same thread.
    a = pool.empty((COUNT,), F32)
    with pool._lock:
        del a
    assert pool.idle_bytes > 0


def test_cycles_return_it_too(pool):
    a = pool.empty((COUNT,), F32)
    cycle = [a]
    cycle.append(cycle)
    del a, cycle
    gc.collect()
    assert pool.lent_bytes == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_has_a_copy(pool):
    del pool  # the process's own is what a fork finds
    a = OUTPUTS.empty((COUNT,), F32)
    a[...] = 3
    taken, release = threading.Event(), threading.Event()

    def hold():
        with OUTPUTS._lock:
            taken.set()
            release.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(30)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_in_child, args=(a,))
    child.start()
    release.set()
    holder.join()
    child.join(60)
    assert child.exitcode == 0 and (a == 3).all()


def _in_child(a):
    fresh = OUTPUTS.empty((COUNT,), F32)  # the lock that another thread of the parent held is not held here
    fresh[...] = 4
    a[...] = 5
    os._exit(0 if address(fresh) != address(a) and (fresh == 4).all() else 1)


# ------------------------------------------------------------------------------------------------------------ workspaces


def test_workspaces_are_taken_and_given_back():
    pool = Workspaces()
    a, b = pool.take(1000), pool.take(1000)
    assert a is not b and a.nbytes >= 1000
    pool.give(a)
    assert pool.take(500) is a
    pool.give(a)
    larger = pool.take(5000)
    assert larger is not a and larger.nbytes >= 5000 and pool.idle_bytes == 0, "one that is too small makes room"
    for block in (a, b, larger, *(np.empty(10, np.uint8) for _ in range(9)), np.empty(pool.LARGEST + 1, np.uint8)):
        pool.give(block)
    assert len(pool._idle) == pool.MOST and pool.idle_bytes <= pool.MOST * pool.LARGEST
    assert pool.release() > 0 and pool.idle_bytes == 0


# ------------------------------------------------------------------------------------------------------- compiled graphs


@native
def test_large_outputs_come_from_the_pool():
    n = Dim("N", 1, 10**6)
    f = CompiledGraph([input("x", (n,)) * 2.0, input("x2", (4,)) + 1.0])
    x, small = np.arange(10**6, dtype=np.float32), np.ones(4, np.float32)
    first = f(x=x, x2=small)
    where, view = address(first[0]), first[0][5:8]
    second = f(x=x, x2=small)
    assert address(second[0]) != where
    del first
    third = f(x=x, x2=small)
    assert address(third[0]) != where and view.tolist() == [10, 12, 14]
    del view
    gc.collect()
    fourth = f(x=x, x2=small)
    assert address(fourth[0]) == where, "the memory that nobody looks into any more"
    assert (fourth[0] == x * 2).all() and (second[0] == fourth[0]).all()
    del second, third, fourth
    assert OUTPUTS.idle_bytes > 0
    assert f.release() > 0 and OUTPUTS.idle_bytes == 0 and tj.release_memory() == 0
    assert (f(x=x, x2=small)[0] == x * 2).all(), "and sizes are learned again"


SOAK = """
import gc, os, sys
import numpy as np, tjcore as tj
N = tj.Dim("N", 1, 6000)
x, w = tj.input("x", (N, 64)), tj.input("w", (64, 1))
h = x.relu() * 1.0
f = tj.CompiledGraph([h + 0.5, h.sum(1), (h @ w).sum(1)], fuse=False)
data, v = np.ones((6000, 64), np.float32), np.ones((64, 1), np.float32)
rng = np.random.default_rng(1)
page = os.sysconf("SC_PAGE_SIZE")
def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * page
def calls(count):
    for n in rng.integers(1, 6001, count):
        a = data[:n]
        out = f(x=a, w=v)
        assert out[0].shape == (n, 64) and out[1][-1] == out[2][-1] == 64.0
        try:
            f(x=data[:, :63], w=v)
        except tj.CallError:
            pass
calls(300)
before = resident()
calls(int(sys.argv[1]))
print(resident() - before, f.calls)
"""


@native
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_memory_stays_flat_over_calls_of_random_sizes():
    path = os.pathsep.join(filter(None, [str(Path(tj.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", SOAK, "2000"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    grown, calls = map(int, done.stdout.split())
    assert calls == 2300 and grown < 8 * 2**20, f"{grown:,} bytes more after 2,000 calls"
