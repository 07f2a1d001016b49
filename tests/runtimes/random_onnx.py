"""Random ONNX models for ONNX Runtime, with many operators, views, constants, several outputs, and branches."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

Value = tuple[str, tuple[int, ...]]
PLAIN = ("Relu", "Sigmoid", "Identity", "Add", "MatMul", "Concat", "Reshape", "Split", "Constant")
_UNARY = (
    "Abs", "Neg", "Exp", "Tanh", "Erf", "Softmax", "LeakyRelu", "Elu", "HardSigmoid", "Softplus", "Floor", "Sin",
)  # fmt: skip
_BINARY = ("Add", "Sub", "Mul", "Max", "Min", "Mean", "PRelu")
_OTHERS = (
    "Gemm", "Transpose", "ReduceMean", "ReduceMax", "Slice", "Pad", "Gather", "Tile", "Expand", "LayerNormalization",
    "Where", "Conv", "MaxPool", "Cast", "TopK", "CumSum", "Flatten", "Shape", "Clip", "Squeeze",
)  # fmt: skip
OPERATORS: tuple[str, ...] = tuple(dict.fromkeys((*PLAIN, *_UNARY, *_BINARY, *_OTHERS)))


def random_model(seed: int, n: int, operators: tuple[str, ...] = PLAIN, first: tuple[str, ...] = ()) -> bytes:
    """Return a model of about n nodes that reads `x`, 2 x 8 numbers; every third one ends with two choices.

    The nodes are of the operators that come `first`, then drawn ones.
    """
    draft = _Draft(random.Random(seed), np.random.RandomState(seed))
    for k in range(n):
        draft.add(f"v{k}", first[k] if k < len(first) else draft.rng.choice(operators))
    for k in range(2 if seed % 3 == 0 else 0):
        draft.add_choice(k)
    used = {name for node in draft.nodes for name in node.input}
    outputs = [value for value in draft.values if value[0] not in used] or draft.values[-1:]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs]
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 8))
    graph = helper.make_graph(draft.nodes, "random", [image], ends, draft.weights)
    opsets = [helper.make_opsetid("", 18)]
    data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    return data


class _Draft:
    def __init__(self, rng: random.Random, numbers: np.random.RandomState) -> None:
        self.rng, self.numbers = rng, numbers
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.values: list[Value] = [("x", (2, 8))]

    def add(self, name: str, op: str) -> None:
        first, shape = self.rng.choice(self.values)
        if op in _BINARY[1:]:
            other = self.rng.choice([value for value, found in self.values if found == shape])
            self._node(op, [first, other], [(name, shape)])
        elif op in _ADDED:
            _ADDED[op](self, name, first, shape)
        elif op in ("Add", "Concat"):
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

    def gemm(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._weight(f"{name}w", self.numbers.randn(16, shape[-1]).astype(np.float32))
        self._weight(f"{name}b", self.numbers.randn(16).astype(np.float32))
        self._node("Gemm", [x, f"{name}w", f"{name}b"], [(name, (shape[0], 16))], transB=1)

    def transpose(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._node("Transpose", [x], [(f"{name}t", shape[::-1])], perm=[1, 0])
        self._node("Relu", [f"{name}t"], [(f"{name}r", shape[::-1])])
        self._node("Transpose", [f"{name}r"], [(name, shape)], perm=[1, 0])

    def reduced(self, op: str, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._node(op, [x, self._integers(f"{name}a", -1)], [(f"{name}r", (shape[0], 1))], keepdims=1)
        self._node("Sub", [x, f"{name}r"], [(name, shape)])

    def add_slice(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        rows = [self._integers(f"{name}_{k}", value) for k, value in enumerate((0, shape[-1] // 2, -1))]
        self._node("Slice", [x, *rows], [(name, (shape[0], shape[-1] // 2))])

    def add_padding(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._node("Pad", [x, self._integers(f"{name}p", 0, 2, 0, 2)], [(name, (shape[0], shape[-1] + 4))])

    def add_gather(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._node("Gather", [x, self._integers(f"{name}i", *range(shape[-1] - 1, -1, -1))], [(name, shape)], axis=1)

    def add_tile(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._node("Tile", [x, self._integers(f"{name}t", 1, 2)], [(name, (shape[0], 2 * shape[-1]))])

    def add_expansion(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._node("ReduceMean", [x, self._integers(f"{name}a", -1)], [(f"{name}r", (shape[0], 1))], keepdims=1)
        self._node("Expand", [f"{name}r", self._integers(f"{name}e", *shape)], [(name, shape)])

    def add_normalization(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._weight(f"{name}w", self.numbers.randn(shape[-1]).astype(np.float32))
        self._node("LayerNormalization", [x, f"{name}w"], [(name, shape)], axis=-1)

    def chosen(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        other = self.rng.choice([value for value, found in self.values if found == shape])
        self.nodes.append(helper.make_node("Greater", [x, other], [f"{name}c"]))
        self._node("Where", [f"{name}c", x, other], [(name, shape)])

    def image(self, op: str, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._weight(f"{name}a", np.array([0, 1], dtype=np.int64))
        self._node("Unsqueeze", [x, f"{name}a"], [(f"{name}i", (1, 1, *shape))])
        if op == "Conv":
            self._weight(f"{name}w", self.numbers.randn(2, 1, 3, 3).astype(np.float32))
            inputs, channels, more = [f"{name}i", f"{name}w"], 2, {}
        else:
            inputs, channels, more = [f"{name}i"], 1, {"kernel_shape": [3, 3]}
        self._node(op, inputs, [(f"{name}o", (1, channels, *shape))], pads=[1, 1, 1, 1], **more)
        flat = shape[0] * channels, shape[-1]
        self._weight(f"{name}s", np.array(flat, dtype=np.int64))
        self._node("Reshape", [f"{name}o", f"{name}s"], [(name, flat)])
        self.values = [value for value in self.values if len(value[1]) == 2]

    def cast(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self.nodes.append(helper.make_node("Cast", [x], [f"{name}h"], to=TensorProto.INT32))
        self._node("Cast", [f"{name}h"], [(name, shape)], to=TensorProto.FLOAT)

    def add_top_k(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self.nodes.append(helper.make_node("TopK", [x, self._integers(f"{name}k", 2)], [name, f"{name}i"], axis=-1))
        self.values.append((name, (shape[0], 2)))

    def add_sum(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._weight(f"{name}a", np.array(1, dtype=np.int64))
        self._node("CumSum", [x, f"{name}a"], [(name, shape)])

    def add_flatten(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._node("Flatten", [x], [(name, (1, shape[0] * shape[-1]))], axis=0)

    def add_shape(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self.nodes.append(helper.make_node("Shape", [x], [f"{name}s"]))
        self._node("Reshape", [self.rng.choice([v for v, s in self.values if s == shape]), f"{name}s"], [(name, shape)])

    def add_clip(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._weight(f"{name}l", np.array(-0.5, dtype=np.float32))
        self._node("Clip", [x, f"{name}l"], [(name, shape)])

    def add_squeeze(self, name: str, x: str, shape: tuple[int, ...]) -> None:
        self._node("Unsqueeze", [x, self._integers(f"{name}u", 0)], [(f"{name}w", (1, *shape))])
        self.values.pop()
        self._node("Squeeze", [f"{name}w", f"{name}u"], [(name, shape)])

    def _integers(self, name: str, *values: int) -> str:
        self._weight(name, np.array(values, dtype=np.int64))
        return name

    def _node(self, op: str, inputs: list[str], outputs: list[Value], **more: Any) -> None:
        names = [name for name, _ in outputs]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"n{len(self.nodes)}", **more))
        self.values += outputs

    def _weight(self, name: str, array: np.ndarray) -> None:
        self.weights.append(numpy_helper.from_array(array, name))


_ADDED: dict[str, Callable[[_Draft, str, str, tuple[int, ...]], None]] = {
    "Gemm": _Draft.gemm,
    "Transpose": _Draft.transpose,
    "ReduceMean": lambda draft, *rest: draft.reduced("ReduceMean", *rest),
    "ReduceMax": lambda draft, *rest: draft.reduced("ReduceMax", *rest),
    "Slice": _Draft.add_slice,
    "Pad": _Draft.add_padding,
    "Gather": _Draft.add_gather,
    "Tile": _Draft.add_tile,
    "Expand": _Draft.add_expansion,
    "LayerNormalization": _Draft.add_normalization,
    "Where": _Draft.chosen,
    "Conv": lambda draft, *rest: draft.image("Conv", *rest),
    "MaxPool": lambda draft, *rest: draft.image("MaxPool", *rest),
    "Cast": _Draft.cast,
    "TopK": _Draft.add_top_k,
    "CumSum": _Draft.add_sum,
    "Flatten": _Draft.add_flatten,
    "Shape": _Draft.add_shape,
    "Clip": _Draft.add_clip,
    "Squeeze": _Draft.add_squeeze,
}
"""For each operator, the function that adds it, and the nodes that it needs around it, to two-dimensional values."""
