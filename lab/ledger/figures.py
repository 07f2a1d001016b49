"""The tables of documents that are made of the ledger, each between its mark and `<!-- end -->`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from statistics import geometric_mean

from lab.ledger.answers import ROOT
from lab.ledger.rows import WORK_PER_S, Row

_REAL = ("executorch", "iree", "onnx", "tflite", "torch_train", "vela", "xla")
Rows = Mapping[str, Row]


def documents(rows: Rows) -> Iterator[tuple[str, str, str]]:
    """Yield the path of each document with such tables, its text, and what that is to be."""
    tables = {"figures": _figures(rows), "large": _large(rows)}
    for path in ("docs/benchmarks.md",):
        text = new = (ROOT / path).read_text()
        for mark, lines in tables.items():
            begin = f"<!-- ledger: {mark} -->\n"
            new = re.sub(f"{begin}.*?<!-- end -->", begin + "\n".join(lines) + "\n<!-- end -->", new, flags=re.DOTALL)
        yield path, text, new


def _figures(rows: Rows) -> list[str]:
    """Return the rows of the table of figures."""
    j, stripes = rows["peak/minimalloc-j"].answer, rows["cascade/networks-mobilenet_v2-10"].answer
    open_j = f"; J is at {j.values[0]:,.0f} above {j.bound:,.0f}" if j.rank else ""
    real = _proved(rows, *(f"{kind}/{system}" for kind in ("peak", "pools") for system in _REAL))
    hard = _proved(rows, *(f"peak/minimalloc-{letter}" for letter in "abcdefghijk"))
    return [
        "| what | figure | command |",
        "|---|---|---|",
        f"| real problems of compilers and runtimes | {real} | `python -m lab.ledger peak pools` |",
        f"| minimalloc's challenging set | {hard}{open_j} | `python -m lab.ledger peak/minimalloc-` |",
        f"| graphs of operations | {_proved(rows, 'order/')} | `python -m lab.ledger order` |",
        f"| MobileNetV2 in stripes | {stripes.values[0]:,.0f} bytes instead of 1,505,280, with 10 % more"
        " multiplications | `python -m lab.ledger cascade/networks-mobilenet_v2` |",
    ]


def _proved(rows: Rows, *names: str) -> str:
    """Return how many of the rows whose names begin so are proved, of several seeds the first, and in what time."""
    answers = [row.answer for name, row in rows.items() if name.startswith(names) and "#" not in name]
    proved = sum(not answer.rank for answer in answers)
    cpu_ms = 1000 * geometric_mean(max(answer.cpu_s, 0.001) for answer in answers)
    return f"{proved} of {len(answers)} proved to be the best, in {cpu_ms:.0f} ms of CPU (geometric mean)"


def _large(rows: Rows) -> list[str]:
    """Return the table of large problems."""
    lines = ["| problem | peak | bound | work, s | CPU, s |", "|---|---|---|---|---|"]
    for name, row in rows.items():
        if name.startswith("large/"):
            bound, (peak, *_) = row.answer.bound or 0, row.answer.values
            above = "the bound" if peak == bound else f"{peak / bound:.6f} of it"
            cells = (name.removeprefix("large/"), f"{peak:,.0f}", above, f"{row.work / WORK_PER_S:.2f}")
            lines.append(f"| {' | '.join(cells)} | {row.answer.cpu_s:.1f} |")
    return lines
