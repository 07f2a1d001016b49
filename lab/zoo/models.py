"""The architectures of timm, torchvision and transformers, built without weights, each with suitable inputs.

A `Model` has a package, a family (the module that defines it) and a name. Within a family, smaller models come first.
The first models of all families come before all second models, and so on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

_SMALL = ("test", "zepto", "atto", "femto", "pico", "nano", "mini", "tiny", "micro", "small", "lite", "base")
_LARGE = ("large", "huge", "giant", "gigantic", "enormous", "_7b", "_5b", "_1b", "so400m", "xlarge", "xxlarge")
_TEXT, _SECOND = 128, 16_000
"""The number of tokens in an input text, and the number of samples in one second of sound."""
_LAYERS = (
    *("num_hidden_layers", "encoder_layers", "decoder_layers", "num_layers", "num_decoder_layers", "n_layers"),
    *("n_layer", "depth"),
)
"""The fields of configurations that set the number of layers."""
_CONTRASTIVE = ("logit_scale_init_value", "temperature_init_value")
"""Fields of configurations that only models with both a text encoder and an image encoder define."""
_IMAGE, _FRAMES = 224, 8
"""The default width and height of an image in pixels, and the number of frames in a video."""


@dataclass(frozen=True)
class Model:
    """An architecture, which is built by `make`; `inputs` returns its inputs for a module and a batch size."""

    source: str
    family: str
    name: str
    make: Callable[[], Any]
    inputs: Callable[[Any, int], Any]

    @property
    def key(self) -> str:
        """The name of the model in the table and on the command line: PACKAGE/NAME."""
        return f"{self.source}/{self.name}"


def models() -> list[Model]:
    """Return all architectures: the smallest of each family in all packages, then the second smallest, and so on."""
    ranked = []
    for each in (_timm_models, _torchvision_models, _transformers_models):
        families: dict[str, list[Model]] = {}
        for model in each():
            families.setdefault(model.family, []).append(model)
        for place, rows in enumerate(families.values()):
            rows.sort(key=lambda model: (_size_rank(model.name), model.name))
            ranked += [(k, place / len(families), model) for k, model in enumerate(rows)]
    return [model for *_, model in sorted(ranked, key=lambda row: (*row[:2], row[2].key))]


def _size_rank(name: str) -> int:
    words = [k for k, word in enumerate(_SMALL) if word in name]
    return len(_SMALL) + 1 if any(word in name for word in _LARGE) else words[0] if words else len(_SMALL)


def _timm_models() -> Iterator[Model]:
    import timm

    for family in timm.list_modules():
        for name in timm.list_models(module=family):
            yield Model("timm", family, name, partial(timm.create_model, name), _image_of_timm)


def _image_of_timm(model: Any, batch: int) -> Any:
    """Return an input batch of images for a timm model, without data."""
    return torch.empty(batch, *model.default_cfg.get("input_size", (3, _IMAGE, _IMAGE)), device="meta")


def _torchvision_models() -> Iterator[Model]:
    """Yield all architectures of the package torchvision, without weights."""
    from torchvision import models

    for name in models.list_models():
        builder = models.get_model_builder(name)
        bare = {word: None for word in ("weights", "weights_backbone") if word in signature(builder).parameters}
        family = builder.__module__.removeprefix("torchvision.models.")
        yield Model("torchvision", family, name, partial(builder, **bare), _image_of_torchvision)


def _image_of_torchvision(model: Any, batch: int) -> Any:
    """Return the input of a torchvision model: images, a pair of images, or video frames."""
    kind, side = type(model).__module__, 299 if type(model).__name__ == "Inception3" else _IMAGE
    if ".detection." in kind:
        return ([torch.empty(3, side, side, device="meta") for _ in range(batch)],)
    if ".optical_flow." in kind:
        return tuple(torch.empty(batch, 3, 128, 128, device="meta") for _ in range(2))
    frames = (16,) if ".video." in kind else ()
    return torch.empty(batch, 3, *frames, side, side, device="meta")


def _transformers_models() -> Iterator[Model]:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    for kind in sorted(MODEL_MAPPING_NAMES.keys() & CONFIG_MAPPING_NAMES.keys()):
        for width in ("base", "small"):
            yield Model("transformers", kind, f"{kind}-{width}", partial(_configured_model, kind, width), _model_inputs)


def _configured_model(kind: str, width: str) -> Any:
    """Return a model of the configuration `kind`; if `width` is "small", with at most two layers of each type."""
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.for_model(kind)
    parts = [config, *(getattr(config, name) for name in getattr(config, "sub_configs", ()))]
    for part in parts if width == "small" else ():
        for name in _LAYERS:
            if isinstance(getattr(part, name, None), int):
                setattr(part, name, min(2, getattr(part, name)))
    return AutoModel.from_config(config, experts_implementation="batched_mm")


def _model_inputs(model: Any, batch: int) -> Any:
    """Return the inputs required by a model's `forward`: tokens, images, or a second of sound."""
    config, main = model.config, model.main_input_name
    named = signature(model.forward).parameters
    text = getattr(config, "text_config", config)
    tokens = batch, min(_TEXT, getattr(text, "max_position_embeddings", None) or _TEXT)
    makers: dict[str, Callable[[], Any]] = {
        "pixel_values": lambda: torch.empty(batch, *_image_of(config), device="meta"),
        "pixel_values_videos": lambda: torch.empty(batch, _FRAMES, *_image_of(config), device="meta"),
        "input_features": lambda: torch.empty(batch, *_spectrum_of(config), device="meta"),
        "input_values": lambda: torch.empty(batch, *_sound_of(config), device="meta"),
        "input_ids": lambda: torch.zeros(*tokens, dtype=torch.long, device="meta"),
        "inputs": lambda: torch.zeros(*tokens, dtype=torch.long, device="meta"),
    }
    if main not in makers:
        raise ValueError(f"{main}: must be an input that the zoo can make")
    has_two_towers = any(hasattr(config, name) for name in _CONTRASTIVE) and {"input_ids", "pixel_values"} <= {*named}
    needed = [name for name, each in named.items() if name in makers and each.default is Parameter.empty]
    wanted = dict.fromkeys((*(("input_ids", "pixel_values") if has_two_towers else (main,)), *needed))
    given = {name: makers[name]() for name in wanted}
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in named:
        given["decoder_input_ids"] = makers["input_ids"]()
    return given | ({"use_cache": False} if "use_cache" in named else {})


