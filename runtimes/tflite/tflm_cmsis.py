"""The scratch and data of CMSIS-NN's kernels in TFLite Micro that differ from those of the reference kernels.

Sources: tensorflow/tflite-micro 90b983c2b, kernels/cmsis_nn; ARM-software/CMSIS-NN 99f736a63, the
`*_get_buffer_sizes_*.c`, which equal those of 4ab83cc3c, the version that TFLite Micro downloads. A build by GCC for
speed is assumed: with Arm's own compiler, convolutions of 1 x 1 need more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from memplan.runtimes.tflite.facts import OperatorReader
from memplan.runtimes.tflite.model import Operator, Subgraph, TfliteTensor
from memplan.runtimes.tflite.tflm_targets import Target

_INT16, _INT8, _INT4 = 7, 9, 17
_BLOCK, _MOST_UNTURNED = 124, 16
"""The channels per step of the depthwise kernel; the most channels for which a transposed one keeps its weights."""


class Window(NamedTuple):
    """The sizes of a convolution or pooling; `image` and `out` are (rows, columns, channels) of its input and output.

    `depth` is the number of channels of the weights.
    """

    batch: int
    image: tuple[int, ...]
    depth: int
    kernel: tuple[int, int]
    out: tuple[int, ...]
    pads: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]


def window_of(graph: Subgraph, operator: Operator) -> Window | None:
    """Return the window of an operator on images; None for other operators, or without 4 dimensions."""
    tensors = [graph.tensors[k] if k >= 0 else None for k in operator.inputs]
    image, made = tensors[2 if operator.name == "TRANSPOSE_CONV" else 0], graph.tensors[operator.outputs[0]]
    weights = tensors[1] if len(tensors) > 1 else image
    if image is None or weights is None or any(len(each.shape) != 4 for each in (image, weights, made)):
        return None
    facts: Mapping[str, Any] = OperatorReader(graph, operator, lambda _: b"").attributes()
    found: list[Any] = [facts.get("dilations", (1, 1)), *(facts.get(word) for word in ("kernel", "pads", "strides"))]
    if not all(isinstance(each, tuple) for each in found):
        return None
    dilations, kernel, pads, strides = found
    shape, out = image.shape, made.shape
    return Window(shape[0], shape[1:], weights.shape[3], kernel, out[1:], pads[:2], strides, dilations)


def round_up(number: int, step: int) -> int:
    """Return a number rounded up to a multiple of `step`."""
    return -(-number // step) * step


def scales_of(tensor: TfliteTensor) -> int:
    """Return the number of a tensor's quantisation scales, 0 if it has no zero points."""
    table = None if tensor.table is None else tensor.table.table(4, "quantization")
    return 0 if table is None or not table.byte_count(3, "zero_point") else table.byte_count(2, "scale")


def data_type_of(graph: Subgraph, operator: Operator) -> int | None:
    """Return the element type number of the data (not weights) that an operator reads; None if it reads no data."""
    place = 2 if operator.name == "TRANSPOSE_CONV" else 0
    is_given = place < len(operator.inputs) and operator.inputs[place] >= 0
    return graph.tensors[operator.inputs[place]].type if is_given else None


def cmsis_scratch(graph: Subgraph, operator: Operator, target: Target) -> tuple[int, ...] | None:
    """Return the bytes of each scratch buffer of a CMSIS-NN kernel for integers; None if they are unknown."""
    tensors = [graph.tensors[k] if k >= 0 else None for k in operator.inputs]
    made, window = graph.tensors[operator.outputs[0]], window_of(graph, operator)
    try:
        return _RULES[operator.name](window or made, tensors, target)
    # An operator with fewer inputs or dimensions than its kernel requires raises these errors: its scratch is unknown.
    except (AttributeError, IndexError):
        return None


def cmsis_preparation(graph: Subgraph, operator: Operator, target: Target) -> Iterator[int]:
    """Yield the bytes of each persistent allocation that a CMSIS-NN kernel adds while it prepares."""
    if not target.has_cmsis or data_type_of(graph, operator) not in (_INT8, _INT16):
        return
    tensors: list[Any] = [graph.tensors[k] if k >= 0 else None for k in operator.inputs]
    if operator.name == "UNIDIRECTIONAL_SEQUENCE_LSTM" and len(tensors) > 18 and tensors[18] is not None:
        yield from (tensors[18].shape[-1] * (4 if tensors[0].type == _INT8 else 8),) * 8
    if operator.name == "SVDF" and target.is_vector:
        yield 4 * tensors[1].shape[0]
    if operator.name == "FULLY_CONNECTED":
        yield from _layer_bytes(graph.tensors[operator.outputs[0]], tensors, target)[1]


