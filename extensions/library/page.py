"""The HTML page about benchmark runs, with the PAR2 time (penalised mean) of each planner and performance profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from math import log10
from statistics import mean

from memplan.extensions.bench.results import Result
from memplan.extensions.bench.summary import penalised_s, text_table
from memplan.extensions.library.running import is_solved, word_of
from memplan.planner.errors import count_text

_WIDE, _HIGH, _LEFT = 560, 240, 44
_DASHES = ("", "6 3", "2 2", "8 3 2 3", "1 3", "10 4")
_COLOURS = ("#1a4f8b", "#b3541e", "#3b7a3b", "#7a3b74", "#555", "#9a7d0a")
_HEAD = ("planner", "runs", "solved", "better", "plans", "none", "invalid", "late or failed", "PAR2 s")
_STYLE = """body{font:11pt serif;max-width:19cm;margin:1cm auto;color:#111}table{border-collapse:collapse;width:100%}
th,td{text-align:right;padding:2px 6px;border-bottom:1px solid #ccc}th:first-child,td:first-child{text-align:left}
caption{text-align:left;font-weight:bold;padding:8px 0}svg{width:100%}p{font-size:9pt}@page{margin:1.5cm}"""


@dataclass(frozen=True)
class Line:
    """The totals of a planner over its runs. `par2_s` is its mean time; an unsolved run counts twice the limit."""

    planner: str
    runs: int
    counts: tuple[int, ...]
    par2_s: float

    def cells(self) -> list[str]:
        """Return the totals as the texts of a table row's cells."""
        return [self.planner, *map(str, (self.runs, *self.counts)), f"{self.par2_s:.3f}"]


def planner_lines(rows: Sequence[Result]) -> list[Line]:
    """Return the totals of each planner, in ascending order of PAR2 time."""
    groups = (("solved", "better"), ("better",), ("plan",), ("none",), ("invalid",), ("late", "memory", "failed"))
    summary_rows = []
    for planner, some in groupby(sorted(rows, key=lambda row: row.solver), key=lambda row: row.solver):
        mine = list(some)
        counts = tuple(sum(word_of(row) in words for row in mine) for words in groups)
        summary_rows.append(Line(planner, len(mine), counts, mean(map(_penalised_s, mine))))
    return sorted(summary_rows, key=lambda line: line.par2_s)


def _penalised_s(row: Result) -> float:
    return penalised_s(row, is_solved=is_solved(row))


def text_of(rows: Sequence[Result]) -> str:
    """Return the table of planners, with their totals, as text columns."""
    return text_table(_HEAD, [line.cells() for line in planner_lines(rows)])


def page(rows: Sequence[Result], title: str) -> str:
    """Return a page about all runs as HTML without scripts."""
    kinds = sorted({_kind_name(row) for row in rows})
    tables = [_results_table(kind, [row for row in rows if _kind_name(row) == kind]) for kind in kinds]
    compared = run_by_all(rows)
    if len(kinds) > 1 and compared:
        caption = "All kinds" if len(compared) == len(rows) else "Problems that every planner ran on"
        tables.insert(0, _results_table(caption, compared))
    machines = "; ".join(sorted({row.machine for row in rows if row.machine}))
    days = sorted({(row.started or "").partition("T")[0] for row in rows})
    loads = [row.load_average or 0.0 for row in rows]
    notes = (
        "Solved: at least as good as the best known plan, or nothing fits and the planner says so. PAR2: the mean wall"
        " time, in which a run that is not solved counts twice its limit. Every plan was checked by checkers/."
    )
    about = f"{machines}; {days[0]} to {days[-1]}; load {min(loads):g} to {max(loads):g}; limits "
    limits = ", ".join(f"{limit:g} s" for limit in sorted({row.time_limit_s for row in rows}))
    profiles = (
        _profile(compared or rows, "Share of the problems solved within so many seconds", by_ratio=False),
        _profile(compared or rows, "Share solved within so many times the fastest planner's time", by_ratio=True),
    )
    parts = [f"<h1>{escape(title)}</h1>", *tables, *profiles, f"<p>{notes}</p>", f"<p>{escape(about + limits)}.</p>"]
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return head + "".join(parts) + "</html>\n"


def run_by_all(rows: Sequence[Result]) -> list[Result]:
    """Return only the rows of problems that every planner ran, because only these rows can be compared."""
    planners = {row.solver for row in rows}
    ran = {(row.solver, row.fingerprint) for row in rows}
    return [row for row in rows if all((planner, row.fingerprint) in ran for planner in planners)]


def _kind_name(row: Result) -> str:
    return row.instance.partition("/")[0]


def _results_table(caption: str, rows: Sequence[Result]) -> str:
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in line.cells()) for line in planner_lines(rows)]
    head = "".join(f"<th>{name}</th>" for name in _HEAD)
    problems = count_text(len({row.fingerprint for row in rows}), "problem")
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><caption>{escape(caption)}, {problems}</caption><tr>{head}</tr>{body}</table>"


def _profile(rows: Sequence[Result], caption: str, *, by_ratio: bool) -> str:
    """Return an SVG chart of the fraction of problems that each planner solves over time.

    If `by_ratio`, times are divided by the fastest planner's time for the problem.
    """
    fastest: dict[str | None, float] = {}
    for row in rows:
        fastest[row.fingerprint] = min(fastest.get(row.fingerprint, 1e9), _penalised_s(row))
    count, curves = len(fastest), {}
    for line in planner_lines(rows):
        mine = [row for row in rows if row.solver == line.planner and is_solved(row)]
        curves[line.planner] = sorted(_penalised_s(r) / (fastest[r.fingerprint] if by_ratio else 1) for r in mine)
    ends = [at for curve in curves.values() for at in curve] or [1.0]
    low, high = log10(min(ends)), max(log10(max(ends)), log10(min(ends)) + 1)

    def x(value: float) -> float:
        return _LEFT + (log10(value) - low) / (high - low) * (_WIDE - _LEFT - 120)

    def y(share: float) -> float:
        return 10 + (1 - share) * (_HIGH - 40)

    marks = [f'<text x="4" y="{y(share) + 4:.0f}">{share:.0%}</text>' for share in (0, 0.25, 0.5, 0.75, 1)]
    for power in range(int(low // 1), int(high // 1) + 1):
        if low <= power <= high:
            marks.append(f'<text x="{x(10.0**power):.0f}" y="{_HIGH - 12}">{10.0**power:g}</text>')
    for k, (planner, curve) in enumerate(curves.items()):
        points = [(x(10**low), y(0.0))]
        for n, at in enumerate(curve, start=1):
            points += [(x(at), points[-1][1]), (x(at), y(n / count))]
        points.append((x(10**high), points[-1][1]))
        style = f'stroke="{_COLOURS[k % 6]}" stroke-dasharray="{_DASHES[k % 6]}" fill="none" stroke-width="1.5"'
        marks.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" {style}/>')
        marks.append(
            f'<text x="{_WIDE - 114}" y="{24 + 14 * k}" fill="{_COLOURS[k % 6]}">{escape(planner)[:18]}</text>'
        )
    frame = f'<path d="M{_LEFT} 10V{_HIGH - 30}H{_WIDE - 120}" fill="none" stroke="#888"/>'
    picture = f'<svg viewBox="0 0 {_WIDE} {_HIGH}" font-size="10" font-family="serif">{frame}{"".join(marks)}</svg>'
    return f"<p><b>{escape(caption)}</b></p>{picture}"
