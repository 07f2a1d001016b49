"""Plots of benchmark results over time: how good the plans of each solver are, and how many runs it has solved."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import log10

from memplan.api.reports.picture import text_at
from memplan.extensions.bench.results import Result, latest_rows

_SOLVED = ("optimal", "infeasible")
_WIDTH, _HEIGHT, _LEFT, _TOP, _ROW = 460, 300, 50, 30, 16
_COLOURS = ("#4878a8", "#c9742a", "#3a923a", "#b2182b", "#7a5ba6", "#8c6d31", "#d684bd", "#555555")
_SHORTEST_S = 1e-3
_TICKS = 5
Curve = list[tuple[float, float]]


def curves(results: Iterable[Result]) -> dict[str, tuple[Curve, Curve]]:
    """Return, by solver, two curves of (seconds, value): the mean quality of its runs, and the share it has solved.

    The quality of a run is the best peak that is known of its problem, divided by the peak that the run has so far; 0
    without a plan. A run is solved once its plan is proved best, or it is proved that nothing fits.
    """
    rows = [row for row in latest_rows(results) if row.outcome != "skipped"]
    best: dict[str, float] = {}
    for row in rows:
        for peak in (row.known_peak, row.peak if row.outcome == "plan" else None):
            if peak is not None:
                best[row.instance] = min(peak, best.get(row.instance, peak))
    of_solver = {
        name: [row for row in rows if row.solver == name] for name in dict.fromkeys(row.solver for row in rows)
    }
    return {
        name: (
            _mean([_qualities(row, best.get(row.instance, 0)) for row in runs]),
            _mean([[(row.wall_time_s or 0, 1.0)] if row.is_valid and row.status in _SOLVED else [] for row in runs]),
        )
        for name, runs in of_solver.items()
    }


def _qualities(row: Result, best: float) -> Curve:
    peaks: Curve = [(each.wall_time_s, each.peak) for each in row.curve if each.peak is not None]
    if row.outcome == "plan" and row.peak is not None:
        peaks.append((row.wall_time_s or 0, row.peak))
    return [(at, best / peak if peak else 1.0) for at, peak in peaks]


def _mean(parts: Sequence[Curve]) -> Curve:
    """Return the mean of step functions that are 0 before their first point."""
    times = sorted({at for part in parts for at, _ in part})

    def value(part: Curve, at: float) -> float:
        k = bisect_right([time for time, _ in part], at)
        return part[k - 1][1] if k else 0.0

    return [(at, sum(value(part, at) for part in parts) / len(parts)) for at in times]


def draw_curves(results: Iterable[Result]) -> bytes:
    """Return an SVG picture with quality over time and solved runs over time, a line for each solver."""
    found = curves(results)
    times = [at for pair in found.values() for curve in pair for at, _ in curve]
    low, high = _decades(times)
    height = _TOP + _HEIGHT + 40 + _ROW * len(found)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * _WIDTH}" height="{height}" font-family="sans-serif"'
    lines = [f'{head} font-size="11">', f'<rect width="{2 * _WIDTH}" height="{height}" fill="white"/>']
    for k, title in enumerate(("quality over time (best known peak / peak)", "solved over time (share of runs)")):
        lines += [
            f'<g transform="translate({k * _WIDTH} 0)">',
            *_panel(title, [pair[k] for pair in found.values()], low, high),
        ]
        lines.append("</g>")
    for k, name in enumerate(found):
        y = _TOP + _HEIGHT + 40 + _ROW * k
        lines.append(f'<path d="M{_LEFT} {y - 4}h18" stroke-width="2" stroke="{_COLOURS[k % len(_COLOURS)]}"/>')
        lines.append(text_at(_LEFT + 24, y, name))
    return "\n".join([*lines, "</svg>\n"]).encode()


def _decades(times: Iterable[float]) -> tuple[int, int]:
    logs = [log10(max(at, _SHORTEST_S)) for at in times] or [0.0]
    low = int(min(logs) // 1)
    return low, max(low + 1, int(-(-max(logs) // 1)))


def _panel(title: str, rows: Sequence[Curve], low: int, high: int) -> Iterable[str]:
    """Yield the SVG elements of a panel: its axes, from 10^low to 10^high seconds, and a step line for each curve."""
    right, bottom = _WIDTH - 20, _TOP + _HEIGHT

    def across(at: float) -> float:
        return round(_LEFT + (right - _LEFT) * (log10(max(at, _SHORTEST_S)) - low) / (high - low), 2)

    def up(value: float) -> float:
        return round(bottom - _HEIGHT * value, 2)

    yield text_at(_LEFT, 18, title, 'font-size="13"')
    yield f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#888"/>'
    for k in range(_TICKS + 1):
        yield text_at(_LEFT - 6, up(k / _TICKS) + 4, f"{k / _TICKS:.1f}", 'text-anchor="end"')
    for power in range(low, high + 1):
        yield text_at(across(10.0**power), bottom + 14, f"{10.0**power:g} s", 'text-anchor="middle"')
    for k, curve in enumerate(rows):
        steps = "".join(f"H{across(at)}V{up(value)}" for at, value in curve)
        style = f'fill="none" stroke-width="2" stroke="{_COLOURS[k % len(_COLOURS)]}"'
        yield f'<path d="M{_LEFT} {bottom}{steps}H{right}" {style}/>'
