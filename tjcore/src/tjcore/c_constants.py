"""Programs of very many kernels: those that differ in their constants alone become one function, which is given its constants.

In: a program. Out: the same program over fewer kernels, with constants as buffers behind all others, and what these hold. A few dozen kernels
are left as they are, for a constant in its place reads best; but compilers take seconds for thousands of functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .access import Affine
from .dtypes import DType
from .loops import Buffer, Const, Contract, Fold, Kernel, Load, Loop, Param, Program, Stmt, walk

MAX_WRITTEN_KERNELS = 64
"""A program of more kernels than this has its constants lifted."""

Values = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Lifted:
    """`values[i]` is what the program's i-th buffer of constants holds, counted behind the `brought` buffers, which a call brings."""

    program: Program
    brought: int
    values: tuple[tuple[DType, Values], ...]


def lift_constants(program: Program) -> Lifted:
    """The program with constants in tables, where it has too many kernels to be written out."""
    if len(program.kernels) <= MAX_WRITTEN_KERNELS:
        return Lifted(program, len(program.buffers), ())
    known: dict[object, int] = {}
    kernels: list[Kernel] = []
    places: list[int] = []
    held: list[tuple[int, ...]] = []  # of each kernel, its buffers of constants
    values: dict[tuple[DType, Values], int] = {}
    brought = len(program.buffers)
    for kernel in program.kernels:
        lifted, given = _lift(kernel)
        key = (tuple(replace(p, name="") for p in lifted.params), lifted.body, lifted.grain)
        index = known.setdefault(key, len(kernels))
        if index == len(kernels):
            kernels.append(replace(lifted, name=f"k{index}"))
        places.append(index)
        held.append(tuple(brought + values.setdefault(some, len(values)) for some in given))
    calls = tuple(replace(c, kernel=places[c.kernel], buffers=(*c.buffers, *held[c.kernel])) for c in program.calls)
    buffers = [Buffer(f"constants{i}", "constant", (len(some),), dtype) for i, (dtype, some) in enumerate(values)]
    smaller = replace(program, kernels=tuple(kernels), calls=calls, buffers=(*program.buffers, *buffers))
    return Lifted(smaller, brought, tuple(values))


def _lift(kernel: Kernel) -> tuple[Kernel, list[tuple[DType, Values]]]:
    held: dict[DType, list[float]] = {}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Const):
            held.setdefault(stmt.dtype, []).append(stmt.value)
    if not held:
        return kernel, []
    param = {dtype: len(kernel.params) + i for i, dtype in enumerate(held)}
    extra = [Param(f"c_{dtype.short}", dtype, (len(some),), False) for dtype, some in held.items()]
    slots = {dtype: iter(range(len(some))) for dtype, some in held.items()}
    body = tuple(_loads(kernel.body, param, slots))
    return replace(kernel, params=(*kernel.params, *extra), body=body), [(dtype, tuple(some)) for dtype, some in held.items()]


def _loads(body: Sequence[Stmt], param: dict[DType, int], slots: dict[DType, Iterator[int]]) -> Iterator[Stmt]:
    """The statements with each constant read from its param, in the order of `walk`."""
    for stmt in body:
        if isinstance(stmt, Const):
            yield Load(stmt.reg, stmt.dtype, param[stmt.dtype], Affine((), next(slots[stmt.dtype])))
        elif isinstance(stmt, Contract):
            a, b = (replace(o, body=tuple(_loads(o.body, param, slots))) for o in (stmt.a, stmt.b))
            yield replace(stmt, a=a, b=b, body=tuple(_loads(stmt.body, param, slots)))
        elif isinstance(stmt, (Loop, Fold)):
            yield replace(stmt, body=tuple(_loads(stmt.body, param, slots)))
        else:
            yield stmt
