"""The equalities of the numeric contract on random graphs, a few per run; `python -m bench.fuzz` is the form that runs for long.

The checks and the graphs are those of the conformance suite, over all installed toolchains at once.
"""

import itertools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tjcore import input, read_graph
from tjcore.conformance import equalities, opening
from tjcore.conformance.compiling import Compile
from tjcore.conformance.graphs import P, Q, Sample, grow, random_samples, row_axes
from tjcore.conformance.shrink import shrink
from tjcore.conformance.values import special
from tjcore.graph import size_of
from tjcore.traversal import toposort

ROOT = Path(__file__).resolve().parent.parent.parent
READY = [name for name in opening.offered() if name != "reference" and opening.open_backend(name).state == "ready"]
QUICK = settings(
    max_examples=4,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
pytestmark = pytest.mark.toolchain
EXTENT = st.sampled_from([0, 1, 2, 3, 16, 17, 64, 65])


@pytest.fixture(scope="module")
def compiles():
    if not READY:
        pytest.skip("no toolchain is ready")
    return [Compile(name) for name in READY]


def check(compiles, sample, p, q, share, values=0):
    sizes = {"P": p, "Q": q}
    arrays = sample.arrays(sizes, values, share)
    if share and not sample.wild:
        sample = Sample(sample.name, sample.outputs, sample.inputs, exact=False)
    equalities.check_builds(compiles, sample, sizes, arrays)
    equalities.check_rows(compiles[0], sample, P, sizes, arrays)


@given(sample=random_samples(), p=EXTENT, q=EXTENT, share=st.sampled_from([0.0, 0.2]))
@QUICK
def test_exactly_defined_ops(compiles, sample, p, q, share):
    check(compiles, sample, p, q, share)


@given(sample=random_samples(exact=False), p=EXTENT, q=EXTENT, share=st.sampled_from([0.0, 0.2]))
@QUICK
def test_functions_too(compiles, sample, p, q, share):
    check(compiles, sample, p, q, share)


# Graphs that went wrong once, or that could, each as text.
REMEMBERED = {
    "a sum and a maximum of one row, stretched and turned": """tensorjit graph 1
dim P 0 4096
dim Q 0 4096
%0 = input x float32 (P, Q)
%1 = sum %0 1
%2 = expand_dims %1 1
%3 = broadcast_to %2 (P, Q)
%4 = transpose %3 (1, 0)
%5 = max %4 1
%6 = sub %0 %3
return %6 %5 %4
""",
    "a product of a tensor with its own transpose, and of what it gives": """tensorjit graph 1
dim P 0 4096
dim Q 0 4096
%0 = input x float32 (P, Q)
%1 = transpose %0 (1, 0)
%2 = matmul %0 %1
%3 = matmul %2 %0
%4 = relu %3
return %4 %2
""",
}


@pytest.mark.parametrize("name", REMEMBERED)
def test_remembered_graphs(compiles, name):
    sample = equalities.sample_of(read_graph(REMEMBERED[name]), exact=True)
    for p, q in itertools.product((0, 1, 5, 64), repeat=2):
        if p and q:
            check(compiles, sample, p, q, 0.05)


def test_the_checks_see_a_wrong_bit(compiles):
    """What a check that could not fail would be worth: results of another graph must not pass for those of this one."""
    x = input("x", (P, Q))
    right, wrong = x + 0, x + -0.0
    arrays = {"x": np.array([[-0.0, 1]], np.float32)}
    sizes = {"P": 1, "Q": 2}

    class Lying(Compile):
        def __call__(self, outputs, **options):
            return super().__call__([wrong], **options)

    for liars in ([Lying(READY[0])], [compiles[0], Lying(READY[-1])]):
        with pytest.raises(AssertionError, match="1 of 2 elements differ; the first at \\(0, 0\\)"):
            equalities.check_builds(liars, Sample("x + 0", (right,), (x,), True), sizes, arrays)


def test_rows_that_know_each_other_are_told_from_those_that_do_not():
    x, u, w = input("x", (P, Q)), input("u", (P,)), input("w", (Q, Q))
    apart = {
        0: [x * u.expand_dims(1), x.sum(1), x @ w, (x @ w).max(1), x.broadcast_to((P, Q)), w.sum(0).broadcast_to((P, Q)), x.T.sum(0)],
        1: [x.T, x.expand_dims(0), w @ x.T],
        None: [
            x.sum(0),
            x.T @ x,
            x @ x.T,
            w.sum(0),
            size_of(P),
            x - x.sum(0),
            x * size_of(P),
            (x @ x.T).sum(1),
            u.sum().broadcast_to((P,)),
        ],
    }
    for axis, outputs in apart.items():
        assert row_axes(tuple(outputs), P) == [axis] * len(outputs)


def test_random_graphs_reach_what_they_should():
    reached, ops = Counter(), 0
    for seed in range(150):
        nodes = toposort(grow(seed, exact=False).outputs)
        readers = Counter(source for node in nodes for source in dict.fromkeys(node.sources))
        reached.update(node.op for node in nodes)
        reached.update(f"shared {node.op}" for node, count in readers.items() if count > 1)
        reached.update("view of a view" for n in nodes if n.op == "transpose" and n.sources[0].op == "broadcast_to")
        ops += sum(bool(node.sources) for node in nodes)
    wanted = {"input", "constant", "transpose", "broadcast_to", "expand_dims", "squeeze", "matmul", "sum", "max", "min"}
    wanted |= {"exp", "pow", "positive", "equals", "shared input", "shared mul", "view of a view"}
    assert wanted <= set(reached), wanted - set(reached)
    assert ops > 150 * 8


def test_a_graph_is_shrunk_to_what_is_wrong_with_it():
    def wrong(outputs):
        return any(n.op == "relu" and n.sources[0].op in ("transpose", "input") for n in toposort(outputs))

    found = next(outputs for seed in range(500) if wrong(outputs := grow(seed).outputs) and len(toposort(outputs)) > 15)
    (small,) = shrink(found, wrong)
    assert small.op == "relu" and small.sources[0].op == "input"


def test_special_values_are_really_among_the_arrays():
    x = input("x", (P, Q))
    sample = Sample("x", (x,), (x,), True)
    array = sample.arrays({"P": 40, "Q": 40}, special=0.5)["x"]
    assert np.isnan(array).any() and np.isinf(array).any() and (np.signbit(array) & (array == 0)).any()
    assert (np.abs(array[(array != 0) & np.isfinite(array)]) < 1e-38).any(), "subnormal"
    assert np.isfinite(sample.arrays({"P": 40, "Q": 40})["x"]).all() and len(special(x.dtype)) > 20


def fuzz(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "bench.fuzz", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300, **options
    )


def test_the_fuzzer_runs_a_graph_of_a_file_and_says_which_toolchains(compiles, tmp_path):
    path = tmp_path / "graph.txt"
    path.write_text(REMEMBERED["a sum and a maximum of one row, stretched and turned"], encoding="utf-8")
    done = fuzz("--graph", str(path), "--sizes", "P=3,Q=2", "--backend", READY[0])
    assert done.returncode == 0 and READY[0] in done.stdout, done.stdout + done.stderr


def test_the_fuzzer_prints_the_shrunk_graph_and_how_to_run_it_again_and_fails(compiles, tmp_path):
    # The reference is made wrong in three common ops; the fuzzer must find it and leave little of the graph.
    plant = "import tjcore.ops as o, dataclasses, sys, numpy as np\n"
    plant += "for name in ('add', 'sub', 'mul'):\n"
    plant += "    o.OPS[name] = dataclasses.replace(o.OPS[name], meaning=lambda a, s, x, y: np.maximum(x, y))\n"
    plant += f"from bench.fuzz import main; sys.exit(main(['--rounds', '6', '--seed', '3', '--shrink', '3', '--backend', {READY[0]!r}]))"
    done = subprocess.run([sys.executable, "-c", plant], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    text = done.stderr
    graph = text[text.index("tensorjit graph 1") : text.index("To run it again")]
    assert "python -m bench.fuzz --rounds 1 --seed" in text and "--graph FILE --sizes P=" in text
    assert any(node.op in ("add", "sub", "mul") for node in toposort(read_graph(graph))), graph
