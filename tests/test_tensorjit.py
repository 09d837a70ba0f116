"""The acceptance test of the design: what tjcore promises to whoever uses it, in the order in which the design says it.

Run it alone with `python -m pytest tests/test_tensorjit.py -q`. Everything goes through the public face.
"""

import dataclasses
import importlib.metadata
import inspect
import re
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tjcore as tj
from tjcore import CompiledGraph, Dim, Expr, Temporary, compile_plan, constant, grad, plan_memory, verify_plan

ROOT = Path(__file__).resolve().parent.parent
MIB = 2**20
native = pytest.mark.toolchain


def ones(*shape):
    return np.ones(shape, np.float32)


def randoms(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def project(folder):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


# ------------------------------------------------------------------------------------------------------------------- the card


def test_top_level_is_laid_out_as_the_card_says():
    for name in ("pyproject.toml", "tjcore", "tjbackend_gcc", "tjbackend_clang", "tests", "bench", "tox.ini"):
        assert (ROOT / name).exists(), name


def test_core_rests_on_numpy_pluggy_and_cffi():
    needed = " ".join(project("tjcore")["dependencies"])
    assert all(name in needed for name in ("numpy", "pluggy", "cffi"))


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_toolchains_are_distributions_that_register_through_entry_points(name):
    about = project(f"tjbackend_{name}")
    assert about["name"] == f"tjbackend-{name}" and name in about["entry-points"]["tensorjit"]


def test_core_defines_hooks_for_code_generation_and_loading():
    from tjcore import hookspecs

    for hook in ("tensorjit_toolchains", "tensorjit_render", "tensorjit_compile", "tensorjit_load"):
        assert inspect.getdoc(getattr(hookspecs, hook))


@native
@pytest.mark.parametrize("name", ["gcc", "reference"])
def test_backend_is_picked_by_the_environment(name, monkeypatch):
    if name == "gcc" and not any(p.name == "gcc" for p in importlib.metadata.entry_points(group="tensorjit")):
        pytest.skip("tjbackend-gcc is not installed here")
    monkeypatch.setenv("TENSORJIT_BACKEND", name)
    f = CompiledGraph([tj.input("x", (2,)) + 1])
    assert f.backend == name
    np.testing.assert_array_equal(f(x=ones(2))[0], [2, 2])


@native
def test_backend_argument_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("TENSORJIT_BACKEND", "no-such-toolchain")
    assert CompiledGraph([tj.input("x", (2,))], backend="reference").backend == "reference"


def test_tox_has_an_axis_over_backends():
    assert "py3{11,12,13}-{gcc,clang,all}" in (ROOT / "tox.ini").read_text(encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------- graph


def test_dim_has_bounds_and_the_default_ones():
    d = Dim("N")
    assert (d.name, d.lower, d.upper) == ("N", 1, 4096)


def test_dim_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Dim("N").upper = 5


@pytest.mark.parametrize("name", ["", "a b", "1a", None, 3, b"N"])
def test_dim_name_is_a_string_identifier(name):
    with pytest.raises(ValueError, match="name"):
        Dim(name)


@pytest.mark.parametrize("bound", [True, False, 1.0, None, "1", np.bool_(True)])
@pytest.mark.parametrize("which", ["lower", "upper"])
def test_dim_bounds_are_real_ints(which, bound):
    with pytest.raises(ValueError, match=f"{which} to be an int"):
        Dim("N", **{which: bound})


def test_dim_bounds_are_ordered_and_below_two_to_the_31():
    assert Dim("N", 7, 7).upper == 7 and Dim("N", 1, 2**31 - 1).upper == 2**31 - 1
    with pytest.raises(ValueError, match="lower <= upper"):
        Dim("N", 5, 4)
    with pytest.raises(ValueError, match="upper < 2\\*\\*31"):
        Dim("N", 1, 2**31)


def test_dim_may_be_empty_when_it_says_so_but_never_negative():
    assert Dim("N", 0, 3).lower == 0
    with pytest.raises(ValueError, match="lower >= 0"):
        Dim("N", -1, 3)


def test_expr_has_op_shape_sources_and_arg():
    n = Dim("N")
    x = tj.input("x", (n, 3))
    total = x.sum(0)
    assert (x.op, x.shape, x.sources, x.arg) == ("input", (n, 3), (), "x")
    assert (total.op, total.shape, total.sources, total.arg) == ("sum", (3,), (x,), 0)


@pytest.mark.parametrize("field", ["op", "shape", "sources", "arg", "dtype", "anything"])
def test_expr_is_immutable(field):
    x = tj.input("x", (3,))
    with pytest.raises(AttributeError, match="immutable"):
        setattr(x, field, None)
    with pytest.raises(AttributeError, match="immutable"):
        delattr(x, field)


def test_expr_is_compared_and_hashed_by_identity():
    x, same = tj.input("x", (3,)), tj.input("x", (3,))
    assert x == x and x != same and len({x, x, same}) == 2


@pytest.mark.parametrize("name", ["", "a b", "x-y", "9", None, 3, b"x"])
def test_input_name_is_an_identifier(name):
    with pytest.raises(ValueError, match="identifier"):
        tj.input(name, (3,))


@pytest.mark.parametrize("size", [2**31, -1, 1.0, True, None, "N", np.float32(2), np.bool_(True)])
def test_input_sizes_are_dims_or_ints_below_two_to_the_31(size):
    with pytest.raises(ValueError, match=r"axis 1 must be a Dim or an int in 0\.\.2\*\*31-1"):
        tj.input("x", (3, size))
    assert tj.input("x", (2**31 - 1, Dim("N"))).shape[0] == 2**31 - 1


@pytest.mark.parametrize("value", [True, False, np.bool_(True), "1", None, 1j, [1]])
def test_constant_is_an_int_or_a_float_and_no_bool(value):
    with pytest.raises(ValueError, match="expected an int or a float"):
        constant(value)
    with pytest.raises(ValueError, match="expected one of float32"):
        constant(np.ones(1, np.complex64))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39, -1e39, 10**39, 10**400])
