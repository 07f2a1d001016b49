"""A model with symbolic dimensions runs in one arena at the offsets that `shapes` answers, found by tensor names."""

import ctypes
import json
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest

from memplan.api.cli.main import main

onnx = pytest.importorskip("onnx")
VALUES = ((1, 1), (1, 7), (3, 5), (4, 16))


def _attention() -> Any:
    """Return a model of free batch and length: heads that are made and joined again by reshapes, with a mask added."""
    rng, width, heads = np.random.default_rng(7), 8, 2
    constants = {name: rng.standard_normal((width, width)).astype(np.float32) for name in ("wq", "wk", "wv", "wo")}
    constants |= {"split": np.array([0, 0, heads, width // heads]), "join": np.array([0, 0, width])}
    constants["axis"] = np.array([1, 2])
    rows: list[tuple[str, list[str], str, dict[str, Any]]] = [("Unsqueeze", ["mask", "axis"], "mask4", {})]
    for name in "qkv":
        turned = [0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]
        rows.append(("MatMul", ["x", f"w{name}"], name, {}))
        rows.append(("Reshape", [name, "split"], f"{name}_heads", {}))
        rows.append(("Transpose", [f"{name}_heads"], f"{name}_turned", {"perm": turned}))
    rows.append(("MatMul", ["q_turned", "k_turned"], "scores", {}))
    rows.append(("Add", ["scores", "mask4"], "masked", {}))
    rows.append(("Softmax", ["masked"], "weights", {"axis": -1}))
    rows.append(("MatMul", ["weights", "v_turned"], "context", {}))
    rows.append(("Transpose", ["context"], "back", {"perm": [0, 2, 1, 3]}))
    rows.append(("Reshape", ["back", "join"], "joined", {}))
    rows.append(("MatMul", ["joined", "wo"], "out", {}))
    rows.append(("Add", ["out", "x"], "y", {}))
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(op, inputs, [output], **said) for op, inputs, output, said in rows],
        "attention",
        [
            helper.make_tensor_value_info("x", floats, ["batch", "length", width]),
            helper.make_tensor_value_info("mask", floats, ["batch", "length"]),
        ],
        [helper.make_tensor_value_info("y", floats, ["batch", "length", width])],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class _Arena:
    """Bytes with all tensors, each at the offset of its buffer; weights are stored separately."""

    def __init__(self, size: int, offset: dict[str, int], weights: dict[str, Any]) -> None:
        self.bytes = np.full(size, 0xA5, np.uint8)
        self.offset, self.weights = offset, weights
        self.form: dict[str, tuple[Any, Any]] = {}

    def put(self, name: str, value: Any) -> None:
        at = self.offset[name]
        assert at + value.nbytes <= len(self.bytes)
        self.bytes[at : at + value.nbytes] = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        self.form[name] = value.dtype, value.shape

    def get(self, name: str) -> Any:
        if name in self.weights:
            return self.weights[name]
        (dtype, shape), at = self.form[name], self.offset[name]
        return self.bytes[at : at + int(np.prod(shape)) * dtype.itemsize].view(dtype).reshape(shape).copy()


@pytest.mark.skipif(which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("views", ["alias", "separate"])
def test_a_model_with_symbolic_dimensions_runs_in_one_arena_for_all_values(views: str, tmp_path: Path) -> None:
    from onnx.reference import ReferenceEvaluator

    model, paths = _attention(), [tmp_path / name for name in ("m.onnx", "plan.c", "plan.json", "plan.so")]
    onnx.save(model, paths[0])
    flags = [f"-o{path}" for path in paths[1:3]]
    symbols = ["--symbol=batch=1..4", "--symbol=length=1..64"]
    assert main(["shapes", str(paths[0]), *symbols, "--views", views, *flags]) == 0
    answer = json.loads(paths[2].read_text())
    assert {row["name"]: row["role"] for row in answer["tensors"]}.items() >= {"x": "input", "y": "output"}.items()
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", *paths[3:0:-2]], check=True)
    library = ctypes.CDLL(str(paths[3]))
    library.plan.restype = ctypes.c_int64
    offsets = (ctypes.c_int64 * len(answer["ids"]))()
    place = {name: i for i, name in enumerate(answer["ids"])}
    weights = {row.name: onnx.numpy_helper.to_array(row) for row in model.graph.initializer}
    whole = ReferenceEvaluator(model)
    steps = [ReferenceEvaluator(node, opsets={"": 17}) for node in model.graph.node]
    for batch, length in VALUES:
        peak = library.plan(ctypes.c_int64(batch), ctypes.c_int64(length), offsets)
        at = {row["name"]: offsets[place[row["buffer"]]] for row in answer["tensors"] if row["buffer"] is not None}
        arena, rng = _Arena(peak, at, weights), np.random.default_rng(length)
        feeds = {"x": rng.standard_normal((batch, length, 8)), "mask": rng.standard_normal((batch, length))}
        feeds = {name: value.astype(np.float32) for name, value in feeds.items()}
        for name, value in feeds.items():
            arena.put(name, value)
        for node, step in zip(model.graph.node, steps, strict=True):
            # A view has the place of its source, or is a copy in separate bytes.
            (made,) = step.run(None, {name: arena.get(name) for name in node.input})
            arena.put(node.output[0], made)
        assert np.array_equal(arena.get("y"), whole.run(None, feeds)[0])
    source = paths[1].read_text()
    assert (f"PLAN_AT_q_heads = {place['main/q']}," in source) == (views == "alias")
    assert '{"y", ' in source
    assert '"output"},' in source
