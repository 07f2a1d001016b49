"""Random TensorFlow Lite models of the layers that vendors' kernels of TFLite Micro run, of 4, 8 and 16 bits."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tests.runtimes.micro_models import MicroModel

_STATE = 2.0**-11
"""The scale of a state of 16 bits, a power of two as LSTM needs."""
WORDS = {"f": "FLOAT32", "w": "INT16", "b": "INT8"}


class VendorModel(MicroModel):
    """A model of layers with separate inputs, side by side; `word` is the type of their data."""

    def __init__(self, word: str, seed: int) -> None:
        super().__init__((1, 1), is_int8=word != "f", seed=seed)
        self.graph.tensors, self.graph.inputs, self.word = [], [], word
        self.kind = getattr(self.types, WORDS[word])
        self.ends: list[int] = []

    def tensor(
        self, shape: Sequence[int], kind: int | None = None, scale: float = 0.05, zero: int = 0, buffer: int = 0
    ) -> int:
        """Add a tensor without a zero point, and return its position."""
        index = super().tensor(shape, kind, scale, zero, buffer)
        row = self.graph.tensors[index]
        if row.type in (self.types.INT16, self.types.INT8, self.types.INT4):
            row.quantization = self._scales([scale], [0])
        return index

    def input_tensor(self, *shape: int) -> int:
        self.graph.inputs.append(self.tensor(shape))
        return int(self.graph.inputs[-1])

    def state(self, shape: Sequence[int], kind: int, scale: float = 0.05) -> int:
        index = self.tensor(shape, kind, scale)
        self.graph.tensors[index].isVariable = True
        return index

    def constant(self, shape: Sequence[int], kind: str, scale: float = 0.01) -> int:
        """Add zeros of a type that NumPy names, with a scale; `int4` is packed in halves of a byte."""
        count = int(np.prod(shape))
        array = np.zeros(-(-count // 2), np.int8) if kind == "int4" else np.zeros(count, kind)
        index = self.tensor(shape, getattr(self.types, kind.upper()), scale, 0, self.buffer(array))
        self.graph.tensors[index].quantization = self._scales([scale], [0])
        return index

    def weights(self, shape: Sequence[int], axis: int | None, *, may_be_half: bool = False) -> int:
        """Add weights: of 8 bits, or at times of 4, with a scale for each channel unless `axis` is None."""
        if self.word == "f":
            return self.constant(shape, "float32")
        is_half = may_be_half and self.word == "b" and self.draw.random() < 0.2
        index = self.constant(shape, "int4" if is_half else "int8")
        count = 1 if axis is None else shape[axis]
        self.graph.tensors[index].quantization = self._scales([0.01] * count, [0] * count, axis or 0)
        return index

    def biases(self, width: int, scale: float = 0.0005) -> list[int]:
        kinds = {"f": ["float32"], "b": ["int32"], "w": ["int64", "int64", "int32"]}
        return [] if self.draw.random() < 0.2 else [self.constant((width,), self.draw.choice(kinds[self.word]), scale)]

    def step(self, name: str, inputs: Sequence[int], shape: Sequence[int], **options: Any) -> None:
        self.ends.append(self.op(name, inputs, self.tensor(shape), **options))

    def data(self) -> bytes:
        self.graphs[0].outputs = self.ends
        return super().data()


def _image(m: VendorModel, most: int = 20) -> tuple[int, int, int, int]:
    rows = m.draw.choice((1, 1, 2, 5, 9))
    return m.draw.choice((1, 1, 1, 2)), rows, m.draw.choice((1, 3, 8, 11)), m.draw.choice((1, 2, 3, 4, 8, most))


def _slide(m: VendorModel, image: Sequence[int], largest: int = 4) -> tuple[list[int], list[int], dict[str, Any]]:
    """Draw a kernel that fits an image; return it, the rows and columns of the output, and the options."""
    kernel = [m.draw.randint(1, min(largest, n)) for n in image[1:3]]
    kernel = m.draw.choice(([1, 1], [min(3, image[1]), min(3, image[2])], kernel))
    strides = [m.draw.choice((1, 1, 2, 4)) for _ in range(2)]
    wide = [m.draw.choice((1, 1, 1, 2)) if 2 * (k - 1) + 1 <= n else 1 for k, n in zip(kernel, image[1:3], strict=True)]
    is_same = m.draw.random() < 0.6
    reach = [d * (k - 1) + 1 for d, k in zip(wide, kernel, strict=True)]
    sizes = [-(-n // s) if is_same else (n - r) // s + 1 for n, s, r in zip(image[1:3], strides, reach, strict=True)]
    options = {"padding": int(not is_same), "strideH": strides[0], "strideW": strides[1]}
    return kernel, sizes, options | {"dilationHFactor": wide[0], "dilationWFactor": wide[1]}


def _add_convolution(m: VendorModel) -> None:
    n, rows, columns, depth = _image(m)
    kernel, sizes, options = _slide(m, (n, rows, columns))
    groups = m.draw.choice((1, 1, 1, 2)) if depth % 2 == 0 else 1
    width = groups * m.draw.choice((1, 3, 8))
    weights = m.weights((width, *kernel, depth // groups), 0, may_be_half=True)
    inputs = [m.input_tensor(n, rows, columns, depth), weights, *m.biases(width)]
    m.step("CONV_2D", inputs, (n, *sizes, width), **options)


def _add_depthwise(m: VendorModel) -> None:
    n, rows, columns, depth = _image(m, 16)
    kernel, sizes, options = _slide(m, (n, rows, columns))
    times = m.draw.choice((1, 1, 1, 2, 4, 9))
    width = times * depth
    inputs = [m.input_tensor(n, rows, columns, depth), m.weights((1, *kernel, width), 3, may_be_half=True)]
    inputs += m.biases(width)
    m.step("DEPTHWISE_CONV_2D", inputs, (n, *sizes, width), depthMultiplier=times, **options)


def _add_pool(m: VendorModel) -> None:
    image = _image(m)
    kernel, sizes, options = _slide(m, image)
    options = {name: value for name, value in options.items() if name[:2] != "di"}
    options |= {"filterHeight": kernel[0], "filterWidth": kernel[1]}
    if options["padding"]:
        strides = options["strideH"], options["strideW"]
        sizes = [(n - k) // s + 1 for n, k, s in zip(image[1:3], kernel, strides, strict=True)]
    name = m.draw.choice(("AVERAGE_POOL_2D", "MAX_POOL_2D"))
    m.step(name, [m.input_tensor(*image)], (image[0], *sizes, image[3]), **options)


def _add_transposed(m: VendorModel) -> None:
    n, rows, columns, depth = _image(m, 24)
    kernel, width = [m.draw.randint(1, 4), m.draw.randint(1, 4)], m.draw.choice((1, 3, 5))
    strides = [m.draw.choice((1, 2, 3)) for _ in range(2)]
    shape = (n, rows * strides[0], columns * strides[1], width)
    inputs = [m.constant((4,), "int32"), m.weights((width, *kernel, depth), 0), m.input_tensor(n, rows, columns, depth)]
    inputs += m.biases(width)
    m.step("TRANSPOSE_CONV", inputs, shape, padding=0, strideH=strides[0], strideW=strides[1])


def _add_layer(m: VendorModel) -> None:
    depth, width = m.draw.choice((3, 4, 8, 16)), m.draw.choice((1, 6, 10))
    before = m.draw.choice(((1,), (3,), (1, 1), (2, 3)))
    axis = 0 if m.word == "b" and m.draw.random() < 0.4 else None
    is_half = axis is None
    is_given = m.draw.random() < 0.15
    weights = m.input_tensor(width, depth) if is_given else m.weights((width, depth), axis, may_be_half=is_half)
    if m.word == "w" and weights in m.graph.inputs:
        m.graph.tensors[weights].type = m.types.INT8
    bias = m.biases(width, 0.0025 if weights in m.graph.inputs else 0.0005) or [-1]
    inputs = [m.input_tensor(*before, depth), weights, *bias]
    m.step("FULLY_CONNECTED", inputs, (*before, width), keepNumDims=len(before) > 1)


def _add_matrices(m: VendorModel) -> None:
    before, rows, depth, columns = m.draw.choice(((), (2,), (1, 3))), 3, m.draw.choice((4, 7)), m.draw.choice((2, 5))
    turned = [m.draw.random() < 0.3 for _ in range(2)]
    first = (depth, rows) if turned[0] else (rows, depth)
    other = (columns, depth) if turned[1] else (depth, columns)
    inputs = [m.input_tensor(*before, *first), m.input_tensor(*before, *other)]
    m.step("BATCH_MATMUL", inputs, (*before, rows, columns), adjX=turned[0], adjY=turned[1])


def _add_softmax(m: VendorModel) -> None:
    shape = m.draw.choice(((1, 10), (3, 7), (1, 4, 5), (1, 2, 3, 4)))
    end = m.tensor(shape, scale={"b": 1 / 256, "w": 1 / 32768}.get(m.word, 1.0))
    if m.word == "b":
        m.graph.tensors[end].quantization.zeroPoint = [-128]
    m.ends.append(m.op("SOFTMAX", [m.input_tensor(*shape)], end, beta=1.0))


def _add_sum(m: VendorModel) -> None:
    shape = m.draw.choice(((1, 10), (2, 3, 4), (1, 5, 5, 3)))
    m.step(m.draw.choice(("ADD", "MUL", "SUB")), [m.input_tensor(*shape), m.input_tensor(*shape)], shape)


def _add_svdf(m: VendorModel) -> None:
    n, depth, rank, units, memory = m.draw.choice((1, 2)), m.draw.choice((3, 8)), m.draw.choice((1, 2)), 4, 5
    count, kind = rank * units, "float32" if m.word == "f" else m.draw.choice(("int16", "int8"))
    state = m.state((n, memory * count), getattr(m.types, kind.upper()))
    inputs = [m.input_tensor(n, depth), m.weights((count, depth), None), m.constant((count, memory), kind)]
    bias = m.constant((units,), "float32" if m.word == "f" else "int32", 0.0005)
    m.step("SVDF", [*inputs, bias, state], (n, units), rank=rank)


def _add_lstm(m: VendorModel) -> None:
    n, times, depth, width = m.draw.choice((1, 2)), 3, m.draw.choice((2, 5)), m.draw.choice((3, 4, 8))
    weights = [m.weights((width, size), None) for size in (depth,) * 4 + (width,) * 4]
    kind = {"f": "float32", "b": "int32", "w": "int64"}[m.word]
    biases = [m.constant((width,), kind, 0.0005) for _ in range(4)]
    cell = m.types.FLOAT32 if m.word == "f" else m.types.INT16
    states = [m.state((n, width), m.kind), m.state((n, width), cell, _STATE)]
    inputs = [m.input_tensor(n, times, depth), *weights, *([-1] * 3), *biases, -1, -1, *states, *([-1] * 4)]
    m.step("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, (n, times, width), fusedActivationFunction=4)


_LAYERS = {
    "fwb": (_add_convolution, _add_depthwise, _add_pool, _add_transposed, _add_layer, _add_matrices, _add_softmax),
    "fb": (_add_svdf,),
    "fwb ": (_add_sum, _add_lstm),
}


def draw_vendor_models(count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield `count` models with their names: of one layer, and every third of three."""
    for k in range(count):
        word = "bwbfb"[k % 5]
        m = VendorModel(word, seed + k)
        rules = [rule for words, rules in _LAYERS.items() if word in words for rule in rules]
        chosen = m.draw.choices(rules, k=3) if k % 3 == 2 else [rules[k // 5 % len(rules)]]
        for rule in chosen:
            rule(m)
        yield f"{word} {'+'.join(rule.__name__[5:] for rule in chosen)} {seed + k}", m.data()
