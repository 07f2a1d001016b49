"""memplan as the algorithm of ExecuTorch's memory planning pass.

```python
ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(memory_planning_algo=MemplanAlgorithm()))
```

ExecuTorch does not detect a wrong plan: the program runs and computes wrong results. Therefore, it receives only plans
that the verifier accepted.
"""

import warnings
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any
from weakref import WeakKeyDictionary

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.runtimes.executorch.inside.arenas import arenas_of, move_apart, overwriting_nodes
from memplan.runtimes.executorch.inside.source import HERE, NoPlanError, ServiceAwayError, Source
from memplan.runtimes.executorch.inside.specs import (
    Place,
    Spec,
    SpecPlacements,
    SpecsRequest,
    problem_of_request,
    request_of,
    spec_placements,
)

__all__ = ["MemplanAlgorithm", "OverwrittenWarning", "OwnPlannerWarning", "PlannedCall", "Source"]


class OwnPlannerWarning(UserWarning):
    """The plan was made by ExecuTorch's own planner, because memplan returned none."""


class OverwrittenWarning(UserWarning):
    """ExecuTorch places the results of two control-flow nodes at the same bytes, so the program computes wrong results.

    An algorithm of a suite cannot move the results apart; MemplanAlgorithm outside of a suite does.
    """


@dataclass(frozen=True)
class PlannedCall:
    """One call of the algorithm, for a graph or a submodule; `plan` is None if ExecuTorch's own plan was used."""

    problem: Problem
    plan: Plan | None
    bufsizes: tuple[int, ...]


class MemplanAlgorithm:
    """The algorithm for MemoryPlanningPass, which writes a placement into each spec (ExecuTorch's record of a tensor).

    `source` computes the plans, by default in this process. If a service does not answer, ExecuTorch's own planner is
    used, with an OwnPlannerWarning. `planned` lists the planned calls, submodules before the graphs that contain them.
    """

    def __init__(self, source: Source = HERE) -> None:
        """Store the source of plans, and start with no planned calls and no placed specs."""
        self.source = source
        self.planned: list[PlannedCall] = []
        self._placed: MutableMapping[Any, list[Spec]] = WeakKeyDictionary()

    def __call__(
        self, alignment: int, specs: Iterable[Any], graph_module: Any, graph_signature: Any, extra_padding: int = 0
    ) -> list[int]:
        """Place the specs and return the size of each memory in bytes, as MemoryPlanningPass expects.

        Raises ProblemError for specs that cannot be placed, and ServiceError if the service refuses the problem or
        returns a wrong plan.
        """
        request = request_of(alignment, specs, graph_module, extra_padding)
        if request.taken:
            apart = move_apart(arenas_of(graph_module, self._placed), self._placed, alignment)
            graph_module.input_mem_buffer_sizes = list(map(max, zip_longest(request.taken, apart, fillvalue=0)))
            request = replace(request, taken=tuple(graph_module.input_mem_buffer_sizes))
        placements = self._best_placements(request, graph_module, graph_signature)
        for spec, place in placements.places.items():
            spec.mem_id, spec.mem_obj_id, spec.mem_offset = place
        return list(placements.bufsizes)

    def plan_suite(
        self, alignment: int, specs: Iterable[Any], graph_module: Any, graph_signature: Any, extra_padding: int = 0
    ) -> Any:
        """Return the MemoryAlgoResult that MemoryPlanningAlgorithmSuite expects; raises as `__call__` does."""
        from executorch.exir.memory_planning import MemoryAlgoResult, SpecAllocResult

        request = request_of(alignment, specs, graph_module, extra_padding)
        lost = overwriting_nodes(arenas_of(graph_module, self._placed)) if request.taken else None
        if lost is not None:
            rule = "results of {!r} are overwritten while {!r} runs, as ExecuTorch puts both at the same bytes"
            warnings.warn(rule.format(*lost), OverwrittenWarning, stacklevel=2)
        placements = self._best_placements(request, graph_module, graph_signature)
        places = {spec: SpecAllocResult(**place._asdict()) for spec, place in placements.places.items()}
        return MemoryAlgoResult(places, list(placements.bufsizes))

    def _best_placements(self, request: SpecsRequest, graph_module: Any, graph_signature: Any) -> SpecPlacements:
        """Return the placements of memplan's plan or, if they are smaller, those of ExecuTorch's own planner.

        ExecuTorch's placements are also used if memplan returns no plan, and not computed if memplan's plan is optimal.
        """
        problem = problem_of_request(request)
        plan: Plan | None = None
        best: SpecPlacements | None = None
        self._placed.setdefault(graph_module, []).extend(request.specs)
        try:
            plan = self.source.plan(problem)
            best = spec_placements(request, problem, plan)
        except (ServiceAwayError, NoPlanError) as reason:
            warnings.warn(f"planned by ExecuTorch itself: {reason}", OwnPlannerWarning, stacklevel=3)
        if plan is None or best is None or plan.status != "optimal":
            own = _default_placements(request, graph_module, graph_signature)
            if best is None or sum(own.bufsizes) < sum(best.bufsizes):
                plan, best = None, own
        self.planned.append(PlannedCall(problem, plan, best.bufsizes))
        return best


def _default_placements(request: SpecsRequest, graph_module: Any, graph_signature: Any) -> SpecPlacements:
    """Return the placements that ExecuTorch's default algorithm computes for a request."""
    from executorch.exir.memory_planning import greedy

    specs = list(request.specs)
    placements = greedy(request.alignment, specs, graph_module, graph_signature, request.padding)
    places: dict[Spec, Place] = {
        spec: Place(own_spec.mem_id, own_spec.mem_obj_id, own_spec.mem_offset)
        for spec, own_spec in placements.spec_dict.items()
    }
    return SpecPlacements(places, tuple(placements.bufsizes))
