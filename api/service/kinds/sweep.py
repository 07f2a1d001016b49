"""The kind `sweep`: a problem and sizes of its pools in, the cost and the peaks of each combination out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.service.kinds.bodies import problem_of, problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.planner.errors import OptionError, sentences
from memplan.planner.model.plan import Plan, PoolUse, Status, StopReason
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, Bytes, Name, WireValue, as_tuple
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.studies.sweep import MOST_SIZES, SweepPoint, informed, sweep, with_sizes


class SizeRange(WireValue):
    """The sizes from `first` to `last`, which is among them if steps lead there, in bytes."""

    first: Bytes
    last: Bytes
    step: Annotated[int, Field(gt=0, le=MAX_BYTES)]

    def values(self) -> range:
        """Return the sizes."""
        return range(self.first, self.last + 1, self.step)


SizeList = Annotated[tuple[Bytes, ...], BeforeValidator(as_tuple), Field(min_length=1, max_length=MOST_SIZES)]
Sizes = Annotated[dict[Name, SizeRange | SizeList], Field(min_length=1)]
_SIZES: TypeAdapter[dict[str, SizeRange | tuple[int, ...]]] = TypeAdapter(Sizes)


class SweepOptions(KindOptions):
    """Options of a sweep: the seconds in all, those for each combination, the seed, and if clocks may decide a plan."""

    each_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 1.0
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    deterministic: bool = False


class SweepRow(BaseModel):
    """The sizes of the pools, the quality of the plan for them, and its use in bytes; `size` is there for one pool."""

    model_config = ConfigDict(frozen=True)

    size: int | None = None
    sizes: dict[str, int]
    status: Status
    stop_reason: StopReason | None
    cost: float | None
    cost_lower_bound: float | None
    peak: int | None
    lower_bound: int | None
    pools: list[PoolUse]
    solver: str | None
    reproducible: bool | None


class SweepAnswer(BaseModel):
    """The number of combinations, and those planned in time, from the smallest up, the last pool going fastest."""

    model_config = ConfigDict(frozen=True)

    combinations: int
    points: list[SweepRow]


@dataclass(frozen=True)
class AskedSweep:
    """A problem, and the sizes of its pools."""

    problem: Problem
    sizes: Mapping[str, range | tuple[int, ...]]

    @property
    def combinations(self) -> int:
        """The number of combinations of sizes."""
        return prod(len(set(values)) for values in self.sizes.values())


def _read(content: Mapping[str, Any]) -> AskedSweep:
    problem = problem_of(content)
    try:
        given = _SIZES.validate_python(content["sizes"])
    except ValidationError as error:
        raise OptionError(*sentences(error, ("sizes",))) from error
    sizes = {name: its if isinstance(its, tuple) else its.values() for name, its in given.items()}
    for name, its in sizes.items():
        if not len(its):
            raise OptionError(f"sizes.{name}: must not end below where it starts")
    if (count := prod(map(len, sizes.values()))) > MOST_SIZES:
        raise OptionError(f"sizes: must have at most {MOST_SIZES} combinations, got {count}")
    with_sizes(problem, {name: its[0] for name, its in sizes.items()})  # which refuses unknown names
    return AskedSweep(problem, sizes)


def _about(asked: AskedSweep) -> Subject:
    return problem_subject(asked.problem)


def _run(asked: AskedSweep, options: SweepOptions, control: WorkControl) -> WorkAnswer:
    points: list[SweepPoint] = []

    def plan_one(problem: Problem, start: Plan | None) -> Plan:
        deadline = None if options.deterministic else control.deadline.within(options.each_s)
        chosen = SolveControl(deadline, control.cancelled, start=start)
        limit_s, counts_work = min(options.each_s, options.time_limit_s), options.deterministic
        return solve(problem, time_limit_s=limit_s, seed=options.seed, deterministic=counts_work, control=chosen)

    for point in sweep(asked.problem, asked.sizes, plan_one):
        points.append(point)
        control.tell({"done": len(points), "combinations": asked.combinations})
        if control.deadline.left_s <= 0 or control.cancelled.is_set():
            break
    pools = tuple(asked.sizes)
    told = {"combinations": asked.combinations, "points": [point.facts(pools) for point in informed(points)]}
    return WorkAnswer(to_json(told) + b"\n", "done")


KIND = JobKind(
    name="sweep",
    summary="Plan each size of some pools",
    description=f"Answer with cost and peaks for each combination of sizes planned in time, {MOST_SIZES} at most.",
    fields=("problem", "sizes"),
    needed=("problem", "sizes"),
    read=_read,
    about=_about,
    run=_run,
    options=SweepOptions,
    request=create_model("SweepRequest", problem=Problem, sizes=Sizes, options=(SweepOptions, SweepOptions())),
    answer=SweepAnswer,
    example={
        "problem": {
            "buffers": [
                {"id": "conv1", "size": 64, "start": 0, "end": 3},
                {"id": "conv2", "size": 48, "start": 2, "end": 5},
            ],
            "pools": [{"name": "sram", "size": 64}, {"name": "dram", "cost": 1}],
            "objective": "cost",
        },
        "sizes": {"sram": {"first": 0, "last": 128, "step": 64}},
    },
)
