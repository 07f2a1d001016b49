"""nntrainer: the planners of its tensor pools; it has no files to read."""

from __future__ import annotations

from memplan.planner.systems import ReferencePlanner, System

_SOURCE = "nnstreamer/nntrainer 65dccdec, nntrainer/tensor"


def _planner(name: str, summary: str, file: str) -> ReferencePlanner:
    where = f"memplan.extensions.systems.nntrainer.planner:{name}"
    return ReferencePlanner(f"reference:nntrainer-{name}", f"{summary} (nntrainer)", f"{_SOURCE}/{file}.cpp", where)


SYSTEM = System(
    name="nntrainer",
    title="nntrainer",
    planners=(
        _planner("basic", "one behind the other", "basic_planner"),
        _planner("v1", "over time, where one of the same size lay", "optimized_v1_planner"),
        _planner("v2", "the same, and gradients of weights over one another", "optimized_v2_planner"),
        _planner("v3", "over time, each into the lowest gap", "optimized_v3_planner"),
    ),
)
