"""Programs with a link: comparison with a search of all programs, steps that the replay refuses, and answers."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lab.offload_agreement import CHECKER, faults, unsound_points
from memplan import OperationGraph, OrderOptions, Recomputed, order
from memplan.api.cli.main import main
from memplan.extensions.recompute.offload.replay import check_on_addresses, replay_steps
from memplan.extensions.recompute.offload.steps import Kind, Step, link_graph
from memplan.planner.errors import OperationsError
from memplan.programs.operations.costs import costs_of
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.search.solve import bound_unsearched
from tests.support.depth import seeds
from tests.support.operation_graphs import add_pairs, training_chain

CHAIN: dict[str, Any] = {
    "size": [100, 60, 60, 10],
    "kept": [3],
    "ops": [
        {"out": [0], "cost": 9},
        {"in": [0], "out": [1], "cost": 8},
        {"in": [1], "out": [2], "cost": 8},
        {"in": [0, 2], "out": [3], "cost": 5},
    ],
}


def offload_answer(graph: OperationGraph, **options: Any) -> Recomputed:
    found = order(graph, OrderOptions(recompute=True, time_limit_s=2, deterministic=True, **options)).recomputed
    assert found is not None
    return found


def assert_sound(graph: OperationGraph, link: float, answer: Recomputed) -> None:
    """Replay each point, and assert that peaks and bounds are valid and no point dominates another."""
    assert not list(unsound_points(graph, link, answer))
    program = link_graph(graph, costs_of(graph), link)
    costs = [(point.peak, point.extra_cost) for point in answer.points]
    assert costs == sorted(costs, key=lambda row: (-row[0], row[1]))
    for point in answer.points:
        if point.steps:
            found = replay_steps(program, [Step(step.kind, step.what, step.start) for step in point.steps])
            assert (found.peak, found.time) == (point.live_peak, answer.cost + point.extra_cost)
            assert tuple(step.what for step in point.steps if step.kind == "run") == point.order
        assert point.extra_cost_lower_bound <= point.extra_cost
        assert point.lower_bound <= point.live_peak <= point.peak


@pytest.mark.drawn
@pytest.mark.slow
def test_offload_answers_agree_with_a_search_of_all_programs() -> None:
    tally: Counter[str] = Counter()
    assert [fault for seed in seeds(8) for fault in faults(seed, tally)] == []
    assert tally["above the least"] == 0
    assert min(tally["none"], tally["least and proved"], tally["sent"]) > 0


def test_transfers_in_parallel_with_operations_take_no_extra_time() -> None:
    graph = OperationGraph.model_validate(CHAIN)
    answer = offload_answer(graph, link=12.5, within=170)
    assert_sound(graph, 12.5, answer)
    assert [(point.peak, point.extra_cost) for point in answer.points] == [(220, 0), (170, 8)]
    assert [step.model_dump() for step in answer.points[-1].steps if step.kind != "run"] == [
        {"kind": "send", "what": 0, "start": 9},
        {"kind": "fetch", "what": 0, "start": 25},
    ]


@pytest.mark.drawn
def test_a_link_never_worsens_points_and_a_link_of_speed_zero_adds_none() -> None:
    for seed in seeds(4):
        graph = add_pairs(random.Random(seed), training_chain(random.Random(seed), 5))
        alone, slow, fast = (offload_answer(graph, link=link, points=4) for link in (0, 2, 40))
        assert alone == offload_answer(graph, points=4)
        assert not any(point.steps for point in alone.points)
        for link, answer in ((2, slow), (40, fast)):
            assert_sound(graph, link, answer)
            for point in alone.points:
                assert any(row.peak <= point.peak and row.extra_cost <= point.extra_cost for row in answer.points)


def test_links_of_extreme_speeds_are_accepted() -> None:
    graph = OperationGraph.model_validate(CHAIN)
    slowest, fastest = offload_answer(graph, link=5e-324, within=170), offload_answer(graph, link=1e308, within=170)
    assert [point.steps for point in slowest.points] == [(), ()]
    assert fastest.extra_cost == 1
    endless = graph.model_copy(update={"ops": tuple(row.model_copy(update={"cost": 2**62}) for row in graph.ops)})
    assert [point.steps for point in offload_answer(endless, link=12.5, within=170).points] == [(), ()]


WRONG: dict[str, tuple[list[tuple[str, int, int]], str]] = {
    "before": ([("run", 0, 0), ("run", 1, 8)], "steps[1]: must start at 9 or later, got 8"),
    "order": ([("run", 1, 0)], "steps[0]: must run after operation 0"),
    "unsent": ([("run", 0, 0), ("fetch", 0, 9)], "steps[1]: tensor 0 must have been sent before it is fetched"),
    "sending": ([("run", 0, 0), ("send", 0, 9), ("fetch", 0, 12)], "steps[2]: tensor 0 must have been sent"),
    "both": ([("run", 0, 0), ("run", 1, 9), ("send", 0, 17), ("send", 1, 18)], "steps[3]: must start at"),
    "missing": ([("send", 1, 0)], "steps[0]: tensor 1 must be in memory at time 0"),
    "unfinished": ([("run", 0, 0), ("run", 1, 9)], "steps: must run operation 2"),
}


@pytest.mark.parametrize(("rows", "words"), WRONG.values(), ids=WRONG)
def test_replay_and_checker_refuse_an_invalid_sequence_of_steps(rows: list[tuple[Kind, int, int]], words: str) -> None:
    graph = OperationGraph.model_validate(CHAIN)
    with pytest.raises(OperationsError) as refused:
        replay_steps(link_graph(graph, costs_of(graph), 10), [Step(*row) for row in rows])
    assert words in str(refused.value)
    steps = json.dumps([{"kind": kind, "what": what, "start": start} for kind, what, start in rows])
    with pytest.raises(CHECKER.Refused):
        CHECKER.check(json.dumps(CHAIN), steps, "10")


def test_check_on_addresses_finds_bytes_overwritten_while_needed() -> None:
    graph = OperationGraph.model_validate(CHAIN)
    program, answer = link_graph(graph, costs_of(graph), 12.5), offload_answer(graph, link=12.5, within=170)
    steps = [Step(step.kind, step.what, step.start) for step in answer.points[-1].steps]
    copies = replay_steps(program, steps).copies
    apart = [200 * c for c in range(len(copies))]
    check_on_addresses(program, steps, copies, apart, {})
    sent, later = (next(c for c, copy in enumerate(copies) if copy.tensor == t) for t in (0, 1))
    with pytest.raises(
        OperationsError, match="must have intact copies of the values that it needs, got overwritten bytes"
    ):
        check_on_addresses(program, steps, copies, [apart[sent] if c == later else p for c, p in enumerate(apart)], {})


def test_order_command_accepts_a_link_only_with_recompute(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "graph.json").write_text(json.dumps(CHAIN))
    assert main(["order", str(path), "--recompute", "--link", "12.5", "--within", "170", "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out)["recomputed"]["extra_cost"] == 8
    assert main(["order", str(path), "--recompute", "--link", "12.5", "--within", "170", "--format", "table"]) == 0
    assert "tensor 0 is sent at 9, and fetched at 25" in capfd.readouterr().out
    assert main(["order", str(path), "--link", "12.5"]) == 2
    assert "link: applies only with recompute" in capfd.readouterr().err
    assert main(["order", str(path), "--recompute", "--link", "-1"]) == 2


@pytest.mark.drawn
def test_a_higher_limit_or_a_faster_link_never_increases_the_time() -> None:
    for seed in seeds(3):
        graph = training_chain(random.Random(seed), 4)
        peak, floor = peak_of(graph, range(len(graph.ops))), bound_unsearched(graph)[0]
        speed = sum(graph.size) / sum(costs_of(graph))
        times: dict[tuple[float, int], int] = {}
        for link in (0, speed / 2, speed * 2):
            for part in range(4):
                answer = offload_answer(graph, link=link, within=floor + (peak - floor) * part // 4)
                times[link, part] = answer.extra_cost if answer.is_within else sum(costs_of(graph)) ** 2
                assert all(times[link, part] <= times[row] for row in times if row[0] <= link and row[1] <= part)
