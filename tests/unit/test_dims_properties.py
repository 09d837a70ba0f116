"""Symbolic results against brute force: every size of every dim within small bounds.

A recipe is a tree that two independent readers turn into a number: one with Python's ints, one through the sizes under test.
"""

import itertools
import shutil
import subprocess
from functools import reduce

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tjcore import dims
from tjcore.dims import Dim
from tjcore.errors import GraphError

A, B, C = Dim("A", 1, 4), Dim("B", 0, 3), Dim("C", 2, 5)
ALL = {"A": A, "B": B, "C": C}
POINTS = [dict(zip("ABC", sizes, strict=True)) for sizes in itertools.product(range(1, 5), range(4), range(2, 6))]
DIVISORS = ["A", "C", 1, 2, 3, 4, 6, ("+", "A", "B"), ("*", 2, "C"), ("*", "A", "C"), ("+", ("*", 2, "B"), 1), ("max", "B", 2)]

QUICK = settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow], derandomize=True)

leaves = st.sampled_from(["A", "B", "C"]) | st.integers(-9, 9)


def grown(inner):
    return (
        st.tuples(st.sampled_from(["+", "-", "+", "-", "*", "min", "max"]), inner, inner)
        | st.tuples(st.sampled_from(["//", "%"]), inner, st.sampled_from(DIVISORS))
        | st.tuples(st.just("neg"), inner)
    )


recipes = st.recursive(leaves, grown, max_leaves=9)

OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "neg": lambda a: -a,
}


def read(recipe, names, least, greatest):
    """The value of a recipe, with names and extremes as given."""
    if isinstance(recipe, str):
        return names[recipe]
    if isinstance(recipe, int):
        return recipe
    sign, *parts = recipe
    operation = {"min": least, "max": greatest}.get(sign) or OPERATIONS[sign]
    return operation(*(read(part, names, least, greatest) for part in parts))


def symbolic(recipe):
    return read(recipe, ALL, dims.minimum, dims.maximum)


def numbers(recipe):
    return [read(recipe, point, min, max) for point in POINTS]


@QUICK
@given(recipes)
def test_values_bounds_and_text(recipe):
    size, expected = symbolic(recipe), numbers(recipe)
    assert [dims.evaluate(size, point) for point in POINTS] == expected
    function = dims.compile_sizes([size, size + 1], ["C", "A", "B"])
    assert [function((p["C"], p["A"], p["B"])) for p in POINTS] == [(value, value + 1) for value in expected]
    low, high = dims.bounds(size)
    assert low <= min(expected) and max(expected) <= high
    assert isinstance(size, int) or str(size) == str(symbolic(recipe))
    again = dims.parse_size(str(size), ALL)
    assert again == size and type(again) is type(size) and str(again) == str(size)
    # The text means in Python what it means here.
    scope = {"min": min, "max": max}
    assert [eval(str(size), scope, dict(point)) for point in POINTS] == expected
    assert set(dims.symbols(size)) <= set(ALL.values())


def check_answer(answer, facts):
    """Facts are what is true at the points; an answer has to hold at all of them."""
    if answer is not None:
        assert set(facts) <= {answer}


@pytest.fixture(params=[True, False], ids=["tried out", "rules only"])
def enumeration(request, monkeypatch):
    """The rules have to be right on their own, too."""
    if not request.param:
        monkeypatch.setattr("tjcore.dims.proofs._ENUMERATED", 0)
    return request.param


declared = st.tuples(st.sampled_from(["le", "lt", "eq", "multiple"]), recipes, recipes | st.sampled_from(DIVISORS))


def declare(kind, left, right):
    make = {"le": dims.le, "lt": dims.lt, "eq": dims.eq, "multiple": dims.multiple_of}[kind]
    return make(symbolic(left), symbolic(right))


@settings(QUICK, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], max_examples=150)
@given(recipes, recipes, st.sampled_from(DIVISORS), st.lists(declared, min_size=1, max_size=3))
def test_answers_under_constraints_are_never_wrong(enumeration, first, second, divisor, declarations):
    constraints = []
    for kind, left, right in declarations:
        try:
            constraints.append(declare(kind, left, right))
        except GraphError:
            continue  # refused: never true, or no divisor
    kept = [point for point in POINTS if all(one.holds(point) for one in constraints)]
    a, b, k = symbolic(first), symbolic(second), symbolic(divisor)

    def at(recipe, point):
        return read(recipe, point, min, max)

    try:
        answers = dims.equal(a, b, constraints), dims.at_most(a, b, constraints), dims.divides(k, a, constraints)
    except GraphError as error:
        assert "cannot all hold" in str(error) and not kept
        return
    check_answer(answers[0], [at(first, p) == at(second, p) for p in kept])
    check_answer(answers[1], [at(first, p) <= at(second, p) for p in kept])
    check_answer(answers[2], [at(first, p) % at(divisor, p) == 0 for p in kept])


