"""Well-known networks as graphs of operations: shapes and kinds without values; int8, NHWC."""

from collections.abc import Callable, Sequence
from typing import Any

from memplan.programs.operations.graph import OperationGraph, graph_from

Pads = str | int | tuple[tuple[int, int], tuple[int, int]]


class Network:
    """A network under construction; each method adds operations and returns the tensor that they make."""

    def __init__(self, name: str = "", dtype: str = "int8") -> None:
        self.name, self.dtype = name, dtype
        self.element = {"int8": 1, "float32": 4}[dtype]
        self.shapes: list[tuple[int, ...]] = []
        self.weights: list[int] = []
        self.ops: list[dict[str, Any]] = []

    def tensor(self, *shape: int) -> int:
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def input(self, rows: int, columns: int, channels: int) -> int:
        return self.tensor(1, rows, columns, channels)

    def add_op(
        self, kind: str, inputs: Sequence[int], shape: Sequence[int], weights: Sequence[int] = (), **attributes: Any
    ) -> int:
        constants = []
        if weights:
            constants = [self.tensor(*weights)]
            self.weights += constants
        made = self.tensor(*shape)
        row = {"kind": kind, "in": [*inputs, *constants], "out": [made], "name": f"{kind}_{len(self.ops)}"}
        self.ops.append({**row, "attributes": attributes} if attributes else row)
        return made

    def window(
        self,
        kind: str,
        x: int,
        channels: int,
        k: int | tuple[int, int] = 3,
        s: int | tuple[int, int] = 1,
        d: int | tuple[int, int] = 1,
        pad: Pads = "same",
        groups: int = 1,
    ) -> int:
        kernel, strides, dilations = (pair_of_ends(value) for value in (k, s, d))
        _, rows, columns, into = self.shapes[x]
        reach = [(kernel[axis] - 1) * dilations[axis] + 1 for axis in (0, 1)]
        sizes = (rows, columns)
        if pad == "same":
            out = [-(-sizes[axis] // strides[axis]) for axis in (0, 1)]
            missing = [max(0, (out[axis] - 1) * strides[axis] + reach[axis] - sizes[axis]) for axis in (0, 1)]
            before = (missing[0] // 2, missing[1] // 2)
            behind = (missing[0] - before[0], missing[1] - before[1])
        else:
            before, behind = pads_of(pad)
            out = [(sizes[a] + before[a] + behind[a] - reach[a]) // strides[a] + 1 for a in (0, 1)]
        channels = channels or into
        weights = {"conv2d": (channels, *kernel, into // groups), "depthwise_conv2d": (1, *kernel, into)}.get(kind, ())
        attributes = {"kernel": kernel, "strides": strides, "dilations": dilations, "pads": (*before, *behind)}
        more = {"groups": groups} if groups > 1 else {}
        return self.add_op(kind, [x], (1, *out, channels), weights, **attributes, **more)

    def conv(
        self, x: int, channels: int, k: int | tuple[int, int] = 3, s: int | tuple[int, int] = 1, **more: Any
    ) -> int:
        return self.window("conv2d", x, channels, k, s, **more)

    def depthwise(self, x: int, k: int | tuple[int, int] = 3, s: int | tuple[int, int] = 1, **more: Any) -> int:
        return self.window("depthwise_conv2d", x, 0, k, s, **more)

    def pool(self, x: int, k: int | tuple[int, int] = 2, s: int | tuple[int, int] = 2, **more: Any) -> int:
        return self.window("max_pool2d", x, 0, k, s, **more)

    def add(self, *inputs: int) -> int:
        return self.add_op("add", inputs, self.shapes[inputs[0]])

    def mul(self, x: int, scale: int) -> int:
        return self.add_op("mul", [x, scale], self.shapes[x])

    def concat(self, *inputs: int) -> int:
        channels = sum(self.shapes[x][3] for x in inputs)
        return self.add_op("concat", inputs, (*self.shapes[inputs[0]][:3], channels), axis=3)

    def resize(self, x: int, factor: int = 2, mode: str = "nearest", coordinates: str = "asymmetric") -> int:
        _, rows, columns, channels = self.shapes[x]
        shape = (1, rows * factor, columns * factor, channels)
        return self.add_op("resize", [x], shape, mode=mode, coordinates=coordinates)

    def shuffle(self, x: int, factor: int) -> int:
        _, rows, columns, channels = self.shapes[x]
        shape = (1, rows * factor, columns * factor, channels // factor // factor)
        return self.add_op("depth_to_space", [x], shape, block=factor)

    def deconv(self, x: int, channels: int, k: int, s: int, p: int) -> int:
        _, rows, columns, into = self.shapes[x]
        attributes = {"kernel": (k, k), "strides": (s, s), "pads": (p, p, p, p)}
        return self.add_op(
            "conv2d_transpose", [x], (1, rows * s, columns * s, channels), (channels, k, k, into), **attributes
        )

    def global_pool(self, x: int) -> int:
        return self.add_op("global_average_pool", [x], (1, 1, 1, self.shapes[x][3]))

    def add_dense(self, x: int, channels: int) -> int:
        into = 1
        for size in self.shapes[x]:
            into *= size
        return self.add_op("fully_connected", [x], (1, channels), (channels, into))

    def graph(self, kept: Sequence[int] | None = None) -> OperationGraph:
        read = {tensor for row in self.ops for tensor in row["in"]}
        outputs = [row["out"][0] for row in self.ops if row["out"][0] not in read] if kept is None else list(kept)
        size = [self.element * product(shape) for shape in self.shapes]
        weights = set(self.weights)
        facts = [
            {"shape": shape, "dtype": self.dtype, **({"role": "weight"} if k in weights else {})}
            for k, shape in enumerate(self.shapes)
        ]
        said = {"size": size, "kept": outputs, "resident": self.weights, "tensors": facts, "ops": self.ops}
        return graph_from({**said, "name": self.name} if self.name else said)


def pads_of(pad: Pads) -> tuple[tuple[int, int], tuple[int, int]]:
    if isinstance(pad, str):
        return (0, 0), (0, 0)
    return ((pad, pad), (pad, pad)) if isinstance(pad, int) else pad


def product(sizes: Sequence[int]) -> int:
    found = 1
    for size in sizes:
        found *= size
    return found


def pair_of_ends(value: int | tuple[int, int]) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


def round_channels(channels: int, width: float) -> int:
    found = max(8, int(channels * width + 4) // 8 * 8)
    return found + 8 if found < 0.9 * channels * width else found


def two_convolutions() -> OperationGraph:
    """Return the example of the RFC: a 3x3 convolution to 32 channels, then a 1x1 convolution to 8."""
    net = Network("two_convolutions")
    net.conv(net.conv(net.input(26, 26, 3), 32, 3, pad="valid"), 8, 1)
    return net.graph()


def five_operations() -> OperationGraph:
    """Return a convolution, a median, a pointwise and a strided convolution, and an activation: 147,456 bytes."""
    net = Network("five_operations")
    x = net.conv(net.input(48, 48, 4), 32)
    window = {"access_rows": (1, 1, -1, 1), "access_columns": (1, 1, -1, 1)}
    x = net.add_op("my.median", [x], net.shapes[x], **window, macs=0, mixes=False)
    x = net.conv(net.conv(x, 16, 1), 16, 3, 2)
    net.add_op("relu", [x], net.shapes[x])
    return net.graph()


def mobilenet_v1(width: float = 1.0, size: int = 224) -> OperationGraph:
    net = Network("mobilenet_v1")
    x = net.conv(net.input(size, size, 3), int(32 * width), 3, 2)
    table = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    for channels, stride in table:
        x = net.conv(net.depthwise(x, 3, stride), int(channels * width), 1)
    net.add_dense(net.global_pool(x), 1000)
    return net.graph()


def add_inverted_block(
    net: Network, x: int, channels: int, expand: int, s: int, k: int = 3, *, excite: bool = False, middle: int = 0
) -> int:
    """Add an inverted residual block, with squeeze-and-excite if `excite`, and return its output."""
    into = net.shapes[x][3]
    y = x if (middle or expand) == 1 else net.conv(x, middle or into * expand, 1)
    y = net.depthwise(y, k, s)
    if excite:
        scale = net.add_dense(net.add_dense(net.global_pool(y), max(1, into // 4)), net.shapes[y][3])
        net.shapes[scale] = (1, 1, 1, net.shapes[y][3])
        y = net.mul(y, scale)
    y = net.conv(y, channels, 1)
    return net.add(x, y) if s == 1 and into == channels else y


MOBILENET_V2 = (
    *((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3)),
    *((6, 96, 3, 1, 3), (6, 160, 3, 2, 3), (6, 320, 1, 1, 3)),
)
EFFICIENTNET = (
    *((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3)),
    *((6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)),
)
"""The expansion, channels, blocks, stride and kernel of each stage."""


def mobilenet_v2(
    width: float = 1.0, size: int = 224, table: Sequence[Sequence[int]] = MOBILENET_V2, *, excite: bool = False
) -> OperationGraph:
    net = Network("mobilenet_v2")
    x = net.conv(net.input(size, size, 3), round_channels(32, width), 3, 2)
    for expand, channels, count, stride, kernel in table:
        for i in range(count):
            x = add_inverted_block(
                net, x, round_channels(channels, width), expand, stride if i == 0 else 1, kernel, excite=excite
            )
    net.add_dense(net.global_pool(net.conv(x, 1280, 1)), 1000)
    return net.graph()


def msf_chain(width: float = 0.35, size: int = 144) -> OperationGraph:
    """Return the chain that msf-CNN analyses as MobileNetV2: channels rounded down, no residuals, no head."""
    net = Network("msf_chain")
    x = net.conv(net.input(size, size, 3), int(32 * width), 3, 2, pad=1)
    into = 32
    for expand, channels, count, stride, _ in MOBILENET_V2:
        for i in range(count):
            x = net.conv(x, int(into * width) * expand, 1)
            x = net.conv(net.depthwise(x, 3, stride if i == 0 else 1, pad=1), int(channels * width), 1)
            into = channels
    net.conv(x, int(1280 * width), 1)
    return net.graph()


def efficientnet_b0() -> OperationGraph:
    return mobilenet_v2(table=EFFICIENTNET, excite=True)


def efficientnet_lite0() -> OperationGraph:
    return mobilenet_v2(table=EFFICIENTNET)


def vgg16() -> OperationGraph:
    net = Network("vgg16")
    x = net.input(224, 224, 3)
    for channels, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x = net.conv(x, channels)
        x = net.pool(x)
    for channels in (4096, 4096, 1000):
        x = net.add_dense(x, channels)
    return net.graph()


def resnet50() -> OperationGraph:
    net = Network("resnet50")
    x = net.pool(net.conv(net.input(224, 224, 3), 64, 7, 2, pad=3), 3, 2, pad=1)
    for channels, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            s = stride if i == 0 else 1
            skip = net.conv(x, 4 * channels, 1, s) if i == 0 else x
            x = net.add(skip, net.conv(net.conv(net.conv(x, channels, 1), channels, 3, s, pad=1), 4 * channels, 1))
    net.add_dense(net.global_pool(x), 1000)
    return net.graph()


def espcn() -> OperationGraph:
    """Return ESPCN, super-resolution of luminance from 640 x 360 to 1280 x 720."""
    net = Network("espcn")
    net.shuffle(net.conv(net.conv(net.conv(net.input(360, 640, 1), 64, 5), 32), 4), 2)
    return net.graph()


def unet() -> OperationGraph:
    """Return a U-Net for segmentation at 128 x 128, with four levels from 16 channels."""
    net = Network("unet")
    x, skips = net.input(128, 128, 3), []
    for channels in (16, 32, 64):
        skips.append(net.conv(net.conv(x, channels), channels))
        x = net.pool(skips[-1])
    x = net.conv(net.conv(x, 128), 128)
    for channels, skip in zip((64, 32, 16), reversed(skips), strict=True):
        joined = net.concat(net.conv(net.resize(x), channels, 2), skip)
        x = net.conv(net.conv(joined, channels), channels)
    net.conv(x, 2, 1)
    return net.graph()


def tvm_double_convolution(brick: int = 1) -> OperationGraph:
    net = Network("tvm_double_convolution")
    net.conv(net.conv(net.input(321, 212, 6), -(-10 // brick) * brick, (3, 2), 1, d=(2, 1), pad="valid"), 3, 1, (3, 2))
    return net.graph()


def tvm_depthwise(brick: int = 1) -> OperationGraph:
    net = Network("tvm_depthwise")
    x = net.depthwise(net.conv(net.input(80, 75, 3), -(-7 // brick) * brick, (3, 2), pad="valid"), 3, pad="valid")
    net.pool(net.conv(x, -(-2 // brick) * brick, (3, 2)), 3, 1)
    return net.graph()


NETWORKS: dict[str, Callable[[], OperationGraph]] = {
    made.__name__: made
    for made in (
        *(two_convolutions, mobilenet_v1, mobilenet_v2, efficientnet_b0, efficientnet_lite0),
        *(msf_chain, vgg16, resnet50, espcn, unet, tvm_double_convolution, tvm_depthwise),
    )
}


def heads_in_turns() -> OperationGraph:
    """Return two heads of three convolutions each, whose operations alternate in the list."""
    net = Network()
    left = right = net.pool(net.conv(net.input(32, 32, 3), 8))
    for channels in (24, 24):
        left, right = net.conv(left, channels), net.conv(right, channels)
    net.conv(left, 1)
    net.conv(right, 1)
    return net.graph()
