"""Random ONNX models that ONNX Runtime runs: views, constants, several outputs, choices."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

Value = tuple[str, tuple[int, ...]]


def random_model(seed: int, n: int) -> bytes:
    """Return a model of about n nodes that reads `x`, 2 x 8 numbers; every third one ends with two choices."""
    draft = _Draft(random.Random(seed), np.random.RandomState(seed))
    for k in range(n):
        draft.add(f"v{k}")
    for k in range(2 if seed % 3 == 0 else 0):
        draft.add_choice(k)
    used = {name for node in draft.nodes for name in node.input}
    outputs = [value for value in draft.values if value[0] not in used] or draft.values[-1:]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs]
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 8))
    graph = helper.make_graph(draft.nodes, "random", [image], ends, draft.weights)
    data: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9
    ).SerializeToString()
    return data


class _Draft:
    def __init__(self, rng: random.Random, numbers: np.random.RandomState) -> None:
        self.rng, self.numbers = rng, numbers
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.values: list[Value] = [("x", (2, 8))]

    def add(self, name: str) -> None:
        """Add a node, and what it needs."""
        op = self.rng.choice(["Relu", "Sigmoid", "Identity", "Add", "MatMul", "Concat", "Reshape", "Split", "Constant"])
        first, shape = self.rng.choice(self.values)
        if op in ("Add", "Concat"):
            other = self.rng.choice([value for value, found in self.values if found == shape])
            more = {"axis": -1} if op == "Concat" else {}
            found = (*shape[:-1], 2 * shape[-1]) if op == "Concat" else shape
            self._node(op, [first, other], [(name, found)], **more)
        elif op == "MatMul":
            columns = self.rng.choice([4, 8, 32])
            self._weight(f"{name}w", self.numbers.randn(shape[-1], columns).astype(np.float32))
            self._node(op, [first, f"{name}w"], [(name, (*shape[:-1], columns))])
        elif op == "Reshape":
            found = (2, int(np.prod(shape)) // 2)
            self._weight(f"{name}s", np.array(found, dtype=np.int64))
            self._node(op, [first, f"{name}s"], [(name, found)])
        elif op == "Split" and shape[-1] % 2 == 0:
            half = (*shape[:-1], shape[-1] // 2)
            self._node(op, [first], [(name, half), (f"{name}b", half)], axis=-1, num_outputs=2)
        elif op == "Constant":
            number = numpy_helper.from_array(self.numbers.randn(*shape).astype(np.float32))
            self.nodes.append(helper.make_node("Constant", [], [f"{name}c"], value=number))
            self._node("Mul", [first, f"{name}c"], [(name, shape)])
        else:
            self._node("Identity" if op == "Split" else op, [first], [(name, shape)])

    def add_choice(self, k: int) -> None:
        """Add an If, whose branches read values of the graph around."""
        name, shape = self.values[-1 - k]
        then = [
            helper.make_node("Relu", [name], [f"then{k}a"]),
            helper.make_node("Sigmoid", ["x"], [f"then{k}b"]),
            helper.make_node("ReduceSum", [f"then{k}b"], [f"then{k}c"], keepdims=0),
            helper.make_node("Add", [f"then{k}a", f"then{k}c"], [f"then{k}"]),
        ]
        bodies = {
            f"{label}_branch": helper.make_graph(
                nodes, label, [], [helper.make_tensor_value_info(f"{label}{k}", TensorProto.FLOAT, shape)]
            )
            for label, nodes in (("then", then), ("else", [helper.make_node("Neg", [name], [f"else{k}"])]))
        }
        self.nodes.append(helper.make_node("ReduceSum", ["x"], [f"sum{k}"], keepdims=0))
        self.nodes.append(helper.make_node("Cast", [f"sum{k}"], [f"condition{k}"], to=TensorProto.BOOL))
        self._node("If", [f"condition{k}"], [(f"chosen{k}", shape)], **bodies)

    def _node(self, op: str, inputs: list[str], outputs: list[Value], **more: Any) -> None:
        self.nodes.append(
            helper.make_node(op, inputs, [name for name, _ in outputs], name=f"n{len(self.nodes)}", **more)
        )
        self.values += outputs

    def _weight(self, name: str, array: np.ndarray) -> None:
        self.weights.append(numpy_helper.from_array(array, name))
