"""Three steps for `memplan fits`: training steps of ResNet-50 and GPT-2, and a decoder like Llama with a cache.

Example: memplan fits examples/torch_steps.py:resnet50 --capacity 8GiB
"""

import torch
from torch import nn
from torch.nn import functional


class Bottleneck(nn.Module):
    """A residual block of ResNet-50: reduce channels, convolve, expand channels, and add the input."""

    def __init__(self, inward: int, width: int, stride: int) -> None:
        """Make a block from `inward` to four times `width` channels; a stride of 2 halves the image's sides."""
        super().__init__()
        sizes = ((inward, width, 1, 1), (width, width, 3, stride), (width, 4 * width, 1, 1))
        self.parts = nn.ModuleList(_convolution(*row) for row in sizes)
        self.past = _convolution(inward, 4 * width, 1, stride) if inward != 4 * width else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sum of the block's input and the result of its convolutions, after a rectifier (ReLU)."""
        y = x
        for part in self.parts[:2]:
            y = functional.relu(part(y), inplace=True)
        return functional.relu(self.parts[2](y) + self.past(x), inplace=True)


def _convolution(inward: int, outward: int, size: int, stride: int) -> nn.Module:
    """Return a convolution without bias, followed by batch normalization; padding keeps the size at stride 1."""
    convolution = nn.Conv2d(inward, outward, size, stride, size // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outward))


def resnet50(batch: int = 64) -> dict:
    """Return a training step of ResNet-50 on images of 224 x 224 pixels, with SGD."""
    blocks, inward = [], 64
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for k in range(count):
            blocks.append(Bottleneck(inward, width, 2 if width > 64 and not k else 1))
            inward = 4 * width
    first = (_convolution(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
    model = nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inward, 1000))
    return {
        "model": model,
        "inputs": torch.empty(batch, 3, 224, 224),
        "loss": functional.cross_entropy,
        "targets": (torch.empty(batch, dtype=torch.long),),
        "optimizer": "sgd",
    }


class Attention(nn.Module):
    """Attention with `heads` query heads and `keys` key heads; a cache may provide earlier keys and values."""

    def __init__(self, width: int, heads: int, keys: int) -> None:
        """Make the linear layers for tokens of `width` numbers."""
        super().__init__()
        self.heads, self.keys = heads, keys
        self.query, self.outward = nn.Linear(width, width), nn.Linear(width, width)
        self.key, self.value = (nn.Linear(width, width // heads * keys) for _ in range(2))

    def forward(self, x: torch.Tensor, cache: torch.Tensor | None = None) -> torch.Tensor:
        """Return each token's attention to itself, to earlier tokens, and to the cache if there is one."""
        batch, length, width = x.shape
        query = self.query(x).view(batch, length, self.heads, -1).transpose(1, 2)
        key, value = (part(x).view(batch, length, self.keys, -1).transpose(1, 2) for part in (self.key, self.value))
        if cache is not None:
            key, value = torch.cat([cache[:, 0], key], 2), torch.cat([cache[:, 1], value], 2)
        seen = functional.scaled_dot_product_attention(
            query, key, value, is_causal=cache is None, enable_gqa=self.keys < self.heads
        )
        return self.outward(seen.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A decoder block: attention, then a network of two layers (as in GPT-2) or of two layers and a gate (Llama)."""

    def __init__(self, width: int, heads: int, keys: int, wide: int, *, gated: bool) -> None:
        """Make the layers of a block for tokens of `width` numbers, with `wide` numbers inside its network."""
        super().__init__()
        self.before, self.between = (nn.RMSNorm(width) if gated else nn.LayerNorm(width) for _ in range(2))
        self.attention = Attention(width, heads, keys)
        self.wide, self.narrow = nn.Linear(width, wide), nn.Linear(wide, width)
        self.gate = nn.Linear(width, wide) if gated else None

    def forward(self, x: torch.Tensor, cache: torch.Tensor | None = None) -> torch.Tensor:
        """Return the input plus the attention's result, plus the network's result for each token."""
        x = x + self.attention(self.before(x), cache)
        y = self.between(x)
        wide = functional.gelu(self.wide(y)) if self.gate is None else functional.silu(self.gate(y)) * self.wide(y)
        return x + self.narrow(wide)


class Decoder(nn.Module):
    """An embedding, decoder blocks and an output layer, which shares the embedding's weights if there are no gates."""

    def __init__(self, layers: int, width: int, heads: int, keys: int, wide: int, words: int, *, gated: bool) -> None:
        """Make a decoder of `layers` blocks for a vocabulary of `words` words; `gated` selects Llama's form."""
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(1024, width) if not gated else None
        self.blocks = nn.ModuleList(Block(width, heads, keys, wide, gated=gated) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width) if gated else nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        if not gated:
            self.head.weight = self.words.weight

    def forward(self, x: torch.Tensor, *caches: torch.Tensor) -> torch.Tensor:
        """Return, for each position, the score of each vocabulary word as the next word."""
        y = self.words(x)
        if self.places is not None:
            y = y + self.places(torch.arange(x.shape[1], device=x.device))
        for k, block in enumerate(self.blocks):
            y = block(y, caches[k] if caches else None)
        return self.head(self.norm(y))


def gpt2(batch: int = 8, length: int = 1024) -> dict:
    """Return a training step of GPT-2 with 124 million parameters and the optimizer Adam."""
    tokens = torch.zeros(batch, length, dtype=torch.long)
    return {
        "model": Decoder(12, 768, 12, 12, 3072, 50257, gated=False),
        "inputs": tokens,
        "loss": lambda made, labels: functional.cross_entropy(made.flatten(0, 1), labels.flatten()),
        "targets": (tokens,),
        "optimizer": "adam",
    }


def llama(batch: int = 8, length: int = 8192) -> dict:
    """Return an inference step for one token: a decoder like Llama 3 8B in bfloat16, with `length` cached tokens."""
    model = Decoder(32, 4096, 32, 8, 14336, 128256, gated=True).to(torch.bfloat16)
    caches = [torch.empty(batch, 2, 8, length, 128, dtype=torch.bfloat16) for _ in range(32)]
    return {"model": model, "inputs": (torch.zeros(batch, 1, dtype=torch.long), *caches)}
