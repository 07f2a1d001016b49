"""Tests of the page that plans in the browser: its input rules in node, and the page in Chromium if it can be built."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lab import browser_page
from memplan import Plan, Problem, read_problem, solve, verify
from memplan.extensions.page.tests.browser import DROP, Tab, tab, wait_until

ROOT = Path(__file__).parents[3]
RULES: dict[str, Any] = {
    "name": "rules",
    "interval": "closed",
    "buffers": [
        {"id": 1, "size": 100, "lifetimes": [[0, 1], [6, 7]], "alignment": 16},
        {"id": "1", "size": 60, "start": 3, "end": 4, "pools": ["sram"]},
        {"id": "pin", "size": 32, "start": 0, "end": 9, "offset": 160},
        {"id": "late", "size": 40, "start": 8, "end": 9, "alignment": 12},
        {"id": "none", "size": 0, "start": 2, "end": 2},
    ],
    "conflicts": [[1, "1"]],
    "pools": [{"name": "sram", "size": 4096, "alignment": 8, "base_address": 8, "reserved": [[8, 16], [0, 16]]}],
}
LARGE = {"buffers": [{"id": k, "size": 2**53 + 8 * k + 1, "start": 2**60 + k, "end": 2**60 + k + 2} for k in range(4)]}
SMALL = {"id": "a", "size": 64, "start": 0, "end": 2}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"pools": [{"name": "a"}, {"name": "b"}]}, "pools: this page plans one memory, got 2; memplan plan FILE"),
    ({"objective": "cost"}, 'objective: this page plans for the least peak, got "cost"; memplan plan FILE'),
    ({"buffers": [{**SMALL, "alias_of": "b"}]}, "buffers[0].alias_of: this page plans sizes, "),
    ({"buffers": [{**SMALL, "no_cross": 64}]}, "buffers[0].no_cross: this page plans sizes, "),
    ({"buffers": [{**SMALL, "relative": {"to": "b", "offset": 1}}]}, "buffers[0].relative: "),
    ({"buffers": [{**SMALL, "offset_mod": {"modulus": 2, "remainder": 1}}]}, "buffers[0].offset_mod: "),
    ({"buffers": [{**SMALL, "pools": ["other"]}]}, "buffers[0].pools: this page plans one memory, default, got other"),
    ({"buffers": [{"id": "a", "size": 64}]}, "buffers[0]: this page plans buffers with a lifetime; memplan plan"),
    ({"buffers": [{**SMALL, "sise": 1}]}, "buffers[0].sise: this page plans sizes, "),
    *(({name: [["a", "b"]]}, f"{name}: this page plans sizes, ") for name in ("may_share", "together", "same_offset")),
    ({"bank": [{"buffers": ["a", "b"]}]}, "bank: this page plans sizes, "),
    ({"reuse": {"pairs": [["a", "b"]], "cost": 1}}, "reuse: this page plans sizes, "),
    ({"equal_use": True}, "equal_use: this page plans sizes, "),
    ({"pools": [{"sise": 64}]}, "pools[0].sise: this page plans sizes, "),
    ({"format": "memplan/2"}, 'format: must be memplan/1, got "memplan/2"'),
    ({"interval": "open"}, 'interval: must be half-open or closed, got "open"'),
    ({"conflicts": [["a", "c"]]}, "conflicts[0]: must name two buffers, got a, c"),
    ({"buffers": [SMALL, SMALL]}, "buffers[1].id: must be unique, a is that of buffers[0] too"),
    ({"buffers": [{**SMALL, "end": 0}]}, "buffers[0].end: must be greater than start (0), got 0"),
    ({"buffers": [{**SMALL, "size": -1}]}, "buffers[0].size: must be an integer from 0 on, got -1"),
    ({"buffers": [{**SMALL, "alignment": 0}]}, "buffers[0].alignment: must be an integer from 1 on, got 0"),
    ({"buffers": [{**SMALL, "start": 0.5}]}, "buffers[0].start: must be an integer of 64 bits, got 0.5"),
    ({"buffers": [{**SMALL, "lifetimes": [[0, 1]]}]}, "buffers[0].lifetimes: must not be given beside start and end"),
]
"""Pairs (fields that replace those of a small problem, start of the error with which the page refuses it)."""
TAKEN = {"may_share": [], "equal_use": False, "reuse": None}
"""Fields whose values have no effect, so the page accepts them."""
SCRIPT = """
import { rowsOf } from "%s";
const told = (problem) => {
  try { return [...rowsOf(problem, 2).rows].map(String); } catch (error) { return error.message; }
};
console.log(JSON.stringify(JSON.parse(process.argv[1]).map(told)));
"""


def rows_of(*problems: dict[str, Any]) -> list[Any]:
    """Return, for each problem, the list of numbers that the page passes to its solver, or the page's error message."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("modules are tested where node is installed")
    script = SCRIPT % (Path(__file__).parents[1] / "static" / "browser" / "rows.js").as_uri()
    command = [node, "--input-type=module", "--eval", script, json.dumps(problems)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_the_page_names_the_field_of_a_problem_that_it_cannot_plan() -> None:
    small = {"buffers": [SMALL, {**SMALL, "id": "b"}]}
    first, *refusals = rows_of(small | TAKEN, *(small | more for more, _ in REFUSED))
    assert first == [*"2000", str(2**63 - 1), "0", "2000", *("64", "0", "2", "1", str(-(2**63))) * 2]
    for refusal, (more, begins) in zip(refusals, REFUSED, strict=True):
        assert isinstance(refusal, str), more
        assert refusal.startswith(begins)


def test_the_page_has_a_rule_for_each_field_of_the_problem_format() -> None:
    source = (Path(__file__).parents[1] / "static" / "browser" / "rows.js").read_text(encoding="utf-8")
    schema = Problem.model_json_schema()
    fields = {*schema["properties"], *(key for row in ("Buffer", "Pool") for key in schema["$defs"][row]["properties"])}
    assert [name for name in sorted(fields) if f'"{name}"' not in source] == []


def test_the_page_sorts_and_merges_reserved_ranges_and_lifetimes() -> None:
    (rows,) = rows_of(RULES)
    gap, pair, ranges = [0, 2, 6], [0, 1], [0, 24]
    assert [int(word) for word in rows[:7]] == [5, 1, 1, 1, 4096, 8, 2000]
    assert [int(word) for word in rows[7 + 25 :]] == [*gap, *pair, *ranges]
    assert [int(rows[7 + 5 * k + 3]) for k in range(5)] == [16, 8, 8, 24, 8]


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """The built page, opened in a tab of the browser; tests are skipped without zig or esbuild."""
    if find_spec("ziglang") is None:
        pytest.skip("the page is made where zig is: pip install ziglang")
    if shutil.which("esbuild") is None:
        pytest.skip("the page is made where esbuild is: npm install --global esbuild@0.28.2")
    path = tmp_path_factory.mktemp("browser") / "memplan.html"
    browser_page.main([str(path)])
    with tab(browser) as found:
        found.page.goto(path.as_uri())
        yield found
        assert (found.errors, found.policy_breaks, found.requests) == ([], [], [path.as_uri()])


def status_text(found: Tab) -> str:
    wait_until(found, "!/^(planning.*)?$/.test(document.querySelector('[role=status]').textContent)")
    return str(found.page.evaluate("document.querySelector('[role=status]').textContent"))


def drop_file(found: Tab, name: str, text: str) -> str:
    found.page.evaluate("document.querySelector('[role=status]').textContent = ''")
    found.page.evaluate(DROP, [name, text])
    return status_text(found)


def shown_plan(found: Tab) -> Plan:
    script = """(() => { const { facts, pools, ids } = memplan.view.plan;
      const offsets = ids.map((_, i) => String(memplan.view.plan.offsetOf(i)));
      return JSON.stringify([facts.status, String(facts.peak), pools[0].name, ids, offsets]); })()"""
    status, peak, pool, ids, offsets = json.loads(found.page.evaluate(script))
    rows = [{"id": name, "pool": pool, "offset": int(at)} for name, at in zip(ids, offsets, strict=True)]
    return Plan.model_validate({"status": status, "peak": int(peak), "placements": rows})


def assert_planned(found: Tab, problem: Problem) -> None:
    """Assert that the page shows a valid plan with the same peak and status as memplan's own plan."""
    plan, own = shown_plan(found), solve(problem, time_limit_s=5)
    assert verify(problem, plan).valid
    assert (plan.peak, plan.status) == (own.peak, own.status)
    wait_until(found, "memplan.view.picture.filled > 0")


@pytest.mark.slow
def test_the_page_plans_its_example_and_dropped_files_with_the_same_peaks_as_memplan(page: Tab, tmp_path: Path) -> None:
    page.page.click("text=Plan >> nth=-1")
    assert status_text(page) == "optimal: peak 232 B, lower bound 232 B"
    example = tmp_path / "example.csv"
    example.write_text(page.page.input_value("textarea"), encoding="utf-8")
    assert_planned(page, read_problem(example))
    assert page.serious_violations() == []
    mobilenet = ROOT / "examples" / "mobilenet_v2.csv"
    assert drop_file(page, "mobilenet_v2.csv", mobilenet.read_text(encoding="utf-8")).startswith("optimal: peak ")
    assert_planned(page, read_problem(mobilenet))
    assert page.page.evaluate("memplan.view.plan.verdict.badge") == "valid"
    for value in (RULES, LARGE):
        assert drop_file(page, "problem.json", json.dumps(value)).startswith("optimal: peak ")
        assert_planned(page, Problem.model_validate(value))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"pools": [{"size": 100}]}, "infeasible: 128 bytes are alive at time 0, and the memory has 100"),
        ({"pools": [{"size": 130, "reserved": [[0, 8]]}]}, "infeasible: no plan keeps all rules within the 130 b"),
        ({"buffers": [{**SMALL, "offset": 0}, {**SMALL, "id": "b", "offset": 8}]}, "infeasible: a and b contradict"),
        ({"buffers": [{**SMALL, "offset": 4, "alignment": 8}]}, "infeasible: a contradicts itself"),
        ({"buffers": [{**SMALL, "size": 2**61}]}, "row 0: sizes, alignments, "),
    ],
)
def test_the_page_explains_why_no_plan_exists(page: Tab, more: dict[str, Any], told: str) -> None:
    assert drop_file(page, "small.json", json.dumps({"buffers": [SMALL, {**SMALL, "id": "b"}]} | more)).startswith(told)


