"""Shapes of operators that ONNX does not infer: classical models (ai.onnx.ml) and qonnx.

Classical models have onnxruntime's shapes: a row without a batch is a row of a batch of one, and labels are strings if
any label is. Tensors that qonnx, Brevitas and FINN quantise keep their shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memplan.extensions.models.onnx.model import shape_of

if TYPE_CHECKING:
    from onnx import NodeProto, TypeProto

Said = Mapping[str, Any]
Shape = list[int | str | None]
_QUANTISING = ("onnx.brevitas", "qonnx.custom_op.general", "finn.custom_op.general")
_LIKE_INPUTS = ("Imputer", "Quant", "IntQuant", "FloatQuant", "BipolarQuant", "Trunc")
DOMAINS = ("ai.onnx.ml", *_QUANTISING)
_FLOAT, _INT64, _STRING = 1, 7, 8


def _columns(count: Callable[[Said], int]) -> Callable[[Sequence[Shape], Said], list[Shape]]:
    return lambda given, said: [[_rows(given[0]), count(said)]]


def _rows(shape: Shape) -> int | str | None:
    return shape[0] if len(shape) > 1 else 1


def _labels(said: Said) -> int:
    return max(len(said.get(f"classlabels_{kind}", ())) for kind in ("strings", "int64s", "ints"))


def _scores(said: Said) -> int:
    """Return the number of scores of a support vector classifier: class probabilities, or pairwise votes."""
    labels = _labels(said)
    return labels if said.get("prob_a") or not said.get("vectors_per_class") else max(2, labels * (labels - 1) // 2)


_SHAPES: Mapping[str, Callable[[Sequence[Shape], Said], list[Shape]]] = {
    **dict.fromkeys(("Scaler", "Normalizer", *_LIKE_INPUTS), lambda given, _: [given[0]]),
    "FeatureVectorizer": _columns(lambda said: sum(said.get("inputdimensions", ()))),
    "LinearRegressor": _columns(lambda said: said.get("targets", 1)),
    "SVMRegressor": _columns(lambda _: 1),
    "TreeEnsembleRegressor": _columns(lambda said: said.get("n_targets", 1)),
    "TreeEnsembleClassifier": lambda given, said: [[_rows(given[0])], [_rows(given[0]), _labels(said)]],
    "SVMClassifier": lambda given, said: [[_rows(given[0])], [_rows(given[0]), _scores(said)]],
}
"""The output shapes of operators as functions of input shapes and attributes."""


def classical_types(node: NodeProto, types: Mapping[str, TypeProto]) -> dict[str, TypeProto]:
    """Return the output types of a node with such an operator and known input shapes."""
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
