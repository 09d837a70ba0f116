"""Scheduling: the same kernel with its loops merged, reordered and marked, for memory, vector units and threads.

In: a kernel of plain loops from `lower`. Out: a kernel with the same stores of the same bits. In order: axes of size 1 vanish, axes
that every access runs through as one become one, the innermost loop becomes the one with the shortest strides, what does not
depend on a loop moves out of it, the outermost loop is shared by the team, the innermost takes lanes.
Merging comes before reordering, which would hide that two axes are adjacent.
"""

from __future__ import annotations

from dataclasses import replace

from .access import Affine
from .loops import Axis, Const, Contract, Fold, IndexOf, Kernel, Let, Load, LoadAt, Loop, Scan, SizeOf, Stmt, Store, map_index, walk
from .ops import same
from .products import link, settle


def schedule(kernel: Kernel) -> Kernel:
    """The kernel ready for rendering."""
    if isinstance(product := kernel.body[0], Contract):
        return replace(kernel, body=(settle(product),))
    if _several(kernel):
        return replace(kernel, body=tuple(stmt for nest in kernel.body for stmt in _part((nest,))))
    return replace(kernel, body=_schedule(kernel.body))


def _several(kernel: Kernel) -> bool:
    """Whether loops stand side by side, as for what is joined; each is then shared out by itself."""
    return len(kernel.body) > 1 and all(isinstance(stmt, Loop) for stmt in kernel.body)


