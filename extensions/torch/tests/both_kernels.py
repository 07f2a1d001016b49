"""A dispatch mode that compares the storages of torch's real and fake kernels by running every operation with both."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only


class BothKernels(TorchDispatchMode):  # type: ignore[misc]  # the package is untyped
    """Runs each operation with both kernels; `hidden` maps operators to the most bytes that a fake kernel omitted."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden: dict[str, int] = {}
        self.count = 0
        self._is_busy = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._is_busy or func.namespace == "prim":
            return func(*args, **kwargs)
        self._is_busy, fake = True, None
        try:
            # An operation that reads the values of tensors has no fake kernel; its exception is ignored, and it is not
            # compared.
            with suppress(Exception), FakeTensorMode(allow_non_fake_inputs=True) as mode:
                given = tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
                fake = _allocated_bytes(given, func(*given[0], **given[1]))
            result = func(*args, **kwargs)
        finally:
            self._is_busy = False
        if fake is not None:
            self.count += 1
            less = _allocated_bytes((args, kwargs), result) - fake
            if less > 0:
                name = func._schema.name
                self.hidden[name] = max(less, self.hidden.get(name, 0))
        return result


def _allocated_bytes(given: Any, result: Any) -> int:
    before, after = ({each._cdata: each.nbytes() for each in _storages(values)} for values in (given, result))
    return sum(size for key, size in after.items() if key not in before)


def _storages(values: Any) -> Iterator[Any]:
    for each in tree_leaves(values):
        if isinstance(each, torch.Tensor) and each.layout == torch.strided:
            yield each.untyped_storage()
