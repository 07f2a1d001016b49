"""The kind `replay`: a replay bundle in; out, whether its problem gets the same plan again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.service.kinds.bodies import problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.capabilities.sizes import with_capacities
from memplan.planner.errors import FormatError, shown
from memplan.planner.formats import read_problem
from memplan.planner.importers import detect
from memplan.planner.model.intervals import Interval
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.studies.replay.bundle import ReplayBundle, ReplayResult, bundle_from, replay
from memplan.solvers.studies.replay.source_file import SourceFile


class ReplayOptions(KindOptions):
    """Options of a replay: the seconds in all; `with_plan` asks for the new plan."""

    with_plan: bool = False


class ReplayAnswer(ReplayResult):
    """The outcome as `memplan replay` tells it; `plan` is there where it was asked for."""

    plan: Plan | None = None


def _problem(file: SourceFile) -> Problem:
    """Read the problem in a bundle's file; raises InputError, for a model too: those are read by `memplan replay`."""
    if (found := detect(file.data, file.name)) is not None:
        raise FormatError(f"problem.content: must be a problem, not a model ({found}), which `memplan replay` reads")
    interval: Interval | None = None if file.inclusive is None else "closed" if file.inclusive else "half-open"
    return with_capacities(read_problem(file.data, file.name, interval), file.capacity)


def _read(content: Mapping[str, Any]) -> ReplayBundle:
    value = content["bundle"]
    if not isinstance(value, dict):
        raise FormatError(f"bundle: must be an object, got {shown(value)}")
    bundle = bundle_from(value)
    _problem(bundle.problem.file)
    return bundle


def _about(bundle: ReplayBundle) -> Subject:
    return problem_subject(_problem(bundle.problem.file))


def _run(bundle: ReplayBundle, options: ReplayOptions, control: WorkControl) -> WorkAnswer:
    deadline = control.deadline.within(options.time_limit_s)
    found, plan = replay(bundle, _problem, SolveControl(deadline, control.cancelled))
    told: dict[str, Any] = found.model_dump()
    if options.with_plan:
        told["plan"] = plan.model_dump(mode="json")
    return WorkAnswer(to_json(told) + b"\n", found.status)


_FILE = '{"buffers": [{"id": "conv1", "size": 64, "start": 0, "end": 3}]}'
_BUNDLE = {
    "format": "memplan-replay/1",
    "problem": {
        "name": "problem.json",
        "content": _FILE,
        "sha256": "422fd4c4fff3852b7cda2d884e29feb7019069c1f60d4240bad1c8030f019bb8",
    },
    "problem_hash": "sha256:5fdbeb480810b042e9a9695af176f32a207e3164cb554ba64eef2a13eddf66f0",
    "options": {"time_limit_s": 5, "deterministic": True},
    "answer": {"status": "feasible", "peak": 64, "placements": [{"id": "conv1", "pool": "default", "offset": 0}]},
    "answer_sha256": "5eef18bf6cbbeb225837e9e2b04b2db6747a4beed258912753dccb9a657f387a",
    "reproducible": False,
}
KIND = JobKind(
    name="replay",
    summary="Make a plan again",
    description="Answer with whether the problem of a replay bundle gets the same plan again, and what differs.",
    fields=("bundle",),
    read=_read,
    about=_about,
    run=_run,
    options=ReplayOptions,
    request=create_model("ReplayRequest", bundle=ReplayBundle, options=(ReplayOptions, ReplayOptions())),
    answer=ReplayAnswer,
    example={"bundle": _BUNDLE},
)
