"""Other planners as solvers: refused, checked, and with the offsets of the originals."""

from __future__ import annotations

import json
import threading
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from memplan.planner.errors import OptionError
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.systems import ReferencePlanner, reference_planners
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.reference import checked
from memplan.solvers.reference.tensors import Placed, StopCheck
from memplan.solvers.search.control import Control
from memplan.solvers.search.incumbent import Search
from tests.support import oracle
from tests.support.planner_inputs import Row, digest, planner_input
from tests.support.tiny import FEATURES, random_tiny

GREEDY = "reference:executorch-greedy"
PROBLEMS = FEATURES | {f"random {seed}": random_tiny(seed) for seed in range(15)}
TIGHT: dict[str, Any] = {
    "buffers": [
        {"id": "a", "size": 10, "start": 0, "end": 1},
        {"id": "b", "size": 6, "start": 1, "end": 2},
        {"id": "c", "size": 6, "start": 1, "end": 2},
    ]
}
"""12 bytes are enough; ExecuTorch needs 16, as only one of two fits into an object of 10."""
EASY: dict[str, Any] = {"buffers": TIGHT["buffers"][:2]}


def plan_of(problem: dict[str, Any], accept: str | None = None, control: Control = Control()) -> Plan:
    return solve(Problem.model_validate(problem), solver=GREEDY, accept=accept, control=control)


@pytest.mark.parametrize("planner", reference_planners())
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_planner_refuses_explains_or_gives_a_plan_that_holds(name: str, planner: str) -> None:
    problem = PROBLEMS[name]
    if cannot := checked.needed_features(problem, compile_problem(problem)) - reference_planners()[planner].can:
        with pytest.raises(OptionError, match=f"solver: {planner} cannot do {', '.join(sorted(cannot))}"):
            solve(problem, solver=planner)
        return
    plan = solve(problem, solver=planner)
    assert verify(problem, plan) == ()
    least = oracle.best_score(problem)
    if plan.status == "infeasible":
        assert least is None
    elif plan.status == "unknown":
        assert plan.explanation is not None
        assert plan.explanation.message.startswith(planner)
    else:
        assert oracle.check(problem, list(plan.placements)) == []
        assert least is not None
        if plan.status == "optimal" and problem.objective != "fit":
            assert tuple(pool.used for pool in reversed(plan.pools)) == least[-len(problem.pools) :]
            assert plan.cost is None or plan.cost == pytest.approx(least[0], rel=1e-12)


def test_what_a_planner_cannot_express_is_named() -> None:
    with pytest.raises(OptionError) as caught:
        solve(FEATURES["holes"], solver=GREEDY)
    assert str(caught.value) == f"solver: {GREEDY} cannot do holes"


def test_a_planner_that_is_none_is_named_with_those_that_are() -> None:
    with pytest.raises(OptionError) as caught:
        solve(FEATURES["plain"], solver="reference:best")
    assert str(caught.value).startswith("solver: reference: must come with one of tflite-micro-greedy, ")
    assert str(caught.value).endswith(', got "reference:best"')


def test_a_plan_that_breaks_a_rule_is_no_plan_and_says_which() -> None:
    assert plan_of({**TIGHT, "pools": [{"size": 16}]}).status == "feasible"
    plan = plan_of({**TIGHT, "pools": [{"size": 15}]})
    assert (plan.status, plan.placements.ids, plan.stop_reason) == ("unknown", (), None)
    assert plan.explanation is not None
    message = 'buffer "b": must end at 15 at the most, got offset 10 of "default"'
    assert plan.explanation.message == f"{GREEDY} made a plan that breaks rules of the problem: {message}"
    assert plan.explanation.buffers == ("b",)


def test_that_nothing_fits_is_said_only_with_a_proof() -> None:
    plan = plan_of({**TIGHT, "pools": [{"size": 11}]})
    assert plan.status == "infeasible"
    assert plan.explanation is not None
    assert plan.explanation.missing_bytes == 1


def test_a_plan_is_optimal_where_the_bound_says_so_and_else_has_no_reason_to_stop() -> None:
    plan = plan_of(EASY)
    assert (plan.status, plan.stop_reason, plan.gap) == ("optimal", "proved", 0.0)
    assert plan.proof is not None
    assert plan.proof.buffers == ("a",)
    plan = plan_of(TIGHT)
    assert (plan.status, plan.stop_reason, plan.lower_bound, plan.peak) == ("feasible", None, 12, 16)
    assert plan_of(TIGHT, accept="40%").stop_reason == "accepted"
    assert plan_of(TIGHT, accept="30%").stop_reason is None
    assert plan_of({**TIGHT, "objective": "fit"}).stop_reason == "accepted"


