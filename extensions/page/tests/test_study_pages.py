"""Tests of pages about several plans in a real browser: differences, sweeps, frontiers, orders and cascades."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memplan import Buffer, OperationGraph, OrderOptions, Plan, Pool, Problem, order, solve
from memplan.api.cli.main import main
from memplan.api.reports.views import PlanOf
from memplan.extensions.page import studies
from memplan.extensions.page.comparison import comparison_page
from memplan.extensions.page.file_page import plan_page
from memplan.extensions.page.studies import order_page, recompute_page
from memplan.extensions.page.tests.browser import DROP, Tab, tab
from memplan.extensions.shapes.symbolic_input import EXAMPLE
from memplan.planner.formats.memplan_json import write_problem
from memplan.questions.check.difference import difference_of
from memplan.questions.plan.baseline import Baseline
from tests.support.operation_graphs import SUMS
from tests.support.values import buffer_rows

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=document.title=1>"
FIRST, SRAM = Buffer(id=HOSTILE, size=64, start=0, end=4), [Pool(name="sram", size=4096)]
OLD = Problem(name="build 1", buffers=[FIRST, *buffer_rows(b=(32, 1, 3), c=(32, 2, 6), gone=(8, 5, 7))], pools=SRAM)
B, C, ADDED = buffer_rows(b=(48, 1, 3), c=(32, 2, 6), new=(16, 2, 3))
NEW = Problem(name="build 2", buffers=[FIRST, B | {"offset": 100}, C | {"offset": 64}, ADDED], pools=SRAM)


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    with tab(browser, has_touch=True) as found:

        def show(page: bytes) -> Tab:
            (tmp_path / "page.html").write_bytes(page)
            found.page.goto((tmp_path / "page.html").as_uri())
            found.page.locator(".picture canvas").first.wait_for()
            return found

        yield show
        assert (found.errors, found.policy_breaks) == ([], [])
        assert [url for url in found.requests if not url.startswith(("file:", "data:", "blob:"))] == []
        assert found.page.locator("img").count() == 0


def drop(shown: Tab, name: str, text: str) -> None:
    shown.page.evaluate(DROP, [name, text])
    shown.page.wait_for_timeout(100)


def two_plans() -> tuple[PlanOf, PlanOf]:
    return PlanOf(OLD, solve(OLD), "build 1"), PlanOf(NEW, solve(NEW), "build 2")


def test_two_plans_are_drawn_with_the_buffers_that_moved(open_page: Any) -> None:
    before, after = two_plans()
    found = difference_of(Baseline(before.plan, before.problem), Baseline(after.plan, after.problem))
    shown = open_page(comparison_page(before, after, found))
    assert "Moved" in shown.page.inner_text(".causes")
    assert "larger" in shown.page.inner_text(".causes")
    assert shown.serious_violations() == []
    shown.page.click(".causes button:text-is('b') >> nth=0")
    shown.page.click("button[data-which=before]")
    assert shown.page.get_attribute("button[data-which=before]", "aria-pressed") == "true"


def test_clicking_a_point_of_a_sweep_opens_its_plan(open_page: Any, tmp_path: Path) -> None:
    (tmp_path / "sizes.json").write_bytes(write_problem(OLD))
    command = ["sweep", str(tmp_path / "sizes.json"), "--size", "sram=64:192:64"]
    assert main([*command, "-q", "-o", str(tmp_path / "points.html")]) == 0
    shown = open_page((tmp_path / "points.html").read_bytes())
    assert shown.page.locator("circle.point").count() == 3
    assert shown.page.inner_text(".points tbody tr >> nth=0").split()[-1] == "infeasible"
    assert shown.serious_violations() == []
    shown.page.locator("circle.point").nth(0).click()
    shown.page.get_by_text("Nothing fits here.").wait_for()
    shown.page.click(".points tbody button >> nth=1")
    shown.page.locator(".picture canvas").first.wait_for()


def test_the_page_of_explain_shows_the_core_and_a_tab_for_each_repair(open_page: Any, tmp_path: Path) -> None:
    (tmp_path / "tight.json").write_bytes(write_problem(OLD.with_capacity(120)))
    page = str(tmp_path / "why.html")
    assert main(["explain", str(tmp_path / "tight.json"), "--repairs", "2", "-q", "-o", page]) == 0
    shown = open_page((tmp_path / "why.html").read_bytes())
    assert "lacks 8 bytes" in shown.page.inner_text(".side >> nth=0")
    tabs = shown.page.locator("nav.tabs button")
    assert tabs.all_inner_texts()[:2] == ["as given", 'make "c" in place of "b"']
    assert (tabs.count(), shown.serious_violations()) == (3, [])
    tabs.nth(1).click()
    shown.page.get_by_text("valid: checked").wait_for()


def test_the_page_of_shapes_has_a_curve_of_the_peak_over_each_symbol(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "sizes.json").write_text(json.dumps(EXAMPLE), encoding="utf-8")
    (tmp_path / "plain.json").write_text(
        json.dumps({**EXAMPLE, "symbols": {"b": {"max": 1}, "n": {"min": 2, "max": 2}}})
    )
    for name in ("sizes", "plain"):
        assert main(["shapes", str(tmp_path / f"{name}.json"), "-o", str(tmp_path / f"{name}.html"), "-q"]) == 0
    assert not (tmp_path / "plain.html").exists()
    with tab(browser) as shown:
        shown.page.goto((tmp_path / "sizes.html").as_uri())
        shown.page.click(".tabs >> text=n")
        assert shown.page.locator("circle.point.optimal").count() == 64
        assert "n (b=64)" in shown.page.inner_text(".chart")
        assert "peak: 3072*b*n + 64*((48*b*n*n + 63)//64)" in shown.page.inner_text("form.bar")
        shown.page.locator(".points tbody button").nth(3).press("Enter")
        shown.page.locator(".picture canvas").first.wait_for()
        shown.page.fill("form.bar input", "b=7, n=300")
        shown.page.press("form.bar input", "Enter")
        peak = 3072 * 7 * 300 + 48 * 7 * 300 * 300 + 64 * ((38 * 300 + 63) // 64)
        assert f"peak {peak:,} B" in shown.page.inner_text("form.bar [role=status]")
        assert f"{peak:,} B" in shown.page.inner_text("main .facts")
        assert (shown.errors, shown.policy_breaks) == ([], [])


def test_models_of_an_application_are_drawn_in_different_colours_along_time(browser: Any, tmp_path: Path) -> None:
    files = [str(tmp_path / f"{name}.json") for name in ("first", "second")]
    for file, problem in zip(files, (OLD, NEW), strict=True):
        Path(file).write_bytes(write_problem(problem))
    outputs = (f"-o{tmp_path / name}" for name in ("page.html", "plan.json"))
    assert main(["plan", *files, "--together", "none", *outputs, "-q"]) == 0
    with tab(browser) as shown:
        shown.page.goto((tmp_path / "page.html").as_uri())
        assert shown.page.inner_text("h1") == "first, second"
        assert shown.page.inner_text(".legend").split()[:2] == ["first", "second"]
        spans = shown.page.evaluate("memplan.view.plan.spans.map(({kind, name, start}) => [kind, name, start])")
        assert spans == [["model", "first", 0], ["model", "second", 7]]
        assert (shown.errors, shown.policy_breaks) == ([], [])


def test_the_page_of_order_shows_live_bytes_before_and_after(open_page: Any) -> None:
    shown = open_page(order_page("sums", order(OperationGraph.model_validate(SUMS), OrderOptions(time_limit_s=5))))
    assert "33 B → 18 B" in shown.page.inner_text(".bar >> nth=1")
    assert shown.page.locator(".links .moved").count() > 0


def test_the_plan_on_the_page_of_order_has_the_names_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = [{"name": name} for name in ("left", "right", "twice", "twice")] + [{}, {}]
    ops = [*SUMS["ops"][:4], SUMS["ops"][4] | {"name": "sum", "work": 3}, SUMS["ops"][5]]
    graph = OperationGraph.model_validate(SUMS | {"tensors": tensors, "ops": ops})
    monkeypatch.setattr(studies, "file_page", lambda _title, view: view)
    view = studies.order_page("sums", order(graph, OrderOptions(time_limit_s=5)))["view"]
    named = {"left", "right", "twice (tensor_2)", "twice (tensor_3)", "tensor_4", "tensor_5", "sum (work)"}
    assert {row["id"] for row in view["problem"]["buffers"]} == named
    assert {row["id"] for row in view["plan"]["placements"]} == named
    assert view["inspection"]["valid"]


def test_clicking_a_point_of_a_recomputation_frontier_opens_its_plan(open_page: Any) -> None:
    sizes = [64, 1, 64, 1, 65]
    ops = [{"out": [0]}, {"in": [0], "out": [1]}, {"in": [1], "out": [2]}, {"in": [2], "out": [3]}]
    graph = OperationGraph.model_validate({"size": sizes, "kept": [4], "ops": [*ops, {"in": [0, 3], "out": [4]}]})
    answer = order(graph, OrderOptions(recompute=True, time_limit_s=5))
    shown = open_page(recompute_page("again", answer))
    assert answer.recomputed is not None
    assert shown.page.locator("circle.point").count() == len(answer.recomputed.points)


def test_the_page_of_cascade_shows_the_stripes_of_a_point(open_page: Any, tmp_path: Path) -> None:
    model = Path(__file__).parents[3] / "tests" / "models" / "recorded" / "kws_dscnn_int8.tflite"
    target = tmp_path / "cascade.html"
    assert main(["cascade", str(model), "-o", str(target), "--quiet", "-o", str(tmp_path / "c.json")]) == 0
    shown = open_page(target.read_bytes())
    shown.page.click("button:text-is('stripes')")
    assert shown.page.locator("rect.made").count() > 3
    shown.page.click("button:text-is('plan')")
    shown.page.select_option("select", "role")
    assert shown.page.get_by_text("ring", exact=True).count() > 0


def raise_plan(problem: Problem) -> Plan:
    rows = [row | {"offset": int(row["offset"]) + 1024} for row in solve(problem).placements.rows()]
    return Plan.model_validate({"status": "feasible", "placements": rows})


def test_problems_and_plans_can_be_dropped_on_a_file_page(open_page: Any) -> None:
    shown = open_page(plan_page(OLD, solve(OLD)))
    drop(shown, "moved.json", raise_plan(OLD).model_dump_json())
    shown.page.wait_for_function("() => memplan.view.plan.offset.every((offset) => offset >= 1024)")
    drop(shown, "other.json", json.dumps({"problem": NEW.model_dump(mode="json"), "plan": None}))
    shown.page.wait_for_function("() => memplan.view.plan.ids.includes('new')")
    assert shown.page.inner_text(".badge") == "no plan"
    assert "memplan plan FILE" in shown.page.inner_text(".sentences")
    assert "bytes that are needed" in shown.page.inner_text(".legend")
    drop(shown, "<b>notes", "hello")
    assert "<b>notes: is no JSON" in shown.page.inner_text("p[role=alert]")
    drop(shown, "corrected.json", json.dumps({"buffers": [{"id": "x", "size": 1, "start": 0, "end": 1}]}))
    shown.page.wait_for_function("() => memplan.view.plan.ids.includes('x')")
    assert shown.page.locator("p[role=alert]").count() == 0


def test_a_schedule_is_drawn_on_its_page_and_from_a_dropped_answer(open_page: Any, tmp_path: Path) -> None:
    examples = Path(__file__).parents[3] / "examples"
    asked = ["schedule", str(examples / "networks" / "mobilenet_v1.json")]
    asked += ["--target", str(examples / "schedules" / "gap8_like.json"), "--time-limit", "2"]
    answer, page = tmp_path / "answer.json", tmp_path / "schedule.html"
    assert main([*asked, "-o", str(answer), "-o", str(page)]) == 0
    found = json.loads(answer.read_text())
    assert len(found["link_busy"]) == len(found["subgraph_traffic"]) == len(found["subgraphs"])
    assert sum(found["subgraph_traffic"]) == found["traffic"]
    assert max(found["link_busy"]) <= 1
    shown = open_page(plan_page(OLD, solve(OLD)))
    drop(shown, "answer.json", answer.read_text())
    for badge in ("not checked", "valid: checked"):
        shown.page.wait_for_function("(count) => memplan.view.plan.count === count", arg=len(found["slots"]))
        assert shown.page.inner_text(".badge >> nth=0") == badge
        rows = shown.page.evaluate("[...memplan.view.plan.offset].map((at, i) => [at, memplan.view.plan.size[i]])")
        assert rows == [[slot["offset"], slot["size"]] for slot in found["slots"]]
        facts = zip(found["subgraph_latencies"], found["link_busy"], strict=True)
        steps, side = [f"; time {time:,.0f}; {busy:.0%} link" for time, busy in facts], shown.page.inner_text(".side")
        assert any(step in side for step in steps)
        shown.page.select_option("select", "role")
        assert {slot["kind"] for slot in found["slots"]} <= {*shown.page.inner_text(".legend").split()}
        assert shown.serious_violations() == []
        shown.page.goto(page.as_uri())


def test_a_notebook_cell_shows_the_page_without_access_to_the_notebook(browser: Any) -> None:
    shown = solve(NEW)._repr_html_()
    assert shown is not None
    with tab(browser) as found:
        found.page.set_content(f"<p>notebook</p>{shown}")
        found.page.frame_locator("iframe").locator(".picture canvas").first.wait_for()
        assert found.page.locator("iframe").get_attribute("sandbox") == "allow-scripts allow-downloads"
        assert found.errors == []
