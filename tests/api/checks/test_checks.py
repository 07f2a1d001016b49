"""`memplan check`: budgets, baselines, failures when a plan exceeds them, and reports of failures."""

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from pydantic import TypeAdapter

from memplan.api.checks.reports import REPORTS
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions.check.budgets import Tolerance, limit_pools, plan_within, read_budgets
from memplan.questions.check.check import QUESTION, Check, CheckOptions, check, check_lines, check_plan
from memplan.questions.check.pools import RULES
from memplan.questions.plan.baseline import Baseline, checked_baseline, read_baseline_parts, write_baseline
from memplan.questions.question import Control
from memplan.solvers.portfolio.solve import solve


def problem_of(*sizes: int, **more: Any) -> Problem:
    """Return a problem of buffers b0, b1, … with these sizes, each alive together with the next."""
    rows = [{"id": f"b{k}", "size": size, "start": k, "end": k + 2} for k, size in enumerate(sizes)]
    return Problem.model_validate({"buffers": rows, **more})


OLD = problem_of(64, 32, 16)
NEW = problem_of(64, 48, 16)
BASELINE = Baseline(solve(OLD), OLD)


def check_of(problem: Problem, tolerance: str = "0", baseline: Baseline | None = BASELINE, **budgets: int) -> Check:
    found = check_plan(problem, solve(problem), budgets, baseline, Tolerance.from_text(tolerance))
    return found.model_copy(update={"subject": "models/a model.csv"})


def read_baseline(data: bytes, name: str | None, now: Problem, problem: Problem | None = None) -> Baseline:
    return checked_baseline(read_baseline_parts(data, name, problem), now)


def solve_share(problem: Problem, /, *, share: float) -> Plan:
    return solve(problem, time_limit_s=10 * share)


@pytest.mark.parametrize(
    ("text", "allowed"), [("0", 0), ("512", 512), ("1KiB", 1024), ("2%", 20), ("0.15%", 1), ("100%", 1000)]
)
def test_a_tolerance_is_a_byte_count_or_a_percentage_of_the_baseline(text: str, allowed: int) -> None:
    assert Tolerance.from_text(text).allowed_growth(1000) == allowed


@pytest.mark.parametrize("text", ["", "%", "-1%", "1/0%", "a lot", "-5", "nan%", "1e9%"])
def test_malformed_tolerances_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="tolerance: must be a size or a percentage, such as 512, 1KiB or 2%, got "):
        Tolerance.from_text(text)


def test_budgets_define_pools_for_a_problem_without_named_pools() -> None:
    assert read_budgets(["64"], OLD) == (OLD, {"default": 64})
    found, budgets = read_budgets(["sram=64", "dram=1KiB"], OLD)
    assert [(pool.name, pool.size) for pool in found.pools] == [("sram", None), ("dram", None)]
    assert budgets == {"sram": 64, "dram": 1024}
    assert [pool.size for pool in limit_pools(found, budgets).pools] == [64, 1024]
    assert read_budgets(["sram=64", "dram=unlimited"], OLD)[1] == {"sram": 64}
    assert read_budgets(["unlimited"], found) == (found, {})


def test_a_problem_without_buffers_uses_no_bytes() -> None:
    found = check_of(Problem.model_validate({"buffers": []}), default=0)
    assert (found.passed, found.pools[0].used, found.pools[0].live_set.buffers) == (True, 0, ())
    assert found.placements is not None
    assert found.placements.gone == 3


def test_limit_pools_never_increases_the_size_of_a_pool() -> None:
    assert limit_pools(problem_of(1, pools=[{"name": "fast", "size": 8}]), {"fast": 100}).pools[0].size == 8


def test_a_plan_stays_within_a_pool_budget_by_moving_buffers_to_another_pool() -> None:
    problem = problem_of(64, 32, 16, pools=[{"name": "fast", "size": 512}, {"name": "slow"}])
    plan = plan_within(problem, {"fast": 80}, solve_share)
    assert [(use.name, use.used, use.size) for use in plan.pools] == [("fast", 64, 512), ("slow", 32, None)]
    assert verify(problem, plan) == ()
    assert (plan.status, plan.lower_bound) == ("feasible", None)


def test_a_check_plans_with_the_smallest_excess_if_no_plan_meets_the_budgets() -> None:
    problem = problem_of(64, 32, pools=[{"name": "fast", "size": 512}, {"name": "slow", "size": 16}])
    plan = plan_within(problem, {"fast": 80}, solve_share)
    assert ([use.used for use in plan.pools], plan.status) == ([96, 0], "optimal")
    assert plan_within(OLD, {"default": 80}, solve_share).lower_bound == 96


