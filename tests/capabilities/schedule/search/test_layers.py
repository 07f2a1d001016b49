"""Operations alone in tiles: the best ones are those of an enumeration, and cost what the simulator says."""

from __future__ import annotations

import random

import pytest

from lab.schedule_tiles import differences, drawn_machine, greedy
from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.access.from_graph import access_graph
from memplan.capabilities.schedule.answer import ScheduleAnswer
from memplan.capabilities.schedule.model.network_run import run_step
from memplan.capabilities.schedule.search.layers import LayerTilings, layer_step, whole_front
from memplan.capabilities.schedule.search.network_search import MOST_RANGES, PASSES, NetworkSearch
from memplan.capabilities.schedule.search.networks import network_of, schedule_network
from memplan.planner.errors import ProblemError
from memplan.solvers.search.control import Control
from tests.support.depth import seeds
from tests.support.networks import Network, mobilenet_v1, mobilenet_v2, two_convolutions
from tests.support.random_networks import random_network


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(15))
def test_the_best_tiles_of_a_layer_are_those_of_an_enumeration(seed: int) -> None:
    assert differences(seed) == []


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(10))
def test_the_closed_form_of_tiles_is_what_the_simulator_says(seed: int) -> None:
    rng = random.Random(seed)
    graph, target = random_network(rng), drawn_machine(rng)
    for v, row in enumerate(graph.operations):
        fast = frozenset(t for t in range(len(graph.tensors)) if rng.random() < 0.2)
        made = tuple(t for t in row.outputs if t in fast)
        if row.role == "striped":
            front = LayerTilings(graph, v, fast, target, "latency").front()
        else:
            front = whole_front(graph, v, fast, target, "latency")
        for k in range(len(front.bytes)):
            figures = run_step(graph, layer_step(graph, v, front.tiles[k], made), fast - set(made), target)
            bytes_ = sum(size for kind, _, size in figures.buffers if kind not in ("resident", "retained"))
            assert bytes_ == front.bytes[k]
            assert figures.latency == pytest.approx(front.cost[k])


def test_a_dense_layer_of_many_pixels_runs_in_channels() -> None:
    net = Network()
    net.dense(net.input(7, 7, 4), 64)
    target = drawn_machine(random.Random(0)).with_capacity(1000)
    assert access_graph(net.graph()).operations[0].role == "barrier"
    found = schedule_network(net.graph(), target, "traffic", Control())
    assert found.traffic == 7 * 7 * 4 * 65 + 64
    assert len(found.regions[0].ranges[0].channels) > 1


def best_of(graph: AccessGraph, capacity: int, *, with_regions: bool) -> tuple[float, int]:
    target = drawn_machine(random.Random(1)).with_capacity(capacity)
    search = NetworkSearch(graph, target, "latency")
    if with_regions:
        search.add_regions(MOST_RANGES, lambda: False)
    found = search.within(capacity)
    assert found is not None
    assert found.peak <= capacity
    return found.latency, found.traffic


def test_regions_move_less_than_operations_alone() -> None:
    graph = network_of(two_convolutions())
    assert best_of(graph, 6000, with_regions=True)[1] < best_of(graph, 6000, with_regions=False)[1]


def test_a_first_pass_over_few_regions_brings_most_of_what_all_bring() -> None:
    target = drawn_machine(random.Random(1)).with_capacity(60_000)
    search = NetworkSearch(network_of(mobilenet_v2(0.35, 144)), target, "traffic")
    (_, most), (few, states), *_ = PASSES
    alone = search.within(target.capacity, states=most)
    search.add_regions(few, lambda: False)
    found = search.within(target.capacity, states=states)
    assert alone is not None
    assert found is not None
    assert len(search._runs) < 2000  # with the regions of all ranges there are 4,000 and more
    assert found.traffic < 0.8 * alone.traffic


def test_a_schedule_of_operations_alone_is_there_before_regions_are_looked_at() -> None:
    noted, running = list[ScheduleAnswer](), Control(note=lambda answer: noted.append(answer))
    running.cancelled.set()
    target = drawn_machine(random.Random(1)).with_capacity(6000)
    found = schedule_network(two_convolutions(), target, "latency", running)
    assert noted == [found]
    assert found.subgraphs == ((0,), (1,))


def test_a_chain_moves_no_more_than_greedy_tiles_of_each_layer() -> None:
    whole = mobilenet_v1(0.25, 32)
    chain = whole.model_copy(update={"ops": whole.ops[:5], "kept": whole.ops[4].outputs})
    target = drawn_machine(random.Random(1)).with_capacity(4096)
    graph = network_of(chain)
    found = schedule_network(chain, target, "traffic", Control())
    assert found.traffic <= sum(greedy(graph, v, target).traffic for v in range(5))


def test_a_refusal_names_the_operation_that_needs_most() -> None:
    net = Network()
    net.pool(net.conv(net.input(8, 8, 64), 64, 3))
    with pytest.raises(ProblemError, match=r"capacity: must hold the \d+ bytes that operation 0 \(conv2d .*; got 100"):
        schedule_network(net.graph(), drawn_machine(random.Random(0)).with_capacity(100), "latency", Control())
