"""The complete check of a plan: the rules that the verifier checks, and the problem's hash, which it ignores."""

from memplan.planner.errors import Option, PlanError, excerpt
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify import verifier
from memplan.planner.verify.violation import Violation, false_claim


def refuse_other_plan(problem: Problem, plan: Plan) -> None:
    """Raise PlanError if a plan belongs to another problem: it places no buffer, or uses no pool, of `problem`."""
    placed, pools = plan.placements.ids, {use.name: use for use in plan.pools}
    used = [plan.placements.pool_names[k] for k in sorted(set(plan.placements.pool.tolist()))]
    if used and problem.pool_index.keys().isdisjoint(used):
        sizes = {name: pools[name].size if name in pools else None for name in used}
        options = (Option("capacity", f"{name}={'SIZE' if size is None else size}") for name, size in sizes.items())
        rule = f"must use a pool of the problem ({', '.join(problem.pool_index)}), got {', '.join(used)}"
        advised = (part for each in options for part in (" ", each))
        raise PlanError((f"plan: {rule}: give the option with which the plan was made,", *advised))
    if len(placed) and problem.buffers.ids and not problem.index.keys() & set(placed):
        difference = f"{excerpt(placed[0])}, where the problem has {excerpt(problem.buffers.ids[0])}"
        way = "give the problem for which the plan was made, or plan this problem"
        raise PlanError(f"plan: must place buffers of this problem, got other buffers: {difference}; {way}")


def verify(problem: Problem, plan: Plan) -> tuple[Violation, ...]:
    """Return all violations of a plan; empty for a valid plan.

    Placements must obey the problem's rules. The plan's claims must be true: the problem's hash, peak, used bytes, gap,
    cost, shared offsets and bank clashes, the status, and the lower bound as far as the buffers named in its proof
    imply it. Proofs by search or by engines are not repeated. At most 1,000 violations of each kind are listed.
    """
    violations = verifier.verify(problem, plan)
    if plan.problem_hash is None or plan.problem_hash == (truth := problem_hash(problem)):
        return violations
    return *violations, false_claim("problem_hash", f"{truth}, that of the problem", plan.problem_hash)
