# mypy: disable-error-code="misc"
"""Small networks of torch with open dimensions: BERT, GPT-2, the encoder of Whisper, a ResNet, and parts of them."""

from __future__ import annotations

from typing import Any


def networks() -> dict[str, tuple[Any, tuple[Any, ...], Any]]:
    """Return small networks of torch with inputs and their open dimensions."""
    import torch
    from torch import nn
    from torch.export import Dim

    torch.manual_seed(0)

    class Attention(nn.Module):
        def __init__(self, width: int, is_causal: bool) -> None:
            super().__init__()
            self.into, self.out, self.is_causal = nn.Linear(width, 3 * width), nn.Linear(width, width), is_causal

        def forward(self, x: Any, bias: Any = None) -> Any:
            b, n, width = x.shape
            q, k, v = self.into(x).view(b, n, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
            scores = torch.matmul(q, k.transpose(2, 3)) / width**0.5
            scores = scores if bias is None else scores + bias
            if self.is_causal:
                scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
            return self.out(torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape(b, n, width))

    class Layer(nn.Module):
        def __init__(self, width: int, is_causal: bool = False) -> None:
            super().__init__()
            self.attention = Attention(width, is_causal)
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any, bias: Any = None) -> Any:
            x = x + self.attention(self.first(x), bias)
            return x + self.down(nn.functional.gelu(self.up(self.second(x))))

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places, self.scores = nn.Embedding(100, 64), nn.Embedding(600, 64), nn.Linear(64, 2)
            self.layers = nn.ModuleList(Layer(64) for _ in range(3))

        def forward(self, ids: Any, mask: Any) -> Any:
            x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
            for layer in self.layers:
                x = layer(x, (1.0 - mask[:, None, None, :]) * -1e9)
            return self.scores(x)

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(100, 64), nn.Embedding(600, 64)
            self.layers = nn.ModuleList(Layer(64, is_causal=True) for _ in range(3))

        def forward(self, ids: Any) -> Any:
            x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
            for layer in self.layers:
                x = layer(x)
            return torch.matmul(x, self.words.weight.t())

    class Whisper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv1d(20, 64, 3, padding=1), nn.Conv1d(64, 64, 3, stride=2, padding=1)
            self.layers, self.places = nn.ModuleList(Layer(64) for _ in range(3)), nn.Parameter(torch.randn(600, 64))

        def forward(self, sound: Any) -> Any:
            x = nn.functional.gelu(self.second(nn.functional.gelu(self.first(sound)))).permute(0, 2, 1)
            x = x + self.places[: x.shape[1]]
            for layer in self.layers:
                x = layer(x)
            return x

    class Block(nn.Module):
        def __init__(self, given: int, made: int) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(given, made, 3, 2, 1), nn.Conv2d(made, made, 3, 1, 1)
            self.one, self.two, self.past = nn.BatchNorm2d(made), nn.BatchNorm2d(made), nn.Conv2d(given, made, 1, 2)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.two(self.second(torch.relu(self.one(self.first(x))))) + self.past(x))

    class Resnet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.begin, self.end = nn.Conv2d(3, 16, 7, 2, 3), nn.Linear(64, 10)
            self.blocks = nn.ModuleList([Block(16, 32), Block(32, 64)])

        def forward(self, image: Any) -> Any:
            x = nn.functional.max_pool2d(torch.relu(self.begin(image)), 3, 2, 1)
            for block in self.blocks:
                x = block(x)
            return self.end(x.mean((2, 3)))

    class Mlp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = torch.relu(layer(x)) + x
            return x

    b, n = Dim("b", min=1, max=16), Dim("n", min=4, max=512)
    h, w = Dim("h", min=33, max=400), Dim("w", min=33, max=400)
    words, sound, image = torch.zeros(2, 16, dtype=torch.long), torch.randn(2, 20, 50), torch.randn(2, 3, 65, 97)
    mask = torch.ones(2, 16)
    return {
        "bert": (Bert(), (words, mask), ({0: b, 1: n}, {0: b, 1: n})),
        "gpt2": (Gpt(), (words,), ({0: b, 1: n},)),
        "whisper": (Whisper(), (sound,), ({0: b, 2: n},)),
        "resnet": (Resnet(), (image,), ({0: b, 2: h, 3: w},)),
        "mlp": (Mlp(), (torch.randn(3, 64),), ({0: b},)),
        "layer": (Layer(64), (torch.randn(3, 10, 64),), ({0: b, 1: n},)),
    }