@pytest.mark.slow
def test_the_page_reports_errors_in_a_table_or_an_input_field(page: Tab) -> None:
    for text, told in (
        ("id,lower,upper,size\na,0,2,x\n", 'buffers[0].size: must be an integer, got "x"'),
        ("id,lower,upper,size,offset\na,0,2,8,0\n", "list.csv: must be a problem without a plan; pins are "),
        ("id,lower,upper,size,kind\na,0,2,8,x\n", "column kind: this page reads id, lower, upper, "),
        ('{"placements": []}', "list.csv: must be a problem without a plan; pins are "),
        ('{"symbols": {}, "buffers": []}', "list.csv: is for memplan shapes FILE, "),
        (json.dumps({"buffers": [{**SMALL, "alias_of": "b"}]}), "buffers[0].alias_of: this page plans "),
    ):
        assert drop_file(page, "list.csv", text).startswith(told)
    page.page.fill("[type=number]", "90")
    text = "id,lower,upper,size\na,0,2,8\n"
    assert drop_file(page, "list.csv", text) == "seconds: must be from 0.1 to 60, got 90"
    page.page.fill("[type=number]", "5")
    page.page.fill("[type=text]", "7 B")
    assert drop_file(page, "list.csv", "id,lower,upper,size\na,0,2,8\n").startswith(
        "infeasible: 8 bytes are alive at time 0"
    )
    page.page.fill("[type=text]", "")
