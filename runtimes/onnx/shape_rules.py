"""Rules for the output shapes of ONNX operators that compute sizes, such as sums and products of input sizes.

Sizes are integers, or expressions over symbols. Operators that copy sizes of their inputs need no rule, because ONNX's
own inference propagates the names of dimensions. Source: onnx 1.23, Operators.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any

from memplan.programs.symbols.numbers import max_number, min_number

_TO_THE_END = 2**31 - 1
"""Slice treats an end of at least this value as the end of the dimension."""
_FINEST = 64
"""The largest denominator of a Resize factor at which all runtimes round the output size in the same way."""
Shape = list[int]


class OpenShapeError(Exception):
    """An output shape does not follow from the known facts about a node's inputs."""


@dataclass(frozen=True)
class NodeFacts:
    """The known facts about a node: `shapes` and values (`numbers`) of its inputs, attributes, and number of outputs.

    An unknown shape or value is None. `version` is the opset version of the standard operators.
    """

    shapes: Sequence[Shape | None]
    numbers: Sequence[Any]
    attributes: Mapping[str, Any]
    outputs: int
    version: int

    def shape(self, place: int) -> Shape:
        """Return the shape of input number `place`; raises OpenShapeError if it is unknown."""
        shape = self.shapes[place] if place < len(self.shapes) else None
        if shape is None:
            raise OpenShapeError
        return shape

    def has_values(self, place: int) -> bool:
        """Return True if the elements of input number `place` are known."""
        return place < len(self.numbers) and self.numbers[place] is not None

    def input_values(self, place: int, name: str = "", default: Sequence[int] | None = None) -> Any:
        """Return the elements of input number `place`, or else the attribute `name`, which older opsets use.

        If neither exists, return `default`. Raises OpenShapeError if the input exists but is unknown, or without a
        default.
        """
        if self.has_values(place):
            return self.numbers[place].ravel().tolist()
        is_left_out = place >= len(self.shapes) or self.shapes[place] == [-1]
        value = self.attributes.get(name, default)
        if value is None or not is_left_out:
            raise OpenShapeError
        return list(value)


LEFT_OUT: Shape = [-1]
"""The shape that represents an omitted input."""


def product(sizes: Sequence[int]) -> int:
    """Return the product of the sizes; 1 if there are none."""
    return reduce(mul, sizes, 1)


def ceil_div(size: int, divisor: int) -> int:
    """Return `size / divisor`, rounded up."""
    return (size + divisor - 1) // divisor


def _concat_shape(given: NodeFacts) -> list[Shape]:
    rows = [given.shape(k) for k in range(len(given.shapes))]
    axis = given.attributes["axis"]
    shape = list(rows[0])
    shape[axis] = sum(row[axis] for row in rows[1:]) + shape[axis]
    return [shape]


def _reshaped_shape(given: NodeFacts) -> list[Shape]:
    shape, wanted = given.shape(0), given.input_values(1, "shape")
    if not given.attributes.get("allowzero"):
        wanted = [shape[k] if size == 0 else size for k, size in enumerate(wanted)]
    if -1 in wanted:
        place = wanted.index(-1)
        top, bottom = cancel_sizes(shape, [*wanted[:place], *wanted[place + 1 :]])
        wanted[place] = product(top) // product(bottom)
    return [wanted]


def cancel_sizes(top: Sequence[int], bottom: Sequence[int]) -> tuple[Shape, Shape]:
    """Return a fraction's factors `top` and `bottom` after removing the factors common to both."""
    rest, rest_of_bottom = list(top), []
    for size in bottom:
        if size in rest:
            rest.remove(size)
        else:
            rest_of_bottom.append(size)
    return rest, rest_of_bottom


def _flatten_shape(given: NodeFacts) -> list[Shape]:
    shape, axis = given.shape(0), given.attributes.get("axis", 1)
    return [[product(shape[:axis]), product(shape[axis:])]]


def _expanded_shape(given: NodeFacts) -> list[Shape]:
    """Return the shape of an Expand: the input's shape, broadcast together with the requested shape."""
    mine, other = given.shape(0), given.input_values(1)
    rank = max(len(mine), len(other))
    rows = [[1] * (rank - len(row)) + list(row) for row in (mine, other)]
    shape = []
    for a, b in zip(*rows, strict=True):
        if a != 1 and b != 1 and a != b:
            raise OpenShapeError
        shape.append(b if a == 1 else a)
    return [shape]


def _slice_shape(given: NodeFacts) -> list[Shape]:
    shape = list(given.shape(0))
    starts, ends = given.input_values(1, "starts"), given.input_values(2, "ends")
    axes = given.input_values(3, "axes", range(len(starts)))
    steps = given.input_values(4, "", [1] * len(starts))
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        shape[axis] = slice_length(shape[axis], start, end, step)
    return [shape]


def slice_length(size: int, start: int, end: int, step: int) -> int:
    """Return the number of elements that a slice selects from a dimension of `size` elements.

    Raises OpenShapeError for a negative step, unless the slice reverses the whole dimension.
    """
    if step == -1 and start == -1 and end < -(2**31):
        return size
    if step < 1:
        raise OpenShapeError
    ends = (size if each >= _TO_THE_END else each + size if each < 0 else each for each in (start, end))
    first, last = (min_number(max_number(each, 0), size) for each in ends)
    return max_number(ceil_div(last - first, step), 0)


def _split_shapes(given: NodeFacts) -> list[Shape]:
    shape, axis = given.shape(0), given.attributes.get("axis", 0)
    if given.has_values(1) or "split" in given.attributes:
        parts = given.input_values(1, "split")
    else:
        whole = ceil_div(shape[axis], given.outputs)
        parts = [whole] * (given.outputs - 1) + [shape[axis] - whole * (given.outputs - 1)]
    return [[part if k == axis % len(shape) else size for k, size in enumerate(shape)] for part in parts]


