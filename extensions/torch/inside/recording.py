"""Recordings of the storages that a torch step keeps alive, each with its module, source line and lifetime.

Operations are recorded at dispatch, on fake or real tensors; scratch memory inside kernels is not recorded. A storage
ends with the last tensor that uses it; Python and autograd hold the same references to fake tensors as to real ones.
Imports torch.
"""

import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

import memplan
from memplan.extensions.torch.inside.kernels import SCRATCH_COPIES, RealKernels, is_scratch_taken
from memplan.runtimes.torch.storages import Phase, Role, StepMemory, Storage

OF_TORCH, OF_MEMPLAN = (str(Path(torch.__file__).parent), __file__, "<"), str(Path(memplan.__file__).parent)
"""Prefixes of file names whose lines are not user code."""


@dataclass(slots=True)
class RunOperation:
    """An executed operation: the storages that it reads, creates and changes, and the cost of running it again."""

    name: str
    phase: Phase
    module: str
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    changes: tuple[int, ...]
    cost: int
    draws: bool


class Recording(StepMemory, TorchDispatchMode):  # type: ignore[misc]  # Torch's base class has no type annotations.
    """A recording of the operations that run while it is entered as a context.

    `last_step` is the number of operations before the last step; `names` are the names of the model's modules.
    """

    def __init__(self) -> None:
        """Start a recording without operations, outside of all modules."""
        StepMemory.__init__(self)
        TorchDispatchMode.__init__(self)
        self.operations: list[RunOperation] = []
        self.phase: Phase = "given"
        self.modules: list[str] = []
        self.names: tuple[str, ...] = ()
        self.last_step = 0
        self.kernels = RealKernels()
        self._follows = self._updates = False
        self._alive: dict[int, tuple[int, Any]] = {}
        self._origins: dict[int, tuple[str, str]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, replace its fake results by measured ones, and record it."""
        result = func(*args, **(kwargs or {}))
        if self._follows:
            is_backward = torch._C._current_autograd_node() is not None
            self.phase = "optimizer" if self._updates else "backward" if is_backward else "forward"
        if func.namespace != "prim":
            result = self.kernels.result(func, args, kwargs or {}, result)
            self._record_operation(func, args, kwargs or {}, result)
        return result

    def add_existing_storages(self, values: Iterable[Any], role: Role) -> None:
        """Add the storages of values that exist before the step."""
        for value in _tensors(values):
            if value.untyped_storage()._cdata not in self._alive:
                self._begin_storage(value, "given", ("", ""), role, 0)

    def set_role(self, values: Iterable[Any], role: Role, *, is_on_host: bool = False) -> None:
        """Set the role of the live storages of tensors; parameters and inputs keep their roles."""
        for value in _tensors(values):
            tensor = self._alive.get(value.untyped_storage()._cdata)
            if tensor is not None and self.tensors[tensor[0]].role not in ("parameters", "inputs"):
                self.tensors[tensor[0]].role, self.tensors[tensor[0]].is_on_host = role, is_on_host

    def keep_for_backward(self) -> None:
        """Give the role of activations to all storages of the forward pass that are still alive."""
        for position, _ in self._alive.values():
            if self.tensors[position].phase == "forward" and self.tensors[position].role == "temporaries":
                self.tensors[position].role = "activations"

    @contextmanager
    def following_phases(self, optimizers: Iterable[Any]) -> Iterator[None]:
        """Derive the phase of each operation from what runs: an optimizer, a backward pass, or the forward pass."""
        hooks = [each.register_step_pre_hook(partial(self._begin_update, True)) for each in optimizers]
        hooks += [each.register_step_post_hook(partial(self._begin_update, False)) for each in optimizers]
        self._follows = True
        yield
        self._follows = False
        for hook in hooks:
            hook.remove()

    def _begin_update(self, is_begun: bool, *_: Any) -> None:
        self._updates = is_begun

    def close(self) -> None:
        """End the recording; storages that are alive now get no end."""
        self.unmeasured = tuple(self.kernels.unmeasured)
        self._alive.clear()

    def track_modules(self, model: Any) -> None:
        """Add hooks to a model that record which module is running."""
        self.names = tuple(name for name, _ in model.named_modules())
        for name, module in model.named_modules():
            module.register_forward_pre_hook(partial(self._enter_module, name))
            module.register_forward_hook(self._leave_module)

    def _enter_module(self, name: str, *_: Any) -> None:
        self.modules.append(name)

    def _leave_module(self, *_: Any) -> None:
        self.modules.pop()

    def _record_operation(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Record an operation that ran, with the storages that it reads, creates and changes."""
        origin = self._operation_origin()
        # A tensor from `lift_fresh` is a constant in the program's source, so it is not an input.
        is_lifted = func._overloadpacket is torch.ops.aten.lift_fresh
        inputs, results = [] if is_lifted else list(_tensors((args, kwargs))), list(_tensors((result,)))
        self.add_existing_storages(inputs, "inputs")
        reads = dict.fromkeys(self._alive[value.untyped_storage()._cdata][0] for value in inputs)
        name, made = str(func), []
        for value in results:
            if value.untyped_storage()._cdata not in self._alive:
                position = self._begin_storage(value, name, origin, "temporaries", len(self.events))
                self.tensors[position].is_on_host = self.kernels.is_kept_by_cpu_only(value)
                self.events.append(position)
                made.append(position)
        changed = list(_mutated_arguments(func, args, kwargs)) if func._schema.is_mutable else []
        changes = dict.fromkeys(self._alive[value.untyped_storage()._cdata][0] for value in _tensors(changed))
        if made and is_scratch_taken(func, args):
            self.tensors[made[0]].scratch = SCRATCH_COPIES * sum(self.tensors[k].size for k in (*reads, *made))
        if made or changes:
            packet = func._overloadpacket
            cost = sum(value.numel() for value in results) if made else 0
            if packet in flop_registry:
                cost = flop_registry[packet](*args, **kwargs, out_val=result)
            draws = torch.Tag.nondeterministic_seeded in func.tags
            row = RunOperation(name, self.phase, origin[0], tuple(reads), tuple(made), tuple(changes), cost, draws)
            self.operations.append(row)

    def _begin_storage(self, value: Any, operation: str, origin: tuple[str, str], role: Role, start: int) -> int:
        storage, position = value.untyped_storage(), len(self.tensors)
        self.tensors.append(Storage(storage.nbytes(), start, self.phase, operation, *origin, role))
        watched = weakref.ref(storage, partial(self._end_storage, storage._cdata, position))
        self._alive[storage._cdata] = position, watched
        return position

    def _end_storage(self, key: int, position: int, _: Any) -> None:
        del self._alive[key]
        self.tensors[position].end = len(self.events)
        self.events.append(~position)

    def _operation_origin(self) -> tuple[str, str]:
        """Return (running module, source line). In the backward pass, return the pair of the forward operation."""
        node = torch._C._current_autograd_node()
        if node is not None and (not self.modules or self.phase != "backward"):
            node_origin = self._origins.get(node._sequence_nr())
            if node_origin is not None:
                return node_origin
        origin = self.modules[-1] if self.modules else "", _user_line()
        if node is None:
            self._origins[torch.autograd._get_sequence_nr() - 1] = origin
        return origin


def _user_line() -> str:
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(OF_TORCH):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith(OF_MEMPLAN):
        return ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _tensors(values: Any) -> Iterable[Any]:
    return (value for value in tree_leaves(values) if isinstance(value, torch.Tensor) and value.layout == torch.strided)


def _mutated_arguments(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterable[Any]:
    for k, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield args[k] if k < len(args) and not argument.kwarg_only else kwargs.get(argument.name)
