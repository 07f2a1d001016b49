"""A chart of the growth of steps with the number of buffers: CPU time over n, both logarithmic, one line a step."""

from __future__ import annotations

import io
from collections.abc import Sequence

from memplan.api.bench.growth import GrowthPoint, exponents
from memplan.api.reports.picture import format_of_name

_STYLE = {"svg.hashsalt": "memplan", "svg.fonttype": "none", "font.size": 9}
_COLOURS = ("#4878a8", "#e49444", "#6a9f58", "#d1615d")
_MARKS = ("o", "s", "^", "D")


def growth_chart(points: Sequence[GrowthPoint], name: str) -> bytes:
    """Return the chart in the format that a file's name asks for (.svg, .png, .pdf); raises OptionError."""
    picture_format = format_of_name(name)
    # Not at the top: it takes longer to import than most plans take to make.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=(6.5, 4.2), layout="constrained")
        axes = figure.subplots()
        for k, (step, exponent) in enumerate(exponents(points).items()):
            mine = [point for point in points if point.step == step]
            n, cpu = [point.n for point in mine], [point.cpu_time_s for point in mine]
            colour, mark = _COLOURS[k % len(_COLOURS)], _MARKS[k % len(_MARKS)]
            axes.plot(n, cpu, label=f"{step}: n^{exponent:.2f}", color=colour, marker=mark, markersize=4)
        axes.set(xscale="log", yscale="log", xlabel="buffers", ylabel="CPU time in s")
        axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        data = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(picture_format)
        figure.savefig(data, format=picture_format, dpi=150, metadata=metadata)
    return data.getvalue()
