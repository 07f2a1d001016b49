"""Facts about the tensors and operators of a TensorFlow Lite model: operation kinds, attributes and types.

Source: tensorflow/compiler/mlir/lite/schema/schema.fbs. A field's number is its position there.
"""

import struct
from collections.abc import Callable
from math import isfinite
from typing import Any

from memplan.planner.foreign.imported import element_count
from memplan.programs.operations.graph_facts import Attribute, OperationFacts, Quantization, TensorFacts
from memplan.programs.readers.vocabulary import MOST_NUMBERS, kind_of, kinds_by_name
from memplan.runtimes.flatbuffer import Table
from memplan.runtimes.pads import equal_output_pads
from memplan.runtimes.tflite.model import DTYPES, Operator, Subgraph, TfliteTensor

_EFFECTS = {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE", "HASHTABLE", "HASHTABLE_FIND"}
_EFFECTS |= {"HASHTABLE_IMPORT", "HASHTABLE_SIZE", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM", "MULTINOMIAL"}
_EFFECTS |= {"STABLEHLO_RNG_BIT_GENERATOR", "STABLEHLO_CUSTOM_CALL"}
"""Operators with effects outside their outputs (state, random numbers); custom operators count as such, too."""
_KINDS = kinds_by_name(
    {
        "conv2d": "CONV_2D",
        "depthwise_conv2d": "DEPTHWISE_CONV_2D",
        "conv2d_transpose": "TRANSPOSE_CONV",
        "max_pool2d": "MAX_POOL_2D",
        "average_pool2d": "AVERAGE_POOL_2D",
        "concat": "CONCATENATION",
        "pad": "PADV2",
        "matmul": "BATCH_MATMUL",
        "sigmoid": "LOGISTIC",
        "reduce_mean": "MEAN",
        "reduce_sum": "SUM",
        "resize": "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR",
        "loop": "WHILE",
        "call": "CALL_ONCE",
        "reshape": "SQUEEZE EXPAND_DIMS",
        "slice": "STRIDED_SLICE",
        "not": "LOGICAL_NOT",
        "split": "SPLIT_V",
        "argmax": "ARG_MAX",
        "argmin": "ARG_MIN",
    }
)
_FUSED = {1: "relu", 2: "relu_n1_to_1", 3: "relu6", 4: "tanh", 5: "sign"}
_FUSED_AT = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 4, "MAX_POOL_2D": 5, "AVERAGE_POOL_2D": 5, "TRANSPOSE_CONV": 3}
_FUSED_AT |= {"CONCATENATION": 1, "FULLY_CONNECTED": 0, "ADD": 0, "SUB": 0, "MUL": 0, "DIV": 0}
_SAME = 0
Contents = Callable[[TfliteTensor], bytes]
Attributes = dict[str, Attribute]


def operator_facts(
    subgraph: Subgraph, operator: Operator, source: tuple[int, int], contents: Contents
) -> OperationFacts:
    """Return the name, kind and attributes of an operator; `contents` returns a constant tensor's bytes."""
    kind = None if operator.is_custom else kind_of(operator.name, _KINDS)
    reader = OperatorReader(subgraph, operator, contents)
    attributes = reader.attributes()
    if kind == "reduce_mean" and attributes.get("axes") == (1, 2):
        kind = "global_average_pool"
    return OperationFacts(operator.name, kind, attributes, source)


def has_effects(subgraph: Subgraph, operator: Operator) -> bool:
    """Return True if an operator may use hidden state or random numbers, so that reordering must keep its order."""
    has_state = any(k >= 0 and subgraph.tensors[k].is_variable for k in operator.inputs)
    return operator.name in _EFFECTS or operator.is_custom or not operator.outputs or has_state


def tensor_facts(tensor: TfliteTensor) -> TensorFacts:
    """Return the name, shape, element type and quantisation of a tensor; raises FormatError for a broken file."""
    return TensorFacts(
        name=tensor.id, shape=tensor.shape, dtype=DTYPES.get(tensor.type), quantization=_quantization(tensor.table)
    )


def _quantization(row: Table | None) -> Quantization | None:
    """Return a tensor's quantisation; None if there are no scales or a scale is not finite."""
    quantization = None if row is None else row.table(4, "quantization")
    if quantization is None:
        return None
    scales = quantization.floats(2, "scale")
    if not scales or not all(map(isfinite, scales)):
        return None
    axis = quantization.integer(6, "quantized_dimension", "i")
    zero_points = quantization.integers(3, "zero_point", "q")
    return Quantization(scales=scales, zero_points=zero_points, axis=axis if len(scales) > 1 and axis >= 0 else None)


class OperatorReader:
    """A reader of one operator's attributes, which are stored in its options and constant inputs."""

    def __init__(self, subgraph: Subgraph, operator: Operator, contents: Contents) -> None:
        """Look up the operator's input and output tensors and its options."""
        self.operator, self.contents = operator, contents
        self.inputs = [subgraph.tensors[k] if k >= 0 else None for k in operator.inputs]
        self.outputs = [subgraph.tensors[k] for k in operator.outputs]
        self.options = None if operator.table is None else operator.table.table(4, "builtin_options")

    def attributes(self) -> Attributes:
        """Return the operator's attributes by name, from its options and constant inputs."""
        name = self.operator.name
        attributes: Attributes = {}
        if name in _FUSED_AT and (fused := self.integer(_FUSED_AT[name], "fused_activation_function", "b")):
            attributes["activation"] = _FUSED.get(fused, str(fused))
        if name in ("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D"):
            attributes |= self._window_attributes(name)
        elif name == "TRANSPOSE_CONV":
            attributes |= self._transposed_convolution_attributes()
        elif name == "CONCATENATION":
            attributes["axis"] = self.integer(0, "axis", "i")
        elif name in ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"):
            attributes["block"] = self.integer(0, "block_size", "i")
        elif name in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
            attributes |= self._resize_attributes(2 if name == "RESIZE_BILINEAR" else 0)
        elif name in ("MEAN", "SUM", "REDUCE_MAX"):
            attributes |= self._constant_attribute("axes", 1)
        elif name in ("PAD", "PADV2"):
            attributes |= self._pad_attributes()
        elif name in ("SLICE", "STRIDED_SLICE", "TRANSPOSE"):
            words = {"SLICE": ("starts", "sizes"), "TRANSPOSE": ("axes",)}.get(name, ("starts", "ends", "steps"))
            for k, word in enumerate(words):
                attributes |= self._constant_attribute(word, k + 1)
        return attributes

    def integer(self, field: int, name: str, kind: Any, default: int = 0) -> int:
        """Return the integer option called `name` in field number `field`; `kind` is its binary format."""
        return default if self.options is None else self.options.integer(field, name, kind, default)

    def _window_attributes(self, name: str) -> Attributes:
        """Return the attributes of the convolution or pooling `name`: kernel, strides, dilations and pads."""
        is_pool = name.endswith("POOL_2D")
        strides = self.integer(2, "stride_h", "i"), self.integer(1, "stride_w", "i")
        dilations = (1, 1)
        image = self.inputs[0].shape if self.inputs and self.inputs[0] is not None else ()
        if is_pool:
            kernel = self.integer(4, "filter_height", "i"), self.integer(3, "filter_width", "i")
        else:
            k = 4 if name == "CONV_2D" else 5
            dilations = self.integer(k + 1, "dilation_h_factor", "i", 1), self.integer(k, "dilation_w_factor", "i", 1)
            weight = self.inputs[1].shape if len(self.inputs) > 1 and self.inputs[1] is not None else ()
            if len(weight) != 4:
                return {}
            kernel = weight[1], weight[2]
        if len(image) != 4 or min(*kernel, *strides, *dilations) < 1:
            return {}
        pads: tuple[int, ...] = (0, 0, 0, 0)
        if self.integer(0, "padding", "b") == _SAME:
            pads = equal_output_pads(image[1:3], kernel, strides, dilations, more_behind=True)
        attributes: Attributes = {"kernel": kernel, "strides": strides, "pads": pads, "layout": "NHWC"}
        if not is_pool:
            weight_channels = self.inputs[1].shape[3] if self.inputs[1] is not None else 0
            attributes["dilations"] = dilations
            attributes["groups"] = image[3] if name != "CONV_2D" else image[3] // max(1, weight_channels)
        return attributes

    def _transposed_convolution_attributes(self) -> Attributes:
        """Return kernel, strides and pads; the pads follow from the sizes of the input and the output."""
        tensors = [self.inputs[1], self.inputs[2], self.outputs[0]] if len(self.inputs) > 2 and self.outputs else []
        weight, image, out = (tensor.shape if tensor is not None else () for tensor in tensors or [None] * 3)
        strides = self.integer(2, "stride_h", "i"), self.integer(1, "stride_w", "i")
        if not len(weight) == len(image) == len(out) == 4 or min(strides) < 1:
            return {}
        kernel = weight[1], weight[2]
        total = [max(0, (image[k + 1] - 1) * strides[k] + kernel[k] - out[k + 1]) for k in (0, 1)]
        pads = (total[0] // 2, total[1] // 2, total[0] - total[0] // 2, total[1] - total[1] // 2)
        return {"kernel": kernel, "strides": strides, "pads": pads, "layout": "NHWC"}

    def _resize_attributes(self, first: int) -> Attributes:
        place = "asymmetric"
        if self.integer(first, "align_corners", "B"):
            place = "align_corners"
        elif self.integer(first + 1, "half_pixel_centers", "B"):
            place = "half_pixel"
        return {"mode": "linear" if first else "nearest", "coordinates": place, "layout": "NHWC"}

    def _pad_attributes(self) -> Attributes:
        numbers = self.numbers(1)
        rank = len(self.inputs[0].shape) if self.inputs and self.inputs[0] is not None else 0
        if numbers is None or len(numbers) != 2 * rank:
            return {}
        attributes: Attributes = {"pads": (*numbers[::2], *numbers[1::2])}
        if len(self.inputs) > 2:
            attributes["value"] = "an input"
        return {**attributes, "layout": "NHWC"} if rank == 4 else attributes

    def _constant_attribute(self, word: str, k: int) -> Attributes:
        numbers = self.numbers(k)
        return {} if numbers is None else {word: numbers}

    def numbers(self, k: int) -> tuple[int, ...] | None:
        """Return the elements of input `k` if it is a short constant tensor of integers, else None."""
        tensor = self.inputs[k] if k < len(self.inputs) else None
        kind = {2: "i", 4: "q"}.get(tensor.type) if tensor is not None and tensor.is_constant else None
        if tensor is None or kind is None or element_count(tensor.shape) > MOST_NUMBERS:
            return None
        content = self.contents(tensor)
        width = struct.calcsize(f"<{kind}")
        if not content or len(content) % width or len(content) > MOST_NUMBERS * width:
            return None
        return struct.unpack(f"<{len(content) // width}{kind}", content)
