"""`python -m integrations.tables`: write the tables of docs/integrations.md from what each table.json recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "docs" / "integrations.md"
_HEAD = "| model | buffers | its planner | memplan | bound | saved | outputs | us, p50 (p99): its own | memplan |\n"


def row_of(
    model: str, buffers: int, before: int, after: int, bound: int, own_us: list[int], us: list[int], **more: Any
) -> dict[str, Any]:
    """Return the row of a model that ran on both plans with equal outputs; no plan may be larger than its planner's."""
    if not bound <= after <= before:
        raise SystemExit(f"{model}: {before} bytes by its planner, {after} by memplan, at least {bound}")
    sizes = {"model": model, "buffers": buffers, "before": before, "after": after, "bound": bound}
    return sizes | {"equal": True, "own_us": own_us, "us": us} | more


def record(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Print rows as they are made, and write them to a file, each on a line."""
    lines = []
    for row in rows:
        lines.append(json.dumps(row))
        print(lines[-1], flush=True)
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the rows that an integration recorded; of ggml's own networks, those with one buffer type."""
    own = FOLDER / name / "table.json"
    file = own if own.exists() else FOLDER / "ggml" / f"{name}.json"
    return [row for row in json.loads(file.read_text()) if name != "ggml" or row["part"] == "plain"]


def saved(row: dict[str, Any]) -> str:
    return f"{100 - 100 * row['after'] / row['before']:.1f} %" if row["after"] < row["before"] else "0"


def line(row: dict[str, Any]) -> str:
    own, ours = (" (".join(f"{each:,.{int(each < 1)}f}" for each in us) + ")" for us in (row["own_us"], row["us"]))
    outputs = {True: "equal", False: "not run"}[row["equal"]]
    after = f"{row['after']:,}{' =' if row['after'] == row['bound'] else ''}"
    cells = (
        row["model"] + (f": {row['part']}" if row.get("part", "plain") != "plain" else ""),
        row["buffers"],
        f"{row['before']:,}",
        after,
        f"{row['bound']:,}",
        saved(row),
        outputs,
        own,
        ours,
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def plain(rows: list[dict[str, Any]]) -> str:
    """Return rows whose keys are the heads of their columns."""
    lines = [" | ".join(rows[0]), " | ".join(["---"] * len(rows[0]))]
    lines += [" | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row.values()) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


def table(name: str) -> str:
    """Return the rows of an integration, those that gain most first; `=` is at the bound."""
    rows = rows_of(name)
    if name in ("check", "planners"):
        return plain(rows)
    rows = sorted(rows, key=lambda row: row["after"] / row["before"])
    return _HEAD + "|---|---|---|---|---|---|---|---|---|\n" + "\n".join(map(line, rows)) + "\n"


def summary(names: list[str]) -> str:
    lines = [
        "| runtime | models | ran, equal outputs | gain | saved, median (most) | at the bound | planning time, median |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for name in names:
        rows = rows_of(name)
        parts = sorted(100 - 100 * row["after"] / row["before"] for row in rows)
        slower = sorted(row["us"][0] / row["own_us"][0] for row in rows)
        at = sum(row["after"] == row["bound"] for row in rows)
        cells = (
            f"[{name}](#{name.replace('.', '')})",
            len(rows),
            sum(row["equal"] for row in rows),
            sum(row["after"] < row["before"] for row in rows),
            f"{parts[len(parts) // 2]:.1f} % ({parts[-1]:.1f} %)",
            at,
            f"{slower[len(slower) // 2]:.1f} times",
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """Return the page with its tables as they are recorded."""
    names = re.findall(r"<!-- table: (\S+) -->", text)
    for name in names:
        made = (
            summary([each for each in names if each != "all" and "after" in rows_of(each)[0]])
            if name == "all"
            else table(name)
        )
        text = re.sub(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", rf"\g<1>{made}\2", text, flags=re.DOTALL)
    return text


def main() -> None:
    PAGE.write_text(page(PAGE.read_text()))


if __name__ == "__main__":
    main()
