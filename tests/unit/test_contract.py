"""The product kernels in C against the chain rule itself, bit for bit: every path, element type, compiler, layout and team size.

The reference below knows nothing of tiles: it walks k one step at a time over the whole of C and rounds each fused
multiply-add exactly (float32: product exact in float64, sum rounded to odd, then to float32; float64: libm's fma).
"""

import ctypes
import ctypes.util
import itertools
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cffi import FFI

import tjcore
import tjcore.native
from tjcore.dims import evaluate
from tjcore.packing import packing_bytes

NATIVE = Path(tjcore.native.__path__[0])
BLOCK = 256
AUTO, TILES, PACKED, VECTOR = range(4)
PATHS = {"auto": AUTO, "tiles": TILES, "packed": PACKED, "vector": VECTOR}
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}

# A team of threads as a pool would make it, and callbacks that do to operands what generated code would:
# A is read as a * 2, B as b + 1, and C is stored as c - 3 into a buffer with its own strides.
HARNESS = """
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <string.h>
#include "contract.h"

typedef struct { void *a, *b, *out; int64_t a_batch, a_row, a_col, b_batch, b_row, b_col, out_batch, out_row; } tj_test_user;

#define CALLBACKS(S, T) \\
static void a_##S(void *u, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, void *block, int64_t stride) { \\
  tj_test_user *s = u; T *to = block; \\
  for (int64_t r = 0; r < rows; r++) for (int64_t c = 0; c < cols; c++) \\
    to[r * stride + c] = 2 * ((T *)s->a)[batch * s->a_batch + (row + r) * s->a_row + (col + c) * s->a_col]; } \\
static void a_columns_##S(void *u, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, void *block, int64_t stride) { \\
  tj_test_user *s = u; T *to = block; \\
  for (int64_t r = 0; r < rows; r++) for (int64_t c = 0; c < cols; c++) \\
    to[c * stride + r] = 2 * ((T *)s->a)[batch * s->a_batch + (row + r) * s->a_row + (col + c) * s->a_col]; } \\
static void b_##S(void *u, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, void *block, int64_t stride) { \\
  tj_test_user *s = u; T *to = block; \\
  for (int64_t r = 0; r < rows; r++) for (int64_t c = 0; c < cols; c++) \\
    to[r * stride + c] = 1 + ((T *)s->b)[batch * s->b_batch + (row + r) * s->b_row + (col + c) * s->b_col]; } \\
static void b_columns_##S(void *u, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, void *block, int64_t stride) { \\
  tj_test_user *s = u; T *to = block; \\
  for (int64_t r = 0; r < rows; r++) for (int64_t c = 0; c < cols; c++) \\
    to[c * stride + r] = 1 + ((T *)s->b)[batch * s->b_batch + (row + r) * s->b_row + (col + c) * s->b_col]; } \\
static void out_##S(void *u, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols, void *tile, int64_t stride) { \\
  tj_test_user *s = u; T *from = tile; \\
  for (int64_t r = 0; r < rows; r++) for (int64_t c = 0; c < cols; c++) { \\
    ((T *)s->out)[batch * s->out_batch + (row + r) * s->out_row + col + c] += from[r * stride + c] - 3; \\
    from[r * stride + c] = 77; } }
CALLBACKS(f32, float)
CALLBACKS(f64, double)
CALLBACKS(i32, uint32_t)
CALLBACKS(i64, uint64_t)

static void wait_all(const tj_team *team) { pthread_barrier_wait(team->shared); }
typedef struct { tj_team team; tj_contract contract; tj_contract_function *function; } job;
static void *work(void *p) { job *j = p; j->function(&j->team, &j->contract); return 0; }

/* callbacks: bit 0 A, bit 1 B, bit 2 C, bit 3 A by columns, bit 4 B by columns */
void test_run(int32_t dtype, int64_t threads, const tj_contract *given, int32_t callbacks) {
  tj_contract_function *functions[] = {tj_contract_f32, tj_contract_f64, tj_contract_i32, tj_contract_i64};
  tj_contract_fill *as[] = {a_f32, a_f64, a_i32, a_i64}, *a_columns[] = {a_columns_f32, a_columns_f64, a_columns_i32, a_columns_i64};
  tj_contract_fill *bs[] = {b_f32, b_f64, b_i32, b_i64}, *b_columns[] = {b_columns_f32, b_columns_f64, b_columns_i32, b_columns_i64};
  tj_contract_epilogue *outs[] = {out_f32, out_f64, out_i32, out_i64};
  tj_contract contract = *given;
  tj_test_user user = {(void *)contract.a, (void *)contract.b, contract.c, contract.a_batch, contract.a_row, contract.a_col,
                       contract.b_batch, contract.b_row, contract.b_col, contract.c_batch, contract.c_row};
  contract.user = &user;
  contract.pack_a_by_columns = callbacks >> 3 & 1, contract.pack_b_by_columns = callbacks >> 4 & 1;
  if (callbacks & 1) contract.pack_a = callbacks & 8 ? a_columns[dtype] : as[dtype], contract.a = 0;
  if (callbacks & 2) contract.pack_b = callbacks & 16 ? b_columns[dtype] : bs[dtype], contract.b = 0;
  if (callbacks & 4) contract.epilogue = outs[dtype], contract.c = 0;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, 0, (unsigned)threads);
  job jobs[16];
  pthread_t ids[16];
  for (int64_t i = 0; i < threads; i++) {
    job made = {{.index = i, .size = threads, .barrier = wait_all, .shared = &barrier}, contract, functions[dtype]};
    jobs[i] = made;
    if (i) pthread_create(&ids[i], 0, work, &jobs[i]);
  }
  work(&jobs[0]);
  for (int64_t i = 1; i < threads; i++) pthread_join(ids[i], 0);
  pthread_barrier_destroy(&barrier);
}
int64_t test_scratch(int32_t dtype, int64_t m, int64_t n, int64_t k, int64_t threads, int32_t epilogue) {
  return tj_contract_scratch(dtype, m, n, k, threads, epilogue);
}
"""
CDEF = """
typedef struct { int64_t m, n, k, batch; const void *a; int64_t a_batch, a_row, a_col; const void *b; int64_t b_batch, b_row, b_col;
  void *c; int64_t c_batch, c_row; void *pack_a, *pack_b; int32_t pack_a_by_columns, pack_b_by_columns; void *epilogue, *user, *scratch;
  int32_t path; } tj_contract;
void test_run(int32_t dtype, int64_t threads, const tj_contract *given, int32_t callbacks);
int64_t test_scratch(int32_t dtype, int64_t m, int64_t n, int64_t k, int64_t threads, int32_t epilogue);
"""
ffi = FFI()
ffi.cdef(CDEF)


