"""How low the memory planner packs, and how long it takes: `python -m bench.pack FILES... [--effort N] [--capacity N] [--native]`.

In: CSV files of buffers (`id,lower,upper,size`, half-open). Out: one line a file: buffers, lower bound, greedy heights, the height found,
whether it is proved optimal, steps and seconds. Sizes are packed as they stand, without rounding. With `--capacity` the question is
only whether the file fits; with `--native` the search runs in C, built by the C compiler on the path (`--cc` names another).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cffi  # type: ignore[import-untyped]

from tjcore.memory import greedy, native, solver
from tjcore.memory import search as exact
from tjcore.memory.csvfile import read_temporaries
from tjcore.memory.problem import Rectangles, lower_bound
from tjcore.memory.search import SearchFunction
from tjcore.memory.sections import compress


def read_rectangles(path: Path) -> Rectangles:
    solid = [t for t in read_temporaries(path) if t.nbytes > 0]
    return Rectangles(tuple(t.first for t in solid), tuple(t.last + 1 for t in solid), tuple(t.nbytes for t in solid))


def build_native(compiler: str, folder: Path) -> SearchFunction:
    """The C search, built into `folder`."""
    library = folder / "pack.so"
    subprocess.run([compiler, "-std=c11", "-O2", "-shared", "-fPIC", "-o", str(library), str(native.SOURCE)], check=True)
    ffi = cffi.FFI()
    ffi.cdef(native.DECLARATION)
    return native.native_search(ffi, ffi.dlopen(str(library)))


def show_packing(path: Path, effort: int, search: SearchFunction) -> None:
    problem = read_rectangles(path)
    heights = []
    for name, order in greedy.orders(problem):
        offset = greedy.place_in_order(problem, order)
        heights.append(f"{name} {max((at + size for at, size in zip(offset, problem.size, strict=True)), default=0)}")
    began = time.perf_counter()
    packing = solver.pack(problem, effort=effort, search=search)
    seconds = time.perf_counter() - began
    proof = "optimal" if packing.optimal else f"optimum unknown, {packing.height / packing.lower_bound:.4f} of the bound"
    print(
        f"{path.name}: {len(problem)} buffers, bound {packing.lower_bound}, greedy: {', '.join(heights)}; "
        f"found {packing.height} ({proof}), {packing.steps} steps, {seconds:.3f} s",
        flush=True,
    )


def show_fit(path: Path, capacity: int, effort: int, search: SearchFunction) -> None:
    problem = read_rectangles(path)
    began = time.perf_counter()
    instance = compress(problem)
    found = search(instance, capacity // instance.unit, effort)
    seconds = time.perf_counter() - began
    bound = lower_bound(problem.start, problem.stop, problem.size)
    print(
        f"{path.name}: {len(problem)} buffers, bound {bound}, capacity {capacity}: {found.outcome.name.lower()}, {found.steps} steps, {seconds:.3f} s",
        flush=True,
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.pack", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--effort", type=int, default=solver.DEFAULT_EFFORT, help="search steps (default %(default)s)")
    parser.add_argument("--capacity", type=int, help="only ask whether the buffers fit in this many bytes")
    parser.add_argument("--native", action="store_true", help="search in C")
    parser.add_argument("--cc", default="cc", help="C compiler for --native (default %(default)s)")
    chosen = parser.parse_args(arguments)
    if chosen.effort < 1:
        parser.error(f"--effort must be positive, got {chosen.effort}")
    with tempfile.TemporaryDirectory() as folder:
        search = build_native(chosen.cc, Path(folder)) if chosen.native else exact.search
        for path in chosen.files:
            if chosen.capacity is None:
                show_packing(path, chosen.effort, search)
            else:
                show_fit(path, chosen.capacity, chosen.effort, search)
    return 0


if __name__ == "__main__":
    sys.exit(main())
