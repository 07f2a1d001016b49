"""ONNX models: small ones made here, and those that come with the package onnx."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra onnx")

from onnx import TensorProto, helper

from memplan.planner.errors import FormatError, InputError, OptionError
from memplan.planner.formats import read_problem
from memplan.planner.importers import read_model
from memplan.planner.importers.imported import Imported, ImportOptions, ViewFacts
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.liveness.shadow import shadow
from memplan.solvers.portfolio.solve import solve
from tests.support import public_problems
from tests.support.onnx_models import BOOL, INT64, choice, graph, loop, model, node, of_graph, scan, value

LIGHT = Path(helper.__file__).parent / "backend" / "test" / "data" / "light"
X, Y = value("x", (4,)), value("y", (4,))
Rows = dict[str, tuple[tuple[tuple[int, int], ...], int]]


def imported(data: bytes, **options: Any) -> Imported:
    return read_model(data, "model.onnx", ImportOptions(**options))


def rows(found: Imported) -> Rows:
    """Return each buffer's lifetimes and size."""
    return {str(row.id).removeprefix("main/"): (row.intervals, row.size) for row in found.problem.buffers}


@pytest.mark.parametrize("path", public_problems.files("onnx"), ids=lambda path: str(path.stem))
def test_models_of_the_package_pose_the_recorded_problems(path: Path) -> None:
    found = imported((LIGHT / f"{path.stem}.onnx").read_bytes(), views="separate")
    recorded = read_problem(path.read_bytes(), path.name)
    assert problem_hash(found.problem) == problem_hash(recorded)


@pytest.mark.parametrize("views", ["alias", "separate"])
@pytest.mark.parametrize("data", [choice(), loop(), loop(swaps=True), scan()], ids=["if", "loop", "swap", "scan"])
def test_the_plan_of_a_model_with_graphs_inside_survives_its_execution(data: bytes, views: str) -> None:
    found = imported(data, views=views)
    assert found.operations is not None
    plan = solve(found.problem)
    assert plan.status == "optimal"
    assert shadow(found.operations, plan) == ()


def test_a_value_is_alive_from_its_node_to_its_last_reader() -> None:
    found = imported(model([node("Neg", "x", "t"), node("Add", "x t", "y")], [X], [Y]), alignment=1)
    assert rows(found) == {"x": (((-1, 2),), 16), "t": (((0, 2),), 16), "y": (((1, 3),), 16)}


def test_sizes_are_rounded_up_and_types_of_less_than_a_byte_are_packed() -> None:
    nodes = [node("Cast", "x", "y", to=TensorProto.INT4)]
    data = of_graph(graph(nodes, [value("x", (5,))], [value("y", (5,), TensorProto.INT4)]), opset=21)
    assert [(row.size, row.alignment) for row in imported(data).problem.buffers] == [(64, 64), (64, 64)]
    assert [row.size for row in imported(data, alignment=1).problem.buffers] == [20, 3]


def test_what_is_computed_from_constants_is_a_constant() -> None:
    nodes = [node("Constant", "", "two", value_float=2.0), node("Mul", "weights two", "w"), node("Add", "x w", "y")]
    found = imported(model(nodes, [X], [Y], weights=np.ones(4, np.float32)))
    assert set(rows(found)) == {"x", "y"}
    assert found.operations is not None
    assert found.operations.functions["main"].constants == ("w",)


def test_what_chance_makes_is_no_constant() -> None:
    nodes = [node("RandomNormal", "", "r", shape=[4]), node("Add", "x r", "y")]
    assert set(rows(imported(model(nodes, [X], [Y])))) == {"x", "r", "y"}


def test_an_initializer_that_is_listed_as_an_input_is_a_constant() -> None:
    found = imported(model([node("Add", "x w", "y")], [X, value("w", (4,))], [Y], w=np.ones(4, np.float32)))
    assert set(rows(found)) == {"x", "y"}


def test_a_constant_output_is_a_copy() -> None:
    found = imported(model([], [X], [X, Y], y=np.ones(4, np.float32)))
    assert set(rows(found)) == {"x", "y"}


def test_reshapes_are_aliases_of_the_value_that_the_program_gives() -> None:
    nodes = [node("Neg", "x", "t"), node("Reshape", "t shape", "y")]
    data = model(nodes, [X], [value("y", (2, 2))], shape=np.array([2, 2]))
    found = imported(data)
    assert found.views == ViewFacts(aliases=1, alias_bytes=64)
    assert {row.id: row.alias_of for row in found.problem.buffers} == {
        "main/x": None,
        "main/t": "main/y",
        "main/y": None,
    }
    assert imported(data, views="separate").views == ViewFacts(apart=1, apart_bytes=64)


def test_both_branches_write_the_outputs_of_an_if_in_place() -> None:
    found = imported(choice())
    aliases = {row.id: row.alias_of for row in found.problem.buffers if row.alias_of is not None}
    assert aliases == {"main/y/then_branch/t": "main/y", "main/y/else_branch/v": "main/y"}


def test_states_of_a_loop_that_change_places_are_copied_aside() -> None:
    assert {"p/next p", "p/next q"} <= set(rows(imported(loop(swaps=True))))
    assert "p/next p" not in rows(imported(loop()))


def test_what_a_loop_stacks_is_alive_all_through_it() -> None:
    alive = rows(imported(loop()))
    ((start, end),) = alive["stack"][0]
    assert all(
        start <= low and high <= end for name, (spans, _) in alive.items() if "p/" in name for low, high in spans
    )


