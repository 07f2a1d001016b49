from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.mip.draft import F64, IntegerProgram
from memplan.solvers.mip.stages import EngineEffort, EngineRun, Outcome, pursue
from memplan.solvers.search.incumbent import Search


class MipEngine:
    """An engine that gives prepared answers to programs that minimise the peak, and records the peak's two limits.

    It finds the first `refused` programs without an objective infeasible, and leaves the next one open.
    """

    def __init__(
        self, *answers: Outcome, values: Callable[[IntegerProgram], F64] | None = None, refused: int = 0
    ) -> None:
        self.answers, self.values, self.refused = list(answers), values, refused
        self.asked: list[tuple[float, float]] = []
        self.decided: list[tuple[float, float]] = []
        self.programs: list[IntegerProgram] = []
        self.efforts: list[EngineEffort] = []
        self.had_start: list[bool] = []

    def __call__(self, run: EngineRun) -> Outcome:
        program = run.program
        peak = program.at["peak", 0]
        limits = program.lower[peak], program.upper[peak]
        if ("over", 0) in program.at:  # a part of a plan
            return Outcome("open")
        self.efforts.append(run.effort)
        if not program.cost.any():
            assert run.start is None
            self.decided.append(limits)
            return Outcome("infeasible" if len(self.decided) <= self.refused else "open")
        self.asked.append(limits)
        self.programs.append(program)
        self.had_start.append(run.start is not None)
        if self.values is not None:
            run.take(self.values(program))
        return self.answers.pop(0)


def ring(*sizes: int, **fields: object) -> Instance:
    """Return buffers in a ring of conflicts; for an odd ring, the lower bound is only the largest adjacent pair."""
    rows = [{"id": k, "size": size} for k, size in enumerate(sizes)]
    pairs = [(k, (k + 1) % len(sizes)) for k in range(len(sizes))]
    return compile_problem(Problem.model_validate({"buffers": rows, "conflicts": pairs, **fields}))


RING = ring(20, 21, 20, 21, 20)
"""A ring of conflicts whose lower bound is 41 and whose optimum is 61."""
LONG = (20, 21) * 100 + (20,)
"""Sizes of a ring so large that the engine first tests for a plan at the lower bound."""


def make_search(instance: Instance) -> Search:
    return Search(instance, deadline=time.monotonic() + 10)


def perturbed_optimum(program: IntegerProgram) -> F64:
    """Return column values of an optimal plan of RING whose offsets are slightly above the exact integers."""
    values = np.zeros(len(program.keys))
    for b, at in enumerate((0.0004, 20.0001, 0.0, 20.3, 41.7)):
        values[program.at["offset", b]] = at
    return values


def test_fractional_offsets_of_a_mip_engine_become_exact_integers() -> None:
    search = make_search(RING)
    pursue(RING, search, "engine", MipEngine(Outcome("open"), values=perturbed_optimum))
    assert search.best is not None
    assert (search.best.offset.tolist(), search.best.score) == ([0, 20, 0, 20, 41], (61,))


def test_the_mip_engine_starts_from_the_best_plan_with_its_peak_as_limit() -> None:
    search = make_search(RING)
    search.offer(column([0] * 5), column([0, 20, 41, 61, 82]), "start")
    engine = MipEngine(Outcome("open"))
    pursue(RING, search, "engine", engine)
    assert (engine.asked, engine.had_start, engine.decided) == ([(41, 102)], [True], []), "small: at once"


def test_large_integer_programs_test_peaks_from_the_lower_bound_upwards_in_doubling_steps() -> None:
    instance = ring(*LONG)
    search = make_search(instance)
    search.offer(column([0] * 201), column([0, 20] * 100 + [41]), "start")
    engine = MipEngine(Outcome("open"), refused=3)
    pursue(instance, search, "engine", engine)
    assert engine.decided == [(41, 41), (42, 42), (43, 44), (45, 48)]
    assert engine.asked == [(45, 61)]
    assert search.claims == {"engine": (45,)}


def test_a_mip_engine_that_refutes_every_peak_claims_infeasibility() -> None:
    instance = ring(*LONG, pools=[{"name": "small", "size": 60}])
    search = make_search(instance)
    engine = MipEngine(refused=99)
    pursue(instance, search, "engine", engine)
    assert engine.decided[-1][1] == 60
    assert search.claims["engine"] is None


@pytest.mark.parametrize(("bound", "claim"), [(60.1, 61), (60.001, 60), (45.0, 45), (41.0, None)])
def test_bounds_of_a_mip_engine_are_rounded_up_unless_within_the_tolerance(bound: float, claim: int | None) -> None:
    search = make_search(RING)
    pursue(RING, search, "engine", MipEngine(Outcome("open", bound)))
    assert search.claims == ({} if claim is None else {"engine": (claim,)})


def test_bounds_of_scaled_integer_programs_are_claimed_with_a_safety_margin() -> None:
    size = 2**40 + 1
    instance = ring(size, size + 2, size, size + 2, size)
    search = make_search(instance)
    engine = MipEngine(Outcome("open", 3 * 2.0**14))
    pursue(instance, search, "engine", engine)
    scale = engine.programs[0].scale
    assert 2**13 <= 5 * size / scale <= 2**20
    assert engine.asked[0][0] == (2 * size + 2) / scale
    assert 3 * 2**14 * scale - scale < claimed_bound(search) < 3 * 2**14 * scale


def claimed_bound(search: Search) -> float:
    claim = search.claims["engine"]
    assert claim is not None
    return claim[0]


def test_deterministic_searches_limit_mip_engines_by_nodes_not_by_time() -> None:
    search = make_search(RING)
    search.deterministic, search.work_limit = True, 10_000_000
    engine = MipEngine(Outcome("open"))
    pursue(RING, search, "engine", engine)
    assert [effort.seconds for effort in engine.efforts] == [None]
    assert all(effort.nodes is not None and effort.nodes > 0 for effort in engine.efforts)


def test_an_integer_program_that_is_too_large_is_skipped_and_reported() -> None:
    rows = [{"id": k, "size": 1, "start": 0, "end": 1} for k in range(500)]
    instance = compile_problem(Problem.model_validate({"buffers": rows}))
    search = make_search(instance)
    pursue(instance, search, "engine", MipEngine())
    assert "more than 200000; not tried" in search.lines[0]


def test_a_search_whose_mip_engine_timed_out_is_out_of_time_unless_deterministic() -> None:
    for deterministic in (False, True):
        search = Search(RING, deadline=time.monotonic() + 10, deterministic=deterministic)
        pursue(RING, search, "late", MipEngine(Outcome("open")))
        assert search.is_out_of_time is not deterministic
