"""Tests of the reader of TFLite models: converted ones, and handwritten ones for cases that no converter writes."""

import struct
from pathlib import Path
from typing import Any

import pytest

from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.planner.errors import FormatError, InputError
from memplan.planner.foreign.imported import ImportedProblem, ViewFacts
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.instance.canonical import problem_hash
from memplan.programs.lifetimes.shadow import shadow
from memplan.programs.models.model_graph import graph_of_imported
from memplan.programs.operations.operations import operations_from
from memplan.programs.operations.program_graph import program_graph
from memplan.runtimes.tflite.model import read_model as read_tensors
from memplan.runtimes.tflite.reader import read
from memplan.runtimes.tflite.tflm_arena import ALIGNMENT
from memplan.solvers.portfolio.solve import solve
from tests.runtimes.tflite_files import FLOAT16, INT4, INT8, RESOURCE, STRING, Fields, model, operator, subgraph, tensor
from tests.support import public_problems

MODELS = Path(__file__).parents[3] / "tests" / "models"
X, Y, Z = (tensor(name, (1, 4)) for name in "xyz")
Rows = dict[str, tuple[tuple[tuple[int, int], ...], int]]


def import_model(data: bytes, **options: Any) -> ImportedProblem:
    return read_model(data, None, ModelOptions(**options))


def rows(found: ImportedProblem) -> Rows:
    return {str(row.id).removeprefix("main/"): (row.intervals, row.size) for row in found.problem.buffers}


def chain(*tensors: Fields) -> bytes:
    operators = [operator("RELU", [k], [k + 1]) for k in range(len(tensors) - 1)]
    return model(subgraph(tensors, [0], [len(tensors) - 1], operators))


@pytest.mark.parametrize("path", sorted((MODELS / "recorded").glob("*.tflite")), ids=lambda path: str(path.stem))
def test_a_regenerated_model_has_the_recorded_problem(path: Path) -> None:
    recorded = public_problems.problem(f"tflite/{path.stem}.csv")
    assert problem_hash(import_model(path.read_bytes(), views="separate").problem) == problem_hash(recorded)


def test_a_tensor_is_alive_from_its_operator_to_its_last_reader() -> None:
    operators = [operator("RELU", [0], [1]), operator("ADD", [0, 1], [2])]
    found = import_model(model(subgraph([X, Y, Z], [0], [2], operators)))
    assert rows(found) == {"x": (((-1, 2),), 16), "y": (((0, 2),), 16), "z": (((1, 3),), 16)}


def test_sizes_are_rounded_up_to_the_arena_alignment() -> None:
    found = import_model(chain(tensor("x", (3, 5), INT8), tensor("y", (3, 5), INT4)))
    assert [(row.size, row.alignment) for row in found.problem.buffers] == [(16, ALIGNMENT), (16, ALIGNMENT)]
    found = import_model(chain(tensor("x", (3, 5), INT8), tensor("y", (3, 5), INT4)), alignment=1)
    assert [(row.size, row.alignment) for row in found.problem.buffers] == [(15, 1), (8, 1)]


def test_constants_are_outside_the_problem_and_variables_are_always_alive() -> None:
    tensors = [X, tensor("state", (4,), variable=True), tensor("weights", (8,), constant=True), Y]
    found = import_model(model(subgraph(tensors, [0], [3], [operator("ADD", [0, 1, 2, -1], [3])])))
    assert rows(found) == {"x": (((-1, 1),), 16), "state": (((-1, 2),), 16), "y": (((0, 2),), 16)}


def test_weights_of_float16_are_constants_and_their_multiplications_are_counted() -> None:
    content = struct.pack("<18H", *range(18))
    half, bias = tensor("half", (2, 3, 3, 1), FLOAT16, constant=2), tensor("bias", (2,), constant=True)
    tensors = [tensor("x", (1, 4, 4, 1)), half, tensor("weights", (2, 3, 3, 1)), bias, tensor("y", (1, 4, 4, 2))]
    window = {4: {0: ("b", 0), 1: ("i", 1), 2: ("i", 1)}}
    operators = [operator("DEQUANTIZE", [1], [2]), {**operator("CONV_2D", [0, 2, 3], [4]), **window}]
    found = import_model(model(subgraph(tensors, [0], [4], operators), contents=[content]))
    assert rows(found) == {"x": (((-1, 1),), 64), "y": (((0, 2),), 128)}
    graph = graph_of_imported(found).graph
    assert [graph.tensors[k].name for k in graph.resident] == ["weights", "bias"]
    assert found.warnings == ()  # a few bytes
    drawn = access_graph(graph).operations[0]
    assert (drawn.role, drawn.macs) == ("striped", 18)


def test_dequantized_constants_are_reported_as_outside_of_the_plan() -> None:
    tensors = [tensor("x", (64, 64)), tensor("half", (64, 64), FLOAT16, constant=2), tensor("w", (64, 64)), Y]
    operators = [operator("DEQUANTIZE", [1], [2]), operator("ADD", [0, 2], [3])]
    (warning,) = import_model(model(subgraph(tensors, [0], [3], operators), contents=[bytes(8192)])).warnings
    assert "(1, of 16384 bytes) are not in the plan: LiteRT makes them float32 or dense before" in warning.message


