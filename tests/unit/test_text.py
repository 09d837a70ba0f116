"""Graphs as text: it reads back to the same graph, whatever is in it, and pickles and processes agree on it."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import tjcore as tj
from tjcore import Dim, constant, evaluate_graph, float64, grad, input, int64, read_graph, show_graph
from tjcore.conformance.graphs import random_samples
from tjcore.conformance.opcases import FAMILIES, cases
from tjcore.traversal import toposort

N, M = Dim("N", 1, 8), Dim("M", 0, 4096)
TEXT = """tensorjit graph 1
dim M 0 4096
dim N 1 8
%0 = input x float32 (N, 3)
%1 = input w float32 (3, M)
%2 = matmul %0 %1
%3 = constant float32 -0x0.0p+0
%4 = broadcast_to %3 (N, M)
%5 = maximum %2 %4
%6 = transpose %5 (1, 0)
%7 = sum %6 1
%8 = size float32 N
%9 = broadcast_to %8 (M,)
%10 = div %7 %9
return %10 %0 %10
"""


def graph():
    x, w = input("x", (N, 3)), input("w", (3, M))
    mean = (x @ w).maximum(-0.0).T.mean(1)
    return [mean, x, mean]


def test_the_text_of_a_graph():
    assert show_graph(graph()) == TEXT


def test_it_reads_back_to_the_same_graph():
    outputs = read_graph(TEXT)
    assert show_graph(outputs) == TEXT
    assert outputs[0] is outputs[2] and outputs[1].op == "input"
    for mine, theirs in zip(toposort(outputs), toposort(graph()), strict=True):
        assert (mine.op, mine.shape, mine.dtype, mine.arg) == (theirs.op, theirs.shape, theirs.dtype, theirs.arg)


def test_comments_and_empty_lines_do_not_count():
    assert show_graph(read_graph(TEXT.replace("%2 =", "# the product\n\n%2 ="))) == TEXT


@pytest.mark.parametrize("value", [0.1, -0.0, 1e-45, 3.4028234663852886e38, 1 / 3, 2.0**-126])
def test_every_bit_of_a_number_survives(value):
    (back,) = read_graph(show_graph([constant(value), constant(value, float64)][:1]))
    assert np.float32(back.arg).tobytes() == np.float32(value).tobytes()
    (back,) = read_graph(show_graph([constant(value, float64)]))
    assert np.float64(back.arg).tobytes() == np.float64(value).tobytes()


def test_integers_and_sizes_survive():
    for e in (constant(-(2**63), int64), input("x", (2 * N + 1, (N + M) // 2, 0, 2**31 - 1)), input("s", ())):
        assert show_graph(read_graph(show_graph([e]))) == show_graph([e])
        assert read_graph(show_graph([e]))[0].shape == e.shape


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_op_of_the_table_reads_back(kind):
    for label, dtype in cases(kind):
        text = show_graph([FAMILIES[kind](dtype)[label]])
        assert show_graph(read_graph(text)) == text, label


@given(sample=random_samples(exact=False))
@settings(max_examples=60, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_random_graphs_read_back_and_mean_the_same(sample):
    text = show_graph(sample.outputs)
    back = read_graph(text)
    assert show_graph(back) == text
    sizes = {"P": 2, "Q": 3}
    arrays = sample.arrays(sizes)
    for mine, theirs in zip(evaluate_graph(back, arrays, sizes), evaluate_graph(sample.outputs, arrays, sizes), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def chain(length):
    e = input("x", (4,))
    for i in range(length):
        e = e + 1 if i % 2 else -e
    return e


def test_a_chain_of_100000_nodes_pickles():
    limit = sys.getrecursionlimit()
    e = chain(100_000)
    text = show_graph([e])
    back = pickle.loads(pickle.dumps(e))
    assert show_graph([back]) == text and sys.getrecursionlimit() == limit
    assert toposort([back])[0] is toposort([e])[0], "an input that still lives is the same input"


def test_expressions_pickled_apart_share_their_inputs_again():
    x = input("x", (N, 3))
    one, two = pickle.dumps(x + 1), pickle.dumps(x * 2)
    name = x.arg
    del x
    a, b = pickle.loads(one), pickle.loads(two)
    assert toposort([a])[0] is toposort([b])[0] and toposort([a])[0].arg == name
    tj.compile_plan([a, b])  # which two inputs of one name would refuse


def test_gradients_and_shared_nodes_keep_their_sharing():
    x = input("x", (N,))
    t = x * x
    loss = (t * t + t).sum()
    outputs = [loss, grad(loss, x)]
    assert len(toposort(read_graph(show_graph(outputs)))) == len(toposort(outputs))


def test_equal_graphs_have_equal_text_in_every_process():
    script = "import tjcore as tj; n = tj.Dim('N', 1, 8); m = tj.Dim('M', 0, 4096); x = tj.input('x', (n, 3)); w = tj.input('w', (3, m)); "
    script += "e = (x @ w).maximum(-0.0).T.mean(1); print(tj.show_graph([e, x, e]), end='')"
    for seed in ("0", "1"):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed})
        assert done.stdout == TEXT