def test_constant_is_finite_and_within_float32(value):
    with pytest.raises(ValueError, match=r"finite|out of the range of float32"):
        constant(value)
    assert constant(3.4028234663852886e38).arg == float(np.finfo(np.float32).max)


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


@native
@pytest.mark.parametrize("sign", OPERATORS)
def test_operators_and_their_reflected_forms_for_numbers(sign):
    x, y = tj.input("x", (5,)), tj.input("y", (5,))
    op = OPERATORS[sign]
    f = CompiledGraph([op(x, y), op(x, 2), op(2, x), op(x, 0.1), op(np.float32(3), x), op(np.int64(3), x)])
    a, b = randoms(5), randoms(5, seed=1)
    tenth = np.float32(0.1)
    expected = [op(a, b), op(a, np.float32(2)), op(np.float32(2), a), op(a, tenth), op(np.float32(3), a), op(np.float32(3), a)]
    for got, want in zip(f(x=a, y=b), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@native
def test_unary_minus_relu_and_matrix_product():
    n, k = Dim("N"), Dim("K")
    x, w = tj.input("x", (n, k)), tj.input("w", (k, 4))
    f = CompiledGraph([-x, x.relu(), x @ w])
    a, b = randoms(6, 3), randoms(3, 4, seed=1)
    neg, relu, product = f(x=a, w=b)
    np.testing.assert_array_equal(neg, -a)
    np.testing.assert_array_equal(relu, np.maximum(a, 0))
    np.testing.assert_allclose(product, a @ b, rtol=1e-5, atol=1e-6)


@native
def test_views_and_sums_are_those_of_numpy():
    x = tj.input("x", (Dim("N"), 3))
    f = CompiledGraph([x.expand_dims(1), x.expand_dims(-1), x.transpose(), x.sum(), x.sum(0), x.broadcast_to((2, Dim("N"), 3))])
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    expected = [a[:, None], a[:, :, None], a.T, a.sum(1), a.sum(0), np.broadcast_to(a, (2, 4, 3))]
    for got, want in zip(f(x=a), expected, strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.shape == want.shape and got.flags.c_contiguous


def test_transpose_is_for_rank_two():
    with pytest.raises(ValueError, match="rank 2"):
        tj.input("x", (2, 3, 4)).transpose()


def test_matrix_product_has_equal_inner_sizes_and_no_operand_of_rank_0():
    x = tj.input("x", (Dim("N"), 128))
    with pytest.raises(ValueError, match=r"inner sizes differ, 128 \(left, axis 1\) and 64 \(right, axis 0\)"):
        x @ tj.input("y", (64, 2))
    with pytest.raises(ValueError, match=r"matmul: both operands must have axes, got \(N, 128\) and \(\)"):
        x @ tj.input("s", ())


def test_broadcasting_is_numpys_on_declared_shapes():
    n, m = Dim("N"), Dim("M")
    assert (tj.input("a", (n, 1)) + tj.input("b", (m,))).shape == (n, m)
    assert (tj.input("a", (n, 3)) * tj.input("b", (3,))).shape == (n, 3)
    assert (tj.input("a", (4, 1, 3)) - tj.input("b", (n, 1))).shape == (4, n, 3)
    assert (tj.input("a", ()) + tj.input("b", (n,))).shape == (n,)


def test_a_symbol_is_never_taken_for_one():
    with pytest.raises(ValueError, match=r"axis -1 is N and 3; only the int 1 broadcasts"):
        tj.input("a", (Dim("N", 1, 1),)) + tj.input("b", (3,))


def test_two_symbols_never_broadcast_and_the_message_names_both():
    with pytest.raises(ValueError, match=r"axis -2 is ROWS and COLUMNS; two symbols never broadcast"):
        tj.input("a", (Dim("ROWS"), 3)) + tj.input("b", (Dim("COLUMNS"), 3))


def chain_of(length):
    y = tj.input("x", (4,))
    for i in range(length):
        y = y + 1 if i % 2 else -y
    return y


def test_a_chain_of_100000_nodes_neither_recurses_nor_slows_down():
    limit = sys.getrecursionlimit()

    def seconds(length):
        graph = chain_of(length)
        start = time.process_time()
        text = tj.show_graph([graph])
        assert text.count("\n") > length and tj.show_graph(tj.read_graph(text)) == text
        return time.process_time() - start

    seconds(1_000)
    short, long = seconds(10_000), seconds(100_000)
    assert long < 40 * short, f"10 times the nodes took {long / short:.0f} times as long"
    assert sys.getrecursionlimit() == limit


def test_a_chain_of_100000_nodes_is_planned():
    plan = compile_plan([chain_of(100_000)])
    assert sum(len([op for op in k.ops if op in ("neg", "add")]) for k in plan.kernels) == 100_000


# ------------------------------------------------------------------------------------------------------------------ compiling


def mlp():
    n, d, h = Dim("N", 1, 64), Dim("D", 1, 64), Dim("H", 1, 64)
    x, w, b = tj.input("x", (n, d)), tj.input("w", (d, h)), tj.input("b", (h,))
    return ((x @ w) + b).relu().sum(1)


def test_plan_shows_inputs_outputs_kernels_symbols_names_and_source():
    output = mlp()
    plan = compile_plan([output])
    assert {e.arg for e in plan.inputs} == {"x", "w", "b"} and plan.outputs == (output,)
    assert [d.name for d in plan.symbols] == ["D", "H", "N"]
    assert {plan.names[e] for e in plan.inputs} == {"x", "w", "b"}
    for kernel in plan.kernels:
        assert isinstance(kernel.node, Expr) and kernel.reads and kernel.source and kernel.ops
    assert all(k.name in plan.source for k in plan.kernels)


@pytest.mark.parametrize("outputs", [[], (), [None], [3], ["x"], None, 3, "x"])
def test_outputs_must_be_exprs_and_there_must_be_one(outputs):
    with pytest.raises(ValueError, match="Expr"):
        compile_plan(outputs)


def test_two_inputs_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two inputs are named 'x'"):
        compile_plan([tj.input("x", (3,)) + tj.input("x", (3,))])


def test_one_symbol_name_with_two_bounds_is_refused():
    with pytest.raises(ValueError, match="'N' is declared twice"):
        compile_plan([tj.input("x", (Dim("N", 1, 8),)).sum() + tj.input("y", (Dim("N", 1, 9),)).sum()])


@native
def test_one_output_named_twice_comes_back_as_two_arrays():
    y = tj.input("x", (3,)) * 2
    first, second = CompiledGraph([y, y])(x=ones(3))
    np.testing.assert_array_equal(first, second)
    assert not np.shares_memory(first, second)


def test_without_fusion_each_op_is_its_own_kernel():
    unfused = compile_plan([mlp()], fuse=False)
    assert [k.node.op for k in unfused.kernels] == ["matmul", "add", "relu", "sum"]
    assert len(compile_plan([mlp()]).kernels) < len(unfused.kernels)


def test_fusion_materialises_products_and_outputs_and_inlines_the_rest():
    n = Dim("N")
    x, y = tj.input("x", (n,)), tj.input("y", (n,))
    assert len(compile_plan([((x + y) * x - 3).relu()]).kernels) == 1
    a, b = tj.input("a", (n, n)), tj.input("b", (n, n))
    assert len(compile_plan([(a @ b) @ a]).kernels) == 2
    assert len(compile_plan([x + y, (x + y) * 2]).kernels) == 2


@native
def test_one_build_serves_every_size_within_the_bounds():
    f = CompiledGraph([mlp()])
    for n, d, h in ((1, 1, 1), (64, 64, 64), (3, 5, 7), (1, 64, 2), (33, 1, 64)):
        x, w, b = randoms(n, d), randoms(d, h, seed=1), randoms(h, seed=2)
        np.testing.assert_allclose(f(x=x, w=w, b=b)[0], np.maximum(x @ w + b, 0).sum(1), rtol=1e-4, atol=1e-4)
    assert f.compilations == 1 and f.calls == 5


def test_addresses_are_computed_in_64_bits():
    n = Dim("N", 1, 2**31 - 1)
    for x in (tj.input("x", (n, n)), tj.input("x", (2**20, 2**20))):
        (kernel,) = compile_plan([x.transpose() * 2 + 1]).kernels
        variables = re.findall(r"(\w+) (?:i\d+|dim_N|first|last)\b(?! [-+*<>=/]=? )", kernel.source)
        assert variables and set(variables) <= {"int64_t"}, kernel.source


@native
def test_no_fast_math():
    x, y = tj.input("x", (4,)), tj.input("y", (4,))
    f = CompiledGraph([(x + y) - y, x * 0, x - x])
    a = np.array([1e-8, np.inf, np.nan, -0.0], np.float32)
    b = np.array([1e8, 1, 1, 0.0], np.float32)
    with np.errstate(all="ignore"):
        for got, want in zip(f(x=a, y=b), [(a + b) - b, a * np.float32(0), a - a], strict=True):
            np.testing.assert_array_equal(got, want)
    assert np.signbit(f(x=a, y=b)[1][3])


# -------------------------------------------------------------------------------------------------------------------- running


@native
def test_call_takes_keywords_and_returns_a_tuple_of_arrays():
    x, y = tj.input("x", (2,)), tj.input("y", (2,))
    result = CompiledGraph([x + y, x - y])(y=ones(2), x=ones(2))
    assert isinstance(result, tuple) and len(result) == 2
    assert all(type(a) is np.ndarray and a.dtype == np.float32 for a in result)


def test_options_are_keywords_with_the_documented_defaults():
    parameters = inspect.signature(CompiledGraph).parameters
    assert all(p.kind is p.KEYWORD_ONLY for name, p in parameters.items() if name != "outputs")
    assert parameters["fuse"].default is True


@native
def test_default_budget_is_256_mib():
    n = Dim("N", 1, 2**31 - 1)
    f = CompiledGraph([tj.input("x", (1,)).broadcast_to((n,)).sum()])
    f.run_with_bindings({"N": 64 * MIB}, x=ones(1))  # nothing of that size is stored
    g = CompiledGraph([tj.input("x", (1,)).broadcast_to((n,))])
    with pytest.raises(ValueError, match="max_bytes = 268,435,456"):
        g.run_with_bindings({"N": 64 * MIB}, x=ones(1))


@native
def test_bindings_give_sizes_that_no_input_carries():
    n = Dim("N", 1, 9)
    f = CompiledGraph([constant(2).broadcast_to((n, 2))])
    np.testing.assert_array_equal(f.run_with_bindings({"N": 3})[0], np.full((3, 2), 2, np.float32))


@native
def test_an_unbound_symbol_is_refused_and_never_guessed():
    f = CompiledGraph([constant(2).broadcast_to((Dim("N", 3, 3),))])
    with pytest.raises(ValueError, match=r"no input carries the size of N.*run_with_bindings"):
        f()


@native
@pytest.mark.parametrize(
    "bindings, words", [({"N": 2, "Q": 1}, "'Q'"), ({"N": 0}, "1..9, got 0"), ({"N": 10}, "1..9, got 10"), ({"N": 2.0}, "int")]
)
def test_unknown_and_impossible_bindings_are_refused(bindings, words):
    f = CompiledGraph([constant(2).broadcast_to((Dim("N", 1, 9),))])
    with pytest.raises(ValueError, match=words):
        f.run_with_bindings(bindings)


BAD_CALLS = {
    "missing": ({}, ["missing input 'x'"]),
    "extra": ({"x": ones(2, 3), "y": ones(2)}, ["unexpected input 'y'", "'x'"]),
    "no array": ({"x": [[1.0] * 3]}, ["input 'x'", "numpy.ndarray", "list"]),
    "dtype": ({"x": np.ones((2, 3))}, ["input 'x'", "expected dtype float32", "float64"]),
    "rank": ({"x": ones(6)}, ["input 'x'", "expected rank 2", "rank 1"]),
    "layout": ({"x": ones(3, 2).T}, ["input 'x'", "C-contiguous", "ascontiguousarray"]),
    "alignment": ({"x": np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)}, ["input 'x'", "aligned"]),
    "bounds": ({"x": ones(9, 3)}, ["input 'x', axis 0", "N in 1..8", "got 9"]),
    "static": ({"x": ones(2, 4)}, ["input 'x', axis 1", "expected 3", "got 4"]),
}


@native
@pytest.mark.parametrize("fault", BAD_CALLS)
def test_every_call_is_guarded(fault):
    f = CompiledGraph([tj.input("x", (Dim("N", 1, 8), 3)) + 1])
    arrays, words = BAD_CALLS[fault]
    with pytest.raises(ValueError) as refusal:
        f(**arrays)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)
    assert f.calls == 0
    np.testing.assert_array_equal(f(x=ones(2, 3))[0], np.full((2, 3), 2, np.float32))


