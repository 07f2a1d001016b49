"""Conversion of ExecuTorch's specs to a problem, and of its plan to the numbers that ExecuTorch stores.

A spec describes a tensor, which is alive from the first node that uses it to the last one, both included. Each memory
is a pool; memories are numbered from 1, because 0 holds constants. Submodules of control flow use the first bytes of a
memory, which stay reserved during the whole program, because the results of a branch remain there after the branch.
Source: pytorch/executorch v1.5.1, exir/memory_planning.py (apply_algo, greedy, MemoryPlanningAlgorithmSuite).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from memplan.planner.errors import ProblemError, excerpt
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

_MEMORY = "memory "
"""The prefix of pool names, followed by the number of the memory."""
_ALLOC = "alloc"
"""The name prefix of nodes that allocate the output of the next node."""


class Spec(Protocol):
    """The attributes of ExecuTorch's TensorSpec that planning uses."""

    lifetime: list[int | None]
    mem_id: int | None
    mem_offset: int | None
    mem_obj_id: int | None
    storage_base: "Spec | None"
    storage_base_offset: int

    @property
    def allocated_memory(self) -> int:
        """The bytes of the tensor, rounded up to its alignment."""

    def realign(self, new_alignment: int) -> int:
        """Set the alignment in bytes, and return the rounded bytes of the tensor."""


class Place(NamedTuple):
    """The placement of a spec: its memory, its object and its offset; specs that share bytes have the same object."""

    mem_id: int
    mem_obj_id: int
    mem_offset: int


