"""Convert logs of TFLite Micro to tables of buffers: `python -m lab.traces tflm-log LOG OUT.csv`.

A log contains the output of `GreedyMemoryPlanner::PrintMemoryPlan`, in its current or earlier form, among other lines.
Its lifetimes include their last step; the table keeps its offsets for `memplan verify`.
"""

import csv
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ALIGNMENT = 16
_PLANNED = re.compile(
    r"\(id=(?P<id>\d+)\): size=(?P<size>\d+), offset=(?P<offset>\d+), "
    r"first_used=(?P<first>\d+),? last_used=(?P<last>\d+)"
    r"|buffer ID: (?P<id_old>\d+), calculated offset: (?P<offset_old>\d+), size required: (?P<size_old>\d+), "
    r"first_time_created: (?P<first_old>\d+), last_time_used: (?P<last_old>\d+)"
)
Row = dict[str, Any]


def tflm_log_rows(text: str) -> Iterator[Row]:
    """Yield each buffer of a logged plan as a table row. Raises ValueError if the log has two different plans."""
    rows: dict[int, Row] = {}
    for found in _PLANNED.finditer(text):
        fields = {name.removesuffix("_old"): int(value) for name, value in found.groupdict().items() if value}
        times = {"lower": fields.pop("first"), "upper": fields.pop("last") + 1}
        row = {**fields, **times, "alignment": ALIGNMENT}
        if rows.setdefault(fields["id"], row) != row:
            raise ValueError(f"buffer {fields['id']}: must have the same offset, size and lifetime in the whole log")
    yield from rows.values()


def table(text: str) -> str:
    """Return the CSV table of the buffers in a log, in the format that memplan reads."""
    rows = list(tflm_log_rows(text))
    out = io.StringIO()
    writer = csv.DictWriter(out, ["id", "lower", "upper", "size", "alignment", "offset"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


if __name__ == "__main__":
    _, _, source, target = sys.argv
    Path(target).write_text(table(Path(source).read_text(errors="backslashreplace")))