@native
def test_one_symbol_has_one_size_in_a_call():
    n = Dim("N", 1, 8)
    f = CompiledGraph([tj.input("x", (n,)).sum() + tj.input("y", (2, n)).sum().sum()])
    with pytest.raises(ValueError, match=r"input 'y', axis 1: expected 3, since N is 3 in input 'x', axis 0, got 4"):
        f(x=ones(3), y=ones(2, 4))


@native
def test_budget_is_checked_for_each_tensor_and_for_all_together():
    n = Dim("N", 1, 1000)
    x = tj.input("x", (n,))
    graph = [x + 1]  # 4 n bytes in, 4 n out
    assert CompiledGraph(graph, max_bytes=800)(x=ones(100))[0].shape == (100,)
    with pytest.raises(ValueError, match=r"at N=100 takes 800 bytes.*max_bytes = 799"):
        CompiledGraph(graph, max_bytes=799)(x=ones(100))
    with pytest.raises(ValueError, match=r"input 'x' at N=200 takes 800 bytes"):
        CompiledGraph(graph, max_bytes=799)(x=ones(200))


@native
def test_budget_is_checked_before_any_work():
    n = Dim("N", 1, 2**31 - 1)
    f = CompiledGraph([tj.input("x", (1,)).broadcast_to((n, n))], max_bytes=MIB)
    start = time.perf_counter()
    with pytest.raises(tj.BudgetError):
        f.run_with_bindings({"N": 2**31 - 1}, x=ones(1))  # 16 EiB: any attempt to take it would show
    assert time.perf_counter() - start < 1 and f.last_memory is None


