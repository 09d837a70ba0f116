"""docs/ops.md is the op table and the functions, written out.

After the table has changed: `UPDATE_EXPECTED=1 python -m pytest tests/unit/test_ops_docs.py`, and read the difference.
"""

import inspect
import os
import re
from pathlib import Path

import tjcore as tj
from tjcore import functions, nn
from tjcore.conformance import opcases
from tjcore.dtypes import DTYPES
from tjcore.ops import OPS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ops.md"


def rows():
    """A line per op: its element types, as the conformance suite finds them, its error and whether it has a gradient."""
    for op in OPS.values():
        if op.kind == "leaf":
            continue
        families = [opcases.composed] if op.expand else [opcases.FAMILIES[op.kind]]
        takes = [d for d in DTYPES if any(opcases.op_of(label) is op for family in families for label in family(d))]
        types = "all" if len(takes) == len(DTYPES) else ", ".join(map(str, takes))
        sums = {"reduce": "by the tree", "scan": "in order", "contract": "in chains"}
        error = f"{op.ulp:.3g}" if op.ulp else "as its parts" if op.expand else sums.get(op.kind, "exact")
        yield f"| `{op.name}` | {op.kind} | {op.arity} | {types} | {error} | {'yes' if op.gradient else 'no'} |"


def listing(module, names, prefix):
    """A line per function: how it is called, and the first sentence of its docstring."""
    for name in sorted(names):
        function = getattr(module, name)
        if callable(function) and function.__module__.startswith("tjcore"):
            arguments = ", ".join(
                p.name if p.default is p.empty else f"{p.name}={p.default}" for p in inspect.signature(function).parameters.values()
            )
            words = inspect.getdoc(function).splitlines()[0].replace("|", "\\|")
            yield f"| `{prefix}{name}({arguments})` | {words} |"


def page():
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    tables = {
        "table": ["| op | kind | operands | element types | largest error, ulp | gradient |", "|---|---|---|---|---|---|", *rows()],
        "functions": ["| function | gives |", "|---|---|", *listing(tj, functions.__all__, "tj.")],
        "nn": ["| function | gives |", "|---|---|", *listing(nn, nn.__all__, "nn.")],
    }
    for name, lines in tables.items():
        text, found = re.subn(
            f"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, lines=lines: m[1] + "\n".join(lines) + "\n" + m[2], text, flags=re.DOTALL
        )
        assert found == 1, f"docs/ops.md has no place for the {name}"
    return text


def test_the_page_of_ops_is_what_the_table_says():
    now = page()
    if os.environ.get("UPDATE_EXPECTED"):
        PAGE.write_text(now, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == now, "UPDATE_EXPECTED=1 writes it again"


def test_every_function_of_the_standard_that_is_elementwise_is_there():
    standard = """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift
        bitwise_xor ceil clip copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot isfinite isinf isnan less
        less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter
        not_equal positive pow reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc
        sum prod max min mean var std any all cumulative_sum count_nonzero where matmul matrix_transpose tensordot vecdot"""
    assert not [name for name in standard.split() if not callable(getattr(tj, name, None))]
