"""One row of the op table: what an op is called, which shapes and dtypes it takes, what it means and how it is differentiated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..dtypes import DType
from ..errors import GraphError
from .shapes import Shape

if TYPE_CHECKING:
    from ..graph import Expr

Kind = Literal["leaf", "elementwise", "view", "join", "gather", "reduce", "scan", "contract"]
Meaning = Callable[..., Any]
"""`meaning(arg, size, *arrays)`: the NumPy value; `size` turns a `Size` into an int."""
Gradient = Callable[["Expr", "Expr"], Sequence["Expr | None"]]
"""`gradient(node, g)`: for the cotangent `g` of `node`, one cotangent per source (None: no gradient flows there)."""
Infer = Callable[["tuple[Expr, ...]", Any], tuple[Shape, DType]]
"""`infer(sources, arg)`: the shape and dtype of the result; GraphError where there is none."""


@dataclass(frozen=True, slots=True)
class Op:
    """One row of the table. `ulp` is the largest error in units in the last place, 0 for correctly rounded."""

    name: str
    arity: int
    """How many sources; -1 for any number."""
    kind: Kind
    infer: Infer
    meaning: Meaning
    gradient: Gradient | None
    ulp: float = 0.0
    floats: bool = False
    """Whether it is for floats only; operators then cast integers to float64 first, as NumPy does."""
    operands: tuple[str, ...] = ()
    """The dtypes of the operands where they are not all alike: names, "" for the one that varies."""
    samples: tuple[Any, ...] = (None,)
    """Arguments to try it with."""

    @property
    def computes(self) -> bool:
        """Whether it looks at values, rather than moves them or turns them into another type."""
        return self.kind not in ("leaf", "view", "join", "gather") and self.name != "cast"

    expand: Callable[[Expr], Expr] | None = None
    """For an op that only has a gradient of its own: the expression it stands for, which takes its place before anything is computed."""


def quiet(ufunc: Callable[..., Any]) -> Meaning:
    def meaning(arg: None, size: Any, *arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            return ufunc(*arrays)

    return meaning


def check_accumulates(name: str, dtype: DType) -> None:
    """Folds and chains are built for the types that results are commonly kept in."""
    if dtype.kind not in ("float", "int"):
        raise GraphError(f"{name}: is for float32, float64, int32 and int64, got {dtype}; cast it first")