@native
def test_workspace_is_one_aligned_arena_and_outputs_are_not_in_it():
    a = tj.input("a", (Dim("N", 1, 64), 64))
    f = CompiledGraph([((a.transpose() @ a) @ a.transpose()).sum(0)])
    f(a=randoms(8, 64))
    memory = f.last_memory
    assert memory.allocations and all(m.offset % 64 == 0 for m in memory.allocations)
    assert memory.temporary_bytes == max(m.offset + m.nbytes for m in memory.allocations)
    assert memory.output_bytes == 8 * 4 and memory.input_bytes == 8 * 64 * 4


@native
def test_planning_follows_the_fused_schedule():
    x, w = tj.input("x", (Dim("N", 1, 64), 32)), tj.input("w", (32, 32))
    h = x
    for _ in range(6):
        h = (h @ w + 1).relu()
    fused, unfused = CompiledGraph([h], reuse=True), CompiledGraph([h], fuse=False, reuse=True)
    arrays = {"x": randoms(64, 32), "w": randoms(32, 32, seed=1)}
    np.testing.assert_array_equal(fused(**arrays)[0], unfused(**arrays)[0])
    assert fused.last_memory.kernel_count < unfused.last_memory.kernel_count
    # Two layers' results are alive at a time. One lies in the output, which is written last, so the workspace is one of them.
    assert fused.last_memory.temporary_bytes == 64 * 32 * 4 < fused.last_memory.unreused_temporary_bytes
    unshared = CompiledGraph([h], reuse=False)
    np.testing.assert_array_equal(unshared(**arrays)[0], fused(**arrays)[0])
    assert unshared.last_memory.temporary_bytes == unshared.last_memory.unreused_temporary_bytes == 5 * 64 * 32 * 4
    assert fused.last_memory.unreused_temporary_bytes < unfused.last_memory.unreused_temporary_bytes