def test_shapes_that_the_model_computes_are_found() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "first"),
        node("Mul", "first two", "half"),
        node("Concat", "half two", "to", axis=0),
        node("Reshape", "x to", "y"),
    ]
    constants = {"zero": np.array([0]), "two": np.array([2])}
    found = imported(model(nodes, [value("x", (3, 4))], [value("y", (None, None))], **constants))
    assert rows(found)["y"][1] == 64


def test_a_named_dimension_is_given_its_size() -> None:
    data = model([node("Neg", "x", "y")], [value("x", ("batch", 4))], [value("y", ("batch", 4))])
    assert rows(imported(data, dims={"batch": 8}))["y"][1] == 128
    sentence = 'value "x" of the inputs: dimension 0 must have a size, got "batch"; give it: --dim "batch=1"'
    with pytest.raises(FormatError) as error:
        imported(data)
    assert str(error.value) == sentence
    with pytest.raises(OptionError, match=r'dim: must be a dimension that the model names \(batch\), got "other"'):
        imported(data, dims={"other": 8})


def test_functions_of_a_model_are_replaced_by_what_they_do() -> None:
    opsets = [helper.make_opsetid("", 17)]
    twice = helper.make_function("own", "Twice", ["a"], ["b"], [node("Neg", "a", "t"), node("Neg", "t", "b")], opsets)
    whole = graph([helper.make_node("Twice", ["x"], ["y"], domain="own")], [X], [Y])
    assert len(imported(of_graph(whole, functions=[twice])).problem.buffers) == 3


def test_functions_that_call_each_other_twice_again_and_again_are_refused() -> None:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    calls = [
        [
            helper.make_node(f"F{k + 1}", ["a"], ["t"], domain="own"),
            helper.make_node(f"F{k + 1}", ["t"], ["b"], domain="own"),
        ]
        for k in range(40)
    ]
    functions = [helper.make_function("own", f"F{k}", ["a"], ["b"], nodes, opsets) for k, nodes in enumerate(calls)]
    functions.append(helper.make_function("own", "F40", ["a"], ["b"], [node("Neg", "a", "b")], opsets))
    whole = graph([helper.make_node("F0", ["x"], ["y"], domain="own")], [X], [Y])
    with pytest.raises(FormatError, match="must have at most 1000000 nodes, those of its functions included, got"):
        imported(of_graph(whole, functions=functions))
    again = helper.make_function(
        "own", "F0", ["a"], ["b"], [helper.make_node("F0", ["a"], ["b"], domain="own")], opsets
    )
    with pytest.raises(FormatError, match="must not call themselves"):
        imported(of_graph(whole, functions=[again]))


def test_an_output_of_unknown_size_is_left_out_if_it_is_not_read() -> None:
    own = helper.make_node("Own", ["x"], ["t", "unread"], domain="own")
    data = model([own, node("Neg", "t", "y")], [X], [Y])
    with pytest.raises(FormatError, match="must have a shape that is known or can be inferred, got none"):
        imported(data)
    whole = graph([own, node("Neg", "t", "y")], [X], [Y])
    whole.value_info.append(value("t", (4,)))
    found = imported(of_graph(whole))
    assert set(rows(found)) == {"x", "t", "y"}
    assert [warning.rule for warning in found.warnings] == ["unsized-output"]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    data = choice()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(OptionError, match=r"needs onnx, which is not installed: pip install 'memplan\[onnx\]'"):
        imported(data)


LOST = graph([node("Neg", "nothing", "t")], [], [value("t", (4,))])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\x08\x08\x12", 'model: must be an ONNX model, as onnx.save writes it, got "Error parsing message'),
        (b"ir_version: 8\n", "model: must be an ONNX model, as onnx.save writes it, got text"),
        (b"", "must not be empty"),
        (model([node("Neg", "z", "y")], [X], [Y]), 'node[0] (Neg): must read what was written before, got "z"'),
        (model([], [X], [Y]), 'the outputs: must read what was written before, got "y"'),
        (
            model([node("Neg", "x", "y"), node("Abs", "x", "y", name="again")], [X], [Y]),
            'node "again" (Abs): must write values that nothing has written before, got "y"',
        ),
        (
            model([node("Neg", "x", "y")], [value("x", (-4,))], [Y]),
            'value "x": dimension 0 must be at least 0, got -4',
        ),
        (
            model([node("Neg", "x", "y")], [value("x", (2**40, 2**40))], [value("y", None)]),
            f'value "x": must take at most {2**62} bytes, got {2**82}',
        ),
        (
            model([node("Identity", "x", "y")], [value("x", (4,), TensorProto.STRING)], [value("y", (4,), 8)]),
            'value "x": must be of a type whose elements have a size, got strings',
        ),
        (
            model([node("SequenceConstruct", "x", "y")], [X], [helper.make_tensor_sequence_value_info("y", 1, (4,))]),
            'value "y" of node[0] (SequenceConstruct): must be a dense tensor, got a sequence',
        ),
        (
            model([node("If", "c", "y", then_branch=LOST, else_branch=LOST)], [value("c", (), BOOL)], [Y]),
            'node[0] (Neg): must read what was written before, got "nothing"',
        ),
        (
            model([node("NonZero", "x", "y")], [X], [value("y", (1, None), INT64)]),
            'value "y" of node[0] (NonZero): dimension 1 must be known before the program runs, got none',
        ),
    ],
)
def test_a_wrong_model_is_refused_with_place_rule_and_value(data: bytes, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        imported(data)
    assert error.value.sentences[0].startswith(sentence)
