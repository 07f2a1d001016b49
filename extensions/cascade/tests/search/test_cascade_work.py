"""Operations with working memory in cascades: it counts in every step, and is a buffer of the plan."""

import pytest

from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.answer import CascadeAnswer
from memplan.extensions.cascade.cascade import CascadeOptions, cascade
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_variants import replace_fields
from tests.support import networks

WORK = 3000


def add_work(graph: OperationGraph, work: dict[int, int]) -> OperationGraph:
    rows = (row.model_copy(update={"work": work.get(v, 0)}) for v, row in enumerate(graph.ops))
    return replace_fields(graph, ops=tuple(rows))


def search_cascade(graph: OperationGraph) -> CascadeAnswer:
    return cascade(access_graph(graph), CascadeOptions(time_limit_s=5))


@pytest.mark.parametrize("make", [networks.two_convolutions, networks.five_operations])
def test_working_memory_of_every_operation_adds_to_each_peak(make: type[OperationGraph]) -> None:
    graph = make()
    plain, heavy = search_cascade(graph), search_cascade(add_work(graph, dict.fromkeys(range(len(graph.ops)), WORK)))
    assert heavy.layers_peak == plain.layers_peak + WORK
    assert [(row.peak, row.macs) for row in heavy.points] == [(row.peak + WORK, row.macs) for row in plain.points]
    assert any(region.kind != "whole" for region in heavy.points[-1].regions)


def test_working_memory_of_one_operation_is_one_buffer_of_each_plan() -> None:
    graph = networks.two_convolutions()
    plain = search_cascade(graph)
    for v in range(len(graph.ops)):
        heavy = search_cascade(add_work(graph, {v: WORK}))
        assert all(point.peak >= min(row.peak for row in plain.points) for point in heavy.points)
        for point in heavy.points:
            works = [row for row in point.placed.problem.buffers if row.id == f"work_{v}"]
            assert [row.size for row in works] == [WORK]
