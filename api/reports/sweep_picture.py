"""A picture of a sweep over cascades, one SVG: the least peak, and what it costs, over the values of one option."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

from memplan.api.reports.cascade_picture import text_at
from memplan.capabilities.cascade.sweep import SweptPoint, SweptRow, value_text

_WIDTH, _CHART, _LEFT, _RIGHT, _GAP, _LINE = 900, 200, 110, 40, 56, 16
_COLOURS = ("#4878a8", "#c9742a", "#6a9f58", "#b2182b", "#7b5ea7", "#888888")
_Series = Mapping[str, Sequence[SweptPoint | None]]


def sweep_picture(name: str, rows: Sequence[SweptRow]) -> str:
    """Return the picture: over the values of the first option a line for each combination of the others.

    The upper chart has the least peak of each combination, the lower one the multiplications of that point.
    """
    option, *others = rows[0].values
    ticks = list(dict.fromkeys(value_text(row.values[option]) for row in rows))
    series: dict[str, list[SweptPoint | None]] = {}
    for row in rows:
        label = ", ".join(f"{other} {value_text(row.values[other])}" for other in others)
        line = series.setdefault(label, [None] * len(ticks))
        line[ticks.index(value_text(row.values[option]))] = row.points[-1] if row.points else None
    body = [text_at(_LEFT, 20, f"{name or 'cascades'}: the least peak, and its multiplications, over {option}")]
    for k, label in enumerate(series if others else ()):
        y = 38 + _LINE * k
        body.append(f'<rect x="{_LEFT}" y="{y - 9}" width="10" height="10" fill="{_colour(k)}"/>')
        body.append(text_at(_LEFT + 16, y, label))
    top = 40 + _LINE * (len(series) if others else 0)
    body += _chart(top, ticks, series, lambda point: point.peak, lambda peak: f"{peak:,.0f} bytes")
    body += _chart(
        top + _CHART + _GAP,
        ticks,
        series,
        lambda point: 100 * (point.macs_ratio - 1),
        lambda share: f"{share:+.1f} % MACs",
    )
    height = top + 2 * (_CHART + _GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="11">\n<rect width="{_WIDTH}" height="{height}" fill="white"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _chart(
    top: int,
    ticks: Sequence[str],
    series: _Series,
    value: Callable[[SweptPoint], float],
    written: Callable[[float], str],
) -> Iterator[str]:
    """Yield a chart whose values begin at 0: its axes, and the lines with a mark for each value."""
    seen = [value(point) for line in series.values() for point in line if point is not None]
    low, high = min([0.0, *seen]), max([1.0, *seen])
    bottom, right, wide = top + _CHART, _WIDTH - _RIGHT, max(1, len(ticks) - 1)
    yield f'<path d="M{_LEFT} {top}V{bottom}H{right}" fill="none" stroke="#888"/>'
    for mark in (low, high):
        yield text_at(_LEFT - 8, _y(mark, low, high, bottom) + 4, written(mark), "end")
    xs = [_LEFT + 20 + (right - _LEFT - 40) * k / wide for k in range(len(ticks))]
    for x, tick in zip(xs, ticks, strict=True):
        yield text_at(round(x), bottom + 16, tick, "middle")
    for k, (label, line) in enumerate(series.items()):
        at = [
            (round(x, 1), _y(value(point), low, high, bottom), value(point), tick)
            for x, point, tick in zip(xs, line, ticks, strict=True)
            if point is not None
        ]
        places = " ".join(f"{x},{y}" for x, y, _, _ in at)
        yield f'<polyline points="{places}" fill="none" stroke="{_colour(k)}"/>'
        for x, y, found, tick in at:
            said = escape(f"{tick}{', ' if label else ''}{label}: {written(found)}")
            yield f'<circle cx="{x}" cy="{y}" r="4" fill="{_colour(k)}"><title>{said}</title></circle>'


def _y(value: float, low: float, high: float, bottom: int) -> int:
    return round(bottom - _CHART * (value - low) / (high - low))


def _colour(k: int) -> str:
    return _COLOURS[k % len(_COLOURS)]
