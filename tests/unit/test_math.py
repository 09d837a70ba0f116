"""native/lanes.h and native/math: the same bits from every compiler, width, level and instruction set, and the stated accuracy.

One shared library per configuration holds every function (and every operation of the lanes layer) as a loop over arrays; the libraries
are built side by side, once per session. `python -m bench.ulp --all` is the exhaustive form of the accuracy test.
"""

from __future__ import annotations

import csv
import math
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import pytest

import tjcore
from tjcore.native.functions import FUNCTIONS, Function

NATIVE = Path(tjcore.__file__).parent / "native"
SCALARS = {"f32": "float", "f64": "double", "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t"}
NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u8": np.uint8}
CASES = [(f, dtype) for f in FUNCTIONS.values() for dtype in f.dtypes]


@dataclass(frozen=True, slots=True)
class Configuration:
    compiler: str
    lanes: int
    flags: tuple[str, ...]
    dtypes: tuple[str, ...] = ("f32", "f64")  # which functions; the lanes are always all there

    @property
    def name(self) -> str:
        return "_".join((self.compiler, str(self.lanes), *(f.lstrip("-").replace("=", "") for f in self.flags)))


def configurations() -> list[Configuration]:
    """What this machine can build and run."""
    info = Path("/proc/cpuinfo")
    avx2 = platform.machine() == "x86_64" and info.exists() and " avx2 " in info.read_text()
    found = [
        Configuration("gcc", 16, ("-O2", "-march=native")),
        Configuration("gcc", 1, ("-O1", "-march=native")),
        Configuration("gcc", 4, ("-O0",)),
        Configuration("gcc", 32, ("-O0", "-march=native"), ("f32",)),
        Configuration("clang", 16, ("-O1", "-march=native")),
        Configuration("clang", 1, ("-O3",)),
        Configuration("tcc", 1, ()),
    ]
    if avx2:
        found += [Configuration("gcc", 8, ("-O1", "-mavx2", "-mfma"), ("f32",)), Configuration("clang", 8, ("-O1", "-mavx2"))]
    return [c for c in found if shutil.which(c.compiler)]


def loop(symbol: str, out: str, operands: list[str], lanes: int, expression: str) -> str:
    """C of a function that applies `expression` (over a, b, c) to arrays of a multiple of `lanes`."""
    parameters = ", ".join(f"const {SCALARS[t]} *p{i}" for i, t in enumerate(operands))
    loads = " ".join(f"{t}x{lanes} {'abc'[i]} = tj_load_{t}x{lanes}(p{i} + i);" for i, t in enumerate(operands))
    store = f"tj_store_{out}x{lanes}(out + i, {expression});"
    body = f"for (int64_t i = 0; i < n; i += {lanes}) {{ {loads} {store} }}"
    return f"void {symbol}({SCALARS[out]} *out, int64_t n, {parameters}) {{\n  {body}\n}}\n"


