"""Less to place: where the tensors of a program live before any memory is planned.

In: a program in which each tensor has a buffer of its own, and the inputs that may be overwritten. Out: an `Arrangement`, the same
program with its steps perhaps in another order and with fewer buffers.
Laws: a buffer is written only when nobody needs what it held (a kernel may write over what it reads at the same index, `inplace.py`);
a tensor lives only in memory that has room for it for all sizes, by proof; the order is another one only where, by proof, it never
keeps more alive than the given one, whatever the sizes are.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .dims import Size, at_most, compile_sizes, total
from .inplace import in_place
from .loops import Buffer, Call, Kernel, Program
from .memory import ALIGNMENT, align_up, sample_points
from .order import Step, orders, peak
from .scratch import shared_tiles

MOST_COMPARED = 400
"""Steps beyond which orders are not compared: every step of one is held against steps of the other."""

MOST_HELD_AGAINST = 24
"""With so many moments of the given order, the fullest, each moment of another is compared."""
MOST_WEIGHED = 500
"""Temporaries beyond which those to be lent a place are taken by size alone."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """`order`: the call of the given program that each call was. `home`: the buffer of the new program that each buffer's tensor lives in."""

    program: Program
    order: tuple[int, ...]
    home: tuple[int, ...]

    def aliases(self) -> dict[int, int]:
        """For each output that is written over a donated input, by their numbers among outputs and inputs: that input."""
        inputs = self.program.count("input")
        outputs = range(inputs, inputs + self.program.count("output"))
        return {b - inputs: self.home[b] for b in outputs if self.home[b] < inputs}


def arrange(program: Program, donated: frozenset[int] = frozenset()) -> Arrangement:
    """The program with as little to place as is found."""
    given = _assigned(program, tuple(range(len(program.calls))), donated)
    best = given
    points = sample_points({d.name: (d.lower, d.upper) for d in program.dims})
    for order in _orders(program, points):
        other = _assigned(_reordered(program, order), order, donated)
        if _peaks_lower(other, best, points) and _never_above(other.program, given.program):
            best = other
    return best


# ---------------------------------------------------------------- lifetimes
def steps_of(program: Program) -> list[range]:
    """The calls of each step: a chain is one step, any other call one of its own."""
    starts = {chain.first: chain.last for chain in program.chains}
    out: list[range] = []
    at = 0
    while at < len(program.calls):
        out.append(range(at, starts.get(at, at) + 1))
        at = out[-1].stop
    return out


def lifetimes(program: Program) -> dict[int, tuple[int, int]]:
    """For each buffer: the first and the last call that touches it. What a chain touches, it touches from its first call to its last."""
    spans: dict[int, tuple[int, int]] = {}
    for step in steps_of(program):
        for at in step:
            for b in program.calls[at].buffers:
                spans[b] = (spans[b][0] if b in spans else step.start, step.stop - 1)
    return spans


def bytes_of(buffer: Buffer) -> Size:
    return math.prod(buffer.shape, start=buffer.dtype.itemsize)


def _whole(program: Program) -> list[int]:
    """Temporaries that lie in memory as a whole: not what a chain keeps by the tile, nor what a kernel works in."""
    scratch = {b for chain in program.chains for b in chain.scratch}
    return [i for i, b in enumerate(program.buffers) if b.kind == "temporary" and not b.per_thread and i not in scratch]


