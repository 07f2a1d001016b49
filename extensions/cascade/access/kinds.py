"""The access maps of each kind of operation; an operation whose kind is missing here runs as a whole (a barrier).

For images, the attributes `kernel`, `strides` and `dilations` are two integers, for rows and columns, and `pads` are
four: before rows, before columns, after rows, after columns. For sequences, they are one integer, and two pads.
`groups` and `axis` are one integer. The attributes of pads and slices have a value for each axis of the shape.
Callers state the access maps of an operation of a custom kind in the attributes `access_rows` and `access_columns`.
"""

from collections.abc import Callable
from typing import NamedTuple

from memplan.extensions.cascade.access.access_graph import (
    SAME,
    Window,
    asymmetric_resize_window,
    centred_resize_window,
    corner_aligned_resize_window,
    depth_to_space_window,
    linear_resize_window,
    resize_window,
    shift_window,
    sliding_window,
    space_to_depth_window,
    transposed_window,
    whole_axis_window,
)
from memplan.extensions.cascade.access.layouts import (
    CHOOSING,
    Facts,
    Pixels,
    UnknownAccess,
    reshaped_layout,
    transposed_layout,
)

Windows = tuple[Window, Window]
MOST_ALONG = 2**20
"""The maximum number of rows, or of columns, of a tensor that is cut into stripes."""
_FARTHEST = 2**40


class KindAccess(NamedTuple):
    """The access maps of the inputs of an operation, and its multiplications per output pixel.

    `is_sum`: the operation accumulates over all rows. `mixes`: each output channel depends on all input channels.
    """

    windows: tuple[Windows, ...]
    macs: int = 0
    is_sum: bool = False
    mixes: bool = True


def access_of(facts: Facts) -> KindAccess:
    """Return the access maps of an operation; raises UnknownAccess with the reason why it must run as a whole.

    The images of a batch are cut together, so a row of the batch consists of that row in all images.
    """
    is_own = "access_rows" in facts.attributes or "access_columns" in facts.attributes
    if not is_own and facts.kind not in _KINDS and facts.kind not in POINTWISE:
        raise UnknownAccess(f"{facts.kind or 'an unknown kind'} cannot be split, so it runs as a whole")
    rule = _custom_access if is_own else _pointwise_access if facts.kind in POINTWISE else _KINDS[facts.kind]
    maps = rule(facts)
    if any(seen.batch not in (facts.output.batch, 1) for seen in facts.inputs):
        raise UnknownAccess(f"{facts.kind} across the images of a batch cannot be split, so it runs as a whole")
    for window in (window for windows in maps.windows for window in windows):
        if max(window.scale, window.divisor) > 2 * MOST_ALONG or max(abs(window.low), abs(window.high)) > _FARTHEST:
            raise UnknownAccess(f"{facts.kind} with strides or pads above {MOST_ALONG} cannot be split")
    return maps._replace(macs=maps.macs * facts.output.batch)


def _custom_access(facts: Facts) -> KindAccess:
    """Return the access maps that a custom operation states: for each input, its scale, divisor, low and high."""
    along: list[list[Window]] = []
    for axis, name in enumerate(("access_rows", "access_columns")):
        if name not in facts.attributes:
            along.append([whole_axis_window(seen[axis]) for seen in facts.inputs])
            continue
        numbers = facts.integers(name, 4 * len(facts.inputs))
        maps = [Window(*numbers[k : k + 4]) for k in range(0, len(numbers), 4)]
        if any(one.scale < 0 or one.divisor < 1 or one.low > one.high for one in maps):
            raise UnknownAccess(f"{name} must have a scale from 0, a divisor from 1, and a low that is not above high")
        along.append(maps)
    macs = facts.integer("macs", 0)
    if macs < 0:
        raise UnknownAccess(f"macs must be at least 0, got {macs}")
    return KindAccess(tuple(zip(*along, strict=True)), macs, mixes=facts.attributes.get("mixes") is not False)


def _require_images(facts: Facts) -> None:
    if facts.layout not in ("NHWC", "NCHW", "NHC", "NCH") or len(facts.in_layout) != len(facts.layout):
        raise UnknownAccess(f"{facts.kind} of axes {facts.layout} cannot be split, so it runs as a whole")


