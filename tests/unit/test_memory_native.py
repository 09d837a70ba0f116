"""The search in C takes the same steps to the same answers as the one in Python."""

import random
import shutil
import subprocess

import cffi
import pytest

from tjcore.memory import Temporary, native, plan_memory
from tjcore.memory.problem import Rectangles, lower_bound
from tjcore.memory.search import SearchFunction, search
from tjcore.memory.sections import compress

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> SearchFunction:
    if COMPILER is None:
        pytest.skip("no C compiler on the path")
    library = tmp_path_factory.mktemp("pack") / "pack.so"
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([COMPILER, *flags, "-o", str(library), str(native.SOURCE)], check=True)
    ffi = cffi.FFI()
    ffi.cdef(native.DECLARATION)
    return native.native_search(ffi, ffi.dlopen(str(library)))


def some_rectangles(seed: int) -> Rectangles:
    source = random.Random(seed)
    count, end, largest = source.randrange(1, 40), source.randrange(1, 20), source.choice([3, 8, 60])
    start = [source.randrange(end) for _ in range(count)]
    return Rectangles(
        tuple(start), tuple(s + source.randrange(1, 8) for s in start), tuple(source.randrange(1, largest + 1) for _ in range(count))
    )


@pytest.mark.parametrize("seed", range(40))
def test_same_outcome_offsets_and_steps(in_c: SearchFunction, seed: int) -> None:
    problem = some_rectangles(seed)
    instance = compress(problem)
    bound = lower_bound(problem.start, problem.stop, problem.size) // instance.unit
    for capacity in (bound - 1, bound, bound + 1):
        for budget in (50, 20_000):
            assert in_c(instance, capacity, budget) == search(instance, capacity, budget)


def test_same_steps_through_many_rounds(in_c: SearchFunction) -> None:
    # A tight instance whose search goes through several rounds of tastes, with blur and with what is remembered.
    source = random.Random(11)
    load, rows = [0] * 40, []
    for _ in range(4000):
        start = source.randrange(40)
        stop, size = min(40, start + source.randrange(1, 14)), source.randrange(1, 30)
        if all(load[t] + size <= 100 for t in range(start, stop)):
            load[start:stop] = [height + size for height in load[start:stop]]
            rows.append((start, stop, size))
    instance = compress(Rectangles(*(tuple(column) for column in zip(*rows, strict=True))))
    outcome = in_c(instance, 100 // instance.unit, 1_500_000)
    assert outcome.steps > 200_000
    assert outcome == search(instance, 100 // instance.unit, 1_500_000)


def test_plans_do_not_depend_on_the_language(in_c: SearchFunction) -> None:
    source = random.Random(4)
    temporaries = [
        Temporary(f"t{i}", source.randrange(1, 9000), first := source.randrange(30), first + source.randrange(1, 9)) for i in range(60)
    ]
    assert plan_memory(temporaries, search=in_c) == plan_memory(temporaries)


def test_numbers_too_large_for_c_are_searched_in_python(in_c: SearchFunction) -> None:
    huge = 2**60 + 1
    instance = compress(Rectangles((0, 0, 1), (2, 1, 2), (huge, huge + 1, 1)))
    assert in_c(instance, 2 * huge + 1, 1000) == search(instance, 2 * huge + 1, 1000)