def test_planner_shares_memory_and_its_verifier_agrees():
    temporaries = [Temporary("a", 100, 0, 1), Temporary("b", 100, 1, 2), Temporary("c", 100, 2, 3)]
    allocations, peak = plan_memory(temporaries)
    verify_plan(temporaries, allocations)
    assert peak == 256 and all(a.offset % 64 == 0 for a in allocations)


def test_verifier_refuses_a_plan_with_an_overlap():
    temporaries = [Temporary("a", 64, 0, 1), Temporary("b", 64, 1, 2)]
    with pytest.raises(ValueError, match=r"a.*b|b.*a"):
        verify_plan(temporaries, [tj.Allocation("a", 0, 64), tj.Allocation("b", 0, 64)])


def test_verifier_shares_no_code_with_the_planner():
    source = (ROOT / "tjcore/src/tjcore/memory/verify.py").read_text(encoding="utf-8")
    assert not any(f"from .{module}" in source for module in ("greedy", "solver", "orient", "search"))


@native
def test_an_input_that_is_an_output_comes_back_as_a_copy():
    x = tj.input("x", (4,))
    f = CompiledGraph([x, x])
    a = randoms(4)
    before = a.copy()
    first, second = f(x=a)
    np.testing.assert_array_equal(first, a)
    assert not np.shares_memory(first, a) and not np.shares_memory(first, second)
    first[:] = 0
    np.testing.assert_array_equal(a, before)


