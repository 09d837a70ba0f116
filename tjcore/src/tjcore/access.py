"""Index maps: which element of a source an element of a node reads, through any chain of views.

An index into a tensor is one `Affine` per axis, over numbered loop variables. Views cost nothing: they only change the index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from .dims import Size
from .errors import InternalError
from .graph import Expr
from .ops import OPS, Shape, same


@dataclass(frozen=True, slots=True)
class Affine:
    """An index: sum of `var * coefficient` over `terms` (sorted by var, no zero coefficients), plus `offset`."""

    terms: tuple[tuple[int, Size], ...] = ()
    offset: Size = 0

    def coefficient(self, var: int) -> Size:
        return next((c for v, c in self.terms if v == var), 0)

    def __add__(self, other: Affine) -> Affine:
        terms = dict(self.terms)
        for var, c in other.terms:
            terms[var] = terms[var] + c if var in terms else c
        return Affine(_canonical(terms), self.offset + other.offset)

    def scale(self, factor: Size) -> Affine:
        return Affine(_canonical({v: c * factor for v, c in self.terms}), self.offset * factor)

    def substitute(self, new: dict[int, Affine]) -> Affine:
        """With each var in `new` replaced by an index over other vars."""
        out = Affine((), self.offset)
        for var, c in self.terms:
            out = out + (new[var].scale(c) if var in new else Affine(((var, c),)))
        return out


def _canonical(terms: dict[int, Size]) -> tuple[tuple[int, Size], ...]:
    return tuple(sorted(((v, c) for v, c in terms.items() if not (isinstance(c, int) and c == 0)), key=lambda t: t[0]))


def along(var: int) -> Affine:
    return Affine(((var, 1),))


def show_affine(at: Affine, name: Callable[[int], str] = lambda v: f"i{v}") -> str:
    parts = []
    for var, c in at.terms:
        if isinstance(c, int) and c == 1:
            parts.append(name(var))
        else:
            text = str(c)
            parts.append(f"{name(var)}*{text if text.isidentifier() or text.isdigit() else f'({text})'}")
    if not (isinstance(at.offset, int) and at.offset == 0):
        parts.append(str(at.offset))
    return " + ".join(parts) or "0"


@dataclass(frozen=True, slots=True)
class Whole:
    """The index of an element in a tensor whose axes are counted through as one, the last fastest."""

    at: Affine


Index = tuple[Affine, ...] | Whole
ZERO = Affine()


def identity(rank: int) -> Index:
    """The index of an element by loop variables 0, 1, ... in axis order."""
    return tuple(along(var) for var in range(rank))


def source_index(node: Expr, position: int, at: Index, inner: int) -> Index:
    """Where element `at` of `node` reads its source number `position`; `inner` is the variable that a reduction or a product runs over."""
    source = node.sources[position]
    if isinstance(at, Whole):
        return _source_of_whole(node, source, at)
    match node.op:
        case "slice":
            axis, start, _, step = node.arg
            return (*at[:axis], at[axis].scale(step) + Affine((), start), *at[axis + 1 :])
        case "windows":
            axis, _, _, stride, dilation = node.arg
            return (*at[:axis], at[axis].scale(stride) + at[-1].scale(dilation), *at[axis + 1 : -1])
        case "reshape":
            groups = split_axes(source.shape, node.shape)
            if groups is None:
                return Whole(flat(at, node.shape))
            return tuple(flat(at[first:last], node.shape[first:last]) for first, last in groups)
        case "take":  # of the source: where index 0 would be; what the index adds, the kernel does
            rank = len(node.sources[1].shape)
            return at[node.arg : node.arg + rank] if position else (*at[: node.arg], ZERO, *at[node.arg + rank :])
        case "take_along_axis":
            return at if position else (*at[: node.arg], ZERO, *at[node.arg + 1 :])
        case "concat":  # each part has loops of its own (lower.py)
            return at
        case "expand_dims":
            return at[: node.arg] + at[node.arg + 1 :]
        case "squeeze":
            return (*at[: node.arg], ZERO, *at[node.arg :])
        case "broadcast_to":
            added = len(node.shape) - len(source.shape)
            pairs = zip(source.shape, node.shape[added:], at[added:], strict=True)
            return tuple(index if same(have, want) else ZERO for have, want, index in pairs)
        case "transpose":
            back = dict(zip(node.arg, at, strict=True))
            return tuple(back[axis] for axis in range(len(at)))
        case "sum" | "prod" | "max" | "min" | "argmax" | "argmin":
            return (*at[: node.arg], along(inner), *at[node.arg :])
        case "matmul":
            if len(source.shape) == 1:
                return (along(inner),)
            batch = at[: len(source.shape) - 2]
            return (*batch, at[len(batch)], along(inner)) if position == 0 else (*batch, along(inner), at[-1])
    if OPS[node.op].kind not in ("elementwise", "scan"):
        raise InternalError(f"no index map for op {node.op}")
    return at


def passes_whole(node: Expr) -> bool:
    """Whether an element of the node has the same number, counted through all axes, in its sources."""
    if node.op == "broadcast_to":
        return all(size == 1 for size in node.sources[0].shape)
    return node.op in ("reshape", "expand_dims", "squeeze") or OPS[node.op].kind in ("elementwise", "leaf")


def _source_of_whole(node: Expr, source: Expr, at: Whole) -> Index:
    if node.op == "broadcast_to" and passes_whole(node):
        return tuple(ZERO for _ in source.shape)
    return at  # where it does not pass, fusion stores the node, and this is never read


@lru_cache(maxsize=4096)
def split_axes(old: Shape, new: Shape) -> tuple[tuple[int, int], ...] | None:
    """For each old axis the range of new axes that it is split into; None where axes are merged."""
    groups: list[tuple[int, int]] = []
    at = 0
    for i, size in enumerate(old):
        first, product = at, 1
        while not same(product, size):
            if at == len(new):
                return None
            product = product * new[at]  # type: ignore[assignment]
            at += 1
        if i == len(old) - 1:
            while at < len(new) and new[at] == 1:
                at += 1
        groups.append((first, at))
    return tuple(groups) if at == len(new) else None


@lru_cache(maxsize=4096)
def strides(shape: Shape) -> tuple[Size, ...]:
    """Elements to step per axis in a C-contiguous tensor."""
    out: list[Size] = []
    step: Size = 1
    for size in reversed(shape):
        out.append(step)
        step = step * size
    return tuple(reversed(out))


def flat(at: Index, shape: Shape) -> Affine:
    """The element offset of `at` in a C-contiguous tensor."""
    if isinstance(at, Whole):
        return at.at
    total = ZERO
    for index, stride in zip(at, strides(shape), strict=True):
        total = total + index.scale(stride)
    return total
