"""Plan 20 models through the ExecuTorch client, beside ExecuTorch's own planner; execute six of them.

    python -m lab.executorch_models [NAME ...] [--keep FOLDER] [--server URL] > rows.jsonl

Run by hand, where executorch, torch, torchvision and transformers are installed. Weights are random, from one seed;
nothing is downloaded. Writes a JSON object a model: the bytes that ExecuTorch's greedy takes, those of memplan, and the
lower bound. What is executed runs with both plans: the outputs must be the same bits, and those of the model itself but
for rounding. Exit status 1 where one is not, or where a plan is larger than ExecuTorch's.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

try:
    from torchvision import models as vision
except RuntimeError:  # its compiled operators are those of another torch; no model here needs them, but their names
    for name in [name for name in sys.modules if name.startswith("torchvision")]:
        del sys.modules[name]
    names = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        names.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    from torchvision import models as vision

import transformers
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import greedy
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime

from memplan.api.executorch.algorithm import MemplanAlgorithm, Source

Made = tuple[torch.nn.Module, tuple[torch.Tensor, ...]]
_TOLERANCE = 1e-4
"""How far an output may be from the model's own, in parts of the largest number in it."""


class Layer(torch.nn.Module):
    """A layer of a transformer, written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inward = torch.nn.Linear(width, 3 * width)
        self.outward = torch.nn.Linear(width, width)
        self.wide = torch.nn.Linear(width, 4 * width)
        self.narrow = torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend, then think."""
        query, key, value = self.inward(x).chunk(3, dim=-1)
        x = x + self.outward(torch.softmax(query @ key.transpose(-1, -2), dim=-1) @ value)
        return x + self.narrow(torch.relu(self.wide(x)))


class Hidden(torch.nn.Module):
    """A model of transformers that returns its last hidden state, a tensor."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run the model."""
        return self.model(x, return_dict=True).last_hidden_state


def _seen(model: Callable[..., torch.nn.Module], **options: Any) -> Callable[[], Made]:
    return lambda: (model(weights=None, **options), (torch.randn(1, 3, 224, 224),))


def _seen_hidden(model: Callable[[Any], torch.nn.Module], config: Any) -> Callable[[], Made]:
    return lambda: (Hidden(model(config)), (torch.randn(1, 3, config.image_size, config.image_size),))


def _read(model: Callable[[Any], torch.nn.Module], config: Any, length: int = 128) -> Callable[[], Made]:
    return lambda: (Hidden(model(config)), (torch.randint(0, config.vocab_size, (1, length)),))


MODELS: Mapping[str, Callable[[], Made]] = {
    "transformer": lambda: (torch.nn.Sequential(Layer(64), Layer(64)), (torch.randn(1, 64, 64),)),
    "resnet18": _seen(vision.resnet18),
    "resnet50": _seen(vision.resnet50),
    "squeezenet1_1": _seen(vision.squeezenet1_1),
    "mobilenet_v2": _seen(vision.mobilenet_v2),
    "mobilenet_v3_small": _seen(vision.mobilenet_v3_small),
    "mnasnet0_5": _seen(vision.mnasnet0_5),
    "shufflenet_v2_x1_0": _seen(vision.shufflenet_v2_x1_0),
    "efficientnet_b0": _seen(vision.efficientnet_b0),
    "googlenet": _seen(vision.googlenet, aux_logits=False, init_weights=False),
    "densenet121": _seen(vision.densenet121),
    "convnext_tiny": _seen(vision.convnext_tiny),
    "swin_t": _seen(vision.swin_t),
    "lraspp_mobilenet_v3": lambda: (
        Segmented(vision.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)),
        (torch.randn(1, 3, 224, 224),),
    ),
    "bert_4_layers": _read(
        transformers.BertModel,
        transformers.BertConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4),
    ),
    "gpt2_4_layers": _read(
        transformers.GPT2Model,
        transformers.GPT2Config(vocab_size=1000, n_embd=256, n_layer=4, n_head=4, use_cache=False),
    ),
    "mobilebert_4_layers": _read(
        transformers.MobileBertModel, transformers.MobileBertConfig(vocab_size=1000, num_hidden_layers=4)
    ),
    "t5_encoder_small": _read(transformers.T5EncoderModel, transformers.T5Config(vocab_size=1000)),
    "vit_tiny": _seen_hidden(
        transformers.ViTModel,
        transformers.ViTConfig(hidden_size=192, num_attention_heads=3, intermediate_size=768, num_hidden_layers=6),
    ),
    "mobilevit_small": _seen_hidden(transformers.MobileViTModel, transformers.MobileViTConfig()),
}
EXECUTED = ("transformer", "resnet18", "mobilenet_v3_small", "bert_4_layers", "gpt2_4_layers", "vit_tiny")


