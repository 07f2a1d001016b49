"""The capability `inspect`: the violations of a plan, what decides its peaks, and how low each buffer could lie."""

from __future__ import annotations

from collections.abc import Iterator

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.explain.peaks import PoolPeak, pool_peaks
from memplan.capabilities.inputs import EXAMPLE, EXAMPLE_PLAN, PLAN, PROBLEM
from memplan.capabilities.verify.verify import verify
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.places import MOST_PAIRS, places
from memplan.planner.verify.violation import Violation

_NAMED = 3
"""The buffers that a sentence names."""
_LISTED = 10
"""The violations that people are shown; JSON has all."""


class BufferPlaces(Answer):
    """For each buffer of the problem, in its order: the lowest offset that keeps every rule while all others stay, the
    position of the buffer that it stands on (-1: the bottom of the pool, -2: a reserved range), the bytes between, and
    the position of the next buffer above it (-1: none). `lowest` is -1 where it was not found.
    """

    lowest: tuple[int, ...]
    under: tuple[int, ...]
    idle: tuple[int, ...]
    over: tuple[int, ...]


class Inspection(Answer):
    """The truth about a plan: its violations; of a valid one, what decides the peak of each pool.

    `places` are null where the plan is not valid, or too many pairs of buffers would have to be compared for them.
    """

    valid: bool
    violations: tuple[Violation, ...]
    pools: tuple[PoolPeak, ...] = ()
    places: BufferPlaces | None = None


def inspect(
    problem: Problem, plan: Plan, options: CapabilityOptions = CapabilityOptions(), control: Control = Control()
) -> Inspection:
    """Inspect a plan: its violations, what decides the peak of each pool, and how low each buffer could lie.

    Nothing is searched for: the buffers of a peak are those that end there and what they stand on, and a buffer's
    lowest offset is that with all others where they are.
    """
    del options, control  # it takes no time that a limit could end
    return inspected(problem, plan)


def inspected(problem: Problem, plan: Plan, most_pairs: int = MOST_PAIRS) -> Inspection:
    """Inspect a plan, with the places of its buffers where no more pairs of them must be compared."""
    verdict = verify(problem, plan)
    if not verdict.valid or len(plan.placements) == 0:
        return Inspection(valid=verdict.valid, violations=verdict.violations)
    placed = PlacedBuffers.by(problem, plan.placements)
    found = places(problem, placed, most_pairs)
    checked = {claim.claim: claim.by for claim in verdict.claims}
    claimed = {use.name: (use.lower_bound, checked.get(f"pools[{k}].lower_bound")) for k, use in enumerate(plan.pools)}
    if len(problem.pools) == 1 and plan.lower_bound is not None:
        claimed[problem.pools[0].name] = (plan.lower_bound, checked.get("lower_bound"))
    pools = pool_peaks(problem, placed, found, claimed)
    columns = None if found is None else [tuple(column.tolist()) for column in vars(found).values()]
    return Inspection(
        valid=True,
        violations=(),
        pools=tuple(pools),
        places=None if columns is None else BufferPlaces(**dict(zip(BufferPlaces.model_fields, columns, strict=True))),
    )


def lines(found: Inspection) -> Iterator[str]:
    """Yield the lines for people: the violations, or a sentence for each pool."""
    for violation in found.violations[:_LISTED]:
        yield f"{violation.rule}: {violation.message}"
    if len(found.violations) > _LISTED:
        yield f"... and {len(found.violations) - _LISTED:,} more violations"
    if not found.valid:
        return
    yield "valid"
    for pool in found.pools:
        yield f"{pool.name}: {pool.sentence}"


CAPABILITY = Capability(
    inspect,
    inputs=(PROBLEM, PLAN),
    lines=lines,
    exit_status=lambda found: 0 if found.valid else 3,
    exits={0: "the plan is valid", 3: "it is not"},
    is_brief=lambda _subject, _options: True,
    most_bytes=128 * 2**20,
    example={"problem": EXAMPLE, "plan": EXAMPLE_PLAN},
)
