"""A plan as a picture: address over time, one rectangle for each lifetime, the bound and the fullest time as lines.

Colours tell what a buffer has to do with the peak: alive at the fullest time, ending above the bound, or neither. In an
SVG each rectangle has an id, `buffer-ROW-LIFETIME`, and a title that browsers show under the pointer.
"""

from __future__ import annotations

import io
import re
import warnings
from html import escape
from math import ceil, log2
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from memplan.capabilities.sizes import size_text
from memplan.planner.errors import OptionError, shown
from memplan.planner.errors.extras import require
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.peak_growth import LiveSet, occupancies

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("svg", "png", "pdf")
_WIDTH_IN, _HEIGHT_IN = 9.0, 4.5
_STYLE = {
    "svg.hashsalt": "memplan",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9,
    "axes.formatter.limits": (-9, 9),
}
_LABELLED_AT_MOST = 60
_LARGEST = 10
"""So many of the largest buffers of a pool are labelled, however many there are."""
_VECTORS_AT_MOST = 2_000
_COLOURS = {"above the bound": "#b2182b", "at the fullest time": "#c9742a", "at other times": "#4878a8"}
_CHARACTER_PT, _LINE_PT = 4.6, 9.0
_LONGEST_LABEL = 24
_BESIDE = {"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.6}


def format_of_name(name: str) -> str:
    """Return the format that the name of a picture asks for; raises OptionError."""
    require("picture:", ("matplotlib",))
    suffix = name.rpartition(".")[2].lower()
    if suffix not in FORMATS:
        raise OptionError(f"picture: must end in {', '.join('.' + known for known in FORMATS)}, got {shown(name)}")
    return suffix


def draw(problem: Problem, plan: Plan, picture_format: str) -> bytes:
    """Return a picture with one panel for each pool; the same bytes for the same plan.

    A buffer that has no lifetimes spans all of time. Of more than some thousand rectangles, pixels are drawn.
    """
    require("picture:", ("matplotlib",))
    # Not at the top: it takes longer to import than most plans take to make.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a label may be in any script
        figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN * len(problem.pools)), layout="constrained")
        panels = figure.subplots(len(problem.pools), 1, squeeze=False, sharex=True)[:, 0]
        boxes, filled = _boxes(problem, plan), occupancies(problem, plan) if len(plan.placements.ids) else {}
        for q, (pool, axes) in enumerate(zip(problem.pools, panels, strict=True)):
            live = filled[pool.name].live_set if pool.name in filled else LiveSet(None, 0, ())
            _draw_pool(axes, pool, plan, boxes[boxes["pool"] == q], problem, live)
        panels[-1].set_xlabel("time")
        data = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(picture_format)
        figure.savefig(data, format=picture_format, dpi=150, metadata=metadata)
    return _titled(data.getvalue(), problem, boxes) if picture_format == "svg" else data.getvalue()


_BOX = np.dtype(
    [("row", int), ("lifetime", int), ("pool", int), ("start", float), ("end", float), ("low", float), ("high", float)]
)


def _boxes(problem: Problem, plan: Plan) -> npt.NDArray[np.void]:
    """Return one box for each lifetime of each placed buffer."""
    table, placements = problem.buffers, plan.placements
    times = np.concatenate((table.start, table.end)) if len(table.start) else np.array([0, 1])
    span = (int(times.min()), int(times.max()))
    boxes = []
    for name, q, offset in zip(placements.ids, placements.pool.tolist(), placements.offset.tolist(), strict=True):
        i = problem.index[name]
        pool = problem.pool_index[placements.pool_names[q]]
        lifetimes = slice(int(table.first[i]), int(table.first[i + 1]))
        intervals = list(zip(table.start[lifetimes].tolist(), table.end[lifetimes].tolist(), strict=True)) or [span]
        top = offset + int(table.size[i])
        boxes += [(i, k, pool, start, end, offset, top) for k, (start, end) in enumerate(intervals)]
    return np.array(boxes, dtype=_BOX)


def _draw_pool(
    axes: Axes, pool: Pool, plan: Plan, boxes: npt.NDArray[np.void], problem: Problem, live: LiveSet
) -> None:
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    use = next((use for use in plan.pools if use.name == pool.name), None)
    bound = None if use is None else use.lower_bound
    alive = np.isin(boxes["row"], [problem.index[name] for name in live.buffers])
    part = np.where(alive, 1, 2) if bound is None else np.where(boxes["high"] > bound, 0, np.where(alive, 1, 2))
    _rectangles(axes, boxes, part)
    _labels(axes, boxes, problem)
    if live.time is not None and len(boxes):
        label = f"fullest at {live.time}: {live.bytes:,} alive"
        axes.axvline(live.time, color="#333333", linestyle=":", linewidth=1, label=label)
    for offset, size in pool.reserved:
        axes.axhspan(offset, offset + size, facecolor="none", edgecolor="#999999", hatch="///", linewidth=0)
    highest = boxes["high"].max(initial=1.0)
    if bound is not None:
        highest = max(highest, bound)
        axes.axhline(bound, color="black", linestyle="--", linewidth=1, label=f"lower bound {bound:,}")
    if pool.size is not None and pool.size <= 2 * highest:
        highest = max(highest, pool.size)
        axes.axhline(pool.size, color="#b00020", linewidth=1, label=f"size {pool.size:,}")
    axes.set_ylim(0, 1.03 * highest)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylabel("offset")
    axes.yaxis.set_major_locator(MultipleLocator(2 ** ceil(log2(highest / 6))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(int(value))))
    axes.set_title(_title(pool, None if use is None else use.used, plan), loc="left", fontsize=10)
    lines = axes.get_legend_handles_labels()[0]
    colours = [Patch(facecolor=colour, label=told) for k, (told, colour) in enumerate(_COLOURS.items()) if k in part]
    if lines or colours:
        axes.legend(handles=[*lines, *colours], loc="upper left", bbox_to_anchor=(0, -0.12), ncols=3, frameon=False)


