"""Networks that cascades are measured on (`lab.cascade_rows`), as graphs of operations; int8 in NHWC."""

from __future__ import annotations

from collections.abc import Callable

from memplan.planner.operations.graph import OperationGraph
from tests.support.networks import Network, rounded
from tests.support.newer_networks import (
    activated,
    convnext_tiny,
    excited,
    regnet_y_400mf,
    se_twice,
    shufflenet_v2,
    vit,
)


def efficientnet_v2_s(size: int = 384, stages: int = 6) -> OperationGraph:
    net = Network("efficientnet_v2_s")
    x = activated(net, net.conv(net.input(size, size, 3), 24, 3, 2), "silu")
    table = [(2, 24, 1, 1, 0), (4, 48, 2, 4, 0), (4, 64, 2, 4, 0), (6, 128, 2, 4, 1), (9, 160, 1, 6, 1)]
    for count, channels, stride, expand, excites in [*table, (15, 256, 2, 6, 1)][:stages]:
        for i in range(count):
            x = _v2_block(net, x, channels, expand, stride if i == 0 else 1, excites == 1)
    net.dense(net.global_pool(activated(net, net.conv(x, 1280, 1), "silu")), 1000)
    return net.graph()


def _v2_block(net: Network, x: int, channels: int, expand: int, s: int, excites: bool) -> int:
    into, y = net.shapes[x][3], x
    if excites:
        y = activated(net, net.depthwise(activated(net, net.conv(y, into * expand, 1), "silu"), 3, s), "silu")
        y = net.conv(excited(net, y, into // 4, "silu", "sigmoid"), channels, 1)
    elif expand > 1:
        y = net.conv(activated(net, net.conv(y, into * expand, 3, s), "silu"), channels, 1)
    else:
        y = activated(net, net.conv(y, channels, 3, s), "silu")
    return net.add(x, y) if s == 1 and into == channels else y


V3_LARGE = (
    *((3, 16, 16, 0, "", 1), (3, 64, 24, 0, "", 2), (3, 72, 24, 0, "", 1), (5, 72, 40, 1, "", 2)),
    *((5, 120, 40, 1, "", 1), (5, 120, 40, 1, "", 1), (3, 240, 80, 0, "hard_swish", 2)),
    *((3, 200, 80, 0, "hard_swish", 1), (3, 184, 80, 0, "hard_swish", 1), (3, 184, 80, 0, "hard_swish", 1)),
    *((3, 480, 112, 1, "hard_swish", 1), (3, 672, 112, 1, "hard_swish", 1), (5, 672, 160, 1, "hard_swish", 2)),
    *((5, 960, 160, 1, "hard_swish", 1), (5, 960, 160, 1, "hard_swish", 1)),
)
"""Kernel, channels between, channels, squeeze-and-excite, activation and stride of each block."""


def _v3_large(net: Network, size: int, dilated: int = 15) -> int:
    """Write MobileNetV3's blocks and its last convolution; blocks from `dilated` on are dilated instead of strided."""
    x = activated(net, net.conv(net.input(size, size, 3), 16, 3, 2), "hard_swish")
    for position, (k, middle, channels, excites, act, stride) in enumerate(V3_LARGE):
        into, s, d = net.shapes[x][3], stride if position < dilated else 1, 2 if position >= dilated else 1
        y = x if middle == into else activated(net, net.conv(x, middle, 1), act)
        y = activated(net, net.depthwise(y, k, s, d=d), act)
        y = excited(net, y, rounded(middle // 4, 1), "", "hard_sigmoid") if excites else y
        y = net.conv(y, channels, 1)
        x = net.add(x, y) if s == 1 and into == channels else y
    return activated(net, net.conv(x, 960, 1), "hard_swish")


def mobilenet_v3_large() -> OperationGraph:
    net = Network("mobilenet_v3_large")
    x = net.global_pool(_v3_large(net, 224))
    net.dense(activated(net, net.dense(x, 1280), "hard_swish"), 1000)
    return net.graph()


def _c3(net: Network, x: int, channels: int, count: int, adds: bool = True) -> int:
    middle = channels // 2
    y, other = activated(net, net.conv(x, middle, 1), "silu"), activated(net, net.conv(x, middle, 1), "silu")
    for _ in range(count):
        z = activated(net, net.conv(activated(net, net.conv(y, middle, 1), "silu"), middle), "silu")
        y = net.add(y, z) if adds else z
    return activated(net, net.conv(net.concat(y, other), channels, 1), "silu")


def yolov5n(size: int = 320) -> OperationGraph:
    net = Network("yolov5n")
    x, skips = activated(net, net.conv(net.input(size, size, 3), 16, 6, 2, pad=2), "silu"), []
    for channels, count in ((32, 1), (64, 2), (128, 3), (256, 1)):
        x = _c3(net, activated(net, net.conv(x, channels, 3, 2), "silu"), channels, count)
        skips.append(x)
    parts = [activated(net, net.conv(x, 128, 1), "silu")]
    for _ in range(3):
        parts.append(net.pool(parts[-1], 5, 1))
    top = activated(net, net.conv(activated(net, net.conv(net.concat(*parts), 256, 1), "silu"), 128, 1), "silu")
    mid = activated(net, net.conv(_c3(net, net.concat(net.resize(top), skips[2]), 128, 1, False), 64, 1), "silu")
    low = _c3(net, net.concat(net.resize(mid), skips[1]), 64, 1, False)
    middle = _c3(net, net.concat(activated(net, net.conv(low, 64, 3, 2), "silu"), mid), 128, 1, False)
    high = _c3(net, net.concat(activated(net, net.conv(middle, 128, 3, 2), "silu"), top), 256, 1, False)
    for head in (low, middle, high):
        net.conv(head, 255, 1)
    return net.graph()


def deeplab_v3(size: int = 257) -> OperationGraph:
    """Segmentation on a MobileNetV3 whose last blocks are dilated, with a pyramid of dilated convolutions."""
    net = Network("deeplab_v3")
    x = _v3_large(net, size, 12)
    rows, columns = net.shapes[x][1:3]
    parts = [net.conv(x, 256, 1), *(net.conv(x, 256, 3, d=d) for d in (12, 24, 36))]
    pooled = net.conv(net.global_pool(x), 256, 1)
    parts.append(net.add_op("resize", [pooled], (1, rows, columns, 256), mode="linear", coordinates="half_pixel"))
    y = net.conv(net.conv(net.conv(net.concat(*parts), 256, 1), 256), 21, 1)
    net.add_op("resize", [y], (1, size, size, 21), mode="linear", coordinates="half_pixel")
    return net.graph()


def _msf(size: int, blocks: tuple[tuple[int, int, int, int, int, int], ...]) -> OperationGraph:
    """Return a chain of msf-CNN: of each block channels before and behind, expansion, stride, padding, kernel."""
    net = Network("msf")
    x = net.conv(net.input(size, size, 3), 16, 3, 2, pad=1)
    x = net.conv(net.depthwise(x, 3, 1, pad=1), 8, 1)
    for into, channels, expand, stride, pad, kernel in blocks:
        x = net.conv(net.depthwise(net.conv(x, into * expand, 1), kernel, stride, pad=pad), channels, 1)
    return net.graph()


def msf_vww5() -> OperationGraph:
    return _msf(
        80,
        (
            *((8, 16, 6, 2, 1, 3), (16, 16, 3, 1, 1, 3), (16, 16, 3, 1, 1, 3), (16, 24, 3, 2, 3, 7)),
            *((24, 24, 6, 1, 1, 3), (24, 24, 5, 1, 2, 5), (24, 40, 6, 2, 3, 7), (40, 40, 6, 1, 3, 7)),
            *((40, 48, 6, 1, 1, 3), (48, 48, 4, 1, 1, 3), (48, 96, 5, 2, 2, 5), (96, 96, 5, 1, 1, 3)),
            *((96, 96, 4, 1, 1, 3), (96, 160, 3, 1, 3, 7)),
        ),
    )


def msf_320k() -> OperationGraph:
    return _msf(
        176,
        (
            *((8, 16, 3, 2, 3, 7), (16, 16, 5, 1, 1, 3), (16, 16, 5, 1, 3, 7), (16, 16, 4, 1, 2, 5)),
            *((16, 24, 5, 2, 2, 5), (24, 24, 5, 1, 2, 5), (24, 24, 5, 1, 2, 5), (24, 40, 5, 2, 1, 3)),
            *((40, 40, 6, 1, 3, 7), (40, 40, 4, 1, 2, 5), (40, 48, 5, 1, 2, 5), (48, 48, 5, 1, 3, 7)),
            *((48, 48, 5, 1, 1, 3), (48, 96, 6, 2, 1, 3), (96, 96, 5, 1, 3, 7), (96, 96, 4, 1, 1, 3)),
            (96, 160, 5, 1, 3, 7),
        ),
    )


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


MEASURED: dict[str, Callable[[], OperationGraph]] = {
    made.__name__: made
    for made in (
        *(efficientnet_v2_s, regnet_y_400mf, mobilenet_v3_large, shufflenet_v2, se_twice),
        *(yolov5n, deeplab_v3, vit, convnext_tiny, msf_vww5, msf_320k),
        *(mobilenet_v3_small, mnasnet, squeezenet, densenet121, googlenet, ds_cnn, wav2vec, fsrcnn),
    )
}
