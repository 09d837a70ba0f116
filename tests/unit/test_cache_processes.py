"""The cache between processes: many at once, killed ones, forked ones, and a folder that goes away meanwhile."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tjcore
from tjcore.cache import digest, open_cache

KEY = digest({"name": "a"})
PRELUDE = """
import multiprocessing, os, random, shutil, subprocess, sys, threading, time
from pathlib import Path
from tjcore.cache import *
place, log = Path(sys.argv[1]), sys.argv[2]
SIZE = 300_000
def build(folder):
    # One line a build, appended in one write, so that lines of several processes do not mix.
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, b"built\\n")
    os.close(fd)
    (folder / "k.c").write_text("source")
    with open(folder / "k.so", "wb") as out:  # slowly, so that a reader who looks too early sees half of it
        for _ in range(6):
            out.write(bytes(SIZE // 6))
            out.flush()
            time.sleep(0.002)
    return folder / "k.so"
def use(name):
    with open_cache(place, version="1").fetch(digest({"name": name}), build) as entry:
        assert len(entry.library.read_bytes()) == SIZE
def together(count, work):
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(count)
    def run(number):
        barrier.wait()
        work(number)
    processes = [context.Process(target=run, args=(number,)) for number in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
    assert [process.exitcode for process in processes] == [0] * count
"""


def start(script: str, *args: object, **environ: str) -> "subprocess.Popen[str]":
    """A fresh interpreter that runs the prelude and then `script`, with warnings as errors."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PRELUDE + script, *map(str, args)],
        env=os.environ | {"PYTHONPATH": str(Path(tjcore.__file__).parents[1])} | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err == ""
    return out


def builds(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def contents(place: Path) -> list[str]:
    """What lies in the folder: entries by the first letters of their key, anything unfinished in full."""
    return sorted(path.name[:4] for path in place.glob("libraries/*")) + sorted(str(path) for path in place.glob("building/*"))


def test_twelve_processes_build_once(tmp_path: Path) -> None:
    script = "for turn in range(3): together(12, lambda number: [use(f'{turn}'), use(f'{turn}{number % 3}')])"
    finish(start(script, tmp_path / "cache", tmp_path / "log"))
    assert builds(tmp_path / "log") == 12
    assert len(contents(tmp_path / "cache")) == 12 and not any("building" in name for name in contents(tmp_path / "cache"))


def test_threads_and_processes_mixed(tmp_path: Path) -> None:
    script = """
def work(number):
    failed = []
    def run():
        try:
            for name in "ab":
                use(name)
        except BaseException as error:
            failed.append(error)
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not failed, failed
together(4, work)
"""
    finish(start(script, tmp_path / "cache", tmp_path / "log"))
    assert builds(tmp_path / "log") == 2 and len(contents(tmp_path / "cache")) == 2


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_twelve_processes_load_what_gcc_built(tmp_path: Path) -> None:
    script = """
import ctypes
def compile(folder):
    os.close(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
    with open(log, "a") as out: out.write("built\\n")
    (folder / "k.c").write_text("int answer(void) { return 42; }")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "k.so", folder / "k.c"], check=True)
    return folder / "k.so"
def work(number):
    library = open_cache(place, version="1").load(digest({"name": "a"}), compile, lambda path: ctypes.CDLL(str(path)))
    assert library.answer() == 42
together(12, work)
"""
    finish(start(script, tmp_path / "cache", tmp_path / "log"))
    assert builds(tmp_path / "log") == 1 and len(contents(tmp_path / "cache")) == 1


def test_hash_seeds_share_entries(tmp_path: Path) -> None:
    script = "use('a'); print(digest({name: name for name in {'one', 'two', 'three', 'four'}}))"
    printed = {finish(start(script, tmp_path / "cache", tmp_path / "log", PYTHONHASHSEED=seed)) for seed in ("0", "1", "random")}
    assert len(printed) == 1 and builds(tmp_path / "log") == 1


def test_the_folder_deleted_again_and_again(tmp_path: Path) -> None:
    # On a busy machine a process may lose every round to the one that deletes: then it says so, and builds for itself.
    script = """
import warnings
warnings.filterwarnings("ignore", message=".*entries vanish from it")
def work(number):
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        if number == 0:
            shutil.rmtree(place, ignore_errors=True)
            time.sleep(random.random() * 0.03)
        else:
            cache = open_cache(place, version="1")
            name = str(random.randrange(3))
            assert len(cache.load(digest({"name": name}), build, lambda path: path.read_bytes())) == SIZE
together(5, work)
use("a")
"""
    finish(start(script, tmp_path / "cache", tmp_path / "log"))
    assert builds(tmp_path / "log") > 5
    assert not list((tmp_path / "cache").glob("building/*"))


def test_evicting_under_everybodys_hands(tmp_path: Path) -> None:
    script = """
def work(number):
    end = time.monotonic() + 1.0
    cache = open_cache(place, version="1", max_bytes=700_000)
    while time.monotonic() < end:
        with cache.fetch(digest({"name": str(random.randrange(6))}), build) as entry:
            time.sleep(random.random() * 0.005)
            assert len(entry.library.read_bytes()) == SIZE  # in use, so still there
        if number == 0:
            cache.prune(random.choice([0, 300_000, 600_000]))
together(5, work)
"""
    finish(start(script, tmp_path / "cache", tmp_path / "log"))
    cache = open_cache(tmp_path / "cache", version="1")
    cache.prune(700_000)
    assert cache.info().bytes <= 700_000 and not list((tmp_path / "cache").glob("building/*"))


def test_killed_while_building(tmp_path: Path) -> None:
    process = start(
        "def slow(folder):\n    library = build(folder); print('now', flush=True); time.sleep(60)\n"
        "open_cache(place, version='1').fetch(digest({'name': 'a'}), slow)",
        tmp_path / "cache",
        tmp_path / "log",
    )
    assert process.stdout and process.stdout.readline() == "now\n"
    process.kill()
    process.communicate()
    assert len(contents(tmp_path / "cache")) == 2  # its lock and its folder
    finish(start("use('b')", tmp_path / "cache", tmp_path / "log"))  # another key: sweeps all the same
    assert len(contents(tmp_path / "cache")) == 1
    finish(start("use('a'); use('a')", tmp_path / "cache", tmp_path / "log"))
    assert builds(tmp_path / "log") == 3 and len(contents(tmp_path / "cache")) == 2


def test_a_waiting_process_takes_over_from_a_killed_one(tmp_path: Path) -> None:
    script = """
def slow(folder):
    print("now", flush=True)
    time.sleep(60)
open_cache(place, version="1").fetch(digest({"name": "a"}), slow)
"""
    first = start(script, tmp_path / "cache", tmp_path / "log")
    assert first.stdout and first.stdout.readline() == "now\n"
    second = start("print('here', flush=True); use('a')", tmp_path / "cache", tmp_path / "log")
    assert second.stdout and second.stdout.readline() == "here\n"
    time.sleep(0.1)
    assert second.poll() is None  # it waits
    first.kill()
    first.communicate()
    finish(second)
    assert builds(tmp_path / "log") == 1 and len(contents(tmp_path / "cache")) == 1


def test_killed_at_random_moments(tmp_path: Path) -> None:
    # Forked children, killed after some milliseconds of building, evicting and clearing; what they leave must harm nobody.
    script = """
import signal
random.seed(7)
for turn in range(25):
    pid = os.fork()
    if not pid:
        cache = open_cache(place, version="1", max_bytes=1_000_000)
        while True:
            use(str(random.randrange(4)))
            cache.fetch(digest({"name": str(random.randrange(9))}), build)
            random.choice([cache.clear, cache.prune, lambda: cache.prune(300_000)])()
    time.sleep(0.005 + random.random() * 0.04)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
for name in range(9):
    use(str(name))
"""
    finish(start(script, tmp_path / "cache", tmp_path / "log"))
    finish(start("for name in range(9): use(str(name))", tmp_path / "cache", tmp_path / "log"))
    assert contents(tmp_path / "cache") == sorted(digest({"name": str(name)})[:4] for name in range(9))


def test_interrupted_while_building_and_while_waiting(tmp_path: Path) -> None:
    script = """
import signal
def slow(folder):
    build(folder)
    print("now", flush=True)
    time.sleep(60)
cache = open_cache(place, version="1")
try:
    cache.fetch(digest({"name": "a"}), slow)
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("not interrupted")
assert not list(place.glob("building/*"))
use("a")
print("done", flush=True)
"""
    process = start(script, tmp_path / "cache", tmp_path / "log")
    assert process.stdout and process.stdout.readline() == "now\n"
    script = "print('here', flush=True)\ntry:\n    use('a')\nexcept KeyboardInterrupt:\n    print('stopped')"
    waiting = start(script, tmp_path / "cache", tmp_path / "log")
    assert waiting.stdout and waiting.stdout.readline() == "here\n"
    time.sleep(0.1)
    waiting.send_signal(signal.SIGINT)
    assert finish(waiting) == "stopped\n"
    process.send_signal(signal.SIGINT)
    assert finish(process) == "done\n"


def test_a_fork_in_the_middle_of_another_threads_build(tmp_path: Path) -> None:
    # The child has neither the thread nor its lock: it may build the same key itself once the parent is gone.
    script = """
building, go = threading.Event(), threading.Event()
def slow(folder):
    building.set()
    go.wait(30)
    return build(folder)
cache = open_cache(place, version="1")
thread = threading.Thread(target=lambda: cache.fetch(digest({"name": "a"}), slow).release())
thread.start()
building.wait(30)
pid = os.fork()
if not pid:
    with cache.fetch(digest({"name": "a"}), build) as entry:  # waits for the parent
        assert not entry.built
    with cache.fetch(digest({"name": "b"}), build) as entry:
        assert entry.built
    os._exit(0)
time.sleep(0.05)
go.set()
thread.join()
assert os.waitpid(pid, 0)[1] == 0
"""
    finish(start(script, tmp_path / "cache", tmp_path / "log"))
    assert builds(tmp_path / "log") == 2 and len(contents(tmp_path / "cache")) == 2


def test_a_forked_child_does_not_keep_the_lock_of_a_dead_parent(tmp_path: Path) -> None:
    script = """
import signal
building = threading.Event()
def slow(folder):
    building.set()
    time.sleep(60)
threading.Thread(target=lambda: open_cache(place, version="1").fetch(digest({"name": "a"}), slow), daemon=True).start()
building.wait(30)
parent = os.getpid()
if not os.fork():
    os.kill(parent, signal.SIGKILL)
    start = time.monotonic()
    use("a")
    assert time.monotonic() - start < 5
    print("fine", flush=True)
    os._exit(0)
time.sleep(60)
"""
    process = start(script, tmp_path / "cache", tmp_path / "log")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (-signal.SIGKILL, "fine\n", "")
    assert len(contents(tmp_path / "cache")) == 1