def lane_operations() -> Iterator[tuple[str, str, list[str], str]]:
    """(symbol, result type, operand types, expression with W for the width) for the operations of lanes.h."""
    for t, mask in (("f32", "i32"), ("f64", "i64"), ("i32", "i32"), ("i64", "i64")):
        for name in ("lt", "le", "gt", "ge", "eq", "ne"):
            yield f"{name}_{t}", mask, [t, t], f"tj_{name}_{t}xW(a, b)"
        for name in ("min", "max"):
            yield f"{name}_{t}", t, [t, t], f"tj_{name}_{t}xW(a, b)"
        yield f"abs_{t}", t, [t], f"tj_abs_{t}xW(a)"
        yield f"select_{t}", t, [t, t], f"tj_select_{t}xW(tj_lt_{t}xW(a, b), a, b)"
    for t in ("f32", "f64"):
        yield f"fma_{t}", t, [t, t, t], f"tj_fma_{t}xW(a, b, c)"
        for name in ("sqrt", "rint", "floor", "ceil", "trunc", "neg"):
            yield f"{name}_{t}", t, [t], f"tj_{name}_{t}xW(a)"
        yield f"copysign_{t}", t, [t, t], f"tj_copysign_{t}xW(a, b)"
    for to, source in (
        *(("f32", s) for s in ("f64", "i32", "i64", "u8")),
        *(("f64", s) for s in ("f32", "i32", "i64", "u8")),
        *(("i32", s) for s in ("f32", "f64", "i64", "u8")),
        *(("i64", s) for s in ("f32", "f64", "i32", "u8")),
        *(("u8", s) for s in ("i32", "i64")),
    ):
        yield f"{to}_from_{source}", to, [source], f"tj_{to}_from_{source}xW(a)"
    for t, bits in (("f32", 32), ("f64", 64)):
        yield f"bool_{t}", "u8", [t, t], f"tj_bool_from_mask{bits}xW(tj_lt_{t}xW(a, b))"
        yield f"mask_{bits}", f"i{bits}", ["u8"], f"tj_mask{bits}_from_boolxW(a & 1)"
        yield f"any_{t}", f"i{bits}", [t], f"tj_splat_i{bits}xW(tj_any_i{bits}xW(tj_lt_{t}xW(a, a - a)) ? 7 : 8)"


def source(configuration: Configuration) -> str:
    lanes, cases = configuration.lanes, [(f, d) for f, d in CASES if d in configuration.dtypes]
    headers = "".join(f'#include "{f.header(d)}"\n' for f, d in cases)
    text = f'#define TJ_LANES {lanes}\n#include "lanes.h"\n{headers}'
    for symbol, out, operands, expression in lane_operations():
        text += loop(f"lanes_{symbol}", out, operands, lanes, expression.replace("xW", f"x{lanes}"))
    for f, d in cases:
        text += loop(f"{f.name}_{d}", d, [d] * f.arity, lanes, f"tj_{f.name}_{d}x{lanes}({', '.join('abc'[: f.arity])})")
    return text


