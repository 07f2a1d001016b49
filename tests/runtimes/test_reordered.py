"""Models in another order: the same operators, and equal results in the runtimes."""

import random
from collections import Counter

import numpy as np
import pytest

from memplan.planner.errors import FormatError, OperationsError
from memplan.programs.models.model_graph import ModelGraph, read_model_graph
from memplan.programs.models.sequence import write_reordered
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.search.regions import order_inner_regions, permute
from memplan.runtimes.new_order import new_order
from memplan.runtimes.onnx import reordered as onnx_files
from memplan.runtimes.tflite import reordered as tflite_files
from memplan.runtimes.tflite.model import read_model
from tests.runtimes import litert_models, random_onnx
from tests.runtimes.tflite_files import CODES, flatbuffer, model, operator, subgraph, tensor
from tests.support.operation_graphs import random_order


def shuffle_orders(graph: OperationGraph, seed: int) -> OperationGraph:
    rng = random.Random(seed)
    inside = order_inner_regions(graph, lambda region, _: (random_order(region.graph, rng), 0)).graph
    return permute(inside, random_order(inside, rng))


def assert_it_is_read_in_that_order(read: ModelGraph, graph: OperationGraph, again: ModelGraph) -> None:
    """Compare peaks, unless other views are separate buffers: of two in one family, the second in the file is."""
    if again.imported.views == read.imported.views and not read.imported.views.apart:
        assert peak_of(again.graph, range(len(again.graph.ops))) == peak_of(graph, range(len(graph.ops)))


@pytest.mark.parametrize("seed", range(6))
def test_an_onnx_model_in_another_order_has_the_same_nodes_and_computes_the_same(seed: int) -> None:
    runtime = pytest.importorskip("onnxruntime")
    data = random_onnx.random_model(seed, 25)
    read = read_model_graph(data, "model.onnx")
    graph = shuffle_orders(read.graph, seed)
    written = write_reordered(data, "model.onnx", graph).data
    assert written != data
    assert Counter(written) == Counter(data)
    assert_it_is_read_in_that_order(read, graph, read_model_graph(written, "model.onnx"))
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    image = np.random.RandomState(seed).randn(2, 8).astype(np.float32)
    for x in (image, -image):
        of_cpu = {"providers": ["CPUExecutionProvider"]}
        results = [runtime.InferenceSession(file, options, **of_cpu).run(None, {"x": x}) for file in (data, written)]
        assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_a_tflite_model_in_another_order_has_the_same_operators_and_computes_the_same(seed: int) -> None:
    pytest.importorskip("ai_edge_litert")
    data = litert_models.random_model(seed, 25, has_plan=seed == 0)
    read = read_model_graph(data, "model.tflite")
    graph = shuffle_orders(read.graph, seed)
    written = write_reordered(data, "model.tflite", graph)
    assert written.data != data
    assert len(written.data) == len(data)
    assert_it_is_read_in_that_order(read, graph, read_model_graph(written.data, "model.tflite"))
    assert bool(written.left_out) == (seed == 0)
    metadata = read_model(written.data).metadata
    assert "OfflineMemoryAllocation" not in metadata
    assert set(metadata) == ({"other", "last"} if seed == 0 else set())
    image = np.random.RandomState(seed).randn(4, 4).astype(np.float32)
    results = [litert_models.outputs_of(file, image) for file in (data, written.data)]
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))


def test_writing_the_given_order_leaves_every_byte_of_a_model_unchanged() -> None:
    for data, name in (
        (random_onnx.random_model(0, 20), "model.onnx"),
        (model(subgraph([tensor("a", [4]), tensor("b", [4])], [0], [1], [operator("RELU", [0], [1])])), "m.tflite"),
    ):
        assert write_reordered(data, name, read_model_graph(data, name).graph).data == data


def test_operators_with_effects_or_state_keep_their_order() -> None:
    tensors = [tensor("x", [4]), tensor("state", [4], variable=True), *(tensor(f"t{k}", [4]) for k in range(3))]
    operators = [operator("CUSTOM", [0, 1], [2]), operator("ADD", [0, 0], [3]), operator("CUSTOM", [0], [4])]
    data = model(subgraph(tensors, [0], [2, 3, 4], operators))
    graph = read_model_graph(data, "model.tflite").graph
    assert graph.predecessors == ((), (), (0,))
    moved = write_reordered(data, "model.tflite", permute(graph, [1, 0, 2])).data
    assert [row.name for row in read_model(moved).subgraphs[0].operators] == ["ADD", "CUSTOM", "CUSTOM"]
    with pytest.raises(OperationsError, match="must run operation 0 before 2"):
        tflite_files.set_orders(data, {(0,): [2, 1, 0]})


def test_files_that_refer_to_operations_by_index_are_refused() -> None:
    control = {0: "model_control_dependencies", 1: ("I", 0)}
    plain = model(subgraph([tensor("a", [4]), tensor("b", [4])], [0], [1], [operator("RELU", [0], [1])]))
    assert tflite_files.set_orders(plain, {}).data == plain
    graph = subgraph([tensor("a", [4]), tensor("b", [4])], [0], [1], [operator("RELU", [0], [1])])
    codes = [{0: ("b", min(code, 127)), 3: ("i", code)} for code in CODES.values()]
    named = flatbuffer({0: ("I", 3), 1: codes, 2: [graph], 4: [{}], 6: [control]})
    with pytest.raises(FormatError, match="must not have model_control_dependencies"):
        tflite_files.set_orders(named, {})
    with pytest.raises(FormatError, match="must be an ONNX model with a graph, got no graph"):
        onnx_files.set_orders(b"\x08\x01", {})
    with pytest.raises(FormatError, match="must be of a format with a free order"):
        write_reordered(b"{}", "model.json", OperationGraph())


def test_operators_missing_in_an_order_run_right_before_their_first_reader() -> None:
    reads, writes = ["", "a", "", "cb", ""], [[name] for name in "abcde"]
    assert new_order([4, 3], reads, writes, ()) == [4, 0, 1, 2, 3]
    assert new_order([3, 4], reads, writes, ()) == [0, 1, 2, 3, 4]
    assert new_order([2, 3], [""] * 4, [*"abcd"], {2, 3}) == [0, 1, 2, 3]


def test_new_order_refuses_an_order_against_reads_or_effects() -> None:
    with pytest.raises(OperationsError, match="must not form a cycle"):
        new_order([1, 0], ["b", "a", "", ""], [*"abcd"], ())
    with pytest.raises(OperationsError, match="must run operation 2 before 3, as both have effects"):
        new_order([3, 2], [""] * 4, [*"abcd"], {2, 3})
