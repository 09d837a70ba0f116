"""One plan for all sizes: no overlap at any size, an arena close to the least, formulas that say what is computed."""

import itertools
import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tjcore.errors import PlanError
from tjcore.memory import Allocation, SymbolicBuffer, SymbolicPlan, Temporary, plan_memory, plan_symbolic, verify_plan, verify_symbolic
from tjcore.memory.orient import directly_below
from tjcore.memory.symbolic import sample_points

BOUNDS = {"M": (0, 40), "N": (1, 60)}


@dataclass(frozen=True)
class Product:
    """`factor` times a product of dims, plus `constant`."""

    factor: int
    dims: tuple[str, ...] = ()
    constant: int = 0

    def evaluate(self, bindings: Mapping[str, int]) -> int:
        return self.factor * math.prod(bindings[d] for d in self.dims) + self.constant

    def bounds(self) -> tuple[int, int]:
        low, high = (self.evaluate({name: pair[k] for name, pair in BOUNDS.items()}) for k in (0, 1))
        return low, high

    def __str__(self) -> str:
        text = "*".join([str(self.factor), *self.dims])
        return f"{text} + {self.constant}" if self.constant else text


sizes_strategy = st.one_of(
    st.integers(0, 3000),
    st.builds(Product, st.integers(1, 40), st.sampled_from([("N",), ("M",), ("N", "M"), ("N", "N")]), st.integers(0, 100)),
)
buffers_strategy = st.lists(st.tuples(sizes_strategy, st.integers(0, 8), st.integers(0, 4)), max_size=12).map(
    lambda rows: [SymbolicBuffer(f"b{i}", size, first, first + extra) for i, (size, first, extra) in enumerate(rows)]
)


def concrete(buffers: list[SymbolicBuffer], plan: SymbolicPlan, bindings: Mapping[str, int]) -> tuple[list[Temporary], list[Allocation]]:
    nbytes = [b.size if isinstance(b.size, int) else b.size.evaluate(bindings) for b in buffers]
    temporaries = [Temporary(b.name, n, b.first, b.last) for b, n in zip(buffers, nbytes, strict=True)]
    offsets = plan.offsets(bindings)
    return temporaries, [Allocation(t.name, at, -(-t.nbytes // 64) * 64) for t, at in zip(temporaries, offsets, strict=True)]


@settings(max_examples=50)
@given(buffers_strategy, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 60)), min_size=1, max_size=8))
def test_no_overlap_at_any_size(buffers: list[SymbolicBuffer], points: list[tuple[int, int]]) -> None:
    plan = plan_symbolic(buffers, BOUNDS)
    verify_symbolic(buffers, plan)
    for m, n in points:
        bindings = {"M": m, "N": n}
        temporaries, allocations = concrete(buffers, plan, bindings)
        verify_plan(temporaries, allocations)
        arena = plan.arena(bindings)
        assert arena == max((a.end for a in allocations), default=0)
        assert plan.lower_bound(bindings) <= arena <= plan.worst_case()
    assert plan.ratio == max((s.ratio for s in plan.samples), default=1.0)
    for sample in plan.samples:
        assert (sample.arena, sample.lower_bound) == (plan.arena(sample.bindings), plan.lower_bound(sample.bindings))


@settings(max_examples=50)
@given(buffers_strategy, st.integers(0, 40), st.integers(1, 60))
def test_formulas_say_what_is_computed(buffers: list[SymbolicBuffer], m: int, n: int) -> None:
    plan = plan_symbolic(buffers, BOUNDS)
    bindings = {"M": m, "N": n}
    offset_of, arena = plan.formulas()
    offsets, arena_bytes = plan.layout(bindings)
    ends = {b.name: at + size for b, at, size in zip(buffers, offsets, plan.sizes(bindings), strict=True)}

    def evaluate(formula: str) -> int:
        python = re.sub(r"end\((\w+)\)", lambda match: str(ends[match[1]]), formula)
        # The formulas' rounding is that of exact fractions.
        python = re.sub(r"64\*ceil\(\(?([^()/]*)\)?/64\)", r"(-(-(\1)//64)*64)", python)
        return int(eval(python, {"max": max, **bindings}))

    assert evaluate(arena) == arena_bytes
    assert {name: evaluate(formula) for name, formula in offset_of.items()} == {b.name: at for b, at in zip(buffers, offsets, strict=True)}


@pytest.mark.parametrize("seed", range(4))
def test_known_sizes_give_the_same_peak_as_the_concrete_plan(seed: int) -> None:
    source = random.Random(seed)
    rows = [(source.randrange(1, 5000), first := source.randrange(15), first + source.randrange(5)) for _ in range(20)]
    plan = plan_symbolic([SymbolicBuffer(f"b{i}", *row) for i, row in enumerate(rows)], {})
    _, peak = plan_memory([Temporary(f"b{i}", *row) for i, row in enumerate(rows)])
    assert plan.arena({}) <= peak


