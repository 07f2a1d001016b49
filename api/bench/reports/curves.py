"""Curves: how often a solver is how much slower than the best, and how far from the best it is over time."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import mean

from memplan.api.bench.reports.summary import SHORTEST_S, Cell, Summary
from memplan.api.bench.results import Result


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


def solving_times(summary: Summary, solver: str) -> list[float]:
    """Return, ascending, the wall times in seconds of a solver's runs; inf if not solved."""
    cells = [cell for (_, name), cell in summary.cells.items() if name == solver]
    return sorted(time for cell in cells for time in _solved_s(cell))


def ratios(summary: Summary, solver: str) -> list[float]:
    """Return, ascending, the peaks of a solver's runs as multiples of the bound; inf without a plan or a bound."""
    return sorted(
        run.peak / cell.bound if run.is_valid and run.peak is not None and cell.bound else inf
        for (_, name), cell in summary.cells.items()
        if name == solver
        for run in cell.runs
    )


def _solved_s(cell: Cell) -> list[float]:
    return [max(run.wall_time_s or 0.0, SHORTEST_S) if cell.is_solved(run) else inf for run in cell.runs]


def mean_gap(summary: Summary, solver: str, times: Sequence[float]) -> list[float]:
    """Return the mean, over a solver's runs, of the gap 1 - best / peak at each of the ascending times.

    The best is the smallest peak known for the instance; without a plan the gap is 1 (primal gap: Berthold, 2013).
    """
    gaps = [
        _gaps(run, best, times)
        for (instance, name), cell in summary.cells.items()
        if name == solver and (best := summary.best_peak(instance)) is not None
        for run in cell.runs
    ]
    return [mean(column) for column in zip(*gaps, strict=True)]


def _gaps(run: Result, best: int, times: Sequence[float]) -> list[float]:
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
