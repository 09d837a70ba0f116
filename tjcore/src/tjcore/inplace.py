"""Kernels that write over what they read: whether one may, and the kernel that does.

In: a kernel, one of the params it reads and one that it writes. Out: the kernel in which both are one param, or None.
Law: each element that it writes is one whose old value nothing reads any more: every load of the param stands before the store, in the
same loops, at the very same index. So threads, lanes and tiles may take the elements in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .loops import Const, Contract, Fold, Kernel, Let, Load, Loop, Operand, SizeOf, Stmt, Store, walk


def in_place(kernel: Kernel, read: int, written: int) -> Kernel | None:
    """The kernel with param `read` gone and param `written` in its place; None where that could change a result."""
    source, target = kernel.params[read], kernel.params[written]
    if source.written or not target.written or source.dtype is not target.dtype:
        return None
    statements = list(walk(kernel.body))
    if not all(isinstance(s, (Load, Const, SizeOf, Let, Store, Loop, Fold, Contract)) for s in statements):
        return None  # a kind of statement that this room does not know
    stores = [s for s in statements if isinstance(s, Store) and s.param == written]
    loads = [s for s in statements if isinstance(s, Load) and s.param == read]
    if len(stores) != 1 or any(s.at != stores[0].at for s in loads):
        return None
    if any(isinstance(s, Load) and s.param == written for s in statements):
        return None  # it is written over something already
    if any(isinstance(s, Contract) and (s.scratch in (read, written) or read in (*s.a.params, *s.b.params)) for s in statements):
        return None
    if _loads_before(kernel.body, read, stores[0]) != len(loads):
        return None
    own = min(source.own, target.own)
    params = [replace(p, own=own) if i == written else p for i, p in enumerate(kernel.params) if i != read]
    number = [i - (i > read) for i in range(len(kernel.params))]
    number[read] = number[written]
    return replace(kernel, params=tuple(params), body=_renumber(kernel.body, number))


def _loads_before(body: Sequence[Stmt], param: int, store: Store) -> int:
    """How many loads of the param the store finds done: they stand before it in its own body or in those around it, or in folds there."""
    count = 0
    for stmt in body:
        if stmt is store:
            return count
        if isinstance(stmt, Load):
            count += stmt.param == param
        elif isinstance(stmt, Fold):
            count += sum(isinstance(s, Load) and s.param == param for s in walk(stmt.body))
        elif isinstance(stmt, (Loop, Contract)) and any(s is store for s in walk(stmt.body)):
            return count + _loads_before(stmt.body, param, store)
    return count


def _renumber(body: Sequence[Stmt], number: Sequence[int]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, (Load, Store)):
            out.append(replace(stmt, param=number[stmt.param]))
        elif isinstance(stmt, Contract):
            a, b = (replace(o, body=_renumber(o.body, number)) if o.body else Operand(number[o.param], o.at) for o in (stmt.a, stmt.b))
            scratch = None if stmt.scratch is None else number[stmt.scratch]
            out.append(replace(stmt, a=a, b=b, scratch=scratch, body=_renumber(stmt.body, number)))
        elif isinstance(stmt, (Loop, Fold)):
            out.append(replace(stmt, body=_renumber(stmt.body, number)))
        else:
            out.append(stmt)
    return tuple(out)
