"""`python models.py NAME`: a network with random weights on memplan_tinygrad; prints its plans, and a hash.

PYTHONPATH has a checkout of tinygrad, whose `extra.models` are run, and this folder. `-train` runs forward,
backward and a step of SGD, `-jit` a TinyJit three times. `python models.py` prints the names.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

import memplan_tinygrad
from tinygrad import Context, Tensor, TinyJit, nn
from tinygrad.nn.state import get_parameters

Made = tuple[Any, Callable[[Tensor], Tensor], Tensor]
"""What has the parameters, a function, and its input."""


class Layers:
    """Layers one behind the other."""

    def __init__(self, *layers: Callable[[Tensor], Tensor]) -> None:
        self.layers = layers

    def __call__(self, x: Tensor) -> Tensor:
        return x.sequential(list(self.layers))


class Residual(Layers):
    def __call__(self, x: Tensor) -> Tensor:
        return x + super().__call__(x)


def conv(*arguments: int, **options: int) -> nn.Conv2d:
    return nn.Conv2d(*arguments, **options)


def image(side: int, channels: int = 3, batch: int = 1) -> Tensor:
    return Tensor.rand(batch, channels, side, side)


def mlp() -> Made:
    net = Layers(nn.Linear(64, 256), Tensor.relu, nn.Linear(256, 512), Tensor.relu, nn.Linear(512, 10))
    return net, net, Tensor.rand(16, 64)


def autoencoder() -> Made:
    widths = (640, 128, 8, 128, 640)
    layers = [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), Tensor.relu)]
    net = Layers(*layers)
    return net, net, Tensor.rand(8, 640)


def cnn() -> Made:
    net = Layers(conv(1, 32, 5), Tensor.relu, conv(32, 32, 5), Tensor.relu, nn.BatchNorm(32), Tensor.max_pool2d)
    net = Layers(net, conv(32, 64, 3), Tensor.relu, Tensor.max_pool2d, lambda x: x.flatten(1), nn.Linear(1024, 10))
    return net, net, image(28, 1, 8)


def super_resolution() -> Made:
    body = [Residual(conv(16, 16, 3, padding=1), Tensor.relu, conv(16, 16, 3, padding=1)) for _ in range(4)]
    net = Layers(conv(3, 16, 3, padding=1), *body, conv(16, 3, 3, padding=1))
    return net, net, image(32)


def unet() -> Made:
    down, up = conv(3, 16, 3, padding=1), conv(32, 16, 3, padding=1)
    middle, last = conv(16, 32, 3, stride=2, padding=1), conv(32, 3, 1)

    def run(x: Tensor) -> Tensor:
        skip = down(x).relu()
        y = up(middle(skip).relu()).relu()
        return last(skip.cat(y.interpolate((32, 32)), dim=1))

    return [down, up, middle, last], run, image(32)


def mixer() -> Made:
    tokens = Layers(nn.Linear(64, 128), Tensor.gelu, nn.Linear(128, 64))
    channels = Residual(nn.LayerNorm(32), nn.Linear(32, 128), Tensor.gelu, nn.Linear(128, 32))
    norm = nn.LayerNorm(32)

    def run(x: Tensor) -> Tensor:
        for _ in range(3):
            x = channels(x + tokens(norm(x).transpose(1, 2)).transpose(1, 2))
        return x

    return [tokens, channels, norm], run, Tensor.rand(2, 64, 32)


def gpt() -> Made:
    from extra.models.transformer import Transformer

    net = Transformer(100, 24, 3, 64, 4, 128)
    return net, net.forward, Tensor.randint(1, 24, low=0, high=99)


def extra(module: str, name: str, x: Tensor, *arguments: Any, **options: Any) -> Made:
    net = getattr(import_module(f"extra.models.{module}"), name)(*arguments, **options)
    return net, getattr(net, "forward", net), x


def bert() -> Made:
    net, run, ids = extra(
        "bert", "Bert", Tensor.randint(1, 64, low=0, high=999), 128, 512, 512, 4, 4, 2, 1000, 0.0, 0.0
    )
    return net, lambda x: run(x, x * 0 + 1, x * 0), ids


def llama() -> Made:
    sizes = {"dim": 128, "hidden_dim": 344, "n_heads": 4, "n_layers": 4, "norm_eps": 1e-5, "vocab_size": 1000}
    net, run, ids = extra(
        "llama", "Transformer", Tensor.randint(1, 16, low=0, high=999), jit=False, max_context=64, **sizes
    )
    return net, lambda x: run(x, 0, 0.0, 0, 0.0, 0.0, 0.0), ids


MODELS: dict[str, Callable[[], Made]] = {
    "mlp": mlp,
    "autoencoder": autoencoder,
    "cnn": cnn,
    "super_resolution": super_resolution,
    "unet": unet,
    "mixer": mixer,
    "gpt": gpt,
    "bert": bert,
    "llama": llama,
    "resnet18": lambda: extra("resnet", "ResNet18", image(64), num_classes=100),
    "efficientnet": lambda: extra("efficientnet", "EfficientNet", image(64), 0),
    "vit": lambda: extra("vit", "ViT", image(224), layers=3),
    "convnext": lambda: extra("convnext", "ConvNeXt", image(64), depths=[1, 1, 3, 1], dims=[24, 48, 96, 192]),
    "unet3d": lambda: extra("unet3d", "UNet3D", Tensor.rand(1, 1, 32, 32, 32), 1, 3),
}
WAYS = ("mlp-jit", "mlp-train", "autoencoder-train", "cnn-jit", "cnn-train", "mixer-jit", "mixer-train", "bert-jit")


def main() -> None:
    if not sys.argv[1:]:
        print(*MODELS, *WAYS)
        return
    name, _, way = sys.argv[1].partition("-")
    Tensor.manual_seed(1)
    holder, run, x = MODELS[name]()
    parameters = get_parameters(holder)
    Tensor.realize(x, *parameters)
    memplan_tinygrad.calls.clear()
    outputs = []
    if way == "train":
        trained = [each for each in parameters if each.is_floating_point()]
        for each in trained:
            each.requires_grad = True
        optimizer = nn.optim.SGD(trained, lr=0.01)
        with Context(TRAINING=1):
            optimizer.zero_grad()
            loss = run(x).float().square().mean().backward()
            optimizer.step()
            outputs = [loss.realize(), *parameters]
    elif way == "jit":
        step = TinyJit(lambda x: run(x).realize())
        outputs = [step(x).clone().realize() for _ in range(3)]
    else:
        outputs = [run(x).realize()]
    data = b"".join(each.numpy().tobytes() for each in outputs)
    print(json.dumps({"calls": memplan_tinygrad.calls, "digest": hashlib.sha256(data).hexdigest()[:16]}))


if __name__ == "__main__":
    main()
