"""20 networks with random weights, as modules of torch in sizes that run in a moment on one core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class Residual(nn.Module):
    """A branch, added to what goes in."""

    def __init__(self, *branch: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.branch, self.shortcut = nn.Sequential(*branch), shortcut or nn.Identity()

    def forward(self, x: Tensor) -> Any:
        return self.branch(x) + self.shortcut(x)


class Joined(nn.Module):
    """Several branches of one input, one behind the other in their channels."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Scaled(nn.Module):
    """Channels, each times a weight that follows from all of them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, width, 1), nn.Sigmoid())

    def forward(self, x: Tensor) -> Any:
        return x * self.gate(x)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Any:
        tokens, width = x.shape
        q, k, v = self.qkv(x).reshape(tokens, 3, self.heads, width // self.heads).permute(1, 2, 0, 3)
        weights = (q @ k.transpose(1, 2) * 0.125).softmax(-1)
        return self.out((weights @ v).transpose(0, 1).reshape(tokens, width))


class Gated(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.gate, self.down = (
            nn.Linear(width, 2 * width),
            nn.Linear(width, 2 * width),
            nn.Linear(2 * width, width),
        )

    def forward(self, x: Tensor) -> Any:
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class UNet(nn.Module):
    """Levels that each take half of the side, and come back beside what they came from."""

    def __init__(self, width: int, levels: int) -> None:
        super().__init__()
        self.into, self.out = conv(width, width), conv(2 * width if levels else width, width)
        self.inner = (
            nn.Sequential(nn.MaxPool2d(2), UNet(width, levels - 1), nn.Upsample(scale_factor=2)) if levels else None
        )

    def forward(self, x: Tensor) -> Any:
        x = self.into(x)
        return self.out(x if self.inner is None else torch.cat([x, self.inner(x)], 1))


class LastOf(nn.Module):
    """Steps of a recurrent cell, one after the other."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(width, width)

    def forward(self, x: Tensor) -> Any:
        state = torch.zeros_like(x[0])
        for step in x:
            state = self.cell(step, state)
        return state


def conv(a: int, b: int, size: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(a, b, size, stride, size // 2, groups=groups), nn.ReLU())


def bottleneck(width: int) -> Residual:
    return Residual(conv(width, width // 4, 1), conv(width // 4, width // 4), conv(width // 4, width, 1))


def inverted(width: int, *middle: nn.Module) -> Residual:
    wide = 4 * width
    return Residual(conv(width, wide, 1), conv(wide, wide, groups=wide), *middle, nn.Conv2d(wide, width, 1))


def block(width: int, heads: int = 4) -> nn.Sequential:
    mlp = (nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
    return nn.Sequential(Residual(nn.LayerNorm(width), Attention(width, heads)), Residual(nn.LayerNorm(width), *mlp))


def inception(width: int) -> Joined:
    part = width // 4
    pool = nn.Sequential(nn.AvgPool2d(3, 1, 1), conv(width, part, 1))
    return Joined(
        conv(width, part, 1),
        nn.Sequential(conv(width, part, 1), conv(part, part)),
        nn.Sequential(conv(width, part, 1), conv(part, part, 5)),
        pool,
    )


def repeated(make: Callable[[], nn.Module], count: int) -> list[nn.Module]:
    return [make() for _ in range(count)]


IMAGE, TOKENS = (1, 3, 64, 64), (48, 64)
HEAD = (nn.AdaptiveAvgPool2d(1), nn.Flatten())
STEM = (3, 32, 3, 2)
MODELS: dict[str, tuple[Callable[[], list[nn.Module]], tuple[int, ...]]] = {
    "mlp": (lambda: [nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10)], (16, 64)),
    "autoencoder": (lambda: [nn.Linear(512, 128), nn.Tanh(), nn.Linear(128, 32), nn.Linear(32, 512)], (8, 512)),
    "lenet": (lambda: [conv(3, 6, 5), nn.MaxPool2d(2), conv(6, 16, 5), nn.MaxPool2d(2), *HEAD], IMAGE),
    "vgg": (lambda: [conv(3, 32), conv(32, 32), nn.MaxPool2d(2), conv(32, 64), nn.MaxPool2d(2), *HEAD], IMAGE),
    "resnet": (lambda: [conv(*STEM), *repeated(lambda: Residual(conv(32, 32), conv(32, 32)), 4), *HEAD], IMAGE),
    "resnet_bottleneck": (lambda: [conv(*STEM), *repeated(lambda: bottleneck(32), 6), *HEAD], IMAGE),
    "mobilenet": (lambda: [conv(*STEM), *repeated(lambda: inverted(32), 4), *HEAD], IMAGE),
    "efficientnet": (lambda: [conv(*STEM), *repeated(lambda: inverted(32, Scaled(128)), 4), *HEAD], IMAGE),
    "inception": (lambda: [conv(*STEM), *repeated(lambda: inception(32), 4), *HEAD], IMAGE),
    "densenet": (lambda: [conv(*STEM), *(Joined(nn.Identity(), conv(32 + 8 * k, 8)) for k in range(8)), *HEAD], IMAGE),
    "squeezenet": (
        lambda: [conv(*STEM), *repeated(lambda: nn.Sequential(conv(32, 8, 1), Joined(conv(8, 16, 1), conv(8, 16))), 4)],
        IMAGE,
    ),
    "unet": (lambda: [conv(3, 16), UNet(16, 3)], IMAGE),
    "unet_deep": (lambda: [conv(3, 8), UNet(8, 5)], IMAGE),
    "super_resolution": (
        lambda: [
            conv(3, 32),
            *repeated(lambda: Residual(conv(32, 32), nn.Conv2d(32, 32, 3, 1, 1)), 3),
            nn.PixelShuffle(2),
        ],
        (1, 3, 32, 32),
    ),
    "feature_pyramid": (
        lambda: [
            conv(*STEM),
            Joined(
                *(nn.Sequential(nn.AvgPool2d(2**k), conv(32, 16), nn.Upsample(scale_factor=2**k)) for k in range(4))
            ),
        ],
        IMAGE,
    ),
    "segmentation": (
        lambda: [conv(*STEM), inception(32), bottleneck(32), nn.Upsample(scale_factor=2), conv(32, 8)],
        IMAGE,
    ),
    "transformer": (lambda: repeated(lambda: block(64), 4), TOKENS),
    "transformer_wide": (lambda: repeated(lambda: block(128, 8), 2), (96, 128)),
    "llama": (
        lambda: repeated(
            lambda: nn.Sequential(Residual(nn.RMSNorm(64), Attention(64, 4)), Residual(nn.RMSNorm(64), Gated(64))), 4
        ),
        TOKENS,
    ),
    "gru": (lambda: [LastOf(32), nn.Linear(32, 8)], (12, 4, 32)),
}
"""By name, the layers and the shape of the input."""


def model(name: str) -> tuple[nn.Module, Tensor]:
    """Return a network and an input of it, always with the same numbers."""
    torch.manual_seed(0)
    layers, shape = MODELS[name]
    return nn.Sequential(*layers()).eval(), torch.randn(shape)
