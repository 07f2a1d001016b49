"""Torch steps, for inference or training, run on fake copies of a model, without weights or computation."""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any

import torch
from torch import nn
from torch._functorch.aot_autograd import aot_function
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor
from torch.utils._python_dispatch import _get_current_dispatch_mode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.checkpoint import checkpoint

from memplan.extensions.torch.inside.recording import OF_MEMPLAN, OF_TORCH, Recording
from memplan.extensions.torch.inside.tracing import interpret
from memplan.planner.errors import InputError, OptionError, escape_controls, excerpt, shorten
from memplan.planner.errors.did_you_mean import did_you_mean

OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "sgd": partial(torch.optim.SGD, lr=0.01),
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
}
_MOST_SAID = 160


@dataclass(frozen=True)
class TorchStep:
    """A step: a forward pass and, with a loss or an optimizer, a backward pass and the optimizer's update.

    `model` is a module, or a function without arguments that returns one. `inputs` are a tensor, a tuple of positional
    arguments or a dictionary of named ones. `loss` is called with the result and the `targets`; without it, the result
    is the loss or has the attribute `loss`. `optimizer` is a name of OPTIMIZERS, a class or function of parameters, or
    an optimizer. Instead of these, `step(model, optimizer, *inputs)` may be a whole step, with several backward passes;
    a function as `optimizer` is then one of the model, and returns one optimizer or several of them.
    """

    model: Any
    inputs: Any
    loss: Callable[..., Any] | None = None
    targets: tuple[Any, ...] = ()
    optimizer: Any = None
    step: Callable[..., Any] | None = None

    @property
    def is_training(self) -> bool:
        """True if the step computes gradients."""
        return self.loss is not None or self.optimizer is not None or self.step is not None

    def record(
        self,
        *,
        foreach: bool = False,
        checkpointed: Collection[str] = (),
        is_computed: bool = False,
        is_compiled: bool = False,
    ) -> Recording:
        """Run and record the step; training runs twice, since the optimizer creates its state in the first run.

        `foreach` is the default for the optimizer option of that name; `checkpointed` names modules whose activations
        are recomputed. `is_computed` runs on real values, `is_compiled` runs the graphs of AOT autograd operation by
        operation. Raises InputError, which names the module, for a step that cannot be run.
        """
        recording, log = Recording(), logging.getLogger("torch._subclasses.fake_tensor")
        # Torch also raises the errors that it logs, so silence the log.
        is_quiet, log.disabled = log.disabled, True
        try:
            with nullcontext() if isinstance(self.model, nn.Module) or is_computed else torch.device("meta"):
                model = self.model if isinstance(self.model, nn.Module) else self.model()
            if not isinstance(model, nn.Module):
                raise InputError(
                    f"model: must be a torch.nn.Module or a function that returns one, got {excerpt(str(type(model)))}"
                )
            values = tree_leaves((list(model.parameters()), self.inputs))
            mode = next((value.fake_mode for value in values if isinstance(value, FakeTensor)), None)
            with nullcontext() if is_computed else mode or FakeTensorMode(allow_non_fake_inputs=True):
                replace(self, model=model)._run_recorded(recording, foreach, checkpointed, is_compiled)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise InputError(
                f"{_stop_location(recording)}: must not read values of fake tensors, which have no values, got "
                f"{_line_of_user(error)}{error.func}: give computed=True (--computed) to run the step on real values"
            ) from error
        except InputError:
            raise
        except Exception as error:
            text = error_text(error)
            has_targets = not isinstance(self.targets, (tuple, list)) or len(self.targets) > 0
            if self.loss is not None and not has_targets and "missing" in str(error):
                raise InputError(f"targets: must be given for this loss, got none: {text}") from error
            is_of_loss = self.loss is not None and recording.phase == "forward" and not recording.modules
            place = "loss" if is_of_loss else _stop_location(recording)
            given = "the result and targets" if is_of_loss else "its inputs"
            raise InputError(f"{place}: must run on {given}: {text}") from error
        finally:
            log.disabled = is_quiet
            recording.close()
        return recording

    def _run_recorded(self, found: Recording, foreach: bool, checkpointed: Collection[str], is_compiled: bool) -> None:
        """Run the step on copies of its model and inputs inside a recording, twice if it has an optimizer."""
        model, inputs, targets, optimizer = self._copy_arguments()
        named = dict(model.named_modules())
        for name in checkpointed:
            module = named[name]
            module.forward = partial(checkpoint, module.forward, use_reentrant=False, preserve_rng_state=False)
        parameters, optimizers = list(model.parameters()), _optimizers(optimizer)
        for group in (group for each in optimizers for group in each.param_groups if foreach):
            if group.get("foreach", True) is None and not group.get("fused"):
                group["foreach"] = True
        found.track_modules(model)
        found.add_existing_storages((parameters, list(model.buffers())), "parameters")
        for each in optimizers:
            found.add_existing_storages(each.state.values(), "optimizer")
        found.add_existing_storages((inputs, targets), "inputs")
        model = self._trace_model(model, inputs) if is_compiled else model
        with found:
            for _ in range(2 if optimizer is not None else 1):
                self._run_once(found, (model, optimizer, parameters), inputs, targets)
        found.close()

    def _run_once(self, found: Recording, trained: tuple[Any, Any, list[Any]], inputs: Any, targets: Any) -> None:
        """Run one step; as in a user's function, local variables keep tensors alive until the end of the step."""
        model, optimizer, parameters = trained
        found.phase, found.last_step = "forward", len(found.operations)
        if optimizer is not None and self.step is None:
            optimizer.zero_grad()
        with torch.set_grad_enabled(self.is_training):
            args, kwargs = _call_arguments(inputs)
            if self.step is not None:
                with found.following_phases(_optimizers(optimizer)):
                    found.set_role(tree_leaves(_result_values(self.step(model, optimizer, *args, **kwargs))), "outputs")
                found.set_role([parameter.grad for parameter in parameters], "gradients")
                _set_state_roles(found, optimizer)
                return
            result = model(*args, **kwargs)
            loss = result if self.loss is None else self.loss(result, *targets)
        found.set_role(tree_leaves((_result_values(result), _result_values(loss))), "outputs")
        if not self.is_training:
            return
        found.keep_for_backward()
        found.phase = "backward"
        _scalar_loss(loss).backward()
        found.set_role([parameter.grad for parameter in parameters], "gradients")
        if optimizer is not None:
            found.phase = "optimizer"
            optimizer.step()
            _set_state_roles(found, optimizer)

    def _trace_model(self, model: Any, inputs: Any) -> Any:
        """Return a callable that runs the model's traced passes, partitioned to save the fewest bytes."""
        state = dict(model.named_parameters()), dict(model.named_buffers())

        def call_model(parameters: Any, buffers: Any, given: Any) -> Any:
            args, kwargs = _call_arguments(given)
            return torch.func.functional_call(model, {**parameters, **buffers}, args, kwargs)

        compiled = aot_function(
            call_model,
            fw_compiler=interpret,
            bw_compiler=interpret,
            partition_fn=min_cut_rematerialization_partition,
            num_params_buffers=sum(map(len, state)),
        )
        with torch.set_grad_enabled(self.is_training):
            compiled(*state, inputs)
        return lambda *args, **kwargs: compiled(*state, kwargs or args)

    def _copy_arguments(self) -> tuple[Any, Any, Any, Any]:
        """Return copies of model, inputs, targets and optimizer, which have fake tensors if a fake mode is active."""
        mode, memo = _get_current_dispatch_mode(), dict[int, Any]()
        if mode is not None:
            _require_one_device(self.model)
            memo = {id(value): _fake_tensor(mode, value) for value in _model_tensors(self.model)}
        of_optimizer = self.optimizer if isinstance(self.optimizer, torch.optim.Optimizer) else None
        if of_optimizer is not None and mode is not None:
            held = tree_leaves([dict(state) for state in of_optimizer.state.values()])
            memo |= {id(value): _fake_tensor(mode, value) for value in held if isinstance(value, torch.Tensor)}
        model = deepcopy(self.model, memo)
        args = self.inputs if isinstance(self.inputs, (tuple, list, dict)) else (self.inputs,)
        parts = (args, self.targets if isinstance(self.targets, (tuple, list)) else (self.targets,))
        args, targets = parts if mode is None else tree_map_only(torch.Tensor, partial(_fake_tensor, mode), parts)
        return model, args, targets, self._copied_optimizer(model, memo)

    def _copied_optimizer(self, model: Any, memo: dict[int, Any]) -> Any:
        """Return the optimizer of a copied model; `memo` maps the ids of original tensors to their copies."""
        optimizer = self.optimizer
        if isinstance(optimizer, torch.optim.Optimizer):
            return deepcopy(optimizer, memo)
        if optimizer is None:
            return None
        if self.step is not None and not isinstance(optimizer, str):
            return optimizer(model)
        make = OPTIMIZERS.get(optimizer) if isinstance(optimizer, str) else optimizer
        if not callable(make):
            raise OptionError(
                f"optimizer: must be one of {', '.join(OPTIMIZERS)}, a function of parameters, or an optimizer, got "
                f"{excerpt(optimizer)}{did_you_mean(str(optimizer), OPTIMIZERS)}"
            )
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if not parameters:
            raise OptionError("optimizer: must have trainable parameters, got a model without any: omit the optimizer")
        return make(parameters)


