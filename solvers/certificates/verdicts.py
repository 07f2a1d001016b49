"""Checks of a plan's claims: each claim is listed with its evidence (placements, a witness or a certificate)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isclose
from typing import Any, Literal

from memplan.checkers import check as checker
from memplan.planner.errors import excerpt
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.intervals import Interval
from memplan.planner.model.plan import CertificateFacts, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.cost_bounds import cost_bound
from memplan.planner.verify.live_bounds import live_bounds
from memplan.planner.verify.violation import Violation, false_claim
from memplan.solvers.certificates.certify import Certificate
from memplan.solvers.certificates.goals import kind_of, problem_for_claim, used_of

_CHECKER: Any = checker
"""The checker module, typed as Any: it has no annotations, because people without memplan read its code."""
By = Literal["placements", "witness", "certificate"]
MADE = ("stop_reason", "solver", "reproducible", "disturbed_by", "options", "wall_time_s", "version", "findings")
"""The fields of a plan that describe the run that made it."""
_BY_PLACEMENTS = ("peak", "cost", "shared", "bank_clashes", "problem_hash")
_WORDS_OF_COST = {"used": 0, "infeasible": 0, "price": 1}
"""For each kind of claim, the number of words with the cost (2, a fraction, by default); pool uses follow."""
_MOST_LIFETIMES = 4_000
"""The limit of lifetimes up to which the verifier checks cliques and bounds on costs."""


@dataclass(frozen=True)
class ProofText:
    """A certificate's text and, if available, the text of the problem file that it was written for."""

    text: str
    problem: str | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class CheckerVerdict:
    """The checker's verdict on a certificate: the proved claim, or the reason for the refusal.

    `kind`, `cost` and `used` describe the proved claim. In `used`, None marks a pool without a claim.
    """

    sentence: str
    kind: str | None = None
    cost: Fraction | None = None
    used: tuple[int | None, ...] = ()
    lemmas: int = 0


def checker_verdict(problem: Problem, proof: ProofText) -> CheckerVerdict:
    """Return the checker's verdict on a certificate for a problem.

    The checker reads the original problem file, if it is known, and then memplan's own text of the problem. If it
    refuses the certificate with both texts, the verdict states the reason of the last refusal.
    """
    pools = [(pool.size, pool.base_address) for pool in problem.pools]
    lines = proof.text.split("\n")
    ending = "refused: it must end with a line break, as certify writes it"
    texts = [(proof.problem, proof.interval)] if proof.problem is not None else []
    for text, interval in [*texts, (write_problem(problem).decode(), None)] if lines.pop() == "" else []:
        try:
            ending = _CHECKER.check(text, lines, pools, interval)
        except _CHECKER.Refused as why:
            ending = f"refused: {why}"
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as why:
            ending = f"refused: {why!r}"
        else:
            kind, *words = lines[2].split(" ")
            n_of_cost = _WORDS_OF_COST.get(kind, 2)
            cost = Fraction(*map(int, words[:n_of_cost])) if n_of_cost else None
            used = tuple(None if word == "-" else int(word) for word in words[n_of_cost:])
            return CheckerVerdict(ending, kind, cost, used, sum(line[0] in "ls" and line[1] == " " for line in lines))
    return CheckerVerdict(ending)


def verdict_beside_plan(problem: Problem, plan: Plan, proved: CheckerVerdict) -> CheckerVerdict:
    """Return the checker's verdict, or a refusal if the valid plan has less than what the certificate claims of all."""
    if proved.kind is None or not len(plan.placements):
        return proved
    columns = zip(used_of(problem, plan), proved.used, problem.pools, strict=False)
    goals: list[tuple[float, float | None, str]] = [
        (mine, least, f"bytes of {excerpt(pool.name)}") for mine, least, pool in columns
    ]
    goals.reverse()
    if proved.cost is not None:
        # A bound on the price bounds the cost, as other costs are at least 0. A cost depends on the profile.
        is_of_plan = plan.cost is not None and proved.kind in (kind_of(problem, plan), "price")
        cost = plan.cost or 0.0, float(proved.cost) if is_of_plan else None, "cost"
        goals.insert(int(proved.kind == "balanced"), cost)
    # A claim on a goal holds only among the plans that are equal in all earlier goals.
    first = (row for row in goals if row[1] is None or not isclose(row[0], row[1], rel_tol=1e-9))
    mine, least, name = next(first, (0, None, ""))
    if proved.kind == "infeasible":
        claim = "that no plan exists"
    elif least is not None and mine < least:
        claim = f"that every plan has at least {least:,.15g} ({name}), and this one has {mine:,.15g}"
    else:
        return proved
    return CheckerVerdict(f"refused: it claims {claim}; as the plan is valid, the proof is at fault, not the plan")


