"""The C that is written: a dozen kernels as whole files in tests/golden, and what no name of a user may break.

After the C has changed on purpose: `UPDATE_EXPECTED=1 python -m pytest tests/unit/test_render.py`, and read the difference before you commit it.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from tjcore import CompiledGraph, Dim, compile_plan, float64, input, int32
from tjcore.render_c import render_kernel, render_program
from tjcore.toolchain import C11, GNU, Dialect

GOLDEN = Path(__file__).parent.parent / "golden"
N, M = Dim("N", 1, 4096), Dim("M", 1, 4096)
x, y, row, column = input("x", (N, M)), input("y", (N, M)), input("row", (M,)), input("column", (N, 1))
input_w = input("w", (M, M))

CASES = {
    "elementwise": ([((x + y) * x - 3).relu()], C11),
    "elementwise_vectors": ([((x + y) * x - 3).relu()], GNU),
    "broadcast_row": ([x * row + 0.1], C11),
    "broadcast_column": ([(column + 1) * x], C11),
    "scalar": ([input("a", ()) / 3 - 1], C11),
    "integers": ([input("i", (N,), int32) * 3 - input("j", (N,), int32)], C11),
    "float64": ([(input("d", (N,), float64) + 1e-300).sqrt()], C11),
    "choices": ([x.maximum(0).minimum(y), x.positive(), x.equals(y)], C11),
    "sum_last": ([x.sum(1)], C11),
    "sum_last_vectors": ([x.sum(1)], GNU),
    "shifted_powers": ([(x - column).exp()], C11),
    "shares": ([x / column], C11),
}


def kernels(outputs, dialect):
    plan = compile_plan(outputs)
    return "\n".join(render_kernel(kernel, dialect, plan.symbols) for kernel in plan.program.kernels)


@pytest.mark.parametrize("name", CASES)
def test_the_c_of_a_kernel_is_the_one_in_the_file(name):
    text, path = kernels(*CASES[name]), GOLDEN / f"{name}.c"
    if os.environ.get("UPDATE_EXPECTED"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name} is another; if the new C is right, write it with UPDATE_EXPECTED=1"


def test_every_file_has_its_case():
    assert {path.stem for path in GOLDEN.glob("*.c")} == set(CASES)


@pytest.mark.parametrize("dialect", [C11, GNU], ids=lambda d: d.name)
def test_the_same_program_gives_the_same_bytes(dialect):
    once, again = (render_program(compile_plan([(x / column).sum(1), x @ input_w]).program, dialect) for _ in range(2))
    assert once == again


def test_sizes_and_offsets_are_64_bits_and_floats_hexadecimal():
    text = kernels([x * 0.1 + row], C11)
    assert "0x1.99999ap-4f" in text and not re.search(r"\bint (?!main)\w+ ?[=;,)]", text)


def test_a_banner_says_what_goes_in_and_out():
    text = render_program(compile_plan([(x @ x.T).relu() @ x]).program, C11)
    for words in ("in  x: float32 (N, M)", "out out0: float32 (N, M)", "tmp t0: float32 (N, N)", "N in 1..4096"):
        assert words in text.split("*/")[0], words


def test_equal_kernels_are_written_once():
    h = x
    for _ in range(5):
        h = (h @ input_w).relu()
    plan = compile_plan([h])
    assert len(plan.kernels) == 5 and len(re.findall(r"^static void k\d+\(", plan.source, re.M)) == 1


def test_a_dialect_is_words_only():
    odd = Dialect("odd", restrict="__restrict", export="EXPORT", prelude="#define EXPORT")
    text = render_program(compile_plan([x + 1]).program, odd)
    assert (
        "__restrict" in text
        and "#define EXPORT\n" in text
        and "EXPORT void tj_graph(" in text
        and not re.search(r"(?<!_)\brestrict\b", text)
    )


AWKWARD = [
    "int",
    "for",
    "NULL",
    "I",
    "errno",
    "main",
    "team",
    "dims",
    "buffers",
    "k0",
    "x0",
    "i0",
    "r0",
    "tj_graph",
    "out0",
    "t0",
    "N_",
    "größe",
    "𝒳",
]


@pytest.mark.toolchain
@pytest.mark.parametrize("name", AWKWARD)
def test_any_identifier_names_an_input_or_a_dim(name):
    n = Dim(name, 1, 64)
    a = input(name, (n, 3))
    f = CompiledGraph([a + input("other", (3,)), (a * a).sum(0)])
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    got = f(**{name: given, "other": np.ones(3, np.float32)})
    np.testing.assert_array_equal(got[0], given + 1)
    np.testing.assert_array_equal(got[1], (given * given).sum(0))


@pytest.mark.toolchain
def test_constants_at_the_ends_reach_the_kernel_whole():
    floats = [0.0, -0.0, 1e-45, -1e-45, 3.4028234663852886e38, 1.1754943508222875e-38, 0.1, -1 / 3]
    wide = [5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 0.1, -0.0]
    whole = [-(2**31), 2**31 - 1, 0, -1]
    a, d, i = input("a", (1,)), input("d", (1,), float64), input("i", (1,), int32)
    f = CompiledGraph([*(a.equals(a) * v for v in floats), *(d.equals(d) * v for v in wide), *(i.equals(i) * v for v in whole)])
    got = f(a=np.ones(1, np.float32), d=np.ones(1), i=np.ones(1, np.int32))
    want = [*(np.float32(v) for v in floats), *(np.float64(v) for v in wide), *(np.int32(v) for v in whole)]
    assert [g.tobytes() for g in got] == [w.tobytes() for w in want]
