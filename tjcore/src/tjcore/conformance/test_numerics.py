"""The numeric contract on whole graphs: the bits do not depend on fusion, threads, memory, the batch, the caller's settings or the compiler."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tjcore import CompiledGraph, TensorJitError, evaluate_graph
from tjcore import options as choices
from tjcore.toolchain import Toolchain

from .compare import assert_same
from .compiling import Compile, call, same_everywhere
from .equalities import HOW, assert_all_same, check_builds, check_rows, culprit
from .graphs import P, Sample, inexact_ops, random_samples, samples

SIZES = ({"B": 1, "H": 1}, {"B": 5, "H": 3}, {"B": 37, "H": 40}, {"B": 130, "H": 65})
ALL = pytest.mark.parametrize("sample", samples(), ids=str)


class TestNumericContract:
    """Networks written by hand, each under every condition that must not matter."""

    @ALL
    def test_reference(self, sample: Sample, compile: Compile) -> None:
        assert sample.exact is not bool(inexact_ops(sample.outputs))
        for sizes in SIZES:
            arrays = sample.arrays(sizes)
            got, want = call(compile(sample.outputs), arrays, sizes), evaluate_graph(sample.outputs, arrays, sizes)
            if sample.exact:
                assert_all_same(got, want, f"against the reference evaluator at {sizes}")
            else:
                for mine, theirs in zip(got, want, strict=True):
                    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)

    @ALL
    def test_fused_is_unfused(self, sample: Sample, compile: Compile) -> None:
        for sizes in SIZES:
            arrays = sample.arrays(sizes)
            assert_all_same(
                call(compile(sample.outputs), arrays, sizes),
                call(compile(sample.outputs, fuse=False), arrays, sizes),
                f"fused against unfused at {sizes}",
            )

    @ALL
    @pytest.mark.parametrize("threads", [2, 3])
    def test_threads(self, sample: Sample, threads: int, compile: Compile) -> None:
        large = [] if compile.free else [{"B": 700, "H": 130}]  # enough work for each thread to take a share of every loop
        for sizes in (*SIZES, *large):
            arrays = sample.arrays(sizes)
            one = call(compile(sample.outputs, threads=1), arrays, sizes)
            assert_all_same(call(compile(sample.outputs, threads=threads), arrays, sizes), one, f"{threads} threads against 1 at {sizes}")

    @ALL
    def test_row_of_a_batch(self, sample: Sample, compile: Compile) -> None:
        compiled, sizes = compile(sample.outputs), {"B": 37, "H": 40}
        arrays = sample.arrays(sizes)
        batch = call(compiled, arrays, sizes)
        split = [node.arg for node in sample.inputs if node.shape[0] == sample.outputs[sample.rows[0]].shape[0]]
        for row in (0, 1, 18, 36):
            alone = call(compiled, arrays | {name: arrays[name][row : row + 1].copy() for name in split}, sizes | {"B": 1})
            for i in sample.rows:
                assert_same(batch[i][row : row + 1], alone[i], f"output {i}: row {row} of a batch of 37 against a batch of one")

    @ALL
    def test_memory_may_hold_anything(self, sample: Sample, compile: Compile) -> None:
        sizes = {"B": 37, "H": 40}
        arrays = sample.arrays(sizes)
        want = call(compile(sample.outputs), arrays, sizes)
        for fill in (0x00, 0xFF):  # 0xFF everywhere is NaN as a float and -1 as an integer
            for reuse in (True, False):
                with choices.settings(fill=fill):
                    filled = CompiledGraph(sample.outputs, backend=compile.backend, reuse=reuse)
                assert filled.options.fill == fill
                got = call(filled, arrays, sizes)
                assert_all_same(got, want, f"memory full of {fill:#x}, reuse={reuse}")

    @ALL
    def test_again(self, sample: Sample, compile: Compile) -> None:
        small, large = {"B": 5, "H": 3}, {"B": 130, "H": 65}
        first = call(compile(sample.outputs), sample.arrays(small), small)
        call(compile(sample.outputs), sample.arrays(large), large)
        assert_all_same(call(compile(sample.outputs), sample.arrays(small), small), first, "the same call again, after a larger one")

    @ALL
    def test_peers(self, sample: Sample, compile: Compile, peers: tuple[Compile, ...]) -> None:
        if compile.free or not peers:
            pytest.skip("no two toolchains that build code")
        for sizes in SIZES:
            arrays = sample.arrays(sizes)
            same_everywhere(peers, sample.outputs, arrays, sizes, call(compile(sample.outputs), arrays, sizes))

    @ALL
    def test_environment_of_the_caller(self, sample: Sample, compile: Compile, toolchain: Toolchain) -> None:
        if toolchain.dialect is None:
            pytest.skip("computes in NumPy, in the caller's environment")
        if platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
            pytest.skip("only for x86-64 with glibc is it known here how to change the environment")
        sizes = {"B": 37, "H": 40}
        arrays = {name: x * x.dtype.type(1e-22) if x.dtype == np.float32 else x for name, x in sample.arrays(sizes).items()}
        compiled = compile(sample.outputs, threads=2)
        want = call(compiled, arrays, sizes)
        for name, bits in {"flush to zero": 0x8040, "round up": 0x4000, "round towards zero": 0x6000}.items():
            with control_bits(bits) as control:
                got = call(compiled, arrays, sizes)
                left = control()
            assert_all_same(got, want, f"called under {name}")
            assert left & 0xE040 == bits, f"the caller's {name} was not restored: {left:#x}"


@contextmanager
def control_bits(bits: int) -> Iterator[Any]:
    """The SSE control register with these bits set; yields a function that reads it."""
    libm, place = ctypes.CDLL("libm.so.6"), 28  # where glibc keeps the register in an environment of 32 bytes
    before = ctypes.create_string_buffer(32)

    def read() -> int:
        now = ctypes.create_string_buffer(32)
        libm.fegetenv(now)
        return int.from_bytes(now.raw[place:], "little")

    libm.fegetenv(before)
    changed = before.raw[:place] + (int.from_bytes(before.raw[place:], "little") | bits).to_bytes(4, "little")
    try:
        libm.fesetenv(changed)
        yield read
    finally:
        libm.fesetenv(before)


class TestRandomGraphs:
    """Random graphs against the reference evaluator and each other, under the same conditions."""

    @given(sample=random_samples(), p=st.integers(0, 70), q=st.integers(0, 300), special=st.sampled_from((0.0, 0.1)))
    @settings(
        max_examples=12,
        derandomize=True,  # the same graphs on every machine and in every run
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),  # each try costs a build; `culprit` finds the smallest part of a graph that is wrong
        suppress_health_check=list(HealthCheck),
    )
    def test_graph(self, compile: Compile, peers: tuple[Compile, ...], sample: Sample, p: int, q: int, special: float) -> None:
        if special and not sample.wild:
            special = 0.0
        others = () if compile.free else peers
        for sizes in ({"P": p, "Q": q}, {"P": q, "Q": p}, {"P": 1, "Q": 1}):
            arrays = sample.arrays(sizes, p, special)
            try:
                check_builds((compile, *others), sample, sizes, arrays, BUILDS)
                check_rows(compile, sample, P, sizes, arrays)
            except (AssertionError, TensorJitError) as error:
                raise AssertionError(f"{error}\n{culprit(sample, arrays, sizes, compile.backend, {})}") from None


BUILDS = {label: options for label, options in HOW.items() if "target" not in options}
"""Of the builds, those that every toolchain must offer: whether a CPU can be named is a plugin's own affair."""