def _optimizers(optimizer: Any) -> list[Any]:
    return [each for each in tree_leaves(optimizer) if each is not None]


def _set_state_roles(found: Recording, optimizer: Any) -> None:
    for each in _optimizers(optimizer):
        for group in each.param_groups:
            on_host = not (group.get("capturable") or group.get("fused"))
            for parameter in group["params"]:
                state = dict(each.state.get(parameter, {}))
                count = state.pop("step", None)
                found.set_role(state, "optimizer")
                found.set_role([count], "optimizer", is_on_host=on_host)


def _call_arguments(inputs: Any) -> tuple[Any, Any]:
    return ((), inputs) if isinstance(inputs, dict) else (inputs, {})


def _fake_tensor(mode: Any, value: Any) -> Any:
    if not isinstance(value, FakeTensor) and value.device.type != "meta":
        return mode.from_tensor(value)
    device = "cpu" if value.device.type == "meta" else value.device
    made = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)
    if isinstance(value, nn.Parameter):
        return nn.Parameter(made, requires_grad=value.requires_grad)
    return made.requires_grad_(value.requires_grad)


def _model_tensors(model: Any) -> Iterator[Any]:
    for module in model.modules():
        held = (*module.parameters(recurse=False), *module.buffers(recurse=False), *vars(module).values())
        yield from (value for value in held if isinstance(value, torch.Tensor))


