"""Writes the ledger's table in `docs/benchmarks.md`, between its mark and `<!-- end -->`."""

import re
from collections.abc import Mapping
from pathlib import Path
from statistics import geometric_mean

from lab.ledger.answers import ROOT
from lab.ledger.rows import Row

_REAL = ("executorch", "iree", "onnx", "tflite", "torch_train", "vela", "xla")
Rows = Mapping[str, Row]


def document(rows: Rows) -> tuple[Path, str]:
    """Return the path of the document that contains the table, and its new text."""
    path = ROOT / "docs" / "benchmarks.md"
    text, begin = path.read_text(), "<!-- ledger: figures -->\n"
    made = begin + "\n".join(_table_lines(rows)) + "\n<!-- end -->"
    return path, re.sub(f"{begin}.*?<!-- end -->", made, text, flags=re.DOTALL)


def _table_lines(rows: Rows) -> list[str]:
    """Return the lines of the Markdown table of the ledger's rows."""
    j, stripes = rows["peak/minimalloc-j"].answer, rows["cascade/networks-mobilenet_v2-10"].answer
    open_j = f"; J is at {j.values[0]:,.0f} above {j.bound:,.0f}" if j.rank else ""
    real = _proved_text(rows, *(f"{kind}/{system}" for kind in ("peak", "pools") for system in _REAL))
    hard = _proved_text(rows, *(f"peak/minimalloc-{letter}" for letter in "abcdefghijk"))
    return [
        "| what | figure | command |",
        "|---|---|---|",
        f"| real problems of compilers and runtimes | {real} | `python -m lab.ledger peak pools` |",
        f"| minimalloc's challenging set | {hard}{open_j} | `python -m lab.ledger peak/minimalloc-` |",
        f"| graphs of operations | {_proved_text(rows, 'order/')} | `python -m lab.ledger order` |",
        f"| MobileNetV2 in stripes | {stripes.values[0]:,.0f} bytes instead of 1,505,280, with 10 % more"
        " multiplications | `python -m lab.ledger cascade/networks-mobilenet_v2` |",
    ]


def _proved_text(rows: Rows, *names: str) -> str:
    answers = [row.answer for name, row in rows.items() if name.startswith(names) and "#" not in name]
    proved = sum(not answer.rank for answer in answers)
    cpu_ms = 1000 * geometric_mean(max(answer.cpu_s, 0.001) for answer in answers)
    return f"{proved} of {len(answers)} proved to be the best, in {cpu_ms:.0f} ms of CPU (geometric mean)"
