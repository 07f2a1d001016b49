"""Counters of the bytes that torch steps use on real tensors."""

from itertools import accumulate
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class ByteCounter(TorchDispatchMode):  # type: ignore[misc]  # the package is untyped
    """Counts the bytes of all live storages after each operation; `peak` is the largest count."""

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.refs: dict[int, tuple[Any, int]] = {}
        self.peak = 0
        self.look(given)

    def look(self, values: Any) -> None:
        storages = [value.untyped_storage() for value in tree_leaves(values) if isinstance(value, torch.Tensor)]
        new = {s._cdata: s for s in storages if s._cdata not in self.refs or self.refs[s._cdata][0].expired()}
        if new:
            self.refs = {key: row for key, row in self.refs.items() if not row[0].expired()}
            self.refs |= {key: (StorageWeakRef(storage), storage.nbytes()) for key, storage in new.items()}
            self.peak = max(self.peak, sum(size for _, size in self.refs.values()))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.look(result)
        return result


def sum_losses(result: Any) -> Any:
    """Return a scalar loss: the sum of the mean squares of all floating-point tensors in a result."""
    floats = [value for value in tree_leaves(result) if isinstance(value, torch.Tensor) and value.is_floating_point()]
    return sum(value.square().mean() for value in floats).abs()


def count_of_steps(model: Any, inputs: Any, optimizer: Any, run: Any = None) -> int:
    """Return the peak of live bytes in two steps on real tensors; `run`, if given, is called instead of the model."""
    made, run = optimizer and optimizer(model.parameters()), run or model

    def step() -> None:
        if made is None:
            with torch.no_grad():
                run(*inputs)
            return
        made.zero_grad()
        result = run(*inputs)
        loss = sum_losses(result)
        loss.backward()
        made.step()

    with ByteCounter((list(model.parameters()), list(model.buffers()), inputs)) as found:
        for _ in range(2):
            step()
    return int(found.peak)


def peak_of(step: Any) -> int:
    """Return the peak bytes that torch's CPU allocator held during a step, minus those allocated before it."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as found:
        step()
    events = sorted(found.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    sizes: list[int] = [event.nbytes() for event in events if event.name() == "[memory]"]
    return max(accumulate(sizes, initial=0))
