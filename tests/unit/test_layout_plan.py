"""Where a call's bytes go: sizes, offsets and the arena of a plan, for sizes within the bounds."""

import itertools

import pytest

from tjcore import Dim, compile_plan, float64, input
from tjcore.layout import Layout
from tjcore.loops import TILE_BYTES
from tjcore.memory import Temporary, verify_plan

N, M = Dim("N", 0, 4096), Dim("M", 1, 512)
x, w = input("x", (N, M)), input("w", (M, M))


def layers(count, reuse=True):
    h = x
    for _ in range(count):
        h = (h @ w + 1).relu()
    return compile_plan([h], reuse=reuse)


def test_shapes_and_bytes_follow_the_sizes():
    plan = compile_plan([x.T, input("d", (N,), float64) * 2])
    place = Layout(plan).place((3, 5))  # M, N
    assert plan.program.dims == plan.symbols and [d.name for d in plan.symbols] == ["M", "N"]
    assert dict(zip([b.name for b in plan.program.buffers], place.shapes, strict=True)) == {
        "x": (5, 3),
        "d": (5,),
        "out0": (3, 5),
        "out1": (5,),
    }
    assert place.nbytes == (60, 40, 60, 40) and place.input_bytes == place.output_bytes == 100
    assert place.temporary_bytes == 0 and place.allocations == () and place.total_bytes == 200
    assert place.bindings == {"M": 3, "N": 5}


@pytest.mark.parametrize("sizes", [(1, 0), (1, 1), (7, 33), (512, 4096), (1, 4096), (512, 1)])
def test_offsets_are_those_of_a_valid_plan(sizes):
    plan = layers(6)
    place = Layout(plan).place(sizes)
    spans = plan.lifetimes()
    names = [b.name for b in plan.program.buffers]
    held = {names[i]: (first, last) for i, (first, last) in spans.items()}
    temporaries = [Temporary(a.name, a.nbytes, *held[a.name]) for a in place.allocations]
    verify_plan(temporaries, place.allocations)
    offsets = dict(zip(names[2 + 1 :], place.offsets, strict=True))  # behind two inputs and an output
    assert all(a.offset == offsets[a.name] and a.offset % 64 == 0 for a in place.allocations)
    assert place.temporary_bytes == max(a.offset + a.nbytes for a in place.allocations)
    assert place.unreused_temporary_bytes >= sum(a.nbytes for a in place.allocations) >= place.temporary_bytes


def test_a_deep_network_needs_two_layers_at_once():
    place = Layout(layers(10)).place((64, 64))
    assert place.temporary_bytes == 64 * 64 * 4, "every second layer lies in the output's memory"
    assert place.temporary_bytes < place.unreused_temporary_bytes == 9 * 64 * 64 * 4


def test_without_reuse_each_has_its_own_place():
    place = Layout(layers(10, reuse=False), reuse=False).place((64, 64))
    assert place.temporary_bytes == place.unreused_temporary_bytes
    ends = sorted((a.offset, a.offset + a.nbytes) for a in place.allocations)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))


def test_scratch_of_a_chain_is_a_tile_per_thread():
    shifted = x - x.max(1).expand_dims(1)
    powers = shifted.exp()
    plan = compile_plan([powers / powers.sum(1).expand_dims(1)], reuse=False)  # or else it lies in the output
    assert plan.program.chains, "softmax runs tile by tile"
    one, three = (Layout(plan, threads=threads).place((64, 4096)) for threads in (1, 3))
    assert one.temporary_bytes < three.temporary_bytes <= 3 * one.temporary_bytes < 4096 * 64 * 4
    assert all(a.nbytes <= TILE_BYTES for a in one.allocations)
    small = Layout(plan, threads=3).place((2, 1))
    assert small.temporary_bytes <= 64 * len(small.allocations)


def test_lifetimes_reach_from_the_first_writer_to_the_last_reader():
    a = (x @ w).relu()
    b = (a @ w).relu()
    plan = compile_plan([(b @ w) + a], reuse=False)
    buffers = plan.program.buffers
    spans = {buffers[i].name: span for i, span in plan.lifetimes().items() if not buffers[i].per_thread}
    assert spans == {"t0": (0, 2), "t1": (1, 2)}


def test_what_needs_no_memory_takes_none():
    place = Layout(compile_plan([x + 1])).place((5, 0))
    assert place.total_bytes == 0 and place.offsets == ()


def test_more_effort_never_plans_worse_and_less_is_allowed():
    sizes = (512, 4096)
    arenas = [Layout(layers(7), effort=effort).place(sizes).temporary_bytes for effort in (0, 60_000, 1_000_000)]
    assert arenas == sorted(arenas, reverse=True)