def _require_one_device(model: Any) -> None:
    """Raise InputError for a model whose tensors are on several devices."""
    first = None
    for name, value in (*model.named_parameters(), *model.named_buffers()):
        first = first or (name, value.device)
        if value.device != first[1]:
            raise InputError(
                f"model.{name}: must be on the device of {first[0]} ({first[1]}), got {value.device}: call `fits` "
                "separately for the modules of each device"
            )


def _result_values(value: Any) -> Any:
    return (
        value if isinstance(value, (torch.Tensor, tuple, list, dict)) else list(getattr(value, "__dict__", {}).values())
    )


def _scalar_loss(loss: Any) -> Any:
    """Return the scalar loss in the result of a model or a loss function; raises InputError if there is none."""
    scalar = loss if isinstance(loss, torch.Tensor) else getattr(loss, "loss", None)
    if scalar is None and isinstance(loss, (tuple, list)) and loss:
        scalar = loss[0]
    if not isinstance(scalar, torch.Tensor) or scalar.numel() != 1 or not scalar.requires_grad:
        got = tuple(scalar.shape) if isinstance(scalar, torch.Tensor) else type(loss).__name__
        raise InputError(
            f"loss: must return one number that depends on a parameter, got {excerpt(got)}: give loss=, a function of "
            "the result and the targets that ends in .mean() or .sum()"
        )
    return scalar


def error_text(error: BaseException) -> str:
    """Return an error of the user's code on one line: his file and line, and the error's type and message."""
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return _line_of_user(error) + escape_controls(shorten(said, _MOST_SAID))


def _line_of_user(error: BaseException) -> str:
    """Return the last line of the user's files in an error's traceback, as a prefix of the message; else empty."""
    rows = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    own = [f"{Path(file).name}:{line}: " for file, line in rows if not file.startswith((*OF_TORCH, OF_MEMPLAN))]
    return own[-1] if own else ""


def _stop_location(found: Recording) -> str:
    module = ".".join(("model", *filter(None, found.modules[-1:])))
    return module if found.phase in ("given", "forward") else f"{module} ({found.phase})"
