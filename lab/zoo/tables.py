"""Write the published results of the zoo: the tables in docs/benchmarks.md."""

from __future__ import annotations

import re
from pathlib import Path

from lab.zoo import table
from lab.zoo.planners import PLANNERS

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "docs" / "benchmarks.md"
_MARKED = re.compile(r"(<!-- zoo -->\n).*?(<!-- end zoo -->)", re.DOTALL)


def lines(rows: list[table.Cells]) -> str:
    """Return two Markdown tables: how many models are planned and proved, and how far planners exceed the best peak."""
    every = table.Summary.from_rows(rows, PLANNERS)
    counts = {
        "architectures that could be traced": (every.models, every.tried),
        "plans that are proved to be the least": (every.plans_proved, every.planned),
        "orders that are proved to be the least": (every.orders_proved, every.traced),
        "networks that need less in another order": (every.orders_gain, every.traced),
        "certificates of fewer than 1,000 bytes": (every.small, every.certificates),
    }
    ranked = sorted(every.wastes.items(), key=lambda item: (item[1][0], -item[1][2]))
    return "\n".join(
        [
            "| what | how many | of |",
            "|---|---|---|",
            *(f"| {name} | {part:,} | {whole:,} |" for name, (part, whole) in counts.items()),
            "",
            "| planner | plans with the least | above the least: median | at worst |",
            "|---|---|---|---|",
            *(f"| `{name}` | {least:,} | {middle:.1%} | {most:,.0%} |" for name, (middle, most, least) in ranked),
        ]
    )


def update_benchmarks(text: str, rows: list[table.Cells]) -> str:
    """Return the text of docs/benchmarks.md with the zoo's tables replaced by those of `rows`."""
    return _MARKED.sub(lambda marks: f"{marks[1]}{lines(rows)}\n{marks[2]}", text)


def publish(path: Path) -> None:
    BENCHMARKS.write_text(update_benchmarks(BENCHMARKS.read_text(encoding="utf-8"), table.read(path)), encoding="utf-8")
