"""Symbolic sizes: dims, arithmetic on them, what can be proved about them, and their values in a call.

In: `Dim` declarations and arithmetic. Out: sizes in canonical form, intervals, proofs, numbers, text and C. Everything is
immutable and compared by value. See `size.py` for the grammar of a size.
"""

from .constraints import Constraint, check_bindings, eq, le, lt, multiple_of
from .evaluate import collect_dims, compile_sizes, evaluate, symbols
from .proofs import at_most, divides, equal
from .size import LARGEST_SIZE, Dim, Size, SizeExpr, bounds, maximum, minimum, total
from .text import C_HELPERS, parse_size, to_c

__all__ = [
    "C_HELPERS",
    "LARGEST_SIZE",
    "Constraint",
    "Dim",
    "Size",
    "SizeExpr",
    "at_most",
    "bounds",
    "check_bindings",
    "collect_dims",
    "compile_sizes",
    "divides",
    "eq",
    "equal",
    "evaluate",
    "le",
    "lt",
    "maximum",
    "minimum",
    "multiple_of",
    "parse_size",
    "symbols",
    "to_c",
    "total",
]
