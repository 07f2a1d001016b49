"""Tests of the reader of ONNX models, by small models and by models of the package onnx."""

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra onnx")

import onnx
from onnx import TensorProto, ValueInfoProto, helper
from pydantic import ValidationError

from memplan.api.cli.flag_names import flag_text
from memplan.planner.errors import FormatError, InputError, OptionError
from memplan.planner.foreign.imported import ImportedProblem, ViewFacts
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.formats import read_problem
from memplan.planner.instance.canonical import problem_hash
from memplan.programs.lifetimes.shadow import shadow
from memplan.programs.models.model_graph import read_model_graph
from memplan.solvers.portfolio.solve import solve
from tests.runtimes.onnx_models import BOOL, INT64, choice, graph, loop, model, model_bytes, node, value
from tests.support import public_problems

LIGHT = Path(helper.__file__).parent / "backend" / "test" / "data" / "light"
X, Y = value("x", (4,)), value("y", (4,))
Rows = dict[str, tuple[tuple[tuple[int, int], ...], int]]


def import_model(data: bytes, **options: Any) -> ImportedProblem:
    return read_model(data, "model.onnx", ModelOptions(**options))


def rows(found: ImportedProblem) -> Rows:
    return {str(row.id).removeprefix("main/"): (row.intervals, row.size) for row in found.problem.buffers}


@pytest.mark.parametrize("path", public_problems.files("onnx"), ids=lambda path: str(path.stem))
def test_models_of_the_package_onnx_have_the_recorded_problems(path: Path) -> None:
    found = import_model((LIGHT / f"{path.stem}.onnx").read_bytes(), views="separate")
    assert problem_hash(found.problem) == problem_hash(read_problem(path.read_bytes(), path.name))


def test_a_value_is_alive_from_its_node_to_its_last_reader() -> None:
    found = import_model(model([node("Neg", "x", "t"), node("Add", "x t", "y")], [X], [Y]), alignment=1)
    assert rows(found) == {"x": (((-1, 2),), 16), "t": (((0, 2),), 16), "y": (((1, 3),), 16)}


def test_sizes_are_rounded_up_and_types_of_less_than_a_byte_are_packed() -> None:
    nodes = [node("Cast", "x", "y", to=TensorProto.INT4)]
    data = model_bytes(graph(nodes, [value("x", (5,))], [value("y", (5,), TensorProto.INT4)]), opset=21)
    assert [(row.size, row.alignment) for row in import_model(data).problem.buffers] == [(64, 64), (64, 64)]
    assert [row.size for row in import_model(data, alignment=1).problem.buffers] == [20, 3]


ONES = np.ones(4, np.float32)


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (model([node("RandomNormal", "", "r", shape=[4]), node("Add", "x r", "y")], [X], [Y]), {"x", "r", "y"}),
        (model([node("Add", "x w", "y")], [X, value("w", (4,))], [Y], w=ONES), {"x", "y"}),
        (model([], [X], [X, Y], y=ONES), {"x", "y"}),
    ],
    ids=["random numbers are no constants", "an initializer listed as an input", "a copy of an output"],
)
def test_initializers_are_constants_and_random_numbers_are_not(data: bytes, names: set[str]) -> None:
    assert set(rows(import_model(data))) == names


def test_a_value_computed_from_constants_is_a_constant() -> None:
    nodes = [node("Constant", "", "two", value_float=2.0), node("Mul", "weights two", "w"), node("Add", "x w", "y")]
    found = import_model(model(nodes, [X], [Y], weights=ONES))
    assert (set(rows(found)), found.operations.functions["main"].constants) == ({"x", "y"}, ("w",))


def test_reshapes_are_aliases_of_their_input() -> None:
    nodes = [node("Neg", "x", "t"), node("Reshape", "t shape", "y")]
    data = model(nodes, [X], [value("y", (2, 2))], shape=np.array([2, 2]))
    found = import_model(data)
    assert found.views == ViewFacts(aliases=1, alias_bytes=64)
    aliases = {row.id: row.alias_of for row in found.problem.buffers}
    assert aliases == {"main/x": None, "main/t": "main/y", "main/y": None}
    assert import_model(data, views="separate").views == ViewFacts(apart=1, apart_bytes=64)


