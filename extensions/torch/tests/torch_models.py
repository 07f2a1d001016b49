"""Networks for the tests that need torch: residual networks as in torchvision, and attention layers."""

from typing import Any

import torch
from torch import nn


def normal(inward: int, outward: int, size: int, stride: int = 1) -> Any:
    convolution = nn.Conv2d(inward, outward, size, stride, padding=size // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outward))


class Block(nn.Module):  # type: ignore[misc]  # the package is untyped
    """A residual block: convolutions given by (width, size, stride) in sequence, whose result is added to the input."""

    def __init__(self, inward: int, *convolutions: tuple[int, int, int]) -> None:
        super().__init__()
        widths = (inward, *(width for width, _, _ in convolutions))
        self.parts = nn.ModuleList(normal(width, *row) for width, row in zip(widths, convolutions, strict=False))
        stride = max(stride for _, _, stride in convolutions)
        changes = widths[-1] != inward or stride > 1
        self.past = normal(inward, widths[-1], 1, stride) if changes else nn.Identity()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Any) -> Any:
        y = x
        for part in self.parts[:-1]:
            y = self.relu(part(y))
        y = self.parts[-1](y)
        y += self.past(x)
        return self.relu(y)


def resnet(depth: int) -> Any:
    """Return ResNet-18 if `depth` is 18, else ResNet-50."""
    counts, width_out = ((2, 2, 2, 2), 1) if depth == 18 else ((3, 4, 6, 3), 4)
    layers: list[Any] = [normal(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inward = 64
    for k, count in enumerate(counts):
        width = 64 << k
        for i in range(count):
            stride = 2 if k and not i else 1
            narrow = ((width, 3, stride), (width, 3, 1))
            wide = ((width, 1, 1), (width, 3, stride), (4 * width, 1, 1))
            layers.append(Block(inward, *(narrow if depth == 18 else wide)))
            inward = width * width_out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inward, 1000))


class Loss(nn.Module):  # type: ignore[misc]  # the package is untyped
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Any, label: Any) -> Any:
        return (torch.nn.functional.cross_entropy(self.model(x), label),)


class Attention(nn.Module):  # type: ignore[misc]  # the package is untyped
    """Two transformer layers with `wide` hidden features, where query, key and value are views of one tensor."""

    def __init__(self, width: int, wide: int) -> None:
        super().__init__()
        self.inward = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(2))
        self.wide = nn.ModuleList(nn.Linear(width, wide) for _ in range(2))
        self.narrow = nn.ModuleList(nn.Linear(wide, width) for _ in range(2))

    def forward(self, x: Any) -> Any:
        for inward, wide, narrow in zip(self.inward, self.wide, self.narrow, strict=True):
            query, key, value = inward(x).chunk(3, dim=-1)
            x = x + torch.softmax(query @ key.transpose(-1, -2), dim=-1) @ value
            x = x + narrow(torch.relu(wide(x)))
        return x
