"""`python -m bench.ulp [NAMES...]`: how far native/math is from the exact result, and the table of docs/math-accuracy.md.

In: the headers of tjcore/native and a C compiler. Out: per function and dtype the largest error in ULP, where it was, and whether
special values are right. float32 functions of one argument are checked for all 2^32 inputs (about a minute each), unless `--sample`
takes every 61st; two arguments and float64 are sampled. The reference is the C library in the next wider type (bench/ulp.c). `--write`
puts the figures into the docs and into tjcore/native/functions.py.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cffi

import tjcore
from tjcore.native.functions import FUNCTIONS, Function

NATIVE = Path(tjcore.__file__).parent / "native"
DOCS = Path(__file__).parent.parent / "docs" / "math-accuracy.md"
SAMPLES = 40_000_000
STRIDE = 61
LANES = {"gcc": 16, "clang": 16, "tcc": 1}
CDEF = """
typedef struct { double worst; double at[2]; int64_t count; int64_t special; double special_at[2]; } report;
int find(const char *name);
void sweep32(int which, void *run, uint64_t first, uint64_t stride, report *r);
void sample32(int which, void *run, uint64_t seed, int64_t count, report *r);
void sample64(int which, void *run, uint64_t seed, int64_t count, report *r);
void pairs32(int which, void *run, const double *values, int64_t n, int arity, report *r);
void pairs64(int which, void *run, const double *values, int64_t n, int arity, report *r);
"""
SPECIAL = [
    *(0.0, math.inf, math.nan, 1.0, 2.0, 3.0, 0.5, 0.25, 1.5, 2.5, 4.0, 5.0, 10.0, 88.75, 709.0, 1023.0, 1e-3, math.pi / 2),
    *(2.0**-24, 1 - 2.0**-24, 1 + 2.0**-23, 2.0**-126, 2.0**-149, 2.0**24 - 1, 2.0**24, 2.0**25 + 2, 3.4028234663852886e38),
    *(2.0**53, 2.0**-1074, 1e300),
]


@dataclass(frozen=True, slots=True)
class Measured:
    """The largest error of one function in one dtype."""

    name: str
    dtype: str
    ulp: float
    at: tuple[float, ...]
    count: int
    special: int  # results of the wrong kind: NaN, infinity, sign of zero
    special_at: tuple[float, ...]
    seconds: float


def kernel_source(function: Function, dtype: str, lanes: int) -> str:
    """C of `run(x, y, out, n)`, which applies the function to arrays of a multiple of `lanes`."""
    arguments = ", ".join(f"tj_load_{dtype}x{lanes}({v} + i)" for v in ("x", "y")[: function.arity])
    scalar = "float" if dtype == "f32" else "double"
    return f"""#define TJ_LANES {lanes}