def contradictions(plan: Plan, proof: ProofText, proved: CheckerVerdict) -> Iterator[Violation]:
    """Yield a violation for each fact about the certificate that the plan states wrongly."""
    facts = _certificate_facts(plan)
    if facts is None:
        return
    certified = Certificate("lemmas", proof.text, proved.lemmas).facts()
    for name in ("format", "bytes", "sha256", *(("lemmas",) if proved.kind else ())):
        claim, truth = getattr(facts, name), getattr(certified, name)
        if claim is not None and claim != truth:
            yield false_claim(f"certificate.{name}", f"{truth}, that of the certificate", claim)


def _certificate_facts(plan: Plan) -> CertificateFacts | None:
    """Return the certificate facts in the plan's proof or explanation, or None."""
    part = plan.proof or plan.explanation
    return None if part is None else part.certificate


def recounted_cost(problem: Problem, plan: Plan, is_over: Callable[[], bool]) -> float | None:
    """Return the verifier's own lower bound on the cost of every plan, to check the bound that the plan claims.

    The computation does not use the search that made the claim, and stops once the claimed bound is reached. Returns
    None if the plan claims no such bound, if the claim holds only among plans of equal peak, or if the problem has more
    than `_MOST_LIFETIMES` lifetimes.
    """
    kind, claim = kind_of(problem, plan), plan.cost_lower_bound
    if not claim or kind not in ("cost", "speed") or len(problem.buffers.start) > _MOST_LIFETIMES:
        return None
    return float(cost_bound(problem_for_claim(problem, kind), claim, is_over))


def claim_checks(
    problem: Problem, plan: Plan, proof: ProofText | None, proved: CheckerVerdict | None, recounted: float | None = None
) -> dict[str, By | None]:
    """Return the evidence that proves each claim of a valid plan, by field name; None for an unchecked claim.

    `recounted` is the verifier's own lower bound on the cost, if it was computed.
    """
    makers: dict[str, By | None] = {}
    witness, by_certificate = _status_witness(problem, plan), _certified_claims(problem, plan, proved)
    counted = _witnessed_bounds(problem, plan)
    # A valid plan is feasible and status "unknown" claims nothing, so only the other statuses need evidence.
    if plan.status in ("optimal", "infeasible"):
        makers["status"] = by_certificate.get("status", witness or counted.get("status"))
    makers |= {name: "placements" for name in _BY_PLACEMENTS if getattr(plan, name)}
    if plan.peak is not None:
        makers["peak"] = "placements"
    # The live bytes of an infeasible problem exceed its pool, so they do not bound the peak of a plan.
    bound = by_certificate.get("lower_bound", None if plan.status == "infeasible" else witness or counted.get(""))
    if plan.lower_bound is not None:
        makers["lower_bound"] = "placements" if plan.lower_bound <= 0 else bound
    if plan.cost_lower_bound is not None:
        own: By | None = "witness" if recounted is not None and recounted >= plan.cost_lower_bound else None
        makers["cost_lower_bound"] = "placements" if plan.cost_lower_bound <= 0 else by_certificate.get("cost", own)
    if plan.gap is not None:
        makers["gap"] = makers.get("status") if plan.status == "optimal" else makers.get("lower_bound", None)
        if plan.cost_lower_bound is not None and plan.status != "optimal":
            makers["gap"] = makers["gap"] and makers["cost_lower_bound"]
    for k, pool in enumerate(plan.pools):
        makers |= {f"pools[{k}].used": "placements"} if pool.used is not None else {}
        if pool.lower_bound is not None:
            alone = bound if len(problem.pools) == 1 else by_certificate.get(pool.name, counted.get(pool.name))
            makers[f"pools[{k}].lower_bound"] = "placements" if pool.lower_bound <= 0 else alone
    if plan.profile is not None:
        makers["profile"] = by_certificate.get("status")
    if plan.proof is not None:
        makers |= {"proof": witness} | ({"proof.by": None} if plan.proof.by is not None else {})
    makers |= _explanation_checks(plan, witness)
    if _certificate_facts(plan) is not None:
        makers["certificate"] = "certificate" if proof is not None and proved is not None and proved.kind else None
    makers |= {name: None for name in ("kept", "weighted", "cost_limit") if getattr(plan, name) is not None}
    return makers | {name: None for name in MADE if getattr(plan, name) not in (None, ())}


