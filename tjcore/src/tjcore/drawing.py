"""The workspace of a compiled graph, drawn over the schedule of its kernels: for a terminal, and as SVG.

In: a plan, its layout, and sizes. Out: a drawing. Nothing is built or run: no toolchain is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .explain import ops_of, shortened, show_sizes
from .layout import Layout, Placement
from .program import Plan
from .questions import MemoryReport, Questions

ROWS = 16
"""Lines of text that the workspace is high."""
COLUMNS = 96
"""Columns that the kernels take at most; several share one where there are more."""
PALETTE = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#86bcb6")


@dataclass(frozen=True, slots=True)
class Box:
    """A temporary in the drawing: bytes from `low` to `high`, kernels `first` to `last`. A chain's kernels share one moment."""

    name: str
    low: int
    high: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """A workspace over the schedule: where each temporary lies and while which kernels run, with the lower bound."""

    report: MemoryReport
    kernels: tuple[str, ...]
    boxes: tuple[Box, ...]
    live: tuple[int, ...]
    """Bytes alive at each kernel."""
    lent: tuple[tuple[str, int], ...]
    """Memory that was lent to temporaries, and to how many: outputs not yet written, donated inputs."""

    def text(self, colour: Callable[[str, int], str] = lambda text, _: text) -> str:
        """The drawing in characters. `colour` puts a terminal's codes around a piece of text, by the number of its temporary."""
        return _Text(self, colour).text()

    def svg(self) -> str:
        """The drawing as an SVG file."""
        return _svg(self)


def draw(plan: Plan, layout: Layout, questions: Questions, sizes: Mapping[str, int]) -> Drawing:
    """The workspace for these sizes."""
    report = questions.report(sizes)
    placement: Placement = layout.place([report.bindings[name] for name in layout.order])
    spans = {b.name: (b.first, b.last) for b in layout.memory.buffers}
    boxes = tuple(Box(a.name, a.offset, a.offset + a.nbytes, *spans[a.name]) for a in placement.allocations)
    live = tuple(sum(b.high - b.low for b in boxes if b.first <= at <= b.last) for at in range(len(plan.kernels)))
    kernels = tuple(f"{at} {kernel.name} {ops_of(kernel)}" for at, kernel in enumerate(plan.kernels))
    return Drawing(report, kernels, boxes, live, tuple(_lent(plan)))


def _lent(plan: Plan) -> list[tuple[str, int]]:
    """Memory of outputs and donated inputs, and how many temporaries lived in it beside the output it holds at the end."""
    counts: dict[str, int] = {}
    for kernel in plan.kernels:
        for name in kernel.writes:
            counts[name] = counts.get(name, 0) + 1
    ends = {plan.inputs[i].arg for i in plan.aliases.values()}
    lent = {b.name: counts.get(b.name, 0) - (b.kind == "output" or b.name in ends) for b in plan.program.buffers if b.kind != "temporary"}
    return [(name, count) for name, count in lent.items() if count > 0]


