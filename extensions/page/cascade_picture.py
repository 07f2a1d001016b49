"""The SVG picture of a cascade: the Pareto front of its points, and the stripes of one region of fused operations."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from memplan.extensions.cascade.answer import CascadeAnswer, CascadePoint
from memplan.extensions.cascade.regions.regions import CascadeRegion, Span

_WIDTH, _FRONT, _LANE, _LEFT, _GAP = 900, 260, 44, 150, 40
_MOST_STEPS, _MOST_LANES = 400, 40
_COLOURS = {"roll": "#4878a8", "recompute": "#c9742a", "whole": "#6a9f58"}


def picture(result: CascadeAnswer) -> bytes:
    """Return the picture as SVG: the Pareto front of all points, and below it the largest region of the last point.

    The lower part has a lane for each operation of the region, with the first row of the operation's output at the top.
    A rectangle shows the rows computed in one step: blue if they are kept, orange if they are recomputed, green if the
    whole tensor is kept.
    """
    regions = [region for region in (result.points[-1].regions if result.points else ()) if region.kind != "whole"]
    longest = max(regions, key=lambda region: region.end - region.first_operation, default=None)
    lanes = 0 if longest is None else min(_MOST_LANES, longest.end - longest.first_operation)
    height = _FRONT + _GAP + (lanes * _LANE + _GAP if lanes else 0)
    body = list(_front_elements(result))
    if longest is not None:
        body += _stripe_elements(result.points[-1], longest, lanes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif" '
        f'font-size="11">\n<rect width="{_WIDTH}" height="{height}" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    ).encode()


def _front_elements(result: CascadeAnswer) -> Iterator[str]:
    """Yield the SVG elements of the front: the x axis is the peak, the y axis the multiplications.

    Peaks are in bytes, and multiplications are relative to those of running layer by layer.
    """
    seen = [(point.peak, point.macs_ratio) for point in result.points]
    most = max([result.layers_peak, 1, *(peak for peak, _ in seen)])
    low, high = min([1.0, *(ratio for _, ratio in seen)]), max([1.01, *(ratio for _, ratio in seen)])
    top, bottom, right = 30, _FRONT - 30, _WIDTH - 60

    def point_at(peak: int, ratio: float) -> Span:
        x = _LEFT + (right - _LEFT) * peak / most
        return round(x), round(bottom - (bottom - top) * (ratio - low) / (high - low))

    yield text_at(_LEFT, 18, f"{result.name or 'cascades'}: peak and multiplications")
    yield f'<path d="M{_LEFT} {top}V{bottom}H{right}" fill="none" stroke="#888"/>'
    for ratio in (low, high):
        yield text_at(_LEFT - 8, point_at(0, ratio)[1] + 4, f"{100 * (ratio - 1):+.1f} % MACs", "end")
    yield text_at(_LEFT, bottom + 16, "0", "middle")
    x, y = point_at(result.layers_peak, 1.0)
    yield f'<rect x="{x - 4}" y="{y - 4}" width="8" height="8" fill="#b2182b">{_hint(result.layers_peak, 1.0)}</rect>'
    yield text_at(min(x, right), bottom + 16, f"layer by layer: {result.layers_peak:,} bytes", "end")
    if seen:
        places = " ".join("{},{}".format(*point_at(*one)) for one in seen)
        yield f'<polyline points="{places}" fill="none" stroke="#4878a8"/>'
    for one in seen:
        x, y = point_at(*one)
        yield f'<circle cx="{x}" cy="{y}" r="4" fill="#4878a8">{_hint(*one)}</circle>'


def _stripe_elements(point: CascadePoint, region: CascadeRegion, lanes: int) -> Iterator[str]:
    """Yield the SVG elements of a region's stripes: one lane per operation, and one column per step."""
    graph, start = point.cascade.graph, _FRONT + _GAP
    axis = "channels" if region.kind == "channels" else "rows" if region.steps[0] > region.steps[1] else "columns"
    spans = {v: getattr(made, axis) for v, made in region.ranges.items()}
    steps = len(spans[region.end - 1])
    shown = range(0, steps, -(-steps // _MOST_STEPS))
    wide = (_WIDTH - _LEFT - 60) / max(1, len(shown))
    text = f"{region.kind}, {steps} steps along {axis}"
    yield text_at(
        _LEFT, start - 12, f"operations {region.first_operation} to {region.end - 1} at {point.peak:,} bytes: {text}"
    )
    for lane, v in enumerate(range(region.first_operation, region.first_operation + lanes)):
        top, row = start + lane * _LANE, graph.operations[v]
        hold = region.buffer_by_tensor.get(row.outputs[0])
        colour = _COLOURS["whole" if hold is None else hold.mode]
        size = max([1, *(end for _, end in spans[v])])
        yield text_at(_LEFT - 8, top + _LANE // 2, f"{v}: {row.kind or 'operation'}"[:24], "end")
        yield f'<rect x="{_LEFT}" y="{top}" width="{_WIDTH - _LEFT - 60}" height="{_LANE - 6}" fill="#f2f2f2"/>'
        for k, step in enumerate(shown):
            first, end = spans[v][step]
            if first < end:
                y, high = top + (_LANE - 6) * first / size, max(1.0, (_LANE - 6) * (end - first) / size)
                yield (
                    f'<rect x="{_LEFT + k * wide:.1f}" y="{y:.1f}" width="{max(wide, 0.5):.1f}" height="{high:.1f}" '
                    f'fill="{colour}"><title>step {step}: {axis} {first} to {end - 1}</title></rect>'
                )


def text_at(x: int, y: int, said: str, anchor: str = "start") -> str:
    """Return an SVG text element; its start, middle or end (`anchor`) is at (x, y)."""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(said)}</text>'


def _hint(peak: int, ratio: float) -> str:
    return f"<title>{peak:,} bytes at {100 * (ratio - 1):+.2f} % MACs</title>"
