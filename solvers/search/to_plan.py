"""Plans made from search results: the use of pools, the gap, and a proof or an explanation are added."""

from collections.abc import Iterable

import numpy as np

from memplan.planner import __version__
from memplan.planner.bounds.lower_bound import Bound, Witness
from memplan.planner.bounds.reason_sentence import sentence
from memplan.planner.errors import excerpt
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.compile import lift
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.legal_offsets import last_end
from memplan.planner.instance.objective import reaches
from memplan.planner.instance.pair_report import bank_clashes, reused_pairs, shared_pairs
from memplan.planner.lint.problems import lint
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Explanation, Plan, PoolUse, Proof
from memplan.planner.model.problem import Problem
from memplan.solvers.search.incumbent import peak_sum_bound
from memplan.solvers.search.result import Assignment

_NAMED = 5
"""The limit of pools that a message names."""


def explain(problem: Problem, instance: Instance, bound: Bound) -> Explanation:
    """Return the explanation of a missing plan: a buffer or pool that cannot fit, or else the time of the live peak."""
    if instance.unplaceable:
        table = problem.buffers
        too_wide = (i for i in instance.unplaceable if table.size[i] > table.rules["no_cross"].get(i, table.size[i]))
        return _unplaceable_explanation(problem, next(too_wide, instance.unplaceable[0]))
    witness = bound.nothing_fits
    if witness is not None and witness.missing is not None:
        return _lack_explanation(problem, instance, witness)
    if witness is not None:
        for finding in lint(problem):
            if finding.rule == "pins-collide":
                return Explanation(message=finding.message, buffers=finding.buffers)
        if witness.time is not None:
            names = _witness_ids(problem, instance, witness)
            text = f"at time {witness.time}, {len(names)} buffers do not fit below the limits of their ends"
            return Explanation(message=text, time=witness.time, buffers=names)
        message = f"nothing fits: {witness.by} searched everything"
    else:
        message = "nothing that fits was found in time"
    tightest = bound.witness
    if tightest.time is not None:
        message += f"; the most is alive at time {tightest.time}"
    pool = None if tightest.pool is None else problem.pools[tightest.pool].name
    return Explanation(
        message=message, pool=pool, time=tightest.time, buffers=_witness_ids(problem, instance, tightest)
    )


def _unplaceable_explanation(problem: Problem, i: int) -> Explanation:
    """Return the explanation for a buffer, at position `i`, that fits into none of its allowed pools, even alone."""
    buffer, size = problem.buffers.ids[i], int(problem.buffers.size[i])
    pools = [problem.pools[q] for q in problem.allowed_pools(i)]
    names = ", ".join(excerpt(pool.name) for pool in pools[:_NAMED]) + ", ..." * (len(pools) > _NAMED)
    is_tied = i in problem.rigid_leads or any(
        problem.root_of(name) == i for names in problem.together for name in names
    )
    alone = "even with only what must lie with it" if is_tied else "even alone"
    message = f"buffer {excerpt(buffer)} ({size} bytes) fits no pool that it may use ({names}), {alone}"
    page = problem.buffers.rules["no_cross"].get(i)
    if page is not None and size > page:
        message += f": it must not cross a multiple of {page} bytes"
    lacks = [size - pool.size for pool in pools if pool.size is not None and pool.size < size]
    starts = problem.buffers.start[problem.buffers.first[i] : problem.buffers.first[i + 1]]
    why = Explanation(
        message=message,
        pool=pools[-1].name,
        missing_bytes=min(lacks) if len(lacks) == len(pools) else None,
        time=int(starts[0]) if len(starts) else None,
        buffers=(buffer,),
    )
    is_of_one = len(problem.pools) == 1 and why.missing_bytes is not None
    return why.model_copy(update={"message": sentence(problem, why)}) if is_of_one else why


def _lack_explanation(problem: Problem, instance: Instance, witness: Witness) -> Explanation:
    """Return the explanation that a pool is too small for a set of buffers that must not share bytes."""
    assert witness.pool is not None
    assert witness.missing is not None
    pool = problem.pools[witness.pool]
    # The pool's last bytes may not fill a whole unit, so subtract them from the missing bytes.
    missing = witness.missing * instance.unit - last_end(pool) % instance.unit
    buffers = _witness_ids(problem, instance, witness)
    why = Explanation(message="", pool=pool.name, missing_bytes=missing, time=witness.time, buffers=buffers)
    end = "; without a size it ends at 2^63 - 1 bytes" if pool.size is None else ""
    return why.model_copy(update={"message": sentence(problem, why) + end})