def test_a_cancelled_planner_says_that_it_was_stopped() -> None:
    cancelled = threading.Event()
    cancelled.set()
    plan = plan_of(EASY, control=Control(cancelled=cancelled))
    assert (plan.status, plan.stop_reason) == ("unknown", "cancelled")
    assert plan.explanation is not None
    assert plan.explanation.message == f"{GREEDY} was stopped before it had placed every buffer"


def nowhere(problem: Problem, seed: int, stop_check: StopCheck) -> Placed:
    """Place nothing, as if four buffers fitted nowhere."""
    return Placed({}, stuck=(0, 1, 2, 3))


def test_of_many_buffers_that_fit_nowhere_a_few_are_named() -> None:
    problem = Problem.model_validate({"buffers": [{"id": i, "size": i, "start": 0, "end": 1} for i in range(4)]})
    planner = ReferencePlanner("reference:nowhere", "", "", f"{__name__}:nowhere")
    instance = compile_problem(problem)
    plan = checked.reference_plan(problem, instance, planner, Search(instance, deadline=float("inf"))).plan
    assert plan.explanation is not None
    names = "buffer 0 (0 bytes), buffer 1 (1 bytes), buffer 2 (2 bytes), ..."
    assert plan.explanation.message == f"reference:nowhere: cannot fit {names} in any memory"
    assert plan.explanation.buffers == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("planner", "rows", "expected"),
    [
        # The gap of 2 bytes is smaller than that of 4, though it lies higher.
        ("mlir-best-fit", [(4, 0, 1), (3, 0, 9), (2, 0, 1), (3, 0, 9), (2, 1, 2)], [0, 4, 7, 9, 7]),
        # Behind all that is alive there is room up to the end of what was ever placed.
        ("mlir-best-fit", [(4, 0, 9), (4, 0, 1), (3, 1, 2), (2, 1, 2)], [0, 4, 4, 7]),
        # What starts earlier is placed earlier, so that a large buffer that comes late lies on top.
        ("mlir-best-fit", [(2, 0, 2), (2, 1, 3), (8, 2, 4)], [0, 2, 4]),
        ("onnxruntime-memory-pattern", [(1, 0, 2), (300, 0, 1), (200, 1, 2)], [0, 256, 256]),
    ],
)
def test_what_starts_earlier_takes_the_smallest_gap(
    planner: str, rows: list[tuple[int, int, int]], expected: list[int]
) -> None:
    buffers = [{"id": k, "size": size, "start": start, "end": end} for k, (size, start, end) in enumerate(rows)]
    plan = solve(Problem.model_validate({"buffers": buffers}), solver=f"reference:{planner}")
    assert plan.placements.offset.tolist() == expected


RECORDED: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("runtime_planners.json").read_text())
"""From a planner to the hashes of the original's offsets for the first inputs, by their number."""


def problem(rows: list[Row]) -> Problem:
    """Return the buffers; every third is the gradient of a weight for planners that ask."""
    names = [f"b{k}:grad" if k % 3 == 0 else f"b{k}" for k in range(len(rows))]
    return Problem.model_validate(
        {"buffers": [{"id": n, "size": s, "start": a, "end": b} for n, (s, a, b) in zip(names, rows, strict=True)]}
    )


@cache
def drawn(seed: int) -> Problem:
    return problem(planner_input(seed))


def offsets(planner: str, wanted: Problem) -> list[int]:
    placements = reference_planners()[f"reference:{planner}"].load()(wanted, 0, lambda: None).placements
    return [placements[k][1] for k in range(len(wanted.buffers))]


@pytest.mark.parametrize("planner", RECORDED)
@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_offsets_are_those_of_the_original(planner: str, count: int) -> None:
    answers = [offsets(planner, drawn(seed)) for seed in range(count)]
    assert digest(answers) == RECORDED[planner][str(count)]


def test_gradients_that_nntrainer_v2_puts_over_one_another_are_named() -> None:
    rows = [(8, 1, 2), (1, 0, 1), (1, 0, 1), (4, 0, 4)]
    plan = solve(problem(rows), solver="reference:nntrainer-v2")
    assert plan.status == "unknown"
    assert plan.explanation is not None
    assert set(plan.explanation.buffers) == {"b0:grad", "b3:grad"}


@pytest.mark.parametrize("planner", RECORDED)
def test_alignments_are_kept(planner: str) -> None:
    rows = [{"id": k, "size": 10 + k, "start": k, "end": k + 3, "alignment": 64} for k in range(6)]
    plan = solve(Problem.model_validate({"buffers": rows}), solver=f"reference:{planner}")
    assert plan.status in ("optimal", "feasible")
    assert all(offset % 64 == 0 for offset in plan.placements.offset.tolist())
