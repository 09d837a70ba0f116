"""The entry of a program as C: the function that runs its steps in order, and one function per chain of kernels.

In: a program whose kernels are written already. Out: C text. A step is a kernel's call or a chain; the whole team waits between steps. Thousands
of written steps are slow to compile and nothing to read: then a table says who gets which buffers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .c_body import KernelWriter
from .c_constants import Lifted
from .c_contract import contract_dims
from .c_scalars import literal
from .dims import Dim, Size, symbols, to_c
from .loops import Chain, Contract, Kernel, Program, walk
from .toolchain import Dialect

ENTRY = "tj_graph"
PROFILE = "tj_profile"
"""Of a profiled program: what each step of the last call took."""
MAX_WRITTEN_STEPS = 64
"""A program of more steps than this gets a table of them."""


def dim_names(dims: Sequence[Dim]) -> dict[Dim, str]:
    """C names for symbols: the symbol's own behind a prefix, so that no keyword or macro is met; a number for what is not ASCII."""
    return {d: f"dim_{d.name}" if re.fullmatch(r"\w{1,40}", d.name, re.ASCII) else f"dim{i}" for i, d in enumerate(dims)}


def kernel_dims(writer: KernelWriter, kernel: Kernel) -> list[Dim]:
    """The symbols that the kernel's loops and indices mention, by name."""
    found = set(writer.needs(kernel.body, set()).dims)
    if writer.lanes > 1:  # how large results are decides how they are stored
        found |= {d for p in kernel.params if p.written and not kernel.grain for size in p.shape for d in symbols(size)}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Contract):
            found |= contract_dims(writer, stmt)
    return sorted(found, key=lambda d: d.name)


@dataclass(frozen=True, slots=True)
class _Function:
    """What a step calls: a kernel or a chain. `count` buffers come first, then the dims."""

    name: str
    count: int
    dims: tuple[Dim, ...]
    chain: bool


@dataclass(frozen=True, slots=True)
class _Step:
    function: int
    buffers: tuple[int, ...]
    note: str


def entry(lifted: Lifted, dialect: Dialect, names: dict[Dim, str]) -> str:
    """The chains' functions and the entry."""
    program = lifted.program
    writer = _EntryWriter(lifted, dialect, names)
    steps = writer.steps()
    export = f"{dialect.export} " if dialect.export else ""
    head = [f"{export}void {ENTRY}(const tj_team *team, void *const *buffers, const int64_t *dims) {{"]
    head += [f"  const int64_t {names[d]} = dims[{i}];" for i, d in enumerate(program.dims)]
    head += [f"  (void){names[d]};" for d in program.dims] or ["  (void)dims;"]
    before, lines = (writer.table if len(steps) > MAX_WRITTEN_STEPS else writer.written)(steps)
    if program.profiled:
        before.append(_CLOCK.format(steps=max(len(steps), 1), export=export, name=PROFILE))
    return "\n".join([*writer.constants(), *writer.chains, *before, *head, *lines, "}"]) + "\n"


_CLOCK = """\
/* What each step took, in nanoseconds: from the end of the one before until the whole team is through. */
#include <time.h>
static int64_t spent[{steps}], since;
static void mark(const tj_team *team, int64_t step) {{
  struct timespec at;
  if (team->index != 0) return;
  timespec_get(&at, TIME_UTC);
  const int64_t now = (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
  if (step >= 0) spent[step] = now - since;
  since = now;
}}
{export}void {name}(int64_t *into) {{
  for (int i = 0; i < {steps}; i++) into[i] = spent[i];
}}
"""