@dataclass(frozen=True)
class SpecPlacements:
    """The placement of each spec, and the size in bytes of each memory, starting with memory 0 for constants."""

    places: Mapping[Spec, Place]
    bufsizes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SpecsRequest:
    """One call of a planner: the specs to place, their common alignment, and the bytes to keep free.

    `names` are readable names of the specs. `taken` are the bytes that submodules use at the start of each memory, and
    `padding` the extra bytes that each memory needs after its last tensor.
    """

    specs: tuple[Spec, ...]
    names: tuple[str, ...]
    alignment: int
    taken: tuple[int, ...] = ()
    padding: int = 0

    def lowest_offset(self, mem_id: int) -> int:
        """Return the lowest offset at which a tensor of this memory may be placed."""
        taken = self.taken[mem_id] if mem_id < len(self.taken) else 0
        return -(-taken // self.alignment) * self.alignment


def request_of(alignment: int, specs: Iterable[Spec], graph_module: Any, padding: int) -> SpecsRequest:
    """Return the request that ExecuTorch makes by a planner call with these arguments, after realigning every spec.

    `alignment` and `padding` are in bytes.
    """
    unique = tuple(dict.fromkeys(specs))
    for spec in unique:
        spec.realign(alignment)
    taken = tuple(getattr(graph_module, "input_mem_buffer_sizes", None) or ())
    names_by_spec = _spec_names(graph_module)
    names = tuple(names_by_spec.get(spec) or f"unnamed spec {k}" for k, spec in enumerate(unique))
    return SpecsRequest(unique, names, alignment, taken, padding)


def _spec_names(graph_module: Any) -> dict[Spec, str]:
    names: dict[Spec, str] = {}
    for node in graph_module.graph.nodes:
        spec_places = node.meta.get("spec")
        several = isinstance(spec_places, (list, tuple))
        for k, spec in enumerate(spec_places if several else (spec_places,)):
            if hasattr(spec, "lifetime") and names.get(spec, _ALLOC).startswith(_ALLOC):
                names[spec] = f"{node.name}:{k}" if several else node.name
    return names


def problem_of_request(request: SpecsRequest) -> Problem:
    """Return the request as a problem; raises ProblemError for specs that cannot be placed."""
    names = dict(zip(request.specs, request.names, strict=True))
    mem_ids = {spec: _memory_number(spec, name) for spec, name in names.items()}
    return Problem.model_validate(
        {
            "buffers": [_buffer_row(spec, names, mem_id, request.alignment) for spec, mem_id in mem_ids.items()],
            "pools": [{"name": f"{_MEMORY}{mem_id}"} for mem_id in sorted({*mem_ids.values()}) or [1]],
        }
    )


def _memory_number(spec: Spec, name: str) -> int:
    """Return the memory number of a spec or, if it shares another spec's storage, that spec's; 1 if unset."""
    root = spec
    seen = {spec}
    while root.storage_base is not None:
        root = root.storage_base
        if root in seen:
            raise ProblemError(f"spec {excerpt(name)}: storage_base must not form a cycle")
        seen.add(root)
    mem_id = 1 if root.mem_id is None else root.mem_id
    if mem_id < 1:
        raise ProblemError(
            f"spec {excerpt(name)}: mem_id must be at least 1, as memory 0 holds constants, got {mem_id}"
        )
    return mem_id


def _buffer_row(spec: Spec, names: Mapping[Spec, str], mem_id: int, alignment: int) -> dict[str, object]:
    """Return the buffer of a spec as a row of a problem: its name, size, lifetime, memory and, if fixed, offset."""
    first, last = spec.lifetime
    if first is None or last is None:
        raise ProblemError(f"spec {excerpt(names[spec])}: lifetime must be known, got {excerpt(spec.lifetime)}")
    row: dict[str, object] = {
        "id": names[spec],
        "size": spec.allocated_memory,
        "start": first,
        "end": last + 1,
        "alignment": alignment,
        "pools": [f"{_MEMORY}{mem_id}"],
    }
    if spec.storage_base is not None:
        if spec.storage_base not in names:
            raise ProblemError(f"spec {excerpt(names[spec])}: storage_base must be planned in the same call")
        row |= {"alias_of": names[spec.storage_base], "alias_offset": spec.storage_base_offset}
    return row


def spec_placements(request: SpecsRequest, problem: Problem, plan: Plan) -> SpecPlacements:
    """Return the placements of a request's specs in `plan`, which places all buffers of the request's problem."""
    at = {row.id: row for row in plan.placements}
    rows = [at[name] for name in problem.buffers.ids]
    mem_ids = [int(row.pool.removeprefix(_MEMORY)) for row in rows]
    offsets = [row.offset + request.lowest_offset(mem_id) for row, mem_id in zip(rows, mem_ids, strict=True)]
    objects = _object_numbers(request.specs, mem_ids, offsets)
    all_places = map(Place, mem_ids, objects, offsets)
    places = dict(zip(request.specs, all_places, strict=True))
    return SpecPlacements(places, _padded_sizes(request, places))


def _object_numbers(specs: Sequence[Spec], mem_ids: Sequence[int], offsets: Sequence[int]) -> list[int]:
    """Return an object number for each spec. Specs that share bytes, directly or through others, have the same one."""
    objects = [0] * len(specs)
    number, mem_id, end = 0, 0, 0
    for k in sorted(range(len(specs)), key=lambda k: (mem_ids[k], offsets[k])):
        if mem_ids[k] != mem_id:
            number, mem_id, end = 0, mem_ids[k], 0
        elif offsets[k] >= end:
            number += 1
        objects[k] = number
        end = max(end, offsets[k] + specs[k].allocated_memory)
    return objects


def _padded_sizes(request: SpecsRequest, places: Mapping[Spec, Place]) -> tuple[int, ...]:
    ends: dict[int, int] = {}
    for spec, place in places.items():
        ends[place.mem_id] = max(ends.get(place.mem_id, 0), place.mem_offset + spec.allocated_memory)
    count = max(2, len(request.taken), *(mem_id + 1 for mem_id in ends))
    taken = [*request.taken, *[0] * (count - len(request.taken))]
    sizes = [max(taken[q], ends[q]) + request.padding if q in ends else taken[q] for q in range(count)]
    return (0, *sizes[1:])
