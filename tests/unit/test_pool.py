"""The thread pool's results: teams of any size, barriers, many callers, the floating-point environment; with every compiler here.

Each test runs in a child process with a time limit, so that a deadlock is a failure and not a hang.
"""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "data"))
import pool_load


@pytest.fixture(scope="module", params=pool_load.COMPILERS)
def library(request, tmp_path_factory):
    if request.param not in pool_load.available():
        pytest.skip(f"{request.param} is not installed")
    return pool_load.build(request.param, tmp_path_factory.mktemp("pool"))


def test_results_and_team_sizes(library):
    pool_load.check_child("for threads in (1, 2, 3, 7, 2, 1, 0, -5): assert pool.double(threads) == max(threads, 1)", library)


def test_empty_work_and_fewer_items_than_threads(library):
    pool_load.check_child("for count in (0, 1, 3, 4, 5, 8): assert pool.double(7, count) == 7", library)


def test_one_thread_starts_no_other_and_shutdown_ends_idle_workers(library):
    script = """
import os, time
def tasks(expected):
    end = time.monotonic() + 10  # a thread that was joined may be listed for a moment yet
    while (found := len(os.listdir("/proc/self/task"))) != expected and time.monotonic() < end: time.sleep(0.001)
    assert found == expected, found
pool.lib.tj_pool_shutdown()
pool.double(1)
tasks(1)
pool.double(3)
pool.double(2)
tasks(3)
for _ in range(3):
    pool.lib.tj_pool_shutdown()
    pool.lib.tj_pool_shutdown()
    tasks(1)
    assert pool.double(4) == 4
    tasks(4)
"""
    pool_load.check_child(script, library)


def test_barrier_orders_the_rounds(library):
    pool_load.check_child("for threads in (1, 2, 3, 7): assert pool.rounds(threads, 300) == threads", library)


def test_more_threads_than_cores(library):
    pool_load.check_child("import os\nassert pool.rounds(8 * os.cpu_count(), 100) == 8 * os.cpu_count()", library)


def test_eight_callers_at_once(library):
    script = """
import os, threading
go, failures = threading.Barrier(8), []
def caller(number):
    try:
        go.wait()
        for call in range(100):
            threads = 1 + (number + call) % 4
            assert 1 <= pool.double(threads, 20 + number * 13 + call) <= threads
            if call % 10 == 0:
                assert 1 <= pool.rounds(threads, 5) <= threads
    except BaseException as error:
        failures.append(error)
callers = [threading.Thread(target=caller, args=(i,)) for i in range(8)]
for thread in callers: thread.start()
for thread in callers: thread.join()
assert not failures, failures
names = [open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task")]
assert 1 <= names.count("tj-worker") <= max(2 * len(os.sched_getaffinity(0)), 3), names
"""
    pool_load.check_child(script, library)


def test_callers_overlap_and_a_busy_pool_runs_alone(library):
    script = """
import os, threading, time
sizes, many = [], 2 * len(os.sched_getaffinity(0)) + 2
start = time.monotonic()
callers = [threading.Thread(target=lambda: sizes.append(pool.sleep(many + 1, 300))) for _ in range(4)]
for thread in callers: thread.start()
for thread in callers: thread.join()
taken = time.monotonic() - start
assert sorted(sizes) == [1, 1, 1, many + 1], sizes
assert taken < 0.9, f"four calls of 0.3 s took {taken:.2f} s: they waited for each other"
assert pool.double(many + 1) == many + 1
"""
    pool_load.check_child(script, library)


def test_team_is_smaller_when_the_system_refuses_threads(library):
    script = """
import re, resource
used = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (used + (7 << 20), resource.RLIM_INFINITY))
for _ in range(3):
    size = pool.double(30)
    assert 1 <= size < 30, size
assert pool.rounds(30, 20) == size
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert pool.double(30) == 30
"""
    pool_load.check_child(script, library)


def test_floating_point_environment_of_the_caller_is_neither_read_nor_changed(library):
    script = """
def half(threads):
    # As bits: this thread may flush when it converts. The smallest normal float32, and half of it.
    smallest, out, nearest = ffi.new("uint32_t *", 0x800000), ffi.new("uint32_t[]", 8), ffi.new("int64_t[]", [-1] * 8)
    size = pool.run("half", [smallest, out, nearest], [], threads)
    assert size == threads
    assert list(out)[:size] == [0x400000] * size, list(out)
    assert list(nearest)[:size] == [1] * size, list(nearest)

lib = pool.lib
for threads in (1, 3):
    half(threads)
    buffers = ffi.new("float[]", [1.0]), ffi.new("float[]", 8), ffi.new("int64_t[]", 8)
    assert lib.flags_after_call(ffi.new("void *[]", buffers), threads) == lib.divbyzero()
lib.set_rounding_down()
lib.set_flush(1)
for threads in (1, 3, 5):  # 5: two workers are started by a thread that flushes
    half(threads)
    assert lib.get_flush() and lib.is_rounding_down()
lib.set_flush(0)
half(5)
assert not lib.get_flush() and lib.is_rounding_down()
"""
    pool_load.check_child(script, library)


def test_pools_of_several_compilers_in_one_process(tmp_path):
    paths = [str(pool_load.build(name, tmp_path)) for name in pool_load.available()]
    script = f"""
import threading
pools, failures = [Pool(path) for path in {paths!r}], []
def rounds():
    try:
        for _ in range(20):
            for each in pools:
                assert 1 <= each.double(3) <= 3 and 1 <= each.rounds(2, 3) <= 2
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=rounds) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures
assert [each.double(3) for each in pools] == [3] * len(pools)
mapped = open("/proc/self/maps").read()
assert not any(name in mapped for name in ("libgomp", "libomp", "libiomp"))
"""
    pool_load.check_child(script, paths[0])


@pytest.mark.parametrize("word", ["", "-DTJ_WORD_PORTABLE"], ids=["futex", "portable"])
def test_thread_sanitizer_finds_no_race(word, tmp_path):
    if "gcc" not in pool_load.available():
        pytest.skip("gcc is not installed")
    flags = ["-fsanitize=thread", "-g", "-O1", *([word] if word else [])]
    program = pool_load.build("gcc", tmp_path, *flags, sources=("pool_entries.c", "pool_stress.c"), shared=False)
    done = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr
