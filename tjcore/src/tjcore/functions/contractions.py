"""`einsum`: sums of products over named axes, as matrix products.

In: NumPy's text and expressions. Out: for each pair of operands, from the left, one product of matrices in a batch; with nothing summed, one elementwise
product. Law: which letters are a batch, summed, or one side's own follows from the text alone, so every size takes the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..dims import Size
from ..errors import GraphError, shown
from ..graph import Expr, apply, matmul, reduce
from ..ops import same, show_shape
from .elementwise import operand


def einsum(subscripts: str, /, *operands: Expr) -> Expr:
    """NumPy's `einsum`, such as "ij,jk->ik": equal letters are one axis, those behind the arrow remain, the others are summed."""
    texts, out = letters(subscripts, operands)
    sizes: dict[str, tuple[Size, str]] = {}
    terms = []
    for number, (text, x) in enumerate(zip(texts, operands, strict=True)):
        for axis, letter in enumerate(text):
            size, first = sizes.setdefault(letter, (x.shape[axis], f"operand {number}"))
            if not same(size, x.shape[axis]):
                raise GraphError(
                    f"einsum {subscripts!r}: axis {letter!r} is {size} in {first} and {x.shape[axis]} in operand {number} "
                    f"(shape {show_shape(x.shape)}); expected the same size"
                )
        terms.append(_diagonals(text, x))
    text, result = terms[0]
    for i, (other, y) in enumerate(terms[1:], 1):
        later = set(out).union(*(t for t, _ in terms[i + 1 :]))
        text, result = _product(_summed(text, result, later | set(other)), _summed(other, y, later | set(text)), later)
    text, result = _summed(text, result, set(out))
    return result.permute([text.index(letter) for letter in out])


def letters(subscripts: object, operands: Sequence[Expr]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; an ellipsis becomes letters of its own."""
    if not isinstance(subscripts, str):
        raise GraphError(f"einsum: expected the axes as text first, such as 'ij,jk->ik', got {shown(subscripts)}")
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(operands):
        raise GraphError(f"einsum {subscripts!r}: names {len(texts)} operands, got {len(operands)}")
    spare = [chr(code) for code in range(0x3B1, 0x3B1 + 32)]
    most = 0
    for i, (text, x) in enumerate(zip(texts, operands, strict=True)):
        named = text.replace("...", "", 1)
        extra = operand("einsum", x).rank - len(named)
        if extra < 0 or (extra and named == text) or not all(c.isascii() and c.isalpha() for c in named):
            raise GraphError(f"einsum {subscripts!r}: {text!r} does not name the axes of operand {i}, shape {show_shape(x.shape)}")
        most = max(most, extra)
        texts[i] = text.replace("...", "".join(spare[len(spare) - extra :]))
    wide = "".join(spare[len(spare) - most :])
    if not arrow:
        named = "".join(texts)
        right = wide + "".join(sorted(c for c in set(named) if named.count(c) == 1 and c not in wide))
    right = right.replace("...", wide)
    if len(set(right)) < len(right) or not set(right) <= set("".join(texts)):
        raise GraphError(f"einsum {subscripts!r}: each letter of the result must stand there once, and in an operand; got {right!r}")
    return texts, right


def _diagonals(text: str, x: Expr) -> tuple[str, Expr]:
    """Letters that an operand has twice, once: the diagonal of the two axes."""
    for letter in dict.fromkeys(text):
        while text.count(letter) > 1:
            first = text.index(letter)
            second = text.index(letter, first + 1)
            places = apply("iota", (), x.shape[first])
            on = places.reshape([n if a == first else 1 for a, n in enumerate(x.shape)]).equal(
                places.reshape([n if a == second else 1 for a, n in enumerate(x.shape)])
            )
            x = reduce("sum", on.where(x, 0), second).astype(x.dtype)
            text = text[:second] + text[second + 1 :]
    return text, x


def _summed(text: str, x: Expr, kept: set[str]) -> tuple[str, Expr]:
    """Without the axes that nothing else needs."""
    axes = [axis for axis, letter in enumerate(text) if letter not in kept]
    if not axes:
        return text, x
    return "".join(c for c in text if c in kept), reduce("sum", x, axes).astype(x.dtype)


def _product(left: tuple[str, Expr], right: tuple[str, Expr], later: set[str]) -> tuple[str, Expr]:
    (a, x), (b, y) = left, right
    batch = [c for c in a if c in b and c in later]
    inner = [c for c in a if c in b and c not in later]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    size = {**dict(zip(b, y.shape, strict=True)), **dict(zip(a, x.shape, strict=True))}
    if not inner:
        x = _arranged(a, x, [*batch, *rows])
        for _ in columns:
            x = x.expand_dims(x.rank)
        y = _arranged(b, y, [*batch, *columns])
        for _ in rows:
            y = y.expand_dims(len(batch))
        return "".join([*batch, *rows, *columns]), x * y

    def merged(letters: list[str]) -> Size:
        return math.prod(size[c] for c in letters)

    x = _arranged(a, x, [*batch, *rows, *inner]).reshape((*(size[c] for c in batch), merged(rows), merged(inner)))
    y = _arranged(b, y, [*batch, *inner, *columns]).reshape((*(size[c] for c in batch), merged(inner), merged(columns)))
    out = matmul(x, y).reshape(tuple(size[c] for c in (*batch, *rows, *columns)))
    return "".join([*batch, *rows, *columns]), out


def _arranged(text: str, x: Expr, letters: list[str]) -> Expr:
    return x.permute([text.index(c) for c in letters])


__all__ = ["einsum"]