def _window_attributes(facts: Facts) -> tuple[tuple[int, ...], ...]:
    """Return kernel, strides, dilations and pads, each for rows and columns; a sequence counts as one column."""
    _require_images(facts)
    n = 1 if len(facts.out_shape) == 3 else 2
    kernel, strides = facts.integers("kernel", n), facts.integers("strides", n, 1)
    dilations, pads = facts.integers("dilations", n, 1), facts.integers("pads", 2 * n, 0)
    if min(*kernel, *strides, *dilations) < 1:
        raise UnknownAccess("kernel, strides and dilations must be at least 1")
    if n == 2:
        return kernel, strides, dilations, pads
    return (*kernel, 1), (*strides, 1), (*dilations, 1), (pads[0], 0, pads[1], 0)


def _kernel_windows(facts: Facts) -> Windows:
    """Return the access maps of an operation with a kernel; raises UnknownAccess if its output shape does not fit."""
    kernel, strides, dilations, pads = _window_attributes(facts)
    for axis in (0, 1):
        room = facts.inputs[0][axis] + pads[axis] + pads[axis + 2] - (kernel[axis] - 1) * dilations[axis] - 1
        # If sizes are rounded up, the last window may reach beyond the border, so allow one more output row than fits.
        low, high = room // strides[axis] + 1, -(-room // strides[axis]) + 1
        if not low <= facts.output[axis] <= max(low, high):
            raise UnknownAccess(_mismatch_text("kernel, strides, dilations and pads", low, facts.output[axis], axis))
    rows, columns = (sliding_window(kernel[axis], strides[axis], dilations[axis], pads[axis]) for axis in (0, 1))
    return rows, columns


def _mismatch_text(what: str, wanted: int, made: int, axis: int) -> str:
    return f"{what} give {wanted} {('rows', 'columns')[axis]}, its output shape has {made}"


