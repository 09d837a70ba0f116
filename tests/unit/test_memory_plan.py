"""Plans for known sizes: correct for any input, least where that can be checked by brute force, and the same every time."""

import csv
import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tjcore.errors import PlanError
from tjcore.memory import ALIGNMENT, Temporary, plan_memory, verify_plan
from tjcore.memory.csvfile import read_temporaries, write_temporaries
from tjcore.memory.problem import Rectangles, lower_bound
from tjcore.memory.search import Outcome, search
from tjcore.memory.sections import compress
from tjcore.memory.solver import pack


def least_height(problem: Rectangles) -> int:
    """By brute force: some order, each buffer as low as it can be on top of the live ones before it, gives the least height."""
    everything = range(len(problem))
    meets = [[problem.start[i] < problem.stop[j] and problem.start[j] < problem.stop[i] for j in everything] for i in everything]
    best = sum(problem.size)
    for order in itertools.permutations(everything):
        top = [0] * len(problem)
        for i in order:
            top[i] = max((top[j] for j in everything if meets[i][j]), default=0) + problem.size[i]
        best = min(best, max(top))
    return best


def perfect_rectangles(count: int, seed: int, width: int = 200, height: int = 512) -> Rectangles:
    """A full rectangle cut into pieces at random, so that the least height is known to be `height`."""
    source = random.Random(seed)
    pieces = [(0, width, 0, height)]
    while len(pieces) < count:
        left, right, low, high = pieces.pop(source.randrange(len(pieces)))
        if source.random() < 0.5 and right - left > 1:
            cut = source.randrange(left + 1, right)
            pieces += [(left, cut, low, high), (cut, right, low, high)]
        elif high - low > 1:
            cut = source.randrange(low + 1, high)
            pieces += [(left, right, low, cut), (left, right, cut, high)]
        else:
            pieces.append((left, right, low, high))
    source.shuffle(pieces)
    return Rectangles(tuple(p[0] for p in pieces), tuple(p[1] for p in pieces), tuple(p[3] - p[2] for p in pieces))


buffers_strategy = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 15), st.integers(0, 6)), max_size=25).map(
    lambda rows: [Temporary(f"t{i}", size, first, first + extra) for i, (size, first, extra) in enumerate(rows)]
)
tiny_strategy = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4), st.integers(1, 9)), min_size=1, max_size=6).map(
    lambda rows: Rectangles(tuple(r[0] for r in rows), tuple(r[0] + r[1] for r in rows), tuple(r[2] for r in rows))
)


