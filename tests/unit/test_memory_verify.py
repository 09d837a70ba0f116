"""The judges of memory plans: every law, broken one at a time, is named together with the buffers concerned."""

from dataclasses import replace
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tjcore.errors import PlanError
from tjcore.memory import Allocation, SymbolicBuffer, Temporary, plan_memory, plan_symbolic, verify_plan, verify_symbolic

A = Temporary("a", 100, 0, 2)
B = Temporary("b", 64, 1, 3)
C = Temporary("c", 64, 3, 4)
GOOD = (Allocation("a", 0, 128), Allocation("b", 128, 64), Allocation("c", 0, 64))


def test_good_plan_passes() -> None:
    verify_plan([A, B, C], GOOD)


@pytest.mark.parametrize(
    ("plan", "law", "names"),
    [
        ((GOOD[0], Allocation("b", 64, 64), GOOD[2]), "disjoint", ("'a'", "'b'", "0..2", "1..3")),
        ((GOOD[0], GOOD[1], Allocation("c", 128, 64)), "disjoint", ("'b'", "'c'", "1..3", "3..4")),
        ((GOOD[0], Allocation("b", 136, 64), GOOD[2]), "alignment", ("'b'", "136")),
        ((GOOD[0], Allocation("b", -64, 64), GOOD[2]), "non-negative", ("'b'", "-64")),
        ((Allocation("a", 0, 100), GOOD[1], GOOD[2]), "size", ("'a'", "100", "128")),
        ((Allocation("a", 0, 192), GOOD[1], GOOD[2]), "size", ("'a'", "192", "128")),
        (GOOD[:2], "complete", ("'c'",)),
        ((*GOOD, Allocation("d", 512, 64)), "known", ("'d'",)),
        ((*GOOD, Allocation("c", 512, 64)), "once", ("'c'", "512")),
    ],
)
def test_broken_plan_is_named(plan: tuple[Allocation, ...], law: str, names: tuple[str, ...]) -> None:
    with pytest.raises(PlanError) as caught:
        verify_plan([A, B, C], plan)
    assert f"law '{law}'" in str(caught.value)
    for name in names:
        assert name in str(caught.value)


def test_buffers_that_meet_in_one_kernel_conflict() -> None:
    # b's last reader is c's producer: both are live in kernel 3.
    with pytest.raises(PlanError, match="disjoint"):
        verify_plan([B, C], [Allocation("b", 0, 64), Allocation("c", 0, 64)])


def test_empty_buffer_may_lie_anywhere() -> None:
    verify_plan([A, Temporary("e", 0, 0, 9)], [GOOD[0], Allocation("e", 64, 0)])


def test_sizes_beyond_64_bits() -> None:
    huge = 2**70
    temporaries = [Temporary("a", huge, 0, 1), Temporary("b", 64, 0, 1)]
    allocations, peak = plan_memory(temporaries)
    assert peak == huge + 64
    verify_plan(temporaries, allocations)
    with pytest.raises(PlanError, match="disjoint"):
        verify_plan(temporaries, [Allocation("a", 0, huge), Allocation("b", huge - 64, 64)])


temporaries_strategy = st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 12), st.integers(0, 5)), min_size=2, max_size=14).map(
    lambda rows: [Temporary(f"t{i}", size, first, first + extra) for i, (size, first, extra) in enumerate(rows)]
)


@given(temporaries_strategy, st.data())
def test_moved_allocation_is_caught_exactly_when_it_overlaps(temporaries: list[Temporary], data: st.DataObject) -> None:
    allocations = list(plan_memory(temporaries)[0])
    i = data.draw(st.integers(0, len(temporaries) - 1))
    offset = 64 * data.draw(st.integers(0, 100))
    allocations[i] = replace(allocations[i], offset=offset)
    one = temporaries[i]
    overlaps = any(
        j != i and t.first <= one.last and one.first <= t.last and a.offset < allocations[i].end and offset < a.end
        for j, (t, a) in enumerate(zip(temporaries, allocations, strict=True))
    )
    if overlaps:
        with pytest.raises(PlanError, match="disjoint"):
            verify_plan(temporaries, allocations)
    else:
        verify_plan(temporaries, allocations)


def test_ten_thousand_buffers_are_judged_in_seconds() -> None:
    temporaries = [Temporary(f"t{i}", 64 + i % 7 * 64, i, i + i % 11) for i in range(10_000)]
    allocations = [Allocation(t.name, i * 512, t.nbytes) for i, t in enumerate(temporaries)]
    began = perf_counter()
    verify_plan(temporaries, allocations)
    assert perf_counter() - began < 20  # measured: 0.2 s


class Orientation:
    def __init__(self, **below: tuple[str, ...]) -> None:
        self.below = below


BUFFERS = [SymbolicBuffer("a", 64, 0, 2), SymbolicBuffer("b", 64, 1, 3), SymbolicBuffer("c", 64, 2, 4)]


def test_orders_through_others_count() -> None:
    verify_symbolic(BUFFERS, Orientation(a=(), b=("a",), c=("b",)))


@pytest.mark.parametrize(
    ("plan", "law", "names"),
    [
        (Orientation(a=(), b=("a",), c=("a",)), "ordered", ("'b'", "'c'", "1..3", "2..4")),
        (Orientation(a=("c",), b=("a",), c=("b",)), "acyclic", ("'a'", "'b'", "'c'")),
        (Orientation(a=("a",), b=("a",), c=("b",)), "acyclic", ("'a'",)),
        (Orientation(a=(), b=("a",)), "complete", ("'c'",)),
        (Orientation(a=(), b=("a",), c=("b", "x")), "known", ("'x'",)),
    ],
)
def test_broken_orientation_is_named(plan: Orientation, law: str, names: tuple[str, ...]) -> None:
    with pytest.raises(PlanError) as caught:
        verify_symbolic(BUFFERS, plan)
    assert f"law '{law}'" in str(caught.value)
    for name in names:
        assert name in str(caught.value)


@given(temporaries_strategy, st.data())
def test_every_pair_the_planner_says_is_needed(temporaries: list[Temporary], data: st.DataObject) -> None:
    # The planner lists no pair that others imply, so dropping any one leaves two live buffers unordered.
    buffers = [SymbolicBuffer(t.name, t.nbytes, t.first, t.last) for t in temporaries]
    plan = plan_symbolic(buffers, {})
    verify_symbolic(buffers, plan)
    pairs = [(name, under) for name, below in plan.below.items() for under in below]
    if pairs:
        name, under = data.draw(st.sampled_from(pairs))
        cut = Orientation(**{**plan.below, name: tuple(u for u in plan.below[name] if u != under)})
        with pytest.raises(PlanError, match="ordered"):
            verify_symbolic(buffers, cut)
