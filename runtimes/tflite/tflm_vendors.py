"""The scratch and data of vendors' kernels in TFLite Micro that differ from those of the reference kernels.

CMSIS-NN's kernels are in `tflm_cmsis`; ESP-NN's differ only for integers of 8 bits. Sources: espressif/esp-tflite-micro
99f49e149, kernels/esp_nn; espressif/esp-nn d45b843ca, `esp_nn_get_*_scratch_size_*` of esp32s3, esp32p4 and `opt`.
"""

from memplan.planner.foreign.imported import element_count
from memplan.runtimes.tflite.model import Operator, Subgraph
from memplan.runtimes.tflite.tflm_cmsis import CMSIS_NAMES, Window, cmsis_scratch, data_type_of, round_up, window_of
from memplan.runtimes.tflite.tflm_targets import Target, operators_with

_INT16, _INT8, _INT4 = 7, 9, 17
_MOST_MADE, _MOST_TILED, _MOST_CACHED = 40 * 1024, 48 * 1024, 32 * 1024
"""The bytes above which ESP-NN cuts an input into strips: padded, widened to 16 bits, and in the cache of esp32p4."""


def has_vendor_kernel(graph: Subgraph, operator: Operator, target: Target) -> bool:
    """Return True if an operator runs on a vendor's kernel, whose scratch differs from that of the reference kernel."""
    if is_on_npu(operator, target):
        return True
    names = CMSIS_NAMES if target.has_cmsis else operators_with("scratch", target.kernels)
    kind = data_type_of(graph, operator)
    if operator.name not in names or not operator.outputs:
        return False
    is_as_reference = target.has_cmsis and operator.name == "TRANSPOSE_CONV" and (*operator.inputs, -1)[3] >= 0
    return kind == _INT8 or (kind == _INT16 and target.kernels != "esp-nn" and not is_as_reference)


def vendor_scratch(graph: Subgraph, operator: Operator, target: Target) -> tuple[int, ...] | None:
    """Return the bytes of each scratch buffer of a vendor's kernel; None if unknown."""
    # For each tensor, the kernel allocates an 8-byte address and a size, so multiply both by the number of tensors.
    if is_on_npu(operator, target):
        count = len(operator.inputs) + len(operator.outputs)
        return 8 * count, target.runtime("Size").size * count
    if target.kernels != "esp-nn":
        return cmsis_scratch(graph, operator, target) if target.has_cmsis else None
    if operator.name == "SOFTMAX":
        shape, made = graph.tensors[operator.inputs[0]].shape, graph.tensors[operator.outputs[0]]
        return () if made.type != _INT8 else (4 * shape[1],) if len(shape) > 1 else None
    window, weights = window_of(graph, operator), graph.tensors[operator.inputs[1]]
    size = None if window is None else _esp_scratch(operator.name, window, target)
    unpacked = (element_count(weights.shape),) if weights.type == _INT4 else ()
    return None if size is None else (*unpacked, *((size,) if size else ()))


def is_on_npu(operator: Operator, target: Target) -> bool:
    """Return True if an operator runs on an Ethos-U, for which the firmware must link the Ethos-U kernel."""
    return operator.name == "ethos-u" and target.kernels == "ethos-u"


def _esp_scratch(name: str, at: Window, target: Target) -> int | None:
    """Return the scratch bytes that ESP-NN's kernel for operator `name` needs on the target; None if unknown."""
    if target.name == "esp32s3":
        return _s3_convolution_scratch(at) if name == "CONV_2D" else _s3_depthwise_scratch(at)
    return _p4_convolution_scratch(at) if (target.name, name) == ("esp32p4", "CONV_2D") else 0


def _point_scratch(at: Window) -> int | None:
    """Return the scratch bytes of a convolution of 1 x 1, without a safety margin; None for other convolutions."""
    (rows, columns, channels), wide = at.image, round_up(at.image[2], 8)
    if (at.kernel, at.pads, at.strides) != ((1, 1), (0, 0), (1, 1)):
        return None
    turned = 16 * wide if rows * columns >= 8 else 0
    return (rows * columns * wide if channels % 8 else 0) + wide * at.out[2] + turned


def _s3_convolution_scratch(at: Window) -> int:
    """Return the scratch bytes of ESP-NN's convolution on an ESP32-S3."""
    (rows, columns, channels), (height, width), (out_rows, out_columns, made) = at.image, at.kernel, at.out
    (top, left), (down, right) = at.pads, at.strides
    margin, point = 64, _point_scratch(at)
    if point is not None:
        return point + margin
    row, whole = width * channels, width * height * channels
    if row < 16 <= whole:
        return made * 4 + 16 + made * round_up(whole, 16) + 16 + round_up(whole, 16) + margin
    padded = (columns + 2 * left) * (rows + 2 * top) * channels if left or top else 0
    filters = width * height * round_up(channels, 16) * made + round_up(row, 16) * height * made
    behind = max(0, out_columns * right + width - 1 - columns), max(0, out_rows * down + height - 1 - rows)
    edges = (columns + behind[0]) * (rows + behind[1]) * channels if any(behind) else 0
    return padded + filters + edges + margin + 4 * made


def _p4_convolution_scratch(at: Window) -> int:
    """Return the scratch bytes of ESP-NN's convolution on an ESP32-P4."""
    (rows, columns, channels), (height, width), (out_rows, _, made) = at.image, at.kernel, at.out
    (top, left), down, area = at.pads, at.strides[0], at.kernel[0] * at.kernel[1]
    fixed, point = 4 * made + 32, _point_scratch(at)
    if point is not None:
        return point + 32 if channels >= 16 else fixed + 16 * made + 32
    filters, is_padded = area * round_up(channels, 16) * made, bool(top or left)
    if not is_padded and width * channels >= 16:
        return filters + fixed
    if area * channels >= 16:
        return area * channels + fixed
    wide = round_up(-(-16 // width), 16)
    if not is_padded:
        return area * wide * made + rows * columns * wide + fixed
    whole = (columns + 2 * left) * (rows + 2 * top) * channels
    if whole + 4 * made <= _MOST_CACHED:
        return whole + filters + fixed
    filters, line = area * wide * made, (columns + 2 * left) * wide
    free = _MOST_CACHED - 4 * made - filters - height * line
    count = min(max(0, free // (down * line)) + 1, out_rows)
    return ((count - 1) * down + height + 2 * top) * line + filters + fixed


def _s3_depthwise_scratch(at: Window) -> int:
    """Return the scratch bytes of ESP-NN's depthwise convolution on an ESP32-S3."""
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
            wide = round_up(channels, 16)
            sides = 2 * left + max(0, behind[0]), 2 * top + max(0, behind[1])
            return 9 * wide + (columns + sides[0]) * (rows + sides[1]) * wide + out_columns * out_rows * wide + 64
        both = 2 * (filters + area)
        is_small = (height, width) == (3, 3) or both <= _MOST_TILED
        return 32 + (both if is_small else 2 * filters + 2 * columns * height * channels)
    if each == 1 and channels > 3:
        wide = round_up(channels, 8)
        start = round_up(2 * width * height * wide, 16)
        start = round_up(round_up(start + 2 * rows * columns * wide, 16) + out_columns * out_rows * wide, 16)
        return start + 12 * wide + 16
    return 32 + (2 * (filters + area) if each % 4 == 0 else 0)
