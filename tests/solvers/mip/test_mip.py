""""""

import random
import time
from collections.abc import Callable

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import score
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import F64, Draft, IntegerProgram
from memplan.solvers.mip.program import MipQuestion, draft
from memplan.solvers.mip.stages import EngineEffort, EngineRun, Outcome, count_rows, pursue, sensible_limits
from memplan.solvers.mip.start import start_of
from memplan.solvers.packing.place import drop_buffers
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment
from tests.support.depth import DEPTH, seeds
from tests.support.small_problems import small_problems
from tests.support.tied_problems import tied_problem
from tests.support.values import require_value


def buffers(*rows: tuple[int, int, int], **fields: object) -> Problem:
    """Return a problem of buffers a, b, ... given as (start, end, size)."""
    named = [{"id": "abcdefgh"[k], "start": row[0], "end": row[1], "size": row[2]} for k, row in enumerate(rows)]
    return Problem(buffers=named, **fields)


def draft_of(instance: Instance, limit: tuple[int, ...] | None = None, minimised: str = "peak") -> tuple[Boxes, Draft]:
    """Return the boxes and the integer program that minimises the last pool's peak or excess, without an incumbent."""
    limits = tuple(sensible_limits(instance, None)) if limit is None else limit
    boxes = Boxes(instance, limits)
    cost = (0, Costs.from_instance(instance).max_steps) if instance.objective == "cost" else None
    return boxes, draft(boxes, MipQuestion(limits, (0,) * len(limits), (minimised, len(limits) - 1), cost))


def row(program: Draft, *key: str | int) -> tuple[dict[tuple[str | int, ...], int], int | None, int | None]:
    """Return a row of an integer program: coefficients by column key, and its lower and upper limit."""
    found = next(row for row in program.rows if row.key == key)
    return {program.keys[at]: value for at, value in found.entries}, found.at_least, found.at_most


def violated_rows(program: IntegerProgram, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[object]:
    """Return the rows, and the keys of the columns, whose limits the values violate."""
    sums = np.add.reduceat(np.append(program.value * values[program.index], 0.0), program.first[:-1])
    sums[np.diff(program.first) == 0] = 0.0
    slack = 1e-9 * max(1.0, float(np.abs(values).max(initial=0.0)))
    rows = np.flatnonzero((sums < program.row_lower - slack) | (sums > program.row_upper + slack))
    outside = (values < program.lower - slack) | (values > program.upper + slack)
    broken_whole = program.is_whole & (values != np.round(values))
    return [*rows.tolist(), *(program.keys[at] for at in np.flatnonzero(outside | broken_whole))]


def random_plan(instance: Instance, rng: random.Random) -> Assignment | None:
    """Return an assignment of buffers dropped in random order into random pools; None if they do not fit."""
    homes = [np.flatnonzero(instance.allowed[:, i]).tolist() for i in range(len(instance))]
    if not all(homes):
        return None
    pool = column([rng.choice(some) for some in homes])[instance.colocation]
    offset = drop_buffers(instance, pool, [rng.random() for _ in homes])
    return None if offset is None else Assignment(pool, offset, score(instance, pool, offset), "random")


MIXED = [*small_problems(seed=11, count=50 * DEPTH, most=6), *(tied_problem(seed) for seed in seeds(40, 300))]


@pytest.mark.drawn
@pytest.mark.parametrize("scale", [1, 64])
def test_the_integer_program_admits_every_valid_plan(scale: int) -> None:
    rng = random.Random(7)
    plans = 0
    for problem in MIXED:
        instance = compile_problem(problem)
        boxes, program = draft_of(instance)
        programs = [program.finish(scale), draft_of(instance, minimised="over")[1].finish(scale)]
        for plan in filter(None, (random_plan(instance, rng) for _ in range(5))):
            for each in programs:
                values = start_of(each, boxes, plan.pool, plan.offset)
                assert violated_rows(each, values) == [], problem.model_dump_json(exclude_defaults=True)
            plans += 1
    assert plans > 130


def test_the_integer_program_excludes_overlapping_buffers() -> None:
    boxes, program = draft_of(compile_problem(buffers((0, 2, 3), (1, 3, 4))))
    plan = Assignment(column([0, 0]), column([0, 2]), (6,), "wrong")
    finished = program.finish(1)
    values = start_of(finished, boxes, plan.pool, plan.offset)
    assert violated_rows(finished, values) != []
    part, columns = finished.reduce(np.zeros(len(finished.row_lower), dtype=np.bool_))
    assert violated_rows(part, values[columns]) != []


def test_the_integer_program_stacks_identical_buffers_in_a_fixed_order() -> None:
    boxes, program = draft_of(compile_problem(buffers((0, 3, 3), (0, 3, 3), (0, 3, 4), (2, 4, 3), (3, 5, 3))))
    assert list(boxes.twins()) == [(0, 1)]
    assert program.lower[program.at["below", 0, 1]] == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"pools": [{"reserved": [[7, 1]]}]},
        {"pools": [{"name": "fast", "size": 20}, {"name": "slow"}]},
        {"pools": [{"alignment": 4}]},
        {"pools": [{"base_address": 1, "alignment": 2}]},
        {"may_share": [["a", "b"]]},
        {"bank": [{"buffers": ["a", "b"]}], "pools": [{"bank_size": 8}]},
        {"bank": [{"buffers": ["a", "b"], "weight": 1}], "pools": [{"bank_size": 8}], "objective": "cost"},
    ],
)
def test_mirror_images_are_excluded_only_in_symmetric_pools_without_sharing_or_banks(fields: dict[str, object]) -> None:
    rows = ((0, 3, 3), (1, 4, 5), (2, 5, 6))
    assert Boxes(compile_problem(buffers(*rows)), (14,)).mirror() == (1, 2)
    instance = compile_problem(buffers(*rows, **fields))
    assert Boxes(instance, tuple(sensible_limits(instance, None))).mirror() is None


