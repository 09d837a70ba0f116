"""The seed chain, `((((x @ a) @ b) @ c) + bias).relu().sum(1)` for square n: tjcore fused and unfused beside NumPy.

    python -m bench.bench_tensorjit --sizes 16 32 64 --repeat 10 --output FILE.json

Every result is checked against float64 NumPy. The JSON holds the machine, the toolchain, compile times, raw samples in seconds,
medians, kernel counts, temporary bytes with and without reuse, and the largest error. About a second per size.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tjcore as tj

THREAD_VARIABLES = ("TENSORJIT_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_CORETYPE")
TOLERANCE = 1e-4
"""Largest allowed error over the largest reference magnitude."""


def build_graph() -> list[tj.Expr]:
    """The chain over one symbol, so that one build serves every size."""
    n = tj.Dim("N", 1, 512)
    x, a, b, c = (tj.input(name, (n, n)) for name in ("x", "a", "b", "c"))
    return [((((x @ a) @ b) @ c) + tj.input("bias", (n,))).relu().sum(1)]


def numpy_chain(x: Any, a: Any, b: Any, c: Any, bias: Any) -> Any:
    return np.maximum(((x @ a) @ b) @ c + bias, 0).sum(1)


def make_inputs(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    scale = np.float32(n**-0.5)
    arrays = {name: rng.standard_normal((n, n), dtype=np.float32) for name in ("x", "a", "b", "c")}
    for name in ("a", "b", "c"):
        arrays[name] *= scale
    return arrays | {"bias": rng.standard_normal(n, dtype=np.float32)}


def sample(call: Callable[[], Any], repeat: int) -> list[float]:
    """Seconds per call, one figure for each of `repeat` samples of at least 0.2 ms, after a warm-up."""
    call()
    start = time.perf_counter()
    call()
    inner = max(1, int(2e-4 / max(time.perf_counter() - start, 1e-9)))
    samples = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(inner):
            call()
        samples.append((time.perf_counter() - start) / inner)
    return samples


def run(sizes: Sequence[int], repeat: int, backend: str | None = None) -> dict[str, Any]:
    """The measurements as the JSON has them. ValueError for sizes outside 1..512 or a repeat below 1."""
    if repeat < 1:
        raise ValueError(f"repeat must be a positive number, got {repeat}")
    for n in sizes:
        if not 1 <= n <= 512:
            raise ValueError(f"sizes must lie in 1..512, got {n}")
    if not sizes:
        raise ValueError("sizes: give at least one")
    graphs, compile_s = {}, {}
    for name, fuse in (("fused", True), ("unfused", False)):
        start = time.perf_counter()
        graphs[name] = tj.CompiledGraph(build_graph(), fuse=fuse, backend=backend)
        compile_s[name] = time.perf_counter() - start
    results = []
    for n in sizes:
        arrays = make_inputs(n)
        expected = numpy_chain(*(v.astype(np.float64) for v in arrays.values()))
        row: dict[str, Any] = {"n": n, "samples_s": {"numpy": sample(lambda: numpy_chain(**arrays), repeat)}}  # noqa: B023
        worst = 0.0
        for name, graph in graphs.items():
            (got,) = graph(**arrays)
            worst = max(worst, float(np.max(np.abs(got - expected)) / max(np.max(np.abs(expected)), 1e-30)))
            memory = graph.last_memory
            assert memory is not None
            row[name] = {
                "kernels": memory.kernel_count,
                "temporary_bytes": memory.temporary_bytes,
                "unreused_temporary_bytes": memory.unreused_temporary_bytes,
            }
            row["samples_s"][name] = sample(lambda: graph(**arrays), repeat)  # noqa: B023
        if worst > TOLERANCE:
            raise AssertionError(f"n={n}: the result is off by {worst:.2e} of its largest magnitude, more than {TOLERANCE:.0e}")
        row["largest_error"] = worst
        row["median_s"] = {name: statistics.median(values) for name, values in row["samples_s"].items()}
        results.append(row)
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "tjcore": tj.__version__,
        "compiler": graphs["fused"].toolchain_version,
        "backend": graphs["fused"].backend,
        "threads": graphs["fused"].threads,
        "thread_environment": {name: os.environ.get(name) for name in THREAD_VARIABLES},
        "compile_s": compile_s,
        "compilations": {name: graph.compilations for name, graph in graphs.items()},
        "repeat": repeat,
        "largest_error": max(row["largest_error"] for row in results),
        "results": results,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())


def show(report: dict[str, Any]) -> str:
    head = f"{report['backend']}: {report['compiler']}; compiled once in {report['compile_s']['fused']:.2f} s\n"
    rows = [f"{'n':>5} {'numpy':>11} {'fused':>11} {'unfused':>11} {'fused/numpy':>12} {'temporaries':>12} {'unshared':>10}"]
    for row in report["results"]:
        m = row["median_s"]
        rows.append(
            f"{row['n']:>5} {m['numpy'] * 1e6:>8.1f} us {m['fused'] * 1e6:>8.1f} us {m['unfused'] * 1e6:>8.1f} us {m['fused'] / m['numpy']:>12.2f}"
            f" {row['fused']['temporary_bytes']:>12,} {row['fused']['unreused_temporary_bytes']:>10,}"
        )
    return head + "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The seed chain beside NumPy.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 32, 64, 128, 256, 512])
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--backend", help="a toolchain by name; default: as CompiledGraph chooses")
    parser.add_argument("--output", type=Path, help="a file for the JSON")
    given = parser.parse_args(arguments)
    report = run(given.sizes, given.repeat, given.backend)
    print(show(report))
    if given.output:
        given.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
