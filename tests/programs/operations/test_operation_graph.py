"""Graphs of operations: their rules, the check of their orders, and outputs that overwrite inputs."""

import json
import random
from math import prod
from typing import Any

import pytest

from memplan.planner.errors import OperationsError
from memplan.programs.operations.graph import OperationGraph, graph_from, read_graph, write_graph
from memplan.programs.operations.graph_variants import allow_overwriting
from memplan.programs.operations.in_place import input_of_output, input_of_output_in_order
from memplan.programs.operations.order_check import bytes_after, bytes_during, live_bytes_by_operation, peak_of
from tests.support.depth import seeds
from tests.support.operation_graphs import random_graph, random_order

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


def test_a_graph_is_unchanged_after_writing_and_reading() -> None:
    graph = read_graph(json.dumps(DIAMOND).encode())
    assert (json.loads(write_graph(graph)), read_graph(write_graph(graph))) == (DIAMOND, graph)


def test_a_graph_derives_makers_readers_and_predecessors() -> None:
    graph = graph_with()
    assert (graph.maker, graph.readers) == ((None, 0, 1, 2), ((0, 1), (2,), (2,), ()))
    assert (graph.predecessors, graph.new_tensors) == (((), (0,), (0, 1)), ((1,), (2,), (3,)))


def test_an_operation_that_rewrites_a_tensor_waits_for_its_readers_and_adds_no_bytes() -> None:
    ops = [{"out": [0]}, {"in": [0], "out": [1]}, {"out": [0]}, {"in": [0]}, {"in": [1]}]
    graph = graph_with(size=[4, 8], kept=[], ops=ops)
    assert graph.new_tensors == ((0,), (1,), (), (), ())
    assert (graph.predecessors, graph.readers) == (((), (0,), (0, 1), (2,), (1,)), ((1, 2, 3), (4,)))


def test_facts_of_a_graph_are_unchanged_after_writing_and_reading() -> None:
    inside = {"size": [20, 7], "resident": [0], "ops": [{"in": [0], "out": [1], "kind": "relu"}]}
    row = {
        "in": [0, 3],
        "out": [1],
        "may_overwrite": [[0, 0]],
        "kind": "conv2d",
        "in_shapes": [[2, 2], None],
        "attributes": {"strides": [1, 2], "padding": "same", "alpha": 0.5, "fused": True, "scales": [1, 0.5]},
    }
    region = {"kind": "loop", "graph": inside, "outer": [[0, 2]]}
    loop = {"in": [1], "out": [2], "work": 7, "out_shapes": [[20]], "regions": [region]}
    quantization = {"scales": [0.5, 0.25], "zero_points": [0, 1], "axis": 0}
    weight = {"name": "w", "shape": [2, 1], "dtype": "int8", "quantization": quantization, "role": "weight"}
    said = {**DIAMOND, "resident": [3], "kept": [2], "tensors": [{}, {}, {}, weight], "ops": [row, loop]}
    graph = graph_from(said)
    assert (json.loads(write_graph(graph)), read_graph(write_graph(graph))) == (said, graph)
    assert graph.ops[1].regions[0].graph.ops[0].kind == "relu"


ADD: dict[str, Any] = {"in": [0, 1], "out": [2], "may_overwrite": [[0, 0], [0, 1]]}


def test_only_the_last_reader_overwrites_an_input() -> None:
    graph = graph_from({"size": [8, 8, 8], "ops": [{"in": [0]}, ADD]})
    assert (input_of_output(graph, 1, {0}), live_bytes_by_operation(graph, [0, 1])) == ({2: 0}, [16, 16])
    assert (input_of_output_in_order(graph, [1, 0]), bytes_during(graph, {0}, 1)) == ({2: 1}, 16)


@pytest.mark.parametrize(
    "change",
    [
        {"kept": [0, 1]},
        {"resident": [0, 1]},
        {"size": [7, 7, 8]},
        {"size": [8, 8, 0]},
        {"given": [0, 1], "ops": [{**ADD, "out": [2, 0, 1]}]},
        {"ops": [ADD, {"in": [0, 1]}]},
        {"given": [2]},
    ],
)
def test_inputs_that_are_needed_or_too_small_are_not_overwritten(change: dict[str, Any]) -> None:
    assert input_of_output(graph_from({"size": [8, 8, 8], "ops": [ADD], **change}), 0, set()) == {}


def test_competing_outputs_are_matched_to_save_the_most_bytes() -> None:
    pairs = [[0, 0], [0, 1], [1, 0], [2, 0]]
    graph = graph_from({"size": [9, 9, 5, 6, 7], "ops": [{"in": [0, 1], "out": [2, 3, 4], "may_overwrite": pairs}]})
    assert input_of_output(graph, 0, set()) == {2: 1, 4: 0}
    assert peak_of(graph, [0]) == 9 + 9 + 6