def _witness_ids(problem: Problem, instance: Instance, witness: Witness) -> tuple[int | str, ...]:
    return tuple(problem.buffers.ids[int(instance.source[i])] for i in witness.buffers)


_EMPTY_PLAN = Plan.model_construct(version=__version__)


def plan_of_assignment(
    problem: Problem, instance: Instance, assignment: Assignment, bound: Bound, order: I64 | None = None
) -> Plan:
    """Return an assignment as a plan, which is not verified yet; `order` is the canonical buffer order, if known."""
    placements = lift(problem, instance, assignment.pool, assignment.offset)
    cost = assignment.score[0] if problem.objective == "cost" else None
    return make_plan(problem, instance, bound, placements, assignment.by, cost, order)


def make_plan(
    problem: Problem,
    instance: Instance,
    bound: Bound,
    placements: PlacementTable,
    by: str,
    cost: float | None,
    order: I64 | None = None,
) -> Plan:
    """Return a plan with placements in the problem's order; `cost` is None unless the objective is `cost`.

    The plan is optimal if the bound proves it. `order` is the canonical order of the buffers, if known.
    """
    ends = np.where(problem.buffers.size > 0, placements.offset + problem.buffers.size, 0)
    used = [int(ends[placements.pool == q].max(initial=0)) for q in range(len(problem.pools))]
    peaks, least = tuple(reversed(used)), bound.score[-len(used) :]
    least_peaks = tuple(int(end) * instance.unit for end in least)
    costs, least_costs = (() if cost is None else (cost,)), bound.score[: -len(used)]
    is_best = reaches(instance, (*costs, *peaks), (*least_costs, *least_peaks))
    total = peak_sum_bound(instance, bound) * instance.unit
    least_cost = None if cost is None else float(min(cost, *least_costs))
    goals: list[tuple[float, float | None]] = [] if cost is None else [(cost, least_cost)]
    goals += [(sum(used), total)] if len(used) == 1 and cost is None else zip(peaks, least_peaks, strict=True)
    # A pool's bound holds only if the cost and all later pools reach their bounds, as pools are compared from the last.
    n_bounded = 1 + next((k for k, mine in enumerate(peaks) if mine != least_peaks[k]), len(peaks))
    n_bounded = n_bounded if costs <= least_costs else 0
    bounds = (None,) * (len(peaks) - n_bounded) + least_peaks[:n_bounded][::-1]
    witness = bound.witness
    proved_by = tuple(problem.buffers.ids[int(instance.source[i])] for i in witness.buffers) if is_best else ()
    proof = Proof.model_construct(kind=witness.kind, time=witness.time, buffers=proved_by, by=witness.by)
    facts: dict[str, object] = {
        "status": "optimal" if is_best else "feasible",
        "peak": sum(used),
        "lower_bound": total,
        "gap": 0.0 if is_best else gap_of(goals),
        "cost": cost,
        "cost_lower_bound": least_cost,
        "pools": tuple(
            PoolUse.model_construct(name=pool.name, used=u, lower_bound=b, size=pool.size)
            for pool, u, b in zip(problem.pools, used, bounds, strict=True)
        ),
        "placements": placements,
        "shared": shared_pairs(problem, instance, placements) if problem.may_share else (),
        "bank_clashes": bank_clashes(problem, placements) if problem.bank else (),
        "reused": reused_pairs(problem, instance, placements) if problem.reuse else (),
        "solver": by,
        "proof": proof if is_best else None,
        "problem_hash": problem_hash(problem, instance, order),
        "read_with": problem.read_with,
    }
    return _EMPTY_PLAN.model_copy(update=facts)  # The verifier checks the plan later, so skip validation.


def gap_of(goals: Iterable[tuple[float, float | None]]) -> float | None:
    """Return the relative gap (excess / bound) of the first goal that is not at its bound.

    `goals` are pairs (value, bound), most important first. The result is 0 if all goals equal their bounds, and None if
    that first bound is 0 or unknown.
    """
    for value, least in goals:
        if least is None or value > least:
            return value / least - 1 if least else None
    return 0.0


def plan_without_placements(
    problem: Problem, instance: Instance, bound: Bound, because: Explanation | None = None
) -> Plan:
    """Return a plan without placements, whose explanation is `because` or else derived from the bound."""
    return Plan(
        status="unknown" if bound.nothing_fits is None else "infeasible",
        pools=tuple(PoolUse(name=pool.name, size=pool.size) for pool in problem.pools),
        explanation=because or explain(problem, instance, bound),
        problem_hash=problem_hash(problem, instance),
        read_with=problem.read_with,
        version=__version__,
    )