class _Text:
    def __init__(self, drawing: Drawing, colour: Callable[[str, int], str]) -> None:
        self.d = drawing
        self.colour = colour
        self.count = max(len(drawing.kernels), 1)
        self.per_column = -(-self.count // COLUMNS)
        self.columns = -(-self.count // self.per_column)
        self.wide = max(1, min(6, COLUMNS // self.columns))

    def text(self) -> str:
        d = self.d
        lines = [str(d.report)]
        if d.boxes and d.report.temporary_bytes:
            lines += ["", *self.picture(), "", *self.table()]
        if d.lent:
            lines += ["", *(f"  {name} lends its memory to {count} temporar{'y' if count == 1 else 'ies'}" for name, count in d.lent)]
        lines += ["", "  kernels", *(f"    {shortened(name, 90)}" for name in d.kernels)]
        return "\n".join(lines)

    def picture(self) -> list[str]:
        d = self.d
        arena = d.report.temporary_bytes
        rows = min(ROWS, max(1, arena // 64))
        lines = []
        for row in reversed(range(rows)):
            low, high = arena * row // rows, arena * (row + 1) // rows
            cells = [self.cell(column, low, high) for column in range(self.columns)]
            bound = "- lower bound" if low < d.report.lower_bound <= high else ""
            lines.append(f"  {high:>14,} |{''.join(cells)}| {bound}".rstrip())
        step = max(1, -(-4 // self.wide))  # a number every few columns
        numbers = "".join(str(c * self.per_column).ljust(self.wide * step) for c in range(0, self.columns, step))
        return [
            *lines,
            f"  {0:>14} +{'-' * (self.columns * self.wide)}+",
            f"  {'kernel':>14}  {numbers[: self.columns * self.wide]}".rstrip(),
        ]

    def cell(self, column: int, low: int, high: int) -> str:
        """What is in a band of the workspace while some kernels run: the temporary that takes most of it."""
        first, last = column * self.per_column, (column + 1) * self.per_column - 1
        best, most = None, 0
        for i, box in enumerate(self.d.boxes):
            share = min(box.high, high) - max(box.low, low)
            if box.first <= last and first <= box.last and share > most:
                best, most = i, share
        if best is None:
            return " " * self.wide
        return self.colour(letter(best) * self.wide, best)

    def table(self) -> list[str]:
        lines = [f"  {'':2}{'temporary':<12}{'from':>14}{'bytes':>14}   kernels"]
        for i, box in sorted(enumerate(self.d.boxes), key=lambda pair: (pair[1].low, pair[1].first)):
            name = self.colour(letter(i), i)
            lines.append(f"  {name} {box.name:<12}{box.low:>14,}{box.high - box.low:>14,}   {box.first} to {box.last}")
        return lines


def letter(number: int) -> str:
    """A temporary's letter; they repeat after 52."""
    return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 52]


def escape(text: str) -> str:
    """Text as XML takes it. (The library's function brings all the names of HTML along.)"""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _svg(d: Drawing) -> str:
    width, height, left, top, foot = 960, 420, 110, 64, 70
    count, arena = max(len(d.kernels), 1), max(d.report.temporary_bytes, 1)
    step = (width - left - 20) / count

    def x(kernel: float) -> float:
        return round(left + kernel * step, 2)

    def y(nbytes: int) -> float:
        return round(top + height - height * nbytes / arena, 2)

    where = show_sizes(d.report.bindings) or "every call"
    title = f"workspace of {d.report.temporary_bytes:,} bytes at {where}"
    note = f"lower bound {d.report.lower_bound:,}, without reuse {d.report.unreused_temporary_bytes:,}"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + height + foot}" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{left}" y="24" font-size="15">{escape(title)}</text>',
        f'<text x="{left}" y="44" fill="#555">{escape(note)}</text>',
    ]
    for i, box in enumerate(d.boxes):
        at, up = x(box.first), y(box.high)
        wide, tall = round(x(box.last + 1) - at, 2), round(y(box.low) - up, 2)
        about = f"{box.name}: {box.high - box.low:,} bytes at {box.low:,}, kernels {box.first} to {box.last}"
        fill = PALETTE[i % len(PALETTE)]
        out.append(f'<rect x="{at}" y="{up}" width="{wide}" height="{tall}" fill="{fill}" fill-opacity="0.85" stroke="white">')
        out.append(f"<title>{escape(about)}</title></rect>")
        if wide > 7 * len(box.name) + 6 and tall > 13:
            out.append(f'<text x="{at + 4}" y="{up + 13}" fill="white">{escape(box.name)}</text>')
    marks = sorted({0, d.report.temporary_bytes // 2, d.report.temporary_bytes})
    out += [f'<text x="{left - 8}" y="{y(nbytes) + 4}" text-anchor="end">{nbytes:,}</text>' for nbytes in marks]
    bound = y(d.report.lower_bound)
    out.append(f'<line x1="{left}" x2="{x(count)}" y1="{bound}" y2="{bound}" stroke="black" stroke-dasharray="6 4"/>')
    out.append(f'<text x="{x(count)}" y="{bound - 4}" text-anchor="end">lower bound</text>')
    steps = " ".join(f"{x(at)},{y(n)} {x(at + 1)},{y(n)}" for at, n in enumerate(d.live))
    out.append(f'<polyline points="{steps}" fill="none" stroke="black" stroke-width="1.5"><title>bytes alive</title></polyline>')
    out.append(f'<line x1="{left}" x2="{x(count)}" y1="{y(0)}" y2="{y(0)}" stroke="#888"/>')
    for at in range(0, count, max(1, -(-count // 40))):
        about = escape(d.kernels[at]) if d.kernels else ""
        out.append(f'<text x="{x(at + 0.5)}" y="{top + height + 18}" text-anchor="middle">{at}<title>{about}</title></text>')
    out.append(
        f'<text x="{left}" y="{top + height + 44}" fill="#555">kernels, in the order they run; the black line is what is alive</text>'
    )
    return "\n".join([*out, "</svg>"]) + "\n"
