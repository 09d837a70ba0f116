"""Symbolic sizes: dims, arithmetic on them, what can be proved about them, and their values in a call.

In: `Dim` declarations and arithmetic. Out: sizes in canonical form, intervals, proofs, numbers, text and C. Everything is
immutable and compared by value. See `size.py` for the grammar of a size.
"""

from .evaluate import collect_dims, compile_sizes, evaluate, symbols
from .size import LARGEST_SIZE, Dim, Size, SizeExpr, bounds, maximum, minimum, total

__all__ = [
    "LARGEST_SIZE",
    "Dim",
    "Size",
    "SizeExpr",
    "bounds",
    "collect_dims",
    "compile_sizes",
    "evaluate",
    "maximum",
    "minimum",
    "symbols",
    "total",
]