def _tiled_shape(given: NodeFacts) -> list[Shape]:
    return [[size * times for size, times in zip(given.shape(0), given.input_values(1), strict=True)]]


def _padded_shape(given: NodeFacts) -> list[Shape]:
    shape, pads = list(given.shape(0)), given.input_values(1, "pads")
    axes = given.input_values(3, "", range(len(shape)))
    for k, axis in enumerate(axes):
        shape[axis] = shape[axis] + pads[k] + pads[k + len(axes)]
    return [shape]


def _range_shape(given: NodeFacts) -> list[Shape]:
    rows = [given.input_values(k)[0] for k in range(3)]
    if any(isinstance(each, float) and not each.is_integer() for each in rows) or not rows[2]:
        raise OpenShapeError
    start, limit, step = (int(each) if isinstance(each, float) else each for each in rows)
    room = limit - start if step > 0 else start - limit
    return [[max_number(ceil_div(room, abs(step)), 0)]]


def _window_shapes(given: NodeFacts) -> list[Shape]:
    """Return the output shapes of a convolution or pooling on images of any rank, in the layout NCHW."""
    image = given.shape(0)
    weight = given.shape(given.attributes["weight"]) if "weight" in given.attributes else None
    kernel = given.attributes.get("kernel_shape") or (weight or [])[2:]
    n = len(image) - 2
    strides, dilations = (given.attributes.get(name) or [1] * n for name in ("strides", "dilations"))
    pads, auto = given.attributes.get("pads") or [0] * 2 * n, given.attributes.get("auto_pad", b"NOTSET")
    shape = [image[0], image[1] if weight is None else weight[0]]
    for k, (size, width, stride, dilation) in enumerate(zip(image[2:], kernel, strides, dilations, strict=True)):
        if auto in (b"SAME_UPPER", b"SAME_LOWER"):
            shape.append(ceil_div(size, stride))
            continue
        room = size - dilation * (width - 1) - 1 + (0 if auto == b"VALID" else pads[k] + pads[k + n])
        if given.attributes.get("ceil_mode"):
            # ONNX omits a window that begins in the padding at the end, so refuse shapes that may have such a window.
            if any(pads) or width < stride:
                raise OpenShapeError
            shape.append(ceil_div(room, stride) + 1)
        else:
            shape.append(room // stride + 1)
    return [shape] * given.outputs


def _transposed_convolution_shape(given: NodeFacts) -> list[Shape]:
    """Return the output shape of a ConvTranspose, unless runtimes disagree about it (OpenShapeError)."""
    image, weight = given.shape(0), given.shape(1)
    n, get = len(image) - 2, given.attributes.get
    if get("output_shape"):
        raise OpenShapeError
    strides, dilations, more = (get(name) or [one] * n for name, one in _TRANSPOSED)
    pads = get("pads") or [0] * 2 * n
    shape = [image[0], weight[1] * get("group", 1)]
    for k, size in enumerate(image[2:]):
        beyond = more[k] + dilations[k] * (weight[2 + k] - 1) + 1 - strides[k]
        is_same = get("auto_pad", b"")[:4] == b"SAME"
        # With such automatic padding, runtimes and ONNX's inference compute different shapes, so return no shape.
        if is_same and (beyond < 0 or more[k]):
            raise OpenShapeError
        shape.append(size * strides[k] + (0 if is_same else beyond - pads[k] - pads[k + n]))
    return [shape]


_TRANSPOSED = (("strides", 1), ("dilations", 1), ("output_padding", 0))


def _resize_shape(given: NodeFacts) -> list[Shape]:
    """Return the shape of a Resize by its stated sizes, or else by scales that all runtimes round alike."""
    shape = given.shape(0)
    if given.attributes.get("axes") or given.attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        raise OpenShapeError
    if given.has_values(3) and given.numbers[3].size:
        return [given.input_values(3)]
    factors = [Fraction(each) for each in given.input_values(2 if len(given.shapes) > 2 else 1, "scales")]
    if len(factors) != len(shape) or any(each.denominator > _FINEST for each in factors):
        raise OpenShapeError
    return [[size * each.numerator // each.denominator for size, each in zip(shape, factors, strict=True)]]


def _depth_to_space_shape(given: NodeFacts) -> list[Shape]:
    n, c, *image = given.shape(0)
    block = given.attributes["blocksize"]
    return [[n, c // block**2, *(size * block for size in image)]]


def _space_to_depth_shape(given: NodeFacts) -> list[Shape]:
    n, c, *image = given.shape(0)
    block = given.attributes["blocksize"]
    return [[n, c * block**2, *(size // block for size in image)]]


RULES: Mapping[str, Callable[[NodeFacts], list[Shape]]] = {
    "Concat": _concat_shape,
    "Reshape": _reshaped_shape,
    "Flatten": _flatten_shape,
    "Expand": _expanded_shape,
    "Slice": _slice_shape,
    "Split": _split_shapes,
    "Tile": _tiled_shape,
    "Pad": _padded_shape,
    "Range": _range_shape,
    "ConstantOfShape": lambda given: [given.input_values(0)],
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv", "MaxPool", "AveragePool", "LpPool"), _window_shapes),
    "ConvTranspose": _transposed_convolution_shape,
    "Resize": _resize_shape,
    "Upsample": _resize_shape,
    "DepthToSpace": _depth_to_space_shape,
    "SpaceToDepth": _space_to_depth_shape,
}
"""Maps each operator to the rule for its output shapes."""
WEIGHT_OF: Mapping[str, int] = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3}
"""The position of the weight among the inputs of each convolution."""