def test_a_chain_of_overwriting_operations_uses_one_offset() -> None:
    ops = [{"in": [k], "out": [k + 1], "may_overwrite": [[0, 0]]} for k in range(3)]
    graph = graph_from({"size": [9, 9, 5, 5], "ops": ops})
    assert input_of_output_in_order(graph, [0, 1, 2]) == {1: 0, 2: 1, 3: 2}
    assert live_bytes_by_operation(graph, [0, 1, 2]) == [9, 9, 5]


@pytest.mark.parametrize(
    ("kind", "tensors", "others", "expected"),
    [
        ("add", [[2, 4], [2, 4], [2, 4]], {}, ((0, 0), (0, 1))),
        ("add", [[4], [2, 4], [2, 4]], {}, ((0, 1),)),
        ("add", [[2, 4], [4, 2], [2, 4]], {}, ((0, 0),)),
        ("conv", [[2, 4], [2, 4], [2, 4]], {}, ()),
        ("add", [[2, 4], [2, 4], [2, 4]], {"kept": [0]}, ((0, 1),)),
        ("add", [[2, 4], [2, 4], [2, 4]], {"resident": [1]}, ((0, 0),)),
    ],
)
def test_an_elementwise_operation_may_overwrite_inputs_of_the_same_shape(
    kind: str, tensors: list[list[int]], others: dict[str, Any], expected: tuple[tuple[int, int], ...]
) -> None:
    facts = [{"shape": shape, "dtype": "int8"} for shape in tensors]
    sizes = [prod(shape) for shape in tensors]
    row = {"in": [0, 1], "out": [2], "kind": kind}
    found = allow_overwriting(graph_from({"size": sizes, "ops": [row], "tensors": facts, **others}))
    assert found.ops[0].may_overwrite == expected


OPS = [{"in": [0], "out": [1], "work": 5}, {"in": [0], "out": [2]}, {"in": [1, 2], "out": [3]}, {"out": [4]}]
GRAPH = graph_from({"size": [4, 10, 20, 3, 7], "kept": [3], "ops": OPS})


def test_live_bytes_by_operation_counts_the_bytes_alive_during_each_operation() -> None:
    assert live_bytes_by_operation(GRAPH, [0, 1, 2, 3]) == [19, 34, 33, 10]
    assert live_bytes_by_operation(GRAPH, [3, 1, 0, 2]) == [11, 24, 39, 33]
    assert live_bytes_by_operation(GRAPH, [0, 1]) == [19, 34]
    assert (peak_of(GRAPH, range(4)), peak_of(GRAPH, [0, 1, 2, 3]), peak_of(GRAPH, [3, 1, 0, 2])) == (34, 34, 39)


def test_a_given_tensor_is_alive_before_the_first_operation() -> None:
    graph = graph_from({"size": [9, 5], "kept": [0]})
    assert (peak_of(graph, []), bytes_after(graph, [])) == (9, 9)


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        ([0, 1, 2], "order: must name each of the 4 operations once, got 3"),
        ([0, 1, 1, 3], "order[2]: must be an operation that has not run yet, got 1"),
        ([0, 1, 2, 4], "order[3]: must be an operation that has not run yet, got 4"),
        ([0, 2, 1, 3], "order[1]: must come after operation 1, got 2"),
    ],
)
def test_peak_of_refuses_an_invalid_order(order: list[int], sentence: str) -> None:
    with pytest.raises(OperationsError) as error:
        peak_of(GRAPH, order)
    assert error.value.sentences == (sentence,)


def test_bytes_after_and_bytes_during_refuse_a_state_that_no_order_reaches() -> None:
    with pytest.raises(OperationsError, match="done: must contain operation 0, a predecessor of 2"):
        bytes_after(GRAPH, {1, 2})
    with pytest.raises(OperationsError, match="done: must contain operation 1, a predecessor of 2"):
        bytes_during(GRAPH, {0}, 2)
    with pytest.raises(OperationsError, match="done: must not contain operation 0, which runs next"):
        bytes_during(GRAPH, {0}, 0)


@pytest.mark.drawn
def test_bytes_during_agrees_with_live_bytes_by_operation() -> None:
    for seed in seeds(50):
        rng = random.Random(seed)
        graph = random_graph(rng, rng.randint(1, 12))
        order = random_order(graph, rng)
        along = live_bytes_by_operation(graph, order)
        assert along == [bytes_during(graph, order[:k], v) for k, v in enumerate(order)]
        assert peak_of(graph, order) >= max(bytes_after(graph, order[:k]) for k in range(len(order) + 1))
