"""Storages and offsets of tensors, by memplan's planner, checked by code that did not make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm_ffi import register_error

from memplan.capabilities.plan.plan import PlanOptions, plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.objects import ObjectsProblem
from memplan.solvers.core.plain import offsets_at_bound
from memplan_tvm.tensors import AllocatedTensor

ALIGNMENT = 64
"""Of TVM's allocators (kAllocAlignment)."""
_NODES = 20_000
"""Of a first search, which is as long as compilers' problems take; beyond, all of memplan's ways are tried."""
_OPTIONS = PlanOptions(deterministic=True)


@register_error
class PlanMemoryError(RuntimeError):
    """Tensors do not fit into the pools that they were given."""


@dataclass(frozen=True)
class PoolInfo:
    """Memory of a device, for tensors of a scope, by its name and, if it ends, its size; the first pool is the best."""

    pool_name: str
    size_hint_bytes: int | None = None
    device: int = 0
    scope: str = "global"

    def __post_init__(self) -> None:
        if self.size_hint_bytes is not None and self.size_hint_bytes <= 0:
            raise ValueError(f"pool {self.pool_name!r}: size_hint_bytes must be positive, got {self.size_hint_bytes}")


@dataclass(frozen=True)
class StoragePlaces:
    """Storages and their bytes, of each tensor its storage and offset there, and what no plan needs less than.

    Bytes and offsets may be expressions.
    """

    names: tuple[str, ...]
    storages: tuple[Any, ...]
    of: tuple[tuple[int, Any], ...]
    bound: int


def place_in_pools(
    tensors: Sequence[AllocatedTensor], pools: Sequence[PoolInfo] = (), in_place: Sequence[tuple[int, int]] = ()
) -> StoragePlaces:
    """Return places at offsets of one storage for each pool. Raises PlanMemoryError where pools are too small."""
    if not pools and not in_place:
        sizes, starts, ends = columns_of(tensors)
        offsets = offsets_at_bound(sizes, starts, ends, ALIGNMENT, _NODES)
        if offsets is not None:
            least = int((offsets + sizes).max())
            of = tuple((0, at) for at in offsets.tolist())
            return checked(tensors, StoragePlaces(("storage",), (least,), of, least))
    own = [Pool(name=each.pool_name, size=each.size_hint_bytes, alignment=ALIGNMENT) for each in pools]
    problem = Problem(buffers=_rows(tensors), pools=own or [Pool(alignment=ALIGNMENT)], may_share=in_place)
    answer = plan(problem, options=_OPTIONS)
    if not answer.placements:
        raise PlanMemoryError(_refusal(tensors, answer))
    used = [each for each in answer.pools if each.used]
    storage = {each.name: k for k, each in enumerate(used)}
    placed = sorted(answer.placements.rows(), key=lambda row: int(row["id"]))
    of = tuple((storage[str(row["pool"])], row["offset"]) for row in placed)
    names = tuple(each.name if pools else "storage" for each in used)
    sizes = tuple(int(each.used or 0) for each in used)
    return checked(tensors, StoragePlaces(names, sizes, of, answer.lower_bound or 0), in_place)


def place_whole(tensors: Sequence[AllocatedTensor]) -> StoragePlaces:
    """Return places at the starts of storages, for devices on which tensors cannot lie at offsets."""
    rows: Any = _rows(tensors)
    answer = plan(ObjectsProblem(alignment=ALIGNMENT, buffers=rows))
    storage = {k: place for place, each in enumerate(answer.objects) for k in each.buffers}
    of = tuple((storage[k], 0) for k in range(len(tensors)))
    sizes = tuple(each.size for each in answer.objects)
    names = tuple(f"storage{k}" for k in range(len(sizes)))
    return checked(tensors, StoragePlaces(names, sizes, of, answer.lower_bound))


def columns_of(tensors: Sequence[AllocatedTensor]) -> list[Any]:
    """Return sizes, starts and ends."""
    rows = [(each.size, each.start, each.end) for each in tensors]
    return [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]


def _rows(tensors: Sequence[AllocatedTensor]) -> list[Any]:
    return [{"id": k, "size": each.size, "start": each.start, "end": each.end} for k, each in enumerate(tensors)]


def _refusal(tensors: Sequence[AllocatedTensor], answer: Any) -> str:
    why = answer.explanation
    if why is None:
        return "no places were found in the pools; increase size_hint_bytes"
    names = ", ".join(f"{tensors[k].variable.name} ({tensors[k].size:,} bytes)" for k in why.buffers)
    needed = f", and needs {why.needed:,}" if why.needed else ""
    return f"pool {why.pool!r} lacks {why.missing_bytes:,} bytes for {names}{needed}; increase its size_hint_bytes"


def checked(
    tensors: Sequence[AllocatedTensor], places: StoragePlaces, in_place: Sequence[tuple[int, int]] = ()
) -> StoragePlaces:
    """Return places; RuntimeError where two tensors that are alive together share bytes, or one is out of place.

    Those of a pair of `in_place` may start at the same byte.
    """
    storage, begin = (np.array(column, dtype=np.int64) for column in zip(*places.of, strict=True))
    size, start, end = columns_of(tensors)
    stop = begin + size
    if (begin % ALIGNMENT).any() or (begin < 0).any() or (stop > np.array(places.storages)[storage]).any():
        raise RuntimeError("memplan's plan is wrong: a tensor is not aligned, or leaves its storage")
    meet = (storage[:, None] == storage) & (start[:, None] < end) & (start < end[:, None])
    meet &= (begin[:, None] < stop) & (begin < stop[:, None])
    np.fill_diagonal(meet, val=False)
    for i, j in in_place:
        meet[i, j] &= begin[i] != begin[j]
        meet[j, i] = meet[i, j]
    if meet.any():
        one, other = (tensors[k].variable.name for k in np.argwhere(meet)[0].tolist())
        raise RuntimeError(f"memplan's plan is wrong: {one} and {other} are alive together and share bytes")
    return places