def _witnessed_bounds(problem: Problem, plan: Plan) -> dict[str, By]:
    """Return the plan's bounds that the recomputed live bytes prove.

    The result maps the name of each bounded pool to "witness". The key "" is the bound on the total of all pools. The
    key "status" is present if these bounds also prove the plan optimal.
    """
    if len(problem.pools) == 1 or not len(plan.placements) or plan.weighted is not None or plan.cost_limit is not None:
        return {}  # Live bytes do not bound all plans of such a problem.
    least, in_all = live_bounds(problem, plan)
    makers: dict[str, By] = {
        use.name: "witness" for use, bound in zip(plan.pools, least, strict=False) if (use.lower_bound or 0) <= bound
    }
    if plan.lower_bound is not None and plan.lower_bound <= in_all:
        makers[""] = "witness"
    if plan.cost is None and [use.used for use in plan.pools] == least:
        makers["status"] = "witness"
    return makers


def _explanation_checks(plan: Plan, witness: By | None) -> dict[str, By | None]:
    """Return the evidence for each field of a plan's explanation: `witness` for pool, time and buffers, else None."""
    why = plan.explanation
    if why is None:
        return {}
    plain = ("pool", "time", "buffers")
    fields = {name for name in type(why).model_fields if getattr(why, name) not in (None, ())} - {"certificate"}
    return {f"explanation.{name}": witness if name in plain else None for name in sorted(fields)}


def _status_witness(problem: Problem, plan: Plan) -> By | None:
    """Return "witness" if buffers that the verifier can check again prove the plan's status, or else None."""
    if len(problem.pools) > 1 or problem.objective == "cost":
        return None
    if plan.status == "infeasible":
        why = plan.explanation
        is_small = why is not None and (why.time is not None or len(problem.buffers.start) <= _MOST_LIFETIMES)
        return "witness" if why is not None and why.missing_bytes is not None and is_small else None
    if plan.proof is None or plan.lower_bound is None or plan.proof.kind in ("search", "engines"):
        return None
    is_small = plan.proof.kind != "clique" or len(problem.buffers.start) <= _MOST_LIFETIMES
    return "witness" if is_small else None


def _certified_claims(problem: Problem, plan: Plan, proved: CheckerVerdict | None) -> dict[str, By]:
    """Return the plan's claims that a certificate proves, each mapped to "certificate".

    The keys are "status", "lower_bound", "cost" and, for bounds on single pools, the names of the pools.
    """
    if proved is None or proved.kind is None:
        return {}
    if plan.status == "infeasible" or proved.kind == "infeasible":
        return {"status": "certificate"} if plan.status == proved.kind == "infeasible" else {}
    if plan.weighted is not None or plan.cost_limit is not None:
        return {}  # Certificates cannot state weights or cost limits, so they prove none of these claims.
    makers: dict[str, By] = {}
    truth = used_of(problem, plan)
    is_cost_right = proved.cost is None
    if proved.cost is not None and plan.cost is not None:
        is_cost_right = isclose(float(proved.cost), plan.cost, rel_tol=1e-9)
        is_bounded = plan.cost_lower_bound is not None and plan.cost_lower_bound <= float(proved.cost) * (1 + 1e-9)
        # Other costs are at least 0, so a bound on the price also bounds the cost.
        kinds = {proved.kind} | ({"cost"} if proved.kind == "price" else set())
        if is_bounded and kind_of(problem, plan) in kinds:
            makers["cost"] = "certificate"
    is_same = proved.kind == kind_of(problem, plan) and is_cost_right
    if proved.kind == "moves":
        return makers | ({"status": "certificate"} if is_same else {})
    names = [pool.name for pool in problem.pools]
    bounds = {pool.name: pool.lower_bound for pool in plan.pools}
    # A pool's minimum holds only among plans that are equal in all earlier goals, so stop at the first difference.
    for name, least, mine in reversed(list(zip(names, proved.used, truth, strict=True))) if is_same else ():
        if least != mine:
            return makers
        if (bounds.get(name) or 0) <= mine:
            makers[name] = "certificate"
    if is_same and len(proved.used) == len(truth):
        makers["status"] = "certificate"
        # Without costs, the last pool is the first goal, so its proved use is a lower bound for all plans.
        if proved.kind in ("used", "balanced") and (plan.lower_bound or 0) <= truth[-1]:
            makers["lower_bound"] = "certificate"
    return makers
