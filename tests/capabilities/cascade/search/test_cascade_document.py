"""Points run by the JSON of an answer alone, as docs/cascades.md says how: equal by value in the planned arena."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memplan.capabilities.cascade.access.from_graph import access_graph, split_apart
from memplan.capabilities.cascade.cascade import cascade
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.planner.operations.graph import OperationGraph
from tests.support.cascade_document import Interpreter, spans
from tests.support.networks import Network
from tests.support.newer_networks import excited


def small(dtype: str = "int8") -> OperationGraph:
    """Return a network of two passes, branches that meet, steps along channels, and a pool at the end."""
    net = Network(dtype=dtype)
    x = net.conv(net.input(20, 18, 3), 8, 3, 2)
    x = net.conv(excited(net, net.depthwise(net.conv(x, 48, 1)), 4, "", "sigmoid"), 8, 1)
    x = net.concat(net.conv(net.pool(x, 3, 2, pad=1), 6), net.conv(x, 5, 3, 2))
    net.dense(net.global_pool(net.conv(net.depthwise(net.conv(x, 64, 1)), 4, 1)), 70)
    net.conv(x, 2)
    return net.graph()


WAYS: list[tuple[dict[str, Any], set[str]]] = [
    ({"output": "streamed"}, {"rows", "panels", "part", "channels"}),
    ({"alignment": 16}, {"rows", "panels", "channels"}),
    ({"stripe": (2, 3), "input": "streamed"}, {"pieces"}),
]


@pytest.mark.parametrize(("way", "kinds"), WAYS)
def test_a_point_runs_as_the_document_says(way: dict[str, Any], kinds: set[str]) -> None:
    graph = small()
    result = cascade(graph, CascadeOptions(**way))
    told = result.model_dump(mode="json", by_alias=True)
    seen = set[str]()
    for point in told["points"]:
        Interpreter(access_graph(split_apart(graph)), told, point).run()
        seen |= {region["kind"] for region in point["regions"]} | ({"again"} if "origins" in point else set())
        seen |= {"part" for region in point["regions"] if min(region["stride"] or (0,)) < 0}
        seen |= {"pieces" for region in point["regions"] if region.get("pieces")}
    assert seen >= {"whole", "tiles", "again", *kinds}


def test_a_buffer_elsewhere_than_told_makes_a_difference() -> None:
    graph = small()
    told = cascade(graph).model_dump(mode="json", by_alias=True)
    point = told["points"][-1]
    moved = {**point, "offsets": dict.fromkeys(point["offsets"], 0)}
    with pytest.raises(AssertionError, match="output"):
        Interpreter(access_graph(graph), told, moved).run()


def test_a_line_of_ends_says_where_each_range_begins() -> None:
    assert spans({"A": 2, "B": -1, "top": 5, "steps": 5}) == [(0, 0), (0, 1), (1, 3), (3, 5), (5, 5)]
    assert np.array_equal(spans({"table": [[0, 2], [1, 3]]}), [(0, 2), (1, 3)])
