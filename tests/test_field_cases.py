"""Faults that compilers of tensors have had in the field, each with the right answer: wrong values from fusion, symbolic sizes, compiling and running.

Every case runs with each installed toolchain. Below stand the cases that other tests hold already, by their names, and the cases that
ask for an op that is not there yet: both lists are checked, so neither can go stale.
"""

import ast
import hashlib
import itertools
import locale
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tjcore as tj
from tjcore import CompiledGraph, Dim, compile_plan, evaluate_graph, float32, grad, input, int32

ROOT = Path(__file__).resolve().parent.parent

# ------------------------------------------------------------------------------------------- what is held elsewhere, or not yet

HELD_ELSEWHERE = {
    "a compiled cache entry read while another process writes it": "tests/unit/test_cache_processes.py::test_twelve_processes_load_what_gcc_built",
    "a cache folder that is deleted meanwhile": "tests/unit/test_cache_processes.py::test_the_folder_deleted_again_and_again",
    "keys that depend on the hash seed": "tests/unit/test_cache_processes.py::test_hash_seeds_share_entries",
    "code for another CPU taken from a shared cache": "tests/unit/test_cpu.py::test_other_features_make_another_key",
    "no compiler, or one that does not start": "tests/unit/test_plugins_installed.py::test_an_absent_compiler_names_program_variable_and_plugin",
    "a compiler that fails, in each way": "tests/unit/test_toolchain_build.py::test_each_failure_says_what_happened",
    "a compiler that cannot be executed": "tests/unit/test_toolchain_build.py::test_each_way_not_to_start_is_told_apart",
    "no home, no folder, no permission": "tests/unit/test_cache_places.py::test_a_folder_without_permission_to_write",
    "a home that is missing": "tests/unit/test_cache_places.py::test_a_home_that_is_missing_is_not_made",
    "a user without password entry": "tests/unit/test_cache_places.py::test_a_user_without_password_entry_still_compiles",
    "a cache that others can write": "tests/unit/test_cache_places.py::test_a_folder_that_others_can_write_is_refused",
    "a cache that is a symlink": "tests/unit/test_cache_places.py::test_a_folder_that_is_a_symlink_is_refused",
    "a cache of somebody else": "tests/unit/test_cache_places.py::test_a_folder_of_another_user_is_refused_or_on_demand_bypassed",
    "temporary files that stay": "tests/unit/test_toolchain_process.py::test_temporary_files_are_gone",
    "a fork after threads have run": "tests/unit/test_pool_process.py::test_multiprocessing_pool_by_fork",
    "a fork while a call runs": "tests/unit/test_pool_process.py::test_fork_while_another_thread_is_inside_a_call_and_from_a_thread",
    "messages of a compiler in another language": "tests/unit/test_toolchain_build.py::test_messages_are_english_in_any_locale",
    "two plugins of one name": "tests/unit/test_plugins_installed.py::test_two_distributions_of_one_name_are_named_in_any_order",
    "one distribution listed twice": "tests/unit/test_plugins_installed.py::test_one_distribution_listed_twice_is_no_clash",
    "a variable that names no backend": "tests/unit/test_plugins_installed.py::test_the_variable",
    "a hook that raises": "tests/unit/test_plugins_hooks.py::test_an_error_of_a_hook_names_its_plugin",
    "a hook that returns nonsense": "tests/unit/test_plugins_hooks.py::test_nonsense_from_a_hook_names_its_plugin",
    "a failing hook that leaves an entry": "tests/unit/test_plugins_installed.py::test_a_failing_hook_leaves_nothing_behind",
    "Ctrl-C inside a hook": "tests/unit/test_plugins_hooks.py::test_ctrl_c_passes_through_a_hook",
}


@pytest.mark.parametrize("case", HELD_ELSEWHERE)
def test_what_is_held_elsewhere_is_there(case):
    path, _, name = HELD_ELSEWHERE[case].partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


X = input("x", (Dim("N", 1, 64), 4))
# What a case asks for -> an expression that would need it. When one of these begins to work, its case becomes a test above.
MISSING = {
    "slices: extremes of parts of a vector": lambda: X[1:3],
    "slices: an output that is a slice of a misaligned input": lambda: X[::2],
    "slices: sizes computed by division, floor((N - 3) / 2) + 1": lambda: X[0 : Dim("N", 1, 64) - 2 : 2],
    "slices: elements beyond 2**31": lambda: X[-10:],
    "reshape: an incompatible size is refused": lambda: X.reshape((7,)),
    "reshape: the shape follows each call": lambda: X.reshape((-1,)),
    "concat: the shape follows each call, and 2000 parts join": lambda: tj.concat([X, X], 0),
    "array constants: 16 MB of them": lambda: tj.constant(np.ones(4, np.float32)),
}


