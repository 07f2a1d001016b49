"""Scratch and data of CMSIS-NN's kernels in TFLite Micro, where they differ from those of the reference kernels.

Sources: tensorflow/tflite-micro 90b983c2b, kernels/cmsis_nn; ARM-software/CMSIS-NN 99f736a63, the
`*_get_buffer_sizes_*.c`, which equal those of 4ab83cc3c, the version that TFLite Micro downloads. A build by GCC for
speed is assumed: with Arm's own compiler, convolutions of 1 x 1 need more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from memplan.extensions.models.tflite.model import Operator, Subgraph
from memplan.extensions.models.tflite.tflm_targets import Target
from memplan.extensions.models.tflite.tflm_window import Window, round_up, scales_of, window_of

_INT16, _INT8, _INT4 = 7, 9, 17
_BLOCK, _MOST_UNTURNED = 124, 16
"""The channels that a depthwise kernel with vector instructions takes at once, and the most channels of a transposed
convolution whose weights stay unturned."""


def cmsis_scratch(graph: Subgraph, operator: Operator, target: Target) -> tuple[int, ...] | None:
    """Return the bytes of each scratch buffer of a kernel for integers; None if unknown."""
    tensors = [graph.tensors[k] if k >= 0 else None for k in operator.inputs]
    made, window = graph.tensors[operator.outputs[0]], window_of(graph, operator)
    try:
        return _RULES[operator.name](window or made, tensors, target)
    except (AttributeError, IndexError):  # An operator may have fewer inputs or dimensions than its kernel requires.
        return None


def cmsis_preparation(graph: Subgraph, operator: Operator, target: Target) -> Iterator[int]:
    """Yield the bytes of each further persistent allocation of a kernel for integers while it prepares."""
    tensors: list[Any] = [graph.tensors[k] if k >= 0 else None for k in operator.inputs]
    if operator.name == "UNIDIRECTIONAL_SEQUENCE_LSTM" and len(tensors) > 18 and tensors[18] is not None:
        yield from (tensors[18].shape[-1] * (4 if tensors[0].type == _INT8 else 8),) * 8
    if operator.name == "SVDF" and target.is_vector:
        yield 4 * tensors[1].shape[0]
    if operator.name == "FULLY_CONNECTED" and _are_sums_kept(tensors):
        yield from _sums_of_weights(graph.tensors[operator.outputs[0]], tensors, target)


def _convolution_scratch(at: Window, tensors: Sequence[Any], target: Target) -> tuple[int, ...]:
    area, is_whole = at.image[2] * at.kernel[0] * at.kernel[1], at.depth == at.image[2]
    if tensors[0].type == _INT16:
        return (8 * round_up(area, 8) if target.is_vector else 4 * area,)
    if is_whole and (at.kernel, at.pads, at.dilations) == ((1, 1), (0, 0), (1, 1)):
        return ()
    if not target.is_vector:
        return (4 * round_up(area, 4),)
    is_row = at.image[0] == at.kernel[0] == at.dilations[1] == 1 and at.strides[1] * at.image[2] % 4 == 0
    return (is_whole and is_row and _row_scratch(at, area) or 4 * round_up(area, 16),)


def _row_scratch(at: Window, area: int) -> int:
    """Return the scratch bytes of a convolution along one row with vector instructions; 0 if it runs as any other."""
    (_, columns, channels), left, stride = at.image, at.pads[1], at.strides[1]
    total = (at.out[1] - 1) * stride + at.kernel[1] - columns
    odd = total % 2 if total >= 0 else -(-total % 2)
    right = max(1, (left + odd + stride - 1) // stride) if left + odd else 0
    if right + -(-left // stride) > at.out[1]:
        return 0
    return max(area + left * channels, area - channels + (right if odd else left) * channels)


def _depthwise_scratch(at: Window, tensors: Sequence[Any], target: Target) -> tuple[int, ...] | None:
    (rows, _, channels), (height, width), kind = at.image, at.kernel, tensors[1].type
    if tensors[0].type == _INT16:
        return ()
    if target.is_vector and channels == 1 and at.out[2] > 1 and kind == _INT8:  # It runs as another convolution.
        size = 0 if (at.kernel, at.pads, at.dilations) == ((1, 1), (0, 0), (1, 1)) else 4 * round_up(height * width, 16)
        # TFLite Micro asks for a convolution along one row with a stride that it has not set.
        return None if size and rows == height == at.dilations[1] == 1 else (size + at.out[2] * height * width,)
    if channels != at.out[2] or at.batch != 1 or at.dilations != (1, 1):
        return ()
    if target.is_vector:
        return (4 * _BLOCK * width * height,)
    is_small = (height, width) == (3, 3) and max(at.pads) <= 1
    return () if kind == _INT8 and (is_small or not target.is_dsp) else (2 * channels * width * height,)


def _transposed_scratch(at: Window, tensors: Sequence[Any], target: Target) -> tuple[int, ...]:
    (_, columns, channels), (height, width), (down, right) = at.image, at.kernel, at.strides
    area = channels * height * width
    if max(at.strides) <= 2 and channels > _MOST_UNTURNED:
        return (4 * round_up(area, 16 if target.is_vector else 4), area * at.out[2])
    return (4 * ((columns - 1) * right + max(width, down)) * at.out[2] * max(height, down), 0)


def _average_scratch(at: Window, tensors: Sequence[Any], target: Target) -> tuple[int, ...]:
    return (4 * at.image[2],) if target.is_dsp else ()


def _layer_scratch(made: Any, tensors: Sequence[Any], target: Target) -> tuple[int, ...]:
    if (tensors[0].type, tensors[1].type) == (_INT8, _INT8) and _is_by_points(made, tensors):
        return () if scales_of(tensors[1]) > 1 else (8 * made.shape[-1],)  # One scale is repeated for each channel.
    return () if _are_sums_kept(tensors) else tuple(_sums_of_weights(made, tensors, target))


def _sums_of_weights(made: Any, tensors: Sequence[Any], target: Target) -> Iterator[int]:
    is_int8 = (tensors[0].type, tensors[1].type) == (_INT8, _INT8)
    if target.is_vector and is_int8 and not _is_by_points(made, tensors):
        yield 4 * made.shape[-1]


def _is_by_points(made: Any, tensors: Sequence[Any]) -> bool:
    """Return True if a fully connected layer runs as a convolution of 1 x 1."""
    return len(made.shape) > 2 and tensors[1].shape[-1] % 4 == 0


def _are_sums_kept(tensors: Sequence[Any]) -> bool:
    return all(each is None or each.is_constant for each in tensors[1:3])


def _matrix_scratch(made: Any, tensors: Sequence[Any], target: Target) -> tuple[int, ...]:
    return (4 * made.shape[-1],) if target.is_vector and tensors[0].type == _INT8 else ()


def _lstm_scratch(made: Any, tensors: Sequence[Any], target: Target) -> tuple[int, ...]:
    return (2 * tensors[18].shape[0] * tensors[18].shape[1],) * 3


_RULES: Mapping[str, Callable[[Any, Sequence[Any], Target], tuple[int, ...] | None]] = {
    "AVERAGE_POOL_2D": _average_scratch,
    "BATCH_MATMUL": _matrix_scratch,
    "CONV_2D": _convolution_scratch,
    "DEPTHWISE_CONV_2D": _depthwise_scratch,
    "FULLY_CONNECTED": _layer_scratch,
    "TRANSPOSE_CONV": _transposed_scratch,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm_scratch,
}
CMSIS_NAMES = _RULES.keys()
"""The operators whose kernels for integers need other scratch than the reference kernels."""