@dataclass(frozen=True, slots=True)
class Build:
    """One compiler with flags; all builds must give the same bits."""

    name: str
    command: tuple[str, ...]

    def installed(self) -> bool:
        return shutil.which(self.command[0]) is not None


# So small that a few dozen rows and columns fall into many blocks, and that every product may have scratch.
NARROW = ("-DTJ_L2=98304", "-DTJ_CONTRACT_SMALL=0", "-DTJ_CONTRACT_ROWS=24")
BUILDS = {
    build.name: build
    for build in (
        Build("gcc", ("gcc", "-O3", "-march=native", *NARROW)),
        Build("gcc-avx2", ("gcc", "-O2", "-mavx2", "-mfma", *NARROW)),
        Build("gcc-plain", ("gcc", "-O2", *NARROW)),
        Build("clang", ("clang", "-O3", "-march=native", *NARROW)),
        Build("clang-avx2", ("clang", "-O2", "-mavx2", "-mfma", *NARROW)),
        Build("gcc-defaults", ("gcc", "-O3", "-march=native")),
        Build("tcc", ("tcc", *NARROW)),
    )
}


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Builds and loads the kernels with one of BUILDS, once per session and build."""

    @cache
    def load(name):
        build = BUILDS[name]
        if not build.installed():
            pytest.skip(f"{build.command[0]} is not installed")
        folder = tmp_path_factory.mktemp(f"contract-{name}")
        (folder / "harness.c").write_text(HARNESS)
        objects = []
        for source in [*sorted(NATIVE.glob("contract*.c")), folder / "harness.c"]:
            objects.append(str(folder / f"{source.stem}.o"))
            flags = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fPIC", f"-I{NATIVE}")
            done = subprocess.run(
                [*build.command, *flags, "-c", str(source), "-o", objects[-1]], check=False, capture_output=True, text=True
            )
            assert done.returncode == 0 and not done.stderr, done.stderr
        target = folder / "contract.so"
        subprocess.run([build.command[0], "-shared", "-o", str(target), *objects, "-lm", "-lpthread"], check=True)
        return ffi.dlopen(str(target))

    return load


def fma32(a, b, c):
    """float32 fma with one rounding: p is exact, p + c rounded to odd keeps what the last rounding needs."""
    p, c = np.multiply(a, b, dtype=np.float64), c.astype(np.float64)
    high = p + c
    part = high - p
    low = (p - (high - part)) + (c - part)
    even = (high.view(np.int64) & 1) == 0
    odd = np.where((low != 0) & even, np.nextafter(high, np.where(low > 0, np.inf, -np.inf)), high)
    return odd.astype(np.float32)


libm = ctypes.CDLL(ctypes.util.find_library("m"))
libm.fma.restype, libm.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
fma64 = np.frompyfunc(libm.fma, 3, 1)


def chain(a, b):
    """The contract's rule 2, one k at a time."""
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    total = np.zeros((*batch, m, n), a.dtype)
    for start in range(0, k, BLOCK):
        acc = np.zeros_like(total)
        for p in range(start, min(start + BLOCK, k)):
            left, right = a[..., :, p, None], b[..., None, p, :]
            if a.dtype == np.float32:
                acc = fma32(left, right, acc)
            elif a.dtype == np.float64:
                acc = fma64(left, right, acc).astype(np.float64)
            else:
                acc = left * right + acc
        total = acc if start == 0 else total + acc
    return total


