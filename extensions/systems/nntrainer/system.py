"""The registration of nntrainer: the planners of its tensor pools, and no file format."""

from __future__ import annotations

from memplan.planner.systems import ReferencePlanner, System

_SOURCE = "nnstreamer/nntrainer 65dccdec, nntrainer/tensor"


def _reference_planner(name: str, summary: str, file: str) -> ReferencePlanner:
    where = f"memplan.extensions.systems.nntrainer.planner:{name}"
    return ReferencePlanner(f"reference:nntrainer-{name}", f"{summary} (nntrainer)", f"{_SOURCE}/{file}.cpp", where)


SYSTEM = System(
    name="nntrainer",
    title="nntrainer",
    planners=(
        _reference_planner("basic", "one behind the other", "basic_planner"),
        _reference_planner("v1", "over time, where one of the same size lay", "optimized_v1_planner"),
        _reference_planner("v2", "the same, and gradients of weights over one another", "optimized_v2_planner"),
        _reference_planner("v3", "over time, each into the lowest gap", "optimized_v3_planner"),
    ),
)