# ---------------------------------------------------------------- order
def _orders(program: Program, points: Sequence[Mapping[str, int]]) -> Iterator[tuple[int, ...]]:
    """Orders of calls that keep fewer bytes alive at some of the sizes and more at none, as far as can be seen before anything is shared."""
    spans = steps_of(program)
    if not 2 < len(spans) <= MOST_COMPARED:
        return
    whole = _whole(program)
    number = {b: i for i, b in enumerate(whole)}
    wrote: dict[int, int] = {}
    steps: list[Step] = []
    for i, span in enumerate(spans):
        writes: dict[int, None] = {}
        reads: dict[int, None] = {}
        for at in span:
            call = program.calls[at]
            for b, p in zip(call.buffers, program.kernels[call.kernel].params, strict=True):
                (writes if p.written else reads)[b] = None
        after = frozenset(wrote[b] for b in reads if b in wrote and wrote[b] != i)
        wrote |= dict.fromkeys(writes, i)
        steps.append(Step(tuple(number[b] for b in writes if b in number), tuple(number[b] for b in reads if b in number), after))
    sizes = compile_sizes([bytes_of(program.buffers[b]) for b in whole], [d.name for d in program.dims])
    weights = [[align_up(n) for n in sizes(list(point.values()))] for point in points]
    same = list(range(len(steps)))
    seen = {tuple(same)}
    for at in dict.fromkeys((0, len(points) // 2)):
        for order in orders(steps, weights[at]):
            if tuple(order) in seen:
                continue
            seen.add(tuple(order))
            if all(peak(steps, order, w) <= peak(steps, same, w) for w in weights):
                yield tuple(c for i in order for c in spans[i])


def _reordered(program: Program, order: Sequence[int]) -> Program:
    place = {old: new for new, old in enumerate(order)}
    chains = sorted((replace(c, first=place[c.first], last=place[c.last]) for c in program.chains), key=lambda c: c.first)
    return replace(program, calls=tuple(program.calls[i] for i in order), chains=tuple(chains))


def _live(program: Program) -> list[tuple[int, ...]]:
    """The temporaries that are alive at each step."""
    held = [(b, first, last) for b, (first, last) in sorted(lifetimes(program).items()) if program.buffers[b].kind == "temporary"]
    return [tuple(b for b, first, last in held if first <= step.start <= last) for step in steps_of(program)]


def _peaks_lower(new: Arrangement, old: Arrangement, points: Sequence[Mapping[str, int]]) -> bool:
    def peaks(program: Program) -> list[int]:
        live = set(_live(program))
        sizes = compile_sizes([bytes_of(b) for b in program.buffers], [d.name for d in program.dims])
        at = [sizes(list(point.values())) for point in points]
        return [max((sum(align_up(n[b]) for b in some) for some in live), default=0) for n in at]

    pairs = list(zip(peaks(new.program), peaks(old.program), strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _never_above(new: Program, old: Program) -> bool:
    """By proof: whatever is alive at a step of the one takes no more than what is alive at some step of the other."""
    corner = [d.upper for d in old.dims]
    weight = compile_sizes([bytes_of(b) for b in old.buffers], [d.name for d in old.dims])(corner)
    fullest = sorted(dict.fromkeys(_live(old)), key=lambda some: -sum(weight[b] for b in some))[:MOST_HELD_AGAINST]
    theirs = [_takes(old, some) for some in fullest]
    for some in dict.fromkeys(_live(new)):
        ours = _takes(new, some)
        if not any(_covers(held, ours) for held in theirs):
            return False
    return True


def _takes(program: Program, some: Sequence[int]) -> tuple[list[Size], list[Buffer]]:
    """What temporaries take: the sizes of the whole ones, and those that are there by the tile or by the thread, nameless."""
    whole = frozenset(_whole(program))
    return (
        [bytes_of(program.buffers[b]) for b in some if b in whole],
        [replace(program.buffers[b], name="") for b in some if b not in whole],
    )


def _covers(more: tuple[list[Size], list[Buffer]], less: tuple[list[Size], list[Buffer]]) -> bool:
    """Whether what is in `more`, each piece rounded up to the alignment, sums up to no less than what is in `less`, for all sizes of the dims."""
    pieces = list(more[1])
    for buffer in less[1]:
        if buffer not in pieces:
            return False  # how much is there of it depends on tiles and threads: only the same is known to be as much
        pieces.remove(buffer)
    rest, left = list(more[0]), []
    for size in less[0]:
        if size in rest:
            rest.remove(size)
        else:
            left.append(size)
    unmatched = []
    for size in left:
        match = next((other for other in rest if at_most(size, other) is True), None)
        if match is None:
            unmatched.append(size)
        else:
            rest.remove(match)
    return not unmatched or at_most(total(unmatched) + (ALIGNMENT - 1) * len(unmatched), total(rest)) is True


# ---------------------------------------------------------------- homes
def _assigned(program: Program, order: tuple[int, ...], donated: frozenset[int]) -> Arrangement:
    return _Homes(program, donated).arrangement(order)


class _Homes:
    """Which buffer each tensor lives in, while tensors move together."""

    def __init__(self, program: Program, donated: frozenset[int]) -> None:
        self.program = program
        self.donated = donated
        self.buffers = program.buffers
        self.moved: dict[int, int] = {}
        """Where the tensors of a buffer have gone; they may have gone on from there."""
        self.calls: list[tuple[Kernel, tuple[int, ...]]] = [(program.kernels[c.kernel], c.buffers) for c in program.calls]
        self.variants: list[tuple[int, tuple[tuple[int, int], ...]]] = [(c.kernel, ()) for c in program.calls]
        self.chain_of = {at: chain for chain in program.chains for at in range(chain.first, chain.last + 1)}
        self.whole = set(_whole(program))
        self.scratch = {b for chain in program.chains for b in chain.scratch}
        self._write_over()
        self._share_tiles()
        self._lend()

    def home(self, buffer: int) -> int:
        """The buffer in which a tensor lives in the end."""
        path = []
        while buffer in self.moved:
            path.append(buffer)
            buffer = self.moved[buffer]
        for each in path:
            self.moved[each] = buffer
        return buffer

    def _write_over(self) -> None:
        """Results over operands that end there."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for at, (_, buffers) in enumerate(self.calls):
            for b in buffers:
                first.setdefault(b, at)
                last[b] = at
        users: dict[int, list[int]] = {}
        for at, (_, buffers) in enumerate(self.calls):
            for b in buffers:
                users.setdefault(b, []).append(at)
        free = set(self.donated)  # those that hold no output
        for at in range(len(self.calls)):
            kernel, buffers = self.calls[at]
            for target in [b for b, p in zip(buffers, kernel.params, strict=True) if p.written]:
                kind = self.buffers[target].kind
                if first[target] != at or (kind == "temporary" and target not in self.whole and target not in self.scratch):
                    continue
                kernel, buffers = self.calls[at]
                sources = [
                    b
                    for b, p in zip(buffers, kernel.params, strict=True)
                    if not p.written and last[b] == at and buffers.count(b) == 1 and (b in self.whole or b in free or b in self.scratch)
                ]
                sources.sort(key=lambda b: (b in free) is (kind == "temporary"))  # an output over an input is one less to bring
                for source in sources:
                    # A part may be stored over what it is taken from, so the two need not have one size.
                    if not self._one_kind(source, target):
                        continue
                    if self.buffers[source].shape != self.buffers[target].shape:
                        gone, kept = (source, target) if kind == "output" else (target, source)
                        if source in free and kind == "output":
                            continue  # the caller gets the donated array itself
                        if at_most(bytes_of(self.buffers[gone]), bytes_of(self.buffers[kept])) is not True:
                            continue
                    if self._merge(at, source, target, users[source]):
                        over = source in self.scratch and target not in self.scratch
                        kept, gone = (target, source) if over or (kind == "output" and source in self.whole) else (source, target)
                        self._rename(gone, kept, users[gone])
                        first[kept], last[kept] = first[source], last[target]
                        users[source] += users[target]  # which all come later, but for this call itself
                        users[kept] = users[source]
                        if kind == "output":
                            free.discard(kept)
                        break

    def _merge(self, at: int, source: int, target: int, users: Sequence[int]) -> bool:
        """Let call `at` write over `source`, if it can."""
        kernel, buffers = self.calls[at]
        chain = self.chain_of.get(at)
        for other in reversed(users) if chain else ():
            if not chain or other < chain.first:
                break
            k, given = self.calls[other]
            if any(b == source and p.own < chain.depth for b, p in zip(given, k.params, strict=True)):
                return False  # another tile may still read it
        pair = buffers.index(source), buffers.index(target)
        if chain and any(kernel.params[i].own < chain.depth for i in pair):
            return False
        merged = in_place(kernel, *pair)
        if merged is None:
            return False
        index, pairs = self.variants[at]
        self.variants[at] = index, (*pairs, pair)
        self.calls[at] = merged, tuple(b for i, b in enumerate(buffers) if i != pair[0])
        return True

    def _rename(self, gone: int, kept: int, users: Sequence[int]) -> None:
        for at in users:
            kernel, buffers = self.calls[at]
            self.calls[at] = kernel, tuple(kept if b == gone else b for b in buffers)
        self.moved[gone] = kept
        self.whole.discard(gone)
        self.scratch.discard(gone)

    def _one_kind(self, source: int, target: int) -> bool:
        """Both there as a whole, or both by the tile, or a tile's scratch over which a whole tensor of the same rows is written."""
        if source not in self.scratch:
            return target not in self.scratch
        return (self.buffers[source].shape, self.buffers[source].dtype) == (self.buffers[target].shape, self.buffers[target].dtype)

    def _share_tiles(self) -> None:
        """What lives within a tile into the memory of what its chain writes later, and of what its chain does not need any more."""
        first = {b: at for at, (_, buffers) in reversed(list(enumerate(self.calls))) for b in buffers}
        for chain in self.program.chains:
            scratch = {b for b in chain.scratch if b in self.scratch}
            for b, slot in shared_tiles(chain, self.calls, self.buffers, scratch, first).items():
                self._rename(b, slot, [at for at in range(chain.first, chain.last + 1) if b in self.calls[at][1]])

    def _lend(self) -> None:
        """Temporaries into the memory of outputs that are not written yet, and of donated inputs that are not read any more."""
        spans = lifetimes(self._program())
        end = len(self.calls)
        taken: dict[int, list[tuple[int, int]]] = {}
        for b, buffer in enumerate(self.buffers):
            if buffer.kind == "output" and self.home(b) == b:
                taken[b] = [(spans[b][0] if b in spans else 0, end)]
            elif b in self.donated:
                taken[b] = [(0, spans[b][1] if b in spans else -1)]
        for b, buffer in enumerate(self.buffers):
            if buffer.kind == "output" and (h := self.home(b)) in self.donated:
                taken[h] = [(0, end)]  # an output lives there
        if not taken:
            return
        waiting = [b for b in sorted(self.whole) if b in spans]
        sizes = compile_sizes([bytes_of(self.buffers[b]) for b in waiting], [d.name for d in self.program.dims])
        weight = dict(zip(waiting, sizes([d.upper for d in self.program.dims]), strict=True))
        room = sorted(taken, key=lambda b: (self.buffers[b].kind != "output", b))
        fits: dict[tuple[Size, int], bool] = {}
        for b in self._by_pressure(waiting, weight, spans):
            first, last = spans[b]
            for slot in room:
                place = bisect(taken[slot], (first, last))
                if any(last >= start and stop >= first for start, stop in taken[slot][max(place - 1, 0) : place + 1]):
                    continue
                key = bytes_of(self.buffers[b]), slot
                if key not in fits:
                    fits[key] = at_most(key[0], bytes_of(self.buffers[slot])) is True
                if fits[key]:
                    taken[slot].insert(place, (first, last))
                    self._rename(b, slot, [at for at in range(first, last + 1) if b in self.calls[at][1]])
                    break

    @staticmethod
    def _by_pressure(waiting: Sequence[int], weight: Mapping[int, int], spans: Mapping[int, tuple[int, int]]) -> list[int]:
        """The largest of what is alive where most is alive, first; then the same for what is left. Of equals the latest: next to what is
        placed already, so that a chain of equal tensors finds every second place taken, and not two places in a row free."""
        if len(waiting) > MOST_WEIGHED:
            return sorted(waiting, key=lambda b: (-weight[b], -spans[b][0], b))
        left = list(waiting)
        live: dict[int, int] = {}
        for b in left:
            for at in range(spans[b][0], spans[b][1] + 1):
                live[at] = live.get(at, 0) + weight[b]
        out: list[int] = []
        while left:
            most = max(live, key=lambda at: (live[at], at))
            here = [b for b in left if spans[b][0] <= most <= spans[b][1]]
            if not here:
                return out + sorted(left, key=lambda b: (-weight[b], b))
            chosen = max(here, key=lambda b: (weight[b], spans[b][0], b))
            left.remove(chosen)
            out.append(chosen)
            for at in range(spans[chosen][0], spans[chosen][1] + 1):
                live[at] -= weight[chosen]
        return out

    def _program(self) -> Program:
        kernels: dict[object, int] = {}
        bodies: list[Kernel] = []
        calls = []
        for (kernel, buffers), key in zip(self.calls, self.variants, strict=True):
            index = kernels.setdefault(key, len(bodies))
            if index == len(bodies):
                bodies.append(replace(kernel, name=f"k{index}"))
            calls.append(Call(index, buffers))
        return replace(self.program, kernels=tuple(bodies), calls=tuple(calls))

    def arrangement(self, order: tuple[int, ...]) -> Arrangement:
        program = self._program()
        kept = [b for b, buffer in enumerate(self.buffers) if buffer.kind != "temporary" or b not in self.moved]
        number = {b: i for i, b in enumerate(kept)}
        names = itertools.count()
        buffers = [
            replace(buffer, name=f"t{next(names)}") if buffer.kind == "temporary" and not buffer.per_thread else buffer
            for buffer in (self.buffers[b] for b in kept)
        ]
        calls = [replace(c, buffers=tuple(number[b] for b in c.buffers)) for c in program.calls]
        chains = [replace(c, scratch=tuple(number[b] for b in c.scratch if b not in self.moved)) for c in program.chains]
        program = replace(program, buffers=tuple(buffers), calls=tuple(calls), chains=tuple(chains))
        return Arrangement(program, order, tuple(number[self.home(b)] for b in range(len(self.buffers))))
