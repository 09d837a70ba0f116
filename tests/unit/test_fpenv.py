"""The floating-point environment: whatever another library left behind, the bits are the same, and the caller finds it again as it was.

The library is built here (tests/unit/data/fpenv.c). Each case runs in a process of its own, so that threads that start during
a call inherit the changed environment, and no other test does.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.toolchain
SOURCE = Path(__file__).parent / "data" / "fpenv.c"
MODES = {"default": 0, "flush": 1, "upward": 2, "toward zero": 4, "flush, upward and flags": 11, "flags": 8}

SCRIPT = """
import ctypes, hashlib, json, sys
import numpy as np
import tjcore as tj
lib = ctypes.CDLL(sys.argv[1])
lib.fp_state.restype = ctypes.c_int64
mode, backend, threads = int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
n = tj.Dim("N", 1, 1 << 20)
x, m = tj.input("x", (n,)), tj.input("m", (64, n))
outputs = [x * 0.3, x * x, x.exp() * 1e-38, x.sum(), (m * 0.1).sum(1), m.max(0) / 3, m @ m.T, x.sqrt() + 1e-45, x.tanh().log()]
f = tj.CompiledGraph(outputs, backend=backend, threads=threads)
random = np.random.default_rng(5)
size = 20_000
a = (random.standard_normal(size) * 10.0 ** random.integers(-44, 3, size)).astype(np.float32)
b = (random.standard_normal((64, size)) * 10.0 ** random.integers(-30, 3, (64, size))).astype(np.float32)
a[:4] = [1e-45, -1e-45, 1.1754943e-38, -0.0]
assert (abs(a[(a != 0) & (abs(a) < 1.17549435e-38)]) > 0).sum() > 100, "subnormal numbers among the inputs"
lib.fp_change(mode)
flushed = lib.fp_flushes()  # which raises flags itself
before = lib.fp_state()
results = f(x=a, m=b)
after = lib.fp_state()
flushes = lib.fp_flushes()
lib.fp_reset()
assert mode & 1 == flushed == flushes, (mode, flushed, flushes)
digest = hashlib.sha256()
for result in results:
    result[np.isnan(result)] = np.nan  # a NaN's payload is not promised
    digest.update(result.tobytes())
print(json.dumps([digest.hexdigest(), before == after]))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    from tjcore.plugins import choose

    for name in ("gcc", "clang"):
        try:
            command = choose(name).toolchain.prefix()
        except Exception:
            continue
        path = tmp_path_factory.mktemp("fpenv") / "fpenv.so"
        done = subprocess.run(
            [*command, "-shared", "-fPIC", "-o", str(path), str(SOURCE), "-lm"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return path
    pytest.skip("neither gcc nor clang, whose assembler the library needs")


def run(library, mode, backend, threads):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(library), str(mode), backend, str(threads)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ordinary(library):
    found = {}

    def digest(backend):
        if backend not in found:
            found[backend] = run(library, 0, backend, 1)[0]
        return found[backend]

    return digest


CASES = [(mode, 1) for mode in MODES if mode != "default"] + [("flush", 2), ("flush, upward and flags", 2)]


@pytest.mark.parametrize("mode, threads", CASES)
def test_bits_stay_and_the_callers_mode_is_restored(library, ordinary, toolchain, backend, mode, threads):
    if toolchain.dialect is None:
        pytest.skip("computes in NumPy, in the caller's environment")
    digest, restored = run(library, MODES[mode], backend, threads)
    assert digest == ordinary(backend), f"{mode}: other bits"
    assert restored, f"{mode}: the caller's environment is another after the call"


def test_toolchains_agree(ordinary, backend, toolchain, peers):
    if toolchain.dialect is None or not peers:
        pytest.skip("not two toolchains that build code")
    assert {ordinary(peer.backend) for peer in peers} == {ordinary(backend)}
