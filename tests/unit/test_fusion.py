"""Fusion: which nodes become kernels. How many there are, what each reads, and that nothing is computed twice at length."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import tjcore as tj
from tjcore import Dim, compile_plan, constant, input
from tjcore.conformance.graphs import random_samples
from tjcore.fusion import MAX_NODES, MAX_RECOMPUTED_OPS, fuse, is_leaf
from tjcore.ops import OPS
from tjcore.simplify import simplify
from tjcore.traversal import toposort

N, M = Dim("N", 1, 4096), Dim("M", 1, 4096)
x, y, v = input("x", (N, M)), input("y", (N, M)), input("v", (M,))
a, b = input("a", (N, N)), input("b", (N, N))


def kernels(*outputs, fuse=True):
    return [kernel.ops for kernel in compile_plan(list(outputs), fuse=fuse).kernels]


def count(*outputs):
    return len(kernels(*outputs))


ONE = {
    "computed operands of a product": (a * 2) @ (b + 1),
    "a constant for a product": constant(1).broadcast_to((N, N)) @ a,
    "a chain": ((x + y) * x - 3).relu(),
    "a diamond": (x + y) * (x - y) + (x + y),
    "views between": ((x + v).T * 2).T.expand_dims(0),
    "y and its transpose": a * 2 + (a * 2).T,
    "in front of a sum": (x * y + v).sum(1),
    "behind a sum": (x.sum(1) * 2 - 1).relu(),
    "behind a product": (a @ b + 1).relu(),
    "a sum of a view": x.T.expand_dims(0).sum(1),
    "a mean": x.mean(0),
}


@pytest.mark.parametrize("name", ONE)
def test_one_kernel(name):
    assert count(ONE[name]) == 1


MORE = {
    "two sums": ((x.sum(1) + y.sum(1),), 2),
    "a sum of sums": ((x.sum(1).sum(0),), 2),
    "two products": (((a @ b) @ a,), 2),
    "views of operands of a product": ((a.T @ b.T,), 1),
    "a product that is summed": (((a @ b).sum(0),), 2),
    "an output inside": ((x + y, (x + y) * 2), 2),
    "a sum that is stretched again": ((x - x.sum(1).expand_dims(1),), 2),
    "one output twice": ((x + y, x + y), 1),
    "an input as an output": ((x,), 1),
    "softmax": (((x - x.max(1).expand_dims(1)).exp() / (x - x.max(1).expand_dims(1)).exp().sum(1).expand_dims(1),), 4),
}


@pytest.mark.parametrize("name", MORE)
def test_several_kernels(name):
    outputs, want = MORE[name]
    assert count(*outputs) == want


def test_a_cheap_node_is_computed_again_and_a_dear_one_is_stored():
    cheap, dear = x * 2, (x.exp() * 2).tanh()
    assert count((cheap + 1).sum(0), (cheap - 1).sum(1)) == 2
    assert count((dear + 1).sum(0), (dear - 1).sum(1)) == 3
    wide = x + y + x * y + v
    for _ in range(MAX_RECOMPUTED_OPS):
        wide = wide * y
    assert count((wide + 1).sum(0), (wide - 1).sum(1)) == 3


def test_a_kernel_has_a_bound_on_its_nodes():
    e = x
    for i in range(5 * MAX_NODES):
        e = e * y + i
    arithmetic = [[op for op in ops if op in ("mul", "add")] for ops in kernels(e)]
    assert sum(map(len, arithmetic)) == 10 * MAX_NODES and max(map(len, arithmetic)) <= MAX_NODES
    assert all(arithmetic), "and no kernel fills memory with a constant, or copies an input, because its reader is full"


def test_a_full_kernel_still_reads_inputs_through_views():
    for length in range(MAX_NODES - 4, MAX_NODES + 2):
        e = x
        for i in range(length):
            e = e + y if i % 2 else -e
        plan = compile_plan([e * input("z", (M, N)).T + v + 2])
        assert all({"mul", "add", "neg"} & set(kernel.ops) for kernel in plan.kernels), [kernel.ops for kernel in plan.kernels]
        assert len(plan.kernels) <= 2


def test_a_value_read_at_many_indices_is_stored():
    t = (input("c", (N, N, N)) * 2 + 1).exp()
    turns = [t.permute(p) for p in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))]
    total = turns[0]
    for turn in turns[1:]:
        total = total + turn
    assert count(total) == 2 and count(turns[0] + turns[1]) == 1


def test_doublings_are_not_multiplied_out():
    e = x
    for _ in range(48):
        e = e + e
    assert sum(map(len, kernels(e))) == 48


def test_without_fusion_there_is_a_kernel_per_op():
    found = kernels(((x + v) * 2).relu().sum(1), fuse=False)
    named = [[op for op in ops if op not in ("constant", "broadcast_to")] for ops in found]
    assert named == [["add"], ["mul"], ["relu"], ["sum"]]


def test_each_kernel_says_why_it_is_one():
    plan = compile_plan([(a @ b).sum(0) + 1, (a @ b).relu()])
    assert all(kernel.reason for kernel in plan.kernels)
    assert plan.kernels[-1].reason == "is an output"
    assert compile_plan([x + 1], fuse=False).kernels[0].reason in ("fusion is off", "is an output")


def check_laws(outputs, enabled):
    groups = fuse(outputs, enabled)
    roots = [group.root for group in groups]
    assert len(set(roots)) == len(roots) and set(outputs) <= set(roots)
    done, computed = set(), set()
    for group in groups:
        assert group.members[-1:] == (group.root,) or is_leaf(group.root), "the root comes last"
        assert all(read.op == "input" or read in done for read in group.reads), "a kernel reads what is there already"
        inside = {*group.members, *group.reads}
        for node in group.members:
            assert all(source in inside for source in node.sources), "a kernel needs nothing else"
        anchors = [node for node in group.members if OPS[node.op].kind in ("reduce", "contract")]
        assert anchors == ([group.anchor] if group.anchor is not None else []), "one anchor at most"
        assert len([n for n in group.members if OPS[n.op].kind == "elementwise"]) <= MAX_NODES
        done.add(group.root)
        computed |= set(group.members)
    assert {node for node in toposort(outputs) if not is_leaf(node)} <= computed


@given(sample=random_samples(exact=False))
@settings(max_examples=80, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_groups_of_random_graphs_keep_the_laws(sample):
    check_laws(simplify(sample.outputs), True)
    check_laws(list(sample.outputs), False)
    assert len(fuse(simplify(sample.outputs))) <= len(fuse(list(sample.outputs), False))


def test_planning_a_long_chain_is_linear():
    e = x
    for i in range(20_000):
        e = -e if i % 2 else e + 1
    assert sum(len([op for op in ops if op in ("neg", "add")]) for ops in kernels(e)) == 20_000


@pytest.mark.toolchain
@pytest.mark.parametrize("inner", [4, 8])
def test_a_product_is_stored_with_its_axes_split(inner):
    """Its epilogue works on the split axes: merged again where every access runs through them as one, looped over where not."""
    a, b = tj.input("a", (N, 6)), tj.input("b", (6, 2 * inner))
    for other in (tj.input("c", (2, 1)), tj.input("c", (1, inner)), tj.input("c", (inner, N, 2)).permute((1, 2, 0))):
        out = ((a @ b).reshape((N, 2, inner)) + other).relu()
        plan = tj.compile_plan([out])
        assert len(plan.kernels) == 1
        f = tj.CompiledGraph([out], backend="gcc")
        r = np.random.default_rng(0)
        given = {node.arg: r.standard_normal([5 if d is N else d for d in node.shape]).astype(np.float32) for node in plan.inputs}
        np.testing.assert_array_equal(f(**given)[0], tj.evaluate_graph([out], given, {"N": 5})[0])


@pytest.mark.toolchain
def test_joined_parts_of_what_is_joined_are_stored_where_they_end_up():
    x, y = tj.input("x", (N, 3)), tj.input("y", (N, 2))
    inside = tj.concat([x * 2, y], axis=1)
    plan = tj.compile_plan([tj.concat([inside, inside + 1], axis=0)])
    assert [k.ops[-1] for k in plan.kernels] == ["concat", "concat"]  # read twice: stored once
    plan = tj.compile_plan([tj.concat([tj.concat([x * 2, y], axis=1), tj.concat([y, x], axis=1)], axis=0)])
    assert len(plan.kernels) == 1
    f = tj.CompiledGraph([tj.concat([tj.concat([x * 2, y], axis=1), tj.concat([y, x], axis=1)], axis=0)], backend="gcc")
    a, b = np.arange(12, dtype=np.float32).reshape(4, 3), np.ones((4, 2), np.float32)
    np.testing.assert_array_equal(f(x=a, y=b)[0], np.concatenate([np.concatenate([a * 2, b], 1), np.concatenate([b, a], 1)], 0))
