"""`grad`, `value_and_grad` and `vjp` of functions as well as of expressions.

In: an expression, which `autodiff.py` differentiates, or a function of arrays. Out: for a function a function: of arrays it is compiled as `jit`
would, of traced values and of expressions it adds to their graph, so that derivatives of derivatives, and derivatives inside a traced function, are
the same calls. Law: an argument is differentiated as a variable of its own, whatever else depends on what was given for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeGuard, overload

from .. import autodiff
from ..errors import GraphError, shown
from ..graph import Expr, apply
from ..ops import show_shape
from .context import Traced
from .jitted import jit
from .tracer import Tracer
from .tree import rebuild, take_apart

Places = int | Sequence[int]


@overload
def grad(output: Expr, wrt: Expr, *, cotangent: Expr | None = None) -> Expr: ...
@overload
def grad(output: Expr, wrt: Sequence[Expr], *, cotangent: Expr | None = None) -> tuple[Expr, ...]: ...
@overload
def grad(output: Callable[..., Any], wrt: Places = 0, *, argnums: Places | None = None, has_aux: bool = False) -> Callable[..., Any]: ...
def grad(output: Any, wrt: Any = 0, *, cotangent: Expr | None = None, argnums: Places | None = None, has_aux: bool = False) -> Any:
    """The derivative of a scalar.

    Of an expression, with respect to an expression or several: expressions. For an output that is no scalar give `cotangent`, of its shape.
    Of a function, with respect to its argument `wrt` or several (`argnums` is JAX's name): the function that gives the derivative, in the
    structure of that argument. `has_aux`: the function returns a pair of which only the first is differentiated; so does the derivative.
    """
    if not _is_function(output):
        return autodiff.grad(output, wrt, cotangent=cotangent)
    both = value_and_grad(output, wrt, argnums=argnums, has_aux=has_aux)

    @wraps(output)
    def derivative(*arguments: Any, **named: Any) -> Any:
        value, slopes = both(*arguments, **named)
        return (slopes, value[1]) if has_aux else slopes

    return derivative


@overload
def value_and_grad(output: Expr, wrt: Expr) -> tuple[Expr, Expr]: ...
@overload
def value_and_grad(output: Expr, wrt: Sequence[Expr]) -> tuple[Expr, tuple[Expr, ...]]: ...
@overload
def value_and_grad(
    output: Callable[..., Any], wrt: Places = 0, *, argnums: Places | None = None, has_aux: bool = False
) -> Callable[..., Any]: ...
def value_and_grad(output: Any, wrt: Any = 0, *, argnums: Places | None = None, has_aux: bool = False) -> Any:
    """A scalar and its derivative, as `grad` gives it; of a function: the function that gives both."""
    if isinstance(output, Expr):
        return autodiff.value_and_grad(output, wrt)
    if not _is_function(output):
        raise GraphError(f"value_and_grad: expected an Expr or a function, got {shown(output)}")
    places = wrt if argnums is None else argnums
    if isinstance(places, bool) or not (
        isinstance(places, int) or (isinstance(places, Sequence) and all(isinstance(i, int) for i in places))
    ):
        raise GraphError(f"grad of a function: wrt must be the position of an argument or several, got {shown(places)}")
    what = f"grad of {_name(output)}"

    def derive(*arguments: Any, **named: Any) -> Any:
        variables, call = _variables(what, output, places, arguments)
        value = call(variables, named)
        scalar = value[0] if has_aux and isinstance(value, tuple) and value else value
        slopes = autodiff.grad(_scalar(what, scalar), [_expr(v) for v in variables.leaves])
        found = variables.put(slopes)
        return value, found[0] if isinstance(places, int) else tuple(found)

    derive.__wrapped__ = output  # type: ignore[attr-defined]
    compiled = jit(_called(derive, what))

    @wraps(output)
    def both(*arguments: Any, **named: Any) -> Any:
        return (derive if _in_a_graph((arguments, named)) else compiled)(*arguments, **named)

    return both


@overload
def vjp(outputs: Sequence[Expr], wrt: Sequence[Expr], cotangents: Sequence[Expr]) -> tuple[Expr, ...]: ...
@overload
def vjp(outputs: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]: ...
def vjp(outputs: Any, *given: Any, **named: Any) -> Any:
    """The vector-Jacobian product.

    Of expressions, `vjp(outputs, wrt, cotangents)`: the derivative of the sum of all outputs times their cotangents, with respect to each of
    `wrt`. Of a function, `vjp(function, *arguments)`: its result, and the function that takes a cotangent in the structure of the result and gives the
    derivative for each argument.
    """
    if not _is_function(outputs):
        return autodiff.vjp(outputs, *given, **named)
    if named:
        raise GraphError(f"vjp of a function: its arguments are given by position, got {', '.join(named)}")
    what = f"vjp of {_name(outputs)}"

    def pull(primals: tuple[Any, ...], cotangent: Any) -> tuple[Any, ...]:
        variables, call = _variables(what, outputs, range(len(primals)), primals)
        results, structure = take_apart(call(variables, {}))
        seeds, seeds_structure = take_apart(cotangent)
        if seeds_structure != structure:
            raise GraphError(f"{what}: the cotangent must have the structure of the result")
        exprs = [_expr(r) for r in results]
        pulled = [_like(seed, expr, variables.run) for seed, expr in zip(seeds, exprs, strict=True)]
        return tuple(variables.put(autodiff.vjp(exprs, [_expr(v) for v in variables.leaves], pulled)))

    if _in_a_graph(given):
        return outputs(*given), lambda cotangent: pull(given, cotangent)
    compiled = jit(_called(pull, what))
    return jit(outputs)(*given), lambda cotangent: compiled(given, cotangent)


def _is_function(value: object) -> TypeGuard[Callable[..., Any]]:
    return callable(value) and not isinstance(value, (Expr, Traced))


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "a function")


def _called(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = name
    return function


def _in_a_graph(arguments: Any) -> bool:
    return any(isinstance(leaf, (Traced, Expr)) for leaf in take_apart(arguments)[0])


class _Variables:
    """The arguments that are differentiated: their leaves, each a node of its own, and how results take their structure."""

    def __init__(self, what: str, chosen: Sequence[Any]) -> None:
        given, self._structure = take_apart(list(chosen))
        self.run = next((v.run for v in given if isinstance(v, Traced)), None)
        self.leaves = [self._variable(what, v) for v in given]

    def _variable(self, what: str, value: Any) -> Any:
        if not isinstance(value, (Expr, Tracer)):
            raise GraphError(f"{what}: expected an array of floats to differentiate by, got {shown(value)}; name other arguments with wrt")
        expr = _expr(value)
        if expr.dtype.kind != "float":
            raise GraphError(
                f"{what}: only floats have gradients, got {expr.dtype} of shape {show_shape(expr.shape)}; pass x.astype(float)"
            )
        fresh = apply("transpose", (expr,), tuple(range(expr.rank)))  # a view of all of it, and another node
        return value.run.wrap(fresh, value.weak) if isinstance(value, Tracer) else fresh

    def put(self, exprs: Sequence[Expr]) -> list[Any]:
        found = rebuild(self._structure, exprs if self.run is None else map(self.run.wrap, exprs))
        assert isinstance(found, list)
        return found

    def arguments(self) -> list[Any]:
        found = rebuild(self._structure, self.leaves)
        assert isinstance(found, list)
        return found


def _variables(
    what: str, function: Callable[..., Any], places: Places, arguments: Sequence[Any]
) -> tuple[_Variables, Callable[[_Variables, dict[str, Any]], Any]]:
    chosen = (places,) if isinstance(places, int) else tuple(places)
    try:
        variables = _Variables(what, [arguments[i] for i in chosen])
    except IndexError:
        raise GraphError(f"{what}: wrt is {places}, and the call has {len(arguments)} positional arguments") from None

    def call(variables: _Variables, named: dict[str, Any]) -> Any:
        whole = list(arguments)
        for i, value in zip(chosen, variables.arguments(), strict=True):
            whole[i] = value
        return function(*whole, **named)

    return variables, call


def _expr(value: Any) -> Expr:
    expr = value.carried if isinstance(value, Tracer) else value
    if not isinstance(expr, Expr):
        raise GraphError(f"vjp: expected arrays as results, got {shown(value)}")
    return expr


def _scalar(what: str, value: Any) -> Expr:
    expr = value.carried if isinstance(value, Tracer) else value
    if not isinstance(expr, Expr):
        raise GraphError(f"{what}: the function must return one number that depends on its arguments, got {shown(value)}")
    if expr.shape:
        raise GraphError(f"{what}: the function must return one number, got shape {show_shape(expr.shape)}; sum it, or use vjp")
    return expr


def _like(seed: Any, expr: Expr, run: Any) -> Expr:
    """A cotangent as an expression of its result's element type."""
    found = seed if isinstance(seed, Expr) else run.operand(seed) if run is not None else None
    if found is None:
        raise GraphError(f"vjp: expected an array as the cotangent, got {shown(seed)}")
    return found.astype(expr.dtype).broadcast_to(expr.shape) if not found.shape else found.astype(expr.dtype)
