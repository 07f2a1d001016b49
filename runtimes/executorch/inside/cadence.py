"""memplan as the planner of ExecuTorch's Cadence backend, with several memories of limited size, the fastest first.

```python
ExecutorchBackendConfig(
    memory_planning_pass=MemplanCadencePlanning(MemoryConfig([...], [...]), CompileMode.DEFAULT, profile="speed")
)
```

The profile states the goal for the memories. The default, `balanced`, makes the last memory as small as possible, and
then places as many bytes as possible in the faster ones.
Source: pytorch/executorch v1.5.1, backends/cadence/aot/memory_planning_algo.py, memory_constraints.py.
"""

import warnings
from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import executorch.backends.cadence.aot.ops_registrations  # noqa: F401  # The module defines operators of constraints.
from executorch.backends.cadence.aot.memory_planning import CadenceMemoryPlanning, PositionBasedGreedyWithHierarchy
from executorch.backends.cadence.aot.memory_planning_algo import MemoryPlanningAlgo
from executorch.backends.cadence.aot.utils import MemoryPlanningAlgoFailure

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, Profile
from memplan.runtimes.executorch.inside.algorithm import OwnPlannerWarning, PlannedCall
from memplan.runtimes.executorch.inside.source import HERE, NoPlanError, NothingFitsError, ServiceAwayError, Source


class MemplanCadenceAlgorithm(MemoryPlanningAlgo):  # type: ignore[misc]  # ExecuTorch has no type annotations.
    """A planning algorithm that places all specs (tensors) of a graph at once; placed specs keep their places.

    If the service does not answer or finds no plan in time, ExecuTorch's own algorithm is used, with an
    OwnPlannerWarning. `planned` lists the planned calls.
    """

    def __init__(self, *arguments: Any, source: Source = HERE, **named: Any) -> None:
        """Store the source of plans, and ExecuTorch's own algorithm, which is used if no plan is found."""
        super().__init__(*arguments, **named)
        self.source = source
        self.planned: list[PlannedCall] = []
        self._own = PositionBasedGreedyWithHierarchy(*arguments, **named)

    def plan_with_constraints(
        self,
        specs: Iterable[Any],
        graph_module: Any,
        graph_signature: Any,
        state: Any,
        placement_constraints: Any,
        extra_padding: int = 0,
    ) -> None:
        """Place the specs; a spec with a relative position moves with the spec to which it refers.

        Raises MemoryPlanningAlgoFailure with the reason if the specs do not fit.
        """
        asked = tuple(specs)
        whole = (asked, graph_module, graph_signature, state, placement_constraints, extra_padding)
        free = [spec for spec in asked if not placement_constraints.skipped_spec(spec)]
        try:
            self.plan(free, *whole[1:])
        except (ServiceAwayError, NoPlanError) as reason:
            warnings.warn(f"planned by ExecuTorch itself: {reason}", OwnPlannerWarning, stacklevel=2)
            self._own.plan_with_constraints(*whole)
        else:
            for spec in free:
                placement_constraints.resolve_relative_loc_constraints(spec)

    def plan(
        self,
        specs: Iterable[Any],
        graph_module: Any,
        graph_signature: Any,
        state: Any,
        placement_constraints: Any,
        extra_padding: int = 0,
    ) -> None:
        """Place specs around the specs already placed in `state`; if this fails, nothing is changed.

        Raises MemoryPlanningAlgoFailure, ServiceAwayError and NoPlanError.
        """
        asked = tuple(specs)
        taken = tuple(getattr(graph_module, "input_mem_buffer_sizes", None) or ())
        problem = self._problem_of_specs(asked, state, placement_constraints, taken)
        try:
            plan = self.source.plan(problem)
        except NothingFitsError as reason:
            raise MemoryPlanningAlgoFailure(f"memplan: {reason}") from reason
        self._apply_plan(asked, plan, state)
        state.bufsizes = [max(pair) for pair in zip_longest(state.bufsizes, taken[: len(state.bufsizes)], fillvalue=0)]
        self.planned.append(PlannedCall(problem, plan, tuple(state.bufsizes)))

    def _problem_of_specs(
        self, specs: tuple[Any, ...], state: Any, constraints: Any, taken: tuple[int, ...]
    ) -> Problem:
        """Return the problem of `specs` and the specs placed in `state`; the first `taken` bytes are reserved."""
        memories = range(1, self.get_num_memories())
        buffers = [self._unplaced_row(spec, f"spec:{k}", constraints) for k, spec in enumerate(specs)]
        for q in memories:
            for k, spec in enumerate(state.allocated_buffers[q]):
                row = _buffer_row(spec, f"placed:{q}:{k}")
                buffers.append(row | {"pools": [str(q)], "offset": spec.mem_offset})
        pools = [
            {
                "name": str(q),
                "alignment": self.get_alignment(q),
                "size": self._usable_size(q),
                "reserved": [(0, size) for size in taken[q : q + 1] if size],
            }
            for q in memories
        ]
        return Problem.model_validate({"buffers": buffers, "pools": pools})

    def _unplaced_row(self, spec: Any, name: str, constraints: Any) -> dict[str, Any]:
        """Return the buffer row of a spec: its allowed memories or, if it is pinned, its memory and offset."""
        pin = constraints.get_absolute_placement_constraint(spec)
        pools = [
            str(q)
            for q in range(1, self.get_num_memories())
            if self.memory_id_is_valid[q]
            and not constraints.is_mem_id_in_blocklist(spec, q)
            and (pin is None or pin.pinned_memory_id == q)
        ]
        if not pools:
            raise MemoryPlanningAlgoFailure(f"memplan: {spec} must be allowed in at least one memory, got none")
        offset = None if pin is None else pin.offset
        return _buffer_row(spec, name) | {"pools": pools} | ({} if offset is None else {"offset": offset})

    def _usable_size(self, mem_id: int) -> int:
        alignment: int = self.get_alignment(mem_id)
        size: int = self.get_size(mem_id)
        return size // alignment * alignment

    @staticmethod
    def _apply_plan(specs: tuple[Any, ...], plan: Plan, state: Any) -> None:
        at = {row.id: row for row in plan.placements}
        for k, spec in enumerate(specs):
            place = at[f"spec:{k}"]
            spec.mem_id, spec.mem_offset = int(place.pool), place.offset
            state.place_spec(spec)


def _buffer_row(spec: Any, name: str) -> dict[str, Any]:
    first, last = spec.lifetime
    return {"id": name, "size": spec.allocated_memory, "start": first, "end": last + 1}


class MemplanCadencePlanning(CadenceMemoryPlanning):  # type: ignore[misc]  # ExecuTorch has no type annotations.
    """CadenceMemoryPlanning with memplan's algorithm, to be passed as the option `memory_planning_pass`.

    `profile` is `speed`, `balanced` or `size`; None keeps the profile of `source`.
    """

    def __init__(
        self, memory_config: Any, mode: Any, *, source: Source = HERE, profile: Profile | None = None, **named: Any
    ) -> None:
        """Use memplan's algorithm with the given memories; a `profile` replaces the profile of the source."""
        super().__init__(memory_config, mode, 0, **named)
        source = source if profile is None else replace(source, profile=profile)
        self.algo = MemplanCadenceAlgorithm(memory_config, mode, source=source, **named)
