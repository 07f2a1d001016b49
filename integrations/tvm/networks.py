"""Networks as Relax modules, with random weights: of torch, of ONNX, and of `relax.frontend.nn`.

`made(NAME)` returns a module and the inputs to run it on, several lengths where one is free. `any_` has a free length
or batch, `half_` is in half precision, `tv_` an architecture of torchvision, `onnx_` and `nn_` name the frontend.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import tvm
from onnx import helper, numpy_helper
from torch import nn
from torch.nn import functional
from tvm import relax
from tvm.relax.frontend import nn as relax_nn
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.torch import from_exported_program

from memplan.extensions.torch.tests import torch_zoo

warnings.simplefilter("ignore")

SMALL = [
    "resnet18",
    "vgg",
    "mobilenet_v2",
    "mobilenet_v3",
    "densenet",
    "inception",
    "shufflenet",
    "unet",
    "convnext",
    "mixer",
    "generator",
    "autoencoder",
    "gpt2",
    "llama",
    "bert",
    "experts",
    "vit",
    "swin",
    "encoder",
    "translator",
    "scanned",
]
IMAGES = {"densenet121": 128, "googlenet": 128, "mobilenet_v2": 224, "resnet18": 224, "squeezenet1_1": 224}
FREE = ("gpt2", "llama", "bert", "experts", "densenet", "mobilenet_v2", "unet", "vit", "decode", "speech")


@dataclass
class Network:
    """A network of torch: the model, its inputs, and the dimension that may be free, of each input."""

    model: Any
    inputs: tuple[Any, ...]
    free: tuple[dict[int, Any] | None, ...] = ()
    values: tuple[int, ...] = field(default=())


class Decoder(nn.Module):
    """GPT-2 on top of a cache: keys and values of earlier tokens are an input, the new ones an output."""

    def __init__(self, layers: int = 4, width: int = 128, heads: int = 4, words: int = 1000) -> None:
        super().__init__()
        self.heads, self.words, self.places = heads, nn.Embedding(words, width), nn.Embedding(512, width)
        self.layers = nn.ModuleList(nn.ModuleDict(self._layer(width)) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    @staticmethod
    def _layer(width: int) -> dict[str, Any]:
        return {
            "before": nn.LayerNorm(width),
            "inward": nn.Linear(width, 3 * width),
            "outward": nn.Linear(width, width),
            "between": nn.LayerNorm(width),
            "wide": nn.Linear(width, 4 * width),
            "narrow": nn.Linear(4 * width, width),
        }

    def forward(self, tokens: Any, past: Any) -> Any:
        batch, length = tokens.shape
        x = self.words(tokens) + self.places(torch.arange(length) + past.shape[3])
        made = []
        for k, layer in enumerate(self.layers):
            rows = layer["inward"](layer["before"](x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            key, value = torch.cat([past[2 * k], rows[1]], 2), torch.cat([past[2 * k + 1], rows[2]], 2)
            seen = ((rows[0] @ key.transpose(2, 3)) / key.shape[-1] ** 0.5).softmax(-1) @ value
            x = x + layer["outward"](seen.transpose(1, 2).reshape(batch, length, -1))
            x = x + layer["narrow"](functional.gelu(layer["wide"](layer["between"](x))))
            made += [rows[1], rows[2]]
        return self.head(self.norm(x)), torch.stack(made)


class Denoiser(nn.Module):
    """A step of diffusion: a U-Net that knows the time, and attends to a text in its middle."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2 * width))
        self.first, self.last = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.norm, self.middle = nn.GroupNorm(8, 2 * width), nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.query, self.key, self.value = (nn.Linear(2 * width, 2 * width) for _ in range(3))
        self.up = nn.Conv2d(3 * width, width, 3, padding=1)

    def forward(self, x: Any, time: Any, text: Any) -> Any:
        angle = time[:, None] * torch.exp(-torch.arange(16).float() / 2)
        high = self.first(x)
        low = self.down(functional.silu(high)) + self.time(torch.cat([angle.sin(), angle.cos()], 1))[:, :, None, None]
        low = low + self.middle(functional.silu(self.norm(low)))
        rows = low.flatten(2).transpose(1, 2)
        scores = self.query(rows) @ self.key(text).transpose(1, 2) / rows.shape[-1] ** 0.5
        low = low + (scores.softmax(-1) @ self.value(text)).transpose(1, 2).reshape(low.shape)
        grown = functional.interpolate(low, scale_factor=2.0, mode="nearest")
        return x - 0.1 * self.last(functional.silu(self.up(torch.cat([grown, high], 1))))


