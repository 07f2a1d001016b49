"""Reads, extends and summarises the zoo's table, a CSV file with a row for each measured model and mode."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

TABLE = Path(__file__).parent / "zoo.csv"
_SMALL = 1000
"""A certificate with fewer bytes than this counts as small."""
Cells = dict[str, str]


def read(path: Path) -> list[Cells]:
    """Return the rows of a CSV table, or [] if the file does not exist."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(path: Path, columns: Sequence[str], rows: Iterable[dict[str, object]]) -> None:
    """Append rows to a CSV table, after writing the header if the file is new."""
    with path.open("a", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        if not file.tell():
            table.writeheader()
        table.writerows(rows)


def key(row: Cells) -> tuple[str, str]:
    """Return the key of a row: (model as PACKAGE/NAME, mode)."""
    return f"{row['source']}/{row['model']}", row["mode"]


def waste(row: Cells, planner: str, end: str = "") -> float | None:
    """Return a planner's excess over the best peak, as a fraction of the best peak, or None if a peak is missing."""
    needed, best = row[f"{planner}{end}"], row[f"peak{end}"]
    return int(needed) / int(best) - 1 if needed and best and int(best) else None


@dataclass(frozen=True)
class Summary:
    """Counts over a table's rows; `wastes` maps each planner to its excess: (median, maximum, number of zeros)."""

    tried: int
    models: int
    traced: int
    planned: int
    plans_proved: int
    orders_proved: int
    checked: int
    certificates: int
    small: int
    orders_gain: int
    wastes: dict[str, tuple[float, float, int]]

    @classmethod
    def from_rows(cls, rows: Sequence[Cells], planners: Sequence[str], end: str = "") -> Summary:
        """Return the summary of the rows; `end` selects the alignment for which the planners' excess is computed."""
        good = [row for row in rows if row["peak"]]
        wastes = {}
        for planner in planners:
            parts = [part for row in good if (part := waste(row, planner, end)) is not None]
            if parts:
                wastes[planner] = median(parts), max(parts), sum(part == 0 for part in parts)
        ends = ("", "_64")
        sizes = [int(row[f"certificate{each}"]) for row in good for each in ends if row[f"certificate{each}"]]
        return cls(
            tried=len({key(row)[0] for row in rows}),
            models=len({key(row)[0] for row in good}),
            traced=len(good),
            planned=len(good) * len(ends),
            plans_proved=sum(row[f"peak{each}"] == row[f"bound{each}"] for row in good for each in ends),
            orders_proved=sum(row["order_peak"] == row["order_bound"] for row in good),
            checked=sum(row[f"checked{each}"] == "True" for row in good for each in ends),
            certificates=len(sizes),
            small=sum(size < _SMALL for size in sizes),
            orders_gain=sum(int(row["order_peak"]) < int(row["order_given"]) for row in good),
            wastes=wastes,
        )
