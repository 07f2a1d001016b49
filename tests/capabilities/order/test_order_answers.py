"""Orders of operations, and what a client finds wrong with those of a service."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from memplan.capabilities.capability import Control
from memplan.capabilities.order.answer import OrderAnswer
from memplan.capabilities.order.options import OrderOptions
from memplan.capabilities.order.order import CAPABILITY, order
from memplan.planner.errors import counted
from memplan.planner.operations.graph import OperationGraph, graph_from
from tests.support.operation_graphs import ORDERED_INSIDE

GRAPH = graph_from(ORDERED_INSIDE)
COUNTED = OrderOptions(deterministic=True)


def read_again(found: OrderAnswer) -> OrderAnswer:
    return TypeAdapter(OrderAnswer).validate_json(CAPABILITY.write(found))


def wrong(found: OrderAnswer, options: OrderOptions = COUNTED, graph: OperationGraph = GRAPH) -> str | None:
    return CAPABILITY.refutes({"graph": graph, "options": options}, found)


def test_an_answer_tells_the_same_when_it_is_read_again() -> None:
    found = order(GRAPH, COUNTED)
    assert (found.peak, found.placed_peak, found.given_peak) == (107, 107, 206)
    assert list(CAPABILITY.lines(read_again(found))) == list(CAPABILITY.lines(found))
    moved = [[*CAPABILITY.lines(found.model_copy(update={"moves": n}))][-1].split(None, 2)[2] for n in (1, 2)]
    assert moved == ["operation is moved", "operations are moved"]
    assert (counted(1, "buffer"), counted(2000, "buffer")) == ("1 buffer", "2,000 buffers")
    again = order(GRAPH, OrderOptions(deterministic=True, time_limit_s=1, recompute=True))
    assert list(CAPABILITY.lines(read_again(again))) == list(CAPABILITY.lines(again))
    assert wrong(read_again(again)) is None


def test_the_orders_inside_of_operations_are_checked_too() -> None:
    found = read_again(order(GRAPH, COUNTED))
    assert wrong(found) is None
    assert wrong(found.model_copy(update={"regions": ()})) == "has a peak of 206, and not of 107"


def test_an_order_is_checked_with_the_options_that_it_was_asked_with() -> None:
    graph = graph_from({"size": [8, 4, 2], "resident": [0], "ops": [{"in": [0], "out": [1]}, {"in": [1], "out": [2]}]})
    counted = OrderOptions(deterministic=True, count_resident=True)
    found = read_again(order(graph, counted))
    assert found.peak == 14
    assert wrong(found, counted, graph) is None
    assert wrong(found, COUNTED, graph) == "has a peak of 6, and not of 14"


@pytest.mark.parametrize("recompute", [False, True])
def test_orders_are_noted_before_there_is_a_plan(recompute: bool) -> None:
    ops = [{"out": [0]}, {"out": [1]}, *({"in": [k], "out": [k + 2]} for k in range(1998))]
    graph, noted = graph_from({"size": [8] * 2000, "ops": ops}), list[OrderAnswer]()
    options = OrderOptions(time_limit_s=0.2, recompute=recompute, within=8 if recompute else None)
    found = order(graph, options, Control(note=noted.append))
    assert [each.placed_peak for each in noted] == [None, None]
    assert noted[0].order == tuple(range(2000))
    assert [CAPABILITY.exit_status(each) for each in noted] == [recompute] * 2
    for each in (*noted, found):
        assert wrong(read_again(each), options, graph) is None
        assert list(CAPABILITY.lines(read_again(each)))
