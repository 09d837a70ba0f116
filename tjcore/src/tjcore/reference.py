"""The evaluator that defines what a graph means: each node's NumPy meaning, one after another.

In: outputs, input arrays by name, sizes of symbols by name. Out: the outputs as new arrays. Slow and simple on purpose;
it is the oracle for every toolchain, and serves where no compiler is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dims import Size, evaluate
from .errors import CallError, shown
from .graph import Expr, held
from .ops import OPS, show_shape
from .simplify import expand
from .traversal import check_outputs, toposort


def _given(node: Expr, arrays: Mapping[str, NDArray[Any]], size: Callable[[Size], int]) -> NDArray[Any]:
    value = arrays.get(node.arg, held(node))
    if not isinstance(value, np.ndarray):
        what = "nothing" if value is None else shown(value)
        raise CallError(f"evaluate_graph: input {shown(node.arg)}: expected a numpy.ndarray, got {what}")
    shape = tuple(map(size, node.shape))
    if value.dtype != node.dtype.numpy or value.shape != shape:
        raise CallError(
            f"evaluate_graph: input {shown(node.arg)}: expected {node.dtype} of shape {show_shape(node.shape)} = {shape}, "
            f"got {value.dtype} of shape {value.shape}"
        )
    return value


def evaluate_graph(outputs: Sequence[Expr], arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> list[NDArray[Any]]:
    """The value of each output, C-contiguous and never sharing memory with an input."""
    outputs = expand(check_outputs("evaluate_graph", outputs))
    nodes = toposort(outputs)
    readers = dict.fromkeys(nodes, 0)
    for node in nodes:
        for source in node.sources:
            readers[source] += 1
    for output in outputs:
        readers[output] += 1

    def size(value: Size) -> int:
        return value if isinstance(value, int) else evaluate(value, sizes)

    values: dict[Expr, NDArray[Any]] = {}
    for node in nodes:
        if node.op == "input":
            value = _given(node, arrays, size)
        elif node.op == "constant":
            value = np.asarray(node.arg, node.dtype.numpy)
        elif node.op == "size":
            value = np.asarray(size(node.arg)).astype(node.dtype.numpy)
        else:
            value = OPS[node.op].meaning(node.arg, size, *(values[s] for s in node.sources))
            value = np.asarray(value, node.dtype.numpy)
        values[node] = value
        for source in node.sources:
            readers[source] -= 1
            if not readers[source]:
                del values[source]
    return [np.array(values[output], order="C", copy=True) for output in outputs]
