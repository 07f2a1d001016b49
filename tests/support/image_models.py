"""ONNX models of image networks with random weights, of any resolution and width."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

CLASSES = 100


class ImageModel:
    """A model while it is made: values are known by name, and `channels` are those of each."""

    def __init__(self, size: int, width: float, seed: int = 0) -> None:
        self.size, self.width = size, width
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.channels = {"x": 3}
        self.random = np.random.default_rng(seed)

    def wide(self, channels: int) -> int:
        return max(1, int(channels * self.width))

    def constant(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def weight(self, *shape: int) -> str:
        fan = max(1, int(np.prod(shape[1:])))
        return self.constant(self.random.normal(size=shape) * (2 / fan) ** 0.5)

    def op(self, kind: str, inputs: list[str], channels: int, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        self.channels[name] = channels
        return name

    def conv(
        self, x: str, channels: int, k: int = 3, stride: int = 1, groups: int = 1, *, is_linear: bool = False
    ) -> str:
        weights = [self.weight(channels, self.channels[x] // groups, k, k), self.weight(channels)]
        pads = [(k - 1) // 2] * 4
        found = self.op("Conv", [x, *weights], channels, strides=[stride, stride], pads=pads, group=groups)
        return found if is_linear else self.op("Relu", [found], channels)

    def depthwise(self, x: str, stride: int = 1) -> str:
        return self.conv(x, self.channels[x], 3, stride, self.channels[x])

    def pool(self, x: str) -> str:
        return self.op("MaxPool", [x], self.channels[x], kernel_shape=[2, 2], strides=[2, 2])

    def doubled(self, x: str) -> str:
        scales = self.constant(np.array([1, 1, 2, 2]))
        how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", "mode": "nearest"}
        return self.op("Resize", [x, "", scales], self.channels[x], **how)

    def classified(self, x: str) -> bytes:
        pooled = self.op("Flatten", [self.op("GlobalAveragePool", [x], self.channels[x])], self.channels[x])
        return self.bytes_of(self.op("Gemm", [pooled, self.weight(self.channels[x], CLASSES)], CLASSES))

    def bytes_of(self, output: str) -> bytes:
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, self.size, self.size])
        made = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "image", [given], [made], initializer=self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        data: bytes = model.SerializeToString()
        return data


def mobilenet_v1(size: int, width: float = 1.0) -> bytes:
    net = ImageModel(size, width)
    x = net.conv("x", net.wide(32), 3, 2)
    rows = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    for channels, stride in rows:
        x = net.conv(net.depthwise(x, stride), net.wide(channels), 1)
    return net.classified(x)


def mobilenet_v2(size: int, width: float = 1.0) -> bytes:
    net = ImageModel(size, width)
    x = net.conv("x", net.wide(32), 3, 2)
    blocks = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for factor, channels, count, stride in blocks:
        for k in range(count):
            y = x if factor == 1 else net.conv(x, net.channels[x] * factor, 1)
            y = net.conv(net.depthwise(y, 1 if k else stride), net.wide(channels), 1, is_linear=True)
            x = net.op("Add", [x, y], net.channels[y]) if k else y
    return net.classified(net.conv(x, net.wide(1280), 1))


def vgg(size: int, width: float = 1.0) -> bytes:
    net, x = ImageModel(size, width), "x"
    for channels, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            x = net.conv(x, net.wide(channels))
        x = net.pool(x)
    return net.classified(x)


def resnet(size: int, width: float = 1.0) -> bytes:
    net = ImageModel(size, width)
    x = net.pool(net.conv("x", net.wide(64), 7, 2))
    for number, channels in enumerate(map(net.wide, (64, 128, 256, 512))):
        for k in range(2):
            stride = 2 if number and not k else 1
            y = net.conv(net.conv(x, channels, 3, stride), channels, is_linear=True)
            skip = net.conv(x, channels, 1, stride, is_linear=True) if stride == 2 else x
            x = net.op("Relu", [net.op("Add", [skip, y], channels)], channels)
    return net.classified(x)


def squeezenet(size: int, width: float = 1.0) -> bytes:
    net = ImageModel(size, width)
    x = net.pool(net.conv("x", net.wide(64), 3, 2))
    for number, squeezed in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
        y, wide = net.conv(x, net.wide(squeezed), 1), net.wide(4 * squeezed)
        x = net.op("Concat", [net.conv(y, wide, 1), net.conv(y, wide, 3)], 2 * wide, axis=1)
        x = net.pool(x) if number in (1, 3) else x
    return net.classified(net.conv(x, CLASSES, 1))


def unet(size: int, width: float = 1.0) -> bytes:
    net, x, skips = ImageModel(size, width), "x", []
    for channels in map(net.wide, (16, 32, 64)):
        skips.append(net.conv(net.conv(x, channels), channels))
        x = net.pool(skips[-1])
    x = net.conv(net.conv(x, net.wide(128)), net.wide(128))
    for channels, skip in zip(map(net.wide, (64, 32, 16)), reversed(skips), strict=True):
        x = net.op("Concat", [net.conv(net.doubled(x), channels), skip], 2 * channels, axis=1)
        x = net.conv(net.conv(x, channels), channels)
    return net.bytes_of(net.conv(x, 2, 1, is_linear=True))


MODELS: Mapping[str, Callable[[int, float], bytes]] = {
    "mobilenet_v1": mobilenet_v1,
    "mobilenet_v2": mobilenet_v2,
    "vgg": vgg,
    "resnet": resnet,
    "squeezenet": squeezenet,
    "unet": unet,
}
