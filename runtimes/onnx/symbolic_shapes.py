"""Shape inference for an ONNX model node by node, with expressions over symbols as sizes.

In a type, an expression is stored as the name of a dimension, which ONNX's own inference propagates. Operators that
compute sizes have rules (`shape_rules`). The values of small integer tensors are tracked as well: shapes, and results
computed from shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from memplan.planner.errors import FormatError
from memplan.programs.symbols.numbers import SymbolicNumber, SymbolicNumbers, max_number, min_number
from memplan.runtimes.onnx.model import is_known, node_name, type_of
from memplan.runtimes.onnx.shape_rules import LEFT_OUT, RULES, WEIGHT_OF, NodeFacts, OpenShapeError
from memplan.runtimes.onnx.shapes import Known, NodeShapes, Types

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TypeProto

Array = np.ndarray[Any, Any]
_INTEGERS, _REALS = (6, 7), (1, 11)
"""Element types that may hold sizes: int32 and int64; float32 and float64 if their values are integral."""


class SymbolicShapes(NodeShapes):
    """The inference of all types in a model, written into the model; sizes may be expressions over symbols."""

    def __init__(self, model: ModelProto, numbers: SymbolicNumbers) -> None:
        """Infer the types of all values; `numbers` formats and parses expressions over symbols."""
        self.numbers = numbers
        self.reals: set[str] = set()
        super().__init__(model)

    def sizes(self, kind: TypeProto) -> list[int] | None:
        """Return the sizes of a tensor type, as integers or expressions; None if one of them is unknown."""
        if not is_known(kind):
            return None
        return [
            dim.dim_value if dim.HasField("dim_value") else self.numbers.number_of_text(dim.dim_param) or 0
            for dim in kind.tensor_type.shape.dim
        ]

    def dimension(self, size: int) -> int | str:
        """Return a size in the form in which a type stores it: an integer, or the text of an expression."""
        return self.numbers.text(size) if isinstance(size, SymbolicNumber) else int(size)

    def array(self, values: object) -> Array:
        """Return integers as an int64 array; if some are expressions, as an array of Python objects."""
        array = np.array(values, object)
        return array if any(isinstance(each, SymbolicNumber) for each in array.flat) else array.astype(np.int64)

    def _inferred_types(self, node: NodeProto, k: int, types: Types, known: Known) -> dict[str, TypeProto]:
        """Return the output types of a node that ONNX infers; rules compute the sizes that ONNX leaves unknown."""
        inferred = super()._inferred_types(node, k, types, known)
        if not any(0 in shape for shape in self._node_facts(node, types, known).shapes if shape):
            # Some of ONNX's rules return 0 for a size computed from a named dimension, so discard types with a 0.
            inferred = {name: kind for name, kind in inferred.items() if 0 not in (self.sizes(kind) or ())}
        if node.op_type not in RULES or node.domain not in ("", "ai.onnx"):
            return inferred
        if all(is_known(inferred.get(name)) for name in node.output if name):
            return inferred
        try:
            shapes = RULES[node.op_type](self._node_facts(node, types, known))
        except (OpenShapeError, IndexError, KeyError, TypeError, ZeroDivisionError):
            return inferred
        except FormatError as error:
            self._mark_unknown(node.output, f"{node_name(node, k)}: {error}")
            return inferred
        first = types[node.input[0]].tensor_type.elem_type
        for name, shape in zip(node.output, shapes, strict=False):
            kind = inferred[name].tensor_type.elem_type if name in inferred else first
            inferred[name] = type_of(kind, [self.dimension(size) for size in shape])
        return inferred

    def _node_facts(self, node: NodeProto, types: Types, known: Known) -> NodeFacts:
        from onnx import helper

        attributes = {row.name: helper.get_attribute_value(row) for row in node.attribute}
        if node.op_type in WEIGHT_OF:
            attributes["weight"] = WEIGHT_OF[node.op_type]
        shapes = [LEFT_OUT if not name else self.sizes(types[name]) if name in types else None for name in node.input]
        numbers = [known.get(name) for name in node.input]
        return NodeFacts(shapes, numbers, attributes, len(node.output), self.versions.get("", 1))

    def _fold_types(self, node: NodeProto, known: Known) -> Mapping[str, TypeProto]:
        """Evaluate a node whose inputs are known; if symbols occur, record the outputs, but return no types."""
        inputs = [known[name] for name in node.input if name]
        if not any(each.dtype == object for each in inputs):
            return super()._fold_types(node, known)
        is_real = any(name in self.reals or known[name].dtype.kind == "f" for name in node.input if name)
        if node.op_type not in FOLDED:
            return {}
        if node.op_type == "Cast":
            is_real = NodeAttributes(node).get("to", 0) in _REALS
        try:
            rows = FOLDED[node.op_type](
                [_integer_objects(each) for each in inputs], NodeAttributes(node, is_real=is_real)
            )
        except (FormatError, OpenShapeError, ValueError, IndexError, TypeError, KeyError):
            return {}
        for name, row in zip(node.output, rows if isinstance(rows, list) else [rows], strict=False):
            known[name] = np.asarray(row, bool) if node.op_type in _CONDITIONS else self.array(row)
            if is_real and node.op_type not in _CONDITIONS:
                self.reals.add(name)
        return {}


class NodeAttributes:
    """The attributes of a node by name; `is_real` is True if the node computes with floating-point numbers."""

    def __init__(self, node: NodeProto, *, is_real: bool = False) -> None:
        """Read all attributes of a node, and count the node's outputs."""
        from onnx import helper

        self.is_real = is_real
        self.all = {row.name: helper.get_attribute_value(row) for row in node.attribute}
        self.outputs = len(node.output)

    def get(self, name: str, default: Any) -> Any:
        """Return the value of an attribute, or `default`."""
        return self.all.get(name, default)


