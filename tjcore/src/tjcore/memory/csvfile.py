"""Packing instances and plans as CSV, so that they can be studied outside the compiler.

In and out: rows `id,lower,upper,size` (the half-open lifetime [lower, upper)), with a further column `offset` for plans.
Law: what is written reads back equal; a row that cannot be read is refused with its line number.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from tjcore.errors import PlanError
from tjcore.memory.problem import Allocation, Temporary

COLUMNS = ("id", "lower", "upper", "size")


def read_temporaries(path: Path) -> tuple[Temporary, ...]:
    """The buffers of a CSV file, in its order."""
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
        if missing:
            raise PlanError(f"{path}: expected the columns {','.join(COLUMNS)}, but {','.join(missing)} is missing")
        return tuple(_temporary(path, reader.line_num, row) for row in reader)


def _temporary(path: Path, line: int, row: dict[str, str]) -> Temporary:
    try:
        lower, upper, size = (int(row[column]) for column in COLUMNS[1:])
    except (TypeError, ValueError) as error:
        raise PlanError(f"{path}, line {line}: lower, upper and size must be whole numbers, got {row}") from error
    if upper <= lower:
        raise PlanError(f"{path}, line {line}: buffer {row['id']!r} lives in [{lower}, {upper}), which is empty")
    return Temporary(row["id"], size, lower, upper - 1)


def write_temporaries(path: Path, temporaries: Sequence[Temporary], allocations: Sequence[Allocation] | None = None) -> None:
    """Write buffers, and with `allocations` where they lie (sizes stay as asked for, not rounded up)."""
    offset = {a.name: a.offset for a in allocations or ()}
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS if allocations is None else (*COLUMNS, "offset"))
        for t in temporaries:
            row: list[str | int] = [t.name, t.first, t.last + 1, t.nbytes]
            writer.writerow(row if allocations is None else [*row, offset[t.name]])
