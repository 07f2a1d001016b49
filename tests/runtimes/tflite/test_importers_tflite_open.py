"""TFLite models with open dimensions: their shapes for other sizes, and symbolic sizes."""

import struct
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.extensions.shapes.symbolic_models import read_symbolic
from memplan.planner.errors import FormatError, OptionError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.programs.symbols.sized import compile_sizes
from memplan.programs.symbols.space import SymbolRange
from memplan.runtimes.tflite.model import read_model as read_tensors
from memplan.runtimes.tflite.open_shapes import open_dimensions, set_sizes
from tests.runtimes import tflite_networks
from tests.runtimes.tflite_files import INT32, Fields, model, operator, subgraph, tensor


def add_options(row: Fields, options: dict[int, Any]) -> Fields:
    return {**row, 4: options}


def numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def text_model(side: int = 4, signature: tuple[int, ...] = (-1, -1, 4)) -> bytes:
    """Two sentences of some words, one below the other, as rows of words: their number is computed of the shape."""
    rows = [
        tensor("words", (1, side, 4), signature=list(signature)),
        tensor("more", (1, side, 4), signature=list(signature)),
        tensor("both", (1, 2 * side, 4), signature=[-1, -1, 4]),
        tensor("shape", (3,), INT32),
        tensor("one", (1,), INT32, constant=2),
        tensor("two", (1,), INT32, constant=3),
        tensor("count", (), INT32),
        tensor("four", (), INT32, constant=4),
        tensor("wanted", (2,), INT32),
        tensor("flat", (2 * side, 4), signature=[-1, 4]),
        tensor("weight", (5, 4), constant=1),
        tensor("scores", (2 * side, 5), signature=[-1, 5]),
    ]
    operators = [
        add_options(operator("CONCATENATION", [0, 1], [2]), {0: ("i", 1)}),
        operator("SHAPE", [2], [3]),
        add_options(operator("STRIDED_SLICE", [3, 4, 5, 4], [6]), {4: ("i", 1)}),
        add_options(operator("PACK", [6, 7], [8]), {0: ("i", 2)}),
        operator("RESHAPE", [2, 8], [9]),
        operator("FULLY_CONNECTED", [9, 10], [11]),
    ]
    return model(subgraph(rows, [0, 1], [11], operators), contents=[numbers(1), numbers(2), numbers(4)])


def test_open_dimensions_are_named_after_their_first_input_and_their_axis() -> None:
    assert open_dimensions(read_tensors(text_model())) == {"words.0": [(0, 0), (1, 0)], "words.1": [(0, 1), (1, 1)]}


def test_other_sizes_of_open_dimensions_change_the_shapes() -> None:
    shapes = {row.id: row.shape for row in set_sizes(read_tensors(text_model()), {"words.1": 7}).subgraphs[0].tensors}
    assert (shapes["both"], shapes["flat"], shapes["scores"]) == ((1, 14, 4), (14, 4), (14, 5))
    plain = read_model(text_model(7), "a.tflite", ModelOptions()).problem
    other = read_model(text_model(), "a.tflite", ModelOptions(dims={"words.1": 7})).problem
    assert {row.id: row.size for row in other.buffers} == {row.id: row.size for row in plain.buffers}


def test_sizes_are_expressions_over_open_dimensions() -> None:
    ranges, options = {"words.1": SymbolRange(min=1, max=64)}, ModelOptions(dims={"words.0": 1})
    problem = read_symbolic(text_model(), "a.tflite", ranges, options)
    sized = compile_sizes(problem)
    for side in (1, 5, 64):
        plain = read_model(text_model(side), "a.tflite", ModelOptions()).problem
        wanted = {row.id: row.size for row in plain.buffers if row.alias_of is None}
        found = sized.sizes([{"words_1": side}])[:, 0].tolist()
        assert dict(zip([row.id for row in problem.buffers], found, strict=True)) == {
            k: -(-v // 16) * 16 for k, v in wanted.items()
        }


@pytest.mark.parametrize(
    ("data", "dims", "sentence"),
    [
        (text_model(), {"words.2": 3},
         'dims: must be an open dimension of the model .words.0, words.1., got "words.2"'),
        (text_model(signature=()), {"n": 3}, 'dims: must not be given, as TFLite names no dimensions, got "n"'),
        (text_model(), {"words.0": (3,)}, "dims: must be one size, such as words.0=8 .only ONNX models accept"),
        (text_model(), {"words.0": 3},
         r"operators\[4\]: must be an operator whose output shape follows from its inputs"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_follow_from_open_dimensions_are_refused(data: bytes, dims: Any, sentence: str) -> None:
    with pytest.raises((OptionError, FormatError), match=sentence):
        read_model(data, "a.tflite", ModelOptions(dims=dims))


def test_shapes_plans_a_tflite_model_for_all_values(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.tflite"
    path.write_bytes(text_model())
    assert main(["shapes", str(path), *["--dim", "words.0=1", "--symbol", "words.1=1..512", "--format", "table"]]) == 0
    assert "optimal" in capsys.readouterr().out


def test_recomputed_shapes_equal_those_of_the_runtime() -> None:
    pytest.importorskip("ai_edge_litert", reason="models are run where LiteRT is installed")
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    network = tflite_networks.Network(32, 3)
    network.convolution(8, 3, 2)
    network.depthwise(3)
    network.max_pool(2, 2)
    network.classify(4)
    network.graph.tensors[0].shapeSignature = [-1, -1, -1, 3]
    data = network.data()
    sizes = (3, 45, 64)
    found = set_sizes(read_tensors(data), dict(zip(open_dimensions(read_tensors(data)), sizes, strict=True)))
    runtime = Interpreter(
        model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    runtime.resize_tensor_input(0, [*sizes, 3])
    runtime.allocate_tensors()
    shapes = {row["index"]: tuple(row["shape"]) for row in runtime.get_tensor_details()}
    rows = found.subgraphs[0].tensors
    assert {k: row.shape for k, row in enumerate(rows) if not row.is_constant} == {
        k: shapes[k] for k, row in enumerate(rows) if not row.is_constant
    }