#include "lanes.h"
#include "{function.header(dtype)}"
void run(const {scalar} *x, const {scalar} *y, {scalar} *out, int64_t n) {{
  (void)y;
  for (int64_t i = 0; i < n; i += {lanes}) tj_store_{dtype}x{lanes}(out + i, tj_{function.name}_{dtype}x{lanes}({arguments}));
}}
"""


def build(compiler: str, source: str, folder: Path, stem: str, flags: Sequence[str] = ()) -> Path:
    """A shared library of `source`."""
    path, out = folder / f"{stem}.c", folder / f"{stem}.so"
    path.write_text(source)
    own = {"gcc": ["-ffp-contract=off", "-Wno-psabi"], "clang": ["-ffp-contract=off"]}.get(compiler, [])
    command = [compiler, "-std=c11", *own, *flags, "-I", str(NATIVE), "-fPIC", "-shared", "-o", str(out), str(path), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"bench.ulp: {' '.join(command)}\n{done.stderr}")
    return out


class Bench:
    """Compiled sweeps and kernels, in a folder that lives as long as this object."""

    def __init__(self, compiler: str, lanes: int, flags: Sequence[str]) -> None:
        self.compiler, self.lanes, self.flags = compiler, lanes, flags
        self._folder = tempfile.TemporaryDirectory(prefix="ulp-")
        self.folder = Path(self._folder.name)
        self.ffi: Any = cffi.FFI()
        self.ffi.cdef(CDEF)
        checker = "gcc" if compiler == "tcc" else compiler
        self.sweeps: Any = self.ffi.dlopen(
            str(build(checker, (Path(__file__).parent / "ulp.c").read_text(), self.folder, "sweeps", ["-O2"]))
        )

    def measure(self, function: Function, dtype: str, *, sample: bool) -> Measured:
        which = self.sweeps.find(function.name.encode())
        if which < 0:
            raise SystemExit(f"bench.ulp: {function.name} has no reference; add a row to bench/ulp.c")
        kernel = build(self.compiler, kernel_source(function, dtype, self.lanes), self.folder, f"{function.name}_{dtype}", self.flags)
        kernel_ffi: Any = cffi.FFI()
        kernel_ffi.cdef("void run(const void *, const void *, void *, int64_t);")
        library = kernel_ffi.dlopen(str(kernel))
        run = self.ffi.cast("void *", int(kernel_ffi.cast("intptr_t", kernel_ffi.addressof(library, "run"))))
        report = self.ffi.new("report *")
        values = SPECIAL + [-v for v in SPECIAL]
        started = time.perf_counter()
        pairs = self.sweeps.pairs32 if dtype == "f32" else self.sweeps.pairs64
        pairs(which, run, self.ffi.new("double[]", values), len(values), function.arity, report)
        count = SAMPLES // 20 if sample else SAMPLES
        if dtype == "f64":
            self.sweeps.sample64(which, run, 1, count, report)
        elif function.arity == 2:
            self.sweeps.sample32(which, run, 1, count * 4, report)
        else:
            self.sweeps.sweep32(which, run, 0, STRIDE if sample else 1, report)
        seconds = time.perf_counter() - started
        at, special_at = tuple(report.at)[: function.arity], tuple(report.special_at)[: function.arity]
        return Measured(function.name, dtype, report.worst, at, report.count, report.special, special_at, seconds)


def shown(m: Measured) -> str:
    """One line for people."""
    at = ", ".join(float(v).hex() for v in m.at)
    special = "special values ok" if not m.special else f"{m.special} WRONG SPECIAL VALUES, first at {m.special_at}"
    return f"{m.name:8} {m.dtype}  {m.ulp:8.4f} ULP at {at:40} {m.count:>11,} inputs  {special}  {m.seconds:.1f} s"


def row(m: Measured) -> str:
    """One line of the table in the docs."""
    inputs = "every float32" if m.dtype == "f32" and m.count >= 2**32 else f"{m.count:,} sampled"
    return f"| {m.name} | {m.dtype} | {m.ulp:.4f} | {', '.join(float(v).hex() for v in m.at)} | {inputs} |"


def write(measured: Sequence[Measured]) -> None:
    """Put the figures into the docs table (other rows stay) and into functions.py."""
    text = DOCS.read_text()
    start, end = "<!-- table -->\n", "<!-- end of table -->"
    before, _, rest = text.partition(start)
    table, _, after = rest.partition(end)
    head, *rows = table.strip().splitlines()
    rule, *rows = rows
    cells = {tuple(c.strip() for c in line.split("|")[1:3]): line for line in rows}
    cells |= {(m.name, m.dtype): row(m) for m in measured}
    order = {name: i for i, name in enumerate(FUNCTIONS)}
    lines = [head, rule, *(cells[k] for k in sorted(cells, key=lambda k: (k[1], order.get(k[0], len(order)))))]
    DOCS.write_text(f"{before}{start}" + "\n".join(lines) + f"\n{end}{after}")
    path = NATIVE / "functions.py"
    source = path.read_text()
    for m in measured:
        figure = math.ceil(m.ulp * 1000) / 1000
        source = re.sub(rf'(Function\("{m.name}", .*"{m.dtype}": )[0-9.]+', rf"\g<1>{figure:.3f}", source)
    path.write_text(source)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ulp", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="functions to measure")
    parser.add_argument("--all", action="store_true", help="every function of the table")
    parser.add_argument("--dtype", choices=("f32", "f64"), help="only this dtype")
    parser.add_argument("--compiler", choices=tuple(LANES), default="gcc")
    parser.add_argument("--lanes", type=int, help="vector lanes; default 16, with tcc 1")
    parser.add_argument("--flags", default="-O2 -march=native", help="for gcc and clang")
    parser.add_argument("--sample", action="store_true", help=f"every {STRIDE}st float32 instead of all of them")
    parser.add_argument("--write", action="store_true", help="write docs/math-accuracy.md and the figures in functions.py")
    options = parser.parse_args()
    names = list(FUNCTIONS) if options.all else options.names
    unknown = [n for n in names if n not in FUNCTIONS]
    if unknown or not names:
        parser.error(f"unknown function: {', '.join(unknown) or 'none named'}; there are {', '.join(FUNCTIONS)}, or pass --all")
    if options.write and options.sample:
        parser.error("--write needs the full measurement; leave out --sample")
    flags = () if options.compiler == "tcc" else tuple(options.flags.split())
    bench = Bench(options.compiler, options.lanes or LANES[options.compiler], flags)
    measured = []
    for name in names:
        for dtype in FUNCTIONS[name].dtypes:
            if options.dtype in (None, dtype):
                measured.append(bench.measure(FUNCTIONS[name], dtype, sample=options.sample))
                print(shown(measured[-1]), flush=True)
                if options.write:
                    write(measured[-1:])


if __name__ == "__main__":
    main()