@pytest.mark.parametrize("case", MISSING)
def test_what_is_missing_is_really_missing(case):
    with pytest.raises((TypeError, AttributeError, ValueError)):
        MISSING[case]()


# ------------------------------------------------------------------------------------------------------------ wrong values from fusion


def reals(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def whole(seed, *shape, low=-50, high=50, dtype=np.float32):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def close(got, want, rtol=1e-6, atol=1e-6):
    for i, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype, i
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=atol, err_msg=f"output {i}")


def equal(got, want):
    close(got, want, rtol=0, atol=0)


@pytest.mark.parametrize("fuse", [True, False])
def test_a_matrix_and_its_transpose_and_their_sum(compile, fuse):
    n = Dim("N", 1, 16)
    x = input("x", (n, n))
    y = x * 2 + 1
    f = compile([y, y.T, y + y.T], fuse=fuse)
    for size in (8, 4, 1, 16, 7):
        a = reals(size, size, size)
        b = a * np.float32(2) + np.float32(1)
        equal(f(x=a), [b, b.T, b + b.T])


def test_other_memory_orders_are_refused_by_name_or_right(compile):
    x = input("x", (Dim("M", 1, 64), Dim("N", 1, 64)))
    f = compile([x * 2 + x])
    base = whole(3, 6, 8)
    wide, tall = np.zeros((6, 16), np.float32), np.zeros((18, 8), np.float32)
    wide[:, ::2], tall[1::3] = base, base
    equal(f(x=base), [base * 3])
    for view in (np.asfortranarray(base), wide[:, ::2], tall[1::3], base.T.copy().T, base[::-1]):
        with pytest.raises(ValueError, match=r"input 'x'.*C-contiguous.*ascontiguousarray"):
            f(x=view)
        equal(f(x=np.ascontiguousarray(view)), [view * 3])


def test_no_output_shares_memory_with_an_input_or_an_output(compile):
    a, b = input("a", (9, 11)), input("b", (9, 11))
    f = compile([0.5 - b * a + b, a, a, b.expand_dims(0), b.T])
    given = {"a": reals(5, 9, 11), "b": reals(6, 9, 11)}
    before = {name: array.copy() for name, array in given.items()}
    outputs = f(**given)
    for one, other in itertools.combinations([*outputs, *given.values()], 2):
        assert not np.shares_memory(one, other)
    for output in outputs:
        output[...] = 7
    assert all((given[name] == before[name]).all() for name in given)


def test_permutations_of_a_broadcast_transposed_operand(compile):
    r1, r2 = whole(7, 4, 3, 5, low=0), whole(8, 5, 3, low=0)
    a, b = input("r1", (4, 3, 5)), input("r2", (5, 3))
    d = (a * 3 + b.T).permute((2, 1, 0))
    want = (r1 * 3 + r2.T).transpose(2, 1, 0)
    orders = list(itertools.permutations(range(3)))
    together = compile([7 - d.permute(p) for p in orders])(r1=r1, r2=r2)
    for p, got in zip(orders, together, strict=True):
        equal([got], [7 - want.transpose(p)])
        if compile.free or p in ((2, 0, 1), (1, 2, 0)):
            equal(compile([7 - d.permute(p)])(r1=r1, r2=r2), [7 - want.transpose(p)])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_what_is_returned_and_read_again_is_not_overwritten(compile, order):
    p, m, g, g2 = (input(name, (32, 48)) for name in ("p", "m", "g", "g2"))
    m2 = m * 0.75 + g * 0.25
    p2 = p - m2 * 0.125
    t = g2.exp()
    q = t * t + g2
    for step in range(4):  # more results of the same size, after the last reader of m2
        q = (q.T @ q).sum(0).broadcast_to((32, 48)) * 0.01 + q * (step + 1)
    outputs = [(p2, m2, q)[i] for i in order]
    arrays = {name: reals(i, 32, 48) for i, name in enumerate(("p", "m", "g", "g2"))}
    got = compile(outputs)(**arrays)
    close(got, evaluate_graph(outputs, arrays, {}), 1e-4, 1e-4)
    moved = np.float32(0.75) * arrays["m"] + np.float32(0.25) * arrays["g"]
    close([got[order.index(1)], got[order.index(0)]], [moved, arrays["p"] - np.float32(0.125) * moved])


