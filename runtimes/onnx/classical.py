"""Rules for output shapes that ONNX does not infer: operators of classical models (ai.onnx.ml), and quantizers.

The shapes of classical models are as in onnxruntime: an input of one dimension is a batch of one row, and labels are
strings if the model has any string label. The quantizers of qonnx, Brevitas and FINN keep the shape of their input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memplan.runtimes.onnx.model import shape_of

if TYPE_CHECKING:
    from onnx import NodeProto, TypeProto

Said = Mapping[str, Any]
Shape = list[int | str | None]
_QUANTISING = ("onnx.brevitas", "qonnx.custom_op.general", "finn.custom_op.general")
_LIKE_INPUTS = ("Imputer", "Quant", "IntQuant", "FloatQuant", "BipolarQuant", "Trunc")
DOMAINS = ("ai.onnx.ml", *_QUANTISING)
_FLOAT, _INT64, _STRING = 1, 7, 8


def _rule_by_columns(count: Callable[[Said], int]) -> Callable[[Sequence[Shape], Said], list[Shape]]:
    return lambda given, said: [[_row_count(given[0]), count(said)]]


def _row_count(shape: Shape) -> int | str | None:
    return shape[0] if len(shape) > 1 else 1


def _label_count(said: Said) -> int:
    return max(len(said.get(f"classlabels_{kind}", ())) for kind in ("strings", "int64s", "ints"))


def _score_count(said: Said) -> int:
    labels = _label_count(said)
    return labels if said.get("prob_a") or not said.get("vectors_per_class") else max(2, labels * (labels - 1) // 2)


_SHAPES: Mapping[str, Callable[[Sequence[Shape], Said], list[Shape]]] = {
    **dict.fromkeys(("Scaler", "Normalizer", *_LIKE_INPUTS), lambda given, _: [given[0]]),
    "FeatureVectorizer": _rule_by_columns(lambda said: sum(said.get("inputdimensions", ()))),
    "LinearRegressor": _rule_by_columns(lambda said: said.get("targets", 1)),
    "SVMRegressor": _rule_by_columns(lambda _: 1),
    "TreeEnsembleRegressor": _rule_by_columns(lambda said: said.get("n_targets", 1)),
    "TreeEnsembleClassifier": lambda given, said: [[_row_count(given[0])], [_row_count(given[0]), _label_count(said)]],
    "SVMClassifier": lambda given, said: [[_row_count(given[0])], [_row_count(given[0]), _score_count(said)]],
}
"""Maps the name of an operator to a function that computes output shapes from input shapes and attributes."""


def classical_output_types(node: NodeProto, types: Mapping[str, TypeProto]) -> dict[str, TypeProto]:
    """Return the types of a node's outputs by name; empty for other operators and unknown input shapes."""
    from onnx import helper

    read = node.input[:1] if node.op_type in _LIKE_INPUTS else node.input
    input_shapes = [shape_of(types[name]) for name in read if name in types]
    if node.op_type not in _SHAPES or not input_shapes or any(not shape for shape in input_shapes):
        return {}
    attributes = {row.name: helper.get_attribute_value(row) for row in node.attribute}
    kind = types[node.input[0]].tensor_type.elem_type if node.op_type in _LIKE_INPUTS else _FLOAT
    kinds = [kind]
    if node.op_type.endswith("Classifier"):
        kinds = [_STRING if attributes.get("classlabels_strings") else _INT64, _FLOAT]
    shapes = _SHAPES[node.op_type]([list(shape) for shape in input_shapes if shape], attributes)
    rows = zip(node.output, kinds, shapes, strict=False)
    return {name: helper.make_tensor_type_proto(kind, shape) for name, kind, shape in rows if name}
