"""Regression tests for pages that were once wrong: a table of problems and plans, each opened in a browser."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memplan import Buffer, Plan, Pool, Problem, solve
from memplan.api.reports.views import PlanOf
from memplan.extensions.page.comparison import comparison_page
from memplan.extensions.page.file_page import plan_page
from memplan.extensions.page.tests.browser import DROP, Tab, show_page, tab, wait_until
from memplan.planner.model.problem_fields import ReuseCost
from memplan.questions.check.difference import difference_of
from memplan.questions.plan.baseline import Baseline

pytestmark = pytest.mark.slow
VIEW = Buffer(id="view", size=8, start=1, end=9, alias_of="root")
VIEWED = Problem(buffers=[Buffer(id="root", size=64, start=0, end=3), VIEW, Buffer(id="late", size=32, start=7, end=9)])
IN_BOTH = Buffer(id="a", size=1024, start=0, end=2, pools=("one", "two"))
IN_TWO = Buffer(id="b", size=2048, start=0, end=2, pools=("two",))
POOLS = Problem(buffers=[IN_BOTH, IN_TWO], pools=[Pool(name="one", size=4096), Pool(name="two", size=4096)])
LONE = Problem(buffers=[Buffer(id=k, size=100 + k, start=k, end=k + 3) for k in range(4)], pools=[Pool(size=1000)])
TIMELESS = Problem(buffers=[Buffer(id=f"t{k}", size=64) for k in range(4)], conflicts=(("t0", "t1"), ("t1", "t2")))
MIXED = Problem(
    buffers=[Buffer(id=k, size=10, alignment=2) for k in range(4)] + [Buffer(id="big", size=2**61 + 2, start=0, end=1)],
    conflicts=((0, 1), (1, 2)),
)
X, Y = Buffer(id="x", size=8192, start=0, end=4), Buffer(id="y", size=10240, start=0, end=4)
SHARED = Problem(buffers=[X, Y], may_share=(("x", "y"),))
LOW = Buffer(id="low", size=50, start=0, end=4)
PINNED = Problem(buffers=[LOW, Buffer(id="pin", size=50, start=0, end=4, offset=500)])
AT_0, ALONE = Buffer(id="p", size=10, start=0, end=3, offset=0), Buffer(id="r", size=20, start=5, end=6)
ALIGNED = Problem(buffers=[AT_0, Buffer(id="q", size=10, start=1, end=4, alignment=64), ALONE])
PADDED = Problem(buffers=[Buffer(id="n", size=10, start=0, end=2)], pools=[Pool(size=64, alignment=16)])
M, N = Buffer(id="m", size=995, start=0, end=2), Buffer(id="o", size=2, start=0, end=1)
TIGHT = Problem(buffers=[M, N], pools=[Pool(size=1000)])
PRICED = Problem(
    buffers=[Buffer(id="c", size=64, start=0, end=2, traffic=100), Buffer(id="d", size=64, start=0, end=2, traffic=9)],
    pools=[Pool(name="fast", size=64, cost=1), Pool(name="slow", size=4096, cost=8)],
    objective="cost",
)
THEN, FIRST = Buffer(id="then", size=64, start=2, end=4), Buffer(id="first", size=64, start=0, end=2)
PAID = (ReuseCost(pairs=(("then", "first"),), cost=7),)
REUSED = Problem(buffers=[THEN, FIRST], pools=[Pool(size=96)], reuse=PAID, objective="cost")
LAYERS = [Buffer(id=f"features/{k}/relu", size=25_690_111, start=0, end=4, alignment=24) for k in range(9)]
WIDE = Problem(buffers=LAYERS, pools=[Pool(name="one", size=2**27), Pool(name="two", size=2**28)])
EQUAL = Problem(buffers=[Buffer(id=f"layer{k // 60}/op{k}", size=64, start=k, end=k + 2) for k in range(240)])


def raise_best_plan(problem: Problem, by: int, **claims: Any) -> Plan:
    rows = [row | {"offset": int(row["offset"]) + by} for row in solve(problem).placements.rows()]
    return Plan.model_validate({"status": "feasible", "placements": rows, **claims})


def forge_plan(problem: Problem) -> Plan:
    """Return a plan that is 4,800 bytes above the best peak and falsely claims that a search proved it optimal."""
    peak = (solve(problem).peak or 0) + 4800
    pools = [{"name": "default", "used": peak, "lower_bound": peak}]
    proof = {"kind": "search", "by": "exact"}
    return raise_best_plan(
        problem, 4800, status="optimal", peak=peak, lower_bound=peak, gap=0.0, proof=proof, pools=pools
    )


def costly_plan(problem: Problem) -> Plan:
    """Return a plan that uses only the more expensive memory and claims a lower bound on its cost."""
    rows = [{"id": row.id, "pool": "slow", "offset": 64 * k} for k, row in enumerate(problem.buffers)]
    return Plan.model_validate({"status": "feasible", "placements": rows, "cost": 872, "cost_lower_bound": 172})


def foreign_plan(problem: Problem) -> Plan:
    rows = [{"id": row.id, "pool": "nowhere", "offset": 0} for row in problem.buffers]
    return Plan.model_validate({"status": "feasible", "placements": rows})


FREE = LONE.model_copy(update={"pools": (Pool(),)})
NOTHING = Plan(status="infeasible")
PLACED = [{"id": k, "pool": "default", "offset": 0} for k in range(4)]
LACKS: dict[str, Any] = {"explanation": {"message": "pool default lacks 7 bytes"}}
LIED = Plan.model_validate({"status": "infeasible", "placements": PLACED} | LACKS)


@dataclass(frozen=True)
class Case:
    """One test case: a problem, its plan, a script to run in the page, and a condition on the script's result."""

    name: str
    problem: Problem
    plan: Plan | Callable[[Problem], Plan]
    script: str
    holds: Callable[[Any], bool]


