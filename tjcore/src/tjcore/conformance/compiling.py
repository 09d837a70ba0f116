"""Compiling and calling as the suite does: each graph once per backend, each call by arrays for more inputs than a graph may have.

In: outputs and options. Out: `CompiledGraph`s, remembered. A build that failed is remembered too, and raises again without a second try.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tjcore import CompiledGraph, Expr, TensorJitError
from tjcore.dims import evaluate

Arrays = Mapping[str, NDArray[Any]]


class Compile:
    """`compile(outputs, **options)` for one backend."""

    def __init__(self, backend: str, *, free: bool = False) -> None:
        self.backend = backend
        self.free = free
        """Whether building costs nothing, so that computing one output beats building many at once."""
        self._built: dict[object, CompiledGraph | TensorJitError] = {}

    def __call__(self, outputs: Sequence[Expr], **options: Any) -> CompiledGraph:
        key = (tuple(outputs), tuple(sorted(options.items())))
        built = self._built.get(key)
        if built is None:
            try:
                built = CompiledGraph(outputs, backend=self.backend, **options)
            except TensorJitError as error:
                built = error
            self._built[key] = built
        if isinstance(built, TensorJitError):
            raise built
        return built


def call(compiled: CompiledGraph, arrays: Arrays, sizes: Mapping[str, int]) -> tuple[NDArray[Any], ...]:
    """A call with those of the arrays and sizes that the graph has. Inputs that are not given, since only other outputs read them, are zeros."""
    inputs = {
        node.arg: arrays[node.arg] if node.arg in arrays else np.zeros([evaluate(size, sizes) for size in node.shape], node.dtype.numpy)
        for node in compiled.plan.inputs
    }
    symbols = {dim.name for dim in compiled.plan.symbols}
    return compiled.run_with_bindings({name: size for name, size in sizes.items() if name in symbols}, **inputs)


def one_of(compile: Compile, family: Mapping[str, Expr], label: str, **options: Any) -> tuple[CompiledGraph, int]:
    """A graph that computes `family[label]`, and at which position: all of the family in one build, or that one alone where the family does not build.

    One build serves many tests; and one op that a toolchain cannot build fails its own test, not those of its whole family.
    """
    if not compile.free:
        try:
            return compile(list(family.values()), **options), list(family).index(label)
        except TensorJitError:
            pass
    return compile([family[label]], **options), 0


def same_everywhere(
    peers: Sequence[Compile], outputs: Sequence[Expr], arrays: Arrays, sizes: Mapping[str, int], got: Sequence[NDArray[Any]]
) -> None:
    """Each peer gives these bits. A peer that cannot build the graph has its own run to answer for that."""
    from .compare import assert_same

    for peer in peers:
        try:
            compiled = peer(outputs)
        except TensorJitError:
            continue
        for i, (mine, theirs) in enumerate(zip(got, call(compiled, arrays, sizes), strict=True)):
            assert_same(mine, theirs, f"output {i} against {peer.backend}, {dict(sizes)}")