def test_a_plan_within_budget_and_baseline_passes() -> None:
    found = check_of(OLD, default=96)
    assert (found.passed, found.failures, found.pools[0].over_budget, found.pools[0].growth) == (True, (), 0, 0)
    assert found.placements is not None
    assert (found.placements.same, found.placements.moved, found.placements.new, found.placements.gone) == (3, 0, 0, 0)


def test_a_pool_over_budget_is_reported_with_the_excess_and_its_live_buffers() -> None:
    (failure,) = check_of(OLD, baseline=None, default=80).failures
    assert (failure.rule, failure.pool) == ("over-budget", "default")
    assert failure.message == (
        'pool "default": uses 96 bytes, 16 above its budget of 80; it needs at least 96. '
        'Alive at 1: "b0" (64), "b1" (32)'
    )


def test_a_pool_that_has_grown_is_reported_with_the_buffers_that_caused_it() -> None:
    (failure,) = check_of(NEW).failures
    assert failure.message == (
        'pool "default": uses 112 bytes, 16 more than the 96 of the baseline, where 0 are allowed. '
        'At the peak there are more of: "b1" (+16 bytes, grown, was 32)'
    )
    assert check_of(NEW, "16").passed
    assert check_of(NEW, "17%").passed
    assert not check_of(NEW, "16%").passed


def test_a_growth_failure_lists_the_first_causes_and_counts_the_rest() -> None:
    rows = [{"id": f"n{k}", "size": 8, "start": 0, "end": 1} for k in range(30)]
    (failure,) = check_of(Problem.model_validate({"buffers": rows})).failures
    assert failure.message.endswith('"n12" (+8 bytes, new), and 25 others')


def test_growth_without_more_live_bytes_is_attributed_to_worse_packing() -> None:
    rows = [{"id": f"b{k}", "pool": "default", "offset": offset} for k, offset in enumerate((0, 64, 96))]
    (failure,) = check_plan(OLD, Plan.model_validate({"placements": rows}), {}, BASELINE, Tolerance()).failures
    assert failure.message.endswith("No more bytes are alive than before: the plan packs them less well")


def test_a_pool_missing_from_the_baseline_counts_as_previously_unused() -> None:
    (pool,) = check_of(problem_of(64, 32, 16, pools=[{"name": "sram"}])).pools
    assert (pool.before, pool.growth) == (0, 96)
    assert {cause.kind for cause in pool.causes or ()} == {"from-another-pool"}


def test_a_check_of_an_infeasible_problem_fails_with_the_reason() -> None:
    (failure,) = check_of(problem_of(64, 32, pools=[{"name": "sram", "size": 80}])).failures
    assert (failure.rule, failure.pool) == ("no-plan", "sram")
    assert "16" in failure.message


def test_a_baseline_reads_back_as_written() -> None:
    found = read_baseline(write_baseline(OLD, BASELINE.plan), "x.json", NEW)
    assert (found, found.used) == (BASELINE, {"default": 96})


def test_a_baseline_plan_without_its_problem_gives_pool_usage_but_no_causes_of_growth() -> None:
    data = BASELINE.plan.model_dump_json().encode()
    assert read_baseline(data, "plan.json", NEW).problem is None
    assert read_baseline(data, "plan.json", NEW, OLD).problem == OLD
    assert read_baseline(data, "plan.json", problem_of(64, 32, 16)).problem == OLD
    (failure,) = check_of(NEW, baseline=read_baseline(data, "plan.json", NEW)).failures
    assert failure.message.endswith("so it is not known which buffers made the pool grow")


def test_a_csv_table_of_offsets_and_its_problem_form_a_baseline() -> None:
    assert read_baseline(b"id,offset\nb0,0\nb1,64\nb2,0\n", "plan.csv", NEW, OLD).used == {"default": 96}


PASSED, FAILED = check_of(OLD, default=96), check_of(NEW, default=80)
NOTHING = check_of(problem_of(64, 32, pools=[{"name": "sram", "size": 80}]))


def test_markdown_reports_contain_a_table_of_pools_and_a_table_of_causes_of_growth() -> None:
    text = REPORTS[".md"](FAILED).decode()
    assert text.startswith("## Memory of models/a model.csv: **not within limits**\n- pool")
    assert "| default | 112 | 80 | 96 | +16 | 112 | ✗ |" in text
    assert '| "b1" | +16 | grown | 32 | 48 |' in text
    assert FAILED.placements is not None
    assert (
        f"\nPlacements: {FAILED.placements.same} as before, {FAILED.placements.moved} moved, 0 new, 0 gone.\n" in text
    )
    text = REPORTS[".md"](PASSED).decode()
    assert text.startswith("## Memory of models/a model.csv: within limits\n")
    assert "| default | 96 | 96 | 96 | +0 | 96 | ✓ |" in text


