"""Places tensors in storages, at offsets that memplan's planner computes and memplan's verifier checks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tvm_ffi import register_error

from memplan.extensions.tvm.tensors import AllocatedTensor
from memplan.planner.model.buffer_table import BufferTable, column
from memplan.planner.model.objects import ObjectsProblem
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.verify.overlaps import no_pair_meets
from memplan.planner.verify.verifier import verify
from memplan.questions.plan.plan import PlanOptions, plan
from memplan.solvers.core.plain import offsets_at_bound

ALIGNMENT = 64
"""The alignment of TVM's allocators in bytes (kAllocAlignment)."""
_NODES = 20_000
"""The maximum number of nodes of the first search, which suffices for most problems; all solvers run after it."""
_OPTIONS = PlanOptions(deterministic=True)


@register_error
class PlanMemoryError(RuntimeError):
    """The tensors of a function do not fit into the given pools."""


@dataclass(frozen=True)
class PoolInfo:
    """A pool: its device, scope, name and size limit. In a list of pools, earlier pools are preferred."""

    pool_name: str
    size_hint_bytes: int | None = None
    device: int = 0
    scope: str = "global"

    def __post_init__(self) -> None:
        """Raise ValueError unless the size limit, if given, is positive."""
        if self.size_hint_bytes is not None and self.size_hint_bytes <= 0:
            raise ValueError(f"pool {self.pool_name!r}: size_hint_bytes must be positive, got {self.size_hint_bytes}")


@dataclass(frozen=True)
class StoragePlaces:
    """The sizes of storages, the storage and offset of each tensor, and a lower bound on the bytes of every plan.

    Sizes and offsets may be expressions of symbols.
    """

    names: tuple[str, ...]
    storages: tuple[Any, ...]
    of: tuple[tuple[int, Any], ...]
    bound: int


def place_in_pools(
    tensors: Sequence[AllocatedTensor], pools: Sequence[PoolInfo] = (), in_place: Sequence[tuple[int, int]] = ()
) -> StoragePlaces:
    """Return each tensor's storage and offset, with one storage per pool. Raises PlanMemoryError if none fits."""
    size, start, end = _columns(tensors)
    if not pools and not in_place:
        low = offsets_at_bound(size, start, end, ALIGNMENT, _NODES)
        if (
            low is not None
            and low.min() >= 0
            and not (low % ALIGNMENT).any()
            and no_pair_meets(start, end, low, low + size)
        ):
            least = int((low + size).max())
            return StoragePlaces(("storage",), (least,), tuple((0, at) for at in low.tolist()), least)
    own = [Pool(name=each.pool_name, size=each.size_hint_bytes, alignment=ALIGNMENT) for each in pools]
    answer = plan(_problem(tensors, own or [Pool(name="storage", alignment=ALIGNMENT)], in_place), options=_OPTIONS)
    if not answer.placements:
        raise PlanMemoryError(_refusal_message(tensors, answer))
    used = {each.name: int(each.used) for each in answer.pools if each.used}
    number = {name: k for k, name in enumerate(used)}
    placed = sorted(answer.placements, key=lambda each: int(each.id))
    of = tuple((number[each.pool], each.offset) for each in placed)
    return StoragePlaces(tuple(used), tuple(used.values()), of, answer.lower_bound or 0)


def place_whole(tensors: Sequence[AllocatedTensor]) -> StoragePlaces:
    """Return a plan in which each tensor starts at offset 0 of a storage, for devices without support for offsets."""
    rows: Any = [{"id": k, "size": each.size, "start": each.start, "end": each.end} for k, each in enumerate(tensors)]
    answer = plan(ObjectsProblem(alignment=ALIGNMENT, buffers=rows))
    number = {k: place for place, each in enumerate(answer.objects) for k in each.buffers}
    names = tuple(f"storage{k}" for k in range(len(answer.objects)))
    sizes = tuple(each.size for each in answer.objects)
    return check_places(
        tensors, StoragePlaces(names, sizes, tuple((number[k], 0) for k in range(len(tensors))), answer.lower_bound)
    )


def check_places(tensors: Sequence[AllocatedTensor], places: StoragePlaces) -> StoragePlaces:
    """Return the places unchanged if memplan's verifier accepts them. Raises RuntimeError for a violation."""
    pools = [Pool(name=str(k), size=size, alignment=ALIGNMENT) for k, size in enumerate(places.storages)]
    problem, (pool, offset) = _problem(tensors, pools), map(column, zip(*places.of, strict=True))
    placements = PlacementTable(problem.buffers.ids, tuple(each.name for each in pools), pool, offset)
    for violation in verify(problem, Plan(status="feasible", placements=placements)):
        raise RuntimeError(f"memplan's plan must satisfy the verifier, got: {violation.message}")
    return places


def _problem(tensors: Sequence[AllocatedTensor], pools: list[Pool], in_place: Any = ()) -> Problem:
    buffers = BufferTable.from_columns(range(len(tensors)), *_columns(tensors))
    return Problem(buffers=buffers, pools=pools, may_share=in_place)


def _columns(tensors: Sequence[AllocatedTensor]) -> Iterator[Any]:
    return map(column, zip(*((each.size, each.start, each.end) for each in tensors), strict=True))


def _refusal_message(tensors: Sequence[AllocatedTensor], answer: Any) -> str:
    why = answer.explanation
    if why is None:
        return "the search found no plan within the pools; increase size_hint_bytes"
    names = ", ".join(f"{tensors[k].variable.name} ({tensors[k].size:,} bytes)" for k in why.buffers)
    needed = f", and needs {why.needed:,}" if why.needed else ""
    return f"pool {why.pool!r} lacks {why.missing_bytes:,} bytes for {names}{needed}; increase its size_hint_bytes"