@pytest.mark.parametrize("rows, columns", [(6, 9), (6, 6), (1, 9), (9, 1)])
def test_reductions_of_unlike_lengths_side_by_side(compile, rows, columns):
    m, v = input("m", (Dim("M", 1, 16), Dim("N", 1, 16))), input("v", (5,), int32)
    f = compile([m.sum(0), m.sum(1), m.sum(0).max() - m.max(1).sum(), v.max() - v.min()])
    a, b = whole(11, rows, columns, low=-20, high=20), whole(12, 5, dtype=np.int32)
    equal(f(m=a, v=b), [a.sum(0), a.sum(1), a.sum(0).max() - a.max(1).sum(), b.max() - b.min()])


def test_a_column_and_a_row_at_every_size(compile):
    m, n = Dim("M", 1, 8), Dim("N", 1, 8)
    a, b = input("a", (m, 1)), input("b", (n,))
    f = compile([a - b, (a - b).sum(0)])
    for rows, columns in ((2, 2), (3, 5), (1, 5), (3, 1), (1, 1)):
        left, right = reals(rows, rows, 1), reals(columns, columns)
        close(f(a=left, b=right), [left - right, (left - right).sum(0)])
    assert f.compilations == 1


def test_diamonds_in_every_spelling(compile):
    x = input("x", (33,))
    t = x * 3 - 1
    spellings = [t + t, 4 * (t + t), t * t - t, t.maximum(t), (t + t) * (t - t)]
    assert [len(compile_plan([s]).kernels) for s in spellings] == [1] * 5
    a = reals(14, 33)
    b = a * 3 - 1
    want = [b + b, 4 * (b + b), b * b - b, np.maximum(b, b), (b + b) * (b - b)]
    equal(compile(spellings)(x=a), want)
    if compile.free:
        equal([compile([s])(x=a)[0] for s in spellings], want)


def test_outputs_that_are_the_input_or_one_node_twice_at_every_alignment(compile):
    x = input("x", (40,))
    d = x * 2
    f = compile([x, d, d])
    big = reals(17, 80)
    for offset in (0, 1, 3, 8):
        a = big[offset : offset + 40]
        same, one, two = f(x=a)
        equal([same, one, two], [a, a * 2, a * 2])
        one[...] = 0
        equal([same, two], [a, a * 2])


def test_what_broadcasts_is_declared_and_gradients_have_their_inputs_shapes(compile):
    m, n = Dim("M", 1, 8), Dim("N", 1, 8)
    a, b, c = input("a", (m, 1)), input("b", (m, n)), input("c", (n,))
    loss = (a * b * c).sum().sum()
    f = compile([loss, *grad(loss, [a, b, c])])
    for rows, columns in ((3, 4), (3, 1), (1, 4), (1, 1)):
        x, y, z = reals(1, rows, 1), reals(2, rows, columns), reals(3, columns)
        want = [
            np.float32((x.astype(np.float64) * y * z).sum())[...],
            (y * z).sum(1, keepdims=True),
            np.broadcast_to(x * z, (rows, columns)),
            (x * y).sum(0),
        ]
        close(f(a=x, b=y, c=z), want, 1e-5, 1e-5)
    with pytest.raises(ValueError, match="N and M"):
        input("x", (n, 4)) + input("y", (m, 4))


# ------------------------------------------------------------------------------------------------------------------- symbolic sizes


def test_sizes_zero_one_and_the_largest_in_any_order(compile):
    n = Dim("N", 0, 64)
    x, unused = input("x", (n, 5)), input("unused", (n,))
    f = compile([x * 2 + 1, x.sum(0), x.sum(1), unused])
    for size in (1, 0, 2, 64, 1, 0, 64):
        a, b = reals(size, size, 5), np.zeros(size, np.float32)
        close(f(x=a, unused=b), [a * 2 + 1, a.astype(np.float64).sum(0).astype(np.float32), a.sum(1), b], 1e-5, 1e-5)
    assert f.compilations == 1
    above = compile([input("x", (Dim("N", 1, 64), 5)) * 2])
    with pytest.raises(ValueError, match=r"axis 0: expected N in 1\.\.64, got 0"):
        above(x=np.zeros((0, 5), np.float32))


