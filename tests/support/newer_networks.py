"""Networks after 2019 as graphs of operations: squeeze-and-excite, shuffles, heads, attention; int8 in NHWC."""

from __future__ import annotations

from collections.abc import Callable

from memplan.planner.operations.graph import OperationGraph
from tests.support.networks import Network, rounded


def _act(net: Network, x: int, kind: str) -> int:
    """Apply an activation; `silu` as the exporters write it, a sigmoid and a product."""
    if kind == "silu":
        return net.mul(x, net.add_op("sigmoid", [x], net.shapes[x]))
    return net.add_op(kind, [x], net.shapes[x]) if kind else x


def excited(net: Network, x: int, middle: int, act: str, gate: str) -> int:
    """Scale a tensor by what its global pool says."""
    squeezed = _act(net, net.conv(net.global_pool(x), middle, 1), act)
    return net.mul(x, _act(net, net.conv(squeezed, net.shapes[x][3], 1), gate))


def efficientnet_v2_s(size: int = 384, stages: int = 6) -> OperationGraph:
    net = Network("efficientnet_v2_s")
    x = _act(net, net.conv(net.input(size, size, 3), 24, 3, 2), "silu")
    table = [(2, 24, 1, 1, 0), (4, 48, 2, 4, 0), (4, 64, 2, 4, 0), (6, 128, 2, 4, 1), (9, 160, 1, 6, 1)]
    for count, channels, stride, expand, excites in [*table, (15, 256, 2, 6, 1)][:stages]:
        for i in range(count):
            x = _v2_block(net, x, channels, expand, stride if i == 0 else 1, excites == 1)
    net.dense(net.global_pool(_act(net, net.conv(x, 1280, 1), "silu")), 1000)
    return net.graph()


