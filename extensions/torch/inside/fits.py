"""The answer whether a torch step fits: a model's step or a script's, run on tensors without storage."""

import inspect
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import torch

from memplan.extensions.torch.inside.answer import FitsAnswer, compare_with_snapshot, judge_step
from memplan.extensions.torch.inside.demand import is_sure_to_fit, unsure_operators
from memplan.extensions.torch.inside.device import FitsOptions
from memplan.extensions.torch.inside.step import TorchStep, error_text
from memplan.extensions.torch.inside.ways import find_remedies, graph_of, sizes_of
from memplan.files import prefix_file_name
from memplan.planner.errors import MAX_SHOWN, InputError, OptionError, excerpt
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.questions.reading import validate_options
from memplan.runtimes.torch.snapshot import recorded_steps
from memplan.runtimes.torch.storages import StepMemory

_FIELDS = ("model", "inputs", "loss", "targets", "optimizer", "step")


def fits(
    model: Any,
    inputs: Any,
    *,
    loss: Any = None,
    targets: Any = (),
    optimizer: Any = None,
    step: Any = None,
    snapshot: bytes | Mapping[int, StepMemory] | None = None,
    **options: Any,
) -> FitsAnswer:
    """Return whether a step of a model fits a capacity: inference, or training if a loss or an optimizer is given.

    The step is that of `TorchStep`, run eagerly on fake tensors, or on real values if `computed`. The options are the
    fields of `FitsOptions`: `capacity`, as in "24GiB"; `allocator`, which is that of CUDA with its default or other
    settings, that of CPUs, or `plan` (one arena by memplan); workspaces and other memory outside torch's allocator,
    which are subtracted from the capacity. With `compiled`, both passes are graphs of AOT autograd, whose minimum cut
    determines the saved activations. With `suggest` and a capacity, `ways` are the largest sizes, the modules to
    checkpoint, and the bytes needed in a better order. If `snapshot`, the bytes or the recorded steps of a snapshot
    file of the same step, is given, the step is compared with it. Raises InputError, which names the module, for steps
    that cannot be run, and OptionError.
    """
    device = validate_options(FitsOptions, options)
    if device.together:
        raise OptionError("together: applies only to snapshots with CUDA graphs, got the step of a model")
    device.refuse_idle(())
    if device.allocator == "cpu":
        device.refuse_workspace(f"with the allocator {device.allocator}, which has none")
    if step is not None and (loss is not None or not callable(step)):
        raise OptionError(
            "step: must be a function of model, optimizer and inputs, without loss, which it computes itself"
        )
    step = TorchStep(model, inputs, loss, targets, optimizer, step)
    with prefix_file_name("snapshot"):
        beside = recorded_steps(snapshot) if isinstance(snapshot, bytes) else snapshot
    run = partial(
        TorchStep.record, foreach=device.allocator != "cpu", is_computed=device.computed, is_compiled=device.compiled
    )
    recording = run(step)
    answer = judge_step(recording, device).model_copy(update={"graph": graph_of(recording)})
    if beside is not None:
        answer = answer.model_copy(update={"compared": compare_with_snapshot(recording, device, beside)})
    if not device.suggest or device.usable_bytes is None or unsure_operators(recording, device):
        return answer
    changing = sizes_of(step) if device.sizes is None else device.sizes
    tries = partial(is_sure_to_fit, device=device)
    room = device.usable_bytes - answer.roles.get("workspaces", 0)
    ways_ = find_remedies(step, recording, room, tries, run, changing, 2 * device.time_limit_s)
    return answer.model_copy(update={"ways": ways_})


def fits_of_script(script: str, *, computed: bool = False, **options: Any) -> FitsAnswer:
    """Return the result of `fits` for the dictionary of its arguments that the script's FILE.py:FUNCTION returns.

    Function parameters whose defaults are integers are sizes that may change. Raises InputError if the file, the
    function or its result is wrong, and the errors of `fits`.
    """
    path, colon, name = script.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise OptionError(f"script: must be FILE.py:FUNCTION, such as step.py:make, got {excerpt(script)}")
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    with nullcontext() if computed else torch.device("meta"):
        try:
            spec = spec_from_file_location(Path(path).stem, path)
            # Python finds a spec and a loader for every file name that ends with .py.
            assert spec is not None
            assert spec.loader is not None
            module = sys.modules[spec.name] = module_from_spec(spec)
            sys.path.insert(0, str(Path(path).parent))
            spec.loader.exec_module(module)
            function = getattr(module, name, None)
            if not callable(function):
                others = [each for each, value in vars(module).items() if getattr(value, "__module__", "") == spec.name]
                hint = did_you_mean(name, others) or f" (it defines {', '.join(others[:MAX_SHOWN]) or 'none'})"
                raise InputError(f"{path}: must define the function {excerpt(name)}{hint}")
            parameters = inspect.signature(function).parameters
            step = _script_arguments(script, function())
        except InputError:
            raise
        except Exception as error:
            way = "leave .cuda() and device= out, as no device is needed" if "CUDA" in str(error) else None
            raise InputError(f"{script}: must run without errors: {error_text(error)}", way=way) from error

    def step_of(name: str, size: int) -> TorchStep:
        with nullcontext() if computed else torch.device("meta"):
            return TorchStep(**_script_arguments(script, function(**{name: size})))

    numbers = {name: row.default for name, row in parameters.items() if type(row.default) is int}
    sizes = {name: (default, partial(step_of, name)) for name, default in numbers.items()}
    return fits(**step, computed=computed, sizes=sizes or None, **options)


def _script_arguments(script: str, given: Any) -> dict[str, Any]:
    """Return the dictionary of arguments that a script's function returned; raises InputError for any other result."""
    if not isinstance(given, dict) or not {"model", "inputs"} <= given.keys() <= {*_FIELDS}:
        names = list(map(str, given)) if isinstance(given, dict) else []
        hint = "".join(did_you_mean(name, _FIELDS) for name in names if name not in _FIELDS)
        raise InputError(
            f"{script}: must return a dictionary with model and inputs, and optionally {', '.join(_FIELDS[2:])}, got "
            f"{excerpt(', '.join(names) or type(given).__name__)}{hint}"
        )
    return given
