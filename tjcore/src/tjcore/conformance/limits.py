"""What a toolchain says it cannot do: its `unsupported` and `xfail` patterns, matched with the suite's tests.

In: a test's class, function and parameters. Out: the name that patterns are matched with, and whether one matches. A name is
`TestElementwise::test_values[exp-float32]`, without the backend and the file; in a pattern `*` stands for anything and `?` for one character, and a
pattern without brackets covers all parameters of a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

ALWAYS = ("TestOpening::",)
"""Tests that no pattern can touch: whether a toolchain is well formed is no limit to declare."""


def test_name(suite_class: str, function: str, identifier: str, backend: str) -> str:
    """The name for patterns. `identifier` is pytest's text of all parameters, in which the backend is first or last."""
    rest = re.sub(rf"^{re.escape(backend)}(-|$)|-{re.escape(backend)}$", "", identifier)
    return f"{suite_class}::{function}" + (f"[{rest}]" if rest else "")


test_name.__test__ = False  # type: ignore[attr-defined]  # its name is about tests; it is none


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    words = {"*": ".*", "?": "."}
    return re.compile("".join(words.get(c) or re.escape(c) for c in pattern), re.DOTALL)


def matches(pattern: str, name: str) -> bool:
    """Whether the pattern covers the test of that name."""
    if name.startswith(ALWAYS):
        return False
    return bool(_compiled(pattern).fullmatch(name) or _compiled(pattern).fullmatch(name.partition("[")[0]))


def first_match(patterns: Mapping[str, str], name: str) -> str | None:
    """The reason of the first pattern that covers the test."""
    return next((reason for pattern, reason in patterns.items() if matches(pattern, name)), None)


def unmatched(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    """The patterns that cover none of the tests."""
    known = list(names)
    return [pattern for pattern in patterns if not any(matches(pattern, name) for name in known)]