class Segmented(torch.nn.Module):
    """A model of torchvision that returns the segments, a tensor."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run the model."""
        return self.model(x)["out"]


class Beside(MemplanAlgorithm):
    """memplan, and what ExecuTorch's greedy takes for the same specs."""

    def __init__(self, server: str | None) -> None:
        super().__init__(Source(server))
        self.greedy_bytes = 0
        self.cpu_s = 0.0

    def __call__(
        self, alignment: int, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: int = 0
    ) -> Any:
        """Plan twice, and keep memplan's plan."""
        self.greedy_bytes = sum(greedy(alignment, specs, graph_module, graph_signature, extra_padding).bufsizes)
        before = time.process_time()
        sizes = super().__call__(alignment, specs, graph_module, graph_signature, extra_padding)
        self.cpu_s = time.process_time() - before
        return sizes


def measure(name: str, server: str | None, keep: Path | None) -> dict[str, Any]:
    """Plan a model, and execute it if it is one of those; return what is written of it."""
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    exported = torch.export.export(model.eval(), inputs, strict=False)
    algorithm = Beside(server)
    program = _compiled(exported, MemoryPlanningPass(memory_planning_algo=algorithm))
    planned = algorithm.planned[-1]
    plan = planned.plan
    row: dict[str, Any] = {
        "model": name,
        "buffers": len(planned.problem.buffers),
        "executorch_greedy": algorithm.greedy_bytes,
        "memplan": sum(program.executorch_program.execution_plan[0].non_const_buffer_sizes),
        "lower_bound": plan.lower_bound if plan else None,
        "status": plan.status if plan else "planned by ExecuTorch",
        "solver": plan.solver if plan else None,
        "cpu_s": round(algorithm.cpu_s, 2),
    }
    if keep is not None:
        (keep / f"{name}.pte").write_bytes(program.buffer)
    if name in EXECUTED:
        found = _run(program, inputs)
        before = _run(_compiled(exported, MemoryPlanningPass()), inputs)
        expected = model(*inputs)
        row["same_bits_as_with_greedy"] = torch.equal(found, before)
        row["error"] = float((found - expected).abs().max() / expected.abs().max())
    return row


def _compiled(exported: Any, planning: MemoryPlanningPass) -> Any:
    return to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))


def _run(program: Any, inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    outputs = Runtime.get().load_program(program.buffer).load_method("forward").execute(inputs)
    return torch.clone(outputs[0])


def _is_good(row: Mapping[str, Any]) -> bool:
    runs = row.get("same_bits_as_with_greedy", True) and row.get("error", 0.0) <= _TOLERANCE
    return runs and row["memplan"] <= row["executorch_greedy"]


def main() -> int:
    """Measure the models that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the .pte files there")
    parser.add_argument("--server", metavar="URL", help="plan there")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in MODELS]
    if unknown:
        parser.error(f"NAME: must be one of {', '.join(MODELS)}, got {unknown[0]}")
    rows = []
    with torch.no_grad():
        for name in options.names or MODELS:
            rows.append(measure(name, options.server, options.keep))
            sys.stdout.write(json.dumps(rows[-1]) + "\n")
            sys.stdout.flush()
    return 0 if all(map(_is_good, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
