"""Recomputation of the shapes in a TFLite model from given sizes of its open dimensions, operator by operator.

Sizes are integers or expressions over symbols; the values of small tensors that contain sizes are tracked as well. For
the file's own sizes, the results must equal the file's shapes. Source: tflite 2.18, `Prepare` of the kernels.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add, floordiv, mul, sub
from typing import Any

from memplan.planner.errors import FormatError, Option, OptionError, excerpt
from memplan.runtimes.onnx.shape_rules import OpenShapeError, Shape, cancel_sizes, ceil_div, product, slice_length
from memplan.runtimes.tflite.facts import OperatorReader
from memplan.runtimes.tflite.model import Model, Operator, TfliteTensor

_SAME_AS_INPUT = """\
ABS CAST CEIL COS CUMSUM DEQUANTIZE ELU EXP FLOOR GELU HARD_SWISH L2_NORMALIZATION LEAKY_RELU LOG LOGICAL_NOT LOGISTIC
LOG_SOFTMAX NEG QUANTIZE RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 ROUND RSQRT SIGN SIN SOFTMAX SQRT SQUARE TANH ZEROS_LIKE
"""
_BROADCAST = """\
ADD DIV EQUAL FLOOR_DIV FLOOR_MOD GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_OR MAXIMUM MINIMUM MUL
NOT_EQUAL POW PRELU SELECT_V2 SQUARED_DIFFERENCE SUB
"""
_SAME, _ALIKE = frozenset(_SAME_AS_INPUT.split()), frozenset(_BROADCAST.split())
_NUMBERS: Mapping[str, Callable[[int, int], int]] = {"ADD": add, "SUB": sub, "MUL": mul, "FLOOR_DIV": floordiv}


@dataclass(eq=False)
class _OperatorInputs:
    """An operator's inputs: their shapes, and in `held` their integer values (None if unknown)."""

    operator: Operator
    reader: OperatorReader
    shapes: Sequence[Shape]
    held: Sequence[Sequence[int] | None]

    def numbers(self, k: int) -> list[int]:
        """Return the integer values of input number `k`; raises OpenShapeError if they are unknown."""
        values = self.held[k] if k < len(self.held) else None
        if values is None:
            raise OpenShapeError
        return list(values)

    def axis(self, field: int, rank: int) -> int:
        """Return the axis that option field `field` states, as a number from 0 to `rank` - 1."""
        return self.reader.integer(field, "axis", "i") % max(1, rank)


def open_dimensions(model: Model) -> dict[str, list[tuple[int, int]]]:
    """Return the open dimensions of a model's inputs by name, each as a list of (tensor index, axis).

    TFLite does not name dimensions. Open dimensions at the same axis of several inputs count as one dimension, which
    gets the name of the first input and the number of the axis.
    """
    main, dims = model.subgraphs[0], dict[int, list[tuple[int, int]]]()
    for index in dict.fromkeys(main.inputs):
        for k in main.tensors[index].open_dims:
            dims.setdefault(k, []).append((index, k))
    names = {k: model.input_names.get(rows[0][0], main.tensors[rows[0][0]].id) for k, rows in dims.items()}
    return {f"{names[k]}.{k}": rows for k, rows in dims.items()}


