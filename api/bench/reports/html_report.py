"""The report as one HTML page that needs no network: the text, and curves drawn by Bokeh (extra `bench`).

One curve is how often a solver is how much slower than the best, the other how far from the best it is over time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate
from math import inf
from statistics import mean

import numpy as np
from bokeh.embed import components
from bokeh.models import Range1d
from bokeh.palettes import Category10_10
from bokeh.plotting import figure
from bokeh.resources import Resources

from memplan.api.bench.reports.summary import SHORTEST_S, Cell, Summary
from memplan.api.bench.reports.text_report import text_report
from memplan.api.bench.results import Result

Steps = tuple[Sequence[float], Sequence[float]]
"""The corners (x, y) of a line that goes along and then up."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
{resources}
<style>body {{ font-family: sans-serif; margin: 2em; }} .plots {{ display: flex; flex-wrap: wrap; gap: 1em; }}</style>
</head>
<body>
<h1>{title}</h1>
<div class="plots">
{plots}
</div>
<pre>{text}</pre>
{script}
</body>
</html>
"""


def html_report(summary: Summary, title: str = "memplan bench") -> str:
    """Return the whole report as a page."""
    script, plots = components([_profiles(summary), _gaps(summary)])
    return _PAGE.format(
        title=escape(title),
        resources=Resources(mode="inline", components=["bokeh"]).render(),
        plots="\n".join(plots),
        text=escape(text_report(summary)),
        script=script,
    )


def profile(summary: Summary, solver: str) -> list[float]:
    """Return, ascending, how many times longer than the fastest run each of a solver's runs took; inf if not solved.

    This is the performance profile of Dolan and Moré (2002): the share of runs within a factor of the best.
    """
    factors = []
    for instance in summary.of_instance:
        times = {name: _solved_s(cell) for (other, name), cell in summary.cells.items() if other == instance}
        fastest = min((time for column in times.values() for time in column), default=inf)
        factors += [time / fastest if time < inf else inf for time in times.get(solver, [inf])]
    return sorted(factors)


def mean_gap(summary: Summary, solver: str, times: Sequence[float]) -> list[float]:
    """Return the mean, over a solver's runs, of the gap 1 - best / peak at each of the ascending times.

    The best is the smallest peak known for the instance; without a plan the gap is 1 (primal gap: Berthold, 2013).
    """
    gaps = [
        _run_gaps(run, best, times)
        for (instance, name), cell in summary.cells.items()
        if name == solver and (best := summary.best_peak(instance)) is not None
        for run in cell.runs
    ]
    return [mean(column) for column in zip(*gaps, strict=True)]


def _solved_s(cell: Cell) -> list[float]:
    return [max(run.wall_time_s or 0.0, SHORTEST_S) if cell.is_solved(run) else inf for run in cell.runs]


def _run_gaps(run: Result, best: int, times: Sequence[float]) -> list[float]:
    known = [(moment.wall_time_s, moment.peak) for moment in run.curve if run.outcome == "plan"]
    if run.outcome == "plan" and run.wall_time_s is not None:
        known.append((run.wall_time_s, run.peak))
    gaps, gap, k = [], 1.0, 0
    for time in times:
        while k < len(known) and known[k][0] <= time:
            peak = known[k][1]
            if peak is not None:
                gap = max(0.0, 1 - best / peak) if peak else 0.0
            k += 1
        gaps.append(gap)
    return gaps


def _profiles(summary: Summary) -> figure:
    lines = {solver: _shares(profile(summary, solver)) for solver in summary.solvers}
    return _plot("Performance profile", "times the fastest", "share of runs solved", lines)


def _gaps(summary: Summary) -> figure:
    latest = max((row.wall_time_s or 0.0 for row in summary.rows), default=0.0)
    times = np.geomspace(10 * SHORTEST_S, max(latest, 100 * SHORTEST_S), 200).tolist()
    lines = {solver: (times, mean_gap(summary, solver, times)) for solver in summary.solvers}
    return _plot("Anytime: mean gap to the best known peak", "wall time in s", "mean of 1 - best / peak", lines)


def _shares(values: Sequence[float]) -> Steps:
    """Return, for ascending values, the share of them that are at most x; those at infinity count below."""
    finite = [value for value in values if value < inf]
    return [*finite[:1], *finite], [0.0, *(count / len(values) for count in accumulate(1 for _ in finite))]


def _plot(title: str, x: str, y: str, lines: Mapping[str, Steps]) -> figure:
    """Draw a step line for each solver, all drawn out to one end."""
    plot = figure(title=title, x_axis_label=x, y_axis_label=y, x_axis_type="log", width=620, height=400)
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