def test_a_composite_runs_its_decomposition() -> None:
    inner = subgraph([tensor("a", (1, 4)), tensor("b", (1, 400)), tensor("c", (1, 4))], [0], [2],
                     [operator("RELU", [0], [1]), operator("MEAN", [1], [2])])  # fmt: skip
    composite: Fields = {**operator("STABLEHLO_COMPOSITE", [0], [1]), 12: {0: "odml.f", 1: ("i", 1)}}
    assert rows(import_model(model(subgraph([X, Y], [0], [1], [composite]), inner))).keys() == {"x", "y", "a", "b", "c"}
    with pytest.raises(
        FormatError, match=r"subgraphs\[0\].operators\[0\].builtin_options_2: is required for STABLEHLO"
    ):
        import_model(model(subgraph([X, Y], [0], [1], [operator("STABLEHLO_COMPOSITE", [0], [1])]), inner))


def test_a_read_of_a_variable_stays_before_its_assignment_in_every_graph() -> None:
    handle = tensor("handle", (), RESOURCE)
    tensors = [tensor("x", (4,)), handle, tensor("old", (4,)), tensor("new", (4,)), tensor("y", (4,))]
    operators = [operator("VAR_HANDLE", [], [1]), operator("READ_VARIABLE", [1], [2]), operator("RELU", [0], [3])]
    operators += [operator("ASSIGN_VARIABLE", [1, 3], []), operator("ADD", [2, 0], [4])]
    found = import_model(model(subgraph(tensors, [0], [4], operators)))
    graph = program_graph(found.operations, found.facts).graph
    assert graph.predecessors == ((), (0,), (), (0, 1, 2), (1,))
    written = operations_from(found.operations.model_dump(mode="json", exclude_defaults=True))
    assert program_graph(written).graph.predecessors == graph.predecessors


def test_a_reshape_is_an_alias_unless_input_and_output_both_belong_to_the_caller() -> None:
    tensors = [X, tensor("r", (4, 1)), Y, tensor("out", (2, 2))]
    operators = [operator("RESHAPE", [0], [1]), operator("RELU", [1], [2]), operator("RESHAPE", [0], [3])]
    found = import_model(model(subgraph(tensors, [0], [2, 3], operators)))
    assert {row.id: row.alias_of for row in found.problem.buffers if row.alias_of is not None} == {"main/r": "main/x"}
    assert found.views == ViewFacts(1, 16, 1, 16)
    assert [warning.message for warning in found.warnings] == [
        'RESHAPE "out": takes 16 bytes beside "x", because the caller owns inputs and outputs separately'
    ]
    apart = import_model(model(subgraph(tensors, [0], [2, 3], operators)), views="separate")
    assert apart.views == ViewFacts(0, 0, 2, 32)


def test_both_branches_of_an_if_may_share_bytes() -> None:
    alive = rows(import_model((MODELS / "choice.tflite").read_bytes()))
    assert alive["cond/Softmax"][0][-1][1] <= alive["cond/Cos"][0][0][0]
    assert alive["serving_default_x:0"][0] == ((-1, 7),) or len(alive["serving_default_x:0"][0]) == 1


def test_the_state_of_a_while_is_alive_during_the_whole_loop() -> None:
    alive = rows(import_model((MODELS / "loop.tflite").read_bytes()))
    ((start, end),) = alive["PartitionedCall:0"][0]
    inner = [span for name, (spans, _) in alive.items() if "while" in name for span in spans]
    assert all(start < low and high < end for low, high in inner)


def test_a_tensor_keeps_its_offset_in_all_runs_of_its_subgraph() -> None:
    inner = subgraph([tensor("a", (1, 4)), tensor("b", (1, 4))], [0], [1], [operator("RELU", [0], [1])])
    outer = [tensor("c", (), 6), X, Y, Z]
    runs = [operator("IF", [0, 1], [2], 1, 1), operator("IF", [0, 2], [3], 1, 1)]
    found = import_model(model(subgraph(outer, [0, 1], [3], runs), inner))
    assert len(found.problem.buffers) == 6
    assert len(rows(found)["a"][0]) > 1
    assert shadow(found.operations, solve(found.problem)) == ()


def test_tensors_without_a_unique_name_are_named_by_their_index() -> None:
    found = read_tensors(chain(tensor("", (1,)), tensor("same", (1,)), tensor("same", (1,)), tensor("#x", (1,))))
    assert [row.id for row in found.tensors] == ["#0/0", "#0/1 same", "#0/2 same", "#0/3"]


def test_a_tflite_output_that_is_a_constant_is_copied() -> None:
    tensors = [X, tensor("k", (4,), constant=True)]
    assert set(rows(import_model(model(subgraph(tensors, [0], [1], []))))) == {"x", "#copy of k"}


