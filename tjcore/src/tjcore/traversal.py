"""Walking a graph: what outputs a user may name, and every node they depend on, sources first.

In: outputs. Out: the outputs as a tuple, or nodes in one fixed order. Law: no recursion, so the depth of a graph has no limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from .errors import GraphError, shown
from .graph import Expr


def check_outputs(where: str, outputs: object) -> tuple[Expr, ...]:
    """The outputs of a graph as a user names them, in order; GraphError for anything but a sequence of Exprs."""
    if isinstance(outputs, Expr):
        raise GraphError(f"{where}: outputs must be a sequence of Exprs, got a single Expr; write [expr]")
    if isinstance(outputs, (str, bytes, Set, Mapping)) or not isinstance(outputs, Iterable):  # a set would give another order each time
        raise GraphError(f"{where}: outputs must be a sequence of Exprs, got {shown(outputs)}")
    given = tuple(outputs)
    for i, output in enumerate(given):
        if not isinstance(output, Expr):
            raise GraphError(f"{where}: expected an Expr at position {i} of the outputs, got {shown(output)}")
    return given


def toposort(outputs: Iterable[Expr]) -> list[Expr]:
    """Every node the outputs depend on, sources first, in one fixed order. Iterative."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack: list[tuple[Expr, int]] = []
    for output in outputs:
        if output in seen:
            continue
        seen.add(output)
        stack.append((output, 0))
        while stack:
            node, i = stack.pop()
            while i < len(node.sources):
                source = node.sources[i]
                i += 1
                if source not in seen:
                    seen.add(source)
                    stack.append((node, i))
                    stack.append((source, 0))
                    break
            else:
                order.append(node)
    return order
