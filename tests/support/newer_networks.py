"""Networks after 2019 as graphs of operations: squeeze-and-excite, shuffles, heads, attention; int8 in NHWC."""

from memplan.programs.operations.graph import OperationGraph
from tests.support.networks import Network


def add_activation(net: Network, x: int, kind: str) -> int:
    """Add an activation, and return its output; `silu` is a sigmoid and a product, as exporters write it."""
    if kind == "silu":
        return net.mul(x, net.add_op("sigmoid", [x], net.shapes[x]))
    return net.add_op(kind, [x], net.shapes[x]) if kind else x


def add_excitation(net: Network, x: int, middle: int, act: str, gate: str) -> int:
    """Add a squeeze-and-excite block: the tensor scaled by a function of its global pool; return its output."""
    squeezed = add_activation(net, net.conv(net.global_pool(x), middle, 1), act)
    return net.mul(x, add_activation(net, net.conv(squeezed, net.shapes[x][3], 1), gate))


def se_twice(size: int = 56) -> OperationGraph:
    """Return two equal blocks of squeeze-and-excite, both of which reach the live peak."""
    net = Network("se_twice")
    x = net.conv(net.input(size, size, 3), 16, 3, 2)
    for _ in range(2):
        x = net.add(x, net.conv(add_excitation(net, net.depthwise(net.conv(x, 96, 1)), 8, "", "sigmoid"), 16, 1))
    net.add_dense(net.global_pool(x), 10)
    return net.graph()


def regnet_y_400mf() -> OperationGraph:
    net = Network("regnet_y_400mf")
    x = net.conv(net.input(224, 224, 3), 32, 3, 2)
    for channels, count in ((48, 1), (104, 3), (208, 6), (440, 6)):
        for i in range(count):
            into, s = net.shapes[x][3], 2 if i == 0 else 1
            y = net.conv(net.conv(x, channels, 1), channels, 3, s, groups=channels // 8)
            y = net.conv(add_excitation(net, y, into // 4, "", "sigmoid"), channels, 1)
            x = net.add(y, net.conv(x, channels, 1, s) if i == 0 else x)
    net.add_dense(net.global_pool(x), 1000)
    return net.graph()


def add_shuffle(net: Network, x: int) -> int:
    """Interleave two halves of the channels by a reshape to five axes, a transposition and a reshape back."""
    _, rows, columns, channels = net.shapes[x]
    apart = net.add_op("reshape", [x], (1, rows, columns, 2, channels // 2))
    turned = net.add_op("transpose", [apart], (1, rows, columns, channels // 2, 2), perm=(0, 1, 2, 4, 3))
    return net.add_op("reshape", [turned], (1, rows, columns, channels))


def halves(net: Network, x: int) -> tuple[int, int]:
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
        x = add_shuffle(net, net.concat(left, right))
        for _ in range(count - 1):
            left, right = halves(net, x)
            right = net.conv(net.depthwise(net.conv(right, half, 1)), half, 1)
            x = add_shuffle(net, net.concat(left, right))
    net.add_dense(net.global_pool(net.conv(x, 1024, 1)), 1000)
    return net.graph()


def vit(size: int = 96, layers: int = 4, width: int = 128, heads: int = 4, dtype: str = "float32") -> OperationGraph:
    """Return a vision transformer: patches of 8 x 8, attention by heads, dense layers; tokens in three axes."""
    net = Network("vit", dtype)
    side = size // 8
    n, each = side * side, width // heads
    x = net.add_op("reshape", [net.conv(net.input(size, size, 3), width, 8, 8, pad="valid")], (1, n, width))

    def add_dense(x: int, channels: int) -> int:
        return net.add_op("fully_connected", [x], (1, n, channels), (channels, net.shapes[x][2]))

    def transpose_heads(x: int, order: tuple[int, ...]) -> int:
        apart = net.add_op("reshape", [x], (1, n, heads, each))
        axes = (1, n, heads, each)
        return net.add_op("transpose", [apart], tuple(axes[k] for k in order), perm=order)

    for _ in range(layers):
        y = net.add_op("layer_norm", [x], (1, n, width), axis=-1)
        q, v = transpose_heads(add_dense(y, width), (0, 2, 1, 3)), transpose_heads(add_dense(y, width), (0, 2, 1, 3))
        k = transpose_heads(add_dense(y, width), (0, 2, 3, 1))
        scores = net.add_op("softmax", [net.add_op("matmul", [q, k], (1, heads, n, n))], (1, heads, n, n), axis=-1)
        mixed = net.add_op("matmul", [scores, v], (1, heads, n, each))
        back = net.add_op("transpose", [mixed], (1, n, heads, each), perm=(0, 2, 1, 3))
        x = net.add(x, add_dense(net.add_op("reshape", [back], (1, n, width)), width))
        y = add_dense(net.add_op("layer_norm", [x], (1, n, width), axis=-1), 4 * width)
        x = net.add(x, add_dense(net.add_op("gelu", [y], net.shapes[y]), width))
    net.add_dense(net.add_op("reduce_mean", [x], (1, width), axis=1), 1000)
    return net.graph()


def convnext_tiny(size: int = 224, depths: tuple[int, ...] = (3, 3, 9, 3)) -> OperationGraph:
    """Return ConvNeXt: convolutions in NCHW, layer norms and dense layers in NHWC, with transpositions; float."""
    net = Network("convnext_tiny", "float32")
    x = net.tensor(1, 3, size, size)

    def conv(x: int, channels: int, k: int, s: int, groups: int = 1, pad: int = 0) -> int:
        _, into, rows, columns = net.shapes[x]
        out = [(n + 2 * pad - k) // s + 1 for n in (rows, columns)]
        more = {"kernel": (k, k), "strides": (s, s), "pads": (pad,) * 4, "groups": groups, "layout": "NCHW"}
        return net.add_op("conv2d", [x], (1, channels, *out), (channels, into // groups, k, k), **more)

    def transpose(x: int, order: tuple[int, ...]) -> int:
        return net.add_op("transpose", [x], tuple(net.shapes[x][k] for k in order), perm=order)

    def normalize(x: int) -> int:
        return net.add_op("layer_norm", [x], net.shapes[x], axis=-1)

    for stage, channels in enumerate((96, 192, 384, 768)[: len(depths)]):
        if stage == 0:
            x = transpose(normalize(transpose(conv(x, channels, 4, 4), (0, 2, 3, 1))), (0, 3, 1, 2))
        else:
            x = conv(transpose(normalize(transpose(x, (0, 2, 3, 1))), (0, 3, 1, 2)), channels, 2, 2)
        for _ in range(depths[stage]):
            y = normalize(transpose(conv(x, channels, 7, 1, channels, 3), (0, 2, 3, 1)))
            wide = net.add_op("matmul", [y], (*net.shapes[y][:3], 4 * channels), (channels, 4 * channels))
            wide = net.add_op("gelu", [wide], net.shapes[wide])
            y = net.add_op("matmul", [wide], net.shapes[y], (4 * channels, channels))
            x = net.add(x, transpose(y, (0, 3, 1, 2)))
    net.add_dense(net.add_op("global_average_pool", [x], (1, net.shapes[x][1], 1, 1), layout="NCHW"), 1000)
    return net.graph()
