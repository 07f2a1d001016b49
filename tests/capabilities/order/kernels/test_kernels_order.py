"""The kernels of orders, step by step, against what their definitions say in plain Python."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from memplan.capabilities.order.kernels.closure import CUT, close_cheaply
from memplan.capabilities.order.kernels.moves import (
    LIVE,
    LOGGED,
    READY,
    Prefix,
    run,
    take_back,
)
from memplan.capabilities.order.search.cuts import ENDLESS, FlowArcs
from memplan.capabilities.order.search.macros import MacroGraph, macro_graph, single_macros
from memplan.capabilities.order.search.parts import OrderPart, part_of
from memplan.planner.operations.order_check import bytes_after
from memplan.solvers.kernels.abi import Reference
from tests.support.depth import seeds
from tests.support.operation_graphs import random_graph

DIRECTIONS = pytest.mark.parametrize("is_forward", [True, False])


def whole(graph: MacroGraph) -> OrderPart:
    return part_of(graph, list(range(len(graph.macros))), lambda _: False, graph.start)


def as_facts(prefix: Prefix) -> list[list[int]]:
    """Return what running and taking back a macro must leave as it was."""
    number = prefix.number
    log, ready = prefix.log[: number[LOGGED]], prefix.ready[: number[READY]]
    return [prefix.left.tolist(), prefix.waits.tolist(), ready.tolist(), log.tolist(), [int(number[LIVE])]]


@pytest.mark.drawn
@DIRECTIONS
def test_running_a_macro_counts_bytes_as_the_graph_says_and_can_be_taken_back(is_forward: bool) -> None:
    for seed in seeds(40):
        rng = random.Random(seed)
        graph = random_graph(rng, rng.randint(1, 10))
        macros = macro_graph(graph) if seed % 2 else single_macros(graph)
        part = whole(macros)
        moves, prefix = part.moves(is_forward).table, part.prefix(is_forward)
        trail = []
        while prefix.number[READY]:
            trail.append(as_facts(prefix))
            run(moves, prefix, int(rng.choice(prefix.ready[: prefix.number[READY]])))
            ran = set(macros.operations_of(prefix.log[: prefix.number[LOGGED]].tolist()))
            done = ran if is_forward else set(range(len(graph.ops))) - ran
            assert prefix.number[LIVE] == bytes_after(graph, done), seed
        assert prefix.number[LOGGED] == len(macros.macros)
        while trail:
            take_back(moves, prefix)
            assert as_facts(prefix) == trail.pop(), seed


@pytest.mark.drawn
def test_the_cheapest_closed_set_is_found() -> None:
    for seed in seeds(60):
        rng = random.Random(seed)
        n = rng.randint(1, 7)
        needs = {v: [u for u in range(n) if u != v and rng.random() < 0.25] for v in range(n)}
        worth = [rng.randint(-9, 9) for _ in range(n)]
        closed = [
            set(chosen)
            for count in range(n + 1)
            for chosen in combinations(range(n), count)
            if all({*needs[v]} <= {*chosen} for v in chosen)
        ]
        best = max(sum(worth[v] for v in chosen) for chosen in closed)
        arcs = FlowArcs(n, [(v, u, ENDLESS) for v, row in needs.items() for u in row])
        gain, price = (np.maximum(sign * np.array(worth, dtype=np.int64), 0) for sign in (1, -1))
        network = arcs.network(gain, price, np.ones(n, dtype=np.bool_), np.zeros(1, dtype=np.int64))
        assert close_cheaply(Reference(network)) == CUT
        found = {v for v in range(n) if network.level[v] >= 0}
        assert found in closed, seed
        assert sum(worth[v] for v in found) == best, seed
