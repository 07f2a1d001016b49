"""Operations of a caller's own: their access maps as attributes, and labels that regions do not go across."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.capabilities.cascade.access.access_graph import Window
from memplan.capabilities.cascade.access.from_graph import access_graph
from memplan.capabilities.cascade.cascade import cascade
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.planner.operations.graph import OperationGraph, graph_from


def chain(*rows: dict[str, Any]) -> OperationGraph:
    """Return operations on images of 32 x 32 x 8, one behind the other."""
    tensors = [{"shape": [1, 32, 32, 8], "dtype": "int8"} for _ in range(len(rows) + 1)]
    ops = [{"in": [k], "out": [k + 1], **row} for k, row in enumerate(rows)]
    return graph_from({"size": [8192] * len(tensors), "kept": [len(rows)], "tensors": tensors, "ops": ops})


def own(kind: str, **attributes: Any) -> dict[str, Any]:
    return {"kind": kind, "attributes": attributes}


CONV = own("conv2d", kernel=[3, 3], pads=[1, 1, 1, 1])
STREAMED = CascadeOptions(input="streamed", output="streamed")
CHECKED = STREAMED.model_copy(update={"check": True})
MAPS = {"access_rows": [1, 1, -1, 1], "access_columns": [1, 1, -1, 1]}


def test_an_operation_of_the_callers_own_runs_in_stripes_by_the_maps_that_it_is_given() -> None:
    graph = chain(CONV, own("my.median", **MAPS, macs=9, mixes=False), CONV)
    read = access_graph(graph).operations[1]
    assert (read.role, read.macs, read.reads[0].channels) == ("striped", 9, "same")
    assert read.reads[0].windows == (Window(1, 1, -1, 1), Window(1, 1, -1, 1))
    found = cascade(graph, CHECKED)
    assert len(found.checked) == len(found.points)
    pooled = cascade(chain(CONV, own("max_pool2d", kernel=[3, 3], pads=[1, 1, 1, 1]), CONV), STREAMED)
    assert found.points[0].peak == pooled.points[0].peak < found.layers_peak
    alone = cascade(chain(CONV, own("my.median"), CONV), STREAMED)
    assert alone.points[-1].peak > found.points[-1].peak
    assert [barrier.operation for barrier in alone.barriers] == [1]


def test_an_axis_without_a_map_is_read_whole() -> None:
    by_rows = chain(own("my.blur", access_rows=[1, 1, 0, 0]))
    assert access_graph(by_rows).operations[0].reads[0].columns == Window(0, 1, 0, 31)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"access_rows": [1, 1, 0]}, "access_rows must be 4 integers"),
        ({"access_rows": [-1, 1, 0, 0]}, "access_rows must have a scale from 0"),
        ({"access_columns": [1, 1, 2, 0]}, "access_columns must have a scale from 0"),
        ({"access_rows": [1, 1, 0, 0], "macs": -1}, "macs must be at least 0"),
        ({"access_rows": [2**30, 1, 0, 0]}, "with strides or pads of more than"),
    ],
)
def test_maps_that_are_none_make_a_barrier_that_says_why(attributes: dict[str, Any], reason: str) -> None:
    row = access_graph(chain(own("my.own", **attributes))).operations[0]
    assert row.role == "barrier"
    assert reason in row.reason


def test_operations_of_different_labels_do_not_run_together() -> None:
    def labelled(*labels: str) -> OperationGraph:
        return chain(*(own("conv2d", **CONV["attributes"], label=label) for label in labels))

    free = cascade(labelled("npu", "npu", "npu", "npu"), STREAMED)
    apart = cascade(labelled("npu", "npu", "cpu", "cpu"), CHECKED)
    regions = {(region.first, region.end) for point in apart.points for region in point.cascade.regions}
    assert {(0, 2), (2, 4)} <= regions
    assert all(first // 2 == (end - 1) // 2 for first, end in regions)
    assert apart.points[-1].peak > free.points[-1].peak
    assert len(apart.checked) == len(apart.points)