class Listener(nn.Module):
    """An encoder of speech: convolutions over time, then layers of attention."""

    def __init__(self, width: int = 64, layers: int = 2) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(80, width, 3, padding=1), nn.Conv1d(width, width, 3, padding=1)
        layer = {"rotary": False, "causal": False}
        self.layers, self.norm = nn.ModuleList(torch_zoo.Layer(width, 4, **layer) for _ in range(layers)), None

    def forward(self, x: Any) -> Any:
        x = functional.gelu(self.second(functional.gelu(self.first(x)))).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return x


def turned(_: Any, x: Any) -> Any:
    """Turn queries as `Layer.turned` does, with angles in float32: TVM's frontend has no cosine of whole numbers."""
    angle = torch.arange(x.shape[2])[:, None].float() / 10.0 ** torch.arange(x.shape[3] // 2).float()
    first, second = x.chunk(2, -1)
    return torch.cat([first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()], -1)


def image_network(name: str) -> Network:
    library = torch.library.Library("torchvision", "DEF")  # a torch for processors lacks what torchvision registers
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

    options = {"init_weights": False, "aux_logits": False} if name == "googlenet" else {}
    side = IMAGES[name]
    return Network(getattr(torchvision.models, name)(weights=None, **options), (torch.randn(1, 3, side, side),))


def network(name: str) -> Network:
    if name.startswith("tv_"):
        return image_network(name.removeprefix("tv_"))
    if name in ("decode", "prefill"):
        length, past = (1, 64) if name == "decode" else (64, 1)
        free = (None, {3: torch.export.Dim("past", min=2, max=256)})
        inputs = (torch.randint(1000, (1, length)), torch.randn(8, 1, 4, past, 32))
        return Network(Decoder(), inputs, free, (2, 17, 64, 100, 256))
    if name == "diffusion":
        return Network(Denoiser(), (torch.randn(1, 4, 32, 32), torch.rand(1), torch.randn(1, 12, 64)))
    if name == "speech":
        length = torch.export.Dim("length", min=8, max=200)
        return Network(Listener(), (torch.randn(1, 80, 100),), ({2: length},), (8, 31, 100, 128, 200))
    model, inputs = torch_zoo.MODELS[name]()
    if isinstance(model, torch_zoo.Language):
        return Network(model, inputs, ({1: torch.export.Dim("length", min=2, max=48)},), (2, 7, 12, 33, 48))
    return Network(model, inputs, ({0: torch.export.Dim("batch", min=2, max=8)},), (2, 3, 5, 7, 8))


def of_torch(name: str) -> tuple[Any, list[list[Any]]]:
    torch.manual_seed(0)
    torch_zoo.Layer.turned = turned
    kind, _, rest = name.partition("_")
    is_free, is_half = kind == "any", kind == "half"
    found = network(rest if is_free or is_half else name)
    free: Any = None
    if is_free:
        free = (found.free,) if isinstance(found.model, torch_zoo.Network) else found.free
    exported = torch.export.export(found.model.eval(), found.inputs, dynamic_shapes=free, strict=False)
    module = from_exported_program(exported)
    passes = [relax.transform.DecomposeOpsForInference(), relax.transform.CanonicalizeBindings()]
    if is_half:
        passes.append(relax.transform.ToMixedPrecision("float32"))
    with tvm.target.Target("llvm"):
        module = tvm.transform.Sequential(passes)(module)
    values = found.values if is_free else (None,)
    return module, [[sized(each, axes, value) for each, axes in pairs(found, is_free)] for value in values]


def pairs(found: Network, is_free: bool) -> list[tuple[Any, Any]]:
    return [(each, found.free[k] if is_free else None) for k, each in enumerate(found.inputs)]


def sized(tensor: Any, axes: dict[int, Any] | None, value: int | None) -> Any:
    """Return a tensor of numbers whose free dimension has a value."""
    shape = [value if axes and k in axes else length for k, length in enumerate(tensor.shape)]
    if list(tensor.shape) == shape:
        return np.asarray(tensor)
    return np.asarray(torch.randn(shape) if tensor.is_floating_point() else torch.randint(50, shape))


def onnx_module(kinds: Sequence[str], *, free: bool) -> tuple[Any, list[list[Any]]]:
    """Return a network of ONNX: convolutions with these activations, each beside what it read, then a product."""
    draw = np.random.default_rng(0)
    batch: Any = "batch" if free else 2
    nodes, constants = [helper.make_node("Conv", ["x", "w"], ["y0"], pads=[1, 1, 1, 1])], {"w": (8, 3, 3, 3)}
    for k, kind in enumerate(kinds):
        constants[f"w{k}"] = (8, 8, 3, 3)
        nodes.append(helper.make_node("Conv", [f"y{k}", f"w{k}"], [f"c{k}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node(kind, [f"c{k}"], [f"a{k}"]))
        nodes.append(helper.make_node("Add", [f"y{k}", f"a{k}"], [f"y{k + 1}"]))
    nodes.append(helper.make_node("GlobalAveragePool", [f"y{len(kinds)}"], ["p"]))
    nodes.append(helper.make_node("Flatten", ["p"], ["f"]))
    nodes.append(helper.make_node("MatMul", ["f", "m"], ["z"]))
    constants["m"] = (8, 10)
    tensors = [
        numpy_helper.from_array(draw.standard_normal(shape, dtype=np.float32), name)
        for name, shape in constants.items()
    ]
    ends = [
        [helper.make_tensor_value_info(name, 1, shape)]
        for name, shape in (("x", (batch, 3, 32, 32)), ("z", (batch, 10)))
    ]
    graph = helper.make_graph(nodes, "network", *ends, initializer=tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    sizes = (1, 2, 5, 8, 16) if free else (2,)
    return from_onnx(model), [[draw.standard_normal((size, 3, 32, 32), dtype=np.float32)] for size in sizes]


class Block(relax_nn.Module):
    """A block of Llama in TVM's own frontend: attention over what is given, and a gated product."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        self.heads, self.width = heads, width
        self.norm, self.between = (relax_nn.RMSNorm(width, -1, 1e-5, bias=False) for _ in range(2))
        self.inward, self.outward = (
            relax_nn.Linear(width, 3 * width, bias=False),
            relax_nn.Linear(width, width, bias=False),
        )
        self.gate, self.up = (relax_nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = relax_nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Any) -> Any:
        op = relax_nn.op
        batch, length, _ = x.shape
        rows = [
            op.permute_dims(op.reshape(part, (batch, length, self.heads, self.width // self.heads)), [0, 2, 1, 3])
            for part in op.split(self.inward(self.norm(x)), 3, axis=-1)
        ]
        scores = op.softmax(op.matmul(rows[0], op.permute_dims(rows[1], [0, 1, 3, 2])) * 0.25, axis=-1)
        seen = op.permute_dims(op.matmul(scores, rows[2]), [0, 2, 1, 3])
        x = x + self.outward(op.reshape(seen, (batch, length, self.width)))
        y = self.between(x)
        return x + self.down(op.silu(self.gate(y)) * self.up(y))


class Stack(relax_nn.Module):
    """Blocks one behind the other."""

    def __init__(self, layers: int = 3) -> None:
        self.layers = relax_nn.ModuleList([Block() for _ in range(layers)])

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


def nn_module(*, free: bool) -> tuple[Any, list[list[Any]]]:
    draw = np.random.default_rng(0)
    length = "length" if free else 24
    spec = {"forward": {"x": relax_nn.spec.Tensor([1, length, 64], "float32")}}
    module, parameters = Stack().export_tvm(spec=spec)
    weights = [draw.standard_normal(each.shape, dtype=np.float32) / 8 for _, each in parameters]
    module["main"] = module["forward"].with_attr("global_symbol", "main")
    del module["forward"]
    sizes = (1, 7, 24, 64, 130) if free else (24,)
    return module, [[draw.standard_normal((1, size, 64), dtype=np.float32), *weights] for size in sizes]


OTHERS: dict[str, Callable[[], tuple[Any, list[list[Any]]]]] = {
    "onnx_residual": lambda: onnx_module(("Relu", "Sigmoid", "Tanh", "Relu"), free=False),
    "onnx_free": lambda: onnx_module(("Relu", "Tanh", "Sigmoid"), free=True),
    "nn_blocks": lambda: nn_module(free=False),
    "nn_free": lambda: nn_module(free=True),
}
NAMES = [
    *SMALL,
    *("decode", "prefill", "diffusion", "speech"),
    *(f"tv_{name}" for name in IMAGES),
    *(f"half_{name}" for name in ("gpt2", "vit", "unet")),
    *(f"any_{name}" for name in FREE),
    *OTHERS,
]


def made(name: str) -> tuple[Any, list[list[Any]]]:
    """Return a network's module, and the inputs of each run."""
    return OTHERS[name]() if name in OTHERS else of_torch(name)
