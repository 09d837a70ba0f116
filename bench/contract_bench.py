"""Times the product kernels beside NumPy's BLAS: `python -m bench.contract_bench [--threads 1 2] [--shapes 64x64x64 ...]`.

The two are timed in turns in one process; what is printed is the ratio of medians (above 1: tjcore is faster) and both speeds.
Shapes are MxKxN, with `t` before the colon-free shape parts for layout: `nt:` for A @ B.T, `tn:` for A.T @ B, `tt:`; a fourth
factor in front, BxMxKxN, is a batch. BLAS is held to the same number of threads through OPENBLAS_NUM_THREADS, which has to be
set before NumPy is loaded: each thread count is a process of its own, pinned to that many cores. One thread is timed by the
CPU time it used, which other programs on the machine disturb least; more by the clock on the wall.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, thread_time

NATIVE = Path(__file__).resolve().parents[1] / "tjcore/src/tjcore/native"
SHAPES = (  # noqa: SIM905
    "16x16x16 32x32x32 64x64x64 128x128x128 256x256x256 512x512x512 1024x1024x1024 2048x2048x2048 "
    "1x4096x4096 4096x64x4096 128x768x3072 32x768x3072 4096x4096x1 nt:1x4096x4096 4096x512x8 100x100x100 "
    "nt:64x64x64 tn:64x64x64 nt:512x512x512 tn:512x512x512 12x128x64x128 64x32x32x32 "
).split()

# Threads are started once per measurement and do all repetitions, with a barrier that spins around each.
HARNESS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include "contract.h"
typedef struct { atomic_long arrived, round; } gate;
static void pass(const tj_team *team) {
  gate *g = team->shared;
  long round = atomic_load(&g->round);
  if (atomic_fetch_add(&g->arrived, 1) == team->size - 1) { atomic_store(&g->arrived, 0); atomic_fetch_add(&g->round, 1); }
  else while (atomic_load(&g->round) == round) {}
}
static double now(int64_t threads) {
  struct timespec t;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
typedef struct { tj_team team; const tj_contract *contract; tj_contract_function *function; int64_t reps; double seconds; } job;
static void *work(void *p) {
  job *j = p;
  tj_wait(&j->team);
  double start = now(j->team.size);
  for (int64_t i = 0; i < j->reps; i++) { j->function(&j->team, j->contract); tj_wait(&j->team); }
  j->seconds = (now(j->team.size) - start) / (double)j->reps;
  return 0;
}
double bench_run(int32_t f64, int64_t threads, int64_t reps, const tj_contract *contract) {
  gate g = {0};
  job jobs[64];
  pthread_t ids[64];
  for (int64_t i = 0; i < threads; i++) {
    job made = {{i, threads, pass, &g, 0}, contract, f64 ? tj_contract_f64 : tj_contract_f32, reps, 0};
    jobs[i] = made;
    if (i) pthread_create(&ids[i], 0, work, &jobs[i]);
  }
  work(&jobs[0]);
  for (int64_t i = 1; i < threads; i++) pthread_join(ids[i], 0);
  return jobs[0].seconds;
}
int64_t bench_scratch(int32_t dtype, int64_t m, int64_t n, int64_t k, int64_t threads) {
  return tj_contract_scratch(dtype, m, n, k, threads, 0);
}
"""
CDEF = """
typedef struct { int64_t m, n, k, batch; const void *a; int64_t a_batch, a_row, a_col; const void *b; int64_t b_batch, b_row, b_col;
  void *c; int64_t c_batch, c_row; void *pack_a, *pack_b; int32_t pack_a_by_columns, pack_b_by_columns; void *epilogue, *user, *scratch;
  int32_t path; } tj_contract;
double bench_run(int32_t f64, int64_t threads, int64_t reps, const tj_contract *contract);
int64_t bench_scratch(int32_t dtype, int64_t m, int64_t n, int64_t k, int64_t threads);
"""


def cache_bytes(level: int, otherwise: int) -> int:
    """The size of this core's cache of that level, as the system tells it."""
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, at = (folder / "type").read_text().strip(), int((folder / "level").read_text())
        if at == level and kind in ("Data", "Unified"):
            return int((folder / "size").read_text().strip().rstrip("K")) * 1024
    return otherwise


