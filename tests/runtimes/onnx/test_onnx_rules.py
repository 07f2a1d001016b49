"""Rules for symbolic sizes, compared with ONNX's shape inference and its reference evaluator."""

import random
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from memplan.runtimes.onnx.shape_rules import RULES, WEIGHT_OF, NodeFacts, OpenShapeError
from memplan.runtimes.onnx.symbolic_shapes import FOLDED, NodeAttributes

CASES = 25
Numbers = np.ndarray[Any, Any]
Case = tuple[list[Any], dict[str, Any], int]
"""Inputs, each a shape or the numbers of a constant; attributes; the number of outputs."""


def _shape(rng: random.Random, least: int = 1, most: int = 4) -> list[int]:
    return [rng.randint(1, 6) for _ in range(rng.randint(least, most))]


def _window(rng: random.Random) -> tuple[list[int], dict[str, Any]]:
    n = rng.randint(1, 2)
    fields: dict[str, Any] = {
        "kernel_shape": [rng.randint(1, 3) for _ in range(n)],
        "strides": [rng.randint(1, 3) for _ in range(n)],
        "dilations": [rng.randint(1, 2) for _ in range(n)],
    }
    if rng.random() < 0.5:
        fields["pads"] = [rng.randint(0, 1) for _ in range(2 * n)]
    else:
        fields["auto_pad"] = rng.choice(["VALID", "SAME_UPPER", "SAME_LOWER", "NOTSET"])
    return [rng.randint(1, 2), 4, *(rng.randint(6, 12) for _ in range(n))], fields


def _case(op: str, rng: random.Random) -> Case:
    shape = _shape(rng)
    axis = rng.randrange(len(shape))
    match op:
        case "Concat":
            rows = [[rng.randint(1, 6) if k == axis else size for k, size in enumerate(shape)] for _ in range(3)]
            return [*rows], {"axis": axis}, 1
        case "Reshape":
            wanted = [shape[0], *rng.choice([[-1], shape[1:], [0, -1][len(shape) < 2 :]])]
            return [shape, np.array(wanted)], {}, 1
        case "Flatten":
            return [shape], {"axis": axis}, 1
        case "Expand":
            return [[rng.choice([1, size]) for size in shape], np.array([*_shape(rng, 0, 1), *shape])], {}, 1
        case "Slice":
            starts = np.array([rng.randint(-7, 7)])
            ends = np.array([rng.choice([rng.randint(-7, 9), 2**31 - 1, 2**63 - 1])])
            return [shape, starts, ends, np.array([axis]), np.array([rng.randint(1, 3)])], {}, 1
        case "Split":
            if rng.random() < 0.5:
                shape[axis] = 6
                return [shape, np.array([1, 2, 3])], {"axis": axis}, 3
            return [shape], {"axis": axis, "num_outputs": 2}, 2
        case "Tile":
            return [shape, np.array([rng.randint(1, 3) for _ in shape])], {}, 1
        case "Pad":
            return [shape, np.array([rng.randint(0, 2) for _ in range(2 * len(shape))])], {}, 1
        case "Range":
            return [np.array(rng.randint(-9, 9)), np.array(rng.randint(-9, 9)), np.array(rng.choice([-2, 1, 3]))], {}, 1
        case "ConstantOfShape":
            return [np.array(shape)], {}, 1
        case "Conv" | "ConvTranspose":
            image, fields = _window(rng)
            if op == "ConvTranspose" and rng.random() < 0.5:
                fields["output_padding"] = [rng.randint(0, stride - 1) for stride in fields["strides"]]
            return [image, [4, 4, *fields["kernel_shape"]]], fields, 1
        case "MaxPool" | "AveragePool" | "LpPool":
            image, fields = _window(rng)
            if rng.random() < 0.5:
                fields["ceil_mode"] = 1
            return [image], fields, 1
        case "Resize":
            factors = [1.0, 1.0, *(rng.choice([0.5, 2.0, 1.5]) for _ in range(2))]
            return [[1, 3, 8, 6], None, np.array(factors, np.float32)], {}, 1
        case "Upsample":
            return [[1, 3, 8, 6], np.array([1, 1, 2, 3], np.float32)], {}, 1
        case "DepthToSpace" | "SpaceToDepth":
            return [[1, 8, 4, 6]], {"blocksize": 2}, 1
    raise AssertionError(op)


