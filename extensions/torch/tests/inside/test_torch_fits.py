"""Torch steps: the live peak equals that of the step on real tensors, and a step fits if the allocator can run it."""

import json
import pickle
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.planner.errors import InputError, OptionError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # modules of other packages warn when they are imported
    pytest.importorskip("torch.fx", reason="needs torch")  # plain "torch" could match the folder of these tests
    import torch
    from torch._functorch.aot_autograd import aot_module
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    from memplan.extensions.torch.inside import recording
    from memplan.extensions.torch.inside.demand import is_sure_to_fit, live_peak_of, simulate
    from memplan.extensions.torch.inside.device import FitsOptions
    from memplan.extensions.torch.inside.fits import fits
    from memplan.extensions.torch.inside.kernels import HIDING
    from memplan.extensions.torch.inside.step import TorchStep
    from memplan.extensions.torch.inside.tracing import interpret
    from memplan.extensions.torch.inside.ways import resize_step
    from memplan.extensions.torch.tests.both_kernels import BothKernels
    from memplan.extensions.torch.tests.plain_allocator import PlainAllocator
    from memplan.extensions.torch.tests.torch_counts import count_of_steps, sum_losses
    from memplan.extensions.torch.tests.torch_zoo import MODELS, Language, tokens

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

STEPS = {
    "inference": None,
    "sgd": partial(torch.optim.SGD, lr=0.01, momentum=0.9),
    "adam": torch.optim.Adam,
    "foreach": partial(torch.optim.AdamW, foreach=True),
    "fused": partial(torch.optim.AdamW, fused=True),
}


def count_live_bytes(model: Any, inputs: Any, optimizer: Any, *, compiled: bool = False) -> int:
    run = None
    if compiled:
        run = aot_module(model, interpret, interpret, partition_fn=min_cut_rematerialization_partition)
        with torch.set_grad_enabled(optimizer is not None):
            run(*inputs)
    return count_of_steps(model, inputs, optimizer, run)


TRAINED = [kind for kind in STEPS if kind != "inference"]
"""The optimizers for training: gpt2 is trained with each of them, every other model with one, in rotation."""
DEEP = ("mobilenet_v2", "densenet", "inception", "shufflenet", "unet", "mixer", "llama", "bert", "vit")
"""Models whose operators all occur in other models, too; they run before a release."""


def model_row(name: str, kind: str) -> Any:
    return pytest.param(name, kind, False, marks=[pytest.mark.deep] if name in DEEP else [])


@pytest.mark.parametrize(
    ("name", "kind", "compiled"),
    [
        *((name, kind, True) for name in ("vgg", "untied") for kind in ("sgd", "inference")),
        *(model_row(name, "inference") for name in ("gpt2", "mobilenet_v2", "lstm", "translator", "experts")),
        *(
            model_row(name, kind)
            for k, name in enumerate(MODELS)
            # All operators of resnet18 also occur in other models.
            if name != "resnet18"
            for kind in (TRAINED if name == "gpt2" else TRAINED[k % len(TRAINED) :][:1])
        ),
    ],
)
def test_the_live_peak_equals_the_live_peak_of_the_step_on_real_tensors(name: str, kind: str, compiled: bool) -> None:
    torch.manual_seed(1)
    model, inputs = MODELS[name]()
    loss = None if STEPS[kind] is None else sum_losses
    recording = TorchStep(model, inputs, loss, (), STEPS[kind]).record(is_compiled=compiled)
    expected = count_live_bytes(model, inputs, STEPS[kind], compiled=compiled)
    assert live_peak_of(recording, FitsOptions(allocator="cpu"))[0] == expected


def test_operators_whose_fake_kernels_omit_bytes_are_listed() -> None:
    torch.manual_seed(1)
    with BothKernels() as both:
        for name in ("two_ways", "gru", "folded", "narrow", "vgg", "generator", "encoder", "ranking", "vit"):
            model, inputs = MODELS[name]()
            sum_losses(model(*inputs)).backward()
    assert {"aten::mkldnn_rnn_layer", "aten::mse_loss", "aten::native_batch_norm"} <= both.hidden.keys() <= HIDING
    assert both.count > 900


