"""The thread pool's manners in a process: fork at any moment, exit at any moment, signals, no CPU use when idle.

Each test runs in a child process with a time limit, so that a deadlock is a failure and not a hang.
"""

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "data"))
import pool_load

# clang's pool is gcc's but for the compiler; tcc's waits on condition variables.
HERE = [name for name in ("gcc", "tcc") if name in pool_load.available()]

FORK = """
import os, signal, threading, time, warnings
warnings.filterwarnings("ignore", "This process", DeprecationWarning)  # Python 3.12 and newer: a fork beside threads is what is tested

def child_is_well(threads=3):
    process = os.fork()
    if process == 0:
        signal.alarm(20)  # a deadlock ends in a signal
        code = 1
        try:
            assert len(os.listdir("/proc/self/task")) == 1
            assert pool.double(threads) == threads and pool.rounds(threads, 10) == threads
            pool.lib.tj_pool_shutdown()
            assert pool.double(threads) == threads
            code = 0
        finally:
            os._exit(code)
    return process

def end_well(*processes):
    for process in processes:
        status = os.waitpid(process, 0)[1]
        assert status == 0, status
"""


@pytest.fixture(scope="module", params=HERE)
def library(request, tmp_path_factory):
    return pool_load.build(request.param, tmp_path_factory.mktemp("pool"))


def test_fork_before_and_after_a_call_and_in_a_child(library):
    script = """
end_well(child_is_well())
pool.double(4)
end_well(*[child_is_well() for _ in range(4)])
pool.double(4)
process = os.fork()
if process == 0:
    try:
        pool.double(2)
        end_well(child_is_well())
    except BaseException:
        os._exit(1)
    os._exit(0)
end_well(process)
pool.double(4)
"""
    pool_load.check_child(FORK + script, library)


def test_fork_while_another_thread_is_inside_a_call_and_from_a_thread(library):
    script = """
sizes = []
busy = threading.Thread(target=lambda: sizes.append(pool.sleep(3, 2500)))
busy.start()
time.sleep(0.1)
start = time.monotonic()
processes = [child_is_well() for _ in range(2)]
assert time.monotonic() - start < 2, "fork waited for the call"
def in_thread():
    processes.append(child_is_well())
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
end_well(*processes)
busy.join()
assert sizes == [3], sizes
assert pool.double(3) == 3
"""
    pool_load.check_child(FORK + script, library)


def test_fork_while_threads_hammer_the_pool(library):
    script = """
calls = []
hammers = [threading.Thread(target=lambda: calls.append(pool.lib.hammer(3, 600))) for _ in range(3)]
for thread in hammers: thread.start()
children = 0
while thread.is_alive():
    end_well(child_is_well())
    children += 1
for thread in hammers: thread.join()
assert len(calls) == 3 and min(calls) > 100 and children > 10, (calls, children)
assert pool.double(3) == 3
"""
    pool_load.check_child(FORK + script, library)


def test_multiprocessing_pool_by_fork(library):
    script = """
import multiprocessing
def work(number):
    return pool.double(2, 10 + number)
pool.double(2)
with multiprocessing.get_context("fork").Pool(4) as workers:
    assert workers.map_async(work, range(16)).get(20) == [2] * 16
assert pool.double(2) == 2
"""
    pool_load.check_child(script, library)


@pytest.mark.parametrize(
    ("ending", "code"),
    [("", 0), ("import sys; sys.exit(3)", 3), ("import os; os._exit(7)", 7)],
    ids=["end", "sys.exit", "os._exit"],
)
@pytest.mark.parametrize("work", ["pool.sleep(3, 20000)", "pool.double(3)"], ids=["long call", "many calls"])
def test_exit_while_a_daemon_thread_is_inside_a_call(library, work, ending, code):
    script = f"""
import atexit, threading, time
atexit.register(pool.lib.tj_pool_shutdown)
pool.double(4)
def work():
    while True:
        {work}
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
{ending}
"""
    start = time.monotonic()
    done = pool_load.run_child(script, library)
    assert done.returncode == code and not done.stderr, f"exit code {done.returncode}\n{done.stderr}"
    assert time.monotonic() - start < 10, "exit waited for the call"


def test_shutdown_leaves_a_running_call_alone(library):
    script = """
import threading, time
pool.double(5)
sizes = []
busy = threading.Thread(target=lambda: sizes.append(pool.sleep(3, 500)))
busy.start()
time.sleep(0.1)
start = time.monotonic()
pool.lib.tj_pool_shutdown()
assert time.monotonic() - start < 0.35, "shutdown waited for the call"
assert pool.double(3) == 3
busy.join()
assert sizes == [3]
assert pool.double(5) == 5
"""
    pool_load.check_child(script, library)


def test_idle_workers_use_no_cpu(library):
    script = """
import time
for threads in (2, 4):  # the second has more threads than many machines have cores
    for _ in range(100): pool.rounds(threads, 2)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.3)
    used = time.process_time() - before  # of all threads
    assert used < 0.003, f"{threads} threads: {used:.4f} s of CPU in 0.3 s of sleep"
"""
    pool_load.check_child(script, library)


def test_signals_reach_the_main_thread_only(library):
    script = """
import os, re, signal, threading
def blocked(task):
    return int(re.search(r"SigBlk:\\s+(\\w+)", open(f"/proc/self/task/{task}/status").read())[1], 16)
main, before = os.getpid(), blocked(os.getpid())
hits = []
signal.signal(signal.SIGALRM, lambda *_: hits.append(threading.get_native_id()))
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
for _ in range(400): pool.rounds(3, 3)
while len(hits) < 10: pool.sleep(3, 1)
signal.setitimer(signal.ITIMER_REAL, 0)
assert set(hits) == {main}
assert blocked(main) == before, "starting workers changed the caller's signal mask"
workers = [int(task) for task in os.listdir("/proc/self/task") if int(task) != main]
assert len(workers) == 2
faults = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT}
never = {signal.SIGKILL, signal.SIGSTOP}
for number in set(signal.valid_signals()) - never:
    for worker in workers:
        assert (blocked(worker) >> (number - 1) & 1) == (number not in faults), number
"""
    pool_load.check_child(script, library)
