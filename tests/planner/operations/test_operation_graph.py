"""Graphs of operations: what is read, what is refused, and what follows from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memplan.planner.errors import OperationsError
from memplan.planner.operations.graph import OperationGraph, graph_from, read_graph, write_graph
from tests.support.sentences import rules

DIAMOND: dict[str, Any] = {
    "format": "operations-by-bytes/1",
    "name": "diamond",
    "size": [4, 10, 20, 3],
    "kept": [3],
    "ops": [
        {"in": [0], "out": [1], "work": 5, "name": "left"},
        {"in": [0], "out": [2], "after": [0]},
        {"in": [1, 2, 2], "out": [3]},
    ],
}


def graph_with(**change: Any) -> OperationGraph:
    return graph_from({**DIAMOND, **change})


def test_a_graph_is_read_and_written_as_it_was() -> None:
    data = json.dumps(DIAMOND).encode()
    graph = read_graph(data)
    assert json.loads(write_graph(graph)) == DIAMOND
    assert read_graph(write_graph(graph)) == graph


def test_makers_readers_and_predecessors_follow() -> None:
    graph = graph_with()
    assert graph.maker == (None, 0, 1, 2)
    assert graph.readers == ((0, 1), (2,), (2,), ())
    assert graph.predecessors == ((), (0,), (0, 1))
    assert graph.made == ((1,), (2,), (3,))


def test_a_tensor_that_is_made_again_waits_for_its_readers_and_counts_once() -> None:
    graph = graph_with(
        size=[4, 8], kept=[], ops=[{"out": [0]}, {"in": [0], "out": [1]}, {"out": [0]}, {"in": [0]}, {"in": [1]}]
    )
    assert graph.made == ((0,), (1,), (), (), ())
    assert graph.predecessors == ((), (0,), (0, 1), (2,), (1,))
    assert graph.readers == ((1, 2, 3), (4,))


def test_facts_are_read_and_written_as_they_were() -> None:
    inside = {"size": [20, 7], "resident": [0], "ops": [{"in": [0], "out": [1], "kind": "relu"}]}
    row = {
        "in": [0, 3],
        "out": [1],
        "may_overwrite": [[0, 0]],
        "kind": "conv2d",
        "in_shapes": [[2, 2], None],
        "attributes": {"strides": [1, 2], "padding": "same", "alpha": 0.5, "fused": True, "scales": [1, 0.5]},
    }
    loop = {
        "in": [1],
        "out": [2],
        "work": 7,
        "out_shapes": [[20]],
        "regions": [{"kind": "loop", "graph": inside, "outer": [[0, 2]]}],
    }
    quantization = {"scales": [0.5, 0.25], "zero_points": [0, 1], "axis": 0}
    weight = {"name": "w", "shape": [2, 1], "dtype": "int8", "quantization": quantization, "role": "weight"}
    said = {**DIAMOND, "resident": [3], "kept": [2], "tensors": [{}, {}, {}, weight], "ops": [row, loop]}
    graph = graph_from(said)
    assert json.loads(write_graph(graph)) == said
    assert read_graph(write_graph(graph)) == graph
    assert graph.ops[1].regions[0].graph.ops[0].kind == "relu"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"tensors": [{}]}, "tensors: must be empty, or one for each of the 4 sizes, got 1"),
        (
            {"tensors": [{"dtype": "octet"}, {}, {}, {}]},
            'tensors[0].dtype: must be a type such as int8, float32, int4 or float32x4, got "octet"',
        ),
        (
            {"ops": [{"in": [0], "out": [1], "may_overwrite": [[0, 1]]}]},
            "ops[0].may_overwrite[0]: must name one of the 1 tensors of in, got 1",
        ),
        (
            {
                "ops": [
                    {
                        "in": [0],
                        "regions": [{"kind": "call", "graph": {"size": [4], "resident": [0]}, "outer": [[0, 1]]}],
                    }
                ]
            },
            "ops[0].regions[0].outer[0]: must end with a tensor that the operation reads or makes, got 1",
        ),
        ({"size": [4, "10", 20, 3]}, 'size[1]: must be an integer, got "10" (did you mean 10, without quotes?)'),
        ({"kept": [4]}, "kept[0]: must be the position of one of the 4 tensors, got 4"),
        ({"ops": [{"in": [1]}, {"out": [1]}]}, "ops[0].in[0]: must be made before it is read, got 1, made by ops[1]"),
        ({"ops": [{"out": [1, 1]}]}, "ops[0].out[1]: must be named once, got 1 again (first at out[0])"),
        ({"ops": [{"after": [0]}]}, "ops[0].after[0]: must name an earlier operation, got 0"),
        ({"format": "other"}, "format: must be 'operations-by-bytes/1', got \"other\""),
        (
            {"size": [2**62, 1, 0, 0]},
            f"size: must be at most {2**62} bytes in all, with the largest work, got {2**62 + 6}",
        ),
    ],
)
def test_each_broken_rule_is_a_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OperationsError) as error:
        graph_with(**change)
    assert rules(error.value.sentences) == rules([sentence])