def test_shapes_follow_each_call(compile):
    n = Dim("N", 1, 64)
    x = input("x", (n, 3))
    f = compile([x * 3, (x * 3).T.expand_dims(1), x.sum(1).broadcast_to((2, n))])
    for size in (1, 2, 3, 4, 2, 64, 3):
        a = np.arange(size * 3, dtype=np.float32).reshape(size, 3)
        equal(f(x=a), [a * 3, (a * 3).T[:, None], np.broadcast_to(a.sum(1), (2, size))])


@pytest.mark.parametrize("reuse", [True, False])
def test_memory_is_enough_at_both_bounds_and_between(compile, reuse):
    x, w = input("x", (Dim("N", 1, 128), 16)), input("w", (16, 16))
    h = (x @ w).relu()
    k = (h @ w).relu()
    f = compile([k @ w + h, h], reuse=reuse)
    weights = reals(0, 16, 16)
    for size in (1, 128, 64, 128, 1):
        a = reals(size, size, 16)
        b = np.maximum(a @ weights, 0)
        close(f(x=a, w=weights), [np.maximum(b @ weights, 0) @ weights + b, b], 1e-4, 1e-3)


def test_one_dim_in_two_inputs_and_every_other_mistake_then_a_good_call(compile):
    n = Dim("N", 1, 64)
    f = compile([input("x", (n, 3)).sum(1) + input("y", (n,))])
    one = {"x": np.ones((4, 3), np.float32), "y": np.ones(4, np.float32)}
    bad = [
        (one | {"y": np.ones(5, np.float32)}, ValueError, ("'y'", "'x'", "N", "4", "5")),
        (one | {"x": np.ones(4, np.float32)}, ValueError, ("'x'", "rank 2", "rank 1")),
        (one | {"x": np.ones((4, 3))}, TypeError, ("'x'", "float64", "float32")),
        ({"x": one["x"]}, ValueError, ("'y'", "missing")),
        (one | {"z": one["y"]}, ValueError, ("'z'", "unexpected")),
    ]
    for arrays, kind, words in bad:
        calls = f.calls
        with pytest.raises(kind) as refusal:
            f(**arrays)
        assert all(word in str(refusal.value) for word in words) and f.calls == calls
        equal(f(**one), [np.full(4, 4, np.float32)])


def test_offsets_are_computed_in_64_bits_and_budgets_in_any(compile):
    m, k = Dim("M", 1, 100_000), Dim("K", 1, 50_000)
    x, y = input("x", (m, k), int32), input("y", (m, k), int32)
    f = compile([x * 2 + y], max_bytes=1 << 20)
    row = np.broadcast_to(np.arange(40_000, dtype=np.int32), (70_000, 40_000))
    with pytest.raises(ValueError, match=r"input 'x'.*C-contiguous"):
        f(x=row, y=row)
    free = compile([tj.constant(1, int32).broadcast_to((m, k)) + 1], max_bytes=1 << 20)
    with pytest.raises(ValueError, match=r"M=70000.*11,200,000,000 bytes.*max_bytes|11,200,000,000 bytes"):
        free.run_with_bindings({"M": 70_000, "K": 40_000})


# ------------------------------------------------------------------------------------------------------------ compiling and running


@pytest.mark.toolchain
def test_two_thousand_outputs():
    limit = sys.getrecursionlimit()
    x, outputs = input("x", (3,)), []
    for _ in range(1000):
        x = x * 2 - 1
        outputs += [x, x + 1]
    start = time.process_time()
    f = CompiledGraph(outputs)
    a = np.array([0.5, 1, 1.25], np.float32)
    want, b = [], a
    with np.errstate(over="ignore"):
        for _ in range(1000):
            b = b * 2 - 1
            want += [b, b + 1]
    equal(f(x=a), want)
    assert time.process_time() - start < 60 and len(f.source) < 2**21 and sys.getrecursionlimit() == limit


def levels(count, step):
    x = z = input("x", (64,))
    for _ in range(count):
        z = step(z)
    return x, z