def test_both_branches_of_an_if_write_their_outputs_in_place() -> None:
    aliases = {row.id: row.alias_of for row in import_model(choice()).problem.buffers if row.alias_of is not None}
    assert aliases == {"main/y/then_branch/t": "main/y", "main/y/else_branch/v": "main/y"}


def test_states_that_a_loop_swaps_are_copied_first() -> None:
    swapping = import_model(loop(swaps=True))
    assert {"p/next p", "p/next q"} <= set(rows(swapping))
    assert "p/next p" not in rows(import_model(loop()))
    assert shadow(swapping.operations, solve(swapping.problem)) == ()


def test_a_branch_with_contradicting_shapes_is_assumed_not_to_run() -> None:
    first, last = (graph([node("Squeeze", f"x {name}", name * 2)], [], [value(name * 2, None)]) for name in "ab")
    nodes = [node("If", "c", "t", then_branch=first, else_branch=last), node("Relu", "t", "y")]
    inputs = [value("c", (), BOOL), value("x", ("n", "m", 2))]
    data = model(nodes, inputs, [value("y", None)], a=np.array([0]), b=np.array([1]))
    for n, m in ((1, 6), (6, 1)):
        found = read_model_graph(data, "m.onnx", ModelOptions(dims={"n": n, "m": m})).graph
        assert [tensor.shape for tensor in found.tensors if tensor.name == "y"] == [(6, 2)]


def test_a_stacked_output_of_a_loop_is_alive_during_the_whole_loop() -> None:
    alive = rows(import_model(loop()))
    ((start, end),) = alive["stack"][0]
    inner = [span for name, (spans, _) in alive.items() if "p/" in name for span in spans]
    assert all(start <= low and high <= end for low, high in inner)


def test_shapes_computed_by_the_model_are_inferred() -> None:
    nodes = [node("Shape", "x", "s"), node("Gather", "s zero", "first"), node("Mul", "first two", "half")]
    nodes += [node("Concat", "half two", "to", axis=0), node("Reshape", "x to", "y")]
    constants = {"zero": np.array([0]), "two": np.array([2])}
    assert rows(import_model(model(nodes, [value("x", (3, 4))], [value("y", (None, None))], **constants)))["y"][1] == 64


def test_a_named_dimension_gets_the_given_size() -> None:
    data = model([node("Neg", "x", "y")], [value("x", ("batch", 4))], [value("y", ("batch", 4))])
    assert rows(import_model(data, dims={"batch": 8}))["y"][1] == 128
    sentence = 'inputs: must have known sizes, got none for dimension "batch"; give it, for example: dims=batch=1'
    with pytest.raises(FormatError) as error:
        import_model(data)
    assert str(error.value) == sentence
    with pytest.raises(OptionError, match=r'dims: must be a dimension that the model names \(batch\), got "other"'):
        import_model(data, dims={"other": 8})


def test_open_input_dimensions_are_refused_in_one_message_with_valid_options() -> None:
    inputs = [value("x", ("unk__6", None, 8, 8)), value("m", ("unk__6", "a,b")), value("n", (-1, "seq"))]
    nodes = [node("Relu", "x", "y"), node("Neg", "m", "z"), node("Abs", "n", "w")]
    data = model(nodes, inputs, [value(name, None) for name in "yzw"])
    with pytest.raises(FormatError) as error:
        import_model(data)
    said, _, flags = next(iter(error.value.sentences_in_syntax(flag_text))).partition("; give them, for example: ")
    assert said.startswith('inputs: must have known sizes, got none for dimension "unk__6"')
    words = shlex.split(flags)
    assert set(words[::2]) == {"--dim"}
    found = import_model(data, dims=words[1::2])
    assert {name: size for name, (_, size) in rows(found).items()} == {"x": 256, "y": 256} | dict.fromkeys("mzwn", 64)


