"""Graphs of operations: what is read, what is refused, and what follows from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memplan.planner.errors import FormatError, OperationsError
from memplan.planner.operations.graph import GraphOperation, OperationGraph, graph_from, read_graph, write_graph

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


def test_a_graph_can_be_made_in_python() -> None:
    graph = OperationGraph(size=(1, 2), ops=(GraphOperation(outputs=(0,)), GraphOperation(inputs=(0,), outputs=(1,))))
    assert graph.predecessors == ((), (0,))
    assert json.loads(write_graph(graph))["ops"] == [{"out": [0]}, {"in": [0], "out": [1]}]


def test_a_wrong_graph_in_python_is_told_in_sentences() -> None:
    with pytest.raises(OperationsError, match=r"kept\[0\]: must be the position of one of the 1 tensors, got 1"):
        OperationGraph(size=(1,), kept=(1,))
    with pytest.raises(OperationsError, match="work: must be at least 0, got -1"):
        GraphOperation(work=-1)


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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"size": [4, -1, 20, 3]}, "size[1]: must be at least 0, got -1"),
        ({"size": [4, "10", 20, 3]}, 'size[1]: must be an integer, got "10"'),
        ({"kept": [4]}, "kept[0]: must be the position of one of the 4 tensors, got 4"),
        ({"kept": [3, 3]}, "kept[1]: must be named once, got 3 again (first at kept[0])"),
        ({"ops": [{"in": [9]}]}, "ops[0].in[0]: must be the position of one of the 4 tensors, got 9"),
        ({"ops": [{"out": [9]}]}, "ops[0].out[0]: must be the position of one of the 4 tensors, got 9"),
        ({"ops": [{"in": [1]}, {"out": [1]}]}, "ops[0].in[0]: must be made before it is read, got 1, made by ops[1]"),
        ({"ops": [{"in": [1], "out": [1]}]}, "ops[0].in[0]: must be made before it is read, got 1, made by ops[0]"),
        ({"ops": [{"out": [1, 1]}]}, "ops[0].out[1]: must be named once, got 1 again (first at out[0])"),
        ({"ops": [{"after": [0]}]}, "ops[0].after[0]: must name an earlier operation, got 0"),
        ({"ops": [{"work": -1}]}, "ops[0].work: must be at least 0, got -1"),
        ({"ops": [{"inputs": 1}]}, "ops[0].inputs: must be a list, got 1"),
        ({"ops": [{"reads": []}]}, "ops[0].reads: is not a known field"),
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
    assert error.value.sentences == (sentence,)


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(FormatError, match="must be JSON"):
        read_graph(b"{")
    with pytest.raises(OperationsError, match="must be an object"):
        read_graph(b"[]")


def test_an_empty_graph_is_one() -> None:
    assert graph_from({}).ops == ()