class Library:
    """The functions of one configuration on NumPy arrays."""

    def __init__(self, configuration: Configuration, folder: Path) -> None:
        path, out = folder / f"{configuration.name}.c", folder / f"{configuration.name}.so"
        path.write_text(source(configuration))
        own = {"gcc": ("-std=c11", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Wno-psabi")}
        own["clang"] = own["gcc"][:-1]
        flags = (*own.get(configuration.compiler, ()), *configuration.flags, "-I", str(NATIVE), "-fPIC", "-shared")
        command = [configuration.compiler, *flags, "-o", str(out), str(path), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr, done.stderr[:4000]
        self.configuration = configuration
        self.ffi: Any = cffi.FFI()
        self.ffi.cdef(
            "".join(f"void lanes_{s}(void *, int64_t, {', '.join(['const void *'] * len(o))});" for s, _, o, _ in lane_operations())
            + "".join(f"void {f.name}_{d}(void *, int64_t, {', '.join(['const void *'] * f.arity)});" for f, d in CASES)
        )
        self.library = self.ffi.dlopen(str(out))

    def call(self, symbol: str, dtype: str, *operands: np.ndarray) -> np.ndarray:
        out = np.empty(operands[0].shape, NUMPY[dtype])
        assert out.size % 32 == 0
        pointers = [self.ffi.from_buffer(np.ascontiguousarray(o)) for o in operands]
        getattr(self.library, symbol)(self.ffi.from_buffer(out), out.size, *pointers)
        return out


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[Library]:
    found = configurations()
    if not found:
        pytest.skip("no C compiler on this machine: neither gcc nor clang nor tcc")
    folder = tmp_path_factory.mktemp("math")
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda c: Library(c, folder), found))


def padded(values: np.ndarray) -> np.ndarray:
    return np.resize(values, -(-values.size // 32) * 32)


def inputs(dtype: str, seed: int, count: int = 4096) -> np.ndarray:
    """Special values, every exponent, and the usual range."""
    rng = np.random.default_rng(seed)
    if dtype[0] in "iu":
        info = np.iinfo(NUMPY[dtype])
        special = np.array([0, 1, 2, info.max, info.max - 1, info.min, info.max // 2, 3], NUMPY[dtype])
        return padded(np.concatenate([special, rng.integers(info.min, info.max, count, NUMPY[dtype], endpoint=True)]))
    info_f = np.finfo(NUMPY[dtype])
    edges = [math.inf, math.nan, info_f.max, info_f.tiny, info_f.smallest_subnormal, 1 + float(info_f.eps), 1 - float(info_f.epsneg)]
    ties = [0.5, 1.5, 2.5, 0.4999999701976776, 2.0**22 + 0.5, 2.0**23 + 0.5, 2.0**52 - 0.5, 2.0**31, 2.0**31 + 256, 2.0**63]
    special = np.array([0, 1, 2, 4, 10, 88.72284, 103.9, 710, *edges, *ties], NUMPY[dtype])
    anywhere = np.frombuffer(rng.bytes(count * info_f.bits // 8), NUMPY[dtype])
    usual = rng.standard_normal(count) * 2.0 ** rng.uniform(-6, 6, count)
    with np.errstate(invalid="ignore"):  # signalling NaNs among the bit patterns
        return padded(np.concatenate([special, -special, anywhere, usual.astype(NUMPY[dtype])]))


def same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Equal bit for bit, where one NaN is as good as another."""
    if a.dtype.kind != "f":
        return a == b
    return (a.view(f"i{a.itemsize}") == b.view(f"i{b.itemsize}")) | (np.isnan(a) & np.isnan(b))


def arguments(operands: list[str], *, shuffled: bool = True) -> list[np.ndarray]:
    """One array per operand, of equal length; later ones in another order so that special values meet."""
    arrays = [inputs(t, 7) for t in operands]
    size = min(a.size for a in arrays)
    rng = np.random.default_rng(11)
    return [a[:size] if i == 0 or not shuffled else rng.permutation(a[:size]) for i, a in enumerate(arrays)]


def check_same(libraries: Sequence[Library], symbol: str, dtype: str, operands: list[np.ndarray]) -> None:
    first = libraries[0].call(symbol, dtype, *operands)
    for other in libraries[1:]:
        got = other.call(symbol, dtype, *operands)
        wrong = np.flatnonzero(~same_bits(first, got))
        assert not wrong.size, (
            f"{symbol}: {other.configuration.name} gives {got[wrong[0]]!r}, {libraries[0].configuration.name} {first[wrong[0]]!r} "
            f"for {[o[wrong[0]] for o in operands]}, and {wrong.size - 1} more"
        )


@pytest.mark.parametrize("operation", [o for o in lane_operations() if not o[0].startswith("any")], ids=lambda o: o[0])
def test_lanes_give_the_same_bits_everywhere(libraries: list[Library], operation: tuple[str, str, list[str], str]) -> None:
    symbol, out, operands, _ = operation
    check_same(libraries, f"lanes_{symbol}", out, arguments(operands))


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].name}_{c[1]}")
def test_functions_give_the_same_bits_everywhere(libraries: list[Library], case: tuple[Function, str]) -> None:
    function, dtype = case
    having = [library for library in libraries if dtype in library.configuration.dtypes]
    check_same(having, f"{function.name}_{dtype}", dtype, arguments([dtype] * function.arity))


def truncated(values: np.ndarray, to: type) -> np.ndarray:
    """The stated conversion: towards zero, the smallest integer where that does not fit."""
    info = np.iinfo(to)
    return np.array([int(v) if math.isfinite(v) and info.min <= int(v) <= info.max else info.min for v in values.tolist()], to)


LANE_MEANING: Mapping[str, Callable[..., np.ndarray]] = {
    "sqrt": np.sqrt,
    "rint": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "neg": np.negative,
    "abs": np.abs,
    "copysign": np.copysign,
}


@pytest.mark.parametrize("operation", list(lane_operations()), ids=lambda o: o[0])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_lanes_mean_what_numpy_means(libraries: list[Library], operation: tuple[str, str, list[str], str]) -> None:
    symbol, out, operands, _ = operation
    name, _, dtype = symbol.partition("_")
    args = arguments(operands)
    lanes = libraries[0].configuration.lanes
    if name in LANE_MEANING:
        want = LANE_MEANING[name](*args)
    elif name in ("lt", "le", "gt", "ge", "eq", "ne"):
        compare = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}[name]
        want = -compare(*args).astype(NUMPY[out])
    elif name in ("min", "max"):
        a, b = args
        first = (a <= b if name == "min" else a >= b) | np.isnan(a.astype(float))
        want = np.where(first, a, b)
        assert np.array_equal(want, (np.minimum if name == "min" else np.maximum)(a, b), equal_nan=a.dtype.kind == "f")
    elif name == "select":
        want = np.where(args[0] < args[1], *args)
    elif name == "bool":
        want = (args[0] < args[1]).astype(np.uint8)
    elif name == "mask":
        want = -(args[0] & 1).astype(NUMPY[out])
    elif name == "any":
        finite = np.isfinite(args[0])  # a - a is what is compared with: not 0 for the others
        args = [np.where(finite, args[0], 1).astype(NUMPY[dtype])]
        want = np.repeat(np.where((args[0].reshape(-1, lanes) < 0).any(axis=1), 7, 8), lanes)
    elif name == "fma":
        test_fma_rounds_once(libraries, dtype)
        return
    elif operands[0][0] == "f" and out[0] == "i":
        want = truncated(args[0], NUMPY[out])
    else:
        want = args[0].astype(NUMPY[out])
    got = libraries[0].call(f"lanes_{symbol}", out, *args)
    assert same_bits(got, want.astype(NUMPY[out])).all()


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_fma_rounds_once(libraries: list[Library], dtype: str) -> None:
    """Against exact rational arithmetic, with sums that cancel and sums just beside a tie."""
    rng = np.random.default_rng(5)
    T = NUMPY[dtype]
    a, b = (rng.standard_normal(2048) * 2.0 ** rng.integers(-60, 60, 2048) for _ in range(2))
    a, b = a.astype(T), b.astype(T)
    powers = np.ldexp(1.0, rng.integers(-140, 60, 512))
    c = np.concatenate([-(a * b)[:512], (a * b)[512:1024] * T(2.0**-24), powers, rng.standard_normal(512)]).astype(T)
    got = [library.call(f"lanes_fma_{dtype}", dtype, a, b, c) for library in libraries]
    for i in range(a.size):
        exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
        for g in got:
            error = abs(Fraction(float(g[i])) - exact)
            for neighbour in (np.nextafter(g[i], T(np.inf)), np.nextafter(g[i], T(-np.inf))):
                assert error <= abs(Fraction(float(neighbour)) - exact), (a[i], b[i], c[i], g[i])


def ulp_errors(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Errors in units in the last place of `want`, which is of a wider type; infinities count as the next power of two."""
    info = np.finfo(got.dtype)
    limit = want.dtype.type(2) ** info.maxexp
    value = np.clip(got.astype(want.dtype), -limit, limit)
    want = np.clip(want, -limit, limit)
    exponent = np.clip(np.frexp(want)[1] - 1, info.minexp, info.maxexp - 1)
    return np.abs(value - want) / np.ldexp(want.dtype.type(1), exponent - info.nmant)


def reference(name: str, *x: np.ndarray) -> np.ndarray:
    """The function in the type of `x`, by NumPy or from it."""
    named = {
        "pow": np.power,
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "atan2": np.arctan2,
        "asinh": np.arcsinh,
        "acosh": np.arccosh,
        "atanh": np.arctanh,
        **{name: np.vectorize(getattr(math, name), otypes=[np.float64]) for name in ("erf", "erfc")},
    }
    if name == "rsqrt":
        return 1 / np.sqrt(x[0])
    if name == "sigmoid":
        e = np.exp(-np.abs(x[0]))
        return np.where(x[0] < 0, e, 1) / (1 + e)
    return (named[name] if name in named else getattr(np, name))(*x)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].name}_{c[1]}")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors_stay_within_the_stated_bound(libraries: list[Library], case: tuple[Function, str]) -> None:
    function, dtype = case
    args = arguments([dtype] * function.arity)
    wide = np.float64 if dtype == "f32" else np.longdouble
    want = reference(function.name, *(a.astype(wide) for a in args))
    got = libraries[0].call(f"{function.name}_{dtype}", dtype, *args)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    kept = ~np.isnan(want)
    assert np.array_equal(np.signbit(got[kept]), np.signbit(want[kept])), "the sign of a zero or infinity"
    bound = function.ulp[dtype]
    assert bound <= (1 if dtype == "f32" else 2)
    slack = 0.001 if np.finfo(wide).nmant > np.finfo(got.dtype).nmant else 1  # where long double is no wider, the reference errs too
    finite = kept & ~(np.isinf(want) & (got == want))
    assert ulp_errors(got[finite], want[finite]).max() <= bound + slack


VALIDATION = Path(np.__file__).parent / "_core" / "tests" / "data"
NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}


def ordered(x: np.ndarray) -> np.ndarray:
    """Integers that count through the floats in order."""
    bits = x.view(f"i{x.itemsize}")
    return np.where(bits < 0, np.iinfo(bits.dtype).min - bits, bits).astype(object)


@pytest.mark.parametrize("case", [c for c in CASES if c[0].arity == 1], ids=lambda c: f"{c[0].name}_{c[1]}")
def test_numpy_validation_sets(libraries: list[Library], case: tuple[Function, str]) -> None:
    function, dtype = case
    path = VALIDATION / f"umath-validation-set-{NUMPY_NAMES.get(function.name, function.name)}.csv"
    if not path.exists():
        pytest.skip(f"this NumPy ships no {path.name}")
    with path.open() as lines:
        rows = [
            r
            for r in csv.reader(line for line in lines if not line.startswith(("#", "dtype")))
            if r and r[0] == f"np.{NUMPY[dtype].__name__}"
        ]
    if not rows:
        pytest.skip(f"{path.name} has no rows for {dtype}")
    kind = "u4" if dtype == "f32" else "u8"
    x, want = (np.array([int(r[i], 16) for r in rows], kind).view(NUMPY[dtype]) for i in (1, 2))
    tolerance = np.array([int(r[3]) for r in rows])
    got = libraries[0].call(f"{function.name}_{dtype}", dtype, padded(x))[: x.size]
    assert np.array_equal(np.isnan(got), np.isnan(want))
    order, expected = ordered(got), ordered(want)
    kept = ~np.isnan(want)
    assert (np.abs(order - expected)[kept] <= tolerance[kept]).all()


def test_tanh_and_sigmoid_stay_in_range_and_in_order(libraries: list[Library]) -> None:
    x = padded(np.sort(inputs("f32", 3, 60000)[np.isfinite(inputs("f32", 3, 60000))]))
    x = np.sort(x)
    for name, low in (("tanh", -1), ("sigmoid", 0)):
        y = libraries[0].call(f"{name}_f32", "f32", x)
        assert y.min() >= low and y.max() <= 1
        assert y[0] == low and y[-1] == 1
        # faithful results may step back by one place, not by more
        assert (np.diff(y) >= -np.spacing(np.abs(y[1:]))).all()


def test_functions_say_where_they_are() -> None:
    for function, dtype in CASES:
        assert (NATIVE / function.header(dtype)).is_file()
    with pytest.raises(KeyError, match="erf: no version for f16; there is one for f32"):
        FUNCTIONS["erf"].header("f16")
