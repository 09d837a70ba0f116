"""Text -> size, and size -> C.

Laws: `parse_size(str(size), dims)` is `size` again (and never a different size); the C text has the same value as `evaluate` for every
size, given that no intermediate result leaves 64 bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NoReturn

from ..errors import GraphError
from .printing import Notation, Printer
from .size import Dim, Size, maximum, minimum, terms_of
from .terms import Atom

C_HELPERS = """\
/* Division that rounds down, and its remainder, which has the sign of the (positive) divisor. */
static inline int64_t tj_floordiv(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t tj_floormod(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }
static inline int64_t tj_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tj_max(int64_t a, int64_t b) { return a > b ? a : b; }
"""
"""What the output of `to_c` calls; needs <stdint.h>."""


def to_c(size: Size, name: Callable[[Dim], str] = str) -> str:
    """`size` as a C expression over int64_t variables, where `name` says what each dim is called (a primary expression)."""

    def name_of(atom: Atom) -> str:
        assert isinstance(atom, Dim)
        return name(atom)

    return Printer(Notation(name_of, c=True)).show(terms_of(size))[0]


_TOKEN = re.compile(r"\s*(?:(?P<number>[0-9]+)|(?P<sign>//|\*\*|[-+*%(),])|(?P<name>[^\s0-9+\-*/%(),<>=.][^\s+\-*/%(),<>=.]*))")
_OPEN = re.compile(r"\s*\(")
_STRENGTH = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2, "negate": 3, "**": 4}
_DIGITS = 40  # no size is anywhere near
_APPLY: dict[str, Callable[[Size, Size], Size]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,  # type: ignore[operator]
}


def parse_size(text: str, dims: Mapping[str, Dim]) -> Size:
    """The size that `text` says in Python's notation: `+ - * // % **`, `min(...)`, `max(...)`, parentheses, ints, names of `dims`."""
    if not isinstance(text, str):
        raise GraphError(f"parse_size: expected a str, got {text!r} ({type(text).__name__})")
    return _Parser(text, dims).parse()


class _Parser:
    """Operator precedence with explicit stacks: parentheses may be nested without limit."""

    def __init__(self, text: str, dims: Mapping[str, Dim]) -> None:
        self.text, self.dims = text, dims
        self.values: list[Size] = []
        self.waiting: list[str] = []  # operators, "(" and the calls "min" and "max"
        self.counts: list[int] = []  # arguments so far, per open call
        self.position = self.next = 0

    def fail(self, expected: str) -> NoReturn:
        rest = self.text[self.position : self.position + 20].strip() or "the end"
        raise GraphError(f"the size {self.text[:200]!r}: expected {expected} at position {self.position}, got {rest!r}")

    def parse(self) -> Size:
        operand_next = True
        end = len(self.text.rstrip())
        while self.position < end:
            match = _TOKEN.match(self.text, self.position)
            if match is None:
                self.fail("a name, an int, an operator or a parenthesis")
            sign = match["sign"]
            self.next = match.end()
            if operand_next:
                operand_next = self.operand(match)
            elif sign == ")":
                self.close()
            elif sign == ",":
                self.reduce(0)
                if not self.waiting or self.waiting[-1] not in ("min", "max"):
                    self.fail("no ',' outside min(...) and max(...)")
                self.counts[-1] += 1
                operand_next = True
            elif sign in _APPLY:
                # ** groups to the right, everything else to the left
                self.reduce(_STRENGTH[sign] + (sign == "**"))
                self.waiting.append(sign)
                operand_next = True
            else:
                self.fail("an operator")
            self.position = self.next
        if operand_next:
            self.fail("a name or an int")
        self.reduce(0)
        if self.waiting:
            self.fail("')'")
        return self.values[0]

    def operand(self, match: re.Match[str]) -> bool:
        """Takes a token where a value has to begin; returns whether the value has yet to come."""
        sign, name = match["sign"], match["name"]
        if match["number"]:
            if len(match["number"]) > _DIGITS:
                self.fail(f"a number of at most {_DIGITS} digits")
            self.values.append(int(match["number"]))
        elif sign in ("(", "-", "+"):
            if sign != "+":
                self.waiting.append("negate" if sign == "-" else "(")
            return True
        elif name in ("min", "max") and (opening := _OPEN.match(self.text, match.end())):
            # Without a parenthesis they are dims of these names.
            self.waiting.append(name)
            self.counts.append(1)
            self.next = opening.end()
            return True
        elif name:
            if name not in self.dims:
                self.fail(f"one of the dims {', '.join(sorted(self.dims)) or '(none declared)'}")
            self.values.append(self.dims[name])
        else:
            self.fail("a name or an int")
        return False

    def reduce(self, strength: int) -> None:
        """Applies what waits and binds at least as strongly."""
        while self.waiting and self.waiting[-1] in _STRENGTH and _STRENGTH[self.waiting[-1]] >= strength:
            sign = self.waiting.pop()
            right = self.values.pop()
            if sign == "negate":
                self.values.append(-right)
            elif sign == "**":
                if not isinstance(right, int) or not 0 <= right <= 64:
                    self.fail("an int within 0..64 as the power")
                self.values.append(_APPLY[sign](self.values.pop(), right))
            else:
                self.values.append(self.divided(sign, self.values.pop(), right))

    def divided(self, sign: str, left: Size, right: Size) -> Size:
        if sign in ("//", "%") and isinstance(left, int) and isinstance(right, int) and right < 1:
            raise GraphError(f"({left}) {sign} ({right}): expected a divisor that is at least 1, but it is {right}")
        return _APPLY[sign](left, right)

    def close(self) -> None:
        self.reduce(0)
        if not self.waiting:
            self.fail("no ')' without its '('")
        opened = self.waiting.pop()
        if opened != "(":
            count = self.counts.pop()
            args = self.values[-count:]
            del self.values[-count:]
            self.values.append((minimum if opened == "min" else maximum)(*args))
