"""Scratch and data of vendors' kernels in TFLite Micro, where they differ from those of the reference kernels.

They differ for integers only. Sources: tensorflow/tflite-micro 90b983c2b, kernels/cmsis_nn; ARM-software/CMSIS-NN
99f736a63, the `*_get_buffer_sizes_s8.c`; espressif/esp-tflite-micro 99f49e149, kernels/esp_nn; espressif/esp-nn
d45b843ca, the functions `esp_nn_get_*_scratch_size_*`. For CMSIS-NN, a build by GCC is assumed: with Arm's own
compiler, convolutions of 1 x 1 need more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memplan.extensions.models.tflite.facts import OperatorReader
from memplan.extensions.models.tflite.model import Operator, Subgraph, TfliteTensor
from memplan.extensions.models.tflite.tflm_targets import Target

_INT16, _INT8 = 7, 9
_CMSIS = frozenset(
    ("AVERAGE_POOL_2D", "BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "SVDF", "TRANSPOSE_CONV")
) | {"UNIDIRECTIONAL_SEQUENCE_LSTM"}
_ESP = frozenset(("CONV_2D", "DEPTHWISE_CONV_2D", "SOFTMAX"))
_XTENSA = _CMSIS | {"SOFTMAX", "PAD", "STRIDED_SLICE", "REDUCE_MAX", "MEAN", "LEAKY_RELU", "LOGISTIC", "TANH"}
_NPU = 12
"""The bytes of data that the kernel of an Ethos-U allocates."""
_MOST_MADE, _MOST_TILED = 40 * 1024, 48 * 1024
"""The bytes above which ESP-NN cuts an input into strips: of padded inputs, and of inputs widened to 16 bits."""


def has_vendor_kernel(graph: Subgraph, operator: Operator, target: Target) -> bool:
    """Return True if an operator runs by a vendor's kernel with other memory needs than the reference kernel."""
    if is_on_npu(operator, target):
        return True
    names = {"cmsis-nn": _CMSIS, "ethos-u": _CMSIS, "esp-nn": _ESP, "xtensa": _XTENSA}.get(target.kernels, frozenset())
    place = 2 if operator.name == "TRANSPOSE_CONV" else 0
    if operator.name not in names or place >= len(operator.inputs) or operator.inputs[place] < 0:
        return False
    kind = graph.tensors[operator.inputs[place]].type
    return kind == _INT8 or (kind == _INT16 and target.kernels != "esp-nn")


def vendor_scratch(graph: Subgraph, operator: Operator, target: Target) -> tuple[int, ...] | None:
    """Return the bytes of each scratch buffer of a vendor's kernel; None if unknown."""
    if is_on_npu(operator, target):  # For each tensor, the kernel needs an 8-byte address and a size.
        count = len(operator.inputs) + len(operator.outputs)
        return 8 * count, target.runtime("Size").size * count
    if operator.name == "SOFTMAX" and target.kernels == "esp-nn":
        shape = graph.tensors[operator.inputs[0]].shape
        return (4 * shape[1],) if len(shape) > 1 else None
    window = _window_of(graph, operator)
    if target.kernels == "xtensa" or window is None:
        return None
    rule = _esp_scratch if target.kernels == "esp-nn" else _cmsis_scratch
    size = rule(operator.name, window, target)
    return None if size is None else (size,)


def is_on_npu(operator: Operator, target: Target) -> bool:
    """Return True if an operator runs on an Ethos-U whose kernel is linked."""
    return operator.name == "ethos-u" and target.kernels == "ethos-u"


def vendor_data_bytes(operator: Operator, target: Target) -> int:
    """Return the bytes of data of a vendor's kernel beyond those of the reference kernel."""
    if is_on_npu(operator, target):
        return _NPU
    name = "CONV_2D" if operator.name == "DEPTHWISE_CONV_2D" else operator.name
    if target.kernels in ("cmsis-nn", "ethos-u"):
        return {"CONV_2D": 4, "FULLY_CONNECTED": 24, "AVERAGE_POOL_2D": 4, "MAX_POOL_2D": 4, "SOFTMAX": 8}.get(name, 0)
    return {"CONV_2D": 4, "SOFTMAX": 8}.get(name, 0) if target.kernels == "esp-nn" else 0


@dataclass(frozen=True)
class _Window:
    """The (rows, columns, channels) of input and output, and the window that slides over the input."""

    batch: int
    image: tuple[int, int, int]
    kernel: tuple[int, int]
    out: tuple[int, int, int]
    pads: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]


def _window_of(graph: Subgraph, operator: Operator) -> _Window | None:
    """Return the window of an operator on 8-bit integers; None for others, and for 4-bit weights."""
    tensors = [graph.tensors[k] if k >= 0 else None for k in operator.inputs]
    if not tensors or any(each is not None and each.type != _INT8 for each in tensors[:2]) or not operator.outputs:
        return None
    image, made = tensors[0], graph.tensors[operator.outputs[0]]
    if operator.name == "FULLY_CONNECTED":
        return None if not made.shape else _Window(1, (1, 1, 1), (1, 1), (1, 1, made.shape[-1]), *((1, 1),) * 3)
    if image is None or len(image.shape) != 4 or len(made.shape) != 4:
        return None
    facts: Mapping[str, Any] = OperatorReader(graph, operator, _no_content).attributes()
    found: list[Any] = [facts.get("dilations", (1, 1)), *(facts.get(word) for word in ("kernel", "pads", "strides"))]
    if not all(isinstance(each, tuple) for each in found):
        return None
    dilations, kernel, pads, strides = found
    return _Window(image.shape[0], image.shape[1:], kernel, made.shape[1:], pads[:2], strides, dilations)