def _convolution_access(facts: Facts) -> KindAccess:
    """Return the access maps of a convolution; raises UnknownAccess if its groups do not divide the channels."""
    kernel, groups = _window_attributes(facts)[0], facts.integer("groups", 1)
    if groups < 1 or facts.inputs[0].channels % groups or facts.output.channels % groups:
        raise UnknownAccess(f"groups must divide the channels, got {groups}")
    taps = kernel[0] * kernel[1] * (facts.inputs[0].channels // groups)
    mixes = not facts.inputs[0].channels == groups == facts.output.channels
    return KindAccess((_kernel_windows(facts),), taps * facts.output.channels, mixes=mixes)


def _depthwise_access(facts: Facts) -> KindAccess:
    kernel = _window_attributes(facts)[0]
    if facts.output.channels % facts.inputs[0].channels:
        raise UnknownAccess(f"computes {facts.output.channels} channels from {facts.inputs[0].channels} input channels")
    return KindAccess((_kernel_windows(facts),), kernel[0] * kernel[1] * facts.output.channels, mixes=False)


def _pool_access(facts: Facts) -> KindAccess:
    if facts.output.channels != facts.inputs[0].channels:
        raise UnknownAccess(f"computes {facts.output.channels} channels from {facts.inputs[0].channels} input channels")
    return KindAccess((_kernel_windows(facts),), mixes=False)


def _transposed_convolution_access(facts: Facts) -> KindAccess:
    """Return the access maps of a transposed convolution; raises UnknownAccess if its output shape does not fit."""
    kernel, strides, dilations, pads = _window_attributes(facts)
    groups = facts.integer("groups", 1)
    for axis in (0, 1):
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        least = (facts.inputs[0][axis] - 1) * strides[axis] + reach - pads[axis] - pads[axis + 2]
        # A transposed convolution may have extra output rows at the end, so allow fewer than the stride or dilation.
        if not 0 <= facts.output[axis] - least < max(strides[axis], dilations[axis]):
            raise UnknownAccess(_mismatch_text("kernel, strides, dilations and pads", least, facts.output[axis], axis))
    rows, columns = (transposed_window(kernel[axis], strides[axis], dilations[axis], pads[axis]) for axis in (0, 1))
    taps = kernel[0] * kernel[1] * facts.inputs[0].channels // (strides[0] * strides[1]) // max(1, groups)
    return KindAccess(((rows, columns),), taps * facts.output.channels)


def _pointwise_access(facts: Facts) -> KindAccess:
    """Return the access maps of an element-wise operation, whose inputs are broadcast as in NumPy."""
    macs = facts.output.channels if facts.kind in ("mul", "div") else 0
    maps: list[Windows] = []
    for seen, shape in zip(facts.inputs, facts.shapes, strict=True):
        rows, columns = (
            SAME if seen[axis] == facts.output[axis] else whole_axis_window(1) if seen[axis] == 1 else None
            for axis in (0, 1)
        )
        # A mask may have size 1 along some channel axes and be longer along others, so compare it axis by axis.
        is_mask = all(a in (1, b) for a, b in zip(reversed(shape), reversed(facts.out_shape), strict=False))
        if rows is None or columns is None or not (is_mask or seen.channels in (1, facts.output.channels)):
            raise UnknownAccess(f"{facts.kind} of shapes that do not broadcast along rows or columns cannot be split")
        maps.append((rows, columns))
    return KindAccess(tuple(maps), macs, mixes=facts.kind == "lrn")


def _channel_access(facts: Facts) -> KindAccess:
    if facts.axis("axis", -1) != 2 or facts.inputs[0] != facts.output:
        raise UnknownAccess(f"{facts.kind} along rows or columns cannot be split, so it runs as a whole")
    return KindAccess(
        tuple((SAME, SAME) if seen[:2] == facts.output[:2] else _whole_input_windows(seen) for seen in facts.inputs)
    )


def _reduction_access(facts: Facts) -> KindAccess:
    is_whole = len(facts.in_layout) == len(facts.layout)
    is_by_pixel = facts.axis("axis", 0) == 2 if is_whole else facts.in_layout.replace("C", "") == facts.layout
    if not is_by_pixel or facts.inputs[0][:2] != facts.output[:2] or facts.output.channels != 1:
        raise UnknownAccess(f"{facts.kind} along rows or columns cannot be split, so it runs as a whole")
    return KindAccess(((SAME, SAME),))


def _whole_input_windows(seen: Pixels) -> Windows:
    return whole_axis_window(seen[0]), whole_axis_window(seen[1])


def _concat_access(facts: Facts) -> KindAccess:
    """Return the access maps of a concatenation along rows, columns or channels."""
    axis = facts.axis("axis", -1)
    if axis < 0:
        raise UnknownAccess("concat of batches cannot be split, so it runs as a whole")
    for other in range(3):
        sizes = [seen[other] for seen in facts.inputs]
        if sum(sizes) != facts.output[other] if other == axis else {*sizes} != {facts.output[other]}:
            raise UnknownAccess("joins inputs whose sizes do not add up to its output shape")
    if axis == 2:
        return KindAccess(tuple((SAME, SAME) for _ in facts.inputs))
    maps, offset = [], 0
    for seen in facts.inputs:
        moved = shift_window(-offset)
        maps.append((moved, SAME) if axis == 0 else (SAME, moved))
        offset += seen[axis]
    return KindAccess(tuple(maps))


def _pad_access(facts: Facts) -> KindAccess:
    """Return the access maps of a pad by a constant; raises UnknownAccess for other modes and for wrong shapes."""
    if facts.word("mode", "constant") != "constant":
        raise UnknownAccess("pad by reflection or repetition cannot be split, so it runs as a whole")
    rank = len(facts.out_shape)
    pads = facts.integers("pads", 2 * rank)
    before = pads[:rank]
    if any(facts.shapes[0][k] + pads[k] + pads[k + rank] != facts.out_shape[k] for k in range(rank)):
        raise UnknownAccess("has pads that do not match its shapes")
    padded = facts.axis_numbers(dict(enumerate(before)), 0)
    return KindAccess(((shift_window(-padded[0]), shift_window(-padded[1])),), mixes=False)


def _slice_access(facts: Facts) -> KindAccess:
    """Return the access maps of a slice of rows, columns or channels; a slice of channels reads whole pixels."""
    starts = facts.list_of("starts")
    axes = facts.list_of("axes", tuple(range(len(starts))))
    steps = facts.list_of("steps", (1,) * len(starts))
    if not len(starts) == len(axes) == len(steps) or min(steps, default=1) < 1:
        raise UnknownAccess("a slice with negative steps, or of unknown axes, cannot be split, so it runs as a whole")
    rank, shape = len(facts.out_shape), facts.shapes[0]
    named = [axis % rank for axis in axes if -rank <= axis < rank]
    begins = {axis: start + shape[axis] if start < 0 else start for axis, start in zip(named, starts, strict=False)}
    offset = facts.axis_numbers(begins, 0)
    step = facts.axis_numbers(dict(zip(named, steps, strict=False)), 1)
    if min(offset) < 0:
        raise UnknownAccess("a slice that starts before the first element cannot be split, so it runs as a whole")
    for axis in (0, 1):
        if offset[axis] + (facts.output[axis] - 1) * step[axis] >= facts.inputs[0][axis]:
            along = ("rows", "columns")[axis]
            raise UnknownAccess(f"a slice beyond the last of its {along} cannot be split, so it runs as a whole")
    return KindAccess(((shift_window(offset[0], step[0]), shift_window(offset[1], step[1])),), mixes=False)


def _resize_access(facts: Facts) -> KindAccess:
    """Return the access maps of a resize; they depend on the resize's mode and its alignment of coordinates."""
    _require_images(facts)
    mode, place = facts.word("mode", "nearest"), facts.word("coordinates", "half_pixel")
    maps: dict[tuple[str, str], Callable[[int, int], Window]] = {
        ("nearest", "asymmetric"): resize_window,
        ("nearest", "half_pixel"): centred_resize_window,
        ("linear", "half_pixel"): linear_resize_window,
        ("linear", "align_corners"): corner_aligned_resize_window,
        ("linear", "asymmetric"): asymmetric_resize_window,
    }
    map_of_mode = maps.get((mode, place))
    if map_of_mode is None or facts.inputs[0].channels != facts.output.channels:
        raise UnknownAccess(f"resize by {mode} with {place} coordinates cannot be split, so it runs as a whole")
    rows, columns = (map_of_mode(facts.inputs[0][axis], facts.output[axis]) for axis in (0, 1))
    return KindAccess(((rows, columns),), mixes=False)


def _block_factor(facts: Facts, small: Pixels, large: Pixels) -> int:
    _require_images(facts)
    factor = facts.integer("block")
    if (small.rows * factor, small.columns * factor, small.channels) != (*large[:2], large.channels * factor**2):
        raise UnknownAccess("has a block size that does not match its shapes")
    return factor


def _depth_to_space_access(facts: Facts) -> KindAccess:
    factor = _block_factor(facts, facts.inputs[0], facts.output)
    return KindAccess(((depth_to_space_window(factor), depth_to_space_window(factor)),))


def _space_to_depth_access(facts: Facts) -> KindAccess:
    factor = _block_factor(facts, facts.output, facts.inputs[0])
    return KindAccess(((space_to_depth_window(factor), space_to_depth_window(factor)),))


def _global_pool_access(facts: Facts) -> KindAccess:
    if facts.output[:2] != (1, 1) or facts.inputs[0].channels != facts.output.channels:
        raise UnknownAccess(f"{facts.kind} over a part of the rows or columns cannot be split, so it runs as a whole")
    return KindAccess((_whole_input_windows(facts.inputs[0]),), is_sum=True, mixes=False)


def _mean_access(facts: Facts) -> KindAccess:
    if facts.inputs[0][:2] == facts.output[:2]:
        raise UnknownAccess(f"{facts.kind} of channels cannot be split, so it runs as a whole")
    return _global_pool_access(facts)


def _matmul_access(facts: Facts) -> KindAccess:
    """Return the access maps of a matrix product: an output row reads that row of operand 1, and all of operand 2."""
    first = facts.inputs[0]
    # A matrix product sums over the last axis of its first operand, so that axis must be the channels.
    is_last = facts.in_layout[-1:] == facts.layout[-1:] == "C" or len(facts.shapes[0]) != len(facts.out_shape)
    if first[:2] != facts.output[:2] or not is_last:
        raise UnknownAccess(f"{facts.kind} that mixes rows cannot be split, so it runs as a whole")
    if facts.attributes.get("transpose_a", False) or facts.attributes.get("adj_x", False):
        raise UnknownAccess(f"{facts.kind} with a transposed operand cannot be split, so it runs as a whole")
    into = facts.shapes[0][-1] if len(facts.inputs) > 1 else first.channels
    return KindAccess(((SAME, SAME), *map(_whole_input_windows, facts.inputs[1:])), into * facts.output.channels)


def _transpose_access(facts: Facts) -> KindAccess:
    if transposed_layout(facts.in_layout, facts.list_of("axes")) != facts.layout or facts.inputs[0] != facts.output:
        raise UnknownAccess("transpose of rows, columns or batches cannot be split, so it runs as a whole")
    return KindAccess(((SAME, SAME),))


def _reshape_access(facts: Facts) -> KindAccess:
    if facts.inputs[0] != facts.output:
        raise UnknownAccess("reshape to other rows and columns cannot be split, so it runs as a whole")
    if reshaped_layout(facts.in_layout, facts.shapes[0], facts.out_shape) is None and max(facts.output[:2]) > 1:
        raise UnknownAccess("reshape from another layout cannot be split, so it runs as a whole")
    return KindAccess(((SAME, SAME),))


def _gather_access(facts: Facts) -> KindAccess:
    if len(facts.inputs) != 1 or len(facts.shapes[0]) >= len(facts.out_shape) or facts.integer("axis", 0):
        raise UnknownAccess("gather from a table that is not constant cannot be split, so it runs as a whole")
    return KindAccess((_whole_input_windows(facts.inputs[0]),))


POINTWISE = frozenset(
    {"add", "sub", "mul", "div", "maximum", "minimum", "pow", "where", "equal", "greater", "less", "not"}
    | {"relu", "relu6", "leaky_relu", "prelu", "elu", "gelu", "hard_swish", "hard_sigmoid", "sigmoid", "tanh", "silu"}
    | {"mish", "softplus", "clip", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "square", "erf", "sin", "cos"}
    | {"quantize", "dequantize", "requantize", "cast", "copy", "identity", "batch_norm", "dropout", "reciprocal", "lrn"}
    | {"floor", "ceil", "round", "sign"}
)
ACCUMULATED = frozenset({"conv2d", "conv1d", "fully_connected", "matmul"})
"""The kinds of operations whose output sums over all input channels if these form a single group."""
_KINDS: dict[str, Callable[[Facts], KindAccess]] = {
    "conv2d": _convolution_access,
    "depthwise_conv2d": _depthwise_access,
    "conv2d_transpose": _transposed_convolution_access,
    "max_pool2d": _pool_access,
    "average_pool2d": _pool_access,
    "conv1d": _convolution_access,
    "depthwise_conv1d": _depthwise_access,
    "conv1d_transpose": _transposed_convolution_access,
    "max_pool1d": _pool_access,
    "average_pool1d": _pool_access,
    "global_average_pool": _global_pool_access,
    "global_max_pool": _global_pool_access,
    "reduce_mean": _mean_access,
    "reduce_sum": _mean_access,
    "reduce_max": _mean_access,
    "concat": _concat_access,
    "pad": _pad_access,
    "slice": _slice_access,
    "resize": _resize_access,
    "depth_to_space": _depth_to_space_access,
    "space_to_depth": _space_to_depth_access,
    "transpose": _transpose_access,
    "reshape": _reshape_access,
    "gather": _gather_access,
    "softmax": _channel_access,
    "layer_norm": _channel_access,
    **dict.fromkeys(CHOOSING, _reduction_access),
    "fully_connected": _matmul_access,
    "matmul": _matmul_access,
}