def _part(nest: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """One of several, always with a loop, since what lies in none would be done by each thread."""
    done = _schedule(nest)
    return done if any(isinstance(stmt, Loop) for stmt in done) else (Loop(Axis(0, 1), done, share=True),)


def _schedule(nest: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    every, body = _nest(nest)
    axes, body = _drop_unit(every, body)
    axes, body = _merge(axes, body)
    axes, tiled = _across_next(_innermost_last(axes, body), body)
    return _build(axes, body, tiled)


def schedule_rows(kernel: Kernel, depth: int) -> Kernel | None:
    """The kernel as a link of a chain: its first `depth` axes as one outermost loop, or as two that are shared out as one; None where they
    do not run through as so few."""
    if isinstance(product := kernel.body[0], Contract):
        stored = next(p for p in kernel.params if p.written)
        linked = link(product, stored.shape, depth)
        return None if linked is None else replace(kernel, body=(linked,), grain=1)
    if _several(kernel):
        return None
    axes, body = _nest(kernel.body)
    if any(isinstance(s, Scan) and s.axis.var < depth for s in body):
        return None
    rows, body = _drop_unit(axes[:depth], body)
    rows, body = _merge(rows, body)
    if not 1 <= len(rows) <= 2:
        return None
    rest, body = _drop_unit(axes[depth:], body)
    rest, body = _merge(rest, body)
    return replace(kernel, body=_build([*rows, *_innermost_last(rest, body)], body, paired=len(rows) == 2), grain=1)


def _nest(body: tuple[Stmt, ...]) -> tuple[list[Axis], tuple[Stmt, ...]]:
    axes: list[Axis] = []
    while len(body) == 1 and isinstance(body[0], Loop):
        axes.append(body[0].axis)
        body = body[0].body
    return axes, body


def _substitute(body: tuple[Stmt, ...], var: int, index: Affine) -> tuple[Stmt, ...]:
    return map_index(body, lambda _, at: at.substitute({var: index}))


def _drop_unit(axes: list[Axis], body: tuple[Stmt, ...]) -> tuple[list[Axis], tuple[Stmt, ...]]:
    kept = []
    for axis in axes:
        if axis.extent == 1:
            body = _substitute(body, axis.var, Affine())
        else:
            kept.append(axis)
    return kept, body


def _accesses(body: tuple[Stmt, ...]) -> list[tuple[Affine, bool]]:
    """Every index of the body, and whether it is stored to."""
    return [(s.at, isinstance(s, Store)) for s in walk(body) if isinstance(s, (Load, LoadAt, IndexOf, Store))]


def _merge(axes: list[Axis], body: tuple[Stmt, ...]) -> tuple[list[Axis], tuple[Stmt, ...]]:
    """Neighbouring axes that every access steps through without a gap become one."""
    accesses = _accesses(body)
    merged: list[Axis] = []
    for axis in axes:
        while merged and _steps_together(merged[-1], axis, [at for at, _ in accesses]):
            outer = merged.pop()
            body = _substitute(body, outer.var, Affine())
            axis = Axis(axis.var, outer.extent * axis.extent)
            accesses = _accesses(body)
        merged.append(axis)
    return merged, body


def _steps_together(outer: Axis, inner: Axis, indices: list[Affine]) -> bool:
    return all(same(at.coefficient(outer.var), at.coefficient(inner.var) * inner.extent) for at in indices)


def _stride_score(var: int, body: tuple[Stmt, ...]) -> float:
    """How well a loop over `var` goes as the innermost: contiguous accesses count most, stores more than loads."""
    score = 0.0
    for at, stored in _accesses(body):
        stride = at.coefficient(var)
        score += (1.5 if stored else 1.0) if stride == 1 else 0.5 if stride == 0 else 0.0
    return score


def _innermost_last(axes: list[Axis], body: tuple[Stmt, ...]) -> list[Axis]:
    if len(axes) < 2:
        return axes
    best = max(range(len(axes)), key=lambda i: (_stride_score(axes[i].var, body), i))
    return [*axes[:best], *axes[best + 1 :], axes[best]]


def _across_next(axes: list[Axis], body: tuple[Stmt, ...]) -> tuple[list[Axis], bool]:
    """The axes with the one that transposed reads run along next to the innermost, and whether there is one: the two are then tiled."""
    if len(axes) < 2 or any(isinstance(s, Fold) for s in body):
        return axes, False
    inner = axes[-1]
    loads = [s for s in walk(body) if isinstance(s, Load)]
    counts = [sum(lies_across(load, axis.var, inner.var) for load in loads) for axis in axes[:-1]]
    if not any(counts):
        return axes, False
    at = max(range(len(counts)), key=lambda i: (counts[i], i))
    return [*axes[:at], *axes[at + 1 : -1], axes[at], inner], True


def lies_across(load: Load, outer: int, inner: int) -> bool:
    """Whether a read runs along memory in the outer loop, and in the inner one does not."""
    return load.at.coefficient(outer) == 1 and load.at.coefficient(inner) not in (0, 1)


def _build(axes: list[Axis], body: tuple[Stmt, ...], tiled: bool = False, paired: bool = False) -> tuple[Stmt, ...]:
    folds = [s for s in body if isinstance(s, Fold)]
    lanes = (
        bool(axes) and not any(isinstance(s, Scan) for s in body) and (not folds or any(_folds_rows(fold, axes[-1].var) for fold in folds))
    )
    for depth, axis in reversed(list(enumerate(axes))):
        out, inside = _hoist(axis.var, body, rows=lanes and depth == len(axes) - 1)
        inmost = depth == len(axes) - 1
        loop = Loop(axis, inside, share=depth == 0, lanes=lanes and inmost, tiled=tiled and depth == len(axes) - 2)
        body = (*out, replace(loop, paired=paired and depth == 0))
    return body  # what came out of the shared loop too, each thread computes for itself


def _folds_rows(fold: Fold, var: int) -> bool:
    """Whether lanes should run over the loop around the fold instead of along it: its body is contiguous there, and not along the fold."""
    loads = [s.at for s in walk(fold.body) if isinstance(s, Load)]

    def contiguous(v: int) -> int:
        return sum(at.coefficient(v) == 1 for at in loads)

    return contiguous(var) > contiguous(fold.axis.var)


def _hoist(
    var: int, body: tuple[Stmt, ...], varying: set[int] | None = None, *, rows: bool = False
) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The body split into what does not depend on `var` (it can run before the loop) and the rest; `varying` collects what does.

    `rows`: folds of this loop run for all lanes at once, before anything else in it, so what they read may not move out of them and no further.
    """
    varying = set() if varying is None else varying
    out: list[Stmt] = []
    inside: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Fold):  # what its own body does not need its axis for comes out first, and maybe further
            before, rest = _hoist(stmt.axis.var, stmt.body)
            further, stays = _hoist(var, before, varying)
            out += further
            inside += [replace(stmt, body=(*stays, *rest))] if rows else [*stays, replace(stmt, body=rest)]
            varying.add(stmt.reg)
            continue
        match stmt:
            case Load() | IndexOf():
                moves = stmt.at.coefficient(var) == 0
            case LoadAt():
                moves = stmt.at.coefficient(var) == 0 and stmt.index not in varying
            case Let():
                moves = not any(arg in varying for arg in stmt.args)
            case _:
                moves = isinstance(stmt, (Const, SizeOf))
        (out if moves else inside).append(stmt)
        if not moves and isinstance(stmt, (Load, LoadAt, IndexOf, Let)):
            varying.add(stmt.reg)
    return tuple(out), tuple(inside)
