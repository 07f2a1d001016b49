"""Small models of many kinds for tests of torch steps: convolutions, attention, experts, recurrence."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from memplan.extensions.torch.tests.torch_models import normal, resnet

Made = tuple[Any, tuple[Any, ...]]


class Network(nn.Module):  # type: ignore[misc]  # the package is untyped
    """A network of named parts; its forward pass is a function that receives the network and the inputs."""

    def __init__(self, forward: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.run = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs: Any) -> Any:
        return self.run(self, *inputs)


def convolution(inward: int, outward: int, size: int = 3, stride: int = 1, groups: int = 1) -> Any:
    return nn.Conv2d(inward, outward, size, stride, size // 2, groups=groups)


def image(channels: int = 3, size: int = 32, batch: int = 2) -> Any:
    return torch.randn(batch, channels, size, size)


def tokens(length: int = 12, batch: int = 2, words: int = 50) -> Any:
    return torch.randint(words, (batch, length))


def vgg() -> Made:
    layers: list[Any] = []
    for inward, outward in ((3, 8), (8, 16), (16, 32)):
        layers += [convolution(inward, outward), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10)), (image(),)


def inverted_residual(inward: int, outward: int, stride: int, squeezes: bool = False) -> Any:
    wide = 4 * inward

    def run(own: Any, x: Any) -> Any:
        y = functional.relu6(own.grow(x))
        y = functional.relu6(own.depth(y))
        if squeezes:
            y = y * torch.sigmoid(own.excite(functional.silu(own.squeeze(y.mean((2, 3), keepdim=True)))))
        y = own.shrink(y)
        return x + y if stride == 1 and inward == outward else y

    depth = nn.Sequential(convolution(wide, wide, 3, stride, wide), nn.BatchNorm2d(wide))
    parts = {"squeeze": nn.Conv2d(wide, 4, 1), "excite": nn.Conv2d(4, wide, 1)} if squeezes else {}
    return Network(run, grow=normal(inward, wide, 1), depth=depth, shrink=normal(wide, outward, 1), **parts)


def mobilenet(squeezes: bool = False) -> Made:
    rows = ((8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 24, 2))
    blocks = [inverted_residual(*row, squeezes=squeezes) for row in rows]
    end = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(24, 10))
    return nn.Sequential(normal(3, 8, 3, 2), nn.ReLU6(inplace=True), *blocks, *end), (image(),)


def densenet() -> Made:
    def run(own: Any, x: Any) -> Any:
        x = own.first(x)
        for layer in own.layers:
            x = torch.cat([x, layer(x)], 1)
        return own.last(functional.relu(x).mean((2, 3)))

    layers = (nn.Sequential(nn.BatchNorm2d(8 + 4 * k), nn.ReLU(), convolution(8 + 4 * k, 4)) for k in range(4))
    return Network(run, first=convolution(3, 8), layers=nn.ModuleList(layers), last=nn.Linear(24, 10)), (image(),)


def inception() -> Made:
    def run(own: Any, x: Any) -> Any:
        x = own.first(x)
        x = torch.cat([own.one(x), own.three(x), own.five(x), own.pool(functional.max_pool2d(x, 3, 1, 1))], 1)
        return own.last(x.flatten(1))

    parts = {"one": normal(8, 4, 1), "three": normal(8, 6, 3), "five": normal(8, 4, 5), "pool": normal(8, 2, 1)}
    return Network(run, first=normal(3, 8, 3, 2), last=nn.Linear(16 * 256, 10), **parts), (image(),)


def shufflenet() -> Made:
    def run(own: Any, x: Any) -> Any:
        x = own.first(x)
        for part in own.parts:
            kept, changed = x.chunk(2, 1)
            x = torch.cat([kept, part(changed)], 1)
            x = x.view(x.shape[0], 2, -1, *x.shape[2:]).transpose(1, 2).flatten(1, 2)
        return x.mean((2, 3))

    parts = nn.ModuleList(nn.Sequential(normal(8, 8, 1), nn.ReLU(), normal(8, 8, 1)) for _ in range(3))
    return Network(run, first=convolution(3, 16), parts=parts), (image(),)


def unet() -> Made:
    def run(own: Any, x: Any) -> Any:
        seen = []
        for part in own.down:
            x = part(x)
            seen.append(x)
            x = functional.max_pool2d(x, 2)
        x = own.middle(x)
        for grow, part in zip(own.grow, own.up, strict=True):
            x = part(torch.cat([grow(x), seen.pop()], 1))
        return own.last(x)

    down = nn.ModuleList((normal(3, 8, 3), normal(8, 16, 3)))
    grow = nn.ModuleList((nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)))
    up = nn.ModuleList((normal(32, 16, 3), normal(16, 8, 3)))
    return Network(run, down=down, middle=normal(16, 32, 3), grow=grow, up=up, last=nn.Conv2d(8, 2, 1)), (image(),)


def convnext() -> Made:
    def run(own: Any, x: Any) -> Any:
        x = own.first(x)
        for depth, norm, wide, narrow in zip(own.depth, own.norm, own.wide, own.narrow, strict=True):
            y = norm(depth(x).permute(0, 2, 3, 1))
            x = x + narrow(functional.gelu(wide(y))).permute(0, 3, 1, 2)
        return x.mean((2, 3))

    parts = {
        "depth": nn.ModuleList(convolution(8, 8, 7, 1, 8) for _ in range(2)),
        "norm": nn.ModuleList(nn.LayerNorm(8) for _ in range(2)),
        "wide": nn.ModuleList(nn.Linear(8, 32) for _ in range(2)),
        "narrow": nn.ModuleList(nn.Linear(32, 8) for _ in range(2)),
    }
    return Network(run, first=nn.Conv2d(3, 8, 4, 4), **parts), (image(),)


def mixer() -> Made:
    def run(own: Any, x: Any) -> Any:
        x = own.first(x).flatten(2).transpose(1, 2)
        x = x + own.over_places(x.transpose(1, 2)).transpose(1, 2)
        return own.last((x + own.over_channels(own.norm(x))).mean(1))

    parts: dict[str, Any] = {
        "over_places": nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 64)),
        "over_channels": nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16)),
    }
    return Network(run, first=nn.Conv2d(3, 16, 4, 4), norm=nn.LayerNorm(16), last=nn.Linear(16, 10), **parts), (
        image(),
    )


def generator() -> Made:
    layers: list[Any] = [nn.ConvTranspose2d(16, 32, 4), nn.BatchNorm2d(32), nn.ReLU(inplace=True)]
    layers += [nn.ConvTranspose2d(32, 8, 4, 2, 1), nn.InstanceNorm2d(8), nn.LeakyReLU(0.2, inplace=True)]
    return nn.Sequential(*layers, nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh()), (image(16, 1),)


def autoencoder() -> Made:
    inward = (nn.Flatten(), nn.Linear(3072, 64), nn.ELU(), nn.Linear(64, 8))
    return nn.Sequential(*inward, nn.Linear(8, 64), nn.GroupNorm(4, 64), nn.SiLU(), nn.Linear(64, 3072)), (image(),)


class RootNorm(nn.Module):  # type: ignore[misc]  # the package is untyped
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Any) -> Any:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Layer(nn.Module):  # type: ignore[misc]  # the package is untyped
    """A transformer layer of GPT-2, or of Llama if `rotary`, which has fewer keys than queries and rotary embedding."""

    def __init__(self, width: int, heads: int, *, rotary: bool, causal: bool = True, experts: int = 0) -> None:
        super().__init__()
        self.heads, self.rotary, self.causal = heads, rotary, causal
        self.keys = heads // 2 if rotary else heads
        norm = RootNorm if rotary else nn.LayerNorm
        self.before, self.between = norm(width), norm(width)
        self.query = nn.Linear(width, width, bias=not rotary)
        self.key, self.value = (nn.Linear(width, width * self.keys // heads, bias=not rotary) for _ in range(2))
        self.outward = nn.Linear(width, width, bias=not rotary)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.gate = nn.Linear(width, 4 * width) if rotary else None
        self.experts = Experts(width, experts) if experts else None

    def rotate(self, x: Any) -> Any:
        angle = torch.arange(x.shape[2])[:, None] / 10 ** torch.arange(x.shape[3] // 2)
        first, second = x.chunk(2, -1)
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)

    def forward(self, x: Any, past: tuple[Any, Any] | None = None) -> Any:
        batch, length, width = x.shape
        y = self.before(x)
        query = self.query(y).view(batch, length, self.heads, -1).transpose(1, 2)
        key, value = (part(y).view(batch, length, self.keys, -1).transpose(1, 2) for part in (self.key, self.value))
        if self.rotary:
            query, key = self.rotate(query), self.rotate(key)
        if past is not None:
            key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        if self.keys < self.heads:
            key, value = (part.repeat_interleave(self.heads // self.keys, 1) for part in (key, value))
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal and past is None)
        x = x + self.outward(seen.transpose(1, 2).reshape(batch, length, width))
        y = self.between(x)
        if self.experts is not None:
            return x + self.experts(y)
        wide = functional.silu(self.gate(y)) * self.wide(y) if self.gate is not None else functional.gelu(self.wide(y))
        return x + self.narrow(wide)


class Experts(nn.Module):  # type: ignore[misc]  # the package is untyped
    """A mixture of experts, two per token, computed for all tokens because shapes must not depend on values."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.router = nn.Linear(width, count)
        self.inward = nn.Parameter(torch.randn(count, width, 2 * width) / width)
        self.outward = nn.Parameter(torch.randn(count, 2 * width, width) / width)

    def forward(self, x: Any) -> Any:
        weights, chosen = self.router(x).softmax(-1).topk(2, -1)
        gate = torch.zeros(*x.shape[:-1], self.inward.shape[0]).scatter(-1, chosen, weights)
        wide = functional.relu(torch.einsum("btw,ewh->bteh", x, self.inward))
        return torch.einsum("bteh,ehw,bte->btw", wide, self.outward, gate)


