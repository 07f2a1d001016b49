"""`python models.py NAME PATH`: a model of a published architecture with random weights, as its program reads it.

`whisper-tiny` and `whisper-base` are files of whisper.cpp; `smollm`, `mixtral` (a small one) and `gpt2` are files of
llama.cpp, and take gguf; `stable-diffusion` is one of stable-diffusion.cpp, and takes torch and diffusers.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

Tensor = tuple[str, tuple[int, ...]]


def linear(name: str, to: int, *shape: int, bias: bool = True) -> Iterator[Tensor]:
    """Yield the name and shape of a layer's weight, a norm's without `shape`, and of its bias."""
    yield f"{name}.weight", (to, *shape)
    if bias:
        yield f"{name}.bias", (to,)


def whisper(width: int, layers: int) -> Iterator[Tensor]:
    yield "encoder.positional_embedding", (1500, width)
    yield "decoder.positional_embedding", (448, width)
    yield "decoder.token_embedding.weight", (51865, width)
    for k, channels in enumerate((80, width), 1):
        yield f"encoder.conv{k}.weight", (width, channels, 3)
        yield f"encoder.conv{k}.bias", (width, 1)
    yield from (*linear("encoder.ln_post", width), *linear("decoder.ln", width))
    for part, kinds in (("encoder", ("attn",)), ("decoder", ("attn", "cross_attn"))):
        for at in (f"{part}.blocks.{k}" for k in range(layers)):
            for kind in kinds:
                yield from linear(f"{at}.{kind}_ln", width)
                for name in ("query", "key", "value", "out"):
                    yield from linear(f"{at}.{kind}.{name}", width, width, bias=name != "key")
            yield from linear(f"{at}.mlp_ln", width)
            yield from (*linear(f"{at}.mlp.0", 4 * width, width), *linear(f"{at}.mlp.2", width, 4 * width))


def language(width: int, layers: int, queries: int, keys: int, hidden: int, experts: int = 0) -> Iterator[Tensor]:
    """Yield the tensors of llama.cpp: Llama's, or GPT-2's where no head has keys of its own."""
    gpt = keys == 0
    yield from linear("token_embd", 32000, width, bias=False)
    yield from linear("position_embd", 1024, width, bias=False) if gpt else ()
    yield from linear("output_norm", width, bias=gpt)
    for at in (f"blk.{k}" for k in range(layers)):
        yield from (*linear(f"{at}.attn_norm", width, bias=gpt), *linear(f"{at}.ffn_norm", width, bias=gpt))
        shared = width * keys // queries
        for name, to in (("qkv", 3 * width),) if gpt else (("q", width), ("k", shared), ("v", shared)):
            yield from linear(f"{at}.attn_{name}", to, width, bias=gpt)
        yield from linear(f"{at}.attn_output", width, width, bias=gpt)
        yield from linear(f"{at}.ffn_gate_inp", experts, width, bias=False) if experts else ()
        for name, to, of in (("gate", hidden, width), ("up", hidden, width), ("down", width, hidden))[gpt:]:
            if experts:
                yield from linear(f"{at}.ffn_{name}_exps", experts, to, of, bias=False)
            else:
                yield from linear(f"{at}.ffn_{name}", to, of, bias=gpt)


def values(tensor: Tensor, random: np.random.Generator) -> np.ndarray:
    """Return values at which activations keep their size: halves for a matrix, about 1 for a norm and 0 for a bias."""
    name, shape = tensor
    data = random.standard_normal(shape, np.float32)
    if len(shape) > 1 and name.endswith("weight") and "position" not in name:
        return (data / np.float32(np.sqrt(np.prod(shape[-1:] if "exps" in name else shape[1:])))).astype(np.float16)
    return data * np.float32(0.05) + np.float32(name.endswith("weight") and len(shape) == 1)


def write_whisper(path: Path, width: int, layers: int) -> None:
    random = np.random.default_rng(1)
    with path.open("wb") as file:
        sizes = (51865, 1500, width, width // 64, layers, 448, width, width // 64, layers, 80, 1)
        file.write(struct.pack("<12i", 0x67676D6C, *sizes))
        file.write(struct.pack("<2i", 80, 201) + random.random((80, 201), np.float32).tobytes())
        file.write(struct.pack("<i", 50257))
        for k in range(50257):
            word = f" w{k}".encode() if k else b" "  # whisper.cpp looks the blank up
            file.write(struct.pack("<i", len(word)) + word)
        for name, shape in whisper(width, layers):
            data = values((name, shape), random)
            file.write(struct.pack("<3i", len(shape), len(name), data.dtype == np.float16))
            file.write(struct.pack(f"<{len(shape)}i", *shape[::-1]) + name.encode() + data.tobytes())


def write_language(path: Path, sizes: tuple[int, ...]) -> None:
    from gguf import GGUFWriter, TokenType

    width, layers, queries, keys, hidden, *experts = sizes
    random, out = np.random.default_rng(1), GGUFWriter(path, "llama" if keys else "gpt2")
    out.add_context_length(1024)
    out.add_embedding_length(width)
    out.add_block_count(layers)
    out.add_feed_forward_length(hidden)
    out.add_head_count(queries)
    out.add_head_count_kv(keys or queries)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_layer_norm_eps(1e-5)
    for count in experts:
        out.add_expert_count(count)
        out.add_expert_used_count(2)
    words = ["<unk>", "<s>", "</s>", *(f"<0x{k:02X}>" for k in range(256))]
    words += [f"▁w{k}" for k in range(len(words), 32000)]
    out.add_tokenizer_model("llama")
    out.add_token_list(words)
    out.add_token_scores([0.0] * len(words))
    out.add_token_types([2, 3, 3, *[TokenType.BYTE] * 256, *[TokenType.NORMAL] * (len(words) - 259)])
    for name, shape in language(*sizes):
        out.add_tensor(name, values((name, shape), random))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def write_stable_diffusion(path: Path) -> None:
    import torch
    from diffusers import AutoencoderKL, UNet2DConditionModel
    from safetensors.torch import save_file
    from transformers import CLIPTextConfig, CLIPTextModel

    torch.manual_seed(1)
    down, up = (4 * (f"{name}Block2D",) for name in ("DownEncoder", "UpDecoder"))
    text = CLIPTextConfig(hidden_size=768, intermediate_size=3072, num_attention_heads=12, num_hidden_layers=12)
    widths = (128, 256, 512, 512)
    parts = {
        "unet": UNet2DConditionModel(cross_attention_dim=768),
        "vae": AutoencoderKL(block_out_channels=widths, down_block_types=down, up_block_types=up, layers_per_block=2),
        "te.text_model": CLIPTextModel(text),
    }
    tensors = {f"{part}.{name}": x for part, net in parts.items() for name, x in net.half().state_dict().items()}
    save_file({name.replace("text_model.text_model", "text_model"): x for name, x in tensors.items()}, path)


MODELS: dict[str, Callable[[Path], None]] = {
    "whisper-tiny": partial(write_whisper, width=384, layers=4),
    "whisper-base": partial(write_whisper, width=512, layers=6),
    "smollm": partial(write_language, sizes=(576, 30, 9, 3, 1536)),
    "mixtral": partial(write_language, sizes=(512, 4, 8, 4, 1024, 8)),
    "gpt2": partial(write_language, sizes=(768, 12, 12, 0, 3072)),
    "stable-diffusion": write_stable_diffusion,
}

if __name__ == "__main__":
    MODELS[sys.argv[1]](Path(sys.argv[2]))
