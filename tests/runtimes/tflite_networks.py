"""Small image classifiers in TensorFlow Lite with random weights, int8 or float32."""

from typing import Any

from tests.runtimes.micro_models import MicroModel, window


class Network(MicroModel):
    """A model that is drawn layer by layer; `at` is the tensor that the next layer reads."""

    def __init__(self, side: int, channels: int, *, is_int8: bool = True, seed: int = 0) -> None:
        super().__init__((1, side, side, channels), is_int8=is_int8, seed=seed)

    def convolution(
        self, width: int, kernel: int, stride: int = 1, fused: str = "RELU6", padding: str = "SAME"
    ) -> None:
        self.at = window(self, "CONV_2D", kernel, stride, padding, width, fused)

    def depthwise(self, kernel: int, stride: int = 1) -> None:
        self.at = window(self, "DEPTHWISE_CONV_2D", kernel, stride, fused="RELU6")

    def max_pool(self, kernel: int, stride: int, padding: str = "VALID", name: str = "MAX_POOL_2D") -> None:
        """Add a pool of each window: the largest value, or that of another kind of pool."""
        self.at = window(self, name, kernel, stride, padding)

    def pad(self, before: int, behind: int) -> None:
        _, rows, columns, depth = self.shape()
        pads = self.numbers([[0, 0], [before, behind], [before, behind], [0, 0]])
        self.at = self.op("PAD", [self.at, pads], (1, rows + before + behind, columns + before + behind, depth))

    def add(self, other: int) -> None:
        self.at = self.op("ADD", [self.at, other], self.shape())

    def classify(self, classes: int) -> None:
        depth = self.shape()[3]
        self.at = self.op("MEAN", [self.at, self.numbers((1, 2))], (1, depth), keepDims=False)
        inputs = [self.at, self.filled((classes, depth), -1), self.bias(classes, 1)]
        self.at = self.op("FULLY_CONNECTED", inputs, (1, classes))


def mobilenet_v1(side: int = 96, scale: int = 8, **facts: Any) -> bytes:
    """Return a network of alternating depthwise and pointwise layers, with `scale` channels at first."""
    net = Network(side, 3, **facts)
    net.convolution(scale, 3, 2)
    for width, stride in ((2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2), (16, 1)):
        net.depthwise(3, stride)
        net.convolution(scale * width, 1)
    net.classify(10)
    return net.data()


def mobilenet_v2(side: int = 96, scale: int = 8, **facts: Any) -> bytes:
    net = Network(side, 3, **facts)
    net.convolution(2 * scale, 3, 2)
    for width, stride in ((scale, 1), (scale, 2), (scale, 1), (2 * scale, 2), (2 * scale, 1), (3 * scale, 2)):
        before, depth = net.at, net.shape()[3]
        net.convolution(6 * depth, 1)
        net.depthwise(3, stride)
        net.convolution(width, 1, fused="NONE")
        if stride == 1 and depth == width:
            net.add(before)
    net.classify(10)
    return net.data()


def vgg(side: int = 64, scale: int = 8, **facts: Any) -> bytes:
    net = Network(side, 3, **facts)
    for width, count in ((1, 2), (2, 2), (4, 2), (8, 2)):
        for _ in range(count):
            net.convolution(scale * width, 3, fused="RELU")
        net.max_pool(2, 2)
    net.classify(10)
    return net.data()
