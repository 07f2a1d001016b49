"""The window that slides over an image in a convolution or a pool, as vendors' kernels of TFLite Micro see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from memplan.extensions.models.tflite.facts import OperatorReader
from memplan.extensions.models.tflite.model import Operator, Subgraph, TfliteTensor


class Window(NamedTuple):
    """A window, with the (rows, columns, channels) of input and output; `depth` is the channels of the weights."""

    batch: int
    image: tuple[int, int, int]
    depth: int
    kernel: tuple[int, int]
    out: tuple[int, int, int]
    pads: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]


def window_of(graph: Subgraph, operator: Operator) -> Window | None:
    """Return the window of an operator on images; None for other operators and for tensors of other ranks."""
    tensors = [graph.tensors[k] if k >= 0 else None for k in operator.inputs]
    image, made = tensors[2 if operator.name == "TRANSPOSE_CONV" else 0], graph.tensors[operator.outputs[0]]
    weights = tensors[1] if len(tensors) > 1 else image
    if image is None or weights is None or any(len(each.shape) != 4 for each in (image, weights, made)):
        return None
    facts: Mapping[str, Any] = OperatorReader(graph, operator, _no_content).attributes()
    found: list[Any] = [facts.get("dilations", (1, 1)), *(facts.get(word) for word in ("kernel", "pads", "strides"))]
    if not all(isinstance(each, tuple) for each in found):
        return None
    dilations, kernel, pads, strides = found
    shape, out = image.shape, made.shape
    return Window(shape[0], shape[1:], weights.shape[3], kernel, out[1:], pads[:2], strides, dilations)


def _no_content(_: TfliteTensor) -> bytes:
    return b""


def round_up(number: int, step: int) -> int:
    """Return a number rounded up to a multiple of `step`."""
    return -(-number // step) * step


def scales_of(tensor: TfliteTensor) -> int:
    """Return the number of a tensor's quantisation scales, 0 if it has no zero points."""
    table = None if tensor.table is None else tensor.table.table(4, "quantization")
    return 0 if table is None or not table.byte_count(3, "zero_point") else table.byte_count(2, "scale")
