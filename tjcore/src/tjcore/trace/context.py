"""One run of a user's function on traced values: what the sizes of the call are, and what was asked about them.

In: the sizes with which the function was called, if it was called. Out: expressions, and `guards`: the questions about sizes that the program
asked and the bounds left open, with the answers it got. Law: what was traced is right for every call whose sizes give the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import dtypes
from ..dims import Dim, Size, SizeExpr, at_most, equal, evaluate, symbols
from ..dtypes import DType
from ..errors import TraceError
from ..graph import Expr, hold, number, size_of
from ..lifting import Carrier, first_carrier
from .fitting import fit

Question = Literal["==", "<="]


@dataclass(frozen=True, slots=True)
class Guard:
    """`left == right` or `left <= right`, and what it was for the sizes that were traced."""

    question: Question
    left: Size
    right: Size
    answer: bool

    def holds(self, sizes: Mapping[str, int]) -> bool:
        left, right = evaluate(self.left, sizes), evaluate(self.right, sizes)
        return (left == right if self.question == "==" else left <= right) is self.answer

    def __str__(self) -> str:
        sign = self.question if self.answer else {"==": "!=", "<=": ">"}[self.question]
        return f"{self.left} {sign} {self.right}"


class Trace:
    """What the values of one run share. `make` turns an expression into a traced value, `make_size` a size into a traced size."""

    def __init__(
        self,
        name: str,
        make: Callable[[Trace, Expr, bool], Traced],
        make_size: Callable[[Trace, Size], Traced],
        sizes: Mapping[str, int],
        origins: Mapping[str, str],
    ) -> None:
        self.name = name
        self.sizes = sizes
        """Of dims, in the call that is traced; none where only shapes are known."""
        self.origins = origins
        """Which axis of which argument a dim is."""
        self.guards: dict[Guard, None] = {}
        self.open = True
        self._make = make
        self._make_size = make_size

    # ------------------------------------------------------------ values
    def wrap(self, expr: Expr, weak: bool = False) -> Any:
        return self._make(self, expr, weak)

    def size(self, size: Size) -> Any:
        """A size as the program sees it: an int where it is one."""
        return size if isinstance(size, int) else self._make_size(self, size)

    def refuse(self, message: str) -> TraceError:
        return TraceError(f"{self.name}: {message}")

    def check_open(self, what: object) -> None:
        if not self.open:
            raise self.refuse(f"{what} was kept after the function had been traced; it stands for no array by then. Return it instead")

    # ------------------------------------------------------------ questions about sizes
    def known(self, size: Size) -> int | None:
        """The size in the call that is traced, if there is one."""
        if isinstance(size, int):
            return size
        return evaluate(size, self.sizes) if all(dim.name in self.sizes for dim in symbols(size)) else None

    def decide(self, question: Question, left: Size, right: Size) -> bool:
        proved = equal(left, right) if question == "==" else at_most(left, right)
        if proved is not None:
            return proved
        a, b = self.known(left), self.known(right)
        if a is None or b is None:
            raise self.refuse(
                f"whether {left} {question} {right} depends on sizes that are not known here; give the axis a fixed size, or lower for arrays"
            )
        answer = a == b if question == "==" else a <= b
        self.guards[Guard(question, left, right, answer)] = None
        return answer

    def agree(self, left: Size, right: Size) -> bool:
        """Whether two sizes are the same, for all sizes or in this call (which is then remembered)."""
        if left is right or left == right:
            return True
        proved = equal(left, right)
        if proved is not None:
            return proved
        a, b = self.known(left), self.known(right)
        if a is None or a != b:
            return False
        self.guards[Guard("==", left, right, True)] = None
        return True

    def sizes_text(self, shapes: Sequence[Sequence[Size]]) -> str:
        """What the dims of shapes are in this call: "; here x_0 = 100 (axis 0 of x)"."""
        dims = dict.fromkeys(dim.name for shape in shapes for size in shape for dim in symbols(size))
        known = [f"{name} = {self.sizes[name]} ({self.origins.get(name, 'declared')})" for name in dims if name in self.sizes]
        return f"; here {', '.join(known)}" if known else ""

    # ------------------------------------------------------------ operands
    def lift(
        self,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        named: Mapping[str, Any],
        numbers: bool = False,
        operator: bool = False,
    ) -> Any:
        """A function of Exprs, of what is traced. `numbers`: its operands are tensors and numbers. `operator`: it is one of Python's, which
        make numbers of numbers that are still weak."""
        values = [self._plain(v, numbers) for v in arguments]
        places = [i for i, v in enumerate(values) if isinstance(v, Expr)]
        weak = [i for i in places if is_weak(arguments[i])]
        if numbers and weak and len(arguments) > 1:
            strong = [values[i].dtype for i in places if i not in weak]
            kind = dtypes.result(strong, [stand_in(values[i].dtype) for i in weak])
            for i in weak:
                values[i] = values[i].astype(kind)
        values = fit(self, function, values, named, numbers)
        result = function(*values, **{name: self._plain(v, False) for name, v in named.items()})
        return self._wrapped(result, operator and all(is_weak(v) for v in arguments))

    def _plain(self, value: Any, numbers: bool) -> Any:
        if isinstance(value, Traced):
            if value.run is not self:
                raise self.refuse(f"{value!r} belongs to another run of a traced function; return it from there")
            self.check_open(repr(value))
            return self.weak(value.carried) if numbers and not isinstance(value.carried, Expr) else value.carried
        if isinstance(value, (list, tuple)) and first_carrier(value) is not None:
            return [self._plain(v, numbers) for v in value]
        found = self.constant(value) if numbers or isinstance(value, np.ndarray) else None
        return value if found is None else found

    def _wrapped(self, result: Any, weak: bool) -> Any:
        if isinstance(result, Expr):
            return self._make(self, result, weak)
        if isinstance(result, (list, tuple)):
            return type(result)(self._wrapped(r, weak) for r in result)
        return self.size(result) if is_size(result) else result

    def operand(self, value: Any) -> Expr | None:
        """A value as an operand: what a traced one stands for, arrays and numbers as constants; None for anything else."""
        found = self._plain(value, True)
        if isinstance(found, (bool, int, float)):
            return number(found, dtypes.result([], [found]))
        return found if isinstance(found, Expr) else None

    def constant(self, value: Any) -> Expr | None:
        """NumPy's arrays and scalars as expressions of their own types; None for anything else."""
        if isinstance(value, np.ndarray) and value.ndim:
            return hold(value, dtypes.as_dtype(value.dtype))
        if isinstance(value, (np.ndarray, np.number, np.bool_)):
            return number(value.item(), dtypes.as_dtype(value.dtype))
        return None

    def weak(self, size: Size) -> Expr:
        return size_of(size, dtypes.int64)


class Traced(Carrier):
    """A value of a program that is being traced: `carried` is an Expr or a Size."""

    __slots__ = ("carried", "run", "weak")

    def __init__(self, run: Trace, carried: Any, weak: bool) -> None:
        self.run = run
        self.carried = carried
        self.weak = weak
        """Whether it is one of Python's numbers to NumPy, which only change the kind of what they meet."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def lift(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], numbers: bool) -> Any:
        return self.run.lift(function, arguments, named, numbers)


def is_weak(value: object) -> bool:
    return value.weak if isinstance(value, Traced) else isinstance(value, (int, float)) and not isinstance(value, np.generic)


def stand_in(dtype: DType) -> float:
    """One of Python's numbers of the kind of a dtype."""
    return {"bool": False, "float": 0.0}.get(dtype.kind, 0)


def is_size(value: object) -> bool:
    return isinstance(value, (Dim, SizeExpr))