class _EntryWriter:
    def __init__(self, lifted: Lifted, dialect: Dialect, names: dict[Dim, str]) -> None:
        self.lifted = lifted
        self.program = program = lifted.program
        self.names = names
        self.chains: list[str] = []
        self.functions: list[_Function] = []
        self._known: dict[object, int] = {}
        for kernel in program.kernels:
            dims = kernel_dims(KernelWriter(kernel, dialect, names.__getitem__), kernel)
            self.functions.append(_Function(kernel.name, len(kernel.params), tuple(dims), False))

    # ------------------------------------------------------------ constants
    def constants(self) -> list[str]:
        """What the kernels' constants are, one array for each set of them."""
        return [
            f"static const {dtype.c} constants{i}[{len(some)}] = {{{', '.join(literal(value, dtype) for value in some)}}};"
            for i, (dtype, some) in enumerate(self.lifted.values)
        ]

    def _pointer(self, buffer: int) -> str:
        brought = self.lifted.brought
        return f"buffers[{buffer}]" if buffer < brought else f"(void *)constants{buffer - brought}"

    # ------------------------------------------------------------ steps
    def steps(self) -> list[_Step]:
        out: list[_Step] = []
        starts = {chain.first: chain for chain in self.program.chains}
        at = 0
        while at < len(self.program.calls):
            chain = starts.get(at)
            if chain is None:
                call = self.program.calls[at]
                out.append(_Step(call.kernel, call.buffers, self._flow(call.buffers, self.program.kernels[call.kernel])))
                at += 1
            else:
                out.append(self._chain_step(chain))
                at = chain.last + 1
        return out

    def _flow(self, buffers: tuple[int, ...], kernel: Kernel) -> str:
        def names(written: bool) -> str:
            return ", ".join(self.program.buffers[b].name for b, p in zip(buffers, kernel.params, strict=True) if p.written is written)

        return f"{names(False) or 'nothing'} -> {names(True)}"

    def _chain_step(self, chain: Chain) -> _Step:
        calls = self.program.calls[chain.first : chain.last + 1]
        buffers = tuple(dict.fromkeys(b for call in calls for b in call.buffers))
        place = {b: i for i, b in enumerate(buffers)}
        links = tuple((call.kernel, tuple(place[b] for b in call.buffers)) for call in calls)
        shapes = tuple((self.program.buffers[b].shape, self.program.buffers[b].dtype) for b in buffers)
        scratch = frozenset(place[b] for b in chain.scratch)
        work = frozenset(place[b] for b in buffers if self.program.buffers[b].per_thread)
        key = (links, shapes, scratch, work, chain.depth, chain.tile, chain.least)
        index = self._known.get(key)
        if index is None:
            name = f"chain{len(self.chains)}"
            dims = {d for k, _ in links for d in self.functions[k].dims}
            # By the params: a buffer may be the memory of another tensor, which was lent.
            dims |= {d for k, _ in links for p in self.program.kernels[k].params for size in p.shape for d in symbols(size)}
            self.chains.append(self._chain(name, links, scratch, work, chain, sorted(dims, key=lambda d: d.name)))
            index = self._known[key] = len(self.functions)
            self.functions.append(_Function(name, len(buffers), tuple(sorted(dims, key=lambda d: d.name)), True))
        kept = ", ".join(self.program.buffers[b].name for b in chain.scratch) or "nothing"
        note = "; ".join(self._flow(call.buffers, self.program.kernels[call.kernel]) for call in calls)
        return _Step(index, buffers, f"{note}; {kept} by the tile")

    # ------------------------------------------------------------ a chain
    def _chain(
        self,
        name: str,
        links: tuple[tuple[int, tuple[int, ...]], ...],
        scratch: frozenset[int],
        work: frozenset[int],
        chain: Chain,
        dims: list[Dim],
    ) -> str:
        kernels, depth = self.program.kernels, chain.depth
        written = [places[i] for k, places in links for i, p in enumerate(kernels[k].params) if p.written and places[i] not in work]
        sizes = {i: (_bytes(self.program, k, p, depth)) for k, places in links for p, i in enumerate(places)}
        whole = {i: _bytes(self.program, k, p, 0) for k, places in links for p, i in enumerate(places)}
        rows = self._c(math.prod(next(p for p in kernels[links[0][0]].params if p.written).shape[:depth]))
        limits = f"{chain.tile}, {chain.least}"
        grain = kernels[links[0][0]].grain
        parameters = ["const tj_team *team", "void *const *given", *(f"int64_t {self.names[d]}" for d in dims)]
        lines = [
            f"/* {name}: {', '.join(kernels[k].name for k, _ in links)}, tile by tile over rows; what only they touch stays in the cache. */",
            f"static void {name}({', '.join(parameters)}) {{",
            f"  const int64_t rows = {rows};",
            "  int64_t longest = 0, tile, end, row, next;",
        ]
        lines += [f"  if (longest < {size}) longest = {size};" for size in dict.fromkeys(self._c(sizes[i]) for i in written)]
        lines += [
            f"  const int64_t tiles = tj_tiles(team, rows, {grain}, longest, {limits});",
            "  for (tj_share(team, tiles, 1, &tile, &end); tile < end; tile++) {",
            "    const tj_team part = {tile, tiles, 0, 0, team->support};",
            f"    tj_share(&part, rows, {grain}, &row, &next);",
        ]
        at = {i: f"given[{i}]" for i in sizes}
        for i in sorted(work):  # a tile is no thread: which piece is its own, it cannot tell
            at[i] = f"w{i}"
            lines.append(f"    void *const w{i} = (char *)given[{i}] + team->index * ({self._c(whole[i])});")
        for i in sorted(scratch):
            at[i] = f"s{i}"
            lines.append(f"    void *const s{i} = tj_scratch(team, given[{i}], rows, {self._c(sizes[i])}, row, {limits});")
        for k, places in links:
            arguments = ", ".join(["&part", *(at[i] for i in places), *(self.names[d] for d in self.functions[k].dims)])
            lines.append(f"    {kernels[k].name}({arguments});")
        return "\n".join([*lines, "  }", "}"]) + "\n"

    def _c(self, size: Size) -> str:
        return to_c(size, self.names.__getitem__)

    # ------------------------------------------------------------ the entry's body
    def written(self, steps: Sequence[_Step]) -> tuple[list[str], list[str]]:
        lines: list[str] = ["  mark(team, -1);"] if self.program.profiled else []
        for i, step in enumerate(steps):
            function = self.functions[step.function]
            pointers = [self._pointer(b) for b in step.buffers]
            if function.chain:
                pointers = [f"(void *const[]){{{', '.join(pointers)}}}"]
            if i and not self.program.profiled:
                lines.append("  tj_wait(team);")
            arguments = ", ".join(["team", *pointers, *(self.names[d] for d in function.dims)])
            lines.append(f"  {function.name}({arguments}); /* {step.note} */")
            if self.program.profiled:
                lines += ["  tj_wait(team);", f"  mark(team, {i});"]
        return [], lines

    def _given(self, count: int) -> list[str]:
        brought = self.lifted.brought
        if not self.lifted.values:
            return [f"    for (int i = 0; i < {count}; i++) given[i] = buffers[steps[step][i + 1]];"]
        return [
            f"    for (int i = 0; i < {count}; i++) {{",
            "      int32_t b = steps[step][i + 1];",
            f"      given[i] = b < {brought} ? buffers[b] : (void *)constants[b - {brought}];",
            "    }",
        ]

    def table(self, steps: Sequence[_Step]) -> tuple[list[str], list[str]]:
        width = 1 + max(len(step.buffers) for step in steps)
        rows = [f"  {{{', '.join(map(str, (step.function, *step.buffers)))}}}," for step in steps]
        before = []
        if self.lifted.values:
            pointers = [f"  constants{i}," for i in range(len(self.lifted.values))]
            before += [f"static const void *const constants[{len(pointers)}] = {{", *pointers, "};"]
        before += [
            "/* A step: what runs, and the buffers it is given. */",
            f"static const int32_t steps[{len(rows)}][{width}] = {{",
            *rows,
            "};",
        ]
        profiled = self.program.profiled
        lines = ["  mark(team, -1);"] if profiled else []
        lines += [
            f"  for (int step = 0; step < {len(rows)}; step++) {{",
            f"    void *given[{width - 1}];",
            *self._given(width - 1),
            *([] if profiled else ["    if (step) tj_wait(team);"]),
            "    switch (steps[step][0]) {",
        ]
        for i in sorted({step.function for step in steps}):
            function = self.functions[i]
            pointers = ["given"] if function.chain else [f"given[{p}]" for p in range(function.count)]
            arguments = ", ".join(["team", *pointers, *(self.names[d] for d in function.dims)])
            lines.append(f"      case {i}: {function.name}({arguments}); break;")
        marks = ["    tj_wait(team);", "    mark(team, step);"] if profiled else []
        return before, [*lines, "    }", *marks, "  }"]


def _bytes(program: Program, kernel: int, param: int, depth: int) -> Size:
    """Bytes of a row: of what lies behind the leading `depth` axes."""
    p = program.kernels[kernel].params[param]
    return math.prod(p.shape[depth:], start=p.dtype.itemsize)
