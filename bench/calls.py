"""What a call costs: small ones against NumPy, large ones with and without memory that was used before.

`python -m bench.calls [--backend NAME] [--repeat N]` prints two tables. Small: `relu(x + y)` on 8 elements, in the shortest of many rounds.
Large: the same on 10,000,000 elements; `fresh` gives the pools back before each call, so that the output is memory the process has not touched yet.
Every result is checked against NumPy's.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import tjcore as tj

SMALL, LARGE = 8, 10_000_000
LOOPS = 5_000


def shortest(call: Callable[[], object], rounds: int) -> float:
    """Seconds of one call, in the quickest round."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(LOOPS):
            call()
        best = min(best, time.perf_counter() - start)
    return best / LOOPS


def median(call: Callable[[], object], before: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        before()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def graph(backend: str | None) -> tj.CompiledGraph:
    n = tj.Dim("N", 1, LARGE)
    x, y = tj.input("x", (n,)), tj.input("y", (n,))
    return tj.CompiledGraph([(x + y).relu()], backend=backend)


def inputs(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal(count, np.float32), rng.standard_normal(count, np.float32)


def small(f: tj.CompiledGraph, rounds: int) -> list[tuple[str, float]]:
    x, y = inputs(SMALL)
    room = np.empty_like(x)
    prepared = f.prepare(x=x, y=y)
    for result in (f(x=x, y=y)[0], f(x=x, y=y, out=room)[0], prepared()[0]):
        np.testing.assert_array_equal(result, np.maximum(x + y, 0))
    return [
        ("np.maximum(x + y, 0)", shortest(lambda: np.maximum(x + y, 0), rounds)),
        ("f(x=x, y=y)", shortest(lambda: f(x=x, y=y), rounds)),
        ("f(x=x, y=y, out=room)", shortest(lambda: f(x=x, y=y, out=room), rounds)),
        ("prepared()", shortest(prepared, rounds)),
    ]


def large(f: tj.CompiledGraph, repeat: int) -> list[tuple[str, float]]:
    x, y = inputs(LARGE)
    room = np.empty_like(x)
    np.testing.assert_array_equal(f(x=x, y=y)[0], np.maximum(x + y, 0))
    prepared = f.prepare(x=x, y=y)
    prepared()
    return [
        ("np.maximum(x + y, 0)", median(lambda: np.maximum(x + y, 0), lambda: None, repeat)),
        ("f(x=x, y=y), fresh", median(lambda: f(x=x, y=y), tj.release_memory, repeat)),
        ("f(x=x, y=y), pooled", median(lambda: f(x=x, y=y), lambda: None, repeat)),
        ("f(x=x, y=y, out=room)", median(lambda: f(x=x, y=y, out=room), lambda: None, repeat)),
        ("prepared()", median(prepared, lambda: None, repeat)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", help="the toolchain, by name")
    parser.add_argument("--repeat", type=int, default=15, help="rounds of small calls, and large calls")
    chosen = parser.parse_args()
    if chosen.repeat < 1:
        parser.error("--repeat: expected at least 1")
    f = graph(chosen.backend)
    print(f"NumPy {np.__version__}, tjcore {tj.__version__}, {f.toolchain_version}, {f.threads} thread")
    for count, unit, scale, rows in ((SMALL, "us", 1e6, small(f, chosen.repeat)), (LARGE, "ms", 1e3, large(f, chosen.repeat))):
        print(f"\nrelu(x + y), {count:,} elements")
        for name, seconds in rows:
            print(f"  {name:<26}{seconds * scale:>10.3f} {unit}   {seconds / rows[0][1]:>6.2f} of NumPy's")


if __name__ == "__main__":
    main()