class Language(nn.Module):  # type: ignore[misc]  # the package is untyped
    """A language model; if `tied`, its output layer shares the weights of its word embedding."""

    def __init__(
        self, layers: int, width: int, heads: int, words: int = 50, length: int = 64, *, tied: bool = True, **layer: Any
    ) -> None:
        super().__init__()
        layer.setdefault("rotary", False)
        self.words = nn.Embedding(words, width)
        self.places = None if layer["rotary"] else nn.Embedding(length, width)
        self.layers = nn.ModuleList(Layer(width, heads, **layer) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, x: Any, *past: Any) -> Any:
        y = self.words(x)
        if self.places is not None:
            y = y + self.places(torch.arange(x.shape[1]))
        for k, layer in enumerate(self.layers):
            y = layer(y, (past[2 * k], past[2 * k + 1]) if past else None)
        return self.head(self.norm(y))


def vit() -> Made:
    def run(own: Any, x: Any) -> Any:
        x = own.first(x).flatten(2).transpose(1, 2)
        x = torch.cat([own.mark.expand(x.shape[0], -1, -1), x], 1)
        for layer in own.layers:
            x = layer(x)
        return own.last(x[:, 0])

    layers = nn.ModuleList(Layer(16, 4, rotary=False, causal=False) for _ in range(2))
    mark = nn.Parameter(torch.zeros(1, 1, 16))
    return Network(run, first=nn.Conv2d(3, 16, 8, 8), mark=mark, layers=layers, last=nn.Linear(16, 10)), (image(),)