def test_the_shape_of_an_input_must_agree_with_the_model() -> None:
    data = model([node("Neg", "x", "y")], [value("x", (None, 4))], [value("y", None)])
    assert rows(import_model(data, dims={"x": (8, 4)}))["y"][1] == 128
    assert rows(import_model(data, dims="x=8,4"))["y"][1] == 128
    for shape, sentence in (
        ({"x": (8, 5)}, r'dims: must match each dimension of "x" \(.*,4\), got 8,5'),
        ({"x": (8,)}, r'dims: must match each dimension of "x" \(.*,4\), got 8'),
        ({"z": (8, 4)}, r'dims: must be an input of the model \(x\), got "z"'),
    ):
        with pytest.raises(OptionError, match=sentence):
            import_model(data, dims=shape)
    with pytest.raises(ValidationError, match="must be NAME=SIZE"):
        ModelOptions.model_validate({"dims": ["x=8,-4"]})


def reshape_model(opset: int) -> bytes:
    """Return a model that reshapes by a computed shape, as PyTorch writes it: of Shape, Gather, Unsqueeze, Concat."""
    axes = {"axes": [0]} if opset < 13 else {}
    names = "g" if opset < 13 else "g zero"
    nodes = [node("Shape", "x", "s"), node("Gather", "s first", "g", axis=0), node("Unsqueeze", names, "u", **axes)]
    nodes += [node("Concat", "u rest", "c", axis=0), node("Reshape", "x c", "t"), node("Relu", "t", "y")]
    constants = {"first": np.array(0), "rest": np.array([-1]), "zero": np.array([0])}
    return model_bytes(graph(nodes, [value("x", (2, 3, 4))], [value("y", None)], **constants), opset)


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 18, 21])
def test_shapes_computed_from_other_shapes_are_inferred(opset: int) -> None:
    assert rows(import_model(reshape_model(opset)))["y"][1] == 128
    assert onnx.load_model_from_string(reshape_model(opset)).opset_import[0].version == opset


def test_an_if_with_a_known_condition_runs_only_that_branch() -> None:
    squeezed = graph([node("Squeeze", "x axes", "a")], [], [value("a", None)], axes=np.array([0]))
    kept = graph([node("Identity", "x", "b")], [], [value("b", None)])
    nodes = [node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Equal", "n one", "is_one")]
    nodes += [node("If", "is_one", "t", then_branch=squeezed, else_branch=kept), node("Relu", "t", "y")]
    constants = {"zero": np.array(0), "one": np.array(1)}
    for sizes, size in (((1, 4, 8), 128), ((2, 4, 8), 256)):
        found = read_model_graph(model(nodes, [value("x", sizes)], [value("y", None)], **constants), "model.onnx").graph
        assert [found.size[t] for t in found.kept] == [size]
        assert [tensor.shape for tensor in found.tensors if tensor.name == "y"] == [(4, 8) if sizes[0] == 1 else sizes]


def test_a_stacked_output_has_one_entry_for_each_trip_of_the_loop() -> None:
    body = graph(
        [node("Identity", "on", "on_out"), node("Neg", "v", "v_out"), node("Abs", "v", "each")],
        [value("k", (), INT64), value("on", (), BOOL), value("v", None)],
        [value("on_out", (), BOOL), value("v_out", None), value("each", None)],
    )
    nodes = [node("Loop", "trips - x", "last all", body=body), node("Relu", "all", "y")]
    data = model(nodes, [X], [value("last", None), value("y", None)], trips=np.array(5))
    assert rows(import_model(data))["y"][1] == 128


def test_calls_of_functions_are_replaced_by_the_bodies_of_the_functions() -> None:
    opsets = [helper.make_opsetid("", 17)]
    twice = helper.make_function("own", "Twice", ["a"], ["b"], [node("Neg", "a", "t"), node("Neg", "t", "b")], opsets)
    whole = graph([helper.make_node("Twice", ["x"], ["y"], domain="own")], [X], [Y])
    assert len(import_model(model_bytes(whole, functions=[twice])).problem.buffers) == 3


def test_functions_whose_nested_calls_grow_exponentially_are_refused() -> None:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]

    def function(name: str, *nodes: Any) -> Any:
        return helper.make_function("own", name, ["a"], ["b"], nodes, opsets)

    def call(name: str, *ends: str) -> Any:
        return node(name, *ends, domain="own")

    functions = [function(f"F{k}", call(f"F{k + 1}", "a", "t"), call(f"F{k + 1}", "t", "b")) for k in range(40)]
    whole = graph([call("F0", "x", "y")], [X], [Y])
    with pytest.raises(FormatError, match="must have at most 1000000 nodes including its functions, got"):
        import_model(model_bytes(whole, functions=[*functions, function("F40", node("Neg", "a", "b"))]))
    with pytest.raises(FormatError, match="must not be recursive"):
        import_model(model_bytes(whole, functions=[function("F0", call("F0", "a", "b"))]))