def _title(pool: Pool, used: int | None, plan: Plan) -> str:
    address = f" at {pool.base_address:#x}" if pool.base_address else ""
    peak = "" if used is None else f": peak {used:,} bytes ({size_text(used)})"
    return f"{_printable(pool.name)}{address}{peak}, {plan.status}"


def _printable(text: str) -> str:
    """Replace what is no character on paper, and may not stand in XML."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _rectangles(axes: Axes, boxes: npt.NDArray[np.void], part: npt.NDArray[np.int64]) -> None:
    """Draw the boxes in the colour of their part in the peak; many of them as pixels, a few as shapes with ids."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Rectangle

    colours = list(_COLOURS.values())
    if len(boxes) > _VECTORS_AT_MOST:
        x, y = (boxes["start"], boxes["end"]), (boxes["low"], boxes["high"])
        corners = np.stack([np.stack((x[i], y[j]), axis=1) for i, j in ((0, 0), (0, 1), (1, 1), (1, 0))], axis=1)
        faces = [colours[k] for k in part.tolist()]
        axes.add_collection(PolyCollection(list(corners), facecolors=faces, linewidths=0, rasterized=True))
    else:
        for box, k in zip(boxes, part.tolist(), strict=True):
            size = box["end"] - box["start"], box["high"] - box["low"]
            shape = Rectangle((box["start"], box["low"]), *size, facecolor=colours[k], edgecolor="white", linewidth=0.4)
            shape.set_gid(_box_id(box))
            axes.add_patch(shape)
    if len(boxes):
        axes.set_xlim(boxes["start"].min(), boxes["end"].max())


def _box_id(box: np.void) -> str:
    return f"buffer-{box['row']}-{box['lifetime']}"


def _labels(axes: Axes, boxes: npt.NDArray[np.void], problem: Problem) -> None:
    """Write ids into the rectangles with room for them; shortened, or beside them, for the largest of a pool."""
    width, height = np.ptp(axes.get_xlim()), boxes["high"].max(initial=1.0)
    largest = set(np.lexsort((boxes["start"] - boxes["end"], boxes["low"] - boxes["high"]))[:_LARGEST].tolist())
    for k in range(len(boxes)) if len(boxes) <= _LABELLED_AT_MOST else sorted(largest):
        box = boxes[k]
        text = _printable(str(problem.buffers.ids[int(box["row"])]))
        across = (box["end"] - box["start"]) / width * _WIDTH_IN * 72 * 0.8
        up = (box["high"] - box["low"]) / height * _HEIGHT_IN * 72 * 0.8
        is_turned = up > across and up >= _CHARACTER_PT * 4
        room = int((up if is_turned else across) / _CHARACTER_PT)
        fits = min(up, across) >= _LINE_PT and room >= (4 if k in largest else len(text))
        if not fits and k not in largest:
            continue
        text = shortened(text, room if fits else _LONGEST_LABEL)
        middle = ((box["start"] + box["end"]) / 2, (box["low"] + box["high"]) / 2)
        style = {"color": "white"} if fits else {"color": "black", "bbox": _BESIDE}
        axes.annotate(text, middle, ha="center", va="center", fontsize=7, rotation=90 if is_turned else 0, **style)


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters (at least 4), with an ellipsis in its middle where it was longer."""
    head = (most - 1) // 2
    return text if len(text) <= most else f"{text[:head]}\N{HORIZONTAL ELLIPSIS}{text[head + 1 - most :]}"


def _titled(svg: bytes, problem: Problem, boxes: npt.NDArray[np.void]) -> bytes:
    """Give each rectangle of an SVG a title: name, bytes, life and offset."""
    titles = {}
    for box in boxes:
        name = _printable(str(problem.buffers.ids[int(box["row"])]))
        size = int(problem.buffers.size[box["row"]])
        life = f"alive [{box['start']:.0f}, {box['end']:.0f})"
        titles[_box_id(box)] = f"{name}: {size:,} bytes, {life}, offset {box['low']:,.0f}"
    return re.sub(
        rb'<g id="(buffer-\d+-\d+)">',
        lambda found: found[0] + f"<title>{escape(titles[found[1].decode()])}</title>".encode(),
        svg,
    )
