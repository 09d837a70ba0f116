"""Declarations, arithmetic and canonical form of sizes, on examples."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tjcore
from tjcore import dims
from tjcore.dims import Dim, bounds, maximum, minimum
from tjcore.errors import CallError, GraphError

N, M, K = Dim("N"), Dim("M"), Dim("K")
E = Dim("E", 0, 16)


class TestDim:
    def test_defaults_and_text(self):
        assert (N.name, N.lower, N.upper) == ("N", 1, 4096)
        assert repr(N) == "Dim('N', 1, 4096)" and str(N) == "N"

    def test_value_equality(self):
        assert Dim("N") == N and hash(Dim("N")) == hash(N)
        assert Dim("N", 1, 8) != N and Dim("M") != N and N != "N"

    def test_frozen(self):
        with pytest.raises(AttributeError):
            N.upper = 3

    @pytest.mark.parametrize("name", ["int", "for", "min", "ß", "_", "x1", "名"])
    def test_any_identifier_is_a_name(self, name):
        assert Dim(name).name == name

    @pytest.mark.parametrize("name", ["", "1x", "a b", "a-b", "a.b", " N", "N\n", "\ud800"])
    def test_other_strings_are_not(self, name):
        with pytest.raises(GraphError, match="identifier"):
            Dim(name)

    @pytest.mark.parametrize("name", [None, 3, b"N"])
    def test_name_is_a_str(self, name):
        with pytest.raises(ValueError, match="str"):
            Dim(name)

    @pytest.mark.parametrize("bad", [True, False, 1.0, "1", None, np.int64(3)])
    def test_bounds_are_real_ints(self, bad):
        with pytest.raises(ValueError, match=r"'N'.*lower.*int"):
            Dim("N", bad)
        with pytest.raises(ValueError, match=r"'N'.*upper.*int"):
            Dim("N", 0, bad)

    @pytest.mark.parametrize(
        ("lower", "upper", "text"), [(-1, 3, "lower >= 0, got -1"), (5, 4, "lower 5 and upper 4"), (1, 2**31, r"< 2\*\*31")]
    )
    def test_bounds_are_in_order(self, lower, upper, text):
        with pytest.raises(ValueError, match=text):
            Dim("N", lower, upper)

    def test_extreme_bounds(self):
        assert bounds(Dim("N", 0, 0)) == (0, 0)
        assert bounds(Dim("N", 2**31 - 1, 2**31 - 1)) == (2**31 - 1, 2**31 - 1)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (N + M - N, M),
        (2 * N, N + N),
        (N * M // M, N),
        (4 * N // 4, N),
        ((4 * N + 2) // 4, N),
        ((N + 4) // 4, N // 4 + 1),
        (N % 8, N - 8 * (N // 8)),
        (N // 2 // 2, N // 4),
        ((N // 2 + 1) // 2, (N + 2) // 4),
        (N // M // K, N // (M * K)),
        (-(-N // 4), (N + 3) // 4),
        (-(-N // M), (N + M - 1) // M),
        (N * K // (M * K), N // M),
        (6 * N // 4, 3 * N // 2),
        ((2 * N + 1) // 4, N // 2),
        ((N + M) * (N + M), N**2 + 2 * N * M + M**2),
        ((N + M) * K // (N + M), K),
        ((N + M) ** 2 // (N + M), N + M),
        (minimum(N, M), minimum(M, N)),
        (minimum(N, minimum(M, K)), minimum(N, M, K)),
        (minimum(N, N + 1), N),
        (minimum(N, 4096), N),
        (maximum(N - 1, 0), N - 1),
        (minimum(N + 1, M + 1), minimum(N, M) + 1),
        (N // 4097, 0),
        (E // (E + 1), 0),
        (N * 0, 0),
        (N - N, 0),
        (divmod(N, 8), (N // 8, N % 8)),
        (divmod(9, N), (9 // N, 9 % N)),
        (np.int64(2) * N + np.int32(1), 2 * N + 1),
        (+N, N),
        (N**0, 1),
    ],
)
def test_equal_sizes_are_equal_values(left, right):
    assert left == right and hash(left) == hash(right) and str(left) == str(right)


def test_simplest_type():
    assert (N + M - N) is M
    assert type(N - N + 3) is int
    assert N // 2 != N and N + 1 != N + M


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (N + M, "M + N"),
        (N - 1, "N - 1"),
        (1 - N, "1 - N"),
        ((N - 1) // 2 + 1, "(N + 1)//2"),
        (-(N // 4), "-(N//4)"),
        (3 - N // 4, "3 - N//4"),
        (M - N // 4, "M - N//4"),
        (2 * (N // 4) * M, "2*M*(N//4)"),
        (N * N * M, "M*N**2"),
        (N % 8, "N % 8"),
        (M * (N % 8) + 1, "M*(N % 8) + 1"),
        ((N + 3) % M, "(N + 3) % M"),
        (minimum(64, N), "min(N, 64)"),
        (maximum(N - 5, M) // 2, "max(M, N - 5)//2"),
        (7 // N, "7//N"),
        (N // (2 * M), "N//(2*M)"),
    ],
)
def test_text(size, text):
    assert str(size) == text
    assert text in repr(size)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (N % 8, (0, 7)),
        (N - minimum(N, M), (0, 4095)),
        (N * M - N, (0, 4096 * 4095)),
        (N - N // 2, (1, 2048)),
        (3 * N // 4, (0, 3072)),
        (N - M * (N // M), (0, 4095)),
        (maximum(N, M) - M, (0, 4095)),
        (7, (7, 7)),
        (E, (0, 16)),
    ],
)
def test_bounds(size, expected):
    assert bounds(size) == expected


@pytest.mark.parametrize(
    "make",
    [lambda: N // 0, lambda: N % -2, lambda: 7 // E, lambda: N % E, lambda: N // (N - 1), lambda: 0 // E],
)
def test_divisors_are_positive(make):
    with pytest.raises(GraphError, match="at least 1"):
        make()


@pytest.mark.parametrize("other", [True, 1.0, "1", None, [1]])
def test_operands_are_sizes(other):
    for make in (lambda: N + other, lambda: other - N, lambda: N // other, lambda: other % (N + 1), lambda: other > N):
        with pytest.raises(TypeError):
            make()
    with pytest.raises(GraphError, match="expected a size"):
        minimum(N, other)


def test_order_in_python_is_answered_only_when_it_is_known():
    assert N >= 1 and N <= 4096 and N < N + 1 and N + M > M and not N < 1 and not N > 4096
    with pytest.raises(GraphError, match=r"N < 5 depends on the sizes"):
        bool(N < 5)
    with pytest.raises(GraphError, match="N >= M"):
        bool(N >= M)


def test_minimum_needs_an_argument():
    with pytest.raises(GraphError, match="at least one"):
        minimum()


def test_product_of_long_sums_is_refused():
    long = dims.total(Dim(f"x{i}") for i in range(1000))
    with pytest.raises(GraphError, match="1000"):
        long * long


class TestLarge:
    def test_adding_one_five_thousand_times(self):
        size = N
        for _ in range(5000):
            size = size + 1
        assert str(size) == "N + 5000"

    def test_two_thousand_dims(self):
        many = [Dim(f"x{i}") for i in range(2000)]
        size = 0
        for dim in many:
            size = size + dim
        assert size == dims.total(reversed(many))
        assert bounds(size) == (2000, 2000 * 4096)
        names = {dim.name: dim for dim in many}
        assert dims.parse_size(str(size), names) == size
        assert dims.compile_sizes([size, size // 7], list(names))([2] * 2000) == (4000, 4000 // 7)
        assert dims.evaluate(size, dict.fromkeys(names, 3)) == 6000
        assert len(dims.symbols(size)) == 2000

    def test_deep_nesting(self):
        size = N
        values = [5]
        for i in range(2500):
            size = maximum(size + M, 2 * N) if i % 2 else (3 * size + M) // (M + 2)
            values.append(max(values[-1] + 3, 10) if i % 2 else (3 * values[-1] + 3) // 5)
        assert dims.evaluate(size, {"N": 5, "M": 3}) == values[-1]
        assert dims.compile_sizes([size], ["M", "N"])([3, 5]) == (values[-1],)
        again = pickle.loads(pickle.dumps(size))
        assert again == size and hash(again) == hash(size) and again is not size
        assert dims.parse_size(str(size), {"N": N, "M": M}) == size
        assert dims.equal(size, size + 1) is False
        assert dims.symbols(size) == (M, N)

    def test_text_that_would_explode(self):
        size = N
        for i in range(60):
            size = maximum(2 * size - i, 3 * size // (M + i) + K)
        assert len(str(size)) < 10**6 and "<size " in str(size)
        with pytest.raises(GraphError, match="expected"):
            dims.parse_size(str(size), {"N": N, "M": M, "K": K})
        with pytest.raises(GraphError, match="too long"):
            dims.to_c(size)
        assert dims.evaluate(size, {"N": 1, "M": 1, "K": 1}) == dims.compile_sizes([size], ["K", "M", "N"])([1, 1, 1])[0]


@pytest.mark.parametrize("size", [N, N + M, (N + 3) // 4 * M, minimum(N, M // 2, 64) % 7])
def test_pickle_and_copies(size):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(size, protocol))
        assert again == size and hash(again) == hash(size) and str(again) == str(size)
        assert again - size == 0
    assert copy.copy(size) is size and copy.deepcopy([size])[0] is size


def test_texts_do_not_depend_on_the_hash_seed():
    program = (
        "from tjcore.dims import *\n"
        "d = [Dim(c) for c in 'NMKHW']\n"
        "s = sum(a * b // (a + 3) for a in d for b in d) + minimum(*d) + maximum(*(a % (b + 1) for a in d for b in d if a != b))\n"
        "print(s, bounds(s), to_c(s), symbols(s), equal(s, s * 2), [str(x) for x in (s // 7, s % d[0])])\n"
    )
    root = str(Path(tjcore.__file__).parents[1])
    texts = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONPATH": root, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1 and "min(" in texts.pop()


class TestEvaluate:
    def test_missing(self):
        with pytest.raises(CallError, match=r"no size given for M; known are N"):
            dims.evaluate(N + M, {"N": 1})

    def test_numpy_sizes_do_not_overflow(self):
        assert dims.evaluate(N**8, {"N": np.int64(4096)}) == 4096**8

    def test_zero_divisor_outside_the_bounds(self):
        with pytest.raises(CallError, match="divisor is 0"):
            dims.evaluate(7 // N, {"N": 0})

    def test_compiled(self):
        function = dims.compile_sizes([N, 3, N * M, N * M // 5, minimum(N, M), -N - 1], ["M", "N", "K"])
        assert function((2, 7, 0)) == (7, 3, 14, 2, 2, -8)
        assert dims.compile_sizes([], [])(()) == ()
        assert dims.compile_sizes([4], [])(()) == (4,)
        assert dims.compile_sizes([N], ["N"])([9]) == (9,)

    def test_compiled_order(self):
        with pytest.raises(GraphError, match=r"no position given for the dim 'M'; the order names N"):
            dims.compile_sizes([N + M], ["N"])
        with pytest.raises(GraphError, match="different names"):
            dims.compile_sizes([N], ["N", "N"])
        with pytest.raises(ValueError):
            dims.compile_sizes([N], ["N"])((1, 2))


def test_collect_dims():
    assert dims.collect_dims([(N, 3), (), (M + K // 2, N)]) == {"N": N, "K": K, "M": M}
    assert list(dims.collect_dims([(M, N), (K,)])) == ["M", "N", "K"]
    with pytest.raises(GraphError, match=r"'N' is declared twice, as Dim\('N', 1, 4096\) and as Dim\('N', 1, 8\)"):
        dims.collect_dims([(N,), (Dim("N", 1, 8) + 1,)])
    with pytest.raises(GraphError, match="declared twice"):
        dims.collect_dims([(N + Dim("N", 1, 8),)])


@pytest.mark.parametrize(
    "text",
    [
        *("", "N +", "N $ 2", "min(N", "(N", "N)", "Q", "N,M", "N//0", "N//E", "5//0", "5 % (0-1)", "N**M", "N 3", "2N", "()", "min()"),
        *("N/2", "a.b", "N**65", "N**-1", "(N, M)", "f(N)", "N.upper", "__import__('os')", "N if M else 2", "1e9", "0x10", "N == M"),
        *("9" * 5000, "min(N,)", "(" * 5000),
    ],
)
def test_text_that_is_no_size(text):
    with pytest.raises(GraphError):
        dims.parse_size(text, {"N": N, "M": M, "E": E})


def test_text_that_is_a_size():
    names = {"N": N, "M": M, "min": Dim("min"), "ß": Dim("ß")}
    for text, size in [
        ("  N+M ", N + M),
        ("-N//4", -N // 4),
        ("-N**2", -(N**2)),
        ("2**3**2", 512),
        ("N - M - 1", N - M - 1),
        ("N//2*2", N // 2 * 2),
        ("N*2//3", N * 2 // 3),
        ("- - N", N),
        ("min(N, max(M, 3), 64)", minimum(N, maximum(M, 3), 64)),
        ("min + min (min, 3)", Dim("min") + minimum(Dim("min"), 3)),
        ("ß % 3", Dim("ß") % 3),
        ("(" * 5000 + "N" + ")" * 5000, N),
    ]:
        assert dims.parse_size(text, names) == size, text
    with pytest.raises(GraphError, match="expected a str"):
        dims.parse_size(3, names)
