"""Tests of pages at the widths of phones, laptops and large screens: names, missing bytes, and corrected files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memplan import Buffer, Plan, Pool, Problem, read_problem, solve
from memplan.api.reports.views import PlanOf
from memplan.extensions.page.comparison import comparison_page
from memplan.extensions.page.file_page import plan_page
from memplan.extensions.page.tests.browser import Tab, show_page, tab, wait_until
from memplan.questions.check.difference import difference_of
from memplan.questions.plan.baseline import Baseline

pytestmark = pytest.mark.slow
WIDTHS = (390, 1024, 1360, 1400, 1440, 1920)
BUFFERS = [Buffer(id=f"l{k}", size=16 + k, start=k, end=k + 3) for k in range(9)]
POOLS = Problem(buffers=BUFFERS, pools=[Pool(name="sram", size=32), Pool(name="tcm", size=32)])


@pytest.fixture(scope="module")
def shared_tab(browser: Any) -> Iterator[Tab]:
    with tab(browser, 1440, 900) as found:
        yield found
        assert (found.errors, found.policy_breaks) == ([], [])


def test_drawn_buffers_have_names_at_every_width(shared_tab: Tab, tmp_path: Path) -> None:
    problem = read_problem(Path(__file__).parents[3] / "examples" / "mobilenet_v2.csv")
    page = show_page(shared_tab, tmp_path, plan_page(problem, solve(problem)))
    named = {}
    for wide in WIDTHS:
        page.set_viewport_size({"width": wide, "height": 900})
        wait_until(shared_tab, f"memplan.view.picture.over.clientWidth < {wide} && !memplan.view.picture.pending")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        named[wide] = set(page.evaluate("[...memplan.view.picture.named].map((i) => String(memplan.view.plan.ids[i]))"))
        assert page.evaluate("document.documentElement.scrollWidth") == wide
    page.set_viewport_size({"width": 1440, "height": 900})
    assert all({"110", "111"} <= names for names in named.values())
    assert all(len(named[wide]) >= 20 for wide in WIDTHS[1:])


def test_the_load_event_waits_for_the_picture_as_makers_of_screenshots_do(shared_tab: Tab, tmp_path: Path) -> None:
    problem = Problem(buffers=[Buffer(id=f"block{k}/conv{k}", size=64, start=k, end=k + 9) for k in range(500)])
    (tmp_path / "loaded.html").write_bytes(plan_page(problem, solve(problem)))
    shared_tab.page.goto((tmp_path / "loaded.html").as_uri(), wait_until="load")
    assert shared_tab.page.evaluate("memplan.ready <= performance.now()")
    assert shared_tab.page.evaluate("document.querySelectorAll('iframe').length") == 0


def test_pools_that_are_too_small_together_are_drawn_as_one_with_the_proof(shared_tab: Tab, tmp_path: Path) -> None:
    plan = solve(POOLS)
    page = show_page(shared_tab, tmp_path, plan_page(POOLS, plan))
    assert plan.status == "infeasible"
    assert page.locator(".badge").all_inner_texts() == ["does not fit", "proved: by the bytes alive"]
    alive = [sum(row.size for row in POOLS.buffers if (row.start or 0) <= at < (row.end or 0)) for at in range(12)]
    most = max(alive)
    sentence = (
        f"{most} B are alive at time {alive.index(most)}, and all pools together have 64 B: {most - 64} B are too much."
    )
    assert (page.inner_text(".sentences"), page.evaluate("memplan.view.picture.lanes.all.length")) == (sentence, 1)
    assert "red: above the capacity" in page.inner_text(".legend")


def test_a_large_file_page_shows_a_loading_message_before_its_script_runs() -> None:
    problem = Problem(buffers=[Buffer(id=k, size=8, start=k, end=k + 1) for k in range(20_000)])
    rows = [{"id": k, "pool": "default", "offset": 0} for k in range(20_000)]
    page = plan_page(problem, Plan.model_validate({"status": "feasible", "placements": rows})).decode()
    assert page.index("<p>reading 20,000 buffers …</p>") < page.index("<script")


def test_selecting_a_visible_cause_keeps_the_zoom_and_outlines_the_old_size(shared_tab: Tab, tmp_path: Path) -> None:
    old = Problem(buffers=[Buffer(id="x", size=64, start=0, end=9), Buffer(id="y", size=32, start=2, end=5)])
    new = Problem(buffers=[Buffer(id="x", size=64, start=0, end=9), Buffer(id="y", size=48, start=2, end=5)])
    rows = [{"id": "x", "pool": "default", "offset": 0}, {"id": "y", "pool": "default", "offset": 64}]
    plan = Plan.model_validate({"status": "feasible", "placements": rows})
    before, after = PlanOf(old, plan, "old"), PlanOf(new, plan, "new")
    found = difference_of(Baseline(before.plan, old), Baseline(after.plan, new))
    page = show_page(shared_tab, tmp_path, comparison_page(before, after, found))
    seen = page.evaluate("memplan.view.picture.camera.seen")
    page.click(".causes button:text-is('y') >> nth=0")
    assert page.evaluate("[memplan.view.picture.camera.seen, memplan.view.picture.look.selected]") == [seen, 1]
    with page.expect_download() as download:
        page.click("button:text-is('SVG') >> visible=true")
    assert Path(download.value.path()).read_text(encoding="utf-8").count('stroke-dasharray="4 3"') == 2
