"""Measure the page in Debian's Chromium: `python -m lab.page_rates [FILE ...] [--frames 120]`.

For each file, and for generated plans of 100,000 and of 1,000,000 buffers: bytes of the page, seconds until its first
picture stands, and frames a second while it moves and magnifies (median, and what 95 % of the frames keep to).
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from memplan import Plan, Problem, read_problem, solve
from memplan.api.reports.page.file_page import plan_page
from memplan.planner.model.buffer_table import BufferTable, column
from memplan.planner.model.placement_table import PlacementTable
from tests.support.browser import chromium, tab, wait_until

_MOVE = """(frames) => new Promise((done) => {
  const { camera } = memplan.view.picture;
  const times = [];
  const step = (time) => {
    times.push(time);
    const k = times.length;
    const isBack = k % 40 >= 20;
    if (k > frames) return done(times);
    if (k % 2) camera.shift(isBack ? -0.02 : 0.02, 0);
    else camera.magnify(0.5, 0.5, isBack ? 1 / 1.05 : 1.05, isBack ? 1 / 1.05 : 1.05);
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
            print(json.dumps({"page": file.name, **rates(browser, problem, solve(problem), asked.frames)}), flush=True)
        for count in (100_000, 1_000_000):
            print(json.dumps({"page": count, **rates(browser, *lanes_of(count), asked.frames)}), flush=True)


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


def rates(browser: Any, problem: Problem, plan: Plan, frames: int) -> dict[str, float]:
    """Return the bytes of a plan's page, its seconds to the first picture, and its frames a second in movement."""
    with tempfile.TemporaryDirectory() as folder, tab(browser, 1280, 760) as found:
        path = Path(folder, "page.html")
        path.write_bytes(plan_page(problem, plan))
        found.page.set_default_timeout(120_000)
        found.page.goto(path.as_uri())
        wait_until(found, "!!(window.memplan && memplan.ready)")
        first = found.page.evaluate("memplan.ready")
        times = found.page.evaluate(_MOVE, frames)
        gaps = sorted(after - before for before, after in itertools.pairwise(times))
        return {
            "bytes": path.stat().st_size,
            "first_picture_s": round(first / 1e3, 3),
            "frames_per_s": round(1e3 / gaps[len(gaps) // 2], 1),
            "frames_per_s_p95": round(1e3 / gaps[int(0.95 * len(gaps))], 1),
        }


if __name__ == "__main__":
    main()
