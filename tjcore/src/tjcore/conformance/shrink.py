"""Making a graph that goes wrong small: fewer outputs, then fewer ops, as long as it goes wrong.

In: outputs and a test that says whether they still go wrong. Out: outputs of which no single step can be taken back. Greedy, and iterative.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from tjcore import Expr, input
from tjcore.traversal import toposort

Outputs = tuple[Expr, ...]


def shrink(outputs: Outputs, wrong: Callable[[Outputs], bool], seconds: float = 60.0) -> Outputs:
    """The smallest graph found within the time for which `wrong` is still true."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(outputs):
            if time.monotonic() > end:
                return outputs
            if _weight(candidate) < _weight(outputs) and wrong(candidate):
                outputs, smaller = candidate, True
                break
    return outputs


def _weight(outputs: Outputs) -> tuple[int, int]:
    return sum(bool(node.sources) for node in toposort(outputs)), len(outputs)


def _candidates(outputs: Outputs) -> Iterator[Outputs]:
    if len(outputs) > 1:
        yield from ((output,) for output in outputs)
        yield from (outputs[:i] + outputs[i + 1 :] for i in range(len(outputs)))
    nodes = [node for node in toposort(outputs) if node.sources]
    names = {node.arg for node in toposort(outputs) if node.op == "input"}
    fresh = next(name for i in range(len(names) + 1) if (name := f"n{i}") not in names)
    for node in nodes[:-1]:  # sources first: what an input stands for takes everything below it away
        yield _with(outputs, node, input(fresh, node.shape, node.dtype))
    for node in reversed(nodes):
        for source in node.sources:
            if source.shape == node.shape and source.dtype is node.dtype:
                yield _with(outputs, node, source)
    for output in outputs:
        for source in output.sources:
            yield tuple(source if o is output else o for o in outputs)


def _with(outputs: Outputs, old: Expr, new: Expr) -> Outputs:
    """The graph with one node in another's place."""
    made: dict[Expr, Expr] = {}
    for node in toposort(outputs):
        sources = tuple(made[s] for s in node.sources)
        same = all(a is b for a, b in zip(sources, node.sources, strict=True))
        made[node] = new if node is old else node if same else Expr(node.op, node.shape, node.dtype, sources, node.arg)
    return tuple(made[output] for output in outputs)