def test_the_answer_stays_unknown_if_an_operator_keeps_uncounted_bytes() -> None:
    model, inputs = MODELS["two_ways"]()
    given: dict[str, Any] = {"loss": sum_losses, "optimizer": "sgd", "capacity": "1GiB"}
    answer = fits(model, inputs, **given, suggest=True)
    assert (answer.fits, answer.ways, answer.left) == (None, None, None)
    assert answer.proof.startswith("open: what aten.mkldnn_rnn_layer.default keeps on the device is not counted")
    said = fits(model, inputs, **given, kernel_workspace="1MiB")
    assert (said.fits, said.live_peak) == (True, answer.live_peak)
    on_cpu = fits(model, inputs, **given, allocator="cpu")
    assert (on_cpu.fits, on_cpu.proof[:8]) == (True, "counted:")
    assert on_cpu.live_peak > answer.live_peak - answer.roles["workspaces"]
    large = torch.empty(1 << 15, 1 << 14, device="meta")
    loss = torch.nn.functional.mse_loss
    given = {"loss": lambda made, of: loss(made * of, of), "targets": (torch.empty(1, requires_grad=True),)}
    step = fits(torch.nn.Identity(), large, **given, capacity="99GiB", allocator="cpu")
    assert step.fits is None
    assert "aten.mse_loss.default" in step.proof


def test_fits_agrees_with_a_separately_written_allocator() -> None:
    """Compare the answers, at capacities around the live peak and the reserved bytes, with a plainer allocator."""
    asked = wrong = 0
    for name in list(MODELS)[-15:]:
        torch.manual_seed(1)
        model, inputs = MODELS[name]()
        _, step_of = resize_step(TorchStep(model, inputs, sum_losses, (), torch.optim.Adam), 0)
        recording = step_of(64).record(foreach=True)
        for allocator in ("cpu", "cuda", "expandable_segments:True"):
            device = FitsOptions(allocator=allocator, cublas_workspace=0, kernel_workspace=0, time_limit_s=0.05)
            live, _ = live_peak_of(recording, device)
            most = live if allocator == "cpu" else simulate(recording, device, None).allocator.peak
            for capacity in (live // 2, live - 1, live, (live + most) // 2, most - 1, most, most + 1):
                within = is_sure_to_fit(recording, device.model_copy(update={"capacity": capacity}))
                if allocator == "cpu":
                    wrong += within != (live <= capacity)
                elif allocator == "cuda":
                    is_run = live <= capacity and run_in_plain_allocator(recording, device, capacity) is not None
                    wrong += within != is_run
                else:
                    wrong += within if capacity < live else not within and capacity >= most
                asked += 1
    assert asked >= 300
    assert wrong == 0


def run_in_plain_allocator(recording: Any, device: FitsOptions, capacity: int | None = None) -> PlainAllocator | None:
    """Run a step with the plain allocator; return None if a request cannot be met."""
    allocator = PlainAllocator(capacity)
    given = [k for k, tensor in enumerate(recording.tensors) if tensor.phase == "given"]
    for event in (*given, *recording.events):
        tensor = recording.tensors[event if event >= 0 else ~event]
        if device.is_counted(tensor):
            if event < 0:
                allocator.free_block(~event)
            elif not allocator.place(event, tensor.size):
                return None
    return allocator


def test_scratch_of_convolutions_is_counted_beside_the_tensors() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(4, 8, 3), torch.nn.Conv2d(8, 8, 3, groups=8))
    given: dict[str, Any] = {"time_limit_s": 0.1}
    answer = fits(model, torch.empty(64, 4, 130, 130, device="meta"), **given)
    sizes = [64 * 4 * 130 * 130 * 4, 4 * 8 * 9 * 4, 8 * 4, 8 * 9 * 4, 8 * 4, 64 * 8 * 128 * 128 * 4]
    allocator = PlainAllocator()
    for k, size in enumerate(sizes):
        allocator.place(k, size)
    # Two copies of image, weights, bias and result; the second convolution is depthwise, and needs no scratch memory.
    allocator.place("scratch", 2 * sum(sizes[k] for k in (0, 1, 2, 5)))
    allocator.free_block("scratch")
    allocator.place("last", 64 * 8 * 126 * 126 * 4)
    assert answer.reserved is not None
    assert answer.reserved_most == allocator.most > answer.reserved
    capacity = answer.reserved_most - 1
    open_answer = fits(model, torch.empty(64, 4, 130, 130, device="meta"), **given, capacity=capacity)
    assert open_answer.fits is None
    assert open_answer.proof.startswith("open: the step runs with")
    said = fits(model, torch.empty(64, 4, 130, 130, device="meta"), **given, capacity=capacity, kernel_workspace=0)
    assert (said.fits, said.reserved_most) == (True, said.reserved)
    assert fits(model, torch.empty(64, 4, 130, 130, device="meta"), **given, capacity=answer.reserved_most).fits is True


