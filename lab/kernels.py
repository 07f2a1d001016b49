"""Storages of real kernels of torch beside those of fake ones: `python -m lab.kernels [ops] [modules] [--samples 6]`.

All operators and modules that torch's own tests have samples of run forward and backward on the CPU, in two precisions.
Each operation that is dispatched runs both ways. An operator whose fake kernel says less, and that `fits` does not run,
is a fault.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from memplan.extensions.torch.inside.kernels import HIDING

_KINDS = (torch.float32, torch.bfloat16)


class BothKernels(TorchDispatchMode):  # type: ignore[misc]  # the package is untyped
    """Runs each operation twice; `hidden` are the most bytes that a fake kernel left out, by the operator."""

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
            # What reads values has no fake kernel.
            with suppress(Exception), FakeTensorMode(allow_non_fake_inputs=True) as mode:
                given = tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
                fake = _made(given, func(*given[0], **given[1]))
            result = func(*args, **kwargs)
        finally:
            self._is_busy = False
        if fake is not None:
            self.count += 1
            less = _made((args, kwargs), result) - fake
            if less > 0:
                name = func._schema.name
                self.hidden[name] = max(less, self.hidden.get(name, 0))
        return result


def _made(given: Any, result: Any) -> int:
    """Return the bytes of the storages that an operation made."""
    before, after = ({each._cdata: each.nbytes() for each in _storages(values)} for values in (given, result))
    return sum(size for key, size in after.items() if key not in before)


def _storages(values: Any) -> Iterator[Any]:
    for each in tree_leaves(values):
        if isinstance(each, torch.Tensor) and each.layout == torch.strided:
            yield each.untyped_storage()


def _backward(result: Any) -> None:
    found = [each for each in tree_leaves(result) if isinstance(each, torch.Tensor) and each.requires_grad]
    if found:
        sum(each.abs().float().sum() for each in found).backward()


def _samples(kind: str, count: int) -> Iterator[Any]:
    """Yield functions that run samples of torch's tests forward and backward."""
    if kind == "modules":
        from torch.testing._internal.common_modules import module_db

        for row in module_db:
            for k in range(4):
                options = {"device": "cpu", "dtype": _KINDS[k % 2], "requires_grad": True, "training": k > 1}
                with suppress(Exception):
                    for one in row.module_inputs_func(row, **options)[:count]:
                        make, run = one.constructor_input, one.forward_input
                        module = row.module_cls(*make.args, **make.kwargs).to(_KINDS[k % 2]).train(k > 1)
                        yield lambda module=module, run=run: _backward(module(*run.args, **run.kwargs))
        return
    from torch.testing._internal.common_methods_invocations import op_db

    for row in op_db:
        for dtype in _KINDS:
            with suppress(Exception):
                samples = row.sample_inputs("cpu", dtype, requires_grad=row.supports_autograd)
                for _, one in zip(range(count), samples, strict=False):
                    yield lambda row=row, one=one: _backward(row(one.input, *one.args, **one.kwargs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", default=["ops", "modules"])
    parser.add_argument("--samples", type=int, default=6)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    both, refused = BothKernels(), 0
    for kind in arguments.kinds:
        for run in _samples(kind, arguments.samples):
            try:
                with both:
                    run()
            except Exception:  # noqa: BLE001  samples of other versions and machines
                refused += 1
    faults = both.hidden.keys() - HIDING
    for name, size in sorted(both.hidden.items()):
        print(f"{name}: up to {size:,} bytes that its fake kernel does not say{', a fault' * (name in faults)}")
    print(f"{both.count:,} operations, {refused:,} samples that do not run, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
