"""Mutation tests of the checks of orders and of in-place execution: each mutant must change a result."""

import random
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from memplan.programs.operations import in_place, order_check
from memplan.programs.operations.graph import OperationGraph
from tests.support.code_mutants import equivalent_names, survivors
from tests.support.operation_graphs import add_pairs, random_graph

GRAPHS = 40
EQUIVALENT = {
    "in_place: if is_dead and output in graph.new_tensors[operation] and 0 < size[output] <= size[tensor]:"
    " -> 0 <= size[output] <= size[tensor]": "a zero-size output saves no bytes"
}
"""The mutants that change no result, each with the reason."""
Case = tuple[Callable[..., object], tuple[object, ...]]


def cases() -> Iterator[Case]:
    """Yield calls of all checked functions, with valid and invalid orders and states of random graphs."""
    for seed in range(GRAPHS):
        draw = random.Random(seed)
        graph = random_graph(draw, draw.randint(1, 7))
        graph = add_pairs(draw, graph) if seed % 2 else graph
        count = len(graph.ops)
        order = draw_order(graph, draw)
        cut, other = draw.randrange(count + 1), [*order]
        other[draw.randrange(count)] = draw.choice([-1, count, *range(count)])
        for each in (range(count), order, order[:cut], other, [*order, order[0]], draw.sample(order, count)):
            for function in (order_check.peak_of, order_check.live_bytes_by_operation):
                yield function, (graph, each)
            yield order_check.move_count, (each,)
            for operation in range(count):
                yield order_check.bytes_during, (graph, each[:cut], operation)
            yield order_check.bytes_after, (graph, each[:cut])
        yield from ((order_check.bytes_needed, (graph, operation)) for operation in range(count))


def draw_order(graph: OperationGraph, draw: random.Random) -> list[int]:
    """Return a random order of all operations, each after its predecessors."""
    order: list[int] = []
    while left := [v for v in range(len(graph.ops)) if v not in order and {*graph.predecessors[v]} <= {*order}]:
        order.append(draw.choice(left))
    return order


def outcome_of(case: Case) -> object:
    try:
        return case[0](*case[1])
    except Exception as fault:  # noqa: BLE001 - a mutant may raise anything
        return f"{type(fault).__name__}: {fault}"


@pytest.mark.parametrize(("module", "least"), [(order_check, 40), (in_place, 15)])
def test_each_mutant_of_the_checks_changes_the_result_of_some_order(module: ModuleType, least: int) -> None:
    count, alive = survivors(module, [(case, outcome_of(case)) for case in cases()], outcome_of)
    assert count >= least
    assert alive == equivalent_names(module, EQUIVALENT)