def _no_content(_: TfliteTensor) -> bytes:
    return b""


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _cmsis_scratch(name: str, at: _Window, target: Target) -> int | None:
    (rows, _, channels), (height, width), out = at.image, at.kernel, at.out
    if name == "FULLY_CONNECTED":  # Kernels with vector instructions store sums of the weights.
        return 4 * out[2] if target.is_vector else 0
    if name == "AVERAGE_POOL_2D":
        return 4 * channels if target.is_dsp else 0
    if name == "CONV_2D":
        is_narrow = (height, width) == (1, 1) and at.pads == (0, 0) and at.dilations == (1, 1)
        if is_narrow:
            return 0
        if not target.is_vector:
            return 4 * _round_up(width * height * channels, 4)
        is_row = rows == 1 and height == 1 and at.dilations[1] == 1 and at.strides[1] * channels % 4 == 0
        return None if is_row else 4 * _round_up(channels * width * height, 16)
    if name == "DEPTHWISE_CONV_2D":
        if target.is_vector and channels == 1 and out[2] > 1:
            return None
        if channels != out[2] or at.batch != 1 or at.dilations != (1, 1):
            return 0
        if target.is_vector:
            return 4 * 124 * width * height
        is_small = (height, width) == (3, 3) and max(at.pads) <= 1
        return 2 * channels * width * height if target.is_dsp and not is_small else 0
    return None


def _esp_scratch(name: str, at: _Window, target: Target) -> int | None:
    if target.name == "esp32s3":
        return _s3_convolution_scratch(at) if name == "CONV_2D" else _s3_depthwise_scratch(at)
    if target.name == "esp32p4" and name == "CONV_2D":
        return None
    return 0


def _s3_convolution_scratch(at: _Window) -> int:
    (rows, columns, channels), (height, width), (out_rows, out_columns, made) = at.image, at.kernel, at.out
    (top, left), (down, right) = at.pads, at.strides
    margin = 64
    if (height, width, top, left, down, right) == (1, 1, 0, 0, 1, 1):
        wide = _round_up(channels, 8)
        turned = 16 * wide if rows * columns >= 8 else 0
        return (rows * columns * wide if channels % 8 else 0) + wide * made + turned + margin
    row, whole = width * channels, width * height * channels
    if row < 16 <= whole:
        return made * 4 + 16 + made * _round_up(whole, 16) + 16 + _round_up(whole, 16) + margin
    padded = (columns + 2 * left) * (rows + 2 * top) * channels if left or top else 0
    filters = width * height * _round_up(channels, 16) * made + _round_up(row, 16) * height * made
    behind = max(0, out_columns * right + width - 1 - columns), max(0, out_rows * down + height - 1 - rows)
    edges = (columns + behind[0]) * (rows + behind[1]) * channels if any(behind) else 0
    return padded + filters + edges + margin + 4 * made


def _s3_depthwise_scratch(at: _Window) -> int:
    (rows, columns, channels), (height, width), (out_rows, out_columns, made) = at.image, at.kernel, at.out
    (top, left), (down, right) = at.pads, at.strides
    each, area = made // max(1, channels), rows * columns * channels
    filters = width * height * channels * each
    if each == 1 and channels % 8 == 0:
        behind = out_columns * right + width - 1 - columns, out_rows * down + height - 1 - rows
        if (height, width) == (3, 3) and channels % 16 == 0:
            more = (2 * left, 2 * top) if left or top else behind
            if not any(more):
                return filters + 16
            whole = (columns + more[0]) * (rows + more[1]) * channels
            return filters + 16 + (whole if whole <= _MOST_MADE else (columns + more[0]) * height * channels)
        if (height, width) == (3, 3) and channels >= 12:
            wide = _round_up(channels, 16)
            sides = 2 * left + max(0, behind[0]), 2 * top + max(0, behind[1])
            return 9 * wide + (columns + sides[0]) * (rows + sides[1]) * wide + out_columns * out_rows * wide + 64
        both = 2 * (filters + area)
        is_small = (height, width) == (3, 3) or both <= _MOST_TILED
        return 32 + (both if is_small else 2 * filters + 2 * columns * height * channels)
    if each == 1 and channels > 3:
        wide = _round_up(channels, 8)
        start = _round_up(2 * width * height * wide, 16)
        start = _round_up(_round_up(start + 2 * rows * columns * wide, 16) + out_columns * out_rows * wide, 16)
        return start + 12 * wide + 16
    return 32 + (2 * (filters + area) if each % 4 == 0 else 0)
