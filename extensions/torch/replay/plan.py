"""A plan of addresses for the allocations of a step, matched in the order in which they occur."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from pydantic import Field

from memplan.extensions.torch.files.allocator_settings import ROUNDING, AllocatorSettings
from memplan.extensions.torch.replay.library import ABI, AllocatorEvent
from memplan.planner.bounds.lower_bound import live_bytes
from memplan.planner.errors import InputError, excerpt
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.model.rows import Buffer
from memplan.planner.verify.verifier import verify
from memplan.questions.question import QuestionOptions
from memplan.questions.reading import validate_options
from memplan.solvers.portfolio.solve import solve

_SETTINGS = AllocatorSettings()


@dataclass(frozen=True)
class PlannedAllocation:
    """An allocation: bytes, device, stream number (0 is the default stream), first event and last event.

    `offset` is the offset in the device's arena; None for an allocation that outlives its scope and gets separate
    bytes.
    """

    size: int
    device: int
    stream: int
    start: int
    end: int | None
    offset: int | None = None


@dataclass(frozen=True)
class ReplayPlan:
    """The allocations of each scope, keyed by name; all scopes share one arena per device, because they run in turns.

    `live` is the peak of bytes that planned allocations of one scope use on a device at once, in blocks of 512 bytes,
    summed over devices; `arena` is the total size of all arenas in bytes.
    """

    scopes: dict[str, tuple[PlannedAllocation, ...]]
    live: int
    arena: int

    def file_text(self) -> str:
        """Return the text of the plan file that the allocator loads."""
        rows = [f"memplan-replay {ABI}"]
        for name, allocations in self.scopes.items():
            rows.append(f"scope {name} {len(allocations)}")
            rows += [
                f"{row.size} {row.device} {row.stream} {-1 if row.offset is None else row.offset}"
                for row in allocations
            ]
        return "\n".join([*rows, "end", ""])

    def save(self, path: str | Path) -> None:
        """Write the plan to a file, from which `use_plan` can load it in a later process."""
        Path(path).write_text(self.file_text(), encoding="utf-8")

    def __or__(self, other: ReplayPlan) -> ReplayPlan:
        """Return a plan with the scopes of both plans; raises InputError if both contain the same scope."""
        if both := self.scopes.keys() & other.scopes.keys():
            raise InputError(f"scope: must be in only one of the plans, got {excerpt(min(both))} in both")
        return ReplayPlan(self.scopes | other.scopes, max(self.live, other.live), max(self.arena, other.arena))


class ReplayOptions(QuestionOptions):
    """The options of `record`."""

    scope: str = Field("step", pattern=r"^[A-Za-z0-9_.-]{1,63}$", description="The name of the scope.")
    time_limit_s: float = Field(5.0, gt=0, le=3600, description="Seconds for the plan.")


def allocations_of(events: Iterable[AllocatorEvent]) -> list[PlannedAllocation]:
    """Return the allocations in recorded events, in order of allocation."""
    rows: list[PlannedAllocation] = []
    streams: dict[int | None, int] = {None: 0, 0: 0}
    for when, event in enumerate(events):
        if event.size:
            stream = streams.setdefault(event.stream, len(streams) - 1)
            rows.append(PlannedAllocation(event.size, event.device, stream, when, None))
        else:
            rows[event.number] = replace(rows[event.number], end=when)
    return rows


def plan_of(allocations: Sequence[PlannedAllocation], **options: object) -> ReplayPlan:
    """Return a verified plan of a scope, with separate bytes for each stream; `options` are fields of ReplayOptions."""
    asked = validate_options(ReplayOptions, options)
    places = list(allocations)
    live = arena = 0
    for device in sorted({row.device for row in allocations}):
        mine = {k: row for k, row in enumerate(allocations) if row.device == device and row.end is not None}
        if not mine:
            continue
        problem = _problem_of(mine, {k: f"stream{row.stream}" for k, row in mine.items()})
        plan = solve(problem, time_limit_s=asked.time_limit_s)
        if plan.peak is None:
            raise InputError(f"scope {asked.scope}: must have a plan, got {plan.status}: increase time_limit_s")
        ends = [*accumulate((_SETTINGS.round_size(use.used or 0) for use in plan.pools), initial=0)]
        base = {use.name: end for use, end in zip(plan.pools, ends, strict=False)}
        for place in plan.placements:
            k = int(place.id)
            places[k] = replace(places[k], offset=base[str(place.pool)] + place.offset)
        # All streams share one arena, so verify the joint plan of the streams too.
        joint = _problem_of(mine, dict.fromkeys(mine, "arena"))
        rows = [{"id": k, "pool": "arena", "offset": places[k].offset} for k in mine]
        if wrong := verify(joint, Plan.model_validate({"placements": rows})):
            raise InputError(f"scope {asked.scope}: must give live allocations separate bytes: {wrong[0].message}")
        arena += ends[-1]
        live += max(size for _, size in live_bytes(compile_problem(joint)))
    return ReplayPlan({asked.scope: tuple(places)}, live, arena)


def _problem_of(rows: Mapping[int, PlannedAllocation], pools: Mapping[int, str]) -> Problem:
    """Return the problem of allocations in blocks of the allocator; `pools` names the pool of each allocation."""
    buffers = [
        Buffer(
            id=k,
            size=_SETTINGS.round_size(row.size),
            start=row.start,
            end=row.end or 0,
            alignment=ROUNDING,
            pools=(pools[k],),
        )
        for k, row in rows.items()
    ]
    return Problem(buffers=buffers, pools=[Pool(name=name) for name in sorted({*pools.values()})])