def test_markdown_reports_escape_special_characters_in_buffer_names() -> None:
    rows = [{"id": "a|b\n<b>*", "size": 8, "start": 0, "end": 1}]
    text = REPORTS[".md"](check_of(Problem.model_validate({"buffers": rows}), baseline=BASELINE, default=1)).decode()
    assert "a\\|b\\\\n\\<b\\>\\*" in text
    assert all(line.count(" | ") in (0, 6) for line in text.splitlines() if line.startswith("| "))


def test_junit_reports_have_a_test_case_for_each_pool_and_rule() -> None:
    for found, failed in ((PASSED, []), (FAILED, ["over-budget", "grown"]), (NOTHING, ["no-plan"])):
        root = ET.fromstring(REPORTS[".xml"](found))
        (suite,) = root.findall("testsuite")
        cases = suite.findall("testcase")
        failures = [failure for case in cases for failure in case.findall("failure")]
        assert [failure.get("type") for failure in failures] == failed
        assert [failure.get("message") for failure in failures] == [entry.message for entry in found.failures]
        for element in (root, suite):
            assert (element.get("tests"), element.get("failures")) == (str(len(cases)), str(len(failed)))
    names = [case.get("name") for case in ET.fromstring(REPORTS[".xml"](PASSED)).iter("testcase")]
    assert names == ["there is a plan", "default is within its budget", "default has not grown"]


def test_junit_reports_are_valid_xml_even_with_control_characters_in_names() -> None:
    odd = problem_of(8, pools=[{"name": "a\x00\ufffe]]>&\"'<"}])
    said = check_plan(odd, solve(odd), {odd.pools[0].name: 1}, None, Tolerance()).model_copy(update={"subject": "\x1b"})
    (failure,) = ET.fromstring(REPORTS[".xml"](said)).iter("failure")
    assert "above its budget" in (failure.get("message") or "")


def test_sarif_reports_conform_to_their_schema() -> None:
    """Check the properties that SARIF 2.1.0 requires, and further properties that code hosts require."""
    for found in (PASSED, FAILED, NOTHING):
        log = json.loads(REPORTS[".sarif"](found))
        assert (log["version"], log["$schema"].endswith("sarif-2.1.0.json")) == ("2.1.0", True)
        (run,) = log["runs"]
        driver = run["tool"]["driver"]
        assert (driver["name"], [rule["id"] for rule in driver["rules"]]) == ("memplan", list(RULES))
        assert all(set(rule["shortDescription"]) == {"text"} for rule in driver["rules"])
        assert (run["invocations"], len(run["results"])) == ([{"executionSuccessful": True}], len(found.failures))
        for result, failure in zip(run["results"], found.failures, strict=True):
            assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == failure.rule
            assert result["level"] in ("none", "note", "warning", "error")
            assert result["message"] == {"text": failure.message}
            (place,) = result["locations"]
            assert place["physicalLocation"]["artifactLocation"]["uri"] == "models/a%20model.csv"
            assert place["physicalLocation"]["region"]["startLine"] >= 1
            assert all(isinstance(mark, str) for mark in result["partialFingerprints"].values())


def test_a_sarif_growth_result_lists_the_buffers_that_raised_the_peak() -> None:
    over, grown = json.loads(REPORTS[".sarif"](FAILED))["runs"][0]["results"]
    assert "relatedLocations" not in over
    (related,) = grown["relatedLocations"]
    assert related["logicalLocations"] == [{"name": "b1", "kind": "buffer"}]
    assert related["message"] == {"text": "+16 bytes, grown"}


def test_a_sarif_result_keeps_its_fingerprint_when_its_numbers_change() -> None:
    reports = [json.loads(REPORTS[".sarif"](check_of(problem_of(64, size), default=80))) for size in (48, 49)]
    prints = [report["runs"][0]["results"][0]["partialFingerprints"] for report in reports]
    assert prints[0] == prints[1]


def test_check_solves_a_problem_without_a_plan_and_its_json_round_trips() -> None:
    options = CheckOptions(budgets=("80",), tolerance="1", subject="a.csv", deterministic=True, with_plan=True)
    found = check(NEW, None, BASELINE, options=options, control=Control())
    rules = [failure.rule for failure in found.failures]
    assert (found.subject, found.passed, rules) == ("a.csv", False, ["over-budget", "grown"])
    assert found.plan is not None
    assert (verify(NEW, found.plan), check(NEW, found.plan, BASELINE, options=options).failures) == ((), found.failures)
    read = TypeAdapter(Check).validate_json(QUESTION.write(found))
    assert list(check_lines(read)) == list(check_lines(found))
    assert REPORTS[".md"](read) == REPORTS[".md"](found)
