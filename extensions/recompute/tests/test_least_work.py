"""The minimum cost of recomputation by states, stages, snapshots and answers equals a search of all programs."""

import random
import threading
from collections import Counter
from typing import Any

import pytest

from lab.recompute_agreement import faults
from memplan import Control, OperationGraph, OrderOptions, Recomputed, order
from memplan.checkers import extra
from memplan.extensions.recompute.away import RemovalBounds, peak_lower_bound
from memplan.extensions.recompute.engines import minimise_by_engine
from memplan.extensions.recompute.least import search_min_work
from memplan.extensions.recompute.rewrite import clone_graph
from memplan.extensions.recompute.snapshots import Snapshots
from memplan.extensions.recompute.stages import Stages
from memplan.extensions.recompute.states import SearchResult, search_states
from memplan.extensions.recompute.tests.recompute_oracle import bytes_of_runs, min_extra_cost
from memplan.programs.operations.costs import costs_of
from memplan.programs.operations.graph import write_graph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.search.solve import bound_unsearched
from tests.support.depth import seeds
from tests.support.operation_graphs import add_pairs, layered_graph, plain_graph, random_graph, training_chain

CHECKER: Any = extra
"""The checker has no type annotations, as it also runs without memplan."""
FIRST_CHAIN: dict[str, Any] = {
    "size": [1024, 256, 512, 512, 64, 512, 512, 64, 512, 512, 256, 1024],
    "ops": [
        *({"in": [v - 1] if v else [], "out": [v], "cost": cost} for v, cost in enumerate([55, 8, 310, 51, 32, 280])),
        {"in": [4, 5], "out": [6], "cost": 49},
        {"in": [3, 4, 6], "out": [7], "cost": 50},
        {"in": [2, 3, 7], "out": [8], "cost": 1},
        {"in": [1, 2, 8], "out": [9], "cost": 45},
        {"in": [0, 1, 9], "out": [10], "cost": 29},
        {"in": [0, 10], "out": [11], "cost": 18},
    ],
}


