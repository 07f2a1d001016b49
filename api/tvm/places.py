"""Where tensors go: storages and offsets, by memplan's planner, checked by code that did not make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memplan.api.tvm.lifetimes import Tensor
from memplan.capabilities.plan.plan import PlanOptions, plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.model.rows import Buffer
from memplan.planner.objects import ObjectsProblem

ALIGNMENT = 64
"""Of TVM's allocators (kAllocAlignment)."""
_OPTIONS = PlanOptions(deterministic=True)


@dataclass(frozen=True)
class Places:
    """The bytes of storages, the storage and the offset of each tensor, and the bytes that no plan is below."""

    storages: tuple[int, ...]
    of: tuple[tuple[int, int], ...]
    bound: int


def placed(tensors: Sequence[Tensor], *, offsets: bool) -> Places:
    """Return places in one storage; without offsets, in storages of which a tensor begins at the start."""
    rows: list[Any] = [Buffer(id=k, size=each.size, start=each.start, end=each.end) for k, each in enumerate(tensors)]
    if offsets:
        answer = plan(Problem(buffers=rows, pools=[Pool(alignment=ALIGNMENT)]), options=_OPTIONS)
        of = tuple((0, at) for at in answer.placements.offset.tolist())
        places = Places((answer.peak,), of, answer.lower_bound)
    else:
        objects = plan(ObjectsProblem(alignment=ALIGNMENT, buffers=rows))
        storage = {k: place for place, each in enumerate(objects.objects) for k in each.buffers}
        of = tuple((storage[k], 0) for k in range(len(rows)))
        places = Places(tuple(each.size for each in objects.objects), of, objects.lower_bound)
    check(tensors, places)
    return places


def check(tensors: Sequence[Tensor], places: Places) -> None:
    """Raise RuntimeError where two tensors that are alive together share bytes, or one leaves its storage."""
    storage, begin = (np.array(column, dtype=np.int64) for column in zip(*places.of, strict=True))
    rows = [(each.start, each.end, each.size) for each in tensors]
    start, end, size = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    stop = begin + size
    if (begin % ALIGNMENT).any() or (begin < 0).any() or (stop > np.array(places.storages)[storage]).any():
        raise RuntimeError("memplan's plan is wrong: a tensor is not aligned, or leaves its storage")
    meet = (storage[:, None] == storage) & (start[:, None] < end) & (start < end[:, None])
    meet &= (begin[:, None] < stop) & (begin < stop[:, None])
    if np.count_nonzero(meet) > len(rows):
        one, other = next((i, j) for i, j in np.argwhere(meet).tolist() if i < j)
        names = [tensors[k].binding.var.name_hint for k in (one, other)]
        raise RuntimeError(f"memplan's plan is wrong: {names[0]} and {names[1]} are alive together and share bytes")