@native
def test_inputs_are_never_written():
    x = tj.input("x", (64,))
    a = randoms(64)
    a.flags.writeable = False
    before = a.copy()
    CompiledGraph([x.relu(), (x * 2).sum(), x])(x=a)
    np.testing.assert_array_equal(a, before)


@native
def test_native_code_runs_without_the_interpreters_lock():
    n = Dim("N", 1, 2048)
    x = tj.input("x", (n, n))
    f = CompiledGraph([x @ x])
    size, took = 128, 0.0
    while took < 0.03 and size < 2048:  # until a call is long beside the interpreter's switch interval of 5 ms
        size *= 2
        a = ones(size, size)
        start = time.perf_counter()
        f(x=a)
        took = time.perf_counter() - start
    ticks, stop = [0], threading.Event()

    def tick():
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.0005)

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        most = 0
        for _ in range(10):
            before = ticks[0]
            f(x=a)
            most = max(most, ticks[0] - before)
    finally:
        stop.set()
        ticker.join()
    assert most >= 2, "no other Python thread ran during a call of many milliseconds"


@native
@pytest.mark.parametrize("threads", [1, 2])
def test_calls_from_several_threads_are_safe(threads):
    n = Dim("N", 1, 200)
    x, w = tj.input("x", (n, 16)), tj.input("w", (16, 16))
    f = CompiledGraph([((x @ w).relu() @ w).sum(0), x.sum(1)], threads=threads)
    jobs = [(randoms(1 + 13 * i % 200, 16, seed=i), randoms(16, 16, seed=100 + i)) for i in range(40)]
    expected = [f(x=a, w=b) for a, b in jobs]
    with ThreadPoolExecutor(8) as pool:
        for got, want in zip(pool.map(lambda job: f(x=job[0], w=job[1]), jobs * 5), expected * 5, strict=True):
            assert all(np.array_equal(g, e) for g, e in zip(got, want, strict=True))
    assert f.calls == 240 and f.compilations == 1


@native
def test_what_can_be_observed():
    n = Dim("N", 1, 64)
    x = tj.input("x", (n, 8))
    f = CompiledGraph([(x.transpose() @ x) @ x.transpose()])
    assert f.calls == 0 and f.compilations == 1 and f.last_memory is None and f.source
    assert f.plan.outputs[0].shape == (8, n)
    f(x=ones(16, 8))
    memory = f.last_memory
    assert memory.bindings == {"N": 16}
    assert memory.kernel_count == len(f.plan.kernels)
    assert memory.input_bytes == memory.output_bytes == 16 * 8 * 4
    assert memory.temporary_bytes == memory.unreused_temporary_bytes == 8 * 8 * 4
    assert [a.nbytes for a in memory.allocations] == [256]
    f(x=ones(3, 8))
    assert f.calls == 2 and f.last_memory.bindings == {"N": 3} and f.compilations == 1