def build(compiler: str, flags: list[str], folder: Path) -> Path:
    """Compiles the kernels and the harness into one shared object."""
    if shutil.which(compiler) is None:
        raise SystemExit(f"no compiler {compiler!r} on PATH; give another with --compiler")
    (folder / "harness.c").write_text(HARNESS)
    target = folder / "contract.so"
    sources = [*sorted(NATIVE.glob("contract_[fi][0-9]*.c")), folder / "harness.c"]
    always = ["-std=c11", "-ffp-contract=off", "-fPIC", "-shared", f"-I{NATIVE}", f"-DTJ_L1={cache_bytes(1, 32768)}"]
    always.append(f"-DTJ_L2={cache_bytes(2, 1048576)}")
    subprocess.run(
        [
            compiler,
            *(x for x in always if x.partition("=")[0] not in {y.partition("=")[0] for y in flags}),
            *flags,
            *map(str, sources),
            "-o",
            str(target),
            "-lm",
            "-lpthread",
        ],
        check=True,
    )
    return target


def measure(options: argparse.Namespace, threads: int) -> None:
    import numpy as np
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(CDEF)
    rng = np.random.default_rng(0)
    dtype = np.dtype(options.dtype)
    with tempfile.TemporaryDirectory() as folder:
        lib = ffi.dlopen(str(build(options.compiler, options.flags.split(), Path(folder))))
    print(f"{options.compiler} {options.flags}, {dtype}, {threads} thread(s); NumPy {np.__version__}")
    print(f"{'shape':>18} {'ratio':>6} {'tjcore':>9} {'numpy':>9} GFLOP/s  {'tjcore':>9} {'numpy':>9} us")
    for shape in options.shapes:
        layout, _, sizes = shape.rpartition(":")
        batch, m, k, n = ([1] + [int(x) for x in sizes.split("x")])[-4:]
        a = rng.standard_normal((batch, k, m) if layout[:1] == "t" else (batch, m, k)).astype(dtype)
        b = rng.standard_normal((batch, n, k) if layout[1:] == "t" else (batch, k, n)).astype(dtype)
        a = a.swapaxes(1, 2) if layout[:1] == "t" else a
        b = b.swapaxes(1, 2) if layout[1:] == "t" else b
        c = np.zeros((batch, m, n), dtype)
        out = np.zeros((batch, m, n), dtype)
        left, right, result = (a, b, out) if batch > 1 else (a[0], b[0], out[0])
        scratch = np.zeros(lib.bench_scratch(int(dtype.itemsize == 8), m, n, k, threads) + 64, np.uint8)
        given = ffi.new("tj_contract *")
        given.m, given.n, given.k, given.batch, given.path = m, n, k, batch, options.path
        given.a, given.b, given.c = (ffi.cast("void *", x.ctypes.data) for x in (a, b, c))
        given.a_batch, given.a_row, given.a_col = (s // dtype.itemsize for s in a.strides)
        given.b_batch, given.b_row, given.b_col = (s // dtype.itemsize for s in b.strides)
        given.c_batch, given.c_row = m * n, n
        given.scratch = ffi.cast("void *", -(-scratch.ctypes.data // 64) * 64)
        clock = thread_time if threads == 1 else perf_counter
        flop = 2 * batch * m * k * n
        reps = max(1, int(2e-3 / max(flop / 5e10, (a.size + b.size + c.size) / 1e10)))
        ours, theirs = [], []
        rounds = options.rounds if flop < 4e9 else max(3, options.rounds // 3)
        for _ in range(rounds):
            ours.append(lib.bench_run(int(dtype.itemsize == 8), threads, reps, given))
            start = clock()
            for _ in range(reps):
                np.matmul(left, right, out=result)
            theirs.append((clock() - start) / reps)
        x, y = statistics.median(ours), statistics.median(theirs)
        close = np.allclose(c.reshape(out.shape), out, atol=1e-3 * k**0.5, rtol=1e-3)
        speeds = f"{flop / x * 1e-9:9.1f} {flop / y * 1e-9:9.1f}          {x * 1e6:9.1f} {y * 1e6:9.1f}"
        print(f"{shape:>18} {y / x:6.2f} {speeds}  {'' if close else 'WRONG'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--flags", default="-O3 -march=native")
    parser.add_argument("--path", type=int, default=0, help="0 auto, 1 tiles, 2 packed, 3 vector")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    held = os.environ.get("CONTRACT_BENCH_THREADS")
    if held:
        return measure(options, int(held))
    for threads in options.threads:
        env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
        env |= {"CONTRACT_BENCH_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        cores = sorted(os.sched_getaffinity(0))[-threads:]
        pin = ["taskset", "-c", ",".join(map(str, cores))] if shutil.which("taskset") else []
        subprocess.run([*pin, sys.executable, "-m", "bench.contract_bench", *sys.argv[1:]], env=env, check=True)
    return None


if __name__ == "__main__":
    main()