Arrays = Sequence[Array]
Fold = Callable[[Arrays, NodeAttributes], Any]


def _elementwise_fold(function: Callable[[Any, Any], Any]) -> Fold:
    return lambda given, _: np.frompyfunc(function, 2, 1)(given[0], given[1])


def _integer_objects(values: Array) -> Array:
    """Convert an array to Python integers, which can be combined with symbols; raises OpenShapeError for fractions."""
    if values.dtype.kind != "f":
        return values.astype(object)
    if not (values == np.floor(values)).all():
        raise OpenShapeError
    return values.astype(np.int64).astype(object)


def _fold_division(given: Arrays, attributes: NodeAttributes) -> Any:
    """Divide two arrays of integers; raises OpenShapeError if ONNX might round a quotient differently."""

    def divide(left: int, right: int) -> int:
        """Return a quotient; raises OpenShapeError if truncation and rounding down might differ."""
        # ONNX rounds toward 0 and Python rounds down, so refuse operands for which the results may differ.
        if left < 0 or right < 1:
            raise OpenShapeError
        whole = left // right
        if attributes.is_real and whole * right != left:
            raise OpenShapeError
        return whole

    return np.frompyfunc(divide, 2, 1)(given[0], given[1])


def _variadic_fold(function: Callable[[int, int], int]) -> Fold:
    return lambda given, _: _combine_arrays(function, given)


def _combine_arrays(function: Callable[[int, int], int], given: Arrays) -> Any:
    total: Any = given[0]
    for each in given[1:]:
        total = np.frompyfunc(function, 2, 1)(total, each)
    return total


def _fold_cast(given: Arrays, attributes: NodeAttributes) -> Any:
    """Return the array to cast, unchanged. Raises OpenShapeError if the target type is not a number type."""
    if attributes.get("to", 0) not in _INTEGERS + _REALS:
        raise OpenShapeError
    return given[0]


def _concrete_numbers(values: Array) -> list[int]:
    """Return the elements of an array as a list. Raises OpenShapeError if an element depends on symbols."""
    values_ = values.ravel().tolist()
    if any(isinstance(each, SymbolicNumber) for each in values_):
        raise OpenShapeError
    return list(values_)


def _fold_gather(given: Arrays, attributes: NodeAttributes) -> Any:
    return np.take(given[0], given[1].astype(np.int64), axis=attributes.get("axis", 0))


def _fold_reshape(given: Arrays, _: NodeAttributes) -> Any:
    return given[0].reshape(_concrete_numbers(given[1]))


