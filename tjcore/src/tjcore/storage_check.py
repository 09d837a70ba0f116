"""The judge of arrangements. In: a program in which each tensor has a buffer of its own, and what became of it. Out: nothing, or an InternalError
naming the law that broke.

Nothing here is shared with the room that arranges. Laws: *order* (each call once, after what it needs), *room* (a tensor's home is large enough for
all sizes), *contents* (a call finds in each home the tensor that it means to read, and the outputs hold theirs at the end),
*place* (a call writes over what it reads only as one param), *tile* (within a chain, what shares memory is touched row by row).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .dims import Size, at_most
from .errors import InternalError
from .loops import Buffer, Program


def verify_arrangement(given: Program, arranged: Program, order: Sequence[int], home: Sequence[int], donated: frozenset[int]) -> None:
    """InternalError unless `arranged` computes what `given` does, each tensor b of it living in buffer `home[b]`."""
    if sorted(order) != list(range(len(given.calls))) or len(arranged.calls) != len(order):
        raise _broken("order", f"the calls {list(order)} are not those of the program, each once")
    for b, h in enumerate(home):
        _check_home(b, h, given, arranged, donated)
    holds: dict[int, int] = {home[i]: i for i, buffer in enumerate(given.buffers) if buffer.kind == "input"}
    for at, old in enumerate(order):
        call = given.calls[old]
        params = given.kernels[call.kernel].params
        reads = [b for b, p in zip(call.buffers, params, strict=True) if not p.written]
        writes = [b for b, p in zip(call.buffers, params, strict=True) if p.written]
        for b in reads:
            if holds.get(home[b]) != b:
                held = given.buffers[holds[home[b]]].name if home[b] in holds else "nothing"
                raise _broken(
                    "contents", f"call {at} reads {given.buffers[b].name!r}, and {arranged.buffers[home[b]].name!r} holds {held} then"
                )
        over = [b for b in reads if home[b] in {home[w] for w in writes}]
        if len({home[w] for w in writes}) != len(writes) or len(arranged.calls[at].buffers) != len(call.buffers) - len(over):
            raise _broken(
                "place", f"call {at} has {len(arranged.calls[at].buffers)} buffers; it writes over {len(over)} of {len(call.buffers)}"
            )
        if sorted(arranged.calls[at].buffers) != sorted([home[b] for b in call.buffers if b not in over]):
            raise _broken("place", f"call {at} is given other buffers than the homes of its tensors")
        for b in writes:
            holds[home[b]] = b
    for i, buffer in enumerate(given.buffers):
        if buffer.kind == "output" and holds.get(home[i]) != i:
            raise _broken("contents", f"at the end, the memory of output {buffer.name!r} holds something else")
    for chain in arranged.chains:
        _check_tiles(given, order, home, range(chain.first, chain.last + 1), chain.depth)


def _check_home(b: int, h: int, given: Program, arranged: Program, donated: frozenset[int]) -> None:
    tensor, memory = given.buffers[b], arranged.buffers[h]
    if tensor.kind == "input" and h != b:
        raise _broken("contents", f"input {tensor.name!r} is not where the caller has it")
    if memory.kind == "input" and tensor.kind != "input" and h not in donated:
        raise _broken("contents", f"{tensor.name!r} lives in input {memory.name!r}, which is not donated")
    if h != b and (tensor.shape, tensor.dtype) != (memory.shape, memory.dtype) and at_most(_bytes(tensor), _bytes(memory)) is not True:
        raise _broken("room", f"{tensor.name!r} ({_bytes(tensor)} bytes) lives in {memory.name!r} ({_bytes(memory)} bytes)")


def _check_tiles(given: Program, order: Sequence[int], home: Sequence[int], calls: range, depth: int) -> None:
    """Tiles of a chain run side by side: two tensors in one memory must both be touched at a tile's own rows alone."""
    tensors: dict[int, set[int]] = {}
    own: dict[int, int] = {}
    for at in calls:
        call = given.calls[order[at]]
        for b, p in zip(call.buffers, given.kernels[call.kernel].params, strict=True):
            tensors.setdefault(home[b], set()).add(b)
            own[b] = min(own.get(b, p.own), p.own)
    for h, some in tensors.items():
        if len(some) > 1 and any(own[b] < depth for b in some):
            names = ", ".join(given.buffers[b].name for b in sorted(some))
            raise _broken("tile", f"{names} share buffer {h} in a chain, and not all of them are touched row by row")


def _bytes(buffer: Buffer) -> Size:
    return math.prod(buffer.shape, start=buffer.dtype.itemsize)


def _broken(law: str, what: str) -> InternalError:
    return InternalError(f"storage, law '{law}': {what}; please report it with the graph's text")
