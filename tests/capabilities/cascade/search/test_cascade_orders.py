"""Cascades in other orders: two heads, or branches, that a given order runs in turns."""

from __future__ import annotations

import pytest

from memplan.capabilities.cascade.cascade import cascade
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.planner.verify.verifier import verify
from tests.support.networks import Network, heads_in_turns
from tests.support.newer_networks import regnet_y_400mf, shufflenet_v2


def test_heads_that_run_in_turns_are_put_behind_each_other() -> None:
    graph = heads_in_turns()
    result = cascade(graph, CascadeOptions(macs=1.0, check=True))
    point = result.points[-1]
    assert result.exhausted.orders > 0
    assert point.peak == point.estimate
    assert (point.peak, result.layers_peak) == (5_152, 18_432)
    assert verify(point.problem, point.plan) == ()
    assert sorted(point.cascade.graph.origins) == list(range(len(graph.ops)))
    assert point.cascade.graph.origins != tuple(range(len(graph.ops)))
    assert point.macs_ratio == 1.0
    assert len(result.points) == len(result.checked)


@pytest.mark.slow
def test_branches_are_ordered_by_what_regions_need_where_the_input_comes_in_pieces() -> None:
    # The branch with a ring runs first, before the other one's output is there; smaller networks do not show it.
    result = cascade(shufflenet_v2(), CascadeOptions(input="streamed", macs=1.05))
    assert result.points[-1].peak == result.points[-1].estimate == 123_268


def test_operations_that_must_run_after_others_still_do() -> None:
    net = Network()
    x = net.conv(net.input(24, 24, 3), 8)
    left, right = net.conv(x, 16), net.conv(x, 16)
    net.conv(left, 1)
    net.conv(right, 1)
    ops = list(net.graph().ops)
    ops[3] = ops[3].model_copy(update={"after": (2,)})
    for point in cascade(net.graph().model_copy(update={"ops": tuple(ops)})).points:
        origins = point.cascade.graph.origins or tuple(range(5))
        assert origins.index(2) < origins.index(3)


def test_a_chain_has_one_order() -> None:
    net = Network()
    net.conv(net.conv(net.input(8, 8, 3), 4), 4)
    assert cascade(net.graph()).exhausted.orders == 0


@pytest.mark.slow
def test_operations_run_in_another_order_where_some_run_again() -> None:
    # The shortcut of a squeezed block runs before its gate, which then is not there beside three whole tensors.
    result = cascade(regnet_y_400mf(), CascadeOptions(macs=1.11))
    assert result.points[-1].peak == result.points[-1].estimate <= 313_612