def values(rng, shape, dtype):
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 6, shape)).astype(dtype)


def laid_out(x, layout):
    """The same values with other strides: C order, transposed, every other element of a wider array, or reversed."""
    if layout == "rows":
        return np.ascontiguousarray(x)
    if layout == "columns":
        return np.ascontiguousarray(np.swapaxes(x, -1, -2)).swapaxes(-1, -2)
    if layout == "gaps":
        wide = np.zeros((*x.shape[:-2], x.shape[-2] * 2, x.shape[-1] * 3), x.dtype)
        wide[..., ::2, ::3] = x
        return wide[..., ::2, ::3]
    return np.ascontiguousarray(x[..., ::-1, ::-1])[..., ::-1, ::-1]


def run(lib, a, b, *, path=AUTO, threads=1, callbacks=0, gap=0):
    """C as the kernels give it; memory around it and the scratch hold NaN (or a pattern) before, and must around it after."""
    name = {np.dtype(v): i for i, v in enumerate(DTYPES.values())}[a.dtype]
    a3, b3 = (x if x.ndim == 3 else x[None] for x in (a, b))
    batch, m, k, n = max(len(a3), len(b3)) if len(a3) and len(b3) else 0, a3.shape[1], a3.shape[2], b3.shape[2]
    poison = np.nan if a.dtype.kind == "f" else 1234567
    c = np.full((batch, m + 1, n + gap), poison, a.dtype)
    if callbacks & 4:
        c[:, :m, :n] = 0  # the epilogue adds to it: a tile given twice would show
    size = lib.test_scratch(name, m, n, k, threads, bool(callbacks & 4))
    scratch = np.full(size // a.itemsize + 32, poison, a.dtype)
    start = -scratch.ctypes.data % 64 // a.itemsize

    def strides(x):
        elements = [s // x.itemsize for s in x.strides]
        return [elements[0] if len(x) > 1 else 0, *elements[1:]]

    given = ffi.new("tj_contract *")
    given.m, given.n, given.k, given.batch, given.path = m, n, k, batch, path
    given.a, given.b, given.c = (ffi.cast("void *", x.ctypes.data) for x in (a3, b3, c))
    given.a_batch, given.a_row, given.a_col = strides(a3)
    given.b_batch, given.b_row, given.b_col = strides(b3)
    given.c_batch, given.c_row = (m + 1) * (n + gap), n + gap
    given.scratch = ffi.cast("void *", scratch.ctypes.data + start * a.itemsize) if size else ffi.NULL
    lib.test_run(name, threads, given, callbacks)
    around = c.copy()
    around[:, :m, :n] = poison
    np.testing.assert_array_equal(around, np.full_like(c, poison))
    np.testing.assert_array_equal(scratch[start + size // a.itemsize :], poison)
    np.testing.assert_array_equal(scratch[:start], poison)
    out = c[:, :m, :n]
    return out if a.ndim == 3 or b.ndim == 3 else out[0]


def same_bits(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_array_equal(np.ascontiguousarray(got).view(f"i{got.itemsize}"), np.ascontiguousarray(want).view(f"i{want.itemsize}"))


SHAPES = [
    (1, 1, 1), (2, 3, 4), (5, 7, 3), (1, 40, 9), (40, 1, 9), (17, 33, 65), (64, 64, 64), (13, 100, 1), (3, 300, 5),
    (1, 300, 70), (70, 300, 1), (1, 513, 1), (30, 257, 31), (33, 512, 40), (7, 2, 200), (150, 9, 6), (29, 600, 130), (65, 3, 300),
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("build", BUILDS)
def test_every_path_is_the_chain(library, build, path):
    lib, rng = library(build), np.random.default_rng(1)
    for m, k, n in SHAPES:
        a, b = values(rng, (m, k), np.float32), values(rng, (k, n), np.float32)
        same_bits(run(lib, a, b, path=PATHS[path]), chain(a, b))


@pytest.mark.parametrize("dtype", ["f64", "i32", "i64"])
@pytest.mark.parametrize("build", BUILDS)
def test_other_element_types(library, build, dtype):
    lib, rng = library(build), np.random.default_rng(2)
    for m, k, n in [(1, 9, 5), (5, 9, 1), (19, 270, 23), (3, 20, 35)]:
        a, b = values(rng, (m, k), DTYPES[dtype]), values(rng, (k, n), DTYPES[dtype])
        want = chain(a, b)
        for path in PATHS.values():
            same_bits(run(lib, a, b, path=path), want)


@pytest.mark.parametrize("build", ["gcc", "clang", "tcc"])
def test_strides(library, build):
    lib, rng = library(build), np.random.default_rng(3)
    layouts = ["rows", "columns", "gaps", "reversed"]
    for m, k, n in [(37, 50, 41), (1, 300, 40), (40, 300, 1), (6, 40, 100)]:
        a, b = values(rng, (m, k), np.float32), values(rng, (k, n), np.float32)
        want = chain(a, b)
        for left, right, path in itertools.product(layouts, layouts, PATHS.values()):
            same_bits(run(lib, laid_out(a, left), laid_out(b, right), path=path, gap=3), want)


@pytest.mark.parametrize(
    "shapes", [((5, 6, 7), (5, 7, 8)), ((5, 6, 7), (7, 8)), ((6, 7), (5, 7, 8)), ((4, 1, 300), (4, 300, 20)), ((0, 6, 7), (7, 8))]
)
@pytest.mark.parametrize("path", PATHS)
def test_batches_and_broadcast(library, shapes, path):
    rng = np.random.default_rng(4)
    a, b = (values(rng, shape, np.float32) for shape in shapes)
    for threads in (1, 2, 3):
        same_bits(run(library("gcc"), a, b, path=PATHS[path], threads=threads), chain(a, b))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("build", ["gcc", "tcc"])
def test_extents_of_zero_and_one(library, build, path):
    rng = np.random.default_rng(5)
    for m, k, n in itertools.product((0, 1, 20), repeat=3):
        a, b = values(rng, (m, k), np.float32), values(rng, (k, n), np.float32)
        for callbacks, threads in itertools.product((0, 7), (1, 2)):
            want = chain(2 * a, b + 1) - 3 if callbacks else chain(a, b)
            same_bits(run(library(build), a, b, path=PATHS[path], callbacks=callbacks, threads=threads), want)


@pytest.mark.parametrize("build", ["gcc", "clang", "tcc"])
@pytest.mark.parametrize("path", PATHS)
def test_callbacks(library, build, path):
    lib, rng = library(build), np.random.default_rng(6)
    for m, k, n in [(45, 300, 67), (1, 300, 20), (20, 30, 1), (20, 30, 40)]:
        a, b = values(rng, (m, k), np.float32), values(rng, (k, n), np.float32)
        for callbacks in (1, 2, 4, 3, 7, 1 + 8, 2 + 16, 31):
            want = chain(2 * a if callbacks & 1 else a, b + 1 if callbacks & 2 else b)
            want = want - 3 if callbacks & 4 else want
            same_bits(run(lib, a, laid_out(b, "columns"), path=PATHS[path], callbacks=callbacks), want)


@pytest.mark.parametrize("path", PATHS)
def test_one_thread_is_two_is_three(library, path):
    lib, rng = library("gcc"), np.random.default_rng(7)
    for m, k, n in [(1, 300, 500), (500, 300, 1), (130, 300, 97), (3, 40, 900), (900, 40, 3)]:
        a, b = values(rng, (m, k), np.float32), values(rng, (k, n), np.float32)
        for callbacks in (0, 7):
            one = run(lib, a, b, path=PATHS[path], callbacks=callbacks)
            for threads in (2, 3, 7):
                same_bits(run(lib, a, b, path=PATHS[path], callbacks=callbacks, threads=threads), one)


def test_reference_rounds_once():
    """The reference's own fma against libm's on values where two roundings differ."""
    rng = np.random.default_rng(8)
    a, b, c = (values(rng, 20000, np.float32) for _ in range(3))
    c[:10000] = (-a[:10000] * b[:10000]) * np.float32(1 + 2**-20)
    libm.fmaf.restype, libm.fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3
    want = np.array([libm.fmaf(*map(float, abc)) for abc in zip(a, b, c, strict=True)], np.float32)
    same_bits(fma32(a, b, c), want)


def test_special_values(library):
    """Infinities, NaN, signed zeros and subnormals pass through every path alike."""
    a = np.array([[np.inf, 1, 2], [np.nan, 0, 1], [-0.0, 0, -0.0], [1e-30, -1e-30, 1e-40]], np.float32)
    b = np.array([[0, 1, 1e-12], [1, -1, -1e-12], [-0.0, np.inf, 1e-9]], np.float32)
    with np.errstate(all="ignore"):
        want = chain(a, b)
    for build, path in itertools.product(("gcc", "clang", "tcc"), PATHS.values()):
        got = run(library(build), a, b, path=path)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        same_bits(np.nan_to_num(got), np.nan_to_num(want))


@pytest.mark.parametrize("dtype", DTYPES)
def test_plan_and_kernels_agree_on_workspace(library, dtype):
    m, n, k = (tjcore.Dim(name, 0, 20_000) for name in "mnk")
    lib, rng = library("gcc-defaults"), np.random.default_rng(11)
    sizes = rng.integers(0, 20_000, (200, 3)).tolist() + rng.integers(0, 300, (200, 3)).tolist() + [[240, 480, 256], [1, 1 << 14, 128]]
    for epilogue in (False, True):
        bytes_of = packing_bytes(tjcore.dtypes.as_dtype(DTYPES[dtype]), m, n, k, epilogue)
        for rows, cols, inner in sizes:
            planned = evaluate(bytes_of, {"m": rows, "n": cols, "k": inner})
            assert 3 * planned == lib.test_scratch(list(DTYPES).index(dtype), rows, cols, inner, 3, epilogue)
