"""Runs of ONNX models by ONNX Runtime: whole, or node by node in one arena at the offsets of a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

_START, _END = -1, 1 << 60
Arrays = dict[str, np.ndarray]
Names = dict[str, str]
"""The ids of the values that a graph may read, by name; an id begins with the names of the enclosing nodes."""


def _session(model: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def draw_inputs(data: bytes, seed: int) -> Arrays:
    """Return random values for a model's inputs of known sizes; integers are small."""
    rng, found = np.random.default_rng(seed), Arrays()
    for row in onnx.load_from_string(data).graph.input:
        kind = helper.tensor_dtype_to_np_dtype(row.type.tensor_type.elem_type)
        shape = [each.dim_value for each in row.type.tensor_type.shape.dim]
        is_real = kind.kind == "f"
        drawn = rng.standard_normal(shape) if is_real else rng.integers(0, 2 if kind.kind == "b" else 6, shape)
        found[row.name] = np.asarray(drawn, kind)
    return found


def run_whole(data: bytes, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    found: list[np.ndarray] = _session(data).run(None, dict(inputs))
    return found


@dataclass
class ArenaRun:
    """One run of a model in the bytes of a plan of it.

    Values computed from constants alone are kept outside of the arena, as initializers are.
    """

    data: bytes
    problem: Problem
    plan: Plan
    apart: Arrays = field(default_factory=dict)
    kinds: dict[str, tuple[np.dtype, tuple[int, ...]]] = field(default_factory=dict)
    touched: dict[str, list[int]] = field(default_factory=dict)
    now: int = 0

    def __post_init__(self) -> None:
        self.graph = onnx.load_from_string(self.data).graph
        self.opset = onnx.load_from_string(self.data).opset_import
        self.arena = np.zeros(self.plan.peak or 0, np.uint8)
        self.offset = {_name(row.id): row.offset for row in self.plan.placements}
        self.row = {_name(row.id): row for row in self.problem.buffers}

    def run(self, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return the outputs; raises AssertionError for a value without an offset, or with too few bytes."""
        names = {row.name: row.name for row in (*self.graph.initializer, *self.graph.input)}
        self.apart |= {row.name: numpy_helper.to_array(row) for row in self.graph.initializer}
        self.now = _START
        for name, array in inputs.items():
            self._write(name, array)
        self.now = 0
        self._nodes(self.graph.node, names, "")
        self.now = _END
        return [self._read(names[row.name]) for row in self.graph.output]

    def peak_live_bytes(self) -> int:
        """Return the most bytes alive at once in a run without loops: each value from its first use to its last."""
        spans = [(min(rows), max(rows), self.row[home].size) for home, rows in self.touched.items()]
        return max(sum(size for begin, end, size in spans if begin <= now <= end) for now, _, _ in spans)

    def _home(self, name: str) -> str:
        while (root := self.row[name].alias_of) is not None:
            name = _name(root)
        return name

    def _read(self, name: str) -> np.ndarray:
        if name in self.apart:
            return self.apart[name]
        self.touched[self._home(name)].append(self.now)
        kind, shape = self.kinds[name]
        begin = self.offset[name]
        bytes_ = self.arena[begin : begin + kind.itemsize * int(np.prod(shape, dtype=np.int64))]
        return np.frombuffer(bytes_.tobytes(), kind).reshape(shape)

    def _shape(self, name: str) -> tuple[int, ...]:
        return self.apart[name].shape if name in self.apart else self.kinds[name][1]

    def _write(self, name: str, array: np.ndarray) -> None:
        size = self.row[name].size
        assert array.nbytes <= size, f"{name}: {array.nbytes} bytes, where {size} are planned"
        begin = self.offset[name]
        assert begin + array.nbytes <= len(self.arena), f"{name}: ends beyond the arena"
        self.arena[begin : begin + array.nbytes] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        self.kinds[name] = array.dtype, array.shape
        self.touched.setdefault(self._home(name), []).append(self.now)

    def _nodes(self, nodes: Sequence[Any], names: Names, prefix: str) -> None:
        for node in nodes:
            self.now += 1
            inside = {row.name: row.g for row in node.attribute if row.HasField("g")}
            below = f"{prefix}{node.name or next(iter(node.output), node.op_type)}/"
            if node.op_type == "If":
                label = "then_branch" if bool(self._read(names[node.input[0]])) else "else_branch"
                self._body(inside[label], dict(names), f"{below}{label}/", names, node.output, prefix)
            elif node.op_type == "Loop":
                self._loop(node, inside["body"], names, below, prefix)
            else:
                self._node(node, names, prefix)

    def _body(self, graph: Any, inner: Names, below: str, outer: Names, outputs: Sequence[str], prefix: str) -> None:
        """Run a branch, and store its results in the outputs of the operation."""
        self._constants(graph, inner, below)
        self._nodes(graph.node, inner, below)
        self.now += 1
        for name, array in zip(outputs, [self._read(inner[row.name]) for row in graph.output], strict=True):
            self._give(name, array, outer, prefix)

    def _loop(self, node: Any, body: Any, names: Names, below: str, prefix: str) -> None:
        """Run a loop for a number of trips; its state is stored in its outputs."""
        trips = int(self._read(names[node.input[0]])) if node.input[0] else 0
        n = len(body.input) - 2
        for name, array in zip(node.output, [self._read(names[name]) for name in node.input[2:]], strict=False):
            self._give(name, array, names, prefix)
        rows: list[list[np.ndarray]] = []
        for trip in range(trips):
            self.now += 1
            inner = {**names, **{row.name: names[name] for row, name in zip(body.input[2:], node.output, strict=False)}}
            for row, value in ((body.input[0], np.array(trip, np.int64)), (body.input[1], np.array(True))):
                self._give(row.name, value, inner, below)
            self._constants(body, inner, below)
            self._nodes(body.node, inner, below)
            self.now += 1
            found = [self._read(inner[row.name]) for row in body.output]
            rows.append(found[1 + n :])
            for name, array in zip(node.output, found[1:], strict=False):
                if name in node.output[:n]:
                    self._give(name, array, names, prefix)
        for k, name in enumerate(node.output[n:]):
            self._give(name, np.stack([row[k] for row in rows]), names, prefix)

    def _constants(self, graph: Any, names: Names, prefix: str) -> None:
        for row in graph.initializer:
            names[row.name] = f"{prefix}{row.name}"
            self.apart[names[row.name]] = numpy_helper.to_array(row)

    def _node(self, node: Any, names: Names, prefix: str) -> None:
        if node.op_type == "Shape":  # which is known before
            names[node.output[0]] = f"#constant {prefix}{node.output[0]}"
            self.apart[names[node.output[0]]] = np.array(self._shape(names[node.input[0]]), np.int64)
            return
        arrays = {name: self._read(names[name]) for name in node.input if name}
        outputs = [name for name in node.output if name]
        kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in arrays.items()}
        values = [helper.make_tensor_value_info(name, kinds[name], array.shape) for name, array in arrays.items()]
        graph = helper.make_graph([node], "one", values, [onnx.ValueInfoProto(name=name) for name in outputs])
        model = helper.make_model(graph, opset_imports=self.opset, ir_version=9)
        is_apart = all(names[name] in self.apart for name in arrays)
        for name, array in zip(outputs, run_whole(model.SerializeToString(), arrays), strict=True):
            if is_apart:
                names[name] = f"#constant {prefix}{name}"
                self.apart[names[name]] = array
            else:
                self._give(name, array, names, prefix)

    def _give(self, name: str, array: np.ndarray, names: Names, prefix: str) -> None:
        names[name] = f"{prefix}{name}"
        if names[name] in self.row:
            self._write(names[name], array)
        else:
            assert array.size == 0, f"{names[name]}: has no place"


def _name(buffer: object) -> str:
    """Return the name of a value, whose buffer is called by the function before it, too."""
    return str(buffer).partition("/")[2]