@pytest.mark.parametrize("name", ["unet", pytest.param("mixer", marks=pytest.mark.deep)])
def test_the_largest_batch_is_found_by_a_symbolic_recording_and_two_trials(name: str) -> None:
    torch.manual_seed(1)
    model, inputs = MODELS[name]()
    device, peaks = FitsOptions(allocator="cpu"), []
    for batch in (5, 6):
        sized = tuple(value.new_zeros((batch, *value.shape[1:])) for value in inputs)
        peaks.append(live_peak_of(TorchStep(model, sized, sum_losses, (), "sgd").record(), device)[0])
    assert peaks[0] < peaks[1]
    given: dict[str, Any] = {"loss": sum_losses, "optimizer": "sgd", "allocator": "cpu", "time_limit_s": 0.1}
    ways = fits(model, inputs, **given, capacity=peaks[1] - 1, suggest=True).ways
    assert (ways.sizes[0].name, ways.sizes[0].size, ways.sizes[0].tried) == ("batch", 5, 2)


def test_a_step_fits_with_the_chosen_checkpoints_but_not_with_one_checkpoint_less() -> None:
    torch.manual_seed(1)
    model, inputs = Language(4, 16, 4), (tokens(32, 4),)
    step = TorchStep(model, inputs, sum_losses, (), "sgd")
    device = FitsOptions(allocator="cpu")
    whole, _ = live_peak_of(step.record(), device)
    capacity = int(0.7 * whole)
    given: dict[str, Any] = {"loss": sum_losses, "optimizer": "sgd", "allocator": "cpu", "time_limit_s": 1.0}
    answer = fits(model, inputs, **given, sizes={}, capacity=capacity, suggest=True)
    assert answer.fits is False
    chosen = answer.ways.checkpoint
    assert chosen.modules
    assert set(chosen.modules) <= {f"layers.{k}" for k in range(4)}
    assert live_peak_of(step.record(checkpointed=chosen.modules), device)[0] <= capacity < whole
    assert live_peak_of(step.record(checkpointed=chosen.modules[1:]), device)[0] > capacity
    best = answer.ways.order
    assert best.lower_bound <= best.peak <= whole
    assert best.recomputed is None or best.recomputed <= capacity


def test_an_answer_lists_storages_alive_at_the_peak_with_source_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    # The network is a file of memplan, whose lines are normally omitted, so exclude only the folder of the recording.
    monkeypatch.setattr(recording, "OF_MEMPLAN", str(Path(recording.__file__).parent))
    model, inputs = Language(2, 32, 4), (tokens(32, 4),)
    given = {"loss": sum_losses, "optimizer": "adamw", "context": "300MiB", "cublas_workspace": 0}
    answer = fits(model, inputs, **given, capacity="1GiB")
    assert answer.fits is True
    assert answer.roles["optimizer"] == 2 * sum(value.nbytes for value in model.parameters())
    assert sum(answer.roles.values()) == answer.live_peak
    assert answer.live_peak <= answer.lower_bound <= answer.peak <= answer.reserved
    assert any("torch_zoo.py:" in group.line and group.module.startswith("layers.") for group in answer.alive)
    assert [unknown.option for unknown in answer.unknown if unknown.bytes is None] == ["kernel_workspace", "nccl"]
    assert all(parameter.grad is None for parameter in model.parameters())
    assert fits(model, inputs, loss=sum_losses, capacity="1GiB", context="2GiB").fits is False


class Chooses(torch.nn.Module):  # type: ignore[misc]  # the package is untyped
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.inner.register_forward_hook(lambda module, given, made: made if made.sum() > 0 else -made)

    def forward(self, x: Any) -> Any:
        return self.inner(x)