@settings(QUICK, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(recipes, recipes, st.sampled_from(DIVISORS))
def test_answers_are_never_wrong(enumeration, first, second, divisor):
    a, b, k = symbolic(first), symbolic(second), symbolic(divisor)
    left, right, ks = numbers(first), numbers(second), numbers(divisor)
    check_answer(dims.equal(a, b), [x == y for x, y in zip(left, right, strict=True)])
    check_answer(dims.at_most(a, b), [x <= y for x, y in zip(left, right, strict=True)])
    check_answer(dims.divides(k, a), [x % y == 0 for x, y in zip(left, ks, strict=True)])
    if enumeration:
        # With 64 combinations every answer is known.
        assert dims.equal(a, b) is (left == right or (None if any(x == y for x, y in zip(left, right, strict=True)) else False))


@QUICK
@given(recipes)
def test_what_is_the_same_size_is_found_equal(recipe):
    """a - a is 0 whatever a is, and adding and taking away gives the very same value back."""
    size = symbolic(recipe)
    assert size - size == 0
    assert (size + C * 7) - C * 7 == size
    assert (3 * size) // 3 == size
    assert (size * C) // C == size
    assert (size + C * 5) // C == size // C + 5
    assert size % 6 == size - 6 * (size // 6)
    assert dims.equal(size // 2 + (size + 1) // 2, size) is True


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_c_text_has_the_same_values(tmp_path):
    """One program with many sizes, built and run once."""
    found: dict[str, list[int]] = {}

    def keep(recipe):
        found[dims.to_c(symbolic(recipe), lambda dim: f"{dim.name}_")] = numbers(recipe)

    for divisor in DIVISORS:
        for num in (("-", "A", "C"), ("-", ("*", "B", "B"), ("*", 3, "A")), ("+", "B", "C"), ("min", "B", ("-", 1, "C"))):
            keep(("//", num, divisor))
            keep(("*", 3, ("%", num, divisor)))

    @settings(QUICK, max_examples=150, database=None)
    @given(recipes)
    def gather(recipe):
        keep(recipe)

    gather()
    assert len(found) > 100 and all(any(name in text for text in found) for name in ("tj_floordiv", "tj_floormod", "tj_min", " / ", " % "))
    rows = "\n".join(f'printf("%lld\\n", (long long)(int64_t)({text}));' for text in found)
    body = (
        "#include <stdint.h>\n#include <stdio.h>\n"
        + dims.C_HELPERS
        + "static void at(int64_t A_, int64_t B_, int64_t C_) {\n(void)A_; (void)B_; (void)C_;\n"
        f"{rows}\n}}\nint main(void) {{\n" + "\n".join(f"at({p['A']}, {p['B']}, {p['C']});" for p in POINTS) + "\nreturn 0; }\n"
    )
    (tmp_path / "sizes.c").write_text(body)
    flags = ["-std=c11", "-O1", "-Wall", "-Wno-parentheses", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run(["gcc", *flags, "sizes.c", "-o", "sizes"], cwd=tmp_path, check=True)
    lines = subprocess.run([str(tmp_path / "sizes")], check=True, capture_output=True, text=True).stdout.split()
    expected = [str(values[i]) for i in range(len(POINTS)) for values in found.values()]
    assert lines == expected


def test_c_text():
    n, m = Dim("N"), Dim("M")
    assert dims.to_c(5) == "5"
    assert dims.to_c(n, lambda dim: f"dims[{dim.lower}]") == "dims[1]"
    assert dims.to_c((n + 3) // 4 * 64) == "64*((N + 3) / 4)"
    assert (
        dims.to_c((n - m) // 4 + n % 8) == "tj_floordiv(N - M, 4) + N % 8"
        or dims.to_c((n - m) // 4 + n % 8) == "N % 8 + tj_floordiv(N - M, 4)"
    )
    assert dims.to_c((n - m) % 4) == "tj_floormod(N - M, 4)"
    assert dims.to_c(dims.minimum(n, m, 3) * n**2) == "N*N*tj_min(tj_min(M, N), 3)"
    with pytest.raises(GraphError, match="64 bits"):
        dims.to_c(n + 2**63)


def test_readers_of_recipes_differ_from_the_sizes():
    """The brute force of this file is not the thing under test."""
    recipe = ("min", ("//", ("neg", "A"), 2), ("%", "B", "C"))
    assert numbers(recipe)[:2] == [reduce(min, (-1 // 2, 0 % 2)), reduce(min, (-1 // 2, 0 % 3))]
