"""Builds the thread pool with one compiler and loads it, the way the runtime does.

In: a compiler's name and a folder. Out: a library for cffi that holds the pool and the entries of pool_entries.c.
Used by the tests and, through `python -c`, by the child processes that they start.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import cffi

DATA = Path(__file__).parent
NATIVE = DATA.parents[2] / "tjcore" / "src" / "tjcore" / "native"
COMPILERS = ("gcc", "clang", "tcc")
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-pthread")
ENTRY = "(const void *team, void *const *buffers, const int64_t *dims);"

ffi = cffi.FFI()
ffi.cdef(
    """
    int tj_pool_run(void *entry, const void *support, void *const *buffers, const int64_t *dims, int64_t threads);
    void tj_pool_shutdown(void);
    void set_flush(int on);
    int get_flush(void);
    int set_rounding_down(void);
    int is_rounding_down(void);
    int flags_after_call(void *const *buffers, int64_t threads);
    int divbyzero(void);
    int64_t hammer(int64_t threads, int64_t milliseconds);
    """
    + "\n".join(f"void entry_{name}{ENTRY}" for name in ("double", "rounds", "sleep", "half"))
)


def available():
    return [name for name in COMPILERS if shutil.which(name)]


def build(compiler, folder, *extra, sources=("pool_entries.c",), shared=True):
    """Compiles pool.c with the test sources; a warning is an error. Returns the path of the library or program."""
    result = Path(folder) / (f"pool_{compiler}.so" if shared else f"pool_{compiler}")
    command = [compiler, *FLAGS, *extra, *(["-shared"] if shared else []), "-I", str(NATIVE), "-o", str(result)]
    command += [str(NATIVE / "pool.c"), *(str(DATA / name) for name in sources), "-lm"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, f"{' '.join(command)}\n{done.stderr}"
    return result


def load(path):
    """Never unloaded: workers sleep inside the library's code."""
    return ffi.dlopen(str(path), ffi.RTLD_NOW | ffi.RTLD_NODELETE)


class Pool:
    """Calls entries and checks what they computed. Every call has buffers of its own."""

    def __init__(self, path):
        self.lib = load(path)

    def run(self, name, buffers, dims, threads):
        pointers = ffi.new("void *[]", buffers)
        return self.lib.tj_pool_run(getattr(self.lib, f"entry_{name}"), ffi.NULL, pointers, ffi.new("int64_t[]", dims), threads)

    def double(self, threads, count=101):
        """One call; asserts each value and that each thread of the team ran once. Returns the team's size."""
        values, out, runs = ffi.new("double[]", [i + 0.5 for i in range(count)]), ffi.new("double[]", count), ffi.new("int64_t[]", 64)
        size = self.run("double", [values, out, runs], [count], threads)
        assert list(out) == [2 * i + 1.0 for i in range(count)]
        assert list(runs) == [1] * size + [0] * (64 - size), list(runs)
        return size

    def rounds(self, threads, rounds):
        """One call with two barriers per round; asserts that nobody ran ahead. Returns the team's size."""
        slots, wrong = ffi.new("int64_t[]", 64), ffi.new("int64_t[]", 64)
        size = self.run("rounds", [slots, wrong], [rounds], threads)
        assert not any(wrong), list(wrong)
        assert list(slots)[:size] == [rounds * 1000 + i for i in range(size)]
        return size

    def sleep(self, threads, milliseconds):
        runs = ffi.new("int64_t[]", 64)
        size = self.run("sleep", [runs], [milliseconds], threads)
        assert sum(runs) == size
        return size


def run_child(script, path, seconds=30):
    """Runs a script in a fresh Python with `pool` loaded; kills it after `seconds`. Returns the finished process."""
    start = f"import sys; sys.path.insert(0, {str(DATA)!r})\nfrom pool_load import *\npool = Pool({str(path)!r})\n"
    command = [sys.executable, "-c", start + script]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds)


def check_child(script, path, seconds=30):
    """As run_child; the script must end well and silently on stderr. Returns what it printed."""
    done = run_child(script, path, seconds)
    assert done.returncode == 0 and not done.stderr, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
