"""The judge of memory plans. In: the question and an answer. Out: nothing, or a `PlanError` naming the law that broke.

Nothing here calls the planner or is called by it; where both need the same notion (rounding, overlap, order), it is written twice on
purpose, so that one mistake cannot hide itself.

Laws of a concrete plan: *known* (no allocation of an unknown buffer), *once* (none twice), *complete* (none missing), *alignment*,
*non-negative*, *size* (exactly the buffer's bytes rounded up), *disjoint* (buffers live at one time share no byte).
Laws of a symbolic plan: *known*, *complete*, *acyclic* (no buffer lies below itself), *ordered* (of two buffers live at one time, one lies below
the other, directly or through others). Both together prove that no two live buffers overlap, whatever the sizes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tjcore.errors import PlanError

if TYPE_CHECKING:
    from tjcore.memory.problem import Allocation, Temporary


def verify_plan(temporaries: Sequence[Temporary], allocations: Sequence[Allocation]) -> None:
    """Raise `PlanError` unless `allocations` is a correct placement of `temporaries`."""
    wanted: dict[str, Temporary] = {}
    for temporary in temporaries:
        if temporary.name in wanted:
            raise PlanError(f"law of names: two temporaries are named {temporary.name!r}")
        wanted[temporary.name] = temporary
    placed: dict[str, Allocation] = {}
    for allocation in allocations:
        if allocation.name not in wanted:
            raise PlanError(
                f"law 'known': the plan allocates {allocation.name!r}, which is no temporary; temporaries are {_some(list(wanted))}"
            )
        if allocation.name in placed:
            raise PlanError(
                f"law 'once': the plan allocates {allocation.name!r} twice, at {placed[allocation.name].offset} and {allocation.offset}"
            )
        placed[allocation.name] = allocation
        _check_alone(wanted[allocation.name], allocation)
    missing = [name for name in wanted if name not in placed]
    if missing:
        raise PlanError(f"law 'complete': the plan has no allocation for {_some(missing)}")
    _check_disjoint([(t, placed[t.name]) for t in temporaries if t.nbytes > 0])


def _check_alone(temporary: Temporary, allocation: Allocation) -> None:
    offset, nbytes = allocation.offset, allocation.nbytes
    if offset < 0:
        raise PlanError(f"law 'non-negative': {allocation.name!r} lies at offset {offset}")
    if offset % 64:
        raise PlanError(f"law 'alignment': {allocation.name!r} lies at offset {offset}, which is no multiple of 64")
    rounded = (temporary.nbytes + 63) // 64 * 64
    if nbytes != rounded:
        raise PlanError(
            f"law 'size': {allocation.name!r} has {nbytes} bytes in the plan; it needs {temporary.nbytes}, rounded up {rounded}"
        )


def _check_disjoint(pairs: Sequence[tuple[Temporary, Allocation]]) -> None:
    # Each buffer against all before it, one vector comparison per buffer: quadratic, and still under a second or two for 10,000.
    # Python's own integers take over where 64 bits could not hold a sum.
    largest = max((a.offset + a.nbytes for _, a in pairs), default=0)
    dtype = np.int64 if largest < 2**62 else object
    first = np.array([t.first for t, _ in pairs])
    last = np.array([t.last for t, _ in pairs])
    low = np.array([a.offset for _, a in pairs], dtype=dtype)
    high = np.array([a.offset + a.nbytes for _, a in pairs], dtype=dtype)
    for i in range(1, len(pairs)):
        clash = (first[:i] <= last[i]) & (last[:i] >= first[i]) & (low[:i] < high[i]) & (high[:i] > low[i])
        if clash.any():
            (one, at), (other, there) = pairs[i], pairs[int(clash.argmax())]
            raise PlanError(
                f"law 'disjoint': {other.name!r} holds bytes [{there.offset}, {there.offset + there.nbytes}) during kernels "
                f"{other.first}..{other.last}, {one.name!r} holds bytes [{at.offset}, {at.offset + at.nbytes}) during kernels {one.first}..{one.last}"
            )


class LiveBuffer(Protocol):
    """What the symbolic verifier needs to know of a buffer."""

    @property
    def name(self) -> str: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


class Orientation(Protocol):
    """What the symbolic verifier needs of a plan: per buffer name, the names of buffers that lie directly below it."""

    @property
    def below(self) -> dict[str, tuple[str, ...]]: ...


def verify_symbolic(buffers: Sequence[LiveBuffer], plan: Orientation) -> None:
    """Raise `PlanError` unless the plan's orientation keeps every two live buffers apart for all sizes."""
    names = [b.name for b in buffers]
    index = {name: i for i, name in enumerate(names)}
    if len(index) != len(names):
        raise PlanError("law of names: two buffers of the plan share a name")
    for name, under in plan.below.items():
        for each in (name, *under):
            if each not in index:
                raise PlanError(f"law 'known': the plan speaks of {each!r}, which is no buffer; buffers are {_some(names)}")
    missing = [name for name in names if name not in plan.below]
    if missing:
        raise PlanError(f"law 'complete': the plan does not place {_some(missing)}")

    # Peel off buffers with nothing left below them; whatever cannot be peeled lies on or above a cycle.
    lower = [{index[u] for u in plan.below[name]} for name in names]
    upper: list[list[int]] = [[] for _ in names]
    for i, some in enumerate(lower):
        for j in some:
            upper[j].append(i)
    waiting = [len(some) for some in lower]
    peeled = [i for i, count in enumerate(waiting) if count == 0]
    # reach[i] has bit j set when j lies below i, directly or through others.
    reach = [0] * len(names)
    for i in peeled:  # grows while it is walked
        for j in lower[i]:
            reach[i] |= reach[j] | (1 << j)
        for j in upper[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                peeled.append(j)
    if len(peeled) < len(names):
        stuck = [name for i, name in enumerate(names) if waiting[i]]
        raise PlanError(f"law 'acyclic': {_some(stuck)} lie on or above a cycle, so none of them has an offset")

    _check_ordered(buffers, reach)


def _check_ordered(buffers: Sequence[LiveBuffer], reach: Sequence[int]) -> None:
    # Walk the moments: whatever is live together must be ordered. New arrivals are compared with all that live at their arrival.
    arrivals = sorted(range(len(buffers)), key=lambda i: buffers[i].first)
    live: list[int] = []
    live_bits = 0
    for i in arrivals:
        now = buffers[i].first
        for j in live:
            if buffers[j].last < now:
                live_bits &= ~(1 << j)
        live = [j for j in live if buffers[j].last >= now]
        unordered = live_bits & ~reach[i]
        while unordered:
            j = unordered.bit_length() - 1
            unordered ^= 1 << j
            if not reach[j] >> i & 1:
                a, b = buffers[j], buffers[i]
                raise PlanError(
                    f"law 'ordered': {a.name!r} (kernels {a.first}..{a.last}) and {b.name!r} (kernels {b.first}..{b.last}) are live together, "
                    "but neither lies below the other"
                )
        live.append(i)
        live_bits |= 1 << i


def _some(names: Sequence[str], limit: int = 5) -> str:
    shown = ", ".join(repr(n) for n in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