def set_sizes(model: Model, dims: Mapping[str, int]) -> Model:
    """Return a model in which the open dimensions `dims` have the given sizes, and all shapes follow from them.

    Raises OptionError for names of other dimensions, and FormatError if a shape cannot be computed.
    """
    open_dims = open_dimensions(model)
    if not open_dims:
        raise OptionError.from_rule(
            "dims",
            f"must not be given, as TFLite names no dimensions, got {excerpt(next(iter(dims)))}: leave it out, as all "
            "sizes of this model are known",
        )
    if unknown := [name for name in dims if name not in open_dims]:
        raise OptionError.from_rule(
            "dims",
            f"must be an open dimension of the model ({', '.join(open_dims)}), got {excerpt(unknown[0])}, for example ",
            Option("dims", f"{next(iter(open_dims))}={dims[unknown[0]]}"),
        )
    if len(model.subgraphs) > 1:
        raise FormatError("model.subgraphs: must be a single subgraph if sizes are given for open dimensions")
    for tensor, shape in zip(model.tensors, _Shapes(model, {}).run(), strict=True):
        if list(tensor.shape) != shape:
            raise FormatError(
                f"{tensor.path}.shape: must be {shape}, which its operator computes, got {list(tensor.shape)}"
            )
    sizes = {place: size for name, size in dims.items() for place in open_dims[name]}
    main, shapes = model.subgraphs[0], _Shapes(model, sizes).run()
    tensors = []
    for k, (tensor, shape) in enumerate(zip(main.tensors, shapes, strict=True)):
        open_places = tuple(place for place in tensor.open_dims if k in main.inputs and (k, place) not in sizes)
        tensors.append(replace(tensor, shape=tuple(shape), open_dims=open_places))
    return replace(model, subgraphs=(replace(main, tensors=tuple(tensors)),))


class _Shapes:
    """The recomputation of all shapes of a model; `held` has known values, `open` the recomputed tensors."""

    def __init__(self, model: Model, sizes: Mapping[tuple[int, int], int]) -> None:
        """Set the shapes of the inputs: `sizes` maps (tensor index, axis) to the size of an open dimension."""
        self.model, self.main = model, model.subgraphs[0]
        self.shapes: list[Shape] = [list(tensor.shape) for tensor in self.main.tensors]
        self.held: dict[int, list[int]] = {}
        self.open: set[int] = set()
        for k in self.main.inputs:
            for place in self.main.tensors[k].open_dims:
                self.shapes[k][place] = sizes.get((k, place), self.shapes[k][place])
                self.open.add(k)

    def run(self) -> list[Shape]:
        """Return the shape of each tensor. Raises FormatError if a shape does not follow from the inputs."""
        for operator in self.main.operators:
            if self.open.isdisjoint(operator.inputs):
                continue
            reader = OperatorReader(self.main, operator, lambda row: self.model.buffers[row.buffer].content(0, "data"))
            held = [self.held.get(k, reader.numbers(place)) for place, k in enumerate(operator.inputs)]
            operands = _OperatorInputs(
                operator, reader, [self.shapes[k] if k >= 0 else [] for k in operator.inputs], held
            )
            shapes = _output_shapes(operands)
            for k, shape in zip(operator.outputs, shapes, strict=True):
                self._record_shape(self.main.tensors[k], k, shape)
            if (numbers := _output_numbers(operands)) is not None:
                self.held[operator.outputs[0]] = numbers
        return self.shapes

    def _record_shape(self, tensor: TfliteTensor, k: int, shape: Shape) -> None:
        """Store the shape computed for tensor `k`. Raises FormatError if it contradicts a fixed size in the file."""
        fixed = [place for place in range(len(shape)) if place not in tensor.open_dims] if tensor.open_dims else []
        if len(shape) != len(tensor.shape) or any(shape[place] != tensor.shape[place] for place in fixed):
            raise FormatError(
                f"{tensor.path}.shape: must be {shape}, which its operator computes, got {list(tensor.shape)}"
            )
        self.shapes[k] = shape
        self.open.add(k)


def _output_shapes(given: _OperatorInputs) -> list[Shape]:
    """Return the output shapes of an operator; raises FormatError if they do not follow from its inputs."""
    name, rows = given.operator.name, given.shapes
    rule = _RULES.get(name)
    try:
        if rule is not None:
            shapes = rule(given)
            return shapes if len(shapes) == len(given.operator.outputs) else shapes * len(given.operator.outputs)
        if name in _SAME:
            return [rows[0]]
        if name in _ALIKE:
            return [_broadcast_shape(rows)]
    except (OpenShapeError, IndexError):
        pass
    raise FormatError(
        f"{given.operator.path}: must be an operator whose output shape follows from its inputs, got {name}"
    )


