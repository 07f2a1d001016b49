"""What LiteRT prints of an interpreter: the plan of its arena is read, and bytes given away too early are named."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.verify.verifier import verify
from memplan.systems.reading import detect, read_model

Places = dict[int, tuple[int, int]]
Nodes = list[tuple[str, list[int], list[int]]]


def listed(numbers: Iterable[int]) -> str:
    return f"[{','.join(map(str, numbers))}] -> 0B (0.00MB)"


def state(places: Places, nodes: Nodes, inputs: list[int], outputs: list[int], plan: str = "") -> bytes:
    lines = ["INFO: something else", "Interpreter has 1 subgraphs.", ""]
    lines += [f"-----------Subgraph-0 has {len(places)} tensors and {len(nodes)} nodes------------"]
    lines += [f"1 Inputs: {listed(inputs)}", f"1 Outputs: {listed(outputs)}", ""]
    lines += [
        "Tensor  ID Name                      Type            AllocType          Size (Bytes/MB)    Shape      Mem"
    ]
    lines += [
        f"Tensor {k:3} {'a tensor':25} kTfLiteFloat32  kTfLiteArenaRw     {size:<8} / 0.00 [4,4] [{at}, {at + size})"
        for k, (at, size) in places.items()
    ]
    lines += ["Tensor  99 weights                   kTfLiteFloat32  kTfLiteMmapRo      64       / 0.00 [16] [0, 64)"]
    for k, (op, read, written) in enumerate(nodes):
        lines += [f"Node {k:3} Operator Builtin Code   0 {op} (not delegated)"]
        lines += [f"  2 Input Tensors:{listed(read)}", f"  1 Output Tensors:{listed(written)}"]
    lines += ["", f"Execution plan as the list of 4 nodes invoked in-order: {plan or f'[0-{len(nodes) - 1}]'}", ""]
    return "\n".join(lines).encode()


def messages(data: bytes) -> list[str]:
    model = read_model(data)
    assert model.own_plan is not None
    return [row.message for row in verify(model.problem, model.own_plan)]


NODES: Nodes = [("CONV_2D", [0, 99, -1], [1]), ("RESHAPE", [1, 99], [2]), ("CONV_2D", [0], [3]), ("ADD", [2, 3], [4])]


def test_a_sound_arena_is_read_with_its_reshape_in_place() -> None:
    data = state({0: (0, 64), 1: (64, 64), 2: (64, 64), 3: (128, 64), 4: (64, 64)}, NODES, [0], [4])
    assert detect(data, "log.txt") == "litert-state"
    model = read_model(data)
    rows = {row.id: (row.start, row.end) for row in model.problem.buffers}
    assert rows == {"0/0 a tensor": (-1, 3), "0/1 a tensor": (0, 5), "0/3 a tensor": (2, 4)}
    assert (model.own_peak, messages(data)) == (192, [])


def test_bytes_that_are_given_away_while_a_reshape_of_them_is_read_are_named() -> None:
    data = state({0: (0, 64), 1: (64, 64), 2: (64, 64), 3: (64, 64), 4: (128, 64)}, NODES, [0], [4])
    assert messages(data) == [
        'buffers "0/1 a tensor" and "0/3 a tensor" share bytes [64, 128) of "subgraph 0", but both are alive in [2, 4)'
    ]


def test_an_output_over_an_input_is_sound_for_nothing_but_the_last_reader() -> None:
    nodes: Nodes = [("RELU", [0], [1]), ("CONV_2D", [1], [2]), ("MUL", [1, 2], [3])]
    sound = {0: (0, 64), 1: (0, 64), 2: (64, 64), 3: (0, 64)}
    assert messages(state(sound, nodes, [0], [3])) == []
    assert len(messages(state({**sound, 2: (0, 64)}, nodes, [0], [3]))) == 1


def test_nodes_run_in_the_order_of_the_execution_plan() -> None:
    places = {0: (0, 64), 1: (64, 64), 3: (64, 64), 4: (128, 64)}
    nodes: Nodes = [("CONV_2D", [0], [1]), ("CONV_2D", [0], [3]), ("CONV_2D", [1], [4]), ("CONV_2D", [3], [4])]
    assert messages(state(places, nodes, [0], [4], plan="[0,2,1,3]")) == []
    assert len(messages(state(places, nodes, [0], [4]))) == 1
    with pytest.raises(FormatError, match="subgraph 0: must have the node 9 of its execution plan"):
        read_model(state(places, nodes, [0], [4], plan="[0,9]"))


def test_a_state_without_offsets_is_refused() -> None:
    with pytest.raises(FormatError, match="must have tensors of an arena with their offsets"):
        read_model(state({}, NODES, [0], [4]))