def _convolution_scratch(at: Window, tensors: Sequence[Any], target: Target) -> tuple[int, ...]:
    """Return the bytes of each scratch buffer of a convolution."""
    area, is_whole = at.image[2] * at.kernel[0] * at.kernel[1], at.depth == at.image[2]
    if tensors[0].type == _INT16:
        return (8 * round_up(area, 8) if target.is_vector else 4 * area,)
    if is_whole and (at.kernel, at.pads, at.dilations) == ((1, 1), (0, 0), (1, 1)):
        return ()
    if not target.is_vector:
        return (4 * round_up(area, 4),)
    is_row = at.image[0] == at.kernel[0] == at.dilations[1] == 1 and at.strides[1] * at.image[2] % 4 == 0
    return ((is_whole and is_row and _row_scratch(at, area)) or 4 * round_up(area, 16),)


def _row_scratch(at: Window, area: int) -> int:
    (_, columns, channels), left, stride = at.image, at.pads[1], at.strides[1]
    total = (at.out[1] - 1) * stride + at.kernel[1] - columns
    odd = total % 2 if total >= 0 else -(-total % 2)
    right = max(1, (left + odd + stride - 1) // stride) if left + odd else 0
    if right + -(-left // stride) > at.out[1]:
        return 0
    return max(area + left * channels, area - channels + (right if odd else left) * channels)


def _depthwise_scratch(at: Window, tensors: Sequence[Any], target: Target) -> tuple[int, ...] | None:
    """Return the bytes of each scratch buffer of a depthwise convolution; None if unknown."""
    (rows, _, channels), (height, width), kind = at.image, at.kernel, tensors[1].type
    if tensors[0].type == _INT16:
        return ()
    # CMSIS-NN runs a depthwise convolution of one channel as an ordinary convolution, so return that one's scratch.
    if target.is_vector and channels == 1 and at.out[2] > 1 and kind == _INT8:
        size = 0 if (at.kernel, at.pads, at.dilations) == ((1, 1), (0, 0), (1, 1)) else 4 * round_up(height * width, 16)
        # For a single row, TFLite Micro passes a stride that it has not set, so the scratch is unknown.
        return None if size and rows == height == at.dilations[1] == 1 else (size + at.out[2] * height * width,)
    if channels != at.out[2] or at.batch != 1 or at.dilations != (1, 1):
        return ()
    if target.is_vector:
        return (4 * _BLOCK * width * height,)
    is_small = (height, width) == (3, 3) and max(at.pads) <= 1
    return () if kind == _INT8 and (is_small or not target.is_dsp) else (2 * channels * width * height,)


def _transposed_scratch(at: Window, tensors: Sequence[Any], target: Target) -> tuple[int, ...] | None:
    """Return the bytes of each scratch buffer of a transposed convolution; None if unknown."""
    # Without a bias, the kernel reads the type of a missing tensor, so its scratch is unknown.
    if tensors[2].type == _INT16:
        return None
    (_, columns, channels), (height, width), (down, right) = at.image, at.kernel, at.strides
    area = channels * height * width
    if max(at.strides) <= 2 and channels > _MOST_UNTURNED:
        return (4 * round_up(area, 16 if target.is_vector else 4), area * at.out[2])
    return (4 * ((columns - 1) * right + max(width, down)) * at.out[2] * max(height, down), 0)


def _layer_bytes(made: Any, tensors: Sequence[Any], target: Target) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return two lists for a fully connected layer: its scratch buffers' bytes, and its persistent buffers' bytes.

    Vector kernels store sums of the weights: in a persistent buffer if the weights are constant, else in scratch.
    """
    if (tensors[0].type, tensors[1].type) != (_INT8, _INT8):
        return (), ()
    # A fully connected layer whose output has more than two axes runs as a convolution of 1 x 1, so return its scratch.
    if len(made.shape) > 2 and tensors[1].shape[-1] % 4 == 0:
        return () if scales_of(tensors[1]) > 1 else (8 * made.shape[-1],), ()
    sums = (4 * made.shape[-1],) if target.is_vector else ()
    is_kept = all(each is None or each.is_constant for each in tensors[1:3])
    return ((), sums) if is_kept else (sums, ())


_RULES: Mapping[str, Callable[[Any, Sequence[Any], Target], tuple[int, ...] | None]] = {
    "AVERAGE_POOL_2D": lambda at, tensors, target: (4 * at.image[2],) if target.is_dsp else (),
    "BATCH_MATMUL": lambda made, tensors, target: (
        (4 * made.shape[-1],) if target.is_vector and tensors[0].type == _INT8 else ()
    ),
    "CONV_2D": _convolution_scratch,
    "DEPTHWISE_CONV_2D": _depthwise_scratch,
    "FULLY_CONNECTED": lambda made, tensors, target: _layer_bytes(made, tensors, target)[0],
    "TRANSPOSE_CONV": _transposed_scratch,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lambda made, tensors, target: (2 * prod(tensors[18].shape),) * 3,
}
CMSIS_NAMES = _RULES.keys()
"""The operators whose kernels for integers need other scratch than the reference kernels."""