def test_the_integer_program_counts_costs_above_the_cheapest_pool_in_steps() -> None:
    pools = [{"name": "fast", "size": 9, "cost": 0.1}, {"name": "slow", "cost": 0.35}]
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "traffic": traffic} for k, traffic in enumerate((2, 6))]
    costs = Costs.from_instance(compile_problem(Problem(buffers=rows, pools=pools, objective="cost")))
    assert costs.extra == [{0: 0, 1: 1}, {0: 0, 1: 3}]
    assert [costs.cost_of_steps(steps) for steps in (0, 4)] == [0.8, 2.8]


def test_the_integer_program_has_at_most_the_predicted_rows() -> None:
    for problem in MIXED:
        instance = compile_problem(problem)
        _, program = draft_of(instance)
        assert len(program.rows) <= count_rows(instance)


def test_the_grid_of_the_integer_program_contains_the_bank_borders() -> None:
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "alignment": 4} for k in range(2)]
    for fields, granule in (({}, 4), ({"bank_size": 6}, 2), ({"bank_size": 8}, 4)):
        pools = [{"base_address": 4, **fields}, {"name": "odd", "size": 5}]
        instance = compile_problem(Problem(buffers=rows, pools=pools, bank=[{"buffers": [0, 1]}] if fields else []))
        assert Boxes(instance, (64, 64)).grid.granule * instance.unit == granule


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
    return compile_problem(Problem(buffers=rows, conflicts=pairs, **fields))


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
    assert (engine.decided, engine.asked) == ([(41, 41), (42, 42), (43, 44), (45, 48)], [(45, 61)])
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
    return require_value(search.claims["engine"])[0]


def test_deterministic_searches_limit_mip_engines_by_nodes_not_by_time() -> None:
    search = make_search(RING)
    search.deterministic, search.work_limit = True, 10_000_000
    engine = MipEngine(Outcome("open"))
    pursue(RING, search, "engine", engine)
    assert [effort.seconds for effort in engine.efforts] == [None]
    assert all(effort.nodes is not None and effort.nodes > 0 for effort in engine.efforts)


def test_an_integer_program_that_is_too_large_is_skipped_and_reported() -> None:
    instance = compile_problem(Problem(buffers=[{"id": k, "size": 1, "start": 0, "end": 1} for k in range(500)]))
    search = make_search(instance)
    pursue(instance, search, "engine", MipEngine())
    assert "more than 200000; not tried" in search.lines[0]


def test_a_search_whose_mip_engine_timed_out_is_out_of_time_unless_deterministic() -> None:
    for deterministic in (False, True):
        search = Search(RING, deadline=time.monotonic() + 10, deterministic=deterministic)
        pursue(RING, search, "late", MipEngine(Outcome("open")))
        assert search.is_out_of_time is not deterministic
