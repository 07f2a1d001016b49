"""Operators whose fake kernels report too little storage; their real kernels are run once to measure it.

HIDING lists all such CPU operators of torch 2.13 among the samples of torch's tests, as `lab/kernels.py` of commit
3a961589 found them, and GPU operators whose workspaces the fake kernels omit; the latter are not run. An operator runs
on zeros, and its results get the storages that this run allocated. Imports torch.
"""

import os
from itertools import accumulate
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

_MIXED = frozenset(
    f"aten::{name}" for name in ("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional")
)
HIDING = _MIXED | frozenset(
    {
        "aten::_cudnn_rnn",
        "aten::_embedding_bag",
        "aten::_sparse_mm_reduce_impl",
        "aten::binary_cross_entropy",
        "aten::col2im",
        "aten::cudnn_batch_norm",
        "aten::miopen_rnn",
        "aten::mkldnn_rnn_layer",
        "aten::mkldnn_rnn_layer_backward",
        "aten::mse_loss",
        "aten::smooth_l1_loss",
        "aten::soft_margin_loss",
    }
)
Made = list[tuple[Any, int] | None]
"""The layout and the bytes of each result of an operator; None for a result that is not a tensor."""
SCRATCH_COPIES = 2
"""The maximum number of copies of its arguments and results that a convolution of cuDNN is taken to allocate."""
_CONVOLUTIONS = ("aten::convolution", "aten::convolution_backward", "aten::_convolution")
_SHARING = "aten::mkldnn_rnn_layer_backward"
_OF_ROWS = "aten::_embedding_bag"
_OF_CPU = "aten::mkldnn_"
_MOST_BYTES = 1 << 30
"""The maximum bytes of arguments and results with which an operator is run."""


class RealKernels:
    """A measurement of real kernels, which replaces fake kernels' results by fake tensors with the real storage sizes.

    `unmeasured` names the operators that could not be run.
    """

    def __init__(self) -> None:
        """Start without measurements."""
        self.unmeasured: dict[str, None] = {}
        self._of_host: set[int] = set()
        self._made: dict[str, Made | None] = {}

    def result(self, func: Any, args: Any, kwargs: Any, result: Any) -> Any:
        """Return the result of an operator, as new fake tensors if the real operator returns larger storages."""
        if (name := func._schema.name) not in HIDING:
            return result
        # The table may be large, but all indices are zero and read only the first row, so cut the table to one row.
        if name == _OF_ROWS:
            args = (args[0][:1], *args[1:])
        leaves, tree = tree_flatten(result)
        tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
        fakes = [each for each in (*tensors, *leaves) if isinstance(each, FakeTensor)]
        if not fakes or any(map(_has_symbols, fakes)):
            return result
        # The statistics have the precision of the parameters, which the fake kernel ignores, so convert the statistics.
        if name in _MIXED:
            rows = [(each, torch.promote_types(each.dtype, tensors[-1].dtype)) for each in leaves[1:]]
            return tree_unflatten([leaves[0], *(each.to(dtype) for each, dtype in rows)], tree)
        # The fake kernel returns one tensor for two gradients, so allocate the second gradient separately.
        if name == _SHARING:
            last = {each.untyped_storage()._cdata: k for k, each in enumerate(leaves)}
            own = [last[each.untyped_storage()._cdata] == k for k, each in enumerate(leaves)]
            parted = (each if is_own else torch.empty_like(each) for each, is_own in zip(leaves, own, strict=True))
            return tree_unflatten(list(parted), tree)
        key = str((func, tree_map_only(torch.Tensor, _layout, (args, kwargs))))
        if key not in self._made:
            is_small = sum(each.numel() * each.element_size() for each in fakes) <= _MOST_BYTES
            is_of_cpu = all(each.device.type == "cpu" and each.layout == torch.strided for each in fakes)
            self._made[key] = _run_on_zeros(func, args, kwargs) if is_small and is_of_cpu else None
        made = self._made[key]
        if made is None or len(made) != len(leaves):
            self.unmeasured[str(func)] = None
            return result
        return tree_unflatten([self._fake_like(func, each, row) for each, row in zip(leaves, made, strict=True)], tree)

    def is_kept_by_cpu_only(self, value: Any) -> bool:
        """Return True if only CPU kernels keep the tensor's bytes; a later call for the same tensor returns False."""
        key = value.untyped_storage()._cdata
        is_of_host = key in self._of_host
        # A later storage may get the same address, so forget the address.
        self._of_host.discard(key)
        return is_of_host

    def _fake_like(self, func: Any, fake: Any, real: tuple[Any, int] | None) -> Any:
        """Return a fake tensor with a real one's layout and storage bytes; `fake` itself if `real` is None."""
        if real is None or not isinstance(fake, FakeTensor):
            return fake
        (shape, stride, dtype, device), size = real
        made = torch.empty_strided(shape, stride, dtype=dtype, device=device)
        made.untyped_storage().resize_(size)
        if func._schema.name.startswith(_OF_CPU) and size > fake.untyped_storage().nbytes():
            self._of_host.add(made.untyped_storage()._cdata)
        return made