def attention_layer() -> list[SymbolicBuffer]:
    """Buffers of an attention layer over S positions: some grow with S, some with its square, so what weighs most depends on S."""
    wide, square, hidden, row = Product(2048, ("S",)), Product(32, ("S", "S")), Product(8192, ("S",)), Product(32, ("S",))
    rows = [
        (wide, 0, 3),
        (wide, 1, 4),
        (wide, 2, 4),
        (wide, 3, 7),
        (square, 4, 5),
        (square, 5, 6),
        (row, 6, 8),
        (wide, 7, 9),
        (hidden, 8, 9),
        (wide, 9, 17),
    ]
    return [SymbolicBuffer(f"b{i}", *each) for i, each in enumerate(rows)]


def test_one_order_serves_sizes_that_weigh_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BOUNDS, "S", (1, 2048))
    buffers = attention_layer()
    plan = plan_symbolic(buffers, {"S": (1, 2048)})
    verify_symbolic(buffers, plan)
    worst = max(plan.arena({"S": s}) / plan.lower_bound({"S": s}) for s in range(1, 2049))
    assert worst == 1.0


def test_brute_force_over_all_orders() -> None:
    # Of all orientations of small graphs none has a smaller worst ratio over the sampled sizes.
    source = random.Random(5)
    for _ in range(4):
        buffers = [
            SymbolicBuffer(
                f"b{i}",
                Product(source.randrange(1, 9) * 64, source.choice([("N",), ("M",), ()])),
                f := source.randrange(4),
                f + source.randrange(3),
            )
            for i in range(6)
        ]
        plan = plan_symbolic(buffers, BOUNDS)
        first, last = [b.first for b in buffers], [b.last for b in buffers]
        least = math.inf
        for order in itertools.permutations(range(6)):
            worst = 0.0
            below = directly_below(first, last, order)
            for sample in plan.samples:
                size, top = plan.sizes(sample.bindings), [0] * 6
                for i in order:
                    top[i] = max((top[u] for u in below[i]), default=0) + size[i]
                worst = max(worst, max(top) / sample.lower_bound if sample.lower_bound else 1.0)
            least = min(least, worst)
        assert plan.ratio == pytest.approx(least)


def test_same_plan_every_time() -> None:
    buffers = [
        SymbolicBuffer(f"b{i}", Product(1 + i * 37 % 11, ("N",) if i % 3 else ("M", "N")), i // 2, i // 2 + i % 4) for i in range(30)
    ]
    one, two = plan_symbolic(buffers, BOUNDS), plan_symbolic(buffers, BOUNDS)
    assert one.below == two.below
    assert [list(under) for under in one.below.values()] == [list(under) for under in two.below.values()]


def test_a_hint_is_among_the_sampled_sizes() -> None:
    assert {"M": 7, "N": 11} in sample_points(BOUNDS, {"M": 7, "N": 11})
    assert {"M": 7, "N": 8} in sample_points(BOUNDS, {"M": 7})  # the geometric middle for what the hint leaves out
    with pytest.raises(PlanError, match="names 'K', which is no dim"):
        sample_points(BOUNDS, {"K": 7})


@pytest.mark.parametrize("count", range(8))
def test_sampled_sizes_lie_within_bounds_and_hold_the_extremes(count: int) -> None:
    dims = {f"D{i}": (i % 2, 10**i) for i in range(count)}
    points = sample_points(dims)
    assert len(points) < 50
    assert len({tuple(p.values()) for p in points}) == len(points)
    assert all(low <= p[name] <= high for p in points for name, (low, high) in dims.items())
    for k in (0, 1):
        assert {name: pair[k] for name, pair in dims.items()} in points


def test_a_size_that_can_be_negative_is_refused() -> None:
    with pytest.raises(PlanError, match="can be negative"):
        SymbolicBuffer("a", Product(-4, ("N",)), 0, 1)
    with pytest.raises(PlanError, match="first <= last"):
        SymbolicBuffer("a", 4, 2, 1)
    with pytest.raises(PlanError, match="named 'a'"):
        plan_symbolic([SymbolicBuffer("a", 4, 0, 1), SymbolicBuffer("a", 8, 2, 3)], {})


def test_a_thousand_buffers_are_planned_quickly() -> None:
    source = random.Random(2)
    buffers = [
        SymbolicBuffer(f"b{i}", Product(source.randrange(1, 99), ("N",), source.randrange(999)), i, i + source.randrange(1, 12))
        for i in range(1000)
    ]
    began = perf_counter()
    plan = plan_symbolic(buffers, BOUNDS)
    assert perf_counter() - began < 10  # measured: 0.3 s
    verify_symbolic(buffers, plan)
    assert plan.ratio < 1.5