def swin() -> Made:
    def run(own: Any, x: Any) -> Any:
        x = own.first(x).permute(0, 2, 3, 1)
        x = torch.roll(x, (-2, -2), (1, 2))
        batch, high, wide, width = x.shape
        x = x.view(batch, high // 4, 4, wide // 4, 4, width).transpose(2, 3).reshape(-1, 16, width)
        return own.last(own.layer(x)).mean(1)

    layer = Layer(16, 4, rotary=False, causal=False)
    return Network(run, first=nn.Conv2d(3, 16, 4, 4), layer=layer, last=nn.Linear(16, 10)), (image(),)


def encoder() -> Made:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.1)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.randn(2, 10, 16),)


def translator() -> Made:
    return nn.Transformer(16, 4, 1, 1, 32, batch_first=True), (torch.randn(2, 10, 16), torch.randn(2, 7, 16))


def recurrent(kind: Any, **options: Any) -> Made:
    def run(own: Any, x: Any) -> Any:
        return own.last(own.cells(own.words(x))[0][:, -1])

    cells = kind(8, 16, batch_first=True, **options)
    width = 32 if options.get("bidirectional") else 16
    return Network(run, words=nn.Embedding(50, 8), cells=cells, last=nn.Linear(width, 10)), (tokens(),)


def unrolled_model() -> Made:
    def run(own: Any, x: Any) -> Any:
        state = torch.zeros(x.shape[0], 16)
        for k in range(x.shape[1]):
            state = own.cell(x[:, k], state)
        return own.last(state)

    return Network(run, cell=nn.GRUCell(8, 16), last=nn.Linear(16, 4)), (torch.randn(2, 6, 8),)


def scan_model() -> Made:

    def run(own: Any, x: Any) -> Any:
        step, inward, outward = functional.softplus(own.step(x)), own.inward(x), own.outward(x)
        state, rows = torch.zeros(x.shape[0], 8, 4), []
        for k in range(x.shape[1]):
            decay = torch.exp(-step[:, k, :, None] * own.decay.exp())
            state = decay * state + (step[:, k] * x[:, k])[..., None] * inward[:, k, None]
            rows.append((state * outward[:, k, None]).sum(-1))
        return torch.stack(rows, 1)

    parts = {"step": nn.Linear(8, 8), "inward": nn.Linear(8, 4), "outward": nn.Linear(8, 4)}
    return Network(run, decay=nn.Parameter(torch.zeros(8, 4)), **parts), (torch.randn(2, 6, 8),)


