"""The tables of documents that are made of the ledger, each between its mark and `<!-- end -->`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from statistics import geometric_mean

from lab.ledger.answers import ROOT, WORK_PER_S
from lab.ledger.rows import Row
from memplan.solvers.portfolio.registry import SOLVERS

_REAL = ("executorch", "iree", "onnx", "tflite", "torch_train", "vela", "xla")
Rows = Mapping[str, Row]


def documents(rows: Rows) -> Iterator[tuple[str, str, str]]:
    """Yield the path of each document with such tables, its text, and what that is to be."""
    tables = {"figures": _figures(rows), "kinds": _kinds(rows), "large": _large(rows), "searches": _searches(rows)}
    for path in ("README.md", "docs/benchmarks.md", "docs/search.md"):
        text = new = (ROOT / path).read_text()
        for mark, lines in tables.items():
            begin = f"<!-- ledger: {mark} -->\n"
            new = re.sub(f"{begin}.*?<!-- end -->", begin + "\n".join(lines) + "\n<!-- end -->", new, flags=re.DOTALL)
        yield path, text, new


def _figures(rows: Rows) -> list[str]:
    """Return the rows of the README's table."""
    real = [
        row for row in rows.values() if row.name.startswith(tuple(f"{k}/{s}" for k in ("peak", "pools") for s in _REAL))
    ]
    orders = [row for row in rows.values() if row.name.startswith("order/")]
    hard = [rows[f"peak/minimalloc-{letter}"] for letter in "abcdefghijk"]
    stripes = rows["cascade/networks-mobilenet_v2-10"].answer.values[0]
    j = rows["peak/minimalloc-j"]
    open_j = "" if not j.answer.rank else f"; J is at {j.answer.values[0]:,.0f} above {j.answer.bound:,.0f}"
    return [
        "| what | figure | command |",
        "|---|---|---|",
        f"| real problems of compilers and runtimes | {_proved(real)} | `python -m lab.ledger peak pools` |",
        f"| minimalloc's challenging set | {_proved(hard)}{open_j} | `python -m lab.ledger peak/minimalloc-` |",
        f"| graphs of operations | {_proved(orders)} | `python -m lab.ledger order` |",
        f"| MobileNetV2 in stripes | {stripes:,.0f} bytes instead of 1,505,280, with 10 % more multiplications |"
        " `python -m lab.ledger cascade/networks-mobilenet_v2` |",
    ]


def _proved(rows: list[Row]) -> str:
    proved = sum(not row.answer.rank for row in rows)
    cpu_ms = 1000 * geometric_mean(max(row.answer.cpu_s, 0.001) for row in rows)
    return f"{proved} of {len(rows)} proved to be the best, in {cpu_ms:.0f} ms of CPU (geometric mean)"


def _kinds(rows: Rows) -> list[str]:
    """Return the table of kinds: questions, proofs, the work and the time that the answers take."""
    lines = ["| questions | rows | proved | work, geometric mean | CPU in all, s |", "|---|---|---|---|---|"]
    for kind in sorted({name.partition("/")[0] for name in rows}):
        of_kind = [row for row in rows.values() if row.name.startswith(f"{kind}/")]
        work = [row.work for row in of_kind if row.work is not None]
        mean = f"{geometric_mean(work):,.0f}" if work else "by a clock"
        proved, cpu_s = sum(not row.answer.rank for row in of_kind), sum(row.answer.cpu_s for row in of_kind)
        lines.append(f"| {kind} | {len(of_kind)} | {proved} | {mean} | {cpu_s:,.0f} |")
    return lines


def _large(rows: Rows) -> list[str]:
    """Return the table of large problems."""
    lines = ["| problem | peak | bound | work, s | CPU, s |", "|---|---|---|---|---|"]
    for name, row in rows.items():
        if name.startswith("large/") and row.work is not None:
            bound, (peak, *_) = row.answer.bound or 0, row.answer.values
            above = "the bound" if peak == bound else f"{peak / bound:.6f} of it"
            cells = (name.removeprefix("large/"), f"{peak:,.0f}", f"{above}", f"{row.work / WORK_PER_S:.2f}")
            lines.append(f"| {' | '.join(cells)} | {row.answer.cpu_s:.1f} |")
    return lines


def _searches(rows: Rows) -> list[str]:
    """Return the table of searches: the rows that each finds or proves, and those that fall without it."""
    lines = ["| search | finds or proves | rows that fall without it | such as |", "|---|---|---|---|"]
    for solver in SOLVERS:
        by = [row.name for row in rows.values() if solver.name in " and ".join(row.answer.by).split(" and ")]
        falls = [row.name for row in rows.values() if solver.name in row.falls]
        lines.append(f"| `{solver.name}` | {len(by)} | {len(falls)} | {', '.join(falls[:3])} |")
    return lines
