"""The evaluator that defines what a graph means: each node's NumPy meaning, one after another.

In: outputs, input arrays by name, sizes of symbols by name. Out: the outputs as new arrays. Slow and simple on purpose;
it is the oracle for every toolchain, and serves where no compiler is installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dims import Size, evaluate
from .graph import Expr, toposort
from .ops import OPS


def evaluate_graph(outputs: Sequence[Expr], arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> list[NDArray[Any]]:
    """The value of each output, C-contiguous and never sharing memory with an input."""
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
            value = arrays[node.arg]
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
