"""What is proved about sizes, what is left open, and constraints."""

import pytest

from tjcore import dims
from tjcore.dims import Dim, at_most, divides, eq, equal, le, lt, maximum, minimum, multiple_of
from tjcore.errors import CallError, GraphError

N, M, K, H = Dim("N"), Dim("M"), Dim("K"), Dim("H")
E = Dim("E", 0, 4096)
ONE = Dim("ONE", 1, 1)


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        (3, 3, True),
        (3, 4, False),
        (N, N, True),
        (N, M, None),
        (N, N + 1, False),
        (N, 0, False),
        (N, 4096, None),
        (N, 4097, False),
        (ONE * N, N, True),
        (2 * N, 2 * M + 1, False),
        (4 * N + 6 * M, 3, False),
        (3 * N // 2, N + N // 2, True),
        (3 * N // 4, N - (N + 3) // 4, True),
        (-N // 4, -((N + 3) // 4), True),
        (N - N // 2, (N + 1) // 2, True),
        (N // 3 + (N + 1) // 3 + (N + 2) // 3, N, True),
        (sum((N + M + j) // 8 for j in range(8)), N + M, True),
        (N // 3 + (N + 2) // 3, N, None),
        (minimum(N, M) + maximum(N, M), N + M, True),
        (maximum(N - M, 0), N - minimum(N, M), True),
        (minimum(2 * N, 2 * M), 2 * minimum(N, M), True),
        (maximum(N, M, K), -minimum(-N, -M, -K), True),
        (N % 8 + N // 8 * 8, N, True),
        (N % M, M, False),
        ((N + 2 - 3) // 2 + 1, (N + 1) // 2, True),
    ],
)
def test_equal(a, b, answer):
    assert equal(a, b) is answer and equal(b, a) is answer


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        (3, 3, True),
        (4, 3, False),
        (1, N, True),
        (N, 4096, True),
        (N, 4095, None),
        (N + 1, N, False),
        (N, N * M, True),
        (N, N * E, None),
        (N % 8, 7, True),
        (N % M, M - 1, True),
        (M, N % M, False),
        (N // M * M, N, True),
        (minimum(N, M), N, True),
        (N, maximum(N, M), True),
        (N - minimum(N, 64), N - 1, True),
        ((N + 63) // 64 * 64, N + 63, True),
        (N, (N + 63) // 64 * 64, True),
        ((N - 1) // 2 + 1, N, True),
        (N + M, N * M + 1, True),
    ],
)
def test_at_most(a, b, answer):
    assert at_most(a, b) is answer


@pytest.mark.parametrize(
    ("k", "a", "answer"),
    [
        (4, 8, True),
        (4, 9, False),
        (4, 4 * N, True),
        (4, 4 * N + 2, False),
        (6, 4 * N + 3, False),
        (4, N, None),
        (1, N // 3, True),
        (N, N * M, True),
        (N, M, None),
        (N + M, N * N - M * M, True),
        (64, (N + 63) // 64 * 64, True),
        (2, N * N + N, None),
    ],
)
def test_divides(k, a, answer):
    assert divides(k, a) is answer


def test_divides_needs_a_divisor():
    with pytest.raises(GraphError, match=r"divides\(E, N\).*it can be 0"):
        divides(E, N)


def test_few_sizes_are_tried_out():
    small = Dim("small", 0, 15)
    assert divides(2, small * small + small) is True
    assert equal(small * small, 50) is False
    assert at_most(small * small, 3 * small) is None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (lambda: equal(N // 8 * 8, N, [multiple_of(N, 8)]), True),
        (lambda: equal(N % 4, 0, [multiple_of(N, 8)]), True),
        (lambda: equal(N % 16, 0, [multiple_of(N, 8)]), None),
        (lambda: equal(N, 5, [multiple_of(N, 8)]), False),
        (lambda: divides(8, N * M, [multiple_of(N, 8)]), True),
        (lambda: divides(24, N, [multiple_of(N, 8), multiple_of(N, 12)]), True),
        (lambda: divides(48, N, [multiple_of(N, 8), multiple_of(N, 12)]), None),
        (lambda: divides(4, N + 2, [multiple_of(N, 4)]), False),
        (lambda: divides(M, N, [multiple_of(N, M)]), True),
        (lambda: equal((N + M) // 4 * 4, N + M, [multiple_of(N + M, 4)]), True),
        (lambda: at_most(8, N, [multiple_of(N, 8)]), True),
        (lambda: equal(N, M, [eq(N, M)]), True),
        (lambda: equal(N * K // 3, M * K // 3, [eq(N, M)]), True),
        (lambda: equal(N, K, [eq(N, M), eq(M, K)]), True),
        (lambda: equal(N, 2 * M, [eq(N, 2 * M)]), True),
        (lambda: divides(2, N, [eq(N, 2 * M)]), True),
        (lambda: equal(H, N + M, [eq(H - N, M)]), True),
        (lambda: equal(N * M, K * H, [eq(N * M, K * H)]), True),
        (lambda: equal(N, M, [eq(N, M + 1)]), False),
        (lambda: at_most(N, M, [le(N, M)]), True),
        (lambda: at_most(N, M, [lt(N, M)]), True),
        (lambda: at_most(M, N, [lt(N, M)]), False),
        (lambda: at_most(M, N, [le(N, M)]), None),
        (lambda: at_most(N, K, [le(N, M), le(M, K)]), True),
        (lambda: at_most(N * K, M * K, [le(N, M)]), True),
        (lambda: at_most(N // 4, 64, [le(N, 256)]), True),
        (lambda: at_most(N // 4, 63, [le(N, 256)]), None),
        (lambda: equal(minimum(N, M), N, [le(N, M)]), True),
        (lambda: equal(maximum(N, M) // 2, M // 2, [le(N, M)]), True),
        (lambda: equal(N, M, [le(N, M), le(M, N)]), True),
        (lambda: equal(N, M, [lt(N, M)]), False),
    ],
)
def test_constraints_in_proofs(question, answer):
    assert question() is answer


def test_constraints_that_contradict_each_other():
    with pytest.raises(GraphError, match="cannot all hold: N would have to be at least 9 and at most 8"):
        at_most(N, M, [le(N, 8), le(9, N)])
    short = Dim("S", 1, 7)
    longer = Dim("S", 1, 10)
    with pytest.raises(GraphError, match=r"cannot all hold: S has no multiple of 8 within 1\.\.7"):
        equal(longer, M, [multiple_of(longer, 8), le(longer, 7)])
    with pytest.raises(GraphError, match=r"can never hold: the declared bounds keep S within 1\.\.7"):
        multiple_of(short, 8)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: le(N + 4096, M), r"N \+ 4096 <= M can never hold within the declared bounds: N \+ 4096 is within"),
        (lambda: lt(N, N), r"N \+ 1 <= N can never hold"),
        (lambda: eq(N, 0), "N == 0 can never hold within the declared bounds: N is within 1..4096"),
        (lambda: multiple_of(5, 2), r"multiple_of\(5, 2\) can never hold"),
        (lambda: multiple_of(N, 0), "at least 1"),
        (lambda: multiple_of(N, E), "at least 1"),
        (lambda: le(N, "M"), "expected a size"),
        (lambda: multiple_of(N, 2.0), "expected a size"),
    ],
)
def test_constraints_refused(make, text):
    with pytest.raises(GraphError, match=text):
        make()


def test_constraint_values():
    assert multiple_of(N, 8) == multiple_of(Dim("N"), 8) != multiple_of(N, 4)
    assert len({le(N, M), le(N, M), eq(N, M)}) == 2
    assert [str(one) for one in (multiple_of(N, 8), multiple_of(N + 1, M), le(N, M), lt(N, 2 * M), eq(N, M))] == [
        "N % 8 == 0",
        "(N + 1) % M == 0",
        "N <= M",
        "N + 1 <= 2*M",
        "N == M",
    ]
    assert multiple_of(N + M, 8).dims == (M, N)


def test_constraint_checked():
    multiple_of(N, 8).check({"N": 16})
    with pytest.raises(
        CallError, match=r"^N = 12: the declared constraint N % 8 == 0 does not hold, N % 8 is 4; declared are Dim\('N', 1, 4096\)$"
    ):
        multiple_of(N, 8).check({"N": 12})
    with pytest.raises(ValueError, match=r"^M = 3, N = 12: .* N <= 2\*M does not hold, it would say 12 <= 6;"):
        le(N, 2 * M).check({"N": 12, "M": 3})
    with pytest.raises(ValueError, match=r"it would say 12 == 3"):
        eq(N, M).check({"N": 12, "M": 3})


class TestBindings:
    def test_kept(self):
        assert dims.check_bindings([N, E], {"N": 3, "E": 0}, [le(E, N)]) == {"N": 3, "E": 0}

    @pytest.mark.parametrize(
        ("bindings", "text"),
        [
            ({"N": 1}, r"no size is given for Dim\('E', 0, 4096\)"),
            ({"N": 1, "E": 1, "Q": 1}, "no dim is named Q; the dims are E, N"),
            ({"N": 0, "E": 1}, r"N = 0: expected a size within 1..4096, as declared by Dim\('N', 1, 4096\)"),
            ({"N": 4097, "E": 1}, "N = 4097"),
            ({"N": True, "E": 1}, "N = True: expected an int within 1..4096, got bool"),
            ({"N": 1.0, "E": 1}, "got float"),
            ({"N": 1, "E": 2}, "E = 2, N = 1: the declared constraint E <= N does not hold"),
        ],
    )
    def test_refused(self, bindings, text):
        with pytest.raises(CallError, match=text):
            dims.check_bindings([N, E], bindings, [le(E, N)])
