"""Reverse-mode differentiation, from graph to graph: one reverse walk, one rule per op (the op table's `gradient`).

In: an output and the expressions to differentiate with respect to. Out: ordinary expressions, which fuse and plan like
any other and can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from .errors import GraphError, shown
from .graph import Expr, constant, toposort
from .ops import OPS, same, show_shape


@overload
def grad(output: Expr, wrt: Expr, *, cotangent: Expr | None = None) -> Expr: ...
@overload
def grad(output: Expr, wrt: Sequence[Expr], *, cotangent: Expr | None = None) -> tuple[Expr, ...]: ...


def grad(output: Expr, wrt: Expr | Sequence[Expr], *, cotangent: Expr | None = None) -> Expr | tuple[Expr, ...]:
    """The derivative of a scalar `output` with respect to each of `wrt` (an Expr, or a sequence of them for a tuple).

    For an output that is no scalar give `cotangent`, of the output's shape: the result is then the vector-Jacobian product.
    What the output does not depend on has gradient zero. The derivative of relu at 0 is 0.
    """
    if not isinstance(wrt, (Expr, Sequence)):
        raise GraphError(f"grad: wrt must be an Expr or a sequence of them, got {shown(wrt)}")
    targets = (wrt,) if isinstance(wrt, Expr) else tuple(wrt)
    for value in (output, *targets, *(() if cotangent is None else (cotangent,))):
        if not isinstance(value, Expr):
            raise GraphError(f"grad: expected an Expr, got {shown(value)}")
        if value.dtype.kind != "float":
            raise GraphError(f"grad: only float expressions have gradients, got {value.dtype} for {value!r}")
    if cotangent is None:
        if output.shape:
            raise GraphError(
                f"grad: the output must be a scalar, got shape {show_shape(output.shape)}; sum it first, or give cotangent= of that shape"
            )
        cotangent = constant(1.0, output.dtype)
    if (
        cotangent.dtype is not output.dtype
        or len(cotangent.shape) != len(output.shape)
        or not all(map(same, cotangent.shape, output.shape))
    ):
        raise GraphError(
            f"grad: cotangent must be {output.dtype} of shape {show_shape(output.shape)}, got {cotangent.dtype} of {show_shape(cotangent.shape)}"
        )
    order = toposort([output])
    wanted = set(targets)
    active = set()
    for node in order:
        if node in wanted or any(s in active for s in node.sources):
            active.add(node)
    totals: dict[Expr, Expr] = {output: cotangent}
    for node in reversed(order):
        g = totals.get(node)
        rule = OPS[node.op].gradient
        if g is None or node not in active or rule is None:
            continue
        for source, part in zip(node.sources, rule(node, g), strict=True):
            if part is not None and source in active:
                totals[source] = totals[source] + part if source in totals else part
    zero = {t: constant(0.0, t.dtype).broadcast_to(t.shape) for t in targets if t not in totals}
    found = tuple(totals[t] if t in totals else zero[t] for t in targets)
    return found[0] if isinstance(wrt, Expr) else found
