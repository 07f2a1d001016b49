"""Tests of the reader of ONNX Runtime's allocation plans: buffers shared too early, too large, or across streams."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from memplan.api.cli.main import main
from memplan.planner.errors import FormatError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.verify.verifier import verify
from memplan.runtimes.onnx.allocation_plan import read_of
from tests.runtimes.onnx_models import printed_plan

Nodes = Sequence[tuple[str, str, str]]
CHAIN = (("Exp", "x", "a"), ("MatMul", "a a", "b"), ("Relu", "b", "r"), ("MatMul", "r a", "c"), ("Exp", "c", "y"))


def model(nodes: Nodes, types: dict[str, int] | None = None) -> bytes:
    """Return a model whose values have 8 x 8 elements of the given types, float by default."""
    rows = [helper.make_node(op, reads.split(), writes.split(), name=writes) for op, reads, writes in nodes]
    names = dict.fromkeys(name for _, reads, writes in nodes for name in (*reads.split(), *writes.split()))
    kinds = dict.fromkeys(names, TensorProto.FLOAT) | (types or {})
    infos = {name: helper.make_tensor_value_info(name, kinds[name], [8, 8]) for name in names}
    inside = [infos[name] for name in names if name not in "xy"]
    graph = helper.make_graph(rows, "g", [infos["x"]], [infos["y"]], value_info=inside)
    opsets = [helper.make_opsetid("", 21)]
    made: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return made


def kinds(**others: str) -> dict[str, str]:
    return {"x": "PreExisting", "a": "Allocate", "b": "Allocate", "r": "Reuse 2", "c": "Allocate"} | others


def messages(data: bytes, plan: bytes) -> list[str]:
    imported = read_of(data, plan, ModelOptions())
    assert imported.own_plan is not None
    return [row.message for row in verify(imported.problem, imported.own_plan)]


def test_values_reuse_the_buffer_of_an_input_after_its_last_read() -> None:
    plan = printed_plan(kinds(y="AllocateOutput"), "abrcy")
    imported = read_of(model(CHAIN), plan, ModelOptions())
    lives = {"x": (-1, 1), "a": (0, 4), "b": (1, 4), "c": (3, 5), "y": (4, 6)}
    rows = {row.id: (row.start, row.end, row.pools) for row in imported.problem.buffers}
    assert rows == {name: (*life, (name,)) for name, life in lives.items()}
    assert (imported.own_peak, messages(model(CHAIN), plan)) == (5 * 256, [])
    older = plan.replace(b"LaunchKernel - NodeIndex: ", b"Launch kernel with node id: ")
    older = older.replace(b")", b") ").replace(b")  ", b") ")
    older = b"".join(line.partition(b", Name: ")[0] + b"\n" for line in older.splitlines())
    assert messages(model(CHAIN), older) == []


def test_verify_names_values_in_a_buffer_that_is_still_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, plan = tmp_path / "model.onnx", tmp_path / "plan.txt"
    data.write_bytes(model(CHAIN))
    plan.write_bytes(printed_plan(kinds(c="Reuse 1", y="AllocateOutput"), "abrcy"))
    assert main(["verify", str(data), str(plan)]) == 3
    assert 'buffers "a" and "c" share bytes [0, 256) of "a", but both are alive in [3, 4)' in capsys.readouterr().err
    assert main(["verify", str(plan)]) == 2
    assert "must follow its model" in capsys.readouterr().err
    assert main(["verify", "examples/mobilenet_v2.csv", str(plan)]) == 2
    assert "must be a plan of the given problem file, got a plan of a model of onnx" in capsys.readouterr().err


def test_verify_names_bytes_in_a_buffer_sized_for_4_bit_elements() -> None:
    nodes = (("Cast", "x", "p"), ("Cast", "p", "s"), ("Cast", "s", "q"), ("Cast", "q", "y"))
    wide = {"x": "PreExisting", "p": "Allocate", "s": "Allocate", "q": "Reuse 1", "y": "AllocateOutput"}
    (message,) = messages(model(nodes, {"p": TensorProto.UINT4, "q": TensorProto.UINT8}), printed_plan(wide, "psqy"))
    assert '"q"' in message
    assert "32" in message
    assert messages(model(nodes, {"p": TensorProto.UINT8, "q": TensorProto.UINT8}), printed_plan(wide, "psqy")) == []


def test_streams_share_a_buffer_only_after_a_notification() -> None:
    nodes = (("Exp", "x", "a"), ("Exp", "a", "b"), ("Exp", "x", "c"), ("MatMul", "c c", "d"), ("Add", "b d", "y"))
    shared = {"x": "PreExisting", "a": "Allocate", "b": "Allocate", "c": "Allocate", "d": "Reuse 1"}
    shared["y"] = "AllocateOutput"
    assert messages(model(nodes), printed_plan(shared, ["a", "b", "!7", "y"], ["c", "?7", "d"])) == []
    assert messages(model(nodes), printed_plan(shared, ["a", "b", "c", "d", "y"])) == []
    (message,) = messages(model(nodes), printed_plan(shared, ["a", "b", "y"], ["c", "d"]))
    assert message == 'buffers "a" and "d" share bytes [0, 256) of "a", but both are alive in [3, 4)'
    (race,) = read_of(model(nodes), printed_plan(shared, ["a", "b", "y"], ["c", "d"]), ModelOptions()).warnings
    assert race.message.startswith('stream 1 writes "d" over the bytes of "a", which stream 0 uses, and neither waits')


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (
            printed_plan(kinds(y="Reuse 9"), "abrcy"),
            'value "y": must reuse the buffer of another value of the plan, got 9',
        ),
        (printed_plan(kinds(a="Reuse 2", b="Reuse 1"), "abrcy"), 'value "a": must reuse the buffer of another value'),
        (printed_plan(kinds(y="Share"), "abrcy"), 'value "y": must name the value that owns the buffer, got Share'),
        (printed_plan(kinds(z="Allocate"), "abrcy"), 'value "z": must be an input or written by a node of the streams'),
        (printed_plan(kinds(), "abrcz"), 'node "z": must be a node of the model that optimized_model_filepath saves'),
        (printed_plan(kinds(), ["?1", *"abrcy"]), "streams: must let each node run after the writers of its inputs"),
        (printed_plan({}, "abrcy"), "plan: must contain values of the model in allocated buffers, got none"),
    ],
)
def test_an_allocation_plan_of_another_model_is_refused(plan: bytes, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read_of(model(CHAIN), plan, ModelOptions())
