"""Scheduling: which loops merge, which one is innermost, what moves out of them. That no bit changes is tested with lowering."""

import pytest

from tjcore import Dim, input
from tjcore.fusion import fuse
from tjcore.loops import Fold, Load, Loop, show_kernel, verify_kernel, walk
from tjcore.lower import lower
from tjcore.schedule import schedule, schedule_rows
from tjcore.simplify import simplify

N, M, K = Dim("N", 0, 4096), Dim("M", 0, 4096), Dim("K", 0, 4096)
x, cube = input("x", (M, K)), input("cube", (N, M, K))
row, column = input("row", (K,)), input("column", (M, 1))


def scheduled(output):
    *_, group = fuse(simplify([output]))
    kernel = schedule(lower(group, "k"))
    verify_kernel(kernel)
    return kernel


def loops(kernel):
    return [stmt for stmt in walk(kernel.body) if isinstance(stmt, Loop)]


def extents(kernel):
    return [str(loop.axis.extent) for loop in loops(kernel)]


MERGED = {
    "contiguous": (x * 2 + x, ["K*M"]),
    "three axes": (cube * 2, ["K*M*N"]),
    "a row repeats": (x + row, ["M", "K"]),
    "a column repeats": (x + column, ["M", "K"]),
    "a row of three axes repeats": (cube + row, ["M*N", "K"]),
    "axes of size 1 vanish": (input("t", (M, 1, K)) + 1, ["K*M"]),
    "a scalar": (input("s", ()) * 2, []),
    "one static axis": (input("t", (1, 5)) * 2, ["5"]),
    "a transpose keeps both": (x.T * 2, ["M", "K"]),
    "the last two of three, transposed": (cube.permute((0, 2, 1)) * 2, ["N", "M", "K"]),
    "the first two of three, transposed": (cube.permute((1, 0, 2)) * 2, ["M", "N", "K"]),
    "two axes moved together": (cube.permute((2, 0, 1)) * 2, None),
}


@pytest.mark.parametrize("name", MERGED)
def test_axes(name):
    output, want = MERGED[name]
    kernel = scheduled(output)
    got = extents(kernel)
    if want is None:
        assert sorted(got) == ["K", "M*N"], show_kernel(kernel)
    elif "transpose" in name:
        assert sorted(got) == sorted(want), show_kernel(kernel)
    else:
        assert got == want, show_kernel(kernel)


@pytest.mark.parametrize("output", [x * 2, x + row, x + column, cube.permute((1, 0, 2)) * 2, x.sum(0), x.sum(1) + 1])
def test_the_outermost_loop_is_shared_and_no_other(output):
    kernel = scheduled(output)
    assert isinstance(kernel.body[-1], Loop) and [loop.share for loop in loops(kernel)] == [True] + [False] * (len(loops(kernel)) - 1)


@pytest.mark.parametrize("output", [x * 2, x + row, cube.permute((1, 0, 2)) * 2, x.expand_dims(1) - row])
def test_the_innermost_loop_steps_through_memory_and_takes_lanes(output):
    kernel = scheduled(output)
    innermost = loops(kernel)[-1]
    assert innermost.lanes and not any(loop.lanes for loop in loops(kernel)[:-1])
    assert any(stmt.at.coefficient(innermost.axis.var) == 1 for stmt in walk(innermost.body) if isinstance(stmt, Load))


def test_what_does_not_depend_on_the_inner_loop_moves_out_of_it():
    kernel = scheduled((column.exp() + row).relu())
    innermost = loops(kernel)[-1]
    assert "exp" not in {getattr(stmt, "op", None) for stmt in walk(innermost.body)}, show_kernel(kernel)
    assert "exp" in {getattr(stmt, "op", None) for stmt in walk(kernel.body)}


def test_constants_leave_every_loop():
    kernel = scheduled(x * 2 + 1)
    assert {type(stmt).__name__ for stmt in walk(loops(kernel)[-1].body)} == {"Load", "Let", "Store"}


def test_a_sum_over_the_first_axis_runs_along_rows():
    kernel = scheduled(x.sum(0))
    (loop,) = loops(kernel)
    (fold,) = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Fold)]
    assert loop.lanes and str(loop.axis.extent) == "K" and str(fold.axis.extent) == "M"


def test_a_sum_over_the_last_axis_runs_along_itself():
    kernel = scheduled(x.sum(1))
    (loop,) = loops(kernel)
    assert not loop.lanes and str(loop.axis.extent) == "M"


def test_rows_of_a_chain_stay_one_outermost_loop():
    (group,) = fuse(simplify([x + row]))
    link = schedule_rows(lower(group, "k"), 1)
    assert extents(link)[0] == "M" and link.grain == 1
    verify_kernel(link)
    (group,) = fuse(simplify([cube.permute((1, 0, 2)) * 2]))
    link = schedule_rows(lower(group, "k"), 2)
    verify_kernel(link)
    assert [loop.paired for loop in loops(link)] == [True, False, False], (
        "its first two axes do not run through as one, but are shared out so"
    )
    (group,) = fuse(simplify([cube.permute((2, 1, 0)) * 2]))
    assert schedule_rows(lower(group, "k"), 3) is None, "nor do three"


def test_rows_of_a_product_are_links_too():
    (group,) = fuse(simplify([x @ x.T]))
    (product,) = schedule_rows(lower(group, "k"), 1).body
    assert (product.tiled, product.batches) == (1, ())
    assert schedule_rows(lower(group, "k"), 2) is None, "its columns are no rows"
    (group,) = fuse(simplify([cube @ cube.permute((0, 2, 1))]))
    for depth in (1, 2):
        (product,) = schedule_rows(lower(group, "k"), depth).body
        assert (product.tiled, [str(a.extent) for a in product.batches]) == (depth, ["N"])


def test_the_same_kernel_is_scheduled_the_same():
    assert scheduled(cube.permute((1, 2, 0)).max(1) + 1) == scheduled(cube.permute((1, 2, 0)).max(1) + 1)
