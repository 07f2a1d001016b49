"""More networks as graphs of operations, which cascades were measured on from outside; int8 in NHWC."""

from __future__ import annotations

from collections.abc import Callable

from memplan.planner.operations.graph import OperationGraph
from tests.support.networks import Network
from tests.support.newer_networks import excited


def mobilenet_v3_small() -> OperationGraph:
    net = Network("mobilenet_v3_small")
    x = _swish(net, net.conv(net.input(224, 224, 3), 16, 3, 2))
    table = (
        *((3, 16, 16, 1, 0, 2), (3, 72, 24, 0, 0, 2), (3, 88, 24, 0, 0, 1), (5, 96, 40, 1, 1, 2)),
        *((5, 240, 40, 1, 1, 1), (5, 240, 40, 1, 1, 1), (5, 120, 48, 1, 1, 1), (5, 144, 48, 1, 1, 1)),
        *((5, 288, 96, 1, 1, 2), (5, 576, 96, 1, 1, 1), (5, 576, 96, 1, 1, 1)),
    )
    for k, middle, channels, excites, swishes, s in table:
        into, act = net.shapes[x][3], _swish if swishes else _plain
        y = x if middle == into else act(net, net.conv(x, middle, 1))
        y = act(net, net.depthwise(y, k, s))
        y = excited(net, y, max(8, middle // 4), "", "hard_sigmoid") if excites else y
        y = net.conv(y, channels, 1)
        x = net.add(x, y) if s == 1 and into == channels else y
    x = net.global_pool(_swish(net, net.conv(x, 576, 1)))
    net.dense(_swish(net, net.dense(x, 1024)), 1000)
    return net.graph()


def _swish(net: Network, x: int) -> int:
    return net.mul(x, net.add_op("hard_sigmoid", [x], net.shapes[x]))


def _plain(net: Network, x: int) -> int:
    return x


def mnasnet() -> OperationGraph:
    net = Network("mnasnet")
    x = net.conv(net.depthwise(net.conv(net.input(224, 224, 3), 32, 3, 2)), 16, 1)
    table = (
        (3, 3, 24, 3, 2),
        (3, 3, 40, 5, 2),
        (3, 6, 80, 5, 2),
        (2, 6, 96, 3, 1),
        (4, 6, 192, 5, 2),
        (1, 6, 320, 3, 1),
    )
    for count, expand, channels, k, stride in table:
        for i in range(count):
            into, s = net.shapes[x][3], stride if i == 0 else 1
            y = net.conv(net.depthwise(net.conv(x, into * expand, 1), k, s), channels, 1)
            x = net.add(x, y) if s == 1 and into == channels else y
    net.dense(net.global_pool(net.conv(x, 1280, 1)), 1000)
    return net.graph()


def squeezenet() -> OperationGraph:
    net = Network("squeezenet")
    x = net.pool(net.conv(net.input(224, 224, 3), 64, 3, 2, pad="valid"), 3, 2, pad="valid")
    for position, squeezed in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
        if position in (2, 4):
            x = net.pool(x, 3, 2, pad="valid")
        wide = 4 * squeezed
        y = net.conv(x, squeezed, 1)
        x = net.concat(net.conv(y, wide, 1), net.conv(y, wide, 3))
    net.global_pool(net.conv(x, 1000, 1))
    return net.graph()


def densenet121() -> OperationGraph:
    """Each layer joins all features before it again, as torch writes it."""
    net = Network("densenet121")

    def joined(features: list[int]) -> int:
        x = net.concat(*features)
        return net.add_op("relu", [x], net.shapes[x])

    features = [net.pool(net.conv(net.input(224, 224, 3), 64, 7, 2, pad=3), 3, 2, pad=1)]
    for position, count in enumerate((6, 12, 24, 16)):
        for _ in range(count):
            features.append(net.conv(net.conv(joined(features), 128, 1), 32, 3))
        x = joined(features)
        if position < 3:
            features = [net.pool(net.conv(x, net.shapes[x][3] // 2, 1), 2, 2)]
    net.dense(net.global_pool(x), 1000)
    return net.graph()


def googlenet() -> OperationGraph:
    net = Network("googlenet")
    x = net.pool(net.conv(net.input(224, 224, 3), 64, 7, 2, pad=3), 3, 2)
    x = net.pool(net.conv(net.conv(x, 64, 1), 192, 3), 3, 2)
    table = (
        *((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), (192, 96, 208, 16, 48, 64)),
        *((160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64)),
        *((256, 160, 320, 32, 128, 128), (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
    )
    for position, (one, before, three, few, other, pooled) in enumerate(table):
        if position in (2, 7):
            x = net.pool(x, 3 if position == 2 else 2, 2)
        left, right = net.conv(net.conv(x, before, 1), three, 3), net.conv(net.conv(x, few, 1), other, 3)
        x = net.concat(net.conv(x, one, 1), left, right, net.conv(net.pool(x, 3, 1, pad=1), pooled, 1))
    net.dense(net.global_pool(x), 1000)
    return net.graph()


def ds_cnn() -> OperationGraph:
    net = Network("ds_cnn")
    x = net.conv(net.input(98, 40, 1), 172, (10, 4), 2)
    for _ in range(4):
        x = net.conv(net.depthwise(x), 172, 1)
    net.dense(net.global_pool(x), 12)
    return net.graph()


def wav2vec() -> OperationGraph:
    net = Network("wav2vec")
    x = net.input(16000, 1, 1)
    for k, s in ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)):
        x = net.conv(x, 512, (k, 1), (s, 1), pad="valid")
    return net.graph()


def fsrcnn() -> OperationGraph:
    net = Network("fsrcnn")
    x = net.conv(net.conv(net.input(216, 384, 1), 56, 5), 12, 1)
    for _ in range(4):
        x = net.conv(x, 12)
    net.deconv(net.conv(x, 56, 1), 1, 9, 3, 3)
    return net.graph()


TABLE: dict[str, Callable[[], OperationGraph]] = {
    made.__name__: made
    for made in (mobilenet_v3_small, mnasnet, squeezenet, densenet121, googlenet, ds_cnn, wav2vec, fsrcnn)
}
