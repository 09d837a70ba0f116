"""Loop IR run one element at a time, as its grammar says: what lowering and scheduling must not change, seen without a compiler.

In: a kernel, its buffers as flat arrays, the sizes of the symbols. Out: the buffers it writes, filled. Slow: for small sizes only. Law: a kernel
before and after scheduling gives the same bits here, and those of the graph's reference evaluator.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tjcore import numerics
from tjcore.access import Affine
from tjcore.dims import Size, evaluate
from tjcore.loops import Const, Contract, Fold, Kernel, Let, Load, Loop, Operand, Scan, SizeOf, Stmt, Store
from tjcore.ops import OPS

_FOLDS: Mapping[str, str] = {"add": "sum", "mul": "prod", "max": "max", "min": "min", "argmax": "argmax", "argmin": "argmin"}
"""The op of the table whose meaning a fold has."""


def run_kernel(kernel: Kernel, buffers: Sequence[NDArray[Any]], sizes: Mapping[str, int]) -> None:
    """Run the kernel on flat buffers, in the order of its params. IndexError for an access outside a buffer."""
    _Run(buffers, sizes).run(kernel.body, {}, {})


class _Run:
    def __init__(self, buffers: Sequence[NDArray[Any]], sizes: Mapping[str, int]) -> None:
        self.buffers = buffers
        self.sizes = sizes

    def size(self, size: Size) -> int:
        return size if isinstance(size, int) else evaluate(size, self.sizes)

    def place(self, param: int, at: Affine, loop: Mapping[int, int]) -> int:
        index = self.size(at.offset) + sum(self.size(c) * loop[var] for var, c in at.terms)
        if not 0 <= index < len(self.buffers[param]):
            raise IndexError(f"element {index} of buffer {param}, which has {len(self.buffers[param])}")
        return index

    def run(self, body: Sequence[Stmt], loop: Mapping[int, int], regs: Mapping[int, Any]) -> dict[int, Any]:
        """The registers after the body."""
        regs = dict(regs)
        for stmt in body:
            match stmt:
                case Load():
                    regs[stmt.reg] = self.buffers[stmt.param][self.place(stmt.param, stmt.at, loop)]
                case Const():
                    regs[stmt.reg] = stmt.dtype.numpy.type(stmt.value)
                case SizeOf():
                    regs[stmt.reg] = np.asarray(self.size(stmt.size)).astype(stmt.dtype.numpy)
                case Let():
                    operands = [np.asarray(regs[r]) for r in stmt.args]
                    arg = stmt.dtype.name if stmt.op == "cast" else None  # loop IR says it by the register's type
                    regs[stmt.reg] = np.asarray(OPS[stmt.op].meaning(arg, self.size, *operands), stmt.dtype.numpy)
                case Store():
                    self.buffers[stmt.param][self.place(stmt.param, stmt.at, loop)] = regs[stmt.value]
                case Loop():
                    for i in range(self.size(stmt.axis.extent)):
                        self.run(stmt.body, {**loop, stmt.axis.var: i}, regs)
                case Fold():
                    count = self.size(stmt.axis.extent)
                    found = [self.run(stmt.body, {**loop, stmt.axis.var: i}, regs)[stmt.value] for i in range(count)]
                    values = np.asarray(found) if found else np.empty(0, stmt.dtype.numpy)
                    regs[stmt.reg] = np.asarray(OPS[_FOLDS[stmt.op]].meaning(0, self.size, values), stmt.dtype.numpy)
                case Scan():
                    self.scan(stmt, loop, regs)
                case Contract():
                    self.contract(stmt, loop, regs)
        return regs

    def scan(self, stmt: Scan, loop: Mapping[int, int], regs: Mapping[int, Any]) -> None:
        """One element after another, by the meaning that the fold has for two."""
        total: Any = None
        for i in range(self.size(stmt.axis.extent)):
            here = {**loop, stmt.axis.var: i}
            value = self.run(stmt.body, here, regs)[stmt.value]
            pair = np.asarray([total, value] if i else [value], stmt.dtype.numpy)
            total = OPS[_FOLDS[stmt.op]].meaning(0, self.size, pair)
            self.run(stmt.after, here, {**regs, stmt.reg: np.asarray(total, stmt.dtype.numpy)})

    def contract(self, stmt: Contract, loop: Mapping[int, int], regs: Mapping[int, Any]) -> None:
        around, inner = (*stmt.batches, stmt.rows, stmt.cols), self.size(stmt.inner.extent)
        for at in itertools.product(*(range(self.size(axis.extent)) for axis in around)):
            here = {**loop, **{axis.var: i for axis, i in zip(around, at, strict=True)}}
            a, b = ([self.operand(o, {**here, stmt.inner.var: k}, regs) for k in range(inner)] for o in (stmt.a, stmt.b))
            dtype = stmt.dtype.numpy
            value = numerics.product(np.array(a, dtype).reshape(1, inner), np.array(b, dtype).reshape(inner, 1))[0, 0]
            self.run(stmt.body, here, {**regs, stmt.reg: value})

    def operand(self, operand: Operand, loop: Mapping[int, int], regs: Mapping[int, Any]) -> Any:
        if operand.body:
            return self.run(operand.body, loop, regs)[operand.value]
        return self.buffers[operand.param][self.place(operand.param, operand.at, loop)]
