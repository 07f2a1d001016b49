"""Measure the page in Debian's Chromium: `python -m lab.page_rates [FILE ...] [--frames 120]`.

For each file, and for generated plans of 10,000, 100,000 and 1,000,000 buffers, at one and at two pixels of the screen
for a pixel of the page: bytes of the page, seconds until its first picture stands, milliseconds that an exact picture
takes while it is magnified (median, and what 95 % keep to), and those from one exact picture to the next. Each picture
has its labels and axes; none is shifted. The CPU time of a picture counts all threads of the page, and does not
depend on what else runs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from memplan import Plan, Problem, read_problem, solve
from memplan.api.reports.page.file_page import plan_page
from memplan.planner.model.buffer_table import BufferTable, column
from memplan.planner.model.placement_table import PlacementTable
from tests.support.browser import chromium, tab, wait_until

_MAGNIFY = """(frames) => new Promise((done) => {
  const { picture } = memplan.view;
  const { camera } = picture;
  const [drawn, took] = [[], []];
  const draw = picture.draw.bind(picture);
  picture.draw = () => {
    const from = performance.now();
    draw();
    picture.context.getImageData(0, 0, 1, 1);
    if (!picture.isStale) drawn.push(from), took.push(performance.now() - from);
  };
  const step = () => {
    const k = took.length;
    if (k >= frames) return delete picture.draw, done([took, drawn]);
    const by = k % 40 >= 20 ? 1 / 1.05 : 1.05;
    camera.magnify(0.5, 0.5, by, by);
    requestAnimationFrame(step);
  };
  camera.all();
  requestAnimationFrame(step);
})"""


def main() -> None:
    """Print a line of JSON for each page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="problems or models")
    parser.add_argument("--frames", type=int, default=120)
    asked = parser.parse_args()
    with chromium() as browser:
        for file in asked.files:
            problem = read_problem(file)
            _print(browser, file.name, (problem, solve(problem)), asked.frames)
        for count in (10_000, 100_000, 1_000_000):
            _print(browser, count, lanes_of(count), asked.frames)


def _print(browser: Any, page: str | int, planned: tuple[Problem, Plan], frames: int) -> None:
    for ratio in (1, 2):
        print(json.dumps({"page": page, "ratio": ratio, **rates(browser, *planned, frames, ratio)}), flush=True)


def lanes_of(buffers: int) -> tuple[Problem, Plan]:
    """Return a generated problem and its plan: 50 lanes of random heights, each with one buffer after the other."""
    draw = np.random.default_rng(1)
    height = 64 * draw.integers(1, 4000, 50)
    lane = np.arange(buffers) % len(height)
    length = 1 + draw.geometric(0.1, buffers)
    end = np.empty(buffers, dtype=np.int64)
    for k in range(len(height)):
        end[lane == k] = length[lane == k].cumsum()
    size = np.maximum(1, (height[lane] * draw.random(buffers)).astype(np.int64))
    table = BufferTable.from_columns([f"op{i}" for i in range(buffers)], size, end - length, end)
    problem = Problem.model_construct(**{**Problem(buffers=[]).__dict__, "buffers": table})
    offset, pool = column((height.cumsum() - height)[lane]), column(np.zeros(buffers))
    peak = int((offset + size).max())
    return problem, Plan(status="feasible", peak=peak, placements=PlacementTable(table.ids, ("default",), pool, offset))


def rates(browser: Any, problem: Problem, plan: Plan, frames: int, ratio: float) -> dict[str, float]:
    """Return the bytes of a plan's page, its seconds to the first picture, and the milliseconds of exact ones."""
    with tempfile.TemporaryDirectory() as folder, tab(browser, 1280, 760, device_scale_factor=ratio) as found:
        path = Path(folder, "page.html")
        path.write_bytes(plan_page(problem, plan))
        found.page.set_default_timeout(120_000)
        found.page.goto(path.as_uri())
        wait_until(found, "!!(window.memplan && memplan.ready)")
        first, began = found.page.evaluate("memplan.ready"), _cpu_s(browser)
        took, drawn = found.page.evaluate(_MAGNIFY, frames)
        cpu_s = _cpu_s(browser) - began
        between = [after - before for before, after in itertools.pairwise(drawn)]
        return {
            "bytes": path.stat().st_size,
            "first_picture_s": round(first / 1e3, 3),
            "exact_ms": round(statistics.median(took), 1),
            "exact_cpu_ms": round(1e3 * cpu_s / frames, 1),
            "exact_ms_p95": round(statistics.quantiles(took, n=20)[-1], 1),
            "between_ms": round(statistics.median(between), 1),
        }


def _cpu_s(browser: Any) -> float:
    """Return the CPU seconds of the browser's renderers: of all their threads, whatever else a machine does."""
    session = browser.new_browser_cdp_session()
    rows = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(float(row["cpuTime"]) for row in rows if row["type"] == "renderer")


if __name__ == "__main__":
    main()