def _infer_shapes(op: str, case: Case) -> list[list[int]]:
    """Return the shapes of the outputs by ONNX's own inference."""
    given, attributes, outputs = case
    names = ["" if each is None else f"i{k}" for k, each in enumerate(given)]
    made = [f"o{k}" for k in range(outputs)]
    shapes = {name: each for name, each in zip(names, given, strict=True) if isinstance(each, list)}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, each) for name, each in shapes.items()]
    arrays = {name: each for name, each in zip(names, given, strict=True) if isinstance(each, np.ndarray)}
    constants = [numpy_helper.from_array(each, name) for name, each in arrays.items()]
    node = helper.make_node(op, names, made, **attributes)
    kind = TensorProto.INT64 if op == "Range" else TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, kind, None) for name in made]
    graph = helper.make_graph([node], "one", inputs, ends, constants)
    version = 9 if op == "Upsample" else 18
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=9)
    types = shape_inference.infer_shapes(whole, strict_mode=False, data_prop=True).graph.output
    return [[dim.dim_value for dim in each.type.tensor_type.shape.dim] for each in types]


@pytest.mark.parametrize("op", sorted(RULES.keys() - {"ConvInteger", "QLinearConv"}))
def test_shape_rules_agree_with_the_shape_inference_of_onnx(op: str) -> None:
    rng, answered = random.Random(7), 0
    for _ in range(CASES):
        case = _case(op, rng)
        given, attributes, outputs = case
        shapes = [[-1] if each is None else list(each) if isinstance(each, list) else [*each.shape] for each in given]
        numbers = [each if isinstance(each, np.ndarray) else None for each in given]
        facts = {k: v.encode() if isinstance(v, str) else v for k, v in attributes.items()}
        if op in WEIGHT_OF:
            facts["weight"] = WEIGHT_OF[op]
        try:
            found = RULES[op](NodeFacts(shapes, numbers, facts, outputs, 18))
        except OpenShapeError:
            continue
        wanted = _infer_shapes(op, case)
        if all(wanted):
            answered += 1
            assert found[: len(wanted)] == wanted, (op, case)
    assert answered >= CASES // 3


def _numbers_case(op: str, rng: random.Random) -> tuple[list[Numbers], dict[str, Any], int]:
    row = np.array([rng.randint(1, 9) for _ in range(rng.randint(2, 5))])
    other = np.array([rng.randint(1, 9) for _ in row])
    match op:
        case "Cast":
            return [row], {"to": 7}, 1
        case "Concat":
            return [row, other], {"axis": 0}, 1
        case "Gather":
            return [row, np.array(rng.choice([0, -1, [0, 1]]))], {"axis": 0}, 1
        case "Reshape":
            return [row, np.array([1, -1])], {}, 1
        case "Flatten":
            return [row.reshape(1, -1) if rng.random() < 0.5 else row], {"axis": rng.choice([0, 1])}, 1
        case "Unsqueeze":
            return [row, np.array([rng.choice([0, 1])])], {}, 1
        case "Squeeze":
            return [row.reshape(1, -1), np.array([0])], {}, 1
        case "Slice":
            a, b = rng.randint(-3, 2), rng.choice([rng.randint(-2, 5), 2**31 - 1])
            return [row, np.array([a]), np.array([b])], {}, 1
        case "Split":
            return [row, np.array([1, len(row) - 1])], {"axis": 0}, 2
        case "ReduceProd":
            return [row], {"keepdims": rng.choice([0, 1])}, 1
        case "Expand":
            return [row[:1], np.array([3])], {}, 1
        case "Tile":
            return [row, np.array([2])], {}, 1
        case "Transpose":
            return [np.stack([row, other])], {}, 1
        case "Where":
            return [row > other, row, other], {}, 1
        case "Neg" | "Identity" | "Floor" | "Ceil" | "Round":
            return [row.astype(np.float64) if op in ("Floor", "Ceil", "Round") else row], {}, 1
    return [row, other], {}, 1


@pytest.mark.parametrize("op", sorted(FOLDED))
def test_folded_values_agree_with_the_reference_evaluator_of_onnx(op: str) -> None:
    rng = random.Random(3)
    for _ in range(CASES):
        given, attributes, outputs = _numbers_case(op, rng)
        names = [f"i{k}" for k in range(len(given))]
        node = helper.make_node(op, names, [f"o{k}" for k in range(outputs)], **attributes)
        wanted = ReferenceEvaluator(node).run(None, dict(zip(names, given, strict=True)))
        rows = FOLDED[op]([each.astype(object) for each in given], NodeAttributes(node))
        found = rows if isinstance(rows, list) else [rows]
        for mine, theirs in zip(found, wanted, strict=True):
            assert np.array_equal(np.asarray(mine).astype(theirs.dtype), theirs), (op, given, attributes)
