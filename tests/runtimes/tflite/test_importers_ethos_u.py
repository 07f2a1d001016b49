"""Plans inside of models that Vela compiled, and in printed states of LiteRT's interpreter."""

from collections.abc import Iterable
from typing import Any

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model
from memplan.planner.verify.verifier import verify
from memplan.runtimes.tflite.reader import read
from memplan.runtimes.tflite.reordered import set_orders
from memplan.solvers.portfolio.solve import solve
from tests.runtimes.tflite_files import INT8, model, operator, subgraph, tensor

COMMANDS, WEIGHTS = tensor("commands", (64,), INT8, constant=True), tensor("weights", (64,), INT8, constant=True)


def byte_tensor(name: str, size: int) -> Any:
    return tensor(name, (size,), INT8)


def compiled_model(tensors: list[Any], places: list[int], operators: list[Any], result: int) -> ImportedProblem:
    """Return a model with commands and weights before the tensors given, the third of which is its input."""
    graph = subgraph([COMMANDS, WEIGHTS, *tensors], [4], [result], operators)
    return read(model(graph, offline_plan=[1, 0, 2 + len(places), -1, -1, *places]), ModelOptions())


SCRATCH, X, Y = byte_tensor("scratch", 4096), byte_tensor("x", 1024), byte_tensor("y", 512)


def ethos_u(fast: int = 2, given: int = 4) -> Any:
    return operator("ethos-u", [0, 1, 2, fast, given], [given + 1])


def assert_plan_is_valid(found: ImportedProblem) -> None:
    assert found.own_plan is not None
    assert verify(found.problem, found.own_plan) == ()


@pytest.mark.parametrize("fast", [2, 3], ids=["the same tensor", "a tensor of the same place and bytes"])
def test_an_ethos_u_model_with_one_memory_has_one_pool(fast: int) -> None:
    found = compiled_model([SCRATCH, byte_tensor("scratch_fast", 4096), X, Y], [0, 0, 3072, 0], [ethos_u(fast)], 5)
    assert_plan_is_valid(found)
    assert (len(found.problem.pools), found.own_peak, solve(found.problem).peak) == (1, 4096, 4096)


def test_an_ethos_u_model_with_two_memories_has_two_pools() -> None:
    found = compiled_model([SCRATCH, byte_tensor("scratch_fast", 2048), X, Y], [0, 0, 3072, 0], [ethos_u(3)], 5)
    assert_plan_is_valid(found)
    assert [pool.name for pool in found.problem.pools] == ["arena", "scratch_fast"]
    assert {row.id: row.pool for row in found.own_plan.placements}["main/scratch_fast"] == "scratch_fast"
    assert found.own_peak == 4096 + 2048


def test_inputs_and_outputs_of_ethos_u_commands_keep_their_distance_in_every_plan() -> None:
    found = compiled_model([SCRATCH, byte_tensor("-", 16), X, Y], [0, 0, 3072, 512], [ethos_u()], 5)
    place = {row.id: row.offset for row in solve(found.problem).placements}
    assert (place["main/x"] - place["main/scratch"], place["main/y"] - place["main/scratch"]) == (3072, 512)
    # A graph of operations, for another order, does not know that.
    assert [each.buffers for each in found.warnings if each.rule == "ethos-u-areas"] == [("main/x", "main/y")]


def test_operators_of_the_processor_stay_free_and_are_verified() -> None:
    tensors = [SCRATCH, byte_tensor("-", 16), X, Y, byte_tensor("made", 512), byte_tensor("result", 512)]
    operators = [ethos_u(), operator("my_op", [5], [6]), operator("my_op", [6, 5], [7])]
    for place, is_valid in ((1024, True), (256, False)):
        found = compiled_model(tensors, [0, 0, 3072, 0, 512, place], operators, 7)
        assert found.own_plan is not None
        assert (verify(found.problem, found.own_plan) == ()) == is_valid
        assert {row.id for row in found.problem.buffers if row.relative is not None} == {"main/x", "main/y"}


def test_models_compiled_by_vela_are_not_reordered() -> None:
    graph = subgraph([COMMANDS, WEIGHTS, SCRATCH, X, Y], [3], [4], [ethos_u(given=3)])
    with pytest.raises(FormatError, match="must not be compiled for an Ethos-U"):
        set_orders(model(graph), {})


def test_views_of_inputs_of_ethos_u_commands_share_the_offset_of_the_input() -> None:
    tensors = [SCRATCH, byte_tensor("-", 16), X, byte_tensor("view", 1024), Y]
    found = compiled_model(tensors, [0, 0, 3072, 3072, 0], [operator("RESHAPE", [4], [5]), ethos_u(given=5)], 6)
    assert_plan_is_valid(found)
    assert found.own_peak == 4096


