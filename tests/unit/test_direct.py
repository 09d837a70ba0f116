"""The direct way from arrays to native code: same answers and same refusals as through Python."""

import sys

import numpy as np
import pytest

from tjcore import CallError, CompiledGraph, Dim, input

N = Dim("N", 1, 100_000)
pytestmark = pytest.mark.toolchain


class Labelled(np.ndarray):
    """An array whose operators could mean anything."""


def layered():
    x, w = input("x", (N, 16)), input("w", (16, 16))
    h = ((x @ w).relu() @ w).relu()
    return [h @ w, h.sum(1)]


def arrays(n, seed=0):
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal((n, 16), np.float32), "w": rng.standard_normal((16, 16), np.float32)}


@pytest.fixture(scope="module")
def graph():
    return CompiledGraph(layered())


def same(got, want):
    assert len(got) == len(want)
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape and mine.tobytes() == theirs.tobytes()


# ------------------------------------------------------------------------------------------------------- the direct way


def slow(graph, given):
    """The same call through Python."""
    return graph.run_with_bindings({"N": len(given["x"])}, **given)


def test_direct_and_slow_calls_agree(graph):
    assert graph._call is not None, "this interpreter goes the direct way"
    for n in (1, 7, 300, 4097, 7):
        given = arrays(n)
        want = slow(graph, given)
        for _ in range(2):  # the first call of a size teaches, the second is direct
            same(graph(**given), want)
        before = graph._state.state.calls
        same(graph(w=given["w"], x=given["x"]), want)
        assert graph._state.state.calls == before + 1, "in another order of names, still directly"
    assert graph.last_memory.bindings == {"N": 7}


def test_more_sizes_than_are_remembered(graph):
    for n in (*range(1, 1500), *range(1, 1500, 40)):
        given = arrays(n)
        out = graph(**given)
        assert out[1].shape == (n,)
    same(graph(**arrays(123)), slow(graph, arrays(123)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a | {"x": a["x"].astype(np.float64)}, r"input 'x': expected dtype float32, got float64"),
        (lambda a: a | {"x": a["x"].astype(">f4")}, r"'x': expected dtype float32, got float32 of foreign byte order"),
        (lambda a: a | {"x": a["x"][::-1]}, r"'x': expected a C-contiguous array"),
        (lambda a: a | {"x": a["x"].ravel()}, r"'x': expected rank 2"),
        (lambda a: a | {"x": a["x"].tolist()}, r"'x': expected a numpy.ndarray, got list"),
        (lambda a: a | {"x": a["x"].view(Labelled)}, r"its subclass Labelled"),
        (lambda a: a | {"w": a["w"][:, :15].copy()}, r"'w', axis 1: expected 16, got 15"),
        (lambda a: a | {"x": a["x"][:0].copy()}, r"expected N in 1\.\.100000, got 0"),
        (lambda a: a | {"y": a["x"]}, r"unexpected input 'y'; expected 'x', 'w'"),
        (lambda a: {"x": a["x"]}, r"missing input 'w'"),
    ],
)
def test_guards_are_complete_after_a_size_is_known(graph, change, words):
    given = arrays(9)
    graph(**given), graph(**given)
    with pytest.raises(ValueError, match=words):
        graph(**change(given))
    same(graph(**given), slow(graph, given))


def test_unaligned_arrays_are_refused_directly_too(graph):
    given = arrays(4)
    graph(**given)
    room = np.zeros(4 * 16 * 4 + 1, np.uint8)
    with pytest.raises(CallError, match="expected memory aligned to 4 bytes"):
        graph(x=room[1:].view(np.float32).reshape(4, 16), w=given["w"])


def test_read_only_inputs_and_memmaps(graph, tmp_path):
    given = arrays(5)
    want = slow(graph, given)
    given["x"].flags.writeable = False
    same(graph(**given), want)
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(5, 16))
    mapped[...] = given["x"]
    same(graph(**given | {"x": mapped}), want)


def test_refused_calls_keep_no_references(graph):
    given = arrays(8)
    graph(**given)
    bad = np.ones((8, 15), np.float32)
    counts = [sys.getrefcount(a) for a in (bad, given["w"], given["x"])]
    for _ in range(300):
        with pytest.raises(CallError):
            graph(x=bad, w=given["w"])
        graph(**given)
    assert [sys.getrefcount(a) for a in (bad, given["w"], given["x"])] == counts


def test_without_the_direct_way_all_is_the_same(monkeypatch):
    from tjcore import direct

    monkeypatch.setattr(direct, "_methods", lambda support: None)
    plain = CompiledGraph(layered())
    assert plain._state is None
    given = arrays(33)
    out = (np.empty((33, 16), np.float32), None)
    want = plain(**given)
    got = plain(**given, out=out)
    assert got[0] is out[0]
    same(got, want)
    prepared = plain.prepare(**given)
    same(prepared(), want)
    assert plain.calls == 3 and plain.last_memory.bindings == {"N": 33}


def test_symbols_that_no_input_carries():
    k = Dim("K", 1, 50)
    f = CompiledGraph([input("s", ()).broadcast_to((k,)) * 2.0])
    s = np.asarray(3, np.float32)
    for size in (4, 9):
        (got,) = f.run_with_bindings({"K": size}, s=s)
        assert got.shape == (size,) and (got == 6).all()
    with pytest.raises(CallError, match="no input carries the size of K"):
        f(s=s)
    p = f.prepare(K=5, s=s)
    s[...] = 4
    assert p()[0].tolist() == [8.0] * 5


def test_names_that_could_collide():
    out, state = input("out", (4,)), input("self", (4,))
    f = CompiledGraph([out + state])
    a = np.arange(4, dtype=np.float32)
    assert f(out=a, self=a)[0].tolist() == [0, 2, 4, 6]
    p = f.prepare(out=a, self=a)
    assert p()[0].tolist() == [0, 2, 4, 6] and set(p.inputs) == {"out", "self"}
