"""Reverse-mode differentiation, from graph to graph: one reverse walk, one rule per op (the op table's `gradient`).

In: an output and the expressions to differentiate with respect to. Out: ordinary expressions, which fuse and plan like
any other and can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from .errors import GraphError, shown
from .graph import Expr, constant
from .ops import OPS, same, show_shape
from .traversal import toposort


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
        _check_float("grad", value)
    if cotangent is None:
        cotangent = _one("grad", output)
    _check_cotangent("grad", output, cotangent)
    found = _backward([output], [cotangent], targets)
    return found[0] if isinstance(wrt, Expr) else found


@overload
def value_and_grad(output: Expr, wrt: Expr) -> tuple[Expr, Expr]: ...
@overload
def value_and_grad(output: Expr, wrt: Sequence[Expr]) -> tuple[Expr, tuple[Expr, ...]]: ...
def value_and_grad(output: Expr, wrt: Expr | Sequence[Expr]) -> Any:
    """A scalar output and its derivative, as `grad` gives it."""
    return output, grad(output, wrt)


def vjp(outputs: Sequence[Expr], wrt: Sequence[Expr], cotangents: Sequence[Expr]) -> tuple[Expr, ...]:
    """The vector-Jacobian product: the derivative of the sum of all outputs times their cotangents, with respect to each of `wrt`."""
    if len(outputs) != len(cotangents):
        raise GraphError(f"vjp: expected one cotangent per output, got {len(cotangents)} for {len(outputs)} outputs")
    for value in (*outputs, *wrt, *cotangents):
        _check_float("vjp", value)
    for output, cotangent in zip(outputs, cotangents, strict=True):
        _check_cotangent("vjp", output, cotangent)
    return _backward(outputs, cotangents, wrt)


def _check_float(name: str, value: object) -> None:
    if not isinstance(value, Expr):
        raise GraphError(f"{name}: expected an Expr, got {shown(value)}")
    if value.dtype.kind != "float":
        raise GraphError(f"{name}: only float expressions have gradients, got {value.dtype} for {value!r}")


def _one(name: str, output: Expr) -> Expr:
    if output.shape:
        raise GraphError(
            f"{name}: the output must be a scalar, got shape {show_shape(output.shape)}; sum it first, or give cotangent= of that shape"
        )
    return constant(1.0, output.dtype)


def _check_cotangent(name: str, output: Expr, cotangent: Expr) -> None:
    if (
        cotangent.dtype is not output.dtype
        or len(cotangent.shape) != len(output.shape)
        or not all(map(same, cotangent.shape, output.shape))
    ):
        raise GraphError(
            f"{name}: cotangent must be {output.dtype} of shape {show_shape(output.shape)}, got {cotangent.dtype} of {show_shape(cotangent.shape)}"
        )


def _backward(outputs: Sequence[Expr], cotangents: Sequence[Expr], targets: Sequence[Expr]) -> tuple[Expr, ...]:
    """The one reverse walk: cotangents flow from outputs to sources and add up."""
    order = toposort(outputs)
    wanted = set(targets)
    active = set()
    for node in order:
        if node in wanted or any(s in active for s in node.sources):
            active.add(node)
    totals: dict[Expr, Expr] = {}

    def take(node: Expr, part: Expr) -> None:
        totals[node] = totals[node] + part if node in totals else part

    for output, cotangent in zip(outputs, cotangents, strict=True):
        take(output, cotangent)
    for node in reversed(order):
        g = totals.get(node)
        rule = OPS[node.op].gradient
        if g is None or node not in active or rule is None:
            continue
        for source, part in zip(node.sources, rule(node, g), strict=True):
            if part is not None and source in active:
                take(source, part)
    return tuple(totals[t] if t in totals else constant(0.0, t.dtype).broadcast_to(t.shape) for t in targets)
