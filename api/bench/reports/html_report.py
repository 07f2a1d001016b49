"""The report as one HTML page that needs no network: tables, and curves drawn by Bokeh (extra `bench`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import accumulate
from math import inf

import numpy as np
from bokeh.embed import components
from bokeh.models import Range1d
from bokeh.palettes import Category10_10
from bokeh.plotting import figure
from bokeh.resources import Resources

from memplan.api.bench.reports.curves import mean_gap, profile, ratios, solving_times
from memplan.api.bench.reports.summary import SHORTEST_S, Summary
from memplan.api.bench.reports.text_report import RUN_HEADER, SOLVER_HEADER, remarks, run_rows, solver_rows

Steps = tuple[Sequence[float], Sequence[float]]
"""The corners (x, y) of a line that goes along and then up."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
{resources}
<style>
body {{ font-family: sans-serif; margin: 2em; }}
.plots {{ display: flex; flex-wrap: wrap; gap: 1em; }}
table {{ border-collapse: collapse; margin: 1em 0; font-size: 90%; }}
th, td {{ border-bottom: 1px solid #ccc; padding: 0.2em 0.7em; text-align: right; }}
.word {{ text-align: left; }}
</style>
</head>
<body>
<h1>{title}</h1>
{solvers}
<div class="plots">
{plots}
</div>
{runs}
{remarks}
{script}
</body>
</html>
"""


def html_report(summary: Summary, title: str = "memplan bench") -> str:
    """Return the whole report as a page."""
    script, plots = components([_profiles(summary), _gaps(summary), _solved(summary), _ratios(summary)])
    return _PAGE.format(
        title=escape(title),
        resources=Resources(mode="inline", components=["bokeh"]).render(),
        solvers=_table(SOLVER_HEADER, solver_rows(summary)),
        plots="\n".join(plots),
        runs=_table(RUN_HEADER, run_rows(summary)),
        remarks="\n".join(f"<p>{escape(remark)}</p>" for remark in remarks(summary)),
        script=script,
    )


def _profiles(summary: Summary) -> figure:
    lines = {solver: _shares(profile(summary, solver)) for solver in summary.solvers}
    return _plot("Performance profile", "times the fastest", "share of runs solved", lines)


def _solved(summary: Summary) -> figure:
    lines = {solver: _shares(solving_times(summary, solver)) for solver in summary.solvers}
    return _plot("Solved over time", "wall time in s", "share of runs solved", lines)


def _ratios(summary: Summary) -> figure:
    lines = {solver: _shares(ratios(summary, solver)) for solver in summary.solvers}
    return _plot("Distance from the bound", "peak / bound", "share of runs", lines, x_axis="linear")


def _gaps(summary: Summary) -> figure:
    latest = max((row.wall_time_s or 0.0 for row in summary.rows), default=0.0)
    times = np.geomspace(10 * SHORTEST_S, max(latest, 100 * SHORTEST_S), 200).tolist()
    lines = {solver: (times, mean_gap(summary, solver, times)) for solver in summary.solvers}
    return _plot("Anytime: mean gap to the best known peak", "wall time in s", "mean of 1 - best / peak", lines)


def _shares(values: Sequence[float]) -> Steps:
    """Return, for ascending values, the share of them that are at most x; those at infinity count below."""
    finite = [value for value in values if value < inf]
    return [*finite[:1], *finite], [0.0, *(count / len(values) for count in accumulate(1 for _ in finite))]


def _plot(title: str, x: str, y: str, lines: Mapping[str, Steps], x_axis: str = "log") -> figure:
    """Draw a step line for each solver, all drawn out to one end."""
    plot = figure(title=title, x_axis_label=x, y_axis_label=y, x_axis_type=x_axis, width=620, height=400)
    plot.y_range = Range1d(0, 1.02)
    plot.toolbar.logo = None
    plot.toolbar_location = "above"
    end = max((xs[-1] for xs, _ in lines.values() if xs), default=1.0)
    for k, (solver, (xs, ys)) in enumerate(lines.items()):
        if xs:
            colour = Category10_10[k % len(Category10_10)]
            plot.step([*xs, end], [*ys, ys[-1]], mode="after", legend_label=solver, color=colour, line_width=2)
    if plot.legend:
        plot.legend.click_policy = "hide"
        plot.add_layout(plot.legend[0], "right")
    return plot


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_line("th", header, header), *(_line("td", header, row) for row in rows)]
    return "\n".join(["<table>", *lines, "</table>"])


def _line(tag: str, header: Sequence[str], texts: Sequence[str]) -> str:
    words = {"instance", "solver", "outcome"}
    cells = zip(header, texts, strict=True)
    return "".join(
        ["<tr>", *(f"<{tag}{' class=word' * (name in words)}>{escape(text)}</{tag}>" for name, text in cells), "</tr>"]
    )
