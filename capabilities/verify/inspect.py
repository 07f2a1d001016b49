"""The capability `inspect`: the violations of a plan, what decides its peaks, and how low each buffer could lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.inputs import EXAMPLE, EXAMPLE_PLAN, PLAN, PROBLEM
from memplan.capabilities.sizes import size_text
from memplan.capabilities.verify.peak_reasons import DecidedBy, PoolReason, peak_reasons
from memplan.capabilities.verify.verify import verify
from memplan.planner.errors import shown
from memplan.planner.model.plan import Ids, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Id
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.places import MOST_PAIRS, places
from memplan.planner.verify.violation import Violation
from memplan.solvers.search.to_plan import gap_of

_NAMED = 3
"""The buffers that a sentence names."""
_LISTED = 10
"""The violations that people are shown; JSON has all."""


class InspectedPool(Answer):
    """A pool of a plan, in bytes.

    `lower_bound` is what no plan uses less of, as far as that is claimed or counted here, and `proved_by` what checked
    it: `placements`, `witness`, `live-set`, or null for a search or a solver, which is not repeated; `gap` is the part
    that `used` is above it. `highest` end at `used`. `decides` are the buffers that make it: alive together at `time`
    (`live-set`), the highest one and what it stands on, with `idle` bytes between them (`tower`), or the `highest`
    alone. `live` bytes are the most that are alive, `alive` the buffers then; `without` one of them, so many would be.
    `live_bounds`: no plan with the same buffers in the pool uses less than `live`. `reserved` bytes below `used` are
    those of reserved ranges. `sentence` says the most of that.
    """

    name: str
    used: int
    lower_bound: int | None
    proved_by: str | None
    gap: float | None
    highest: Ids
    decided_by: DecidedBy
    decides: Ids
    idle: int
    live: int
    time: int | None
    alive: Ids
    live_bounds: bool
    without: tuple[tuple[Id, int], ...]
    reserved: int
    sentence: str


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
    pools: tuple[InspectedPool, ...] = ()
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
    pools = []
    for pool, reason in zip(problem.pools, peak_reasons(problem, placed, found), strict=True):
        by: str | None
        bound, by = claimed.get(pool.name, (None, None))
        if len(problem.pools) == 1 and reason.live_bounds and reason.live >= (bound or 0) and by is None:
            bound, by = reason.live, "live-set"
        pools.append(_pool(problem, pool.name, reason, bound, by))
    columns = None if found is None else [tuple(column.tolist()) for column in vars(found).values()]
    return Inspection(
        valid=True,
        violations=(),
        pools=tuple(pools),
        places=None if columns is None else BufferPlaces(**dict(zip(BufferPlaces.model_fields, columns, strict=True))),
    )


def _pool(problem: Problem, name: str, reason: PoolReason, bound: int | None, by: str | None) -> InspectedPool:
    ids, gap = problem.buffers.ids, gap_of([(reason.used, bound)])
    return InspectedPool.of(
        reason,
        name=name,
        lower_bound=bound,
        proved_by=by,
        gap=gap,
        highest=tuple(ids[i] for i in reason.highest),
        decides=tuple(ids[i] for i in reason.decides),
        alive=tuple(ids[i] for i in reason.alive),
        without=tuple((ids[i], left) for i, left in reason.without),
        sentence=_sentence(ids, reason, bound, gap, by),
    )


def _sentence(ids: Sequence[Id], reason: PoolReason, bound: int | None, gap: float | None, by: str | None) -> str:
    """Say what a pool's peak is, whether it is proved, what decides it, and what would lower it."""
    if reason.used == 0:
        return "nothing with bytes lies here"
    if bound is None:
        known = "nothing says how near that is to the least"
    elif bound == reason.used:
        known = "the least, by a search that is not repeated here" if by is None else "proved to be the least"
    else:
        known = f"{'' if gap is None else f'{gap:.2%} '}above the bound {size_text(bound)}"
    first, *others = (ids[i] for i in reason.decides)
    if reason.decided_by == "live-set":
        are = "are alive together" if others else "is alive"
        why = f"{_names([first, *others])} {are} at {reason.time}"
    elif reason.decided_by == "highest":
        why = f"{_names([first, *others])} end{'' if others else 's'} highest"
    else:
        stands = f", and stands on {_names(others)}" if others else ""
        why = f"{shown(first)} ends highest{stands}" + (f", with {size_text(reason.idle)} idle" if reason.idle else "")
    less = ""
    if reason.without and reason.decided_by == "live-set":
        name, left = reason.without[0]
        less = f"; without {shown(ids[name])}, at most {size_text(left)} would be alive"
    elif reason.decided_by != "live-set":
        less = f"; at most {size_text(reason.live)} are alive at a time"
    return f"{size_text(reason.used)}, {known}: {why}{less}"


def _names(names: Sequence[Id]) -> str:
    told = [shown(name) for name in names[:_NAMED]]
    if len(names) > _NAMED:
        told.append(f"{len(names) - _NAMED:,} others" if len(names) > _NAMED + 1 else "1 other")
    return " and ".join(filter(None, (", ".join(told[:-1]), told[-1])))


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
