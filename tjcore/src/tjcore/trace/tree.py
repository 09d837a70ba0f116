"""Lists, tuples and dicts in and out of a traced function: taken apart into leaves and put together again.

In: a value. Out: its leaves in order and its structure, a tuple that can be compared and hashed. None has no leaves. Law: `rebuild` of what
`take_apart` gives is the value again; dicts keep their order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

LEAF = "leaf"
Structure = tuple[Any, ...]


def take_apart(value: Any) -> tuple[list[Any], Structure]:
    """The leaves of a value and its structure: a word for each part, parents before their parts."""
    leaves: list[Any] = []
    words: list[Any] = []
    _walk(value, leaves, words)
    return leaves, tuple(words)


def _walk(value: Any, leaves: list[Any], words: list[Any]) -> None:
    if isinstance(value, dict):
        words.append((OrderedDict if isinstance(value, OrderedDict) else dict, tuple(value)))
        for part in value.values():
            _walk(part, leaves, words)
    elif isinstance(value, (list, tuple)):
        words.append((type(value), len(value)))
        for part in value:
            _walk(part, leaves, words)
    elif value is None:
        words.append(None)
    else:
        words.append(LEAF)
        leaves.append(value)


def rebuild(structure: Structure, leaves: Iterable[Any]) -> Any:
    return _rebuilt(iter(structure), iter(leaves))


def _rebuilt(words: Iterator[Any], leaves: Iterator[Any]) -> Any:
    word = next(words)
    if word == LEAF:
        return next(leaves)
    if word is None:
        return None
    kind, parts = word
    if kind in (dict, OrderedDict):
        return kind((name, _rebuilt(words, leaves)) for name in parts)
    values = [_rebuilt(words, leaves) for _ in range(parts)]
    return kind(*values) if hasattr(kind, "_fields") else kind(values)


def paths(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each leaf with the way to it, as Python writes it: "['w'][0]"."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from paths(part, f"{path}[{name!r}]")
    elif isinstance(value, (list, tuple)):
        fields = getattr(value, "_fields", None)
        for i, part in enumerate(value):
            yield from paths(part, f"{path}.{fields[i]}" if fields else f"{path}[{i}]")
    elif value is not None:
        yield path, value
