"""How users write parts and other shapes of an expression: `x[1:, ::2]`, `x.reshape((N, -1))`, `x.flip(0)`.

In: NumPy's notation, with sizes where NumPy has ints. Out: nodes whose sizes are computed. What cannot be decided about sizes while the
graph is built is checked at the call.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtypes
from .dims import Dim, Size, SizeExpr, at_most, bounds, divides, maximum, minimum
from .dtypes import DType
from .errors import GraphError, shown
from .ops import check_axes, check_axis, check_shape, same, show_shape
from .ops.movement import count

if TYPE_CHECKING:
    from .graph import Expr

Axes = int | Sequence[int] | None


class Shaping:
    """What `Expr` inherits; it brings `shape`, `dtype`, `astype`, `_node`, `_squeezed` and what its own views need."""

    __slots__ = ()

    shape: tuple[Size, ...]
    dtype: DType

    def _node(self, op: str, arg: Any) -> Expr:
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Size:
        """How many elements it has."""
        return count(self.shape)

    @property
    def mT(self) -> Expr:
        """The last two axes exchanged."""
        return self.swapaxes(-1, -2)

    @property
    def device(self) -> str:
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        if device != "cpu":
            raise GraphError(f"to_device: there is the device 'cpu' only, got {shown(device)}")
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The package itself, which is a namespace of the array API standard (docs/array-api.md)."""
        return sys.modules[__package__]

    def astype(self, dtype: Any) -> Expr:
        raise NotImplementedError

    def slice_axis(self, axis: int, start: Size, length: Size, step: int = 1) -> Expr:
        """`length` elements of one axis, from `start` in steps of `step`; unlike in `x[a:b]` nothing is cut off at the ends."""
        return self._node("slice", (check_axis("slice", axis, len(self.shape)), start, length, step))

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Expr:
        """Where the largest is, as int64: along an axis, or (None) among all elements in order. The first of equal ones; NaN is larger than all."""
        return self._place("argmax", axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Expr:
        """Where the smallest is, as int64: along an axis, or (None) among all elements in order. The first of equal ones; NaN is smaller than all."""
        return self._place("argmin", axis, keepdims)

    def _place(self, op: str, axis: int | None, keepdims: bool) -> Expr:
        rank = len(self.shape)
        if rank == 0:
            raise GraphError(f"{op}: a scalar has no axis; give a tensor of rank 1 or more")
        x: Shaping = self if self.dtype.itemsize >= 4 else self.astype(dtypes.float32 if self.dtype.kind == "float" else dtypes.int32)
        found = x.reshape((count(self.shape),))._node(op, 0) if axis is None and rank > 1 else x._node(op, check_axis(op, axis or 0, rank))
        for at in (range(rank) if axis is None else [check_axis(op, axis, rank)]) if keepdims else ():
            found = found.expand_dims(at)
        return found

    def reshape(self, *shape: Any) -> Expr:
        """The same elements in another shape, the last axis fastest; one size may be -1, which is what remains."""
        given = shape[0] if len(shape) == 1 and not _is_size(shape[0]) else shape
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise GraphError(f"reshape: shape must be a tuple of Dims and ints, got {shown(given)}")
        free = [i for i, size in enumerate(given) if isinstance(size, (int, np.integer)) and size == -1]
        if len(free) > 1:
            raise GraphError(f"reshape: one size at most may be -1, got {shown(tuple(given))}")
        known = check_shape("reshape", [1 if i in free else size for i, size in enumerate(given)])
        if free:
            known = (*known[: free[0]], _rest(self.shape, known), *known[free[0] + 1 :])
        return self._node("reshape", known)

    def flatten(self) -> Expr:
        """All elements in one axis."""
        return self._node("reshape", (count(self.shape),))

    def flip(self, axis: Axes = None) -> Expr:
        """The axes (None: all) in the other direction."""
        out: Any = self
        for at in check_axes("flip", axis, len(self.shape)):
            size = self.shape[at]
            out = out.slice_axis(at, size - 1, size, -1)
        return out  # type: ignore[no-any-return]

    def moveaxis(self, source: int | Sequence[int], destination: int | Sequence[int]) -> Expr:
        """As `numpy.moveaxis`."""
        rank = len(self.shape)
        came = [check_axis("moveaxis", a, rank) for a in ([source] if isinstance(source, int) else source)]
        goes = [check_axis("moveaxis", a, rank) for a in ([destination] if isinstance(destination, int) else destination)]
        if len(came) != len(goes) or len(set(came)) < len(came) or len(set(goes)) < len(goes):
            raise GraphError(f"moveaxis: expected as many places as axes and none twice, got {shown(source)} and {shown(destination)}")
        order = [a for a in range(rank) if a not in came]
        for to, axis in sorted(zip(goes, came, strict=True)):
            order.insert(to, axis)
        return self._node("transpose", tuple(order))

    def swapaxes(self, axis1: int, axis2: int) -> Expr:
        """Two axes exchanged."""
        rank = len(self.shape)
        order = list(range(rank))
        a, b = check_axis("swapaxes", axis1, rank), check_axis("swapaxes", axis2, rank)
        order[a], order[b] = b, a
        return self._node("transpose", tuple(order))

    def __getitem__(self, key: Any) -> Expr:
        keys = key if isinstance(key, tuple) else (key,)
        rank = len(self.shape)
        taken = sum(k is not None and k is not Ellipsis for k in keys)
        if sum(k is Ellipsis for k in keys) > 1:
            raise GraphError("x[...]: an index has one ellipsis at most")
        if taken > rank:
            raise GraphError(f"x[...]: {taken} indices for a tensor of rank {rank}, shape {show_shape(self.shape)}")
        if not any(k is Ellipsis for k in keys):
            keys = (*keys, Ellipsis)
        out: Any = self
        axis = 0
        for k in keys:
            if k is Ellipsis:
                axis += rank - taken
            elif k is None:
                out = out.expand_dims(axis)
                axis += 1
            elif isinstance(k, slice):
                out = _sliced(out, axis, k)
                axis += 1
            elif _is_size(k):
                out = out.slice_axis(axis, _position(out, axis, k), 1).squeeze(axis)
            else:
                axis = -1
                break
        if axis < 0:
            raise GraphError(
                f"x[...]: an index is an int, a size, a slice, None or ..., got {shown(k)}; "
                "tjcore.take(x, indices, axis=...) takes elements by a tensor of ints"
            )
        return out  # type: ignore[no-any-return]


def _is_size(value: object) -> bool:
    return isinstance(value, (int, np.integer, Dim, SizeExpr)) and not isinstance(value, (bool, np.bool_))


def _negative(value: Size, what: str) -> bool:
    low, high = bounds(value)
    if low < 0 <= high:
        raise GraphError(
            f"x[...]: {what} {value} is negative for some sizes and not for others, within {low}..{high}; declare tighter bounds"
        )
    return high < 0


def _position(x: Any, axis: int, index: Any) -> Size:
    at: Size = int(index) if isinstance(index, (int, np.integer)) else index
    size = x.shape[axis]
    low, high = (-size, at) if _negative(at, "the index") else (at, size - 1)
    if at_most(low, high) is False:
        raise GraphError(f"x[...]: index {at} is out of range for axis {axis} of shape {show_shape(x.shape)}")
    return size + at if _negative(at, "the index") else at


def _sliced(x: Any, axis: int, part: slice) -> Expr:
    """NumPy's rule: bounds count from the end where negative, and are cut off at the ends."""
    size = x.shape[axis]
    step = 1 if part.step is None else part.step
    if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or step == 0:
        raise GraphError(f"x[...]: a slice's step must be an int other than 0, got {shown(step)}")
    step = int(step)

    def bound(value: Any, default: Size, low: Size, high: Size) -> Size:
        if value is None:
            return default
        if not _is_size(value):
            raise GraphError(f"x[...]: a slice's bounds must be ints, sizes or None, got {shown(value)}")
        at: Size = int(value) if isinstance(value, (int, np.integer)) else value
        return maximum(size + at, low) if _negative(at, "the bound") else minimum(at, high)

    # Equal lengths are written alike: those of x[a:-b], x[:-c] and x[c:] where a + b is c, and those of x[-b:] and x[:b].
    front, back = (int(k) if isinstance(k, np.integer) else k for k in (part.start, part.stop))
    before, behind = (None if not _is_size(k) else "behind" if _negative(k, "the bound") else "before" for k in (front, back))
    if step == 1 and behind == "behind" and (front is None or before == "before"):
        return x.slice_axis(axis, minimum(front or 0, size), size - minimum(size, (front or 0) - back), 1)  # type: ignore[no-any-return]
    if step == 1 and back is None and before is not None:
        length = size - minimum(front, size) if before == "before" else minimum(-front, size)
        return x if length == size else x.slice_axis(axis, size - length, length, 1)  # type: ignore[no-any-return]
    if step > 0:
        start = bound(part.start, 0, 0, size)
        length = maximum((bound(part.stop, size, 0, size) - start + (step - 1)) // step, 0)
    else:
        start = bound(part.start, size - 1, -1, size - 1)
        length = maximum((start - bound(part.stop, -1, -1, size - 1) - step - 1) // -step, 0)
    if start == 0 and step == 1 and same(length, size):
        return x  # type: ignore[no-any-return]
    return x.slice_axis(axis, start, length, step)  # type: ignore[no-any-return]


def _rest(shape: Sequence[Size], known: Sequence[Size]) -> Size:
    """What -1 stands for: the elements divided by the other sizes. Sizes that stand in both shapes are taken out first."""
    have, want = list(shape), [s for s in known if s != 1]
    for size in list(want):
        if size in have and not isinstance(size, int):
            have.remove(size)
            want.remove(size)
    elements, divisor = count(have), count(want)
    if bounds(divisor)[0] < 1:
        raise GraphError(f"reshape: -1 is not determined where {divisor} is 0; name the size, or declare a lower bound of 1")
    if divides(divisor, elements) is False:
        raise GraphError(f"reshape: {show_shape(shape)} has {count(shape)} elements, which {count(known)} does not divide")
    return elements // divisor
