"""Fusion: which nodes become kernels of their own, and which disappear into the kernels that read them.

In: a simplified graph's outputs. Out: `Group`s in an order that can run, each computing one root node from inputs and other
groups' roots. Law: every output is a root; a node inside a group reads only the group's other nodes, its `reads` and constants.

A kernel has at most one anchor (a reduction or a product). Elementwise ops and views in front of a reduction run inside its
loop; elementwise ops behind an anchor run on its result before it is stored. A node with readers in several kernels is
computed again in each when that moves fewer bytes than storing it, otherwise it is stored; why, stands in `Group.reason`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .access import Index, Whole, flat, identity, passes_whole, source_index, split_axes
from .graph import Expr
from .native.functions import FUNCTIONS
from .ops import OPS, same
from .traversal import toposort

MAX_NODES = 64
"""Nodes in one kernel: compilers are not linear in the length of a loop body, so long chains are cut."""
MAX_RECOMPUTED_OPS = 8
"""Arithmetic operations that may be repeated in another kernel instead of storing their result."""
_EFFORT = {"div": 4, "sqrt": 4, "floor_divide": 16, "remainder": 16, "fmod": 16, **dict.fromkeys(FUNCTIONS, 16)}
"""Operations that count for more than one: what a function costs, in additions."""
MAX_PACKED_OPS = 4
"""Arithmetic operations that a product may do on each element it packs."""
MAX_INDICES = 4
"""At how many different indices one kernel may compute a node (y and its transpose are two)."""

ANCHORS = ("reduce", "scan", "contract", "join")
"""Kinds of ops of which a kernel computes one at most."""

Zone = Literal["outer", "inner", "operand"]
Use = tuple[Index, Zone]


@dataclass(frozen=True, slots=True)
class Group:
    """What one kernel computes: `root`, with `members` inlined (sources first, root last), from `reads`."""

    root: Expr
    anchor: Expr | None
    members: tuple[Expr, ...]
    reads: tuple[Expr, ...]
    reason: str


def epilogue_index(anchor: Expr, root: Expr) -> Index | None:
    """At which index of the anchor a kernel works that stores it as `root`: its own, and of a product also with axes split. None: another one."""
    if len(anchor.shape) == len(root.shape) and all(map(same, anchor.shape, root.shape)):
        return identity(len(root.shape))
    groups = split_axes(anchor.shape, root.shape) if OPS[anchor.op].kind == "contract" else None
    if groups is None:
        return None
    at = identity(len(root.shape))
    assert not isinstance(at, Whole)
    return tuple(flat(at[first:last], root.shape[first:last]) for first, last in groups)


def is_leaf(node: Expr) -> bool:
    return OPS[node.op].kind == "leaf"


def fuse(outputs: Sequence[Expr], enabled: bool = True) -> list[Group]:
    """Groups for the outputs, sources first. `enabled=False`: one group per op (what an elementwise op broadcasts is read in place)."""
    nodes = toposort(outputs)
    roots, anchors, reasons = _Choice(nodes, outputs, enabled).choose()
    return [_group(node, roots, anchors.get(node), reasons[node]) for node in nodes if node in roots]


class _Choice:
    """The reverse walk that decides for each node, readers first: root, or inlined into which roots at which indices."""

    def __init__(self, nodes: list[Expr], outputs: Sequence[Expr], enabled: bool) -> None:
        self.nodes = nodes
        self.outputs = frozenset(outputs)
        self.enabled = enabled
        self.readers: dict[Expr, list[tuple[Expr, int]]] = {node: [] for node in nodes}
        for node in nodes:
            for position, source in enumerate(node.sources):
                self.readers[source].append((node, position))
        self.homes: dict[Expr, dict[Expr, set[Use]]] = {}
        self.sizes: dict[Expr, int] = {}
        self.anchors: dict[Expr, Expr] = {}
        self.reasons: dict[Expr, str] = {}
        self.cost = _recompute_costs(nodes)
        self.free = _views_of_leaves(nodes)
        self.behind = _behind_anchors(nodes, self.readers)

    def choose(self) -> tuple[frozenset[Expr], dict[Expr, Expr], dict[Expr, str]]:
        for node in reversed(self.nodes):
            if is_leaf(node) and node not in self.outputs and (node.op == "input" or not self._taken_from(node)):
                continue
            homes = self._uses(node)
            why = self._why_root(node, homes)
            if why is None:
                self.homes[node] = homes
                for root in homes:
                    self.sizes[root] += 1
                    if OPS[node.op].kind in ANCHORS:
                        self.anchors.setdefault(root, node)
            else:
                self.homes[node] = {node: {(identity(len(node.shape)), "outer")}}
                self.sizes[node] = 1
                self.reasons[node] = why
                if OPS[node.op].kind in ANCHORS:
                    self.anchors[node] = node
        return frozenset(self.reasons), self.anchors, self.reasons

    def _uses(self, node: Expr) -> dict[Expr, set[Use]]:
        homes: dict[Expr, set[Use]] = {}
        for reader, position in self.readers[node]:
            kind = OPS[reader.op].kind
            for root, uses in self.homes[reader].items():
                here = homes.setdefault(root, set())
                for at, zone in uses:
                    below: Zone = "operand" if kind == "contract" or zone == "operand" else "inner" if kind in ("reduce", "scan") else zone
                    here.add((source_index(reader, position, at, len(root.shape)), below))
                    if len(here) > MAX_INDICES:
                        return homes  # enough to know that it becomes a root
        return homes

    def _why_root(self, node: Expr, homes: dict[Expr, set[Use]]) -> str | None:
        """Why the node must be stored, or None when it can be inlined."""
        kind = OPS[node.op].kind
        if node in self.outputs:
            return "is an output"
        if not self.enabled:
            return self._why_root_unfused(node)
        if self._taken_from(node):
            return "its elements are read by number, at indices that the call brings"
        if kind == "join":
            return self._why_no_part(node)
        if not passes_whole(node) and any(isinstance(at, Whole) for uses in homes.values() for at, _ in uses):
            return "its reader counts through all its axes as one"
        if kind == "scan":
            return "its running values are read one after another"
        if kind in ("reduce", "contract"):
            return self._why_no_epilogue(node, homes)
        if any(len(uses) > MAX_INDICES for uses in homes.values()):
            return f"is read at more than {MAX_INDICES} different indices"
        if node not in self.free and any(self.sizes[root] >= MAX_NODES for root in homes):
            return f"its reader's kernel is full ({MAX_NODES} nodes)"
        if kind != "view" and any(zone == "operand" for uses in homes.values() for _, zone in uses):
            why = self._why_not_packed(node)
            if why is not None:
                return why
        if len(homes) > 1:
            operations, leaves = self.cost[node]
            if operations > MAX_RECOMPUTED_OPS:
                return f"{len(homes)} kernels read it, and it takes {operations} operations"
            if leaves * len(homes) > leaves + 1 + len(homes):
                return f"{len(homes)} kernels read it, and computing it again would read {leaves} tensors each time"
        return None

    def _why_not_packed(self, node: Expr) -> str | None:
        """Why a product must not compute the node while it packs it, which it may do more than once."""
        operations, leaves = self.cost[node]
        if node in self.behind:
            return "a product reads it, and it costs nothing behind the product or fold that it comes from"
        if operations > MAX_PACKED_OPS:
            return f"a product packs it, maybe more than once, and it takes {operations} operations"
        if leaves > 1:
            return f"a product packs it, maybe more than once, and would read {leaves} tensors each time"
        return None

    def _why_no_part(self, node: Expr) -> str | None:
        """What is joined of joined parts is one kernel: each part is stored where it ends up."""
        if len(self.readers[node]) == 1:
            reader, _ = self.readers[node][0]
            (root, *others) = self.homes[reader]
            if reader.op == node.op and not others and OPS[root.op].kind == "join" and self.sizes[root] < MAX_NODES:
                return None
        return "its parts have loops of their own"

    def _taken_from(self, node: Expr) -> bool:
        return any(OPS[reader.op].kind == "gather" and position == 0 for reader, position in self.readers[node])

    def _why_root_unfused(self, node: Expr) -> str | None:
        if node.op == "broadcast_to" and all(OPS[reader.op].kind == "elementwise" for reader, _ in self.readers[node]):
            return None
        return "fusion is off"

    def _why_no_epilogue(self, node: Expr, homes: dict[Expr, set[Use]]) -> str | None:
        if len(homes) > 1:
            return f"{len(homes)} kernels read it"
        ((root, uses),) = homes.items()
        if root in self.anchors:
            return f"its reader's kernel already has a {self.anchors[root].op}"
        index = epilogue_index(node, root)
        if index is None or uses != {(index, "outer")}:
            return "its reader needs it at another index"
        if self.sizes[root] >= MAX_NODES:
            return f"its reader's kernel is full ({MAX_NODES} nodes)"
        return None


def _recompute_costs(nodes: list[Expr]) -> dict[Expr, tuple[int, int]]:
    """For each node: operations per element, and how many tensors of its own size it is computed from. Both saturate."""
    full = MAX_RECOMPUTED_OPS + 1
    operations: dict[Expr, int] = {}
    leaves: dict[Expr, frozenset[Expr]] = {}
    for node in nodes:
        kind = OPS[node.op].kind
        if kind in ("elementwise", "gather"):
            operations[node] = min(full, _EFFORT.get(node.op, 1) + sum(operations[s] for s in node.sources))
            rows = node.sources[:1] if node.op == "take" else node.sources  # one index is for a whole row or more
            union = frozenset().union(*(leaves[s] for s in rows))
            leaves[node] = union if len(union) <= full else frozenset([node, *list(union)[:full]])
        elif kind == "view":
            operations[node] = operations[node.sources[0]]
            leaves[node] = frozenset() if node.op == "broadcast_to" else leaves[node.sources[0]]
        else:
            operations[node] = 0
            leaves[node] = frozenset() if node.op in ("constant", "size", "iota") else frozenset([node])
    return {node: (operations[node], len(leaves[node])) for node in nodes}


def _behind_anchors(nodes: list[Expr], readers: Mapping[Expr, Sequence[object]]) -> frozenset[Expr]:
    """Elementwise nodes that can run on the result of a product or fold before it is stored."""
    found: set[Expr] = set()
    for node in nodes:
        if OPS[node.op].kind == "elementwise":
            for source in node.sources:
                reshaped = source.sources[0] if source.op == "reshape" else source
                anchor = OPS[reshaped.op].kind in ("reduce", "contract") and epilogue_index(reshaped, node) is not None
                if (anchor or source in found) and len(readers[source]) == 1:
                    found.add(node)
    return frozenset(found)


def _views_of_leaves(nodes: list[Expr]) -> frozenset[Expr]:
    """Views of inputs, constants and sizes, and of joined tensors, which are stored: to read through them costs nothing, to store them costs a tensor."""
    found: set[Expr] = set()
    for node in nodes:
        if OPS[node.op].kind == "view" and (OPS[node.sources[0].op].kind in ("leaf", "join") or node.sources[0] in found):
            found.add(node)
    return frozenset(found)


def _group(root: Expr, roots: frozenset[Expr], anchor: Expr | None, reason: str) -> Group:
    members: list[Expr] = []
    reads: dict[Expr, None] = {}
    if root.op == "input":
        reads[root] = None
    seen = {root}
    stack: list[tuple[Expr, int]] = [(root, 0)]
    while stack:
        node, i = stack.pop()
        if i < len(node.sources):
            stack.append((node, i + 1))
            source = node.sources[i]
            if source.op == "input" or (source in roots and source.op not in ("constant", "size")):
                reads[source] = None
            elif source not in seen:
                seen.add(source)
                stack.append((source, 0))
        else:
            members.append(node)
    return Group(root, anchor, tuple(members), tuple(reads), reason)
