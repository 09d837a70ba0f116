"""Calls of compiled graphs: bounds of sizes, where arrays lie, threads of the caller, copies of the object."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tjcore import CallError, CompiledGraph, Dim, DtypeError, Expr, evaluate_graph, float32, input
from tjcore.dtypes import DTYPES

from . import opcases
from .compare import assert_same
from .compiling import Compile, call
from .graphs import Sample, classifier, residual, statistics
from .values import mixed

LOW, HIGH = 3, 19
S, T = Dim("S", LOW, HIGH), Dim("T", 0, 1 << 20)


def bounded() -> list[Expr]:
    x, y = input("x", (S, T)), input("y", (T, 4))
    return [x @ y, (x + 1).sum(0), x.expand_dims(2) * 2]


class TestBounds:
    """Sizes at the bounds of their symbols run; one beyond is refused before any code does."""

    outputs = bounded()

    def arrays(self, s: int, t: int) -> dict[str, NDArray[Any]]:
        random = np.random.default_rng(s)
        return {"x": random.standard_normal((s, t), np.float32), "y": random.standard_normal((t, 4), np.float32)}

    @pytest.mark.parametrize("s", [LOW, LOW + 1, HIGH - 1, HIGH])
    @pytest.mark.parametrize("t", [0, 1, 333])
    def test_within(self, s: int, t: int, compile: Compile) -> None:
        arrays = self.arrays(s, t)
        want = evaluate_graph(self.outputs, arrays, {"S": s, "T": t})
        for i, (mine, theirs) in enumerate(zip(compile(self.outputs)(**arrays), want, strict=True)):
            assert_same(mine, theirs, f"output {i} at S={s}, T={t}")

    @pytest.mark.parametrize("s", [0, LOW - 1, HIGH + 1, 10 * HIGH])
    def test_beyond(self, s: int, compile: Compile) -> None:
        compiled = compile(self.outputs)
        calls = compiled.calls
        with pytest.raises(CallError, match=f"'x', axis 0.*{LOW}..{HIGH}.*{s}"):
            compiled(**self.arrays(s, 2))
        assert compiled.calls == calls

    def test_disagreeing_sizes(self, compile: Compile) -> None:
        with pytest.raises(CallError, match=r"'y', axis 0.*5.*6|'x', axis 1.*6.*5"):
            compile(self.outputs)(x=np.zeros((4, 5), np.float32), y=np.zeros((6, 4), np.float32))

    def test_unfit_arrays(self, compile: Compile) -> None:
        compiled, good = compile(self.outputs), self.arrays(4, 6)
        with pytest.raises(DtypeError, match="'x'"):
            compiled(**good | {"x": good["x"].astype(np.float64)})
        with pytest.raises(CallError, match="'x'"):
            compiled(**good | {"x": np.asfortranarray(good["x"])})
        with pytest.raises(CallError, match="'x'"):
            compiled(**good | {"x": good["x"][0]})


class TestMemory:
    """Inputs are read only, wherever they lie; outputs are memory of their own."""

    def test_inputs_are_not_written(self, compile: Compile) -> None:
        for sample in (classifier(), residual(float32)):
            sizes = {"B": 33, "H": 17}
            arrays = sample.arrays(sizes)
            before = {name: x.copy() for name, x in arrays.items()}
            for x in arrays.values():
                x.flags.writeable = False
            call(compile(sample.outputs), arrays, sizes)
            for name, x in arrays.items():
                assert_same(x, before[name], f"input {name!r} after a call of {sample}")

    def test_outputs_share_nothing(self, compile: Compile) -> None:
        a, b = input("a", (opcases.N,)), input("b", (opcases.N,))
        outputs = [a, a + b, a, a.expand_dims(0), a + b, b.expand_dims(1)]  # inputs, views of them, and one node twice
        arrays = {"a": np.arange(40, dtype=np.float32), "b": np.ones(40, np.float32)}
        first, second = compile(outputs)(**arrays), compile(outputs)(**arrays)
        everything = [*arrays.values(), *first, *second]
        for i, x in enumerate(everything):
            for y in everything[i + 1 :]:
                assert not np.shares_memory(x, y)
        for output in (*first, *second):
            assert output.flags.writeable and output.flags.c_contiguous and output.flags.aligned
            output[...] = -1
        assert_same(arrays["a"], np.arange(40, dtype=np.float32), "input 'a' after writing to the outputs")

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_any_alignment(self, dtype: Any, compile: Compile) -> None:
        family = opcases.elementwise(dtype) or opcases.views(dtype)
        outputs = list(family.values())
        n, random = 100, np.random.default_rng(3)
        sizes = {"N": n, "M": 5, "K": n}
        arrays = {}
        for node in inputs_of(compile, outputs):
            shape = [s if isinstance(s, int) else sizes[str(s)] for s in node.shape]
            arrays[node.arg] = mixed(node.dtype, shape, random)
        want = call(compile(outputs), arrays, sizes)
        for shift in (1, 3, 5, 15):  # in elements: aligned as the dtype needs, and no more
            moved = {}
            for name, x in arrays.items():
                room = np.empty(x.size + 64 + shift, x.dtype)
                start = -room.ctypes.data // x.itemsize % (64 // x.itemsize) + shift  # so many elements behind a multiple of 64 bytes
                moved[name] = room[start : start + x.size].reshape(x.shape)
                moved[name][...] = x
            for label, mine, theirs in zip(family, call(compile(outputs), moved, sizes), want, strict=True):
                assert_same(mine, theirs, f"{label}: inputs {shift} elements further")

    def test_one_array_as_two_inputs(self, compile: Compile) -> None:
        a, b = input("a", (opcases.N,)), input("b", (opcases.N,))
        outputs = [a + b, (a * b).sum(0), a - b]
        x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
        overlapping = {"a": x[:900], "b": x[50:950]}
        apart = {name: part.copy() for name, part in overlapping.items()}
        for arrays, want in (({"a": x, "b": x}, {"a": x, "b": x.copy()}), (overlapping, apart)):
            for mine, theirs in zip(compile(outputs)(**arrays), compile(outputs)(**want), strict=True):
                assert_same(mine, theirs, "inputs that overlap")


def inputs_of(compile: Compile, outputs: list[Expr]) -> tuple[Expr, ...]:
    return compile(outputs).plan.inputs


class TestObject:
    """The compiled object: called from many threads, pickled, called with many sizes."""

    @pytest.mark.parametrize("threads", [1, 2])
    def test_called_from_eight_threads(self, threads: int, compile: Compile) -> None:
        sample = residual(float32)
        compiled = compile(sample.outputs, threads=threads)
        jobs = []
        for i in range(32):
            sizes = {"B": 1 + 7 * (i % 8), "H": 1 + 5 * (i % 3)}
            arrays = sample.arrays(sizes, seed=i)
            jobs.append((sizes, arrays, call(compiled, arrays, sizes)))
        before = compiled.calls

        def run(job: tuple[dict[str, int], dict[str, Any], tuple[NDArray[Any], ...]]) -> None:
            sizes, arrays, want = job
            for _ in range(5):
                for i, (mine, theirs) in enumerate(zip(call(compiled, arrays, sizes), want, strict=True)):
                    assert_same(mine, theirs, f"output {i} of {sizes}, while seven other threads call")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(run, jobs))
        assert compiled.calls == before + 5 * len(jobs), "calls were miscounted"

    @pytest.mark.parametrize("sample", [classifier(), statistics()], ids=str)
    def test_pickled(self, sample: Sample, compile: Compile) -> None:
        sizes = {"B": 9, "H": 11}
        arrays, compiled = sample.arrays(sizes), compile(sample.outputs)
        again = pickle.loads(pickle.dumps(compiled))
        assert isinstance(again, CompiledGraph) and again.backend == compiled.backend == compile.backend
        for i, (mine, theirs) in enumerate(zip(call(again, arrays, sizes), call(compiled, arrays, sizes), strict=True)):
            assert_same(mine, theirs, f"output {i} after pickling")

    def test_one_build_for_all_sizes(self, compile: Compile) -> None:
        sample = statistics()
        compiled = compile(sample.outputs)
        for b in (1, 2, 50, 3):
            call(compiled, sample.arrays({"B": b, "H": 2 * b}), {"B": b, "H": 2 * b})
        assert compiled.compilations == 1
        assert compiled.toolchain_version
        assert compiled.last_memory is not None and compiled.last_memory.bindings == {"B": 3, "H": 6}