def _fold_flatten(given: Arrays, attributes: NodeAttributes) -> Any:
    return given[0].reshape(prod(given[0].shape[: attributes.get("axis", 1)]), -1)


def _fold_unsqueeze(given: Arrays, attributes: NodeAttributes) -> Any:
    axes = _concrete_numbers(given[1]) if len(given) > 1 else attributes.get("axes", [])
    return np.expand_dims(given[0], tuple(axes))


def _fold_squeeze(given: Arrays, attributes: NodeAttributes) -> Any:
    axes = _concrete_numbers(given[1]) if len(given) > 1 else attributes.get("axes", None)
    return np.squeeze(given[0], None if axes is None else tuple(axes))


def _fold_slice(given: Arrays, attributes: NodeAttributes) -> Any:
    """Return the slice of an array by a Slice node, whose bounds are attributes or inputs."""
    if len(given) == 1:
        starts, ends = attributes.get("starts", []), attributes.get("ends", [])
        axes, steps = attributes.get("axes", list(range(len(starts)))), [1] * len(starts)
    else:
        starts, ends, axes, steps = (
            *map(_concrete_numbers, given[1:3]),
            _concrete_numbers(given[3]) if len(given) > 3 else list(range(given[1].size)),
            _concrete_numbers(given[4]) if len(given) > 4 else [1] * given[1].size,
        )
    places: list[slice] = [slice(None)] * given[0].ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        places[axis] = slice(start, None if step < 0 and end < -(2**31) else end, step)
    return given[0][tuple(places)]


def _fold_product(given: Arrays, attributes: NodeAttributes) -> Any:
    axes = _concrete_numbers(given[1]) if len(given) > 1 else attributes.get("axes", None)
    return np.prod(given[0], axis=None if axes is None else tuple(axes), keepdims=bool(attributes.get("keepdims", 1)))


def _fold_split(given: Arrays, attributes: NodeAttributes) -> list[Array]:
    sizes = _concrete_numbers(given[1]) if len(given) > 1 else attributes.get("split", None)
    ends = attributes.outputs if sizes is None else np.cumsum(sizes)[:-1]
    return list(np.split(given[0], ends, axis=attributes.get("axis", 0)))


_CONDITIONS: Mapping[str, Fold] = {
    "Equal": _elementwise_fold(lambda a, b: a == b),
    "Less": _elementwise_fold(lambda a, b: a < b),
    "LessOrEqual": _elementwise_fold(lambda a, b: a <= b),
    "Greater": _elementwise_fold(lambda a, b: a > b),
    "GreaterOrEqual": _elementwise_fold(lambda a, b: a >= b),
}
FOLDED: Mapping[str, Fold] = {
    **_CONDITIONS,
    "Add": _elementwise_fold(lambda a, b: a + b),
    "Sub": _elementwise_fold(lambda a, b: a - b),
    "Mul": _elementwise_fold(lambda a, b: a * b),
    "Div": _fold_division,
    "Mod": _elementwise_fold(lambda a, b: a % b),
    "Neg": lambda given, _: -given[0],
    "Max": _variadic_fold(max_number),
    "Min": _variadic_fold(min_number),
    "Sum": _variadic_fold(lambda a, b: a + b),
    **dict.fromkeys(("Identity", "Floor", "Ceil", "Round"), lambda given, _: given[0]),
    "Cast": _fold_cast,
    "Concat": lambda given, attributes: np.concatenate(given, axis=attributes.get("axis", 0)),
    "Gather": _fold_gather,
    "Reshape": _fold_reshape,
    "Flatten": _fold_flatten,
    "Unsqueeze": _fold_unsqueeze,
    "Squeeze": _fold_squeeze,
    "Slice": _fold_slice,
    "Split": _fold_split,
    "ReduceProd": _fold_product,
    "Expand": lambda given, _: np.broadcast_to(
        given[0], np.broadcast_shapes(given[0].shape, _concrete_numbers(given[1]))
    ),
    "Tile": lambda given, _: np.tile(given[0], _concrete_numbers(given[1])),
    "Transpose": lambda given, attributes: given[0].transpose(attributes.get("perm", None)),
    "Where": lambda given, _: np.where(given[0].astype(bool), given[1], given[2]),
}
"""Maps the operators that appear in computations of shapes to functions that evaluate them on tracked values."""
