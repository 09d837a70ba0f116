"""Chains: which neighbouring kernels run together over rows that they share, tile by tile, so that what passes between them stays in the cache.

In: the lowered kernels of a plan in their order, with the tensors that each reads and computes. Out: `Links`, runs of kernels with the number of leading
axes that make the rows. Law: a link reads what its chain computes at its own row only, so that rows may run in any tiles on any
threads; each kernel still computes each of its elements by the same operations, so the bits are the same.

Softmax is such a chain, and so are layer norms and most of what stands between two products: not because a rule knows them, but because
their kernels meet in their leading axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .dims import at_most
from .fusion import Group
from .graph import Expr
from .loops import PRODUCT_TILE_BYTES, PRODUCT_TILE_ROWS, TILE_BYTES, Contract, Kernel, Loop
from .ops import Shape, same
from .schedule import schedule_rows

LANES_GRAIN = 64
"""Elements that a tile takes at least where rows are single elements: whole vectors and whole cache lines."""
ROWS_OF_PRODUCTS = 64
"""Rows that a tile with products is taken to have, when their worth is judged."""
MAX_LINKS = 32
"""Kernels in one chain: the more run in one tile, the smaller tiles must be."""


@dataclass(frozen=True, slots=True)
class Links:
    """Kernels `first` to `last` of the plan, whose first `depth` axes are the rows; `kernels` are scheduled as links."""

    first: int
    depth: int
    kernels: tuple[Kernel, ...]

    tile: int = TILE_BYTES
    least: int = 1

    @property
    def last(self) -> int:
        return self.first + len(self.kernels) - 1


def find_chains(groups: Sequence[Group], kernels: Sequence[Kernel]) -> tuple[list[Links], dict[int, str]]:
    """The chains of a plan, in order, and for each kernel that does not continue the chain of the one before it, why. `kernels` as `lower`
    makes them, one per group."""
    chains: list[Links] = []
    apart: dict[int, str] = {}
    at = 0
    while at < len(groups):
        chain, ended = _grow(groups, kernels, at)
        if chain is None:
            at += 1
        else:
            chains.append(chain)
            at = chain.last + 1
        if at < len(groups):
            apart[at] = ended
    return chains, apart


def _grow(groups: Sequence[Group], kernels: Sequence[Kernel], first: int) -> tuple[Links | None, str]:
    """The longest chain that starts with kernel `first`, and why the kernel behind it is not in it."""
    ended = f"a chain has {MAX_LINKS} kernels at most"
    shape = groups[first].root.shape
    depth = _most_rows(kernels[first], len(shape))
    folded = False  # a fold's rows are as many as they are; rows of elementwise kernels can be grouped
    links: list[Kernel] = []
    computed: set[Expr] = set()
    seen: set[Expr] = set()
    for at in range(first, min(first + MAX_LINKS, len(groups))):
        group, kernel = groups[at], kernels[at]
        own = {node: param.own for node, param in zip(group.reads, kernel.params, strict=False)}
        if at > first and not any(own[node] for node in group.reads if node in seen):
            ended = "it reads nothing row by row of what the kernels before it read or compute"
            break
        if not _worth_packing(kernel, computed, group):
            ended = "its product would pack its right operand for every tile, which costs more bytes than a chain saves"
            break
        most = min([_common(shape, group.root.shape, depth), *(own[node] for node in group.reads if node in computed)])
        found = None if folded and most < depth else _schedule(kernels[first : at + 1], links, depth, depth if folded else most)
        if found is None:
            ended = "its rows are not those of the kernels before it"
            break
        depth, links = found
        folded = folded or group.anchor is not None
        computed.add(group.root)
        seen.update(group.reads, [group.root])
    if len(links) < 2:
        product = kernels[first].body[0]
        if isinstance(product, Contract) and not links:
            ended = "the product before it packs its right operand once, not for every tile"
        return None, ended
    tile, least = TILE_BYTES, 1
    if any(isinstance(link.body[0], Contract) for link in links):
        tile, least = PRODUCT_TILE_BYTES, PRODUCT_TILE_ROWS
    single = all(isinstance(loop := link.body[-1], Loop) and loop.lanes for link in links)
    return Links(first, depth, tuple(replace(link, grain=LANES_GRAIN if single else 1) for link in links), tile, least), ended


def _most_rows(kernel: Kernel, rank: int) -> int:
    """How many leading axes a chain can have as rows that begins with the kernel: of a product those in front of its columns."""
    product = kernel.body[0]
    return min(rank, product.cols.var) if isinstance(product, Contract) else rank


def _worth_packing(kernel: Kernel, computed: set[Expr], group: Group) -> bool:
    """Whether a link moves fewer bytes in a chain than outside: a product reads its right operand for every tile of rows, and what it
    saves is to store and read a row of its result, or, where the chain computes its left operand, of that."""
    product = kernel.body[0]
    if not isinstance(product, Contract):
        return True
    rows = 2 * ROWS_OF_PRODUCTS
    left = any(p < len(group.reads) and group.reads[p] in computed for p in product.a.params)
    return at_most(product.inner.extent, rows) is True or (left and at_most(product.cols.extent, rows) is True)


def _common(a: Shape, b: Shape, most: int) -> int:
    """How many leading axes, `most` at most, the two shapes share."""
    count = 0
    while count < min(most, len(a), len(b)) and same(a[count], b[count]):
        count += 1
    return count


def _schedule(kernels: Sequence[Kernel], links: list[Kernel], depth: int, most: int) -> tuple[int, list[Kernel]] | None:
    """All kernels as links over the most leading axes that go, up to `most`; the `links` over `depth` axes are there already."""
    for wanted in range(most, 0, -1):
        if wanted == depth and links:
            one = schedule_rows(kernels[-1], wanted)
            if one is not None:
                return wanted, [*links, one]
            continue
        made = [link for kernel in kernels if (link := schedule_rows(kernel, wanted)) is not None]
        if len(made) == len(kernels):
            return wanted, made
    return None
