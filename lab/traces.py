"""Convert malloc traces and TFLite Micro logs to buffer tables: `python -m lab.traces malloc|tflm-log IN OUT.csv`.

Each row of a malloc trace is a call, `op,id,size[,alignment]`, and each call is a time step. `op` is alloc (also
malloc, calloc, memalign, new, ...), free (also dealloc, delete) or realloc. `id` names the block, usually by its
address, and `new_id` the block after realloc. A block that is allocated again becomes another buffer (`0x10#2`). During
realloc both blocks are alive, and a block that is never freed is alive to the end. Blocks are aligned to 16 bytes, as
in malloc. A TFLite Micro log contains the output of `GreedyMemoryPlanner::PrintMemoryPlan`, in its current or earlier
form, among other lines. Its lifetimes include their last step; the table keeps its offsets for `memplan verify`.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ALIGNMENT = 16
_ALLOC = ("alloc", "malloc", "calloc", "memalign", "aligned_alloc", "posix_memalign", "new")
_FREE = ("free", "dealloc", "delete")
_NULL = ("0", "0x0", "(nil)", "nil", "NULL", "")
_NAMES = {"event": "op", "call": "op", "address": "id", "ptr": "id", "new_ptr": "new_id", "bytes": "size"}
_PLANNED = re.compile(
    r"\(id=(?P<id>\d+)\): size=(?P<size>\d+), offset=(?P<offset>\d+), "
    r"first_used=(?P<first>\d+),? last_used=(?P<last>\d+)"
    r"|buffer ID: (?P<id_old>\d+), calculated offset: (?P<offset_old>\d+), size required: (?P<size_old>\d+), "
    r"first_time_created: (?P<first_old>\d+), last_time_used: (?P<last_old>\d+)"
)
Row = dict[str, Any]


def malloc_rows(text: str) -> Iterator[Row]:
    """Yield each buffer of a malloc trace as a table row. Raises ValueError for an invalid call."""
    alive: dict[str, Row] = {}
    rows: list[Row] = []
    count: Counter[str] = Counter()
    table = csv.reader(io.StringIO(text))
    names = [_NAMES.get(name.strip(), name.strip()) for name in next(table)]
    step = 0
    for step, cells in enumerate(table, 1):
        call = dict(zip(names, (cell.strip() for cell in cells), strict=False))
        op, block = call["op"].lower(), call["id"]
        if op not in (*_ALLOC, *_FREE, "realloc"):
            raise ValueError(f"line {step + 1}: op must be alloc, free or realloc, got {op}")
        if op not in _ALLOC and block not in _NULL:
            if block not in alive:
                raise ValueError(f"line {step + 1}: {block} must be allocated before it is freed")
            alive.pop(block)["upper"] = step - (op != "realloc")
        if op not in _FREE:
            block = call.get("new_id") or block
            if block in alive:
                raise ValueError(f"line {step + 1}: {block} must be freed before it is allocated again")
            count[block] += 1
            name = block if count[block] == 1 else f"{block}#{count[block]}"
            alignment = int(call.get("alignment") or ALIGNMENT)
            alive[block] = {"id": name, "lower": step - 1, "size": int(call["size"], 0), "alignment": alignment}
            rows.append(alive[block])
    for row in rows:
        yield {"upper": step, **row}


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


KINDS = {"malloc": malloc_rows, "tflm-log": tflm_log_rows}


def table(kind: str, text: str) -> str:
    """Return the CSV table of the buffers in a trace or log, in the format that memplan reads."""
    rows = list(KINDS[kind](text))
    names = ["id", "lower", "upper", "size", "alignment"] + ["offset"] * any("offset" in row for row in rows)
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


if __name__ == "__main__":
    _, chosen, source, target = sys.argv
    Path(target).write_text(table(chosen, Path(source).read_text(errors="backslashreplace")))