def two_device_model() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4, device="meta"))


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        (Chooses, {},
         r"model.inner: must not read .*, got test_torch_fits.py:\d+: .* give computed=True \(--computed\)"),
        (two_device_model(), {}, r"model.1.weight: must be on the device of 0.weight \(cpu\), got meta"),
        (torch.nn.ReLU, {"optimizer": "sgd"}, "optimizer: must have trainable parameters, got a model without any"),
        (lambda: torch.nn.Linear(5, 4), {}, "model: must run on its inputs: .*RuntimeError"),
        (torch.nn.ReLU, {"loss": torch.nn.CrossEntropyLoss()}, "targets: must be given for this loss, got none"),
        (lambda: torch.nn.Linear(4, 4), {"optimizer": "sgd"},
         r"loss: must return one number that depends on a parameter.* ends in .mean\(\) or .sum\(\)"),
        (lambda: torch.nn.Linear(4, 4), {"optimizer": "adamm"}, r"optimizer: must be one of sgd.* mean adam\?"),
        (torch.nn.ReLU, {"loss": torch.nn.functional.cross_entropy, "targets": torch.zeros(2, 3, dtype=torch.long)},
         "loss: must run on the result and targets: .*target"),
        (lambda: 3, {}, "model: must be a torch.nn.Module or a function that returns one"),
        (torch.nn.ReLU, {"allocator": "mimalloc"}, "allocator: must be"),
        (torch.nn.ReLU, {"suggest": True}, "suggest: applies only with capacity, got true"),
        (torch.nn.ReLU, {"allocator": "cpu", "cublas_workspace": 64},
         "cublas_workspace: must be left out with the allocator cpu"),
    ],
)  # fmt: skip
def test_the_error_names_the_module_or_option_that_stops_a_step(model: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        fits(model, torch.zeros(2, 4), **options)
    if model is Chooses:
        assert fits(model, torch.zeros(2, 4), computed=True).live_peak > 0


def test_the_command_fits_runs_the_function_of_a_script(tmp_path: Path, capsys: Any) -> None:
    script = tmp_path / "small.py"
    script.write_text(
        "import torch\n"
        "def build():\n    model = torch.nn.Linear(2**13, 2**13)\n"
        "    return {'model': model, 'inputs': torch.randn(2, 2**13), 'optimizer': 'adam',\n"
        "        'loss': lambda made: made.sum()}\n"
        "def wrong():\n    return torch.mm(3)\n"
        "def moved():\n    raise AssertionError('Torch not compiled with CUDA enabled')\n"
        "def typed():\n    return {'model': 1, 'inputs': 2, 'optimiser': 3}\n"
    )
    assert main(["fits", f"{script}:build", "--capacity", "512MiB"]) == 1
    assert json.loads(capsys.readouterr().out)["fits"] is False
    assert main(["fits", f"{script}:build", "--capacity", "2GiB", "--format", "table"]) == 0
    assert capsys.readouterr().out.startswith("fits: simulated")
    files = [tmp_path / name for name in ("small.svg", "small.html", "small.json", "small.graph.json")]
    assert main(["fits", f"{script}:build", *(part for file in files for part in ("-o", str(file)))]) == 0
    assert capsys.readouterr().out == ""
    picture, page, answer = (file.read_text() for file in files[:3])
    assert f"peak {json.loads(answer)['peak']:,} bytes" in picture
    assert f"<title>{script}:build" in page
    pools = ("--pool", "gpu=1000MiB", "--pool", "host,direct=false,cost=1", "--moves", "--time-limit", "5")
    assert main(["plan", str(files[3]), *pools, "--format", "status,moved_bytes"]) == 0
    assert {row["from"] for row in json.loads(capsys.readouterr().out)["moved_bytes"]} <= {"gpu", "host"}
    for call, said in (
        ("wrong", "small.py:7: TypeError: "),
        ("moved", "(leave .cuda() and device= out, as no device is needed)"),
        ("other", "(it defines build, wrong, moved, typed)"),
        ("bild", 'must define the function "bild" (did you mean build?)'),
        ("typed", 'got "model, inputs, optimiser" (did you mean optimizer?)'),
        ("build -o x.png", "output: must end in .html, .json, .graph.json or .svg"),
    ):
        assert main(["fits", *f"{script}:{call}".split()]) == 2
        assert said in capsys.readouterr().err
    # The usable memory is below 0, as a workspace is larger than the capacity.
    assert main(["fits", f"{script}:build", "--capacity", "1KiB", "--suggest"]) == 1


def test_a_traced_step_is_compared_with_its_snapshot(tmp_path: Path, capsys: Any) -> None:
    script, recorded = tmp_path / "language.py", tmp_path / "step.pickle"
    script.write_text(
        "from memplan.extensions.torch.tests.torch_zoo import Language, tokens\n"
        "def build():\n    return {'model': Language(1, 32, 4), 'inputs': tokens(32, 4), 'optimizer': 'adam',\n"
        "        'loss': lambda made: made.square().mean()}\n"
    )
    for batch in (4, 8):
        step = TorchStep(Language(1, 32, 4), tokens(32, batch), lambda made: made.square().mean(), (), "adam")
        allocator = run_in_plain_allocator(step.record(foreach=True), FitsOptions(cublas_workspace=0))
        recorded.write_bytes(pickle.dumps(allocator.snapshot({})))
        assert main(["fits", f"{script}:build", "--snapshot", str(recorded), "--cublas-workspace", "0"]) == 0
        answer = json.loads(capsys.readouterr().out)
        beside = answer["compared"]
        assert beside["reserved"] == allocator.most
        sides = (beside[name].items() for name in ("only_recorded", "only_traced"))
        more = [sum(int(size) * count for size, count in side) for side in sides]
        if batch == 4:
            assert (more, beside["live_peak"]) == ([0, 0], answer["live_peak"])
        else:
            assert more[0] - more[1] >= beside["live_peak"] - answer["live_peak"] - 512 > 0
    assert main(["fits", f"{script}:build", "--snapshot", str(script)]) == 2
    assert "snapshot: must be a snapshot" in capsys.readouterr().err
    assert main(["fits", str(recorded), "--suggest"]) == 2
    assert "must be SCRIPT.py:FUNCTION for --suggest" in capsys.readouterr().err


@pytest.mark.parametrize("allocator", ["cuda", "plan"])
def test_the_workspace_of_cublas_is_counted_once_in_every_figure(allocator: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
    given = {"model": model, "inputs": (torch.zeros(32, 64),), "allocator": allocator}
    without = fits(**given, capacity="4MiB", cublas_workspace=0)
    assert without.fits
    small = fits(**given, capacity="4MiB")
    assert small.proof.startswith("proved: 8.18 MiB are alive at once, 8.125 MiB of it cuBLAS's workspace")
    assert small.live_peak == without.live_peak + 8320 * 1024 == sum(small.roles.values())
    assert small.live_peak <= (small.lower_bound or 0) <= (small.peak or 0)
    large = fits(**given, capacity="32MiB", advise=allocator == "cuda")
    assert (large.fits, large.left and large.left.most) == (True, (32 << 20) - small.live_peak)
    assert large.left.contiguous <= (32 << 20) - 8320 * 1024
    assert all("of no block" not in row.line for row in (large.advice.stranded if large.advice else ()))


def test_a_wrong_step_with_a_tensor_as_its_targets_is_an_error_of_the_user() -> None:
    class LayerOfWrongWidth(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ torch.zeros(8, 2, device=x.device)

    targets = torch.zeros(3, dtype=torch.long)
    with pytest.raises(InputError, match=r"^model: must run on its inputs: test_torch_fits\.py:\d+: .*\[8, 2\]"):
        fits(LayerOfWrongWidth(), (torch.zeros(3, 16),), loss=torch.nn.functional.cross_entropy, targets=targets)


def test_a_whole_step_as_people_write_it_is_counted_like_its_parts() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64))
    x = torch.zeros(512, 64)

    def step(model: Any, optimizer: Any, x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    def adam(of: Any) -> Any:
        return torch.optim.Adam(of.parameters())

    given: dict[str, Any] = {"capacity": "1GiB", "allocator": "cpu"}
    parts = fits(model, (x,), loss=lambda made: made.square().mean(), optimizer="adam", **given)
    whole = fits(model, (x,), step=step, optimizer=adam, **given)
    assert whole.fits
    assert 0 <= parts.live_peak - whole.live_peak <= 512 * 64 * 4  # the result of the model may end before the step
    assert {"parameters", "optimizer"} <= whole.roles.keys()
    for optimizer in ("adam", adam(model), lambda of: {"all": adam(of)}):
        in_step = step if not callable(optimizer) else lambda model, given, x: step(model, given["all"], x)
        assert fits(model, (x,), step=in_step, optimizer=optimizer, **given).live_peak == whole.live_peak
    with pytest.raises(OptionError, match=r"^step: must be a function of model, optimizer and inputs, without loss"):
        fits(model, (x,), step=step, loss=torch.sum, optimizer="adam")


def test_two_optimizers_two_backward_passes_and_accumulation_are_counted() -> None:
    both = torch.nn.ModuleDict({"made": torch.nn.Linear(32, 64), "judge": torch.nn.Linear(64, 1)})

    def optimizers(of: Any) -> Any:
        return torch.optim.Adam(of["made"].parameters()), torch.optim.Adam(of["judge"].parameters())

    def step(of: Any, optimizers: Any, noise: Any, parts: int = 4) -> None:
        for part, optimizer in zip(("judge", "made"), optimizers[::-1], strict=True):
            optimizer.zero_grad()
            for some in noise.chunk(parts):
                ((1 if part == "made" else -1) * of["judge"](of["made"](some)).mean() / parts).backward()
            optimizer.step()

    given: dict[str, Any] = {"optimizer": optimizers, "capacity": "2MiB", "allocator": "cpu"}
    found, alone = (fits(both, (torch.zeros(1024, 32),), step=each, **given) for each in (step, partial(step, parts=1)))
    assert found.roles["optimizer"] >= 2 * sum(each.numel() * 4 for each in both.parameters())
    assert alone.live_peak - found.live_peak >= 3 * 256 * 64 * 4  # what three of four parts make is not alive