@given(buffers_strategy)
def test_plans_pass_the_judge(temporaries: list[Temporary]) -> None:
    allocations, peak = plan_memory(temporaries)
    verify_plan(temporaries, allocations)
    assert [a.name for a in allocations] == [t.name for t in temporaries]
    assert peak == max((a.end for a in allocations), default=0)
    assert peak % ALIGNMENT == 0
    rounded = [-(-t.nbytes // 64) * 64 for t in temporaries]
    assert peak >= lower_bound([t.first for t in temporaries], [t.last + 1 for t in temporaries], rounded)
    assert plan_memory(temporaries) == (allocations, peak)


@settings(max_examples=60)
@given(tiny_strategy)
def test_least_height_matches_brute_force(problem: Rectangles) -> None:
    least = least_height(problem)
    packing = pack(problem)
    assert packing.height == least
    assert packing.optimal
    instance = compress(problem)
    below = search(instance, least // instance.unit - 1, 1_000_000)
    assert below.outcome is Outcome.IMPOSSIBLE


def test_an_optimum_above_the_lower_bound_is_proved() -> None:
    # At most 5 bytes are live at once, yet no placement takes fewer than 6.
    rows = [(1, 5, 1), (3, 6, 3), (5, 6, 2), (2, 5, 1), (0, 2, 3), (1, 3, 1), (0, 1, 2)]
    problem = Rectangles(tuple(r[0] for r in rows), tuple(r[1] for r in rows), tuple(r[2] for r in rows))
    packing = pack(problem)
    assert (packing.lower_bound, packing.height, packing.optimal) == (5, 6, True)
    assert least_height(problem) == 6


@pytest.mark.parametrize("seed", range(6))
def test_perfect_packings_are_found(seed: int) -> None:
    problem = perfect_rectangles(60, seed)
    packing = pack(problem, effort=2_000_000)
    assert (packing.height, packing.optimal) == (512, True)
    for i in range(60):
        for j in range(i):
            together = problem.start[i] < problem.stop[j] and problem.start[j] < problem.stop[i]
            low = max(packing.offset[i], packing.offset[j])
            assert not together or low >= min(packing.offset[i] + problem.size[i], packing.offset[j] + problem.size[j])


def test_budget_bounds_the_steps() -> None:
    instance = compress(perfect_rectangles(150, 0))
    short = search(instance, 512, 20_000)
    assert short.outcome is Outcome.EXHAUSTED
    assert 20_000 < short.steps < 30_000
    enough = search(instance, 512, 2_000_000)
    assert enough.outcome is Outcome.FOUND
    assert enough == search(instance, 512, enough.steps)


def test_six_hundred_buffers_of_unlike_sizes_stay_near_the_bound() -> None:
    rng = np.random.default_rng(17)
    first = np.sort(rng.integers(0, 400, 600))
    temporaries = [
        Temporary(f"t{i}", int(size), int(f), int(f + extra))
        for i, (f, extra, size) in enumerate(zip(first, rng.integers(1, 40, 600), rng.integers(1, 2000, 600) * 64, strict=True))
    ]
    allocations, peak = plan_memory(temporaries)
    verify_plan(temporaries, allocations)
    assert peak <= 1.5 * lower_bound([t.first for t in temporaries], [t.last + 1 for t in temporaries], [t.nbytes for t in temporaries])


def test_branches_one_after_another_share_their_memory() -> None:
    # Fifty temporaries that never live together need the room of one, beside the small results that are kept.
    big = [Temporary(f"big{i}", 1 << 20, 2 * i, 2 * i + 1) for i in range(50)]
    small = [Temporary(f"small{i}", 1024, 2 * i + 1, 100) for i in range(50)]
    _, peak = plan_memory(big + small)
    assert peak == (1 << 20) + 50 * 1024


def test_nothing_to_plan() -> None:
    assert plan_memory([]) == ((), 0)
    allocations, peak = plan_memory([Temporary("empty", 0, 0, 3)])
    assert (allocations[0].offset, allocations[0].nbytes, peak) == (0, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("a", -1, 0, 1), "nbytes must be 0 or more, got -1"),
        (("a", 4, 3, 2), r"last \(2\) lies before first \(3\)"),
        (("a", 4, -1, 2), "first must be a kernel index"),
        (("a", 1.5, 0, 1), "nbytes must be an int, got 1.5"),
        (("a", True, 0, 1), "nbytes must be an int, got True"),
        (("", 4, 0, 1), "non-empty string"),
    ],
)
def test_bad_temporaries_are_refused(arguments: tuple[str, int, int, int], text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        Temporary(*arguments)
    assert isinstance(caught.value, PlanError)


def test_numpy_integers_are_welcome() -> None:
    temporary = Temporary("a", np.int64(4), np.int32(0), np.int64(1))  # type: ignore[arg-type]
    assert type(temporary.nbytes) is int


def test_equal_names_are_refused() -> None:
    with pytest.raises(PlanError, match=r"named 'a' \(positions 0 and 2\)"):
        plan_memory([Temporary("a", 4, 0, 1), Temporary("b", 4, 0, 1), Temporary("a", 4, 5, 6)])


def test_csv_reads_back_what_was_written(tmp_path: Path) -> None:
    temporaries = (Temporary("a,b", 100, 0, 2), Temporary("c", 0, 1, 1))
    path = tmp_path / "buffers.csv"
    write_temporaries(path, temporaries)
    assert path.read_text().splitlines()[:2] == ["id,lower,upper,size", '"a,b",0,3,100']
    assert read_temporaries(path) == temporaries
    allocations, _ = plan_memory(temporaries)
    write_temporaries(path, temporaries, allocations)
    with path.open(newline="") as stream:
        assert [row["offset"] for row in csv.DictReader(stream)] == ["0", "0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,lower,size\na,0,4\n", "upper is missing"),
        ("id,lower,upper,size\na,0,1,4\nb,0,x,4\n", "line 3"),
        ("id,lower,upper,size\na,2,2,4\n", "line 2.*empty"),
    ],
)
def test_csv_that_cannot_be_read_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "buffers.csv"
    path.write_text(text)
    with pytest.raises(PlanError, match=message):
        read_temporaries(path)
