"""Plots of benchmark results over time: how good the plans of each solver are, and how many runs it has solved."""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor, log10

from memplan.api.reports.picture import text_at
from memplan.extensions.bench.results import Result, latest_rows

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _ROW = 460, 300, 50, 440, 30, 16
_COLOURS = ("#4878a8", "#c9742a", "#3a923a", "#b2182b", "#7a5ba6", "#8c6d31", "#d684bd", "#555555")
_TITLES = "quality over time (best known peak / peak)", "solved over time (share of runs)"
_SHORTEST_S = 1e-3
Curve = list[tuple[float, float]]


def curves(results: Iterable[Result]) -> dict[str, tuple[Curve, Curve]]:
    """Return, by solver, two curves of (seconds, value): the mean quality of its runs, and the share it has solved.

    The quality of a run is the best peak that is known of its problem, divided by the peak that the run has so far; 0
    without a plan. A run is solved once its plan is proved best, or it is proved that nothing fits.
    """
    rows = [row for row in latest_rows(results) if row.outcome != "skipped"]
    best: dict[str, float] = {}
    for row in rows:
        peaks = (peak for peak in (row.known_peak, row.peak if row.outcome == "plan" else None) if peak is not None)
        best[row.instance] = min([*peaks, best.get(row.instance, float("inf"))])
    runs = {row.solver: [each for each in rows if each.solver == row.solver] for row in rows}
    return {
        name: (_mean([_qualities(row, best[row.instance]) for row in mine]), _mean(list(map(_curve_of_solution, mine))))
        for name, mine in runs.items()
    }


def _qualities(row: Result, best: float) -> Curve:
    peaks: Curve = [(each.wall_time_s, each.peak) for each in row.curve if each.peak is not None]
    peaks += [(row.wall_time_s or 0, row.peak)] if row.outcome == "plan" and row.peak is not None else []
    return [(at, best / peak if peak else 1.0) for at, peak in peaks]


def _curve_of_solution(row: Result) -> Curve:
    return [(row.wall_time_s or 0, 1.0)] if row.is_valid and row.status in ("optimal", "infeasible") else []


def _mean(parts: Sequence[Curve]) -> Curve:
    """Return the mean of step functions that are 0 before their first point."""
    changes = sorted(
        (at, value - before)
        for part in parts
        for (at, value), before in zip(part, [0.0, *(value for _, value in part)], strict=False)
    )
    total, found = 0.0, dict[float, float]()
    for at, change in changes:
        total += change
        found[at] = round(total / len(parts), 9)
    return [*found.items()]


def draw_curves(results: Iterable[Result]) -> bytes:
    """Return an SVG picture with quality over time and solved runs over time, a line for each solver."""
    found = curves(results)
    logs = [log10(max(at, _SHORTEST_S)) for pair in found.values() for curve in pair for at, _ in curve] or [0.0]
    low, height = floor(min(logs)), _TOP + _HEIGHT + 40 + _ROW * len(found)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * _WIDTH}" height="{height}" font-family="sans-serif"'
    lines = [f'{head} font-size="11">', f'<rect width="{2 * _WIDTH}" height="{height}" fill="white"/>']
    for k, title in enumerate(_TITLES):
        panel = _panel_elements(title, [pair[k] for pair in found.values()], low, max(low + 1, ceil(max(logs))))
        lines += [f'<g transform="translate({k * _WIDTH} 0)">', *panel, "</g>"]
    for k, name in enumerate(found):
        y = _TOP + _HEIGHT + 40 + _ROW * k
        lines += [f'<path d="M{_LEFT} {y - 4}h18" {_stroke(k)}/>', text_at(_LEFT + 24, y, name)]
    return "\n".join([*lines, "</svg>\n"]).encode()


def _stroke(k: int) -> str:
    return f'fill="none" stroke-width="2" stroke="{_COLOURS[k % len(_COLOURS)]}"'


def _panel_elements(title: str, rows: Sequence[Curve], low: int, high: int) -> Iterator[str]:
    """Yield the SVG elements of a panel: its axes, from 10^low to 10^high seconds, and a step line for each curve."""
    bottom, width = _TOP + _HEIGHT, (_RIGHT - _LEFT) / (high - low)
    yield text_at(_LEFT, 18, title, 'font-size="13"')
    yield f'<path d="M{_LEFT} {_TOP}V{bottom}H{_RIGHT}" fill="none" stroke="#888"/>'
    for k in range(6):
        yield text_at(_LEFT - 6, bottom - _HEIGHT * k / 5 + 4, f"{k / 5:.1f}", 'text-anchor="end"')
    for power in range(low, high + 1):
        yield text_at(_LEFT + width * (power - low), bottom + 14, f"{10.0**power:g} s", 'text-anchor="middle"')
    for k, curve in enumerate(rows):
        places = ((width * (log10(max(at, _SHORTEST_S)) - low), _HEIGHT * value) for at, value in curve)
        steps = "".join(f"H{_LEFT + across:.2f}V{bottom - up:.2f}" for across, up in places)
        yield f'<path d="M{_LEFT} {bottom}{steps}H{_RIGHT}" {_stroke(k)}/>'