def _image_of(config: Any) -> tuple[int, int, int]:
    """Return the shape of a model's input image as (channels, height, width)."""
    vision = getattr(config, "vision_config", config)
    side = getattr(vision, "image_size", None) or _IMAGE
    height, wide = side if isinstance(side, (list, tuple)) else (side, side)
    return getattr(vision, "num_channels", None) or 3, height, wide


def _sound_of(config: Any) -> tuple[int, ...]:
    """Return an audio input's shape: a spectrogram's, (1, samples) for a codec, or (samples,) otherwise."""
    if hasattr(config, "num_mel_bins") and hasattr(config, "frequency_stride"):
        return config.max_length, config.num_mel_bins
    return (1, _SECOND) if hasattr(config, "codebook_size") else (_SECOND,)


def _spectrum_of(config: Any) -> tuple[int, int]:
    """Return the shape of sound features: (bins, frames), or (frames, bins) for models that subsample frames."""
    config = getattr(config, "encoder_config", config)
    names = "feature_projection_input_dim", "input_feat_per_channel", "num_mel_bins", "input_dim"
    bins = next((int(getattr(config, name)) for name in names if getattr(config, name, None)), 80)
    frames = 2 * getattr(config, "max_source_positions", 1500)
    is_frames_first = hasattr(config, "subsampling_factor") or not hasattr(config, "num_mel_bins")
    return (frames, bins) if is_frames_first else (bins, frames)


def loss_of(result: Any) -> Any:
    """Return a loss for any model: the sum of the mean squares of its floating-point results that need gradients."""
    fields = result if isinstance(result, (torch.Tensor, tuple, list, dict)) else vars(result)
    floats = [each for each in tree_leaves(fields) if isinstance(each, torch.Tensor) and each.is_floating_point()]
    return sum(each.square().mean() for each in floats if each.requires_grad)
