"""A plan as an SVG picture: addresses over time, a rectangle per lifetime, the lower bound and the fullest time.

All pools share the scales of bytes and time; a panel is as high as its pool's highest buffer, bound or size. Colours
relate a buffer to the peak: alive at the fullest time, ending above the bound, or neither. Each rectangle has the id
`buffer-ROW-LIFETIME` and a title that browsers show under the pointer. Arrows with the ids `copy-NUMBER` are the copies
of buffers that move.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, log2

import numpy as np

from memplan.planner.errors import shorten
from memplan.planner.model.moving import as_pieces, copies_between_pieces
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.model.sizes import size_text
from memplan.planner.verify.peak_growth import LiveSet, occupancies

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 900, 80, 20, 30, 50
_PLOT, _LEAST_PLOT = 340, 40
"""In pixels, the mean height of the pools' plots, and the minimum height of a plot."""
_HEADROOM = 1.03
_TICKS = 8
"""The approximate maximum number of ticks on the time axis."""
_LABELLED_AT_MOST = 60
_LARGEST = 10
"""How many of a pool's largest buffers always get a label."""
_COLOURS = {"above the bound": "#b2182b", "at the fullest time": "#c9742a", "at other times": "#4878a8"}
_CHARACTER, _LINE, _ROW, _KEY = 6, 12, 16, 22
"""In pixels, the width of a character, the height of a line, of a row of the legend, and the width of its signs."""
_LONGEST_LABEL = 24
_DARK = "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(0.9) hue-rotate(180deg) } }</style>"
"""The picture's dark form, for readers who prefer one; hues stay as they are."""
_ELLIPSIS, _LEAST_LABEL = "\N{HORIZONTAL ELLIPSIS}", 12
"""What replaces the middle of a long label, and the characters below which a label is whole or left out."""
_INSIDE = 'fill="white"'
_BESIDE = 'fill="black" stroke="white" stroke-width="3" paint-order="stroke"'
"""Styles of labels: inside a rectangle, and across rectangles, where the text has a white outline."""


@dataclass(frozen=True)
class _Box:
    """The rectangle of one lifetime of a placed buffer: from `start` to `end`, and from `low` to `high` in bytes.

    `row` is the buffer's position in the problem, and `lifetime` the lifetime's number within the buffer.
    """

    row: int
    lifetime: int
    start: int
    end: int
    low: int
    high: int


def draw(problem: Problem, plan: Plan) -> bytes:
    """Return the SVG picture of a plan, with one panel per pool; equal plans give identical bytes.

    A buffer without lifetimes is drawn over the whole time axis. Pieces of a buffer that moves are drawn one by one.
    """
    copies = copies_between_pieces(plan)
    problem, plan = as_pieces(problem, plan)
    times = np.concatenate((problem.buffers.start, problem.buffers.end))
    span = (int(times.min()), int(times.max())) if len(times) else (0, 1)
    boxes = _boxes_by_pool(problem, plan, span)
    filled = occupancies(problem, plan) if len(plan.placements.ids) else {}
    panels = []
    for q, pool in enumerate(problem.pools):
        live = filled[pool.name].live_set if pool.name in filled else LiveSet(None, 0, ())
        panels.append(_Panel(problem, plan, pool, boxes[q], live, span))
    scale = _PLOT * max(1, sum(map(bool, boxes))) / (_HEADROOM * sum(panel.top for panel in panels))
    for panel in panels:
        panel.scale = scale
    height = sum(panel.height for panel in panels)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif"'
    lines = [f'{head} font-size="11">{_DARK}', f'<rect width="{_WIDTH}" height="{height}" fill="white"/>']
    above, tops = 0, list[int]()
    for panel in panels:
        lines.append(f'<g transform="translate(0 {above})">')
        lines += panel.lines()
        lines.append("</g>")
        tops.append(above)
        above += panel.height
    middles = {
        box.row: top + (panel.y(box.low) + panel.y(box.high)) / 2
        for panel, top in zip(panels, tops, strict=True)
        for box in panel.boxes
    }
    for k, (copy, read, written) in enumerate(copies):
        said = f"{copy.id}: {copy.bytes:,} bytes copied from {copy.source} to {copy.to} at time {copy.time}"
        lines.append(_arrow(f"copy-{k}", said, panels[0].x(copy.time + 0.5), middles[read], middles[written]))
    return "\n".join([*lines, "</svg>\n"]).encode()


