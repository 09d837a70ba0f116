"""Where tensors live before memory is planned: writing over operands, lending outputs, the order of steps, donated inputs."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tjcore as tj
from tjcore import CompiledGraph, Dim, InternalError, evaluate_graph, input
from tjcore import options as choices
from tjcore.conformance.compare import assert_same
from tjcore.conformance.graphs import random_samples
from tjcore.dims import evaluate
from tjcore.inplace import in_place
from tjcore.layout import Layout
from tjcore.memory import align_up
from tjcore.order import Step, orders, peak
from tjcore.program import compile_plan
from tjcore.storage import arrange, bytes_of, lifetimes, steps_of
from tjcore.storage_check import verify_arrangement

N = Dim("N", 1, 64)
native = pytest.mark.toolchain


def layers(x, w, count):
    for _ in range(count):
        x = (x @ w).relu()
    return x


def buffers_of(plan, kernel):
    return plan.kernels[kernel].reads, plan.kernels[kernel].writes


# ------------------------------------------------------------------------------------------------------------- in place


def test_a_result_lies_over_an_operand_that_ends_there():
    x = input("x", (N, 8))
    h = (x + 1).relu()
    plan = compile_plan([h.sum(1), h.sum(0)], fuse=False)
    assert buffers_of(plan, 0) == (("x",), ("t0",))
    assert buffers_of(plan, 1) == (("t0",), ("t0",))
    assert plan.program.count("temporary") == 1
    params = plan.program.kernels[plan.program.calls[1].kernel].params
    assert [p.written for p in params] == [True], "the operand and the result are one param, so that `restrict` stays true"


def test_an_operand_that_is_read_later_is_kept():
    x = input("x", (N, 8))
    a = x + 1
    plan = compile_plan([a.relu() + a], fuse=False)
    names = [k.writes for k in plan.kernels]
    assert names[1] != names[0], "relu(a) may not lie over a, which the sum reads"


def test_an_operand_at_another_index_is_kept():
    plan = compile_plan([(input("y", (N, N)).relu() + 0).transpose() * 1], fuse=False)
    turns = [kernel for kernel in plan.kernels if kernel.ops == ("transpose",)]
    assert len(turns) == 1 and turns[0].reads != turns[0].writes


def test_a_broadcast_operand_is_kept():
    x = input("x", (N, 8))
    row = x.sum(0)
    plan = compile_plan([(row + 1) * x], fuse=False)
    assert all(not (set(k.reads) & set(k.writes)) for k in plan.kernels if k.ops == ("broadcast_to", "mul"))


def test_which_kernels_may_write_over_what_they_read():
    x, y = input("x", (N, 8)), input("y", (N, 8))
    add = compile_plan([x + y], fuse=False).program.kernels[0]
    merged = in_place(add, 0, 2)
    assert merged is not None and [(p.name, p.written) for p in merged.params] == [("x1", False), ("y0", True)]
    assert in_place(add, 0, 1) is None and in_place(add, 2, 2) is None
    assert in_place(merged, 0, 1) is None, "it is written over something already"
    fold = compile_plan([x.sum(1)]).program.kernels[0]
    assert in_place(fold, 0, 1) is None
    square = input("s", (8, 8))
    product = compile_plan([square @ square]).program.kernels[0]
    assert all(in_place(product, i, len(product.params) - 1) is None for i in range(len(product.params) - 1))
    turn = compile_plan([square.transpose() + 0.0], fuse=False).program.kernels[0]
    assert in_place(turn, 0, 1) is None


@native
def test_a_product_writes_over_what_is_added_to_it():
    x, w = input("x", (N, 16)), input("w", (16, 16))
    h = layers(x, w, 2)
    outputs = [(((x + 1) @ w).exp() @ w + h) @ w]  # the operand is another tensor than what is added
    shared = CompiledGraph(outputs, threads=2, reuse=True)
    added = [k for k in shared.plan.kernels if "matmul" in k.ops and set(k.reads) & set(k.writes)]
    assert len(added) == 1, "the product's last step reads h at the index that it writes"
    arrays = {"x": np.random.default_rng(0).standard_normal((64, 16), np.float32), "w": np.eye(16, dtype=np.float32) * 2}
    assert_same(shared(**arrays)[0], CompiledGraph(outputs, reuse=False)(**arrays)[0], "in place or not")


# -------------------------------------------------------------------------------------------------------------- lending


def test_every_second_layer_lies_in_the_output():
    x, w = input("x", (N, 16)), input("w", (16, 16))
    plan = compile_plan([layers(x, w, 7)])
    assert [k.writes[0] for k in plan.kernels] == ["out0", "t0", "out0", "t0", "out0", "t0", "out0"]
    layout = Layout(plan)
    assert layout.place([64]).temporary_bytes == 64 * 16 * 4, "every other result takes one place"


def test_an_output_too_small_for_some_size_is_not_lent():
    m = Dim("M", 1, 100)
    x = input("x", (N, 8))
    wide = layers(x, input("w", (8, 8)), 3)
    small = input("y", (m, 8)) * 2  # larger than wide at some sizes, smaller at others
    plan = compile_plan([wide.sum(0), small])
    homes = {name for kernel in plan.kernels[:3] for name in kernel.writes}
    assert "out1" not in homes


def test_two_outputs_lend_to_two_branches():
    x, w = input("x", (N, 16)), input("w", (16, 16))
    a, b = layers(x, w, 3), layers(x @ w, w.transpose(), 3)
    plan = compile_plan([a, b])
    unshared = compile_plan([a, b], reuse=False)
    assert Layout(plan).place([64]).temporary_bytes < Layout(unshared, False).place([64]).temporary_bytes / 2


# ---------------------------------------------------------------------------------------------------------------- order


def test_branches_run_one_after_another():
    # Given breadth first, as a differentiated graph often is: all products, then all sums.
    steps = [Step((i,), (), frozenset()) for i in range(5)] + [Step((), (i,), frozenset({i})) for i in range(5)]
    sizes = [64] * 5
    assert peak(steps, range(10), sizes) == 5 * 64
    assert all(peak(steps, order, sizes) == 64 for order in orders(steps, sizes))


@given(st.data())
@settings(max_examples=60)
def test_small_programs_get_the_best_order(data):
    count = data.draw(st.integers(2, 6))
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    steps = []
    for i in range(count):
        reads = data.draw(st.sets(st.integers(0, i - 1))) if i else set()
        steps.append(Step((i,), tuple(sorted(reads)), frozenset(reads)))
    legal = [p for p in itertools.permutations(range(count)) if all(p.index(j) < p.index(i) for i in range(count) for j in steps[i].after)]
    found = orders(steps, sizes)
    assert all(tuple(order) in legal for order in found)
    assert min(peak(steps, order, sizes) for order in found) == min(peak(steps, p, sizes) for p in legal)


def test_the_order_changes_where_that_lowers_the_peak():
    x, w, up, down = input("x", (N, 160)), input("w", (160, 160)), input("up", (160, 640)), input("down", (640, 160))
    # The small product is not needed before the wide one has come and gone.
    outputs = [((x @ w) @ ((x @ up).relu() @ down).transpose()).sum(1)]
    program = compile_plan(outputs, reuse=False).program
    assert arrange(program).order == (1, 2, 0, 3, 4)
    before, after = Layout(compile_plan(outputs, reuse=False), reuse=True), Layout(compile_plan(outputs))
    for n in range(1, 65):
        bindings = {"N": n}
        assert after.memory.lower_bound(bindings) <= before.memory.lower_bound(bindings)
        assert after.memory.arena(bindings) <= before.memory.arena(bindings)
    assert after.memory.arena({"N": 5}) < before.memory.arena({"N": 5})


def test_the_order_stays_where_nothing_is_proved():
    m = Dim("M", 1, 64)
    x, y = input("x", (N, 16)), input("y", (m, 16))
    w = input("w", (16, 16))
    outputs = [((x @ w) @ w).sum(0) + ((y @ w) @ w).sum(0)]
    program = compile_plan(outputs, reuse=False).program
    assert arrange(program).order == tuple(range(len(program.calls))), "neither branch is the larger for all sizes"


# -------------------------------------------------------------------------------------------------------- laws, at random


@given(random_samples())
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_never_more_than_in_the_given_order_with_a_buffer_for_each(sample):
    given_plan = compile_plan(sample.outputs, reuse=False)
    plan = compile_plan(sample.outputs)
    unarranged, layout = Layout(given_plan, reuse=True), Layout(plan)
    for sizes in itertools.product(*([d.lower, 2, 7, 33, d.upper] for d in plan.symbols)):
        bindings = dict(zip(layout.order, sizes, strict=True))
        assert layout.memory.lower_bound(bindings) <= unarranged.memory.lower_bound(bindings)
        assert layout.memory.arena(bindings) <= unarranged.memory.arena(bindings)


@given(random_samples(), st.sampled_from([0x00, 0xFF]))
@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@native
def test_bits_are_those_of_unshared_memory(sample, fill):
    with choices.settings(fill=fill):
        shared = CompiledGraph(sample.outputs, threads=2)
        alone = CompiledGraph(sample.outputs, reuse=False)
    sizes = {d.name: size for d, size in zip(shared.plan.symbols, (7, 33, 5), strict=False)}
    arrays = {name: a for name, a in sample.arrays({"P": 7, "Q": 33} | sizes).items() if name in {n.arg for n in shared.plan.inputs}}
    for mine, theirs in zip(shared.run_with_bindings(sizes, **arrays), alone.run_with_bindings(sizes, **arrays), strict=True):
        assert_same(mine, theirs, "shared memory")


@given(random_samples())
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_donating_everything_keeps_the_laws(sample):
    names = [node.arg for node in compile_plan(sample.outputs).inputs]
    compile_plan(sample.outputs, donate=names)  # verify_arrangement looks at it


# ------------------------------------------------------------------------------------------------------------ the judge


@pytest.fixture(name="arranged")
def arranged_():
    x, w = input("x", (N, 16)), input("w", (16, 16))
    program = compile_plan([layers(x, w, 4), (x + 1).sum(0)], fuse=False, reuse=False).program
    made = arrange(program)
    verify_arrangement(program, made.program, made.order, made.home, frozenset())
    return program, made


def test_the_judge_refuses_two_tensors_in_one_place_at_one_time(arranged):
    program, made = arranged
    spans, given = lifetimes(program), [i for i, b in enumerate(program.buffers) if b.kind == "temporary"]
    one, other = next(
        (a, b) for a, b in itertools.combinations(given, 2) if spans[a][0] < spans[b][0] <= spans[a][1] and made.home[a] != made.home[b]
    )
    home = list(made.home)
    home[other] = home[one]
    with pytest.raises(InternalError, match=r"law '(contents|place|room)'"):
        verify_arrangement(program, made.program, made.order, home, frozenset())


def test_the_judge_refuses_an_order_that_reads_before_writing(arranged):
    program, made = arranged
    order = [made.order[1], made.order[0], *made.order[2:]]
    with pytest.raises(InternalError, match=r"law '(contents|place)'"):
        verify_arrangement(program, made.program, order, made.home, frozenset())
    with pytest.raises(InternalError, match="law 'order'"):
        verify_arrangement(program, made.program, [0, *made.order[1:-1], 0], made.home, frozenset())


def test_the_judge_refuses_a_home_that_is_too_small():
    x = input("x", (N, 16))
    program = compile_plan([(x + 1).relu(), x.sum(1)], fuse=False, reuse=False).program
    made = arrange(program)
    small = replace(made.program, buffers=tuple(replace(b, shape=(8,)) if b.name == "out0" else b for b in made.program.buffers))
    with pytest.raises(InternalError, match="law 'room'"):
        verify_arrangement(program, small, made.order, made.home, frozenset())


def test_the_judge_refuses_writing_to_an_input_that_is_not_donated():
    x = input("x", (N, 16))
    program = compile_plan([x * 2], reuse=False).program
    made = arrange(program, frozenset({0}))
    assert made.aliases() == {0: 0}
    verify_arrangement(program, made.program, made.order, made.home, frozenset({0}))
    with pytest.raises(InternalError, match="not donated"):
        verify_arrangement(program, made.program, made.order, made.home, frozenset())


def test_steps_and_sizes():
    x = input("x", (N, 16))
    program = compile_plan([x * 2 + x.sum(0), x.sum(1)], reuse=False).program
    assert [at for step in steps_of(program) for at in step] == list(range(len(program.calls)))
    assert [evaluate(bytes_of(b), {"N": 3}) for b in program.buffers][:1] == [3 * 16 * 4] and align_up(1) == 64


# ------------------------------------------------------------------------------------------------------------- donation


@native
def test_a_donated_input_becomes_the_output():
    x, w = input("x", (N, 16)), input("w", (16,))
    f = CompiledGraph([(x * w + 1).relu()], donate=("x",), reuse=True)
    a, v = np.random.default_rng(1).standard_normal((9, 16), np.float32), np.full(16, 3, np.float32)
    want = evaluate_graph(f.plan.outputs, {"x": a.copy(), "w": v}, {"N": 9})[0]
    (got,) = f(x=a, w=v)
    assert got is a
    assert_same(got, want, "written over its input")
    assert f.last_memory.output_bytes == 0 and f.memory(N=9).total_bytes == f.last_memory.input_bytes


@native
@pytest.mark.parametrize("backend", ["gcc", "reference"])
def test_training_steps_write_over_their_state(backend):
    if backend not in tj.plugins.manager().toolchains:
        pytest.skip(f"no {backend}")
    x, w, v = input("x", (N, 8)), input("w", (8, 8)), input("v", (8, 8))
    slope = x.transpose() @ (x @ w)
    moved = v * 0.9 - slope * 0.125
    f = CompiledGraph([w + moved, moved], donate=("w", "v"), backend=backend, reuse=True)
    plain = CompiledGraph([w + moved, moved], backend=backend)
    rng = np.random.default_rng(2)
    arrays = {"x": rng.standard_normal((5, 8), np.float32), "w": np.eye(8, dtype=np.float32), "v": np.zeros((8, 8), np.float32)}
    want = plain(**{k: a.copy() for k, a in arrays.items()})
    got = f(**arrays)
    assert sorted(f.plan.aliases) == [0, 1]
    assert got[0] is arrays["w"] or got[0] is arrays["v"]
    for mine, theirs in zip(got, want, strict=True):
        assert_same(mine, theirs, "state in place")


@native
def test_donated_arrays_are_guarded():
    x, w = input("x", (N,)), input("w", (N,))
    f = CompiledGraph([x + w], donate=("x",))
    a, b = np.ones(4, np.float32), np.ones(4, np.float32)
    with pytest.raises(tj.CallError, match=r"'x' is donated.*shares memory with 'w'"):
        f(x=a, w=a)
    a.flags.writeable = False
    with pytest.raises(tj.CallError, match=r"'x' is donated.*read-only"):
        f(x=a, w=b)
    out = np.empty(4, np.float32)
    c = np.ones(4, np.float32)
    assert f(x=c, w=b, out=out)[0] is out and (out == 2).all()
    with pytest.raises(tj.GraphError, match=r"donate: the graph has no input 'z'; its inputs: x, w"):
        CompiledGraph([x + w], donate=("z",))
    with pytest.raises(tj.GraphError, match=r"donate: expected the names"):
        CompiledGraph([x + w], donate="x")