HELD = "memplan.view.plan.held(0)"
DRAWN = "[...memplan.view.picture.drawn[0].rectangles.right].map((at) => at * memplan.view.plan.span)"
TEXT = "(selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent).join(' | ')"


def text(selector: str) -> str:
    return f"({TEXT})({json.dumps(selector)})"


def ask_script(size: str) -> str:
    fill = f"document.querySelector('.pool input').value = {json.dumps(size)}"
    return f"({fill}, document.querySelector('.pool form').requestSubmit(), {text('.pool .answer p')})"


BADGES = text(".badge")
SAID = text(".sentences")
MARKUP = "document.querySelector('main .facts').innerHTML"
FACTS, SIDE, BODY = text(".facts"), text(".side"), text("body")
VERDICT = f"{BADGES} + {SAID}"
TO_PEAK = "(memplan.view.toPeak(), memplan.view.picture.look.time)"
WHY = f"(memplan.view.select(1), {text('.why')})"
COLOURS = "(memplan.view.colourBy('size'), memplan.view.picture.legend.length)"
OVER = "[...document.querySelectorAll('.side, .buffers')].map((one) => one.scrollWidth - one.clientWidth)"
OVER_SIDE = "(() => { const side = document.querySelector('.side'); return side.scrollWidth - side.clientWidth; })()"
AREA = "memplan.view.panel.showArea({pool: 0, times: [0, 2], offsets: [0, 1000]})"
MARKS = "(memplan.view.lookAt(2), memplan.view.mark(), [memplan.view.picture.look.marks, location.hash])"
NOT_PROVED = ("claimed by the solver, not proved here", "claims that nothing fits")
COST = "cost 872every plan costs at least 172, at most 407.0 % above the least"
HITS = f"(memplan.view.field.value = 'op23', memplan.view.find(), {text('.hits')})"


def says(*words: str, never: str | None = None) -> Callable[[str], bool]:
    return lambda s: all(word in s for word in words) and (never is None or never not in s)