@pytest.mark.parametrize(("scratch", "places"), [(0, [0, 0, 0, 1024]), (4096, [-1, -1, -1, -1])])
def test_ethos_u_models_without_scratch_or_offsets_have_no_relative_buffers(scratch: int, places: list[int]) -> None:
    found = compiled_model([byte_tensor("scratch", scratch), byte_tensor("-", 16), X, Y], places, [ethos_u()], 5)
    assert not any(row.relative for row in found.problem.buffers)


Places = dict[int, tuple[int, int]]
Nodes = list[tuple[str, list[int], list[int]]]


def list_text(numbers: Iterable[int]) -> str:
    return f"[{','.join(map(str, numbers))}] -> 0B (0.00MB)"


def state(places: Places, nodes: Nodes, inputs: list[int], outputs: list[int], plan: str = "") -> bytes:
    lines = ["INFO: something else", "Interpreter has 1 subgraphs.", ""]
    lines += [f"-----------Subgraph-0 has {len(places)} tensors and {len(nodes)} nodes------------"]
    lines += [f"1 Inputs: {list_text(inputs)}", f"1 Outputs: {list_text(outputs)}", ""]
    lines += [
        "Tensor  ID Name                      Type            AllocType          Size (Bytes/MB)    Shape      Mem"
    ]
    lines += [
        f"Tensor {k:3} {'a tensor':25} kTfLiteFloat32  kTfLiteArenaRw     {size:<8} / 0.00 [4,4] [{at}, {at + size})"
        for k, (at, size) in places.items()
    ]
    lines += ["Tensor  99 weights                   kTfLiteFloat32  kTfLiteMmapRo      64       / 0.00 [16] [0, 64)"]
    for k, (op, taken, written) in enumerate(nodes):
        lines += [f"Node {k:3} Operator Builtin Code   0 {op} (not delegated)"]
        lines += [f"  2 Input Tensors:{list_text(taken)}", f"  1 Output Tensors:{list_text(written)}"]
    lines += ["", f"Execution plan as the list of 4 nodes invoked in-order: {plan or f'[0-{len(nodes) - 1}]'}", ""]
    return "\n".join(lines).encode()


def messages(data: bytes) -> list[str]:
    model = read_model(data)
    assert model.own_plan is not None
    return [row.message for row in verify(model.problem, model.own_plan)]


NODES: Nodes = [("CONV_2D", [0, 99, -1], [1]), ("RESHAPE", [1, 99], [2]), ("CONV_2D", [0], [3]), ("ADD", [2, 3], [4])]


def test_a_valid_interpreter_state_is_read_with_its_reshape_in_place() -> None:
    data = state({0: (0, 64), 1: (64, 64), 2: (64, 64), 3: (128, 64), 4: (64, 64)}, NODES, [0], [4])
    assert detect(data, "log.txt") == "litert-state"
    model = read_model(data)
    rows = {row.id: (row.start, row.end) for row in model.problem.buffers}
    assert rows == {"0/0 a tensor": (-1, 3), "0/1 a tensor": (0, 5), "0/3 a tensor": (2, 4)}
    assert (model.own_peak, messages(data)) == (192, [])


def test_verify_reports_bytes_that_are_reused_before_the_last_read_of_their_reshape() -> None:
    assert messages(state({0: (0, 64), 1: (64, 64), 2: (64, 64), 3: (64, 64), 4: (128, 64)}, NODES, [0], [4])) == [
        'buffers "0/1 a tensor" and "0/3 a tensor" share bytes [64, 128) of "subgraph 0", but both are alive in [2, 4)'
    ]


def test_only_the_last_reader_may_write_its_output_over_an_input() -> None:
    nodes: Nodes = [("RELU", [0], [1]), ("CONV_2D", [1], [2]), ("MUL", [1, 2], [3])]
    sound = {0: (0, 64), 1: (0, 64), 2: (64, 64), 3: (0, 64)}
    assert messages(state(sound, nodes, [0], [3])) == []
    assert len(messages(state({**sound, 2: (0, 64)}, nodes, [0], [3]))) == 1


def test_nodes_of_an_interpreter_state_run_in_the_order_of_its_execution_plan() -> None:
    places = {0: (0, 64), 1: (64, 64), 3: (64, 64), 4: (128, 64)}
    nodes: Nodes = [("CONV_2D", [0], [1]), ("CONV_2D", [0], [3]), ("CONV_2D", [1], [4]), ("CONV_2D", [3], [4])]
    assert messages(state(places, nodes, [0], [4], plan="[0,2,1,3]")) == []
    assert len(messages(state(places, nodes, [0], [4]))) == 1
    with pytest.raises(FormatError, match="subgraph 0: must have node 9, which its execution plan lists"):
        read_model(state(places, nodes, [0], [4], plan="[0,9]"))


def test_an_interpreter_state_without_offsets_is_refused() -> None:
    with pytest.raises(FormatError, match="must have tensors of an arena with their offsets"):
        read_model(state({}, NODES, [0], [4]))
