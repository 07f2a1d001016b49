"""Certificates of plans: the claims that a plan makes of what cannot be, each proved by a set or by lemmas.

A plan of one pool with a peak of U claims that nothing ends below U. With several pools it claims that for each of
them, the last one first, with the later ones at their ends and the earlier ones at their sizes. A plan that nothing
fits claims that of the sizes. What is written is checked by `checkers/check.py`, which knows nothing of memplan.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import Any, Literal

from memplan.checkers import check as checker
from memplan.planner.errors import OptionError, shown
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.plan import CertificateFacts, Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.goals import Prices, goals_of, kind_of, priced, used_of
from memplan.solvers.certificates.prove import MOST_BUFFERS, NEEDED, left_out, prove
from memplan.solvers.certificates.text import FORMAT, ClaimText
from memplan.solvers.search.control import Control

_CHECKER: Any = checker
"""It has no types: it is for people without memplan."""
TIME_LIMIT_S = 10.0


@dataclass(frozen=True)
class Certificate:
    """A text that proves what a plan claims, or the reason why there is none.

    `kind` is "live-set" where sets alone prove it, "lemmas" where lemmas do, "multipliers" where these alone prove a
    cost, and "none". `buffers` are the ids that the proof needs: the others may be left out of the problem. `left_open`
    is what the plan claims beyond that, and why it is not proved.
    """

    kind: Literal["live-set", "lemmas", "multipliers", "none"]
    text: str = ""
    lemmas: int = 0
    buffers: tuple[int | str, ...] = ()
    reason: str | None = None
    left_open: str | None = None

    def facts(self, file: str | None = None) -> CertificateFacts:
        """Return what a plan says of it; `file` is where it was written."""
        data = self.text.encode()
        if self.kind == "none":
            return CertificateFacts(reason=self.reason)
        digest = hashlib.sha256(data).hexdigest()
        facts = CertificateFacts(format=FORMAT, lemmas=self.lemmas, bytes=len(data), sha256=digest, file=file)
        return facts if self.left_open is None else facts.model_copy(update={"left_open": self.left_open})


def certify(
    problem: Problem,
    plan: Plan,
    *,
    time_limit_s: float = TIME_LIMIT_S,
    cancelled: threading.Event | None = None,
) -> Certificate:
    """Write a certificate of a plan that is optimal, or that nothing fits, and check it.

    The plan is believed to be valid. Where no certificate is found in time, or none is possible, its `reason` says so.
    Raises OptionError for a time limit that is not above 0.
    """
    if not 0 < time_limit_s < float("inf"):
        raise OptionError(f"time_limit_s: must be above 0 and finite, got {time_limit_s}")
    if plan.status not in ("optimal", "infeasible"):
        return Certificate("none", reason=f"the plan is {plan.status}, which claims no proof")
    if plan.weighted is not None or plan.cost_limit is not None:
        what = "weighted sums of pools" if plan.weighted is not None else "a bound on slowdown"
        return Certificate("none", reason=f"certificates do not say {what}")
    kind, control = kind_of(problem, plan), Control.of(time_limit_s, cancelled=cancelled)
    if kind == "cost" and problem.reuse and not any(pool.cost for pool in problem.pools):
        return _of_price(problem, plan, control)
    wanted = priced(problem, kind)
    instance = compile_problem(wanted)
    prices = None if kind in ("infeasible", "used") else _prices(wanted, instance, plan)
    if isinstance(prices, str):
        return Certificate("none", reason=prices)
    claims: list[ClaimText] = []
    ends = [] if kind == "infeasible" else [*map(str, used_of(problem, plan))]
    open_goals: str | None = None
    for goal in goals_of(problem, plan, kind):
        claim = prove(wanted, instance, plan, goal, prices, control)
        if isinstance(claim, str) and goal.is_tied and goal.pool is not None:
            # What decides between plans of equal cost is left out, with all that is compared after it.
            ends[: goal.pool + 1] = ["-"] * (goal.pool + 1)
            pools = ", ".join(f"pool {shown(pool.name)}" for pool in problem.pools[: goal.pool + 1])
            open_goals = f"the use of {pools} among plans of equal cost: {claim}"
            break
        if isinstance(claim, str):
            return Certificate("none", reason=claim)
        claims.append(claim)
    head = [kind] if prices is None else [kind, str(prices.least), str(prices.parts)]
    certificate = _checked(problem, instance, " ".join([*head, *ends]), claims)
    return replace(certificate, left_open=open_goals) if certificate.kind != "none" else certificate


def _of_price(problem: Problem, plan: Plan, control: Control) -> Certificate:
    """Return the certificate of the price of shared bytes: by cliques, piece by piece."""
    # Imported here: few problems have prices of pairs.
    from memplan.solvers.prices.proofs import price_lines

    instance = compile_problem(problem)
    if "bank-weights" in instance.features and plan.cost:
        return Certificate("none", reason=f"{NEEDED}: banks beside reuse")
    lines = price_lines(instance, int(plan.cost or 0), control)
    if lines is None:
        return Certificate("none", reason="no cliques were found that bring the bound up to the cost")
    return _checked(problem, instance, f"price {int(plan.cost or 0)}", [], lines)


def _prices(problem: Problem, instance: Instance, plan: Plan) -> Prices | str:
    """Return the prices and the cost of a plan, or the reason why certificates cannot say it."""
    if len(instance) > MOST_BUFFERS or not instance.is_small_numbered:
        return "the sizes or the number of buffers are more than the lemma search can hold"
    homes = {row.id: problem.pool_index[row.pool] for row in plan.placements}
    ids = problem.buffers.ids
    prices = Prices.of(problem, instance, [homes[ids[row]] for row in instance.source.tolist()])
    # What pairs pay is in no price.
    if plan.cost is None or not isclose(prices.least / prices.parts, plan.cost, rel_tol=1e-9):
        return f"{NEEDED}: {'reuse beside costs of pools' if problem.reuse else 'banks'}"
    return prices


def _checked(
    problem: Problem, instance: Instance, said: str, claims: Sequence[ClaimText], more: Sequence[str] = ()
) -> Certificate:
    """Return the certificate of some claims, if the checker takes it."""
    text = "\n".join([*_head(problem), said, *(line for claim in claims for line in claim.write()), *more]) + "\n"
    ids = problem.buffers.ids
    lemmas = sum(claim.lemmas for claim in claims)
    buffers = tuple(ids[i] for i in sorted({i for claim in claims for i in claim.buffers}))
    try:
        # Nothing leaves that the checker for people without memplan does not accept.
        _CHECKER.check(write_problem(problem).decode(), text.splitlines())
    except (_CHECKER.Refused, ValueError) as refused:  # a ValueError: a field that the checker's grammar does not have
        if rules := left_out(problem, instance):
            return Certificate("none", reason=f"{NEEDED}: {', '.join(sorted(rules))}")
        return Certificate("none", reason=f"the checker does not accept what was found: {refused}")
    return Certificate(
        "lemmas"
        if lemmas
        else "multipliers"
        if said.split()[0] in ("price", "cost", "speed", "balanced")
        else "live-set",
        text,
        lemmas,
        buffers,
    )


def infeasible_core(
    problem: Problem, *, time_limit_s: float = TIME_LIMIT_S, cancelled: threading.Event | None = None
) -> tuple[int | str, ...] | None:
    """Return the ids of few buffers that alone do not fit the pools, or None where no proof of that was found.

    They are those that the last lemma names, or a set that is too long; the others may be taken out of the problem.

    Parameters
    ----------
    problem : Problem
        A problem for which there is no plan.
    time_limit_s : float
        The seconds until the answer.
    cancelled : threading.Event, optional
        Ends the search for a proof when it is set.

    Returns
    -------
    tuple of int or str, or None
        Ids of buffers.
    """
    certificate = certify(problem, Plan(status="infeasible"), time_limit_s=time_limit_s, cancelled=cancelled)
    return certificate.buffers if certificate.kind != "none" else None


def with_certificate(plan: Plan, certificate: Certificate, file: str | None = None) -> Plan:
    """Return the plan with what there is to say of its certificate: in its proof, or in its explanation."""
    facts = {"certificate": certificate.facts(file)}
    if plan.proof is not None:
        return plan.model_copy(update={"proof": plan.proof.model_copy(update=facts)})
    if plan.explanation is not None:
        return plan.model_copy(update={"explanation": plan.explanation.model_copy(update=facts)})
    return plan


def _head(problem: Problem) -> Iterator[str]:
    yield FORMAT
    yield " ".join(["sizes", *("-" if pool.size is None else str(pool.size) for pool in problem.pools)])