def _v2_block(net: Network, x: int, channels: int, expand: int, s: int, excites: bool) -> int:
    into, y = net.shapes[x][3], x
    if excites:
        y = _act(net, net.depthwise(_act(net, net.conv(y, into * expand, 1), "silu"), 3, s), "silu")
        y = net.conv(excited(net, y, into // 4, "silu", "sigmoid"), channels, 1)
    elif expand > 1:
        y = net.conv(_act(net, net.conv(y, into * expand, 3, s), "silu"), channels, 1)
    else:
        y = _act(net, net.conv(y, channels, 3, s), "silu")
    return net.add(x, y) if s == 1 and into == channels else y


def se_twice(size: int = 56) -> OperationGraph:
    """Two equal blocks of squeeze-and-excite, which bind at the same peak."""
    net = Network("se_twice")
    x = net.conv(net.input(size, size, 3), 16, 3, 2)
    for _ in range(2):
        x = net.add(x, net.conv(excited(net, net.depthwise(net.conv(x, 96, 1)), 8, "", "sigmoid"), 16, 1))
    net.dense(net.global_pool(x), 10)
    return net.graph()


def regnet_y_400mf() -> OperationGraph:
    net = Network("regnet_y_400mf")
    x = net.conv(net.input(224, 224, 3), 32, 3, 2)
    for channels, count in ((48, 1), (104, 3), (208, 6), (440, 6)):
        for i in range(count):
            into, s = net.shapes[x][3], 2 if i == 0 else 1
            y = net.conv(net.conv(x, channels, 1), channels, 3, s, groups=channels // 8)
            y = net.conv(excited(net, y, into // 4, "", "sigmoid"), channels, 1)
            x = net.add(y, net.conv(x, channels, 1, s) if i == 0 else x)
    net.dense(net.global_pool(x), 1000)
    return net.graph()


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
    x = _act(net, net.conv(net.input(size, size, 3), 16, 3, 2), "hard_swish")
    for position, (k, middle, channels, excites, act, stride) in enumerate(V3_LARGE):
        into, s, d = net.shapes[x][3], stride if position < dilated else 1, 2 if position >= dilated else 1
        y = x if middle == into else _act(net, net.conv(x, middle, 1), act)
        y = _act(net, net.depthwise(y, k, s, d=d), act)
        y = excited(net, y, rounded(middle // 4, 1), "", "hard_sigmoid") if excites else y
        y = net.conv(y, channels, 1)
        x = net.add(x, y) if s == 1 and into == channels else y
    return _act(net, net.conv(x, 960, 1), "hard_swish")


def mobilenet_v3_large() -> OperationGraph:
    net = Network("mobilenet_v3_large")
    x = net.global_pool(_v3_large(net, 224))
    net.dense(_act(net, net.dense(x, 1280), "hard_swish"), 1000)
    return net.graph()


def shuffled(net: Network, x: int) -> int:
    """Interleave two halves of the channels: a reshape to five axes, a transposition, a reshape back."""
    _, rows, columns, channels = net.shapes[x]
    apart = net.add_op("reshape", [x], (1, rows, columns, 2, channels // 2))
    turned = net.add_op("transpose", [apart], (1, rows, columns, channels // 2, 2), perm=(0, 1, 2, 4, 3))
    return net.add_op("reshape", [turned], (1, rows, columns, channels))


def halves(net: Network, x: int) -> tuple[int, int]:
    """Split the channels in two halves, by one operation with two outputs."""
    *axes, channels = net.shapes[x]
    first = net.add_op("split", [x], (*axes, channels // 2), axis=3)
    second = net.tensor(*axes, channels // 2)
    net.ops[-1]["out"].append(second)
    return first, second


def shufflenet_v2(size: int = 224) -> OperationGraph:
    net = Network("shufflenet_v2")
    x = net.pool(net.conv(net.input(size, size, 3), 24, 3, 2), 3, 2, pad=1)
    for channels, count in ((116, 4), (232, 8), (464, 4)):
        half = channels // 2
        left = net.conv(net.depthwise(x, 3, 2), half, 1)
        right = net.conv(net.depthwise(net.conv(x, half, 1), 3, 2), half, 1)
        x = shuffled(net, net.concat(left, right))
        for _ in range(count - 1):
            left, right = halves(net, x)
            right = net.conv(net.depthwise(net.conv(right, half, 1)), half, 1)
            x = shuffled(net, net.concat(left, right))
    net.dense(net.global_pool(net.conv(x, 1024, 1)), 1000)
    return net.graph()


def _c3(net: Network, x: int, channels: int, count: int, adds: bool = True) -> int:
    middle = channels // 2
    y, other = _act(net, net.conv(x, middle, 1), "silu"), _act(net, net.conv(x, middle, 1), "silu")
    for _ in range(count):
        z = _act(net, net.conv(_act(net, net.conv(y, middle, 1), "silu"), middle), "silu")
        y = net.add(y, z) if adds else z
    return _act(net, net.conv(net.concat(y, other), channels, 1), "silu")


def yolov5n(size: int = 320) -> OperationGraph:
    net = Network("yolov5n")
    x, skips = _act(net, net.conv(net.input(size, size, 3), 16, 6, 2, pad=2), "silu"), []
    for channels, count in ((32, 1), (64, 2), (128, 3), (256, 1)):
        x = _c3(net, _act(net, net.conv(x, channels, 3, 2), "silu"), channels, count)
        skips.append(x)
    parts = [_act(net, net.conv(x, 128, 1), "silu")]
    for _ in range(3):
        parts.append(net.pool(parts[-1], 5, 1))
    top = _act(net, net.conv(_act(net, net.conv(net.concat(*parts), 256, 1), "silu"), 128, 1), "silu")
    mid = _act(net, net.conv(_c3(net, net.concat(net.resize(top), skips[2]), 128, 1, False), 64, 1), "silu")
    low = _c3(net, net.concat(net.resize(mid), skips[1]), 64, 1, False)
    middle = _c3(net, net.concat(_act(net, net.conv(low, 64, 3, 2), "silu"), mid), 128, 1, False)
    high = _c3(net, net.concat(_act(net, net.conv(middle, 128, 3, 2), "silu"), top), 256, 1, False)
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


def vit(size: int = 96, layers: int = 4, width: int = 128, heads: int = 4, dtype: str = "float32") -> OperationGraph:
    """Patches of 8 x 8, attention by heads, dense layers; as exporters write it, tokens in three axes."""
    net = Network("vit", dtype)
    side = size // 8
    n, each = side * side, width // heads
    x = net.add_op("reshape", [net.conv(net.input(size, size, 3), width, 8, 8, pad="valid")], (1, n, width))

    def dense(x: int, channels: int) -> int:
        return net.add_op("fully_connected", [x], (1, n, channels), (channels, net.shapes[x][2]))

    def by_heads(x: int, order: tuple[int, ...]) -> int:
        apart = net.add_op("reshape", [x], (1, n, heads, each))
        axes = (1, n, heads, each)
        return net.add_op("transpose", [apart], tuple(axes[k] for k in order), perm=order)

    for _ in range(layers):
        y = net.add_op("layer_norm", [x], (1, n, width), axis=-1)
        q, v = by_heads(dense(y, width), (0, 2, 1, 3)), by_heads(dense(y, width), (0, 2, 1, 3))
        k = by_heads(dense(y, width), (0, 2, 3, 1))
        scores = net.add_op("softmax", [net.add_op("matmul", [q, k], (1, heads, n, n))], (1, heads, n, n), axis=-1)
        mixed = net.add_op("matmul", [scores, v], (1, heads, n, each))
        back = net.add_op("transpose", [mixed], (1, n, heads, each), perm=(0, 2, 1, 3))
        x = net.add(x, dense(net.add_op("reshape", [back], (1, n, width)), width))
        y = dense(net.add_op("layer_norm", [x], (1, n, width), axis=-1), 4 * width)
        x = net.add(x, dense(net.add_op("gelu", [y], net.shapes[y]), width))
    pooled = net.add_op("reduce_mean", [x], (1, width), axis=1)
    net.dense(pooled, 1000)
    return net.graph()


def convnext_tiny(size: int = 224, depths: tuple[int, ...] = (3, 3, 9, 3)) -> OperationGraph:
    """Convolutions in NCHW, layer norms and dense layers in NHWC, with transpositions between them; float."""
    net = Network("convnext_tiny", "float32")
    x = net.tensor(1, 3, size, size)

    def conv(x: int, channels: int, k: int, s: int, groups: int = 1, pad: int = 0) -> int:
        _, into, rows, columns = net.shapes[x]
        out = [(n + 2 * pad - k) // s + 1 for n in (rows, columns)]
        more = {"kernel": (k, k), "strides": (s, s), "pads": (pad,) * 4, "groups": groups, "layout": "NCHW"}
        return net.add_op("conv2d", [x], (1, channels, *out), (channels, into // groups, k, k), **more)

    def turned(x: int, order: tuple[int, ...]) -> int:
        return net.add_op("transpose", [x], tuple(net.shapes[x][k] for k in order), perm=order)

    def normed(x: int) -> int:
        return net.add_op("layer_norm", [x], net.shapes[x], axis=-1)

    for stage, channels in enumerate((96, 192, 384, 768)[: len(depths)]):
        if stage == 0:
            x = turned(normed(turned(conv(x, channels, 4, 4), (0, 2, 3, 1))), (0, 3, 1, 2))
        else:
            x = conv(turned(normed(turned(x, (0, 2, 3, 1))), (0, 3, 1, 2)), channels, 2, 2)
        for _ in range(depths[stage]):
            y = normed(turned(conv(x, channels, 7, 1, channels, 3), (0, 2, 3, 1)))
            wide = net.add_op("matmul", [y], (*net.shapes[y][:3], 4 * channels), (channels, 4 * channels))
            wide = net.add_op("gelu", [wide], net.shapes[wide])
            y = net.add_op("matmul", [wide], net.shapes[y], (4 * channels, channels))
            x = net.add(x, turned(y, (0, 3, 1, 2)))
    net.dense(net.add_op("global_average_pool", [x], (1, net.shapes[x][1], 1, 1), layout="NCHW"), 1000)
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


NEWER: dict[str, Callable[[], OperationGraph]] = {
    made.__name__: made
    for made in (
        *(efficientnet_v2_s, regnet_y_400mf, mobilenet_v3_large, shufflenet_v2, se_twice),
        *(yolov5n, deeplab_v3, vit, convnext_tiny, msf_vww5, msf_320k),
    )
}