def test_an_unread_output_of_unknown_size_is_omitted() -> None:
    own = helper.make_node("Own", ["x"], ["t", "unread"], domain="own")
    data = model([own, node("Neg", "t", "y")], [X], [Y])
    with pytest.raises(
        FormatError, match=r'none: node\[0\] \(Own\) is an operator of "own", whose shapes are not known here: save'
    ):
        import_model(data)
    whole = graph([own, node("Neg", "t", "y")], [X], [Y])
    whole.value_info.append(value("t", (4,)))
    found = import_model(model_bytes(whole))
    assert set(rows(found)) == {"x", "t", "y"}
    assert [warning.rule for warning in found.warnings] == ["unsized-output"]


def test_a_missing_package_onnx_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    data = choice()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(OptionError, match=r"needs onnx, which is not installed: pip install 'memplan\[onnx\]'"):
        import_model(data)


LOST = graph([node("Neg", "nothing", "t")], [], [value("t", (4,))])


def test_a_newer_opset_gives_a_warning() -> None:
    newer = onnx.ModelProto.FromString(choice())
    newer.opset_import[0].version = 99
    (finding,) = read_model(newer.SerializeToString(), "m.onnx").warnings
    assert (finding.rule, finding.is_unknown) == ("unknown-opset", True)
    assert finding.message.startswith("opset 99 is newer than ")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\x08\x08\x12", "model: must be an ONNX model, as onnx.save writes it, got 3 bytes that do not parse"),
        (b"ir_version: 8\n", "model: must be an ONNX model, as onnx.save writes it, got text"),
        (b"", "must not be empty"),
        (b"\x08\x08\x12\x00", "model: must be an ONNX model with a graph, got no"),
        (model([node("Neg", "z", "y")], [X], [Y]),
         'node[0] (Neg): must read only values that are already written, got "z"'),
        (model([], [X], [Y]), 'the outputs: must read only values that are already written, got "y"'),
        (model([node("Neg", "x", "y"), node("Abs", "x", "y", name="again")], [X], [Y]),
         'node "again" (Abs): must write each value only once, got "y", which node[0]'),
        (model([node("Neg", "x", "y")], [value("x", (-4,))], [Y]),
         'inputs: must have known sizes, got none for a size of "x"; give it, for example: dims=x=1,'),
        (model([node("Neg", "x", "y")], [value("x", (2**40, 2**40))], [value("y", None)]),
         f'value "x": must take at most {2**62} bytes, got {2**82}'),
        (model([node("Identity", "x", "y")], [value("x", (4,), TensorProto.STRING)], [value("y", (4,), 8)]),
         'value "x": must have elements of a fixed size, got strings'),
        (model([node("SequenceConstruct", "x", "y")], [X], [helper.make_tensor_sequence_value_info("y", 1, (4,))]),
         'value "y" of node[0] (SequenceConstruct): must be a dense tensor, got a sequence'),
        (model([node("If", "c", "y", then_branch=LOST, else_branch=LOST)], [value("c", (), BOOL)], [Y]),
         'node[0] (Neg): must read only values that are already written, got "nothing"'),
        (model([node("NonZero", "x", "y")], [X], [value("y", (1, None), INT64)]),
         'value "y" of node[0] (NonZero): must have a shape that is known before the program runs, got none'),
    ],
)  # fmt: skip
def test_a_wrong_onnx_model_is_refused_with_location_rule_and_value(data: bytes, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        import_model(data)
    assert error.value.sentences[0].startswith(sentence)


CLASSICAL: dict[str, tuple[dict[str, Any], dict[str, tuple[int, ...]]]] = {
    "Scaler": ({"offset": [0.0], "scale": [1.0]}, {"y": (3, 4)}),
    "Normalizer": ({"norm": "L2"}, {"y": (3, 4)}),
    "Imputer": ({"imputed_value_floats": [1.0]}, {"y": (3, 4)}),
    "FeatureVectorizer": ({"inputdimensions": [4]}, {"y": (3, 4)}),
    "LinearRegressor": ({"coefficients": [1.0] * 8, "targets": 2}, {"y": (3, 2)}),
    "LinearClassifier": (
        {"coefficients": [1.0] * 12, "intercepts": [0.0] * 3, "classlabels_ints": [0, 1, 2]},
        {"y": (3,), "z": (3, 3)},
    ),
    "SVMRegressor": ({"kernel_type": "RBF"}, {"y": (3, 1)}),
    "SVMClassifier": ({"vectors_per_class": [1] * 4, "classlabels_ints": [0, 1, 2, 3]}, {"y": (3,), "z": (3, 6)}),
    "TreeEnsembleRegressor": ({"n_targets": 5}, {"y": (3, 5)}),
    "TreeEnsembleClassifier": ({"classlabels_int64s": [0, 1, 2]}, {"y": (3,), "z": (3, 3)}),
}
"""Operators of classical models with attributes, and the shapes that onnxruntime gives for an input of 3 x 4."""


@pytest.mark.parametrize("operator", list(CLASSICAL))
def test_operators_of_classical_models_have_the_shapes_of_the_runtime(operator: str) -> None:
    attributes, shapes = CLASSICAL[operator]
    made = helper.make_node(operator, ["x"], [*shapes], domain="ai.onnx.ml", **attributes)
    known = {name: TensorProto.INT64 if len(shape) == 1 else TensorProto.FLOAT for name, shape in shapes.items()}
    outputs = [value(name, None, kind) for name, kind in known.items()]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    whole = helper.make_model(graph([made], [value("x", (3, 4))], outputs), opset_imports=opsets, ir_version=8)
    found = read_model_graph(whole.SerializeToString(), "m.onnx").graph
    assert {tensor.name: tensor.shape for tensor in found.tensors} == {"x": (3, 4), **shapes}


@pytest.mark.parametrize("domain", ["onnx.brevitas", "qonnx.custom_op.general"])
def test_a_quantised_tensor_has_the_shape_of_its_input(domain: str) -> None:
    made = [node("Quant", "x scale zero bits", "y", domain=domain), node("Relu", "y", "z")]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    numbers = dict.fromkeys(("scale", "zero", "bits"), np.array(1, np.float32))
    whole = helper.make_model(graph(made, [value("x", (3, 4))], [value("z", None)], **numbers), opset_imports=opsets)
    found = read_model_graph(whole.SerializeToString(), "m.onnx").graph
    shapes = {tensor.name: tensor.shape for tensor in found.tensors if str(tensor.name) in "xyz"}
    assert shapes == dict.fromkeys("xyz", (3, 4))


def test_suggested_sizes_are_accepted_by_the_reader() -> None:
    cut = model([node("Pad", "x pads", "y")], [value("x", ("n",))], [value("y", None)], pads=np.array([-5, 0]))
    with pytest.raises(FormatError, match=r'got none for dimension "n"; give it, for example: dims=n=64$'):
        import_model(cut)
    same = model([node("Identity", "x", "y")], [value("x", ("n",), TensorProto.STRING)], [value("y", None)])
    with pytest.raises(FormatError, match="got strings: plan the part of the model before these strings"):
        import_model(same)


def test_an_output_that_is_a_map_of_labels_is_refused_with_a_remedy() -> None:
    made = helper.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    whole = graph([made], [value("x", (3, 2))], [ValueInfoProto(name="z")])
    data = helper.make_model(whole, opset_imports=opsets, ir_version=8).SerializeToString()
    with pytest.raises(FormatError, match=r"must be a dense tensor, got a sequence, .*: convert with zipmap=False"):
        read_model_graph(data, "m.onnx")


def test_an_entry_without_sizes_for_an_output_does_not_hide_the_inferred_sizes() -> None:
    whole = graph([node("Relu", "x", "y")], [value("x", (1, 4))], [value("y", ("n", "m"))])
    whole.value_info.append(value("y", ("n", "m")))
    assert import_model(helper.make_model(whole).SerializeToString()).problem.buffers.size.tolist() == [64, 64]