CASES = [
    Case("a claim of a search is not green", FREE, forge_plan, BADGES, says("least: claimed by the solver")),
    Case("nor is it taken for an answer", FREE, forge_plan, ask_script("5100"), says("not checked", never="No:")),
    Case("nor in the sentence", FREE, forge_plan, SAID, says("according to the solver, not re-checked")),
    Case("what was not checked is listed", FREE, forge_plan, SIDE, says("not checked: status, lower")),
    Case("a proof is green", LONE, solve, BADGES, lambda s: s == "valid: checked | least: checked by its witness"),
    Case("the peak is at its time", VIEWED, solve, "memplan.view.picture.look.time", lambda at: at == 7),
    Case("P stays there", VIEWED, solve, TO_PEAK, lambda at: at == 7),
    Case("a root is held by its views", VIEWED, solve, HELD, lambda rows: rows == [[0, 9]]),
    Case("and drawn so", VIEWED, solve, DRAWN, lambda ends: sorted(map(round, ends)) == [9, 9]),
    Case("the least has its condition", POOLS, solve, SAID, says('use no more of "two"')),
    Case("what has no times is not alive", TIMELESS, solve, SAID, lambda s: "alive" not in s and "256" not in s),
    Case("it has a column each", TIMELESS, solve, "new Set(memplan.view.plan.lives.start).size", lambda n: n == 4),
    Case("some without times", MIXED, solve, SIDE, says("4 buffers have no times")),
    Case("large numbers are exact", MIXED, solve, FACTS, says(f"{2**61 + 2:,} B")),
    Case("shared bytes count once", SHARED, solve, "memplan.view.plan.fullest(0).bytes", lambda most: most == 10240),
    Case("no sum of them is told", SHARED, solve, SAID, says(never="18 KiB")),
    Case("they are marked", SHARED, solve, "memplan.view.picture.shared.length", lambda count: count == 2),
    Case("a pin decides", PINNED, solve, SAID, says('"pin" ends highest, which is pinned at 500 B')),
    Case("what is pinned stands on nothing", PINNED, solve, WHY, says("It is pinned", never="stands on")),
    Case("alignment is a cause", ALIGNED, solve, SAID, says("54 B idle for alignment")),
    Case("a false claim that nothing fits is none", LONE, NOTHING, VERDICT, says(*NOT_PROVED)),
    Case("least cost is a bound", PRICED, costly_plan, FACTS, says(COST)),
    Case("its prices are those of the pools", PRICED, costly_plan, MARKUP, says("by the prices")),
    Case("or its bytes", POOLS, solve, MARKUP, says("moved to and from the pools after the first")),
    Case("a pool's alignment pads", PADDED, solve, "memplan.view.plan.padding(0)", lambda padding: padding == 6),
    Case("paid pairs are listed", REUSED, solve, text(".paid"), says("first then then: 7", never="claimed")),
    Case("and drawn", REUSED, solve, text(".legend"), says("shares bytes at a price")),
    Case("another pool is a fault", LONE, foreign_plan, VERDICT, says("not valid", "nowhere")),
    Case("a fault ends claims", LONE, LIED, BODY, says("not valid", never="lacks 7 bytes")),
    Case("no plan was found", FREE, Plan(status="unknown"), BODY, says(never="nothing that fits")),
    Case("wide offsets are not cut", WIDE, solve, f"(memplan.view.lookAt(0), {OVER})", lambda over: max(over) <= 0),
    Case("layers are the colours", EQUAL, solve, "memplan.view.picture.look.by", lambda by: by == "group"),
    Case("sums fold by layer", EQUAL, solve, text(".sums"), says("By")),
    Case("one size has one colour", EQUAL, solve, COLOURS, lambda count: count == 1),
    Case("offsets are not cut", LONE, solve, OVER_SIDE, lambda over: over <= 0),
    Case(
        "an area is summed",
        LONE,
        solve,
        f"({AREA},{text('.side > section:nth-child(3)')})",
        says("2 buffers, 201 B in all"),
    ),
    Case("marks are kept", LONE, solve, MARKS, lambda found: found[0] == [2] and "marks=2" in found[1]),
    Case("hits are a list", EQUAL, solve, HITS, lambda s: s.count("64 B") == 11),
]


@pytest.fixture(scope="module")
def shared_tab(browser: Any) -> Iterator[Tab]:
    with tab(browser, 1400, 900) as found:
        yield found


@pytest.fixture
def open_page(shared_tab: Tab, tmp_path: Path) -> Iterator[Callable[[bytes], Any]]:
    yield partial(show_page, shared_tab, tmp_path)
    assert (shared_tab.errors, shared_tab.policy_breaks) == ([], [])


def test_a_page_shows_the_expected_text_in_corner_cases(open_page: Any) -> None:
    wrong = []
    for key, first in {(id(case.problem), id(case.plan)): case for case in CASES}.items():
        plan = first.plan if isinstance(first.plan, Plan) else first.plan(first.problem)
        page = open_page(plan_page(first.problem, plan))
        for case in CASES:
            if (id(case.problem), id(case.plan)) == key and not case.holds(found := page.evaluate(case.script)):
                wrong.append((case.name, found))
    assert wrong == []