def test_the_peak_of_the_offline_plan_in_a_file_is_reported() -> None:
    graph = subgraph([X, tensor("k", (4,), constant=True), Y], [0], [2], [operator("ADD", [0, 1], [2])])
    assert import_model(model(graph, offline_plan=(0, 1, 3, 0, -1, 16))).own_peak == 32
    assert import_model(model(graph, offline_plan=(0, 1, 3, 0, -1, 16, 0, 0))).own_peak == 32  # two words of padding
    assert import_model(model(graph, offline_plan=(0, 1, 3, 0, -1, -1))).own_peak is None
    assert import_model(model(graph)).own_peak is None
    with pytest.raises(FormatError, match="must have an offset for each of 3 tensors, got 2 in 20 bytes"):
        import_model(model(graph, offline_plan=(0, 1, 2, 0, 16)))


def test_an_open_input_dimension_is_planned_with_the_size_in_the_shape() -> None:
    x, y = tensor("x", (1, 4), signature=[-1, 4]), tensor("y", (1, 4), signature=[-1, 4])
    found = import_model(chain(x, y))
    assert [warning.rule for warning in found.warnings] == ["open-dimension"]
    assert "dimension 0 is open in its signature; planned for 1" in found.warnings[0].message
    with pytest.raises(FormatError, match=r"tensors\[1\].shape_signature\[0\]: must be known before the program runs"):
        import_model(chain(X, y))


SMALL = subgraph([tensor("a", (1, 4)), tensor("b", (1, 4))], [0], [1], [operator("RELU", [0], [1])])


UNKNOWN = tensor("y", (1,), 99)


def operators_of(*rows: Fields) -> bytes:
    return model(subgraph([X, Y], [0], [1], rows), SMALL)


RELU, TOO_LARGE = operator("RELU", [0], [1]), -(-((2**31 - 1) ** 3 * 4) // 16) * 16


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\0\0\0\0TFL9", 'model: must have the identifier TFL3 at byte 4, got "TFL9"'),
        (b"\xff\0\0\0TFL3", "model: must lie in the file (8 bytes), got bytes 255 to 259: is the file cut short?"),
        (model(), "model.subgraphs: must not be empty"),
        (chain(X, tensor("y", (-1, 4))), '{}.tensors[1].shape[0]: must be at least 0 for tensor "y", got -1'),
        (chain(X, tensor("y", (1,), STRING)), "{}.tensors[1].type: must have a size known before the run, got strings"),
        (chain(X, UNKNOWN), "{}.tensors[1].type: must have a size known before the run, got type 99"),
        (chain(X, tensor("y", [2**31 - 1] * 3)),
         f"{{}}.tensors[1].shape: must take at most 4611686018427387904 bytes, got {TOO_LARGE}"),
        (operators_of(), '{}: must read only values that are already written, got "y"'),
        (operators_of(operator("RELU", [1], [1])),
         '{}.operators[0]: must read only values that are already written, got "y"'),
        (operators_of(RELU, RELU), '{}.operators[1].outputs: must be neither written before nor constant, got "y"'),
        (operators_of(operator("RELU", [7], [1])), "{}.operators[0].inputs[0]: must be -1 to 1, got 7"),
        (operators_of(operator("IF", [0, 0], [1], 0, 5), RELU),
         "{}.operators[0].builtin_options: must refer to a subgraph by an index below 2, got 5"),
        (operators_of(operator("IF", [0, 0], [1])), "{}.operators[0].builtin_options: is required for IF"),
        (operators_of(operator("CASE", [0], [1])),
         "{}.operators[0]: must not be STABLEHLO_CASE, because memplan does not know what it runs"),
        (operators_of(operator("IF", [0, 0], [1], 0, 0)),
         "{}: must not run itself, nor be nested over 64 deep, got 0 -> 0"),
        (operators_of(operator("IF", [0], [1], 1, 1)),
         "{}.operators[0].inputs: must have as many entries as model.subgraphs[1].inputs (1), got 0"),
    ],
)  # fmt: skip
def test_a_wrong_tflite_file_is_refused_with_location_rule_and_value(data: bytes, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        read(data, ModelOptions())
    assert error.value.sentences == (sentence.replace("{}", "model.subgraphs[0]"),)


@pytest.mark.slow
def test_subgraphs_whose_nested_calls_grow_exponentially_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memplan.runtimes.tflite.reader._MOST_DRAWN", 2000)
    tensors = [X, Y, tensor("c", (), 6)]
    graphs = [subgraph(tensors, [0, 2], [1], [operator("IF", [2, 0, 2], [1], k + 1, k + 1)]) for k in range(40)]
    last = subgraph([X, tensor("c", (), 6), Y], [0, 1], [2], [operator("RELU", [0], [2])])
    with pytest.raises(FormatError, match="must be one of at most 2000 runs of operators"):
        import_model(model(*graphs, last))


def test_a_shape_that_is_computed_is_alive_until_a_separate_view_reads_it() -> None:
    operators = [operator("RELU", [0], [2]), operator("RELU", [0], [1]), operator("RESHAPE", [1, 2], [3])]
    data = model(subgraph([X, Y, tensor("shape", (4,)), Z], [0], [3], operators))
    assert rows(import_model(data, views="separate"))["shape"] == (((0, 3),), 16)