def _arrow(name: str, said: str, x: float, begin: float, end: float) -> str:
    tail = 5 if begin > end else -5
    path = f"M{x} {begin:.2f}V{end:.2f}m-3 {tail}l3 {-tail}l3 {tail}"
    return f'<g id="{name}"><title>{_escape(said)}</title><path d="{path}" fill="none" stroke="#222"/></g>'


def _boxes_by_pool(problem: Problem, plan: Plan, span: tuple[int, int]) -> list[list[_Box]]:
    """Return, for each pool, one box per lifetime of each buffer that the plan places in the pool."""
    table, placements = problem.buffers, plan.placements
    boxes: list[list[_Box]] = [[] for _ in problem.pools]
    for name, q, offset in zip(placements.ids, placements.pool.tolist(), placements.offset.tolist(), strict=True):
        i = problem.index[name]
        lifetimes = slice(int(table.first[i]), int(table.first[i + 1]))
        intervals = list(zip(table.start[lifetimes].tolist(), table.end[lifetimes].tolist(), strict=True)) or [span]
        pool = boxes[problem.pool_index[placements.pool_names[q]]]
        pool += [_Box(i, k, *times, offset, offset + int(table.size[i])) for k, times in enumerate(intervals)]
    return boxes


class _Panel:
    """The part of the picture that shows one pool; `scale` is the number of pixels per byte, set before drawing."""

    scale: float

    def __init__(
        self, problem: Problem, plan: Plan, pool: Pool, boxes: Sequence[_Box], live: LiveSet, span: tuple[int, int]
    ) -> None:
        """Choose the panel's highest offset and the legend's places, from the pool's boxes and lower bound."""
        self.problem, self.plan, self.pool, self.boxes, self.live, self.span = problem, plan, pool, boxes, live, span
        self.use = next((use for use in plan.pools if use.name == pool.name), None)
        self.bound = None if self.use is None else self.use.lower_bound
        highest = max([1, self.bound or 0, *(box.high for box in boxes)])
        self.has_size = pool.size is not None and pool.size <= 2 * highest
        self.top = max(highest, pool.size or 0) if self.has_size else highest
        self.alive = {problem.index[name] for name in live.buffers}
        self.legend = list(self._legend_entries(self.alive))
        self.places = _legend_places([text for _, _, text in self.legend])
        # The bottom margin has room for one row of the legend, so each further row increases the margin.
        self.margin = _BOTTOM + _ROW * max((row for _, row in self.places), default=0)

    @property
    def height(self) -> int:
        """The height of the panel in pixels, including its axes and legend."""
        return _TOP + max(_LEAST_PLOT, round(_HEADROOM * self.top * self.scale)) + self.margin

    def x(self, time: float) -> float:
        """Return the x coordinate of a time, in pixels from the left edge."""
        first, last = self.span
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * (time - first) / max(1, last - first), 2)

    def y(self, offset: int) -> float:
        """Return the y coordinate of an offset, in pixels from the top edge."""
        return round(self.height - self.margin - self.scale * offset, 2)

    def lines(self) -> Iterator[str]:
        """Yield the panel's SVG elements in drawing order, from back to front."""
        for offset, size in self.pool.reserved:
            yield self._rectangle_element(self.span[0], offset, self.span[1], offset + size, 'fill="#dddddd"')
        for box in self.boxes:
            style = f'fill="{_COLOURS[self._colour_name(box, self.alive)]}" stroke="white" stroke-width="0.4"'
            shape = self._rectangle_element(box.start, box.low, box.end, box.high, style)
            yield f'<g id="buffer-{box.row}-{box.lifetime}"><title>{self._tooltip_text(box)}</title>{shape}</g>'
        yield from self._label_elements()
        yield from self._axis_elements()
        yield from self._mark_elements()

    def _colour_name(self, box: _Box, alive: set[int]) -> str:
        if self.bound is not None and box.high > self.bound:
            return "above the bound"
        return "at the fullest time" if box.row in alive else "at other times"

    def _rectangle_element(self, start: int, low: int, end: int, high: int, style: str) -> str:
        x, y = self.x(start), self.y(high)
        return f'<rect x="{x}" y="{y}" width="{self.x(end) - x:.2f}" height="{self.y(low) - y:.2f}" {style}/>'

    def _tooltip_text(self, box: _Box) -> str:
        name, size = str(self.problem.buffers.ids[box.row]), int(self.problem.buffers.size[box.row])
        return _escape(f"{name}: {size:,} bytes, alive [{box.start}, {box.end}), offset {box.low:,}")

    def _label_elements(self) -> Iterator[str]:
        """Yield the labels that fit inside their boxes, then labels next to the largest of the other boxes.

        A label next to a box is left out if it would cover another label, or a box with an inner label.
        """
        areas = sorted(range(len(self.boxes)), key=lambda k: self.boxes[k].low - self.boxes[k].high)
        largest, taken = areas[:_LARGEST], list[tuple[float, float, float, float]]()
        wanted = range(len(self.boxes)) if len(self.boxes) <= _LABELLED_AT_MOST else sorted(largest)
        inside = {k: found for k in wanted if (found := self._label_inside(self.boxes[k], k in largest)) is not None}
        for k, label in inside.items():
            box = self.boxes[k]
            taken.append((self.x(box.start), self.y(box.high), self.x(box.end), self.y(box.low)))
            yield label
        for k in (k for k in largest if k not in inside):
            label, (left, top, right, bottom) = self._label_beside(self.boxes[k])
            if not any(a < right and left < c and b < bottom and top < d for a, b, c, d in taken):
                taken.append((left, top, right, bottom))
                yield label

    def _label_inside(self, box: _Box, is_large: bool) -> str | None:
        """Return a label inside of a box; None if the box is too small."""
        text = str(self.problem.buffers.ids[box.row])
        across, up = self.x(box.end) - self.x(box.start), self.y(box.low) - self.y(box.high)
        is_turned = up > across and up >= 4 * _CHARACTER
        room = int((up if is_turned else across) / _CHARACTER)
        if min(up, across) < _LINE or room < (min(_LEAST_LABEL, len(text)) if is_large else len(text)):
            return None
        x, y = (self.x(box.start) + self.x(box.end)) / 2, (self.y(box.low) + self.y(box.high)) / 2 + 3
        turned = f' transform="rotate(-90 {x:.2f} {y:.2f})"' if is_turned else ""
        return text_at(x, y, shorten(text, room, _ELLIPSIS), f'text-anchor="middle" font-size="10" {_INSIDE}{turned}')

    def _label_beside(self, box: _Box) -> tuple[str, tuple[float, float, float, float]]:
        """Return a label centred on a wide box or next to a narrow one, and its four edges in pixels."""
        label = shorten(str(self.problem.buffers.ids[box.row]), _LONGEST_LABEL, _ELLIPSIS)
        x, y = (self.x(box.start) + self.x(box.end)) / 2, (self.y(box.low) + self.y(box.high)) / 2 + 3
        anchor, width = "middle", _CHARACTER * len(label)
        if self.x(box.end) - self.x(box.start) < width:
            # A label wider than its box would cover other boxes, so draw the label beside the box.
            is_behind = self.x(box.end) + width <= _WIDTH
            anchor, x = ("start", self.x(box.end) + 3) if is_behind else ("end", self.x(box.start) - 3)
        left = x - width * ("start", "middle", "end").index(anchor) / 2
        element = text_at(x, y, label, f'text-anchor="{anchor}" font-size="10" {_BESIDE}')
        return element, (left, y - 3 - _LINE / 2, left + width, y - 3 + _LINE / 2)

    def _axis_elements(self) -> Iterator[str]:
        """Yield the panel's title, its axes and their labels."""
        right, bottom = _WIDTH - _RIGHT, self.height - self.margin
        address = f" at {self.pool.base_address:#x}" if self.pool.base_address else ""
        used = None if self.use is None else self.use.used
        peak = "" if used is None else f": peak {used:,} bytes ({size_text(used)})"
        yield text_at(_LEFT, 18, f"{self.pool.name}{address}{peak}, {self.plan.status}", 'font-size="13"')
        yield f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#888"/>'
        least = 2 * _LINE / self.scale  # Labels must not touch, so leave at least this many bytes between two of them.
        step = 2 ** max(0, ceil(log2(max(self.top / 6, least))))
        for offset in range(0, self.top + 1, step):
            yield text_at(_LEFT - 6, self.y(offset) + 4, size_text(offset), 'text-anchor="end"')
        first, last = self.span
        every = next(n * 10**k for k in range(20) for n in (1, 2, 5) if n * 10**k * _TICKS >= last - first)
        yield text_at(_LEFT - 6, bottom + 14, "time", 'text-anchor="end"')
        for time in range(-(-first // every) * every, last + 1, every):
            x = self.x(time)
            anchor = "end" if x > right - 2 * _CHARACTER else "middle"
            yield f'<path d="M{x} {bottom}v4" stroke="#888"/>'
            yield text_at(x, bottom + 14, f"{time:,}", f'text-anchor="{anchor}"')

    def _mark_elements(self) -> Iterator[str]:
        """Yield the lines for the bound, the pool's size and the fullest time, and the legend."""
        right, paths = _WIDTH - _RIGHT, dict[str, str]()
        if self.live.time is not None:
            paths["fullest"] = f"M{self.x(self.live.time)} {_TOP}V{self.height - self.margin}"
        if self.bound is not None:
            paths["bound"] = f"M{_LEFT} {self.y(self.bound)}H{right}"
        if self.pool.size is not None:
            paths["size"] = f"M{_LEFT} {self.y(self.pool.size) if self.has_size else _TOP}H{right}"
        for (name, style, text), (x, row) in zip(self.legend, self.places, strict=True):
            y = self.height - self.margin + _BOTTOM - 14 + _ROW * row
            if name in paths:
                yield f'<path d="{paths[name]}" fill="none" {style}/><path d="M{x} {y - 4}h18" fill="none" {style}/>'
            else:
                yield f'<rect x="{x}" y="{y - 9}" width="10" height="10" {style}/>'
            yield text_at(x + _KEY, y, text)

    def _legend_entries(self, alive: set[int]) -> Iterator[tuple[str, str, str]]:
        """Yield the name, the style and the text of each entry of the legend."""
        if self.live.time is not None and self.boxes:
            text = f"fullest at {self.live.time}: {self.live.bytes:,} alive"
            yield "fullest", 'stroke="#333" stroke-dasharray="2 3"', text
        if self.bound is not None:
            yield "bound", 'stroke="black" stroke-dasharray="6 3"', f"lower bound {self.bound:,}"
        if self.pool.size is not None:
            is_far = self.boxes and not self.has_size
            above = f" ({self.pool.size / self.top:,.1f} times what is drawn)" if is_far else ""
            dashes = "" if self.has_size else ' stroke-dasharray="1 5"'
            yield "size", f'stroke="#b00020"{dashes}', f"size {self.pool.size:,}{above}"
        used = {self._colour_name(box, alive) for box in self.boxes}
        for colour in (name for name in _COLOURS if name in used):
            yield colour, f'fill="{_COLOURS[colour]}"', colour


def _legend_places(texts: Sequence[str]) -> list[tuple[float, int]]:
    places, x, row = list[tuple[float, int]](), _LEFT, 0
    for text in texts:
        width = _KEY + _CHARACTER * len(text)
        if x > _LEFT and x + width > _WIDTH:
            x, row = _LEFT, row + 1
        places.append((x, row))
        x += width + 12
    return places


def text_at(x: float, y: float, text: str, style: str = "") -> str:
    """Return an SVG text element that starts at the point (x, y), unless `style` sets another anchor."""
    return f'<text x="{x:.2f}" y="{y:.2f}" {style}>{_escape(text)}</text>'


def _escape(text: str) -> str:
    return escape("".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text))