def _output_numbers(given: _OperatorInputs) -> list[int] | None:
    """Return the integers that an operator on sizes computes as its output; None if they are unknown."""
    name, held = given.operator.name, given.held
    if name == "SHAPE":
        return list(given.shapes[0])
    if not held or any(each is None for each in held):
        return None
    rows = [list(each or ()) for each in held]
    if name in ("PACK", "CONCATENATION"):
        return [size for row in rows for size in row]
    if name == "STRIDED_SLICE":
        (start,), (end,), (step,) = rows[1:4]
        masks = [given.reader.integer(k, "mask", "i") & 1 for k in range(5)]
        return rows[0][slice(None if masks[0] else start, start + 1 if masks[4] else None if masks[1] else end, step)]
    if name in _NUMBERS and min(map(len, rows)) > 0:
        most = max(map(len, rows))
        return [_NUMBERS[name](*pair) for pair in zip(*(row * (most // len(row)) for row in rows), strict=True)]
    return rows[0] if name in ("CAST", "RESHAPE", "SQUEEZE", "EXPAND_DIMS") else None


def _broadcast_shape(rows: Sequence[Shape]) -> Shape:
    """Return the common shape of broadcast operands with the shapes `rows`; raises OpenShapeError if there is none."""
    rank, shape = max(map(len, rows)), []
    for sizes in zip(*([1] * (rank - len(row)) + list(row) for row in rows), strict=True):
        wide = [size for size in sizes if size != 1]
        if any(size != wide[0] for size in wide):
            raise OpenShapeError
        shape.append(wide[0] if wide else 1)
    return shape


def _window_shapes(given: _OperatorInputs) -> list[Shape]:
    """Return the output shape of a convolution or pooling on an image in the layout NHWC."""
    attributes, image = given.reader.attributes(), given.shapes[0]
    is_pool = given.operator.name.endswith("POOL_2D")
    if "kernel" not in attributes:
        raise OpenShapeError
    options: list[Any] = [attributes.get(name, (1, 1)) for name in ("kernel", "strides", "dilations")]
    is_same, sides = given.reader.integer(0, "padding", "b") == 0, []
    for size, width, stride, dilation in zip(image[1:3], *options, strict=True):
        sides.append(ceil_div(size, stride) if is_same else (size - dilation * (width - 1) - 1) // stride + 1)
    weight = [] if is_pool else given.shapes[1]
    depth = image[3] if is_pool else weight[0] if given.operator.name == "CONV_2D" else weight[3]
    return [[image[0], *sides, depth]]


def _fully_connected_shape(given: _OperatorInputs) -> list[Shape]:
    image, weight = given.shapes[:2]
    if given.reader.integer(2, "keep_num_dims", "B"):
        return [[*image[:-1], weight[0]]]
    top, bottom = cancel_sizes(image, [weight[1]])
    return [[product(top) // product(bottom), weight[0]]]


def _batch_matmul_shape(given: _OperatorInputs) -> list[Shape]:
    (*left, m, k), (*right, n, p) = given.shapes[:2]
    rows = k if given.reader.integer(0, "adj_x", "B") else m
    return [[*_broadcast_shape([left, right]), rows, n if given.reader.integer(1, "adj_y", "B") else p]]


def _concatenation_shape(given: _OperatorInputs) -> list[Shape]:
    axis = given.axis(0, len(given.shapes[0]))
    shape = list(given.shapes[0])
    shape[axis] = sum(row[axis] for row in given.shapes[1:]) + shape[axis]
    return [shape]


def _reshaped_shapes(given: _OperatorInputs) -> list[Shape]:
    """Return the requested shape of a reshape; a size of -1 follows from the number of elements."""
    shape, options = given.shapes[0], given.reader.options
    if len(given.shapes) > 1:
        wanted = given.numbers(1)
    else:
        wanted = [] if options is None else list(options.integers(0, "new_shape", "i"))
    if -1 in wanted:
        place = wanted.index(-1)
        top, bottom = cancel_sizes(shape, [*wanted[:place], *wanted[place + 1 :]])
        wanted[place] = product(top) // product(bottom)
    if product(wanted) != product(shape):
        raise OpenShapeError
    return [wanted]


def _squeezed_shape(given: _OperatorInputs) -> list[Shape]:
    shape, options = given.shapes[0], given.reader.options
    axes = [] if options is None else [axis % len(shape) for axis in options.integers(0, "squeeze_dims", "i")]
    return [[size for k, size in enumerate(shape) if (k not in axes if axes else size != 1)]]


def _expanded_shape(given: _OperatorInputs) -> list[Shape]:
    shape, (axis,) = list(given.shapes[0]), given.numbers(1)
    shape.insert(axis % (len(shape) + 1), 1)
    return [shape]


def _reduction_shapes(given: _OperatorInputs) -> list[Shape]:
    shape, keeps = given.shapes[0], given.reader.integer(0, "keep_dims", "B")
    axes = {axis % len(shape) for axis in given.numbers(1)}
    return [[1 if k in axes else size for k, size in enumerate(shape) if keeps or k not in axes]]


def _pad_shapes(given: _OperatorInputs) -> list[Shape]:
    pads = given.numbers(1)
    return [[size + pads[2 * k] + pads[2 * k + 1] for k, size in enumerate(given.shapes[0])]]


def _strided_slice_shape(given: _OperatorInputs) -> list[Shape]:
    """Return the shape of a strided slice; raises OpenShapeError for an ellipsis or new axes."""
    begins, ends, hidden, new, shrinks = (given.reader.integer(k, "mask", "i") for k in range(5))
    if hidden or new:
        raise OpenShapeError
    shape, sliced, rows = given.shapes[0], [], [given.numbers(k) for k in (1, 2, 3)]
    for k, (start, end, step) in enumerate(zip(*rows, strict=True)):
        if not shrinks >> k & 1:
            first, last = (0 if begins >> k & 1 else start), (shape[k] if ends >> k & 1 else end)
            sliced.append(slice_length(shape[k], first, last, step))
    return [sliced + shape[len(rows[0]) :]]


def _slice_shape(given: _OperatorInputs) -> list[Shape]:
    rows = zip(given.shapes[0], given.numbers(1), given.numbers(2), strict=True)
    return [[whole - start if size == -1 else size for whole, start, size in rows]]


def _split_shapes(given: _OperatorInputs) -> list[Shape]:
    (axis,), shape, count = given.numbers(0), given.shapes[1], len(given.operator.outputs)
    return [[size // count if k == axis % len(shape) else size for k, size in enumerate(shape)]] * count


def _packed_shapes(given: _OperatorInputs) -> list[Shape]:
    shape = list(given.shapes[0])
    shape.insert(given.axis(1, len(shape) + 1), len(given.shapes))
    return [shape]


def _gathered_shape(given: _OperatorInputs) -> list[Shape]:
    shape, places = given.shapes[:2]
    axis = given.axis(0, len(shape))
    if given.reader.integer(1, "batch_dims", "i"):
        raise OpenShapeError
    return [[*shape[:axis], *places, *shape[axis + 1 :]]]


_RULES: Mapping[str, Callable[[_OperatorInputs], list[Shape]]] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D"), _window_shapes),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"), _reduction_shapes),
    **dict.fromkeys(("PAD", "PADV2"), _pad_shapes),
    **dict.fromkeys(
        ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"),
        lambda given: [[given.shapes[0][0], *given.numbers(1), given.shapes[0][3]]],
    ),
    **dict.fromkeys(("FILL", "TRANSPOSE_CONV"), lambda given: [given.numbers(0)]),
    "BATCH_MATMUL": _batch_matmul_shape,
    "BROADCAST_TO": lambda given: [given.numbers(1)],
    "CONCATENATION": _concatenation_shape,
    "EXPAND_DIMS": _expanded_shape,
    "FULLY_CONNECTED": _fully_connected_shape,
    "GATHER": _gathered_shape,
    "PACK": _packed_shapes,
    "RESHAPE": _reshaped_shapes,
    "SHAPE": lambda given: [[len(given.shapes[0])]],
    "SLICE": _slice_shape,
    "SPLIT": _split_shapes,
    "SQUEEZE": _squeezed_shape,
    "STRIDED_SLICE": _strided_slice_shape,
    "TRANSPOSE": lambda given: [[given.shapes[0][axis] for axis in given.numbers(1)]],
}