def _layout(value: Any) -> Any:
    return tuple(value.shape), value.stride() if value.layout == torch.strided else (), value.dtype, value.device


def _has_symbols(value: Any) -> bool:
    return any(isinstance(size, torch.SymInt) for size in (*value.shape, *_layout(value)[1]))


def is_scratch_taken(func: Any, args: Any) -> bool:
    """Return True for a convolution that cuDNN may run with scratch memory.

    Depthwise convolutions need none, because torch's own kernels run them.
    """
    if func._schema.name not in _CONVOLUTIONS:
        return False
    weight = args[2] if func._schema.name.endswith("_backward") else args[1]
    return bool(weight.shape[1] > 1)


def scratch_bytes(func: Any, args: Any, kwargs: Any) -> int | None:
    """Return the peak bytes that a CPU kernel allocates while it runs, besides arguments and results.

    The kernel runs once, on zeros. Returns None for other devices, for symbolic sizes, for arguments above 1 GiB, and
    if the kernel fails.
    """
    fakes = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
    if any(map(_has_symbols, fakes)) or any(each.device.type != "cpu" for each in fakes):
        return None
    if sum(each.numel() * each.element_size() for each in fakes) > _MOST_BYTES:
        return None
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # At a lower level, the profiler logs its start to stderr.
    try:
        with _disable_current_modes():
            args, kwargs = tree_map_only(torch.Tensor, _zeros_like_layout, (args, kwargs))
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as run:
                results = func(*args, **kwargs)
    except Exception:  # noqa: BLE001  # Kernels refuse zeros and sizes in different ways.
        return None
    events = sorted(run.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    most: int = max(accumulate((event.nbytes() for event in events if event.name() == "[memory]"), initial=0))
    made = {each.untyped_storage()._cdata: each for each in tree_flatten(results)[0] if isinstance(each, torch.Tensor)}
    outputs: int = sum(each.untyped_storage().nbytes() for each in made.values())
    return max(0, most - outputs)


def _zeros_like_layout(value: Any) -> Any:
    shape, stride, dtype, device = _layout(value)
    return torch.empty_strided(shape, stride, dtype=dtype, device=device).zero_()


def _run_on_zeros(func: Any, args: Any, kwargs: Any) -> Made | None:
    """Return the layouts and bytes of an operator's results on zeros; None if the operator fails."""
    try:
        # Kernels may depend on the gradient mode, so turn off all other modes only.
        with _disable_current_modes():
            made = func(*(inputs := tree_map_only(torch.Tensor, _zeros_like_layout, (args, kwargs)))[0], **inputs[1])
            return [
                (_layout(each), each.untyped_storage().nbytes()) if isinstance(each, torch.Tensor) else None
                for each in tree_flatten(made)[0]
            ]
    except Exception:  # noqa: BLE001  # Kernels refuse zeros, devices and sizes in different ways.
        return None