def save_text(page: Any, button: str) -> str:
    with page.expect_download() as download:
        page.click(f"button:text-is('{button}') >> visible=true")
    return Path(download.value.path()).read_text(encoding="utf-8")


def test_the_label_of_the_bound_is_below_that_of_the_capacity(open_page: Any) -> None:
    drawing = ElementTree.fromstring(save_text(open_page(plan_page(TIGHT, solve(TIGHT))), "SVG"))
    rows = {(row.text or "").split()[0]: row for row in drawing.iter("{http://www.w3.org/2000/svg}text") if row.text}
    assert float(rows["capacity"].attrib["y"]) < float(rows["bound"].attrib["y"])
    assert ">1 B<" not in save_text(open_page(plan_page(FREE, Plan(status="unknown"))), "SVG")  # no axis labels


def test_a_table_saved_by_the_page_can_be_dropped_on_it(open_page: Any, shared_tab: Tab) -> None:
    page = open_page(plan_page(VIEWED, solve(VIEWED)))
    for name, content, sentence in (
        ("plan.csv", save_text(page, "CSV"), ""),
        ("graph.json", '{"size": [1], "ops": []}', "is for memplan order FILE"),
        ("notes.txt", "hello", "is no JSON and no table of buffers"),
        ("later.json", '{"buffers": [{"id": 1, "size": 1, "start": 4, "end": 2}]}', "must be greater than start (4)"),
    ):
        page.evaluate(DROP, [name, content])
        if sentence:
            shared_tab.page.wait_for_function(
                "text => document.querySelector('#page > .alarm')?.textContent.includes(text)", arg=sentence
            )
        else:
            wait_until(shared_tab, "document.querySelector('.badge').textContent === 'not checked'")
            assert page.evaluate("[memplan.view.plan.held(0), memplan.view.plan.top(0)]") == [[[0, 9]], 96]


def test_a_comparison_outlines_moved_buffers_with_their_old_size(open_page: Any) -> None:
    old = Problem(buffers=[Buffer(id="x", size=100, start=0, end=2), Buffer(id="y", size=50, start=0, end=4, offset=0)])
    new = Problem(buffers=[Buffer(id="x", size=300, start=1, end=4), Buffer(id="y", size=50, start=0, end=4, offset=0)])
    before, after = PlanOf(old, solve(old), "old"), PlanOf(new, lifted_x(new), "new")
    found = difference_of(Baseline(before.plan, old), Baseline(after.plan, new))
    page = open_page(comparison_page(before, after, found))
    assert "are alive at its fullest time now" in page.inner_text(".causes")
    svg = save_text(page, "SVG")
    dashed = re.findall(r'<rect x="([\d.]+)"[^>]*?width="([\d.]+)"\s+height="([\d.]+)"[^>]*stroke-dasharray="4 3"', svg)
    lane = page.evaluate(
        "[memplan.view.picture.width / 4, memplan.view.picture.height / memplan.view.picture.lanes.all[0].bytes]"
    )
    assert svg.rindex('clip-rule="evenodd"') < svg.index('stroke-dasharray="4 3"')  # no line crosses a word
    (_x, width, height), *others = [tuple(map(float, row)) for row in dashed]
    assert others == []
    assert width == pytest.approx(2 * lane[0] - 1, abs=1.5)
    assert height == pytest.approx(100 * lane[1] - 1, abs=1.5)


def lifted_x(problem: Problem) -> Plan:
    """Return the best plan of a problem after moving buffer x to offset 54."""
    rows = [{"id": "x", "pool": "default", "offset": 54}, {"id": "y", "pool": "default", "offset": 0}]
    return Plan.model_validate({"status": "feasible", "placements": rows})


def test_a_printed_page_has_no_buttons(open_page: Any) -> None:
    page = open_page(plan_page(LONE, solve(LONE)))
    page.emulate_media(media="print")
    assert page.locator(".bar button:visible").count() == 1  # Only the badge must be printed.
    assert page.evaluate("getComputedStyle(document.querySelector('.side')).overflow") == "visible"
    page.emulate_media(media="screen")