def budgets(graph: OperationGraph) -> list[int]:
    peak = peak_of(graph, range(len(graph.ops)))
    return [peak * percent // 100 for percent in (100, 85, 70, 60)]


def searched(graph: OperationGraph, budget: int, **limits: Any) -> SearchResult:
    with Control.from_limit(60).search_control(1) as control:
        return search_states(graph, costs_of(graph), budget, None, control, **limits)


def extra_cost(graph: OperationGraph, runs: tuple[int, ...]) -> int:
    costs = costs_of(graph)
    return sum(costs[v] for v in runs) - sum(costs)


def answer_within(graph: OperationGraph, within: int, control: Control | None = None) -> Recomputed:
    """Return the answer for a limit of the peak, by counted work unless a control is given."""
    options = OrderOptions(recompute=True, within=within, time_limit_s=5, deterministic=control is None)
    found = order(graph, options, control or Control()).recomputed
    assert found is not None
    return found


@pytest.mark.drawn
def test_state_search_finds_the_least_cost_or_proves_infeasibility_as_the_checker_does() -> None:
    again = none = 0
    for seed in seeds(60):
        rng = random.Random(seed)
        graph = training_chain(rng, 3 + seed % 4 // 3) if seed % 2 else plain_graph(rng, 5)
        text = write_graph(graph).decode()
        for budget in budgets(graph):
            found, least = searched(graph, budget), min_extra_cost(graph, costs_of(graph), budget)
            assert found.bound == least
            assert CHECKER.check(text, budget, least) >= 0
            none += least is None
            if found.runs is not None:
                assert bytes_of_runs(graph, found.runs) <= budget
                assert extra_cost(graph, found.runs) == least
            if least is not None:
                with pytest.raises(CHECKER.Refused, match=f"costs {least} for operations that run again"):
                    CHECKER.check(text, budget, least + 1)
                again += least > 0
    assert min(again, none) > 0
    with pytest.raises(CHECKER.Refused, match="must visit at most 3 states"):
        CHECKER.check(write_graph(OperationGraph.model_validate(FIRST_CHAIN)).decode(), 2375, 56, states=3)


@pytest.mark.drawn
def test_removal_bounds_are_at_most_the_least_cost_and_the_checker_refuses_higher_ones() -> None:
    none = refused = least_of_all = of_one = 0
    for seed in seeds(40):
        rng = random.Random(seed)
        graph = training_chain(rng, 3) if seed % 2 else plain_graph(rng, 5)
        text, away = write_graph(graph).decode(), RemovalBounds(graph, costs_of(graph))
        for budget in budgets(graph):
            least, bound = min_extra_cost(graph, costs_of(graph), budget), away.cost_bound(budget)
            assert any(_is_proof(text, budget, bound, v) for v in range(len(graph.ops)))
            none += bound is None
            if least is None:
                continue
            assert bound <= least
            least_of_all, of_one = least_of_all + least, of_one + bound
            # The checker must refuse a cost above the minimum, a wrong infeasibility, and a bound of another graph.
            higher = OperationGraph.model_validate({**graph.model_dump(exclude_defaults=True), "kept": []})
            claims = [(text, budget, least + 1), (text, budget, None)]
            relaxed = min_extra_cost(higher, costs_of(higher), budget)
            claims += [(write_graph(higher).decode(), budget, relaxed + 1)] if relaxed is not None else []
            for claim in claims:
                assert not any(_is_proof(*claim, v) for v in range(len(graph.ops)))
                refused += 1
    assert of_one > 0.5 * least_of_all > 0
    assert min(none, refused) > 0
    with pytest.raises(ValueError, match="must be an operation of the graph, got 99"):
        CHECKER.check_one_operation(write_graph(OperationGraph.model_validate(FIRST_CHAIN)).decode(), 2375, 1, 99)


@pytest.mark.drawn
def test_checker_accepts_the_bound_operation_of_each_answer() -> None:
    proved = none = 0
    for seed in seeds(6):
        graph = training_chain(random.Random(seed), 4)
        text = write_graph(graph).decode()
        for budget in budgets(graph)[::2]:
            answer = answer_within(graph, budget)
            claims = [(point.peak, point.extra_cost_lower_bound, point.bound_operation) for point in answer.points]
            claims.append((budget, None if answer.has_none else answer.extra_cost_lower_bound, answer.bound_operation))
            for limit, cost, v in claims:
                proved, none = proved + (v is not None), none + (v is not None and cost is None)
                assert v is None or _is_proof(text, limit, cost, v)
    assert min(proved - none, none) > 0


def _is_proof(text: str, budget: int, cost: int | None, v: int) -> bool:
    """Return True if the checker accepts operation `v` as the proof of a bound."""
    try:
        return bool(CHECKER.check_one_operation(text, budget, cost, v))
    except CHECKER.Refused:
        return False


@pytest.mark.drawn
def test_state_search_that_ends_early_returns_a_valid_lower_bound() -> None:
    ended = 0
    for seed in seeds(20):
        graph = training_chain(random.Random(seed), 6)
        for budget in budgets(graph):
            least = searched(graph, budget).bound
            for limit in (2, 5, 20):
                early = searched(graph, budget, most_states=limit)
                assert least is None or early.bound is not None
                assert least is None or (early.bound or 0) <= least
                ended += early.runs is None and least is not None
    assert ended > 0


def _min_of_program(program: Stages | Snapshots) -> int | None:
    """Return the least cost of an integer program, None if it has no solution."""
    said = minimise_by_engine("highs", program.draft(0, program.max_cost), Control.from_limit(60), lambda _: False)
    assert said.has_ended
    return None if said.is_none else said.bound * program.cost_unit


@pytest.mark.drawn
@pytest.mark.slow
def test_bounds_of_stages_and_snapshots_never_exceed_the_least_cost_and_are_close_to_it() -> None:
    rows, none = list[tuple[int, int, int]](), 0
    for seed in seeds(6):
        rng = random.Random(seed)
        graph = training_chain(rng, 5) if seed % 2 else random_graph(rng, 7)
        for budget in budgets(graph)[1:3]:
            least, stages = searched(graph, budget).bound, Stages(RemovalBounds(graph, costs_of(graph)), budget)
            of_stages, of_snapshots = _min_of_program(stages), _min_of_program(Snapshots(stages))
            if least is None:
                none += of_snapshots is None
                continue
            assert of_stages is not None
            assert of_snapshots is not None
            assert max(of_stages, of_snapshots) <= least
            rows.append((least, of_stages, of_snapshots))
    assert sum(of_stages == least for least, of_stages, _ in rows) > 0.8 * len(rows) > 0
    assert sum(row[2] for row in rows) > 0.5 * sum(row[0] for row in rows) > 0
    assert none > 0


@pytest.mark.slow
def test_engines_prove_the_least_cost_of_a_graph_without_state_search() -> None:
    graph = OperationGraph.model_validate(FIRST_CHAIN)
    # The search of states does not support overwriting, but here no output fits into an input.
    ops = (*graph.ops[:-1], graph.ops[-1].model_copy(update={"may_overwrite": ((0, 1),)}))
    wide = OperationGraph(size=(*graph.size[:10], 8, *graph.size[11:]), ops=ops)
    expected = searched(OperationGraph(size=wide.size, ops=graph.ops), 2375)
    found = search_min_work(wide, costs_of(wide), 2375, None, Control.from_limit(60))
    assert found.extra_cost == found.bound == expected.bound
    assert found.runs is not None
    program = clone_graph(wide, found.runs)
    assert peak_of(program.graph, range(len(program.runs))) <= 2375


def test_order_recompute_proves_the_least_cost_of_the_first_chain() -> None:
    answer = answer_within(OperationGraph.model_validate(FIRST_CHAIN), 2375)
    assert answer.is_within
    assert answer.points[-1].peak <= 2375
    assert (answer.extra_cost, answer.extra_cost_lower_bound) == (55, 55)


def test_order_recompute_claims_infeasibility_only_with_a_proof() -> None:
    graph = OperationGraph.model_validate(FIRST_CHAIN)
    assert searched(graph, 1792).bound is None
    answer = answer_within(graph, 1792)
    assert answer.has_none
    assert not answer.is_within
    assert "no program is within the limit, which is proved" in "\n".join(answer.lines())
    # A search that is cancelled at once must not claim infeasibility.
    cancelled = threading.Event()
    cancelled.set()
    early = answer_within(graph, 2375, Control(cancelled=cancelled))
    assert not early.has_none
    assert not early.is_within
    assert "no program was found within the limit" in "\n".join(early.lines())


@pytest.mark.drawn
@pytest.mark.slow
def test_an_output_may_overwrite_a_kept_input_that_is_recomputed_later() -> None:
    # The second operation overwrites the output of the first one, which then runs again.
    ops = [{"in": [0], "out": [1], "cost": 4}, {"in": [1], "out": [2], "work": 4, "may_overwrite": [[0, 0]]}]
    graph = OperationGraph(size=[1, 3, 2], kept=[1, 2], ops=ops)
    assert peak_lower_bound(graph) <= 8 < bound_unsearched(graph)[0]
    answer = answer_within(graph, 8)
    assert answer.is_within
    assert answer.points[-1].order == (0, 1, 0)
    assert answer.extra_cost == answer.extra_cost_lower_bound == 4
    assert answer_within(graph, 7).has_none


@pytest.mark.drawn
@pytest.mark.slow
def test_state_search_finds_the_least_cost_if_outputs_may_overwrite_inputs() -> None:
    again = none = cheaper = 0
    for seed in seeds(60):
        rng = random.Random(seed)
        graph = add_pairs(rng, plain_graph(rng, rng.randint(2, 5)))
        ops = tuple(row.model_copy(update={"may_overwrite": ()}) for row in graph.ops)
        apart = graph.model_copy(update={"ops": ops})
        costs = costs_of(graph)
        for budget in {*budgets(graph), peak_lower_bound(graph)}:
            found, least = searched(graph, budget), min_extra_cost(graph, costs, budget)
            assert found.bound == least
            none += least is None
            cheaper += least != min_extra_cost(apart, costs, budget)
            if found.runs is not None:
                program = clone_graph(graph, found.runs).graph
                assert peak_of(program, range(len(program.ops))) <= budget
                assert extra_cost(graph, found.runs) == least
                again += least != 0
    assert again > 0
    assert none > 0
    assert cheaper > 0


def test_order_recompute_never_costs_less_for_a_tighter_limit() -> None:
    tally = Counter[str]()
    assert [fault for seed in seeds(6) for fault in faults(seed, tally, limits=6)] == []
    assert tally["least and proved"] > 0 < tally["none"]


def _layered_graph() -> OperationGraph:
    rng = random.Random(46)
    graph = layered_graph(rng, rng.randint(15, 40), rng.choice([2, 4]))
    ops = tuple(row.model_copy(update={"cost": rng.randint(1, 50)}) for row in graph.ops)
    return OperationGraph(size=graph.size, ops=ops)


def test_order_recompute_plans_a_program_of_lower_peak_if_the_cheapest_plan_exceeds_the_limit() -> None:
    loose, tight = (answer_within(_layered_graph(), within) for within in (778, 758))
    assert loose.is_within
    assert loose.extra_cost_lower_bound < loose.extra_cost == tight.extra_cost
    assert loose.points[-1].live_peak <= 758


@pytest.mark.drawn
def test_points_without_a_limit_have_valid_lower_bounds_on_cost() -> None:
    equal = 0
    for seed in seeds(8):
        graph = training_chain(random.Random(seed), 4)
        for point in order(graph, OrderOptions(recompute=True, time_limit_s=5, deterministic=True)).recomputed.points:
            least = min_extra_cost(graph, costs_of(graph), point.peak)
            assert point.extra_cost_lower_bound <= least <= point.extra_cost
            equal += point.extra_cost_lower_bound == point.extra_cost > 0
    assert equal > 0