def graph() -> Made:
    def run(own: Any, x: Any, source: Any, target: Any) -> Any:
        for part in own.parts:
            sent = functional.relu(part(x[source]))
            x = torch.zeros(x.shape[0], sent.shape[1]).index_add(0, target, sent)
        return x

    edges = torch.randint(20, (60,)), torch.randint(20, (60,))
    return Network(run, parts=nn.ModuleList((nn.Linear(8, 16), nn.Linear(16, 8)))), (torch.randn(20, 8), *edges)


def ranking() -> Made:
    def run(own: Any, x: Any, chosen: Any) -> Any:
        rows = torch.stack([own.dense(x), *(table(chosen) for table in own.tables)], 1)
        return own.last(torch.bmm(rows, rows.transpose(1, 2)).flatten(1))

    tables = nn.ModuleList(nn.EmbeddingBag(40, 8, mode="sum") for _ in range(3))
    return Network(run, dense=nn.Linear(4, 8), tables=tables, last=nn.Linear(16, 1)), (
        torch.randn(6, 4),
        torch.randint(40, (6, 5)),
    )


class DoubledGradient(torch.autograd.Function):  # type: ignore[misc]  # the package is untyped
    @staticmethod
    def forward(context: Any, x: Any) -> Any:
        context.save_for_backward(x.sin())
        return 2 * x

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        return 2 * gradient + 0 * context.saved_tensors[0]


def custom_function_model() -> Made:
    def run(own: Any, x: Any) -> Any:
        return own.last(DoubledGradient.apply(own.first(x)))

    return Network(run, first=nn.Linear(8, 16), last=nn.Linear(16, 4)), (torch.randn(3, 8),)


def changed_in_place() -> Made:
    """Return a model that writes into views of its intermediate tensors, with their bases still in use."""

    def run(own: Any, x: Any) -> Any:
        y = own.first(x)
        y[:, :4].mul_(2)
        y[:, 4:] = torch.tanh(y[:, 4:])
        return own.last(y)

    return Network(run, first=nn.Linear(8, 16), last=nn.Linear(16, 4)), (torch.randn(3, 8),)


def spectral() -> Made:
    def run(own: Any, x: Any) -> Any:
        return own.last(torch.fft.irfft(torch.fft.rfft(x) * torch.view_as_complex(own.kernel), n=x.shape[-1]))

    return Network(run, kernel=nn.Parameter(torch.randn(9, 2)), last=nn.Linear(16, 4)), (torch.randn(3, 16),)


def fold_model() -> Made:
    def run(own: Any, x: Any) -> Any:
        return functional.mse_loss(functional.fold(functional.unfold(own.first(x), 3), (8, 8), 3), own.last(x))

    return Network(run, first=nn.Conv2d(3, 4, 1), last=nn.Conv2d(3, 4, 1)), (image(size=8),)


def narrow_model() -> Made:

    def run(own: Any, x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return own.last(own.first(x).flatten(1)).float()

    return Network(run, first=normal(3, 8, 3), last=nn.Linear(512, 4)), (image(size=8),)


MODELS: dict[str, Callable[[], Made]] = {
    "resnet18": lambda: (resnet(18), (image(),)),
    "vgg": vgg,
    "mobilenet_v2": mobilenet,
    "mobilenet_v3": lambda: mobilenet(squeezes=True),
    "densenet": densenet,
    "inception": inception,
    "shufflenet": shufflenet,
    "unet": unet,
    "convnext": convnext,
    "mixer": mixer,
    "generator": generator,
    "autoencoder": autoencoder,
    "gpt2": lambda: (Language(2, 16, 4), (tokens(),)),
    "untied": lambda: (Language(2, 16, 4, tied=False), (tokens(),)),
    "llama": lambda: (Language(2, 16, 4, rotary=True), (tokens(),)),
    "bert": lambda: (Language(2, 16, 4, causal=False), (tokens(),)),
    "experts": lambda: (Language(2, 16, 4, rotary=True, experts=4), (tokens(),)),
    "vit": vit,
    "swin": swin,
    "encoder": encoder,
    "translator": translator,
    "lstm": lambda: recurrent(nn.LSTM, num_layers=2),
    "two_ways": lambda: recurrent(nn.LSTM, num_layers=2, bidirectional=True),
    "gru": lambda: recurrent(nn.GRU, bidirectional=True),
    "rnn": lambda: recurrent(nn.RNN),
    "unrolled": unrolled_model,
    "scanned": scan_model,
    "graph": graph,
    "ranking": ranking,
    "own_function": custom_function_model,
    "changed_in_place": changed_in_place,
    "spectral": spectral,
    "folded": fold_model,
    "narrow": narrow_model,
}
"""Maps the name of a model to a function that returns the model and its inputs."""
