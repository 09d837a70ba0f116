"""What the numeric contract says must not matter, as one list of builds of a graph, and the check that all of them give the same bits.

In: a sample, sizes, arrays, the backends. Out: nothing, or an AssertionError that names the first build that differs and the element. The
suite's random graphs, the property tests and the long-running fuzzer all check through this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tjcore import CallError, CompiledGraph, Dim, Expr, TensorJitError, evaluate_graph, read_graph, show_graph
from tjcore.traversal import toposort

from .compare import assert_same
from .compiling import Arrays, Compile, call
from .graphs import Sample, row_axes

Options = Mapping[str, Any]
Results = Sequence[NDArray[Any]]
HOW: Mapping[str, Options] = {
    "fused": {},
    "without fusion": {"fuse": False},
    "with 3 threads": {"threads": 3},
    "without reuse of memory": {"reuse": False},
    "for any CPU of the kind": {"target": "generic"},
    "without fusion, with 2 threads, without reuse": {"fuse": False, "threads": 2, "reuse": False},
}
"""How a toolchain may be asked to build a graph; the bits are those of the first."""
ROWS = 3
"""How many rows of a batch are computed by themselves."""


def assert_all_same(got: Results, want: Results, what: str) -> None:
    for i, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        assert_same(mine, theirs, f"output {i}, {what}")


def check_builds(
    compiles: Sequence[Compile], sample: Sample, sizes: Mapping[str, int], arrays: Arrays, how: Mapping[str, Options] = HOW
) -> None:
    """Every build by the first backend, and the plain build by every other, give the same bits: the reference's, where it defines them.

    A call that one build refuses, the others refuse as well.
    """
    first, *others = compiles
    want = attempt(first, sample, {}, arrays, sizes)
    if sample.exact and not isinstance(want, str):
        assert_all_same(
            want, evaluate_graph(sample.outputs, arrays, sizes), f"{first.backend} against the reference evaluator at {dict(sizes)}"
        )
    for label, options in how.items():
        if options and not first.free:
            _assert_alike(attempt(first, sample, options, arrays, sizes), want, f"{first.backend} {label} at {dict(sizes)}")
    for other in others:
        _assert_alike(attempt(other, sample, {}, arrays, sizes), want, f"{other.backend} against {first.backend} at {dict(sizes)}")


def check_rows(compile: Compile, sample: Sample, batch: Dim, sizes: Mapping[str, int], arrays: Arrays) -> int:
    """Rows of a batch have the bits that they have alone. Returns how many outputs have rows that can be told apart."""
    axes = row_axes(sample.outputs, batch)
    count = sizes[batch.name]
    if not count or all(axis is None for axis in axes):
        return 0
    whole = attempt(compile, sample, {}, arrays, sizes)
    split = {node.arg: axis for node, axis in zip(sample.inputs, row_axes(sample.inputs, batch), strict=True) if axis is not None}
    for row in dict.fromkeys((0, count // 2, count - 1)[:ROWS]):
        one = dict(arrays) | {name: np.ascontiguousarray(arrays[name].take([row], axis)) for name, axis in split.items()}
        alone = attempt(compile, sample, {}, one, dict(sizes) | {batch.name: 1})
        if isinstance(whole, str) or isinstance(alone, str):
            continue  # an empty axis, which some reduction has no answer for
        for i, axis in enumerate(axes):
            if axis is not None:
                assert_same(
                    whole[i].take([row], axis),
                    alone[i],
                    f"output {i}: row {row} of {count} along axis {axis} against it alone, {dict(sizes)}",
                )
    return sum(axis is not None for axis in axes)


def check_text(sample: Sample) -> None:
    """The graph's text reads back to a graph of the same text."""
    text = show_graph(sample.outputs)
    assert show_graph(read_graph(text)) == text, f"the text reads back to another graph:\n{text}"


def attempt(compile: Compile, sample: Sample, options: Options, arrays: Arrays, sizes: Mapping[str, int]) -> Results | str:
    """The results of a call, or the text of its refusal."""
    try:
        return call(compile(sample.outputs, **options), arrays, sizes)
    except CallError as error:
        return str(error)


def _assert_alike(got: Results | str, want: Results | str, what: str) -> None:
    if isinstance(got, str) or isinstance(want, str):
        assert got == want, f"{what}: one call is refused: {got if isinstance(got, str) else want}"
        return
    assert_all_same(got, want, what)


def culprit(sample: Sample, arrays: Arrays, sizes: Mapping[str, int], backend: str, options: Options) -> str:
    """The text of the smallest graph, among the nodes of one that went wrong, that goes wrong by itself against the reference evaluator."""
    wrong: list[tuple[int, str]] = []
    for node in toposort(sample.outputs):
        if not node.sources:
            continue
        (want,) = evaluate_graph([node], arrays, sizes)
        try:
            (got,) = call(CompiledGraph([node], backend=backend, **options), arrays, sizes)
            assert_same(got, want, "its result")
        except (AssertionError, TensorJitError) as error:
            wrong.append((len(toposort([node])), f"{str(error).splitlines()[0]}\n{show_graph([node])}"))
    if not wrong:
        return f"every node is right by itself; the whole graph:\n{show_graph(sample.outputs)}"
    return f"the smallest part that goes wrong by itself, with {dict(options)}: {min(wrong)[1]}"


def sample_of(outputs: Sequence[Expr], exact: bool) -> Sample:
    """A sample of a graph that is there already."""
    inputs = tuple(node for node in toposort(outputs) if node.op == "input")
    return Sample("given", tuple(outputs), inputs, exact)