# ------------------------------------------------------------------------------------------------------------------ gradients


@native
def test_positive_is_one_above_zero_and_nothing_else():
    x = np.array([-1, -0.0, 0, 1e-45, 2, np.nan, np.inf, -np.inf], np.float32)
    (got,) = CompiledGraph([tj.input("x", (8,)).positive()])(x=x)
    np.testing.assert_array_equal(got, [0, 0, 0, 1, 1, 0, 1, 0])


@native
def test_positive_is_the_derivative_of_relu():
    x = tj.input("x", (5,))
    f = CompiledGraph([grad(x.relu().sum(), x), x.positive()])
    slope, positive = f(x=np.array([-2, -0.0, 0, 3, np.nan], np.float32))
    np.testing.assert_array_equal(slope, positive)


@native
def test_constant_gradients_run_with_bindings():
    n = Dim("N", 1, 16)
    x = tj.input("x", (n, 3))
    f = CompiledGraph([grad(x.sum().sum(), x)])
    np.testing.assert_array_equal(f.run_with_bindings({"N": 5})[0], ones(5, 3))


@native
def test_gradients_are_graphs_checked_by_hand():
    n = Dim("N", 1, 16)
    x, w, b = tj.input("x", (n, 3)), tj.input("w", (3, 2)), tj.input("b", (2,))
    loss = ((x @ w + b).relu() * 3 - 1).sum().sum()
    f = CompiledGraph([*grad(loss, [x, w, b])])
    a, v, c = randoms(4, 3), randoms(3, 2, seed=1), randoms(2, seed=2)
    g = 3 * (a @ v + c > 0).astype(np.float32)
    for got, want in zip(f(x=a, w=v, b=c), [g @ v.T, a.T @ g, g.sum(0)], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        assert got.shape == want.shape


def test_gradients_agree_with_finite_differences_in_float64():
    n = Dim("N", 1, 8)
    x, w = tj.input("x", (n, 3), tj.float64), tj.input("w", (3, 4), tj.float64)
    loss = (((x @ w).transpose() - 2) * (x @ w).transpose().relu() + 1).sum(0).sum(0)
    random = np.random.default_rng(3)
    arrays = {"x": random.standard_normal((5, 3)), "w": random.standard_normal((3, 4))}
    slopes = tj.evaluate_graph(grad(loss, [x, w]), arrays, {"N": 5})
    for name, slope in zip(("x", "w"), slopes, strict=True):
        step = 1e-6
        for at in np.ndindex(arrays[name].shape):
            up, down = ({**arrays, name: arrays[name].copy()} for _ in range(2))
            up[name][at] += step
            down[name][at] -= step
            high, low = (tj.evaluate_graph([loss], a, {"N": 5})[0] for a in (up, down))
            assert slope[at] == pytest.approx((high - low) / (2 * step), rel=1e-4, abs=1e-5)


# ----------------------------------------------------------------------------------------------------------------- edge values


@native
@pytest.mark.parametrize("size", [1, 3, 16, 17, 100])
def test_relu_of_nan_and_of_minus_zero_is_zero(size):
    x = tj.input("x", (Dim("N", 1, 200),))
    f = CompiledGraph([x.relu()])
    for value in (np.nan, -0.0, 0.0, -1.0, -np.inf):
        (got,) = f(x=np.full(size, value, np.float32))
        assert (got == 0).all() and not np.signbit(got).any(), value
    assert np.isposinf(f(x=np.full(size, np.inf, np.float32))[0]).all()


@native
def test_maximum_with_zero_keeps_nan():
    (got,) = CompiledGraph([tj.input("x", (3,)).maximum(0)])(x=np.array([np.nan, -1, 2], np.float32))
    np.testing.assert_array_equal(got, [np.nan, 0, 2])


# ---------------------------------------------------------------------------------------------------------------- the documents


def test_this_file_is_the_documented_command():
    assert Path(__file__) == ROOT / "tests" / "test_tensorjit.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/test_tensorjit.py", "-q", "--collect-only"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
