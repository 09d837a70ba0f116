"""Scratch that shares memory: within a chain, what one tile of rows passes on, in memory that the same tile uses before or after.

In: a chain with the calls of its program, and what of it is scratch. Out: for scratch that needs no memory of its own, the buffer that has room.
Law: both are of one shape and element type, both are touched at the tile's own rows only, and no call of the chain touches one while the
other is alive. So row i of both is one piece of memory, and tiles on other threads never meet it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from .loops import Buffer, Chain, Kernel

Call = tuple[Kernel, tuple[int, ...]]


def shared_tiles(
    chain: Chain, calls: Sequence[Call], buffers: Sequence[Buffer], scratch: Set[int], first: Mapping[int, int]
) -> dict[int, int]:
    """Scratch, and where it goes: whole tensors that the chain writes later, or other scratch. `first`: the call that touches a buffer first."""
    own: dict[int, int] = {}
    spans: dict[int, tuple[int, int]] = {}
    for at in range(chain.first, chain.last + 1):
        kernel, given = calls[at]
        for b, p in zip(given, kernel.params, strict=True):
            own[b] = min(own.get(b, p.own), p.own)
            spans[b] = spans.get(b, (at, at))[0], at
    by_tile = [b for b, least in own.items() if least >= chain.depth and not buffers[b].per_thread]
    whole = [b for b in by_tile if b not in scratch and buffers[b].kind != "input" and first[b] >= chain.first]
    taken = {b: [(spans[b][0], chain.last)] for b in whole}
    homes: dict[int, int] = {}
    for b in sorted((b for b in by_tile if b in scratch), key=lambda b: (-spans[b][0], b)):  # as for lending: the latest first
        for slot, others in taken.items():
            alike = (buffers[b].shape, buffers[b].dtype) == (buffers[slot].shape, buffers[slot].dtype)
            if alike and all(spans[b][1] < first or last < spans[b][0] for first, last in others):
                others.append(spans[b])
                homes[b] = slot
                break
        else:
            taken[b] = [spans[b]]
    return homes
