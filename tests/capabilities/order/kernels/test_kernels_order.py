"""The kernels of orders, step by step, against what their definitions say in plain Python."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from memplan.capabilities.order.kernels.closure import CUT, Network, close_cheaply
from memplan.capabilities.order.kernels.depth_first import is_new
from memplan.capabilities.order.kernels.moves import (
    HILL,
    LIVE,
    LOGGED,
    READY,
    REFUSED,
    VALLEY,
    Prefix,
    run,
    take_back,
    turn,
)
from memplan.capabilities.order.kernels.segments import grow
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
@DIRECTIONS
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_segment_ends_within_its_limits_or_leaves_no_trace(is_forward: bool, depth: int) -> None:
    grown = 0
    for seed in seeds(50):
        rng = random.Random(seed)
        part = whole(single_macros(random_graph(rng, rng.randint(2, 12))))
        moves, prefix = part.moves(is_forward).table, part.prefix(is_forward)
        while prefix.number[READY]:
            macro = int(rng.choice(prefix.ready[: prefix.number[READY]]))
            before, base = as_facts(prefix), int(prefix.number[LIVE])
            budget = base + rng.randint(0, 30)
            prefix.number[REFUSED] = 2**62
            first = int(prefix.number[LOGGED])
            if grow(moves, prefix, macro, budget, base, depth, 50, 100):
                grown += 1
                assert prefix.number[VALLEY] == prefix.number[LIVE] <= base
                assert base <= prefix.number[HILL] <= budget
                assert prefix.log[first] == macro
            else:
                assert as_facts(prefix) == before
                assert prefix.number[REFUSED] > budget
                run(moves, prefix, macro)
    assert grown > 25


def test_keys_tell_states_apart_and_forget_nothing() -> None:
    part = whole(single_macros(random_graph(random.Random(5), 10)))
    moves, prefix = part.forward.table, part.prefix(True)
    seen = np.zeros((64, 2), dtype=np.int64)
    assert is_new(seen, prefix.key)
    start = prefix.key.tolist()
    with np.errstate(over="ignore"):
        for macro in (3, 7):
            turn(moves, prefix, macro, 1)
            assert is_new(seen, prefix.key)
            assert not is_new(seen, prefix.key)
        for macro in (3, 7):
            turn(moves, prefix, macro, -1)
    assert prefix.key.tolist() == start


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
        network = network_of(needs, worth)
        assert close_cheaply(Reference(network)) == CUT
        found = {v for v in range(n) if network.level[v] >= 0}
        assert found in closed, seed
        assert sum(worth[v] for v in found) == best, seed


def network_of(needs: dict[int, list[int]], worth: list[int]) -> Network:
    n = len(worth)
    arcs = [(v, u) for v, row in needs.items() for u in row]
    both = [*arcs, *((u, v) for v, u in arcs)]
    order = sorted(range(len(both)), key=lambda k: both[k][0])
    place = {k: i for i, k in enumerate(order)}

    def column(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(values, dtype=np.int64)

    scratch = [np.zeros(n, dtype=np.int64) for _ in range(4)]
    return Network(
        first=np.searchsorted(column([both[k][0] for k in order]), np.arange(n + 1)),
        to=column([both[k][1] for k in order]),
        back=column([place[(k + len(arcs)) % len(both)] for k in order]),
        rest=column([2**62 if k < len(arcs) else 0 for k in order]),
        gain=column([max(one, 0) for one in worth]),
        price=column([max(-one, 0) for one in worth]),
        is_open=np.ones(n, dtype=np.bool_),
        level=scratch[0],
        arc=scratch[1],
        queue=scratch[2],
        path=scratch[3],
        flag=np.zeros(1, dtype=np.int64),
    )