@pytest.mark.parametrize(
    "step",
    [lambda y: (y + y * 0.5) - y * y * 0.25, lambda z: z.tanh() * z + z * 0.5, lambda z: z - z.mean() * z, lambda z: z + z],
    ids=["polynomial", "tanh", "mean", "doubling"],
)
def test_values_used_again_at_each_level_cost_their_number(step):
    def ops(count, gradient):
        x, z = levels(count, step)
        plan = compile_plan([grad(z.sum(), x) if gradient else z])
        return sum(len(kernel.ops) for kernel in plan.kernels), len(plan.source)

    for gradient in (False, True):
        (few, short), (many, long) = ops(12, gradient), ops(48, gradient)
        assert many < 8 * few and long < 8 * short, f"4 times the levels, {few} -> {many} ops, {short} -> {long} characters"


@pytest.mark.toolchain
def test_forty_eight_levels_run():
    start = time.process_time()
    _, y = levels(48, lambda y: (y + y * 0.5) - y * y * 0.25)
    _, z = levels(12, lambda z: z.tanh() * z + z * 0.5)
    a = np.random.default_rng(1003).random(64).astype(np.float32)
    want = a
    for _ in range(48):
        want = (want + want * np.float32(0.5)) - want * want * np.float32(0.25)
    equal(CompiledGraph([y])(x=a), [want])
    want = a
    for _ in range(12):
        want = np.tanh(want) * want + want * np.float32(0.5)
    close(CompiledGraph([z])(x=a), [want], 2e-3, 1e-5)
    assert time.process_time() - start < 15


SOURCE = "import tjcore as tj; n = tj.Dim('N', 1, 64); x = tj.input('x', (n, 3)); "
SOURCE += "print(tj.compile_plan([(x * 1.23 + 0.25).tanh().sum(1), x.T * n.upper]).source)"


def sources(setups):
    digests = set()
    for before, environment in setups:
        done = subprocess.run(
            [sys.executable, "-c", before + SOURCE], capture_output=True, text=True, check=True, env={"PATH": "", **environment}
        )
        assert "1p" in done.stdout or "0x1." in done.stdout
        digests.add(hashlib.sha256(done.stdout.encode()).hexdigest())
    return digests


def test_the_source_is_the_same_under_every_hash_seed():
    assert len(sources([("", {"PYTHONHASHSEED": seed}) for seed in ("0", "1", "random")])) == 1


def test_the_source_is_the_same_under_a_decimal_comma():
    comma = None
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "nl_NL.UTF-8", "fr_FR.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        finally:
            locale.setlocale(locale.LC_ALL, before)
        comma = name
    if comma is None:
        pytest.skip("no locale with a decimal comma is installed")
    change = f"import locale; locale.setlocale(locale.LC_ALL, {comma!r}); "
    assert len(sources([("", {}), (change, {"LC_ALL": comma})])) == 1


def test_two_toolchains_with_threads_and_numpys_own_in_one_process(compile, peers):
    if compile.free or not peers:
        pytest.skip("not two toolchains that build code")
    x = input("x", (300, 200))
    outputs = [x.tanh().sum(1), x @ x.T]
    a = reals(20, 300, 200)
    graphs = [one(outputs, threads=2) for one in (compile, *peers)]

    def rounds(_):
        results = []
        for _ in range(3):
            results += [f(x=a) for f in graphs]
            np.matmul(a, a.T)
        return results

    with ThreadPoolExecutor(2) as pool:
        results = [r for part in pool.map(rounds, range(2)) for r in part]
    for got in results:
        equal(got, results[0])
    close(results[0], [np.tanh(a).sum(1), a @ a.T], 1e-4, 1e-3)
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert not re.search(r"lib(gomp|omp|iomp5)\b", maps.read_text(encoding="utf-8"))


@pytest.mark.parametrize("threads", [1, 2])
def test_one_object_called_from_eight_threads_at_many_sizes(compile, threads):
    x, w = input("x", (Dim("N", 1, 400), 33)), input("w", (33, 33))
    f = compile([(x @ w).relu() @ w.T - x.mean(0)], threads=threads)
    weights = reals(22, 33, 33)
    sizes = np.random.default_rng(1022).integers(1, 400 if not compile.free else 20, 24)
    batches = [reals(i, int(n), 33) for i, n in enumerate(sizes)]
    want = [f(x=a, w=weights)[0] for a in batches]
    for a, result in zip(batches, want, strict=True):
        close([result], [np.maximum(a @ weights, 0) @ weights.T - a.mean(0)], 1e-4, 1e-2)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(1 if compile.free else 6):
            for got, expected in zip(pool.map(lambda a: f(x=a, w=weights)[0], batches), want, strict=True):
                equal([got], [expected])


def test_default_dtype_is_float32():
    assert X.dtype is float32
