"""Conversion of ExecuTorch's specs to problems, and of plans to ExecuTorch's numbers, without ExecuTorch itself."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from memplan.planner.errors import ProblemError
from memplan.planner.verify.verifier import verify
from memplan.runtimes.executorch.inside.specs import (
    Place,
    Spec,
    SpecPlacements,
    SpecsRequest,
    problem_of_request,
    request_of,
    spec_placements,
)
from memplan.solvers.portfolio.solve import solve


@dataclass(eq=False)
class Tensor:
    """A spec with the attributes of ExecuTorch's TensorSpec that planning uses."""

    nbytes: int
    lifetime: list[int | None]
    mem_id: int | None = None
    mem_offset: int | None = None
    mem_obj_id: int | None = None
    storage_base: Spec | None = None
    storage_base_offset: int = 0
    alignment: int = field(default=16)

    @property
    def allocated_memory(self) -> int:
        return -(-self.nbytes // self.alignment) * self.alignment

    def realign(self, new_alignment: int) -> int:
        self.alignment = new_alignment
        return self.allocated_memory


def plan_specs(*specs: Tensor, alignment: int = 16, taken: tuple[int, ...] = (), padding: int = 0) -> SpecPlacements:
    for spec in specs:
        spec.realign(alignment)
    request = SpecsRequest(specs, tuple(f"spec:{k}" for k in range(len(specs))), alignment, taken, padding)
    problem = problem_of_request(request)
    plan = solve(problem, time_limit_s=5)
    assert not verify(problem, plan)
    return spec_placements(request, problem, plan)


def graph(*nodes: tuple[str, object], taken: list[int] | None = None) -> SimpleNamespace:
    rows = [SimpleNamespace(name=name, meta={"spec": spec}) for name, spec in nodes]
    module = SimpleNamespace(graph=SimpleNamespace(nodes=rows))
    if taken is not None:
        module.input_mem_buffer_sizes = taken
    return module


def test_specs_with_disjoint_lifetimes_share_bytes_and_an_object() -> None:
    first, second = Tensor(16, [0, 2]), Tensor(16, [3, 4])
    found = plan_specs(first, second)
    assert found.places[first] == found.places[second] == Place(1, 0, 0)


MEMORIES: dict[str, tuple[list[Tensor], dict[str, Any], tuple[int, ...]]] = {
    "a last node in common": ([Tensor(16, [0, 3]), Tensor(16, [3, 4])], {}, (0, 32)),
    "size zero": ([Tensor(0, [0, 4]), Tensor(16, [0, 4])], {}, (0, 16)),
    "above submodules": ([Tensor(16, [0, 2])], {"taken": (0, 40)}, (0, 64)),
    "rounded sizes": ([Tensor(1, [0, 2]), Tensor(1, [0, 2])], {"alignment": 64}, (0, 128)),
    "bytes of submodules": ([], {"taken": (0, 40, 8)}, (0, 40, 8)),
    "no specs": ([], {}, (0, 0)),
    "padding of memories in use": ([Tensor(16, [0, 1]), Tensor(16, [0, 1], mem_id=3)], {"padding": 64}, (0, 80, 0, 80)),
    "a given memory": ([Tensor(16, [0, 1]), Tensor(32, [0, 1], mem_id=2)], {}, (0, 16, 32)),
}


@pytest.mark.parametrize(("specs", "options", "bufsizes"), MEMORIES.values(), ids=MEMORIES)
def test_memories_have_the_sizes_of_their_specs_with_rounding_submodules_and_padding(
    specs: list[Tensor], options: dict[str, Any], bufsizes: tuple[int, ...]
) -> None:
    found = plan_specs(*specs, **options)
    assert found.bufsizes == bufsizes
    assert [found.places[spec].mem_id for spec in specs] == [spec.mem_id or 1 for spec in specs]


def test_a_view_is_placed_inside_its_base_in_the_same_memory_and_object() -> None:
    base = Tensor(64, [0, 3], mem_id=2)
    view = Tensor(16, [2, 3], storage_base=base, storage_base_offset=32)
    part = Tensor(16, [2, 3], storage_base=view)
    found = plan_specs(base, view, part, Tensor(16, [1, 3], mem_id=2))
    assert found.places[view].mem_offset == found.places[part].mem_offset == found.places[base].mem_offset + 32
    assert found.places[view][:2] == found.places[base][:2]
    assert found.bufsizes == (0, 0, 80)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (Tensor(16, [0, 1], storage_base=Tensor(16, [0, 1])), "storage_base must be planned in the same call"),
        (Tensor(16, [0, 1], mem_id=0), "mem_id must be at least 1, as memory 0 holds constants, got 0"),
        (Tensor(16, [None, None]), r"lifetime must be known, got \[null, null\]"),
    ],
)
def test_a_spec_that_cannot_be_planned_is_refused(spec: Tensor, sentence: str) -> None:
    with pytest.raises(ProblemError, match=f'spec "spec:0": {sentence}'):
        plan_specs(spec)


def test_cyclic_storage_bases_are_refused() -> None:
    view, base = Tensor(16, [0, 1]), Tensor(16, [0, 1])
    view.storage_base, base.storage_base = base, view
    with pytest.raises(ProblemError, match=r'spec "spec:0": storage_base must not form a cycle'):
        plan_specs(view, base)


def test_a_request_aligns_specs_and_removes_duplicates() -> None:
    tensor = Tensor(1, [0, 1])
    assert request_of(32, [tensor, tensor], graph(("x", tensor)), 0).specs == (tensor,)
    assert tensor.allocated_memory == 32


def test_specs_are_named_after_the_node_that_computes_them() -> None:
    sums, low, high = Tensor(16, [0, 1]), Tensor(16, [1, 2]), Tensor(16, [1, 2])
    module = graph(("alloc", sums), ("add", sums), ("view", sums), ("minmax", (low, high)), ("output", [low, None]))
    request = request_of(16, [sums, low, high], module, 0)
    assert problem_of_request(request).buffers.ids == ("add", "minmax:0", "minmax:1")


def test_bytes_of_submodules_are_read_from_the_graph() -> None:
    assert request_of(16, [], graph(taken=[0, 96]), 0).taken == (0, 96)
    assert request_of(16, [], graph(), 0).taken == ()
