"""Every entrance and output either handles a problem with moves or refuses it by name."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_json

import memplan
from memplan.api.reports.picture import draw
from memplan.api.reports.plan_formats import PLAN_FORMATS, write_plan
from memplan.api.requests import head_of, parse_request
from memplan.extensions.files.compare.compare import compare
from memplan.extensions.files.compare.moving import MovesComparison
from memplan.extensions.page.file_page import plan_view
from memplan.planner.errors import InputError, OptionError, PlanError, ProblemError
from memplan.planner.foreign.layout import lay_out
from memplan.planner.foreign.writing import EXPORTERS, export
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.application import Application
from memplan.planner.model.moving import as_pieces
from memplan.planner.model.objects import objects_from_problem
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions import QUESTIONS
from memplan.questions.explain.explain import explanation_lines
from memplan.questions.plan.answers import plan_lines
from memplan.solvers.search.control import Control

ASKED: dict[str, Any] = {
    "moves": True,
    "pools": [{"name": "sram", "size": 64}, {"name": "psram", "cost": 4, "direct": False}],
    "buffers": [
        {"id": "skip", "size": 64, "start": 0, "end": 5, "accesses": [0, 4]},
        {"id": "big", "size": 64, "start": 1, "end": 4, "accesses": [1, 2, 3]},
    ],
}
PROBLEM = Problem.model_validate(ASKED)
WITH_RETURN: dict[str, Any] = {
    "moves": {},
    "pools": [{"name": "sram", "size": 64, "reserved": [[0, 8]]}, {"name": "psram", "cost": 4}],
    "buffers": [
        {"id": "skip", "size": 40, "start": 0, "end": 7, "accesses": [0, 1, 5, 6]},
        {"id": "big", "size": 48, "start": 2, "end": 5, "accesses": [2, 3, 4]},
        {"id": "late", "size": 8, "start": 4, "end": 7, "accesses": [4, 6]},
    ],
}
"""`skip` must leave the fast pool from 2 to 5, which costs 320; in the slow one all its life, it would cost 640."""


@pytest.fixture(scope="module")
def plan() -> memplan.Plan:
    found = memplan.plan(PROBLEM)
    assert found.cost == 2 * 64 * 4
    return found


PROGRAM = """\
#include <string.h>
#include "plan.h"
static int is_copied(int time, int is_after) {
    int count = 0;
    for (unsigned k = 0; k < PLAN_COPIES; k++)
        if (plan_copies[k].time == time && plan_copies[k].is_after == is_after) {
            memcpy(plan_copies[k].to, plan_copies[k].from, plan_copies[k].bytes);
            count++;
        }
    return count;
}
int main(void) {
    memset(PLAN_ADDRESS_skip_1, 7, PLAN_SIZE_skip_1);
    if (is_copied(0, 0) != 0 || is_copied(0, 1) != 1) return 1;
    memset(PLAN_ADDRESS_big, 9, PLAN_SIZE_big);
    if (is_copied(4, 0) != 1) return 2;
    return PLAN_ADDRESS_skip_3[0] == 7 && PLAN_ADDRESS_skip_3[63] == 7 ? 0 : 3;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_copies_in_c_bring_a_buffer_back_in_time(plan: memplan.Plan, tmp_path: Path) -> None:
    for suffix, data in export("c", lay_out(PROBLEM, plan), "plan").items():
        (tmp_path / f"plan{suffix}").write_bytes(data)
    (tmp_path / "main.c").write_text(PROGRAM)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["gcc", *flags, "plan.c", "main.c", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


@pytest.mark.parametrize("target", sorted({*EXPORTERS} - {"c"}))
def test_other_targets_cannot_express_copies(target: str, plan: memplan.Plan) -> None:
    with pytest.raises(OptionError, match=f"moves: must be left out for the target {target}"):
        export(target, lay_out(PROBLEM, plan), "plan")


@pytest.mark.parametrize("name", sorted({*PLAN_FORMATS} - {"json"}))
def test_other_formats_cannot_express_copies(name: str, plan: memplan.Plan) -> None:
    with pytest.raises(OptionError, match=f"moves: must be left out for the format {name}"):
        write_plan(plan, PROBLEM, name)


def test_pieces_are_a_valid_plain_plan_with_names_of_their_own(plan: memplan.Plan) -> None:
    problem, pieces = as_pieces(PROBLEM, plan)
    assert list(problem.buffers.ids) == ["skip#1", "skip#2", "skip#3", "big"]
    assert not verify(problem, pieces.model_copy(update={"cost": None, "cost_lower_bound": None, "proof": None}))
    assert draw(PROBLEM, plan).count(b"<title>skip#") == 3
    assert b"<title>skip: 64 bytes copied from psram to sram at time 4</title>" in draw(PROBLEM, plan)
    assert plan_view(PROBLEM, plan)["plan"]["copies"] == [{"time": 0, "pair": [0, 1]}, {"time": 4, "pair": [1, 2]}]
    assert [*plan_lines(plan)][1:4] == [
        "2 buffers in 4 pieces",
        'from "sram" to "psram": 1 copy, 64 bytes',
        'from "psram" to "sram": 1 copy, 64 bytes',
    ]


def test_columns_have_the_times_of_pieces(plan: memplan.Plan) -> None:
    columns = plan.to_columns()
    assert [*zip(columns["id"], columns["start"], columns["end"], strict=True)] == [
        (row.id, row.start, row.end) for row in plan.placements
    ]
    assert plan["big"].pool == "sram"
    with pytest.raises(PlanError, match='a buffer that moves, got "skip"'):
        plan["skip"]


def test_the_verdict_on_a_plan_is_of_its_pieces(plan: memplan.Plan) -> None:
    found = memplan.verify(PROBLEM, plan)
    assert found.valid
    assert found.recounted_cost is None
    assert [pool.used for pool in found.pools] == [64, 64]
    moved = plan.model_copy(update={"copies": plan.copies[:1]})
    assert memplan.verify(PROBLEM, moved).unmendable == "buffers that move are planned anew: `memplan plan`"


CHANGES: list[tuple[str, Any]] = [
    *(("moves", value) for value in ({"lead": 1}, {"bytes_per_step": 64}, False)),
    ("direct", True),
    *(("accesses", value) for value in ([0, 3], [0, {"time": 4, "kind": "write"}])),
    *(("given", "sram"), ("kept_in", "psram")),
]


@pytest.mark.parametrize(("field", "value"), CHANGES)
def test_hashes_tell_problems_with_moves_apart(field: str, value: Any) -> None:
    copy = {**ASKED, "pools": [dict(row) for row in ASKED["pools"]], "buffers": [dict(row) for row in ASKED["buffers"]]}
    if field == "moves":
        copy["moves"] = value
        if not value:
            del copy["pools"][1]["direct"]
    else:
        (copy["pools"][1] if field == "direct" else copy["buffers"][0])[field] = value
    assert problem_hash(Problem.model_validate(copy)) != problem_hash(PROBLEM)
    assert problem_hash(Problem.model_validate({**ASKED, "moves": {"lead": 0}})) == problem_hash(PROBLEM)


def test_the_plan_cache_is_not_asked_about_moves() -> None:
    head = head_of("application/json", "")
    assert not parse_request("plan", head, to_json({"problem": ASKED})).is_plain_plan
    assert parse_request("plan", head, to_json({"problem": {**ASKED, "moves": False}})).is_plain_plan


@pytest.mark.parametrize("name", [name for name in QUESTIONS if not QUESTIONS[name].takes_moves])
def test_questions_refuse_moves_by_name(name: str) -> None:
    question = QUESTIONS[name]
    if "problem" in {each.name for each in question.inputs}:
        with pytest.raises(OptionError, match=f"moves: must be left out for {name}"):
            question.answer_verified({"problem": PROBLEM}, question.options.model_construct(), Control())


@pytest.mark.parametrize(("most", "failures"), [(128, []), (127, ["over-budget"])])
def test_a_check_budgets_the_bytes_of_all_copies(most: int, failures: list[str], plan: memplan.Plan) -> None:
    for given in (plan, None):
        found = memplan.check(PROBLEM, given, most_moved=most)
        assert [failure.rule for failure in found.failures] == failures
        assert [pool.used for pool in found.pools] == [64, 64]


def test_a_check_of_moves_has_no_baseline(plan: memplan.Plan) -> None:
    with pytest.raises(OptionError, match="moves: must be left out for a check against a baseline"):
        memplan.check(PROBLEM, plan, baseline=plan)
    with pytest.raises(OptionError, match="most_moved: applies only if buffers may move, got 5"):
        memplan.check(as_pieces(PROBLEM, plan)[0], most_moved=5)


@pytest.mark.parametrize("options", [{"heaps": 64}, {"profile": "size"}, {"accept": "fit"}])
def test_options_of_whole_buffers_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="must be left out for a"):
        memplan.plan(PROBLEM, **options)


def test_an_old_plan_cannot_be_kept(plan: memplan.Plan) -> None:
    with pytest.raises(OptionError, match="moves: must be left out for a plan with keep"):
        memplan.plan(PROBLEM, keep=plan)


def test_a_sweep_shows_what_more_of_a_pool_saves() -> None:
    found = memplan.sweep(PROBLEM, {"sram": [64, 96, 128]}, time_limit_s=6)
    assert [(row.size, row.cost) for row in found.points] == [(64, 512), (96, 512), (128, 0)]


def test_the_peaks_of_single_pools_are_not_reported_as_progress() -> None:
    said: list[Any] = []
    memplan.plan(PROBLEM, control=Control(report=said.append))
    assert said == []


def test_a_plan_costs_no_more_than_the_one_from_which_it_starts(plan: memplan.Plan) -> None:
    assert memplan.solve(PROBLEM, start=plan, solver="greedy").cost == plan.cost


def test_an_explanation_says_why_a_buffer_leaves_and_what_it_costs() -> None:
    found = memplan.explain(Problem.model_validate(WITH_RETURN))
    (left,) = found.departures
    assert left.model_dump(exclude={"sentence"}) == {
        "buffer": "skip", "pool": "sram", "time": 2, "waits_in": "psram", "back": 5, "fullest": 4, "bytes": 56,
        "used_bytes": 56, "beside": ("big", "late"), "displaced": 40, "no_room": ((2, 5),), "cost": 320.0,
        "cost_elsewhere": 640.0,
    }  # fmt: skip
    assert [*explanation_lines(found)][-1] == (
        'leaves       "skip" (40 bytes) leaves "sram" at 2 for "psram" and returns at 5: at 4, 2 other buffers there'
        ' ("big", "late") have 56 of 56 bytes, 56 of them used then; it has no room from 2 to 5, and would displace 40'
        ' bytes. Its accesses and copies cost 320; in "psram" all its life, 640'
    )
    with pytest.raises(OptionError, match="what_if: must be left out for a problem with moves, got true"):
        memplan.explain(PROBLEM, what_if=True)


def test_moves_are_compared_with_the_baseline_and_with_none(plan: memplan.Plan) -> None:
    data = to_json(WITH_RETURN)
    found = compare(data, plan=memplan.plan(Problem.model_validate(WITH_RETURN)))
    assert isinstance(found, MovesComparison)
    assert [(row.name, row.cost, row.pieces, row.copies) for row in found.plans] == [
        *(("given", 320, 5, 2), ("without moves", 576, 3, 0), ("baseline", 320, 5, 2), ("with moves", 320, 5, 2))
    ]
    assert (found.saved, found.status) == (256, "optimal")
    with pytest.raises(PlanError, match="plan: must be a valid plan of the problem: "):
        compare(data, plan=plan)


@pytest.mark.parametrize("use", [compile_problem, objects_from_problem])
def test_what_takes_whole_buffers_refuses_moves(use: Any) -> None:
    with pytest.raises(InputError, match="moves: must be left out"):
        use(PROBLEM)


def test_several_models_do_not_move_their_buffers() -> None:
    with pytest.raises(ProblemError, match="moves: must be left out for several models"):
        Application.model_validate({"models": {"a": ASKED, "b": {"buffers": []}}, "pools": ASKED["pools"]})


def test_moves_that_fit_nowhere_are_infeasible_without_a_further_search() -> None:
    rows = [row | {"size": 65} for row in ASKED["buffers"]]
    assert memplan.plan(Problem.model_validate({**ASKED, "buffers": rows})).status == "infeasible"
