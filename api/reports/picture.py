"""A plan as a picture: address over time, one rectangle for each lifetime, the bound as a line."""

from __future__ import annotations

import io
import warnings
from math import ceil, log2
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from memplan.api.reports.sizes import size_text
from memplan.planner.errors import OptionError, shown
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Pool, Problem

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
_VECTORS_AT_MOST = 2_000
_COLOURS = ("#4878a8", "#e49444", "#6a9f58", "#d1615d", "#85b6b2", "#b8860b", "#a87c9f", "#967662")


def format_of_name(name: str) -> str:
    """Return the format that the name of a picture asks for; raises OptionError."""
    suffix = name.rpartition(".")[2].lower()
    if suffix not in FORMATS:
        raise OptionError(f"picture: must end in {', '.join('.' + known for known in FORMATS)}, got {shown(name)}")
    return suffix


def draw(problem: Problem, plan: Plan, picture_format: str) -> bytes:
    """Return a picture with one panel for each pool; the same bytes for the same plan.

    A buffer that has no lifetimes spans all of time. Of more than some thousand rectangles, pixels are drawn.
    """
    # Not at the top: it takes longer to import than most plans take to make.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a label may be in any script
        figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN * len(problem.pools)), layout="constrained")
        panels = figure.subplots(len(problem.pools), 1, squeeze=False, sharex=True)[:, 0]
        boxes = _boxes(problem, plan)
        for q, (pool, axes) in enumerate(zip(problem.pools, panels, strict=True)):
            _draw_pool(axes, pool, plan, boxes[boxes["pool"] == q], problem)
        panels[-1].set_xlabel("time")
        data = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(picture_format)
        figure.savefig(data, format=picture_format, dpi=150, metadata=metadata)
    return data.getvalue()


_BOX = np.dtype([("row", int), ("pool", int), ("start", float), ("end", float), ("low", float), ("high", float)])


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
        boxes += [(i, pool, start, end, offset, offset + int(table.size[i])) for start, end in intervals]
    return np.array(boxes, dtype=_BOX)


def _draw_pool(axes: Axes, pool: Pool, plan: Plan, boxes: npt.NDArray[np.void], problem: Problem) -> None:
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    _rectangles(axes, boxes)
    if len(boxes) <= _LABELLED_AT_MOST:
        _labels(axes, boxes, problem)
    for offset, size in pool.reserved:
        axes.axhspan(offset, offset + size, facecolor="none", edgecolor="#999999", hatch="///", linewidth=0)
    use = next((use for use in plan.pools if use.name == pool.name), None)
    highest = boxes["high"].max(initial=1.0)
    if use is not None and use.lower_bound is not None:
        highest = max(highest, use.lower_bound)
        label = f"lower bound {use.lower_bound:,}"
        axes.axhline(use.lower_bound, color="black", linestyle="--", linewidth=1, label=label)
    if pool.size is not None and pool.size <= 2 * highest:
        highest = max(highest, pool.size)
        axes.axhline(pool.size, color="#b00020", linewidth=1, label=f"size {pool.size:,}")
    axes.set_ylim(0, 1.12 * highest)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylabel("offset")
    axes.yaxis.set_major_locator(MultipleLocator(2 ** ceil(log2(highest / 6))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(int(value))))
    axes.set_title(_title(pool, None if use is None else use.used, plan), loc="left", fontsize=10)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", ncols=2, frameon=False)


def _title(pool: Pool, used: int | None, plan: Plan) -> str:
    address = f" at {pool.base_address:#x}" if pool.base_address else ""
    peak = "" if used is None else f": peak {used:,} bytes ({size_text(used)})"
    return f"{_printable(pool.name)}{address}{peak}, {plan.status}"


def _printable(text: str) -> str:
    """Replace what is no character on paper, and may not stand in XML."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _rectangles(axes: Axes, boxes: npt.NDArray[np.void]) -> None:
    from matplotlib.collections import PolyCollection

    x, y = (boxes["start"], boxes["end"]), (boxes["low"], boxes["high"])
    corners = np.stack([np.stack((x[i], y[j]), axis=1) for i, j in ((0, 0), (0, 1), (1, 1), (1, 0))], axis=1)
    colours = [_COLOURS[row % len(_COLOURS)] for row in boxes["row"].tolist()]
    is_crowded = len(boxes) > _VECTORS_AT_MOST
    axes.add_collection(
        PolyCollection(
            list(corners),
            facecolors=colours,
            edgecolors="white",
            linewidths=0 if is_crowded else 0.4,
            rasterized=is_crowded,
        )
    )
    if len(boxes):
        axes.set_xlim(boxes["start"].min(), boxes["end"].max())


def _labels(axes: Axes, boxes: npt.NDArray[np.void], problem: Problem) -> None:
    """Write the ids into the rectangles that are large enough for them."""
    width, height = np.ptp(axes.get_xlim()), boxes["high"].max(initial=1.0)
    for box in boxes:
        text = _printable(str(problem.buffers.ids[int(box["row"])]))
        room = (box["end"] - box["start"]) / width * _WIDTH_IN * 72 * 0.8
        if len(text) * 5 <= room and (box["high"] - box["low"]) / height * _HEIGHT_IN * 72 * 0.8 >= 9:
            middle = ((box["start"] + box["end"]) / 2, (box["low"] + box["high"]) / 2)
            axes.annotate(text, middle, ha="center", va="center", fontsize=7, color="white")
