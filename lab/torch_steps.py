"""Steps of torch beside counts on real tensors: `python -m lab.torch_steps fits` or `backend [MODEL ...]`.

`fits` asks of each step that an audit tried and of 20 others, on the CPU with oneDNN, how many bytes are alive at most:
saying less than the count, where it is not left open, is a fault. `backend` compiles twelve models with three
capacities each: a step that takes more than its capacity, without an error or a warning, is a fault.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from memplan.extensions.torch.inside.backend import memplan
from memplan.extensions.torch.inside.fits import fits
from memplan.extensions.torch.tests.torch_counts import count_of_steps, peak_of, summed
from memplan.extensions.torch.tests.torch_zoo import MODELS, Made, Network, convolution, image, tokens
from memplan.planner.errors import InputError

SGD = partial(torch.optim.SGD, lr=0.01, momentum=0.9)
Step = tuple[Callable[[], Made], Any]


def _net(run: Callable[..., Any], *inputs: Any, **parts: Any) -> Callable[[], Made]:
    return lambda: (Network(run, **parts), inputs)


def _checkpointed() -> Made:
    model, inputs = MODELS["untied"]()
    for layer in (each for each in model.modules() if type(each).__name__ == "Layer"):
        layer.forward = partial(checkpoint, type(layer).forward.__get__(layer), use_reentrant=False)
    return model, inputs


def _autocast() -> Made:
    inner, inputs = MODELS["vit"]()

    def run(own: Any, *given: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return own.inner(*given)

    return Network(run, inner=inner), inputs


def _residual() -> Made:
    parts = {f"c{k}": convolution(16, 16) for k in range(3)} | {f"n{k}": nn.BatchNorm2d(16) for k in range(3)}

    def run(own: Any, x: Any) -> Any:
        x = own.first(x)
        for k in range(3):
            x = functional.relu(x + getattr(own, f"n{k}")(getattr(own, f"c{k}")(x)), inplace=True)
        return own.last(x.mean((2, 3)))

    return Network(run, first=convolution(3, 16), last=nn.Linear(16, 10), **parts), (image(size=48, batch=4),)


def _by_values(own: Any, x: Any) -> Any:
    chosen = own.gate(x).argmax(-1)
    return sum(own.one(x[(chosen == k).nonzero().squeeze(-1)]).sum() for k in range(2))


def _cells(own: Any, x: Any) -> Any:
    state = x.new_zeros(x.shape[0], 48), x.new_zeros(x.shape[0], 48)
    for t in range(x.shape[1]):
        state = own.cell(x[:, t], state)
    return state[0]


def _packed(own: Any, x: Any) -> Any:
    packed = nn.utils.rnn.pack_padded_sequence(x, [30, 20, 9, 4], batch_first=True)
    return own.rnn(packed)[0].data


def _alignment(own: Any, x: Any) -> Any:
    scores = own.last(own.rnn(x)[0]).log_softmax(-1).transpose(0, 1)
    lengths = torch.full((4,), x.shape[1]), torch.full((4,), 5)
    return functional.ctc_loss(scores, torch.ones(4, 5, dtype=torch.long), *lengths)


def _grown(own: Any, x: Any) -> Any:
    state = torch.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        gates = own.conv(torch.cat([x[:, t], state], 1))
        new, keep = gates.chunk(2, 1)
        state = torch.sigmoid(keep) * state + torch.tanh(new)
    return state


def _norms(own: Any, x: Any) -> Any:
    for name in ("batch", "group", "instance", "local"):
        x = getattr(own, name)(x)
    return x


def _attending(own: Any, x: Any) -> Any:
    query, key, value = own.p(x).chunk(3, -1)
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def _pooled(own: Any, x: Any) -> Any:
    folded = functional.fold(functional.unfold(own.c(x), 2, stride=2), (32, 32), 2, stride=2)
    most, at = functional.max_pool2d(folded, 2, return_indices=True)
    return functional.max_unpool2d(most, at, 2)


_ROWS = torch.randn(4, 30, 48)
_WIDE = torch.randn(4, 16, 64)
_BATCHED = {"batch_first": True}
_HEADS: dict[str, Any] = {"d_model": 64, "nhead": 4, "dim_feedforward": 128} | _BATCHED
AUDITED: Mapping[str, Step] = {
    "residual CNN, in place": (_residual, SGD),
    "views in place": (MODELS["changed_in_place"], SGD),
    "ViT": (MODELS["vit"], torch.optim.AdamW),
    "GPT, tied": (MODELS["gpt2"], torch.optim.Adam),
    "GPT, checkpointed": (_checkpointed, torch.optim.Adam),
    "ViT, bf16": (_autocast, torch.optim.Adam),
    "experts by mask": (MODELS["experts"], torch.optim.AdamW),
    "U-Net": (MODELS["unet"], torch.optim.Adam),
    "Llama": (MODELS["llama"], torch.optim.AdamW),
    "GPT, inference": (MODELS["gpt2"], None),
    "U-Net, inference": (MODELS["unet"], None),
    "BERT, inference": (MODELS["bert"], None),
    "LSTM, both ways": (
        _net(
            lambda own, x: own.last(own.rnn(own.words(x))[0][:, -1]),
            tokens(50, 8, 1000),
            words=nn.Embedding(1000, 96),
            rnn=nn.LSTM(96, 128, 2, bidirectional=True, **_BATCHED),
            last=nn.Linear(256, 10),
        ),
        torch.optim.Adam,
    ),
    "experts by nonzero": (
        _net(_by_values, torch.randn(32, 16), gate=nn.Linear(16, 2), one=nn.Linear(16, 16)),
        torch.optim.Adam,
    ),
}
OTHERS: Mapping[str, Step] = {
    "GRU, both ways": (_net(lambda own, x: own.r(x)[0], _ROWS, r=nn.GRU(48, 64, 2, bidirectional=True)), SGD),
    "LSTM, projected": (_net(lambda own, x: own.r(x)[0], _ROWS, r=nn.LSTM(48, 64, proj_size=16)), torch.optim.Adam),
    "RNN, dropout": (_net(lambda own, x: own.r(x)[0], _ROWS, r=nn.RNN(48, 64, 3, dropout=0.1)), SGD),
    "LSTM cells": (_net(_cells, _ROWS, cell=nn.LSTMCell(48, 48)), torch.optim.AdamW),
    "LSTM, packed": (_net(_packed, _ROWS, rnn=nn.LSTM(48, 32, **_BATCHED)), torch.optim.Adam),
    "LSTM, bf16": (
        _net(lambda own, x: own.r(x)[0], _ROWS.bfloat16(), r=nn.LSTM(48, 64, 2, **_BATCHED).bfloat16()),
        SGD,
    ),
    "LSTM with CTC": (_net(_alignment, _ROWS, rnn=nn.LSTM(48, 32, **_BATCHED), last=nn.Linear(32, 20)), SGD),
    "LSTM, inference": (_net(lambda own, x: own.r(x)[0], _ROWS, r=nn.LSTM(48, 64, 2, bidirectional=True)), None),
    "convolutional GRU": (_net(_grown, torch.randn(2, 6, 8, 24, 24), conv=convolution(16, 16)), torch.optim.Adam),
    "attention with weights": (
        _net(lambda own, x: own.a(x, x, x), torch.randn(4, 40, 64), a=nn.MultiheadAttention(64, 4, **_BATCHED)),
        torch.optim.Adam,
    ),
    "causal attention": (
        _net(_attending, torch.randn(4, 4, 128, 32), p=nn.Linear(32, 96)),
        SGD,
    ),
    "encoder layer": (_net(lambda own, x: own.e(x), _WIDE, e=nn.TransformerEncoderLayer(**_HEADS)), torch.optim.AdamW),
    "decoder layer": (
        _net(lambda own, x, y: own.d(x, y), _WIDE, _WIDE, d=nn.TransformerDecoderLayer(**_HEADS, norm_first=True)),
        torch.optim.Adam,
    ),
    "norms of images": (
        _net(
            _norms,
            torch.randn(4, 8, 32, 32),
            batch=nn.BatchNorm2d(8),
            group=nn.GroupNorm(2, 8),
            instance=nn.InstanceNorm2d(8, affine=True),
            local=nn.LocalResponseNorm(3),
        ),
        torch.optim.Adam,
    ),
    "norms of rows": (
        _net(lambda own, x: own.b(own.a(x)), _WIDE, a=nn.LayerNorm(64), b=nn.RMSNorm(64)),
        torch.optim.AdamW,
    ),
    "BatchNorm, bf16 of images": (
        _net(lambda own, x: own.n(own.c(x.bfloat16())), image(), c=convolution(3, 16).bfloat16(), n=nn.BatchNorm2d(16)),
        SGD,
    ),
    "convolutions in 3D": (
        _net(lambda own, x: own.b(own.a(x)), torch.randn(2, 4, 12, 24, 24), a=nn.Conv3d(4, 8, 3), b=nn.BatchNorm3d(8)),
        torch.optim.Adam,
    ),
    "dilated and grouped": (
        _net(
            lambda own, x: own.b(functional.gelu(own.a(x))),
            image(16),
            a=nn.Conv2d(16, 32, 3, dilation=2, groups=4),
            b=nn.ConvTranspose2d(32, 8, 4, 2),
        ),
        torch.optim.AdamW,
    ),
    "channels last": (
        _net(
            lambda own, x: own.b(own.a(x).relu()),
            image(size=40).to(memory_format=torch.channels_last),
            a=convolution(3, 24).to(memory_format=torch.channels_last),
            b=convolution(24, 24, 5, 2).to(memory_format=torch.channels_last),
        ),
        SGD,
    ),
    "unfold, pool, unpool": (
        _net(_pooled, image(4), c=convolution(4, 4)),
        torch.optim.Adam,
    ),
}
COMPILED: Sequence[str] = (
    *("vgg", "mobilenet_v2", "densenet", "unet", "convnext", "mixer"),
    *("gpt2", "untied", "llama", "bert", "vit", "resnet18"),
)
SHARES = 1.2, 0.9, 0.7
"""Capacities, as parts of what a step takes."""


def faults_of_fits() -> Iterator[str]:
    """Print a line for each step; yield those of which fewer bytes are told than are alive."""
    for name, (make, optimizer) in {**AUDITED, **OTHERS}.items():
        torch.manual_seed(1)
        model, inputs = make()
        count = count_of_steps(model, inputs, optimizer)
        model, inputs = make()
        loss = summed if optimizer else None
        try:
            found = fits(model, inputs, loss=loss, optimizer=optimizer, allocator="cpu", capacity=count - 1)
        except InputError as error:
            print(f"{name}: counted {count:,}, refused: {str(error)[:90]}")
            continue
        is_left_open = found.fits is None
        print(f"{name}: counted {count:,}, fits says {found.live_peak:,}, {found.live_peak / count:.6f}, {found.fits}")
        if not is_left_open and (found.fits or found.live_peak < count):
            yield f"{name}: {found.live_peak:,}, where {count:,} are alive"


def faults_of_backend(name: str) -> Iterator[str]:
    """Print a line for each capacity of a model; yield those that are passed in silence."""
    torch.manual_seed(1)
    inner, inputs = MODELS[name]()
    model = Network(lambda own, *given: own.inner(*given).square().mean(), inner=inner)
    model(*inputs).backward()
    there = 2 * sum(value.nbytes for value in model.parameters())
    there += sum(value.nbytes for value in (*model.buffers(), *inputs))
    whole = there + peak_of(lambda: model(*inputs).backward())
    for share in SHARES:
        torch._dynamo.reset()
        capacity = int(share * whole)
        options = {"inner": "eager", "capacity": capacity, "over": "warn", "time_limit_s": 1.0}
        compiled = torch.compile(model, backend=memplan, options=options)
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            compiled(*inputs).backward()
        is_warned = any("capacity: must hold" in str(each.message) for each in given)
        peak = there + peak_of(lambda run=compiled: run(*inputs).backward())
        print(f"{name}: {share:.1f} of {whole:,}: takes {peak / capacity:.3f} of {capacity:,}, warned: {is_warned}")
        if peak > capacity and not is_warned:
            yield f"{name}: {peak:,} of {capacity:,}"


def main() -> int:
    """Print the rows of what is named; return 1 where any is a fault."""
    kind, *names = sys.argv[1:] or ("fits",)
    warnings.simplefilter("ignore")
    if kind == "fits":
        found = [*faults_of_fits()]
    else:
        found = [fault for name in names or COMPILED for fault in faults_of_backend(name)]
    print(*found, f"{len(found)} faults", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
