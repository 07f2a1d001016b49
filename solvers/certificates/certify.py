"""Certificates: texts that prove a plan optimal or a problem infeasible. They can be checked without memplan.

A proof consists of sets of conflicting buffers and of lemmas. A lemma states that certain buffers do not fit above
certain offsets. If a problem has one pool, the certificate of an optimal plan with peak U proves that no plan ends
below U. If it has several pools, there is one claim per pool, from the last pool to the first: no plan lowers the end
of this pool while the later pools end as in the plan. The certificate of an infeasible problem proves that no plan fits
the pools. `checkers/check.py`, which imports nothing of memplan, checks certificates.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import Any, Literal

from memplan.checkers import check as checker
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.extensions import Hook
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import CONSTRAINTS, Instance
from memplan.planner.model.plan import CertificateFacts, Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.goals import Goal, Prices, goals_of, kind_of, problem_for_claim, used_of
from memplan.solvers.certificates.least_cost import CostProof
from memplan.solvers.certificates.lemma_search import LemmaSearch
from memplan.solvers.certificates.simple import simple_claim
from memplan.solvers.certificates.text import FORMAT, ClaimText, rows_and_obstacles
from memplan.solvers.core.lemmas import EXHAUSTED, FAR, STOPPED, TOO_LARGE
from memplan.solvers.search.control import Control

_price_lines: Hook[[Instance, int, Control], list[str] | None] = Hook("price-lines")
_is_narrow: Hook[[Instance], bool] = Hook("is-narrow")
_CHECKER: Any = checker
"""The checker module, typed as Any: it has no annotations, because people without memplan read its code."""
NEEDED = "the proof needs rules that certificates leave out"
COARSE = "no multipliers were found that bring the bound up to the cost"
_LEFT_OUT = CONSTRAINTS.keys() - {"pages", "bank-weights", "reuse", "together"} | {"ranges"}
"""The instance features that certificates ignore. `together` is not among them, as it concerns several pools only."""
MOST_BUFFERS = 4_000
"""The limit of mutually dependent buffers in a lemma search, which lists all their conflicts; see lemma_proof.hpp."""
_CHUNK = 20_000
TIME_LIMIT_S = 10.0


def proved_claim(
    problem: Problem, instance: Instance, plan: Plan, goal: Goal, prices: Prices | None, control: Control
) -> ClaimText | str:
    """Return certificate lines that state and prove one goal of a plan.

    If no proof is found, return a sentence with the reason. `prices` (the costs as integers) are needed only for goals
    that concern costs.
    """
    simple = simple_claim(problem, instance, plan, goal.ends)
    # If pinned buffers block every legal place of a buffer, the proof needs these pinned buffers too, so add them.
    if simple is not None and simple.lines[0].startswith("end !"):
        simple = replace(simple, buffers=rows_and_obstacles(instance, simple.buffers))
    if simple is not None or prices is None or goal.excess is None:
        return simple or _lemma_claim(problem, instance, goal.ends, control, has_cost=goal.is_tied)
    return _multiplier_claim(problem, instance, replace(prices, least=prices.least + goal.excess), goal.ends, control)


def _lemma_claim(
    problem: Problem, instance: Instance, ends: Sequence[int], control: Control, *, has_cost: bool
) -> ClaimText | str:
    """Return a proof by lemmas that no plan ends at or below `ends` (bytes per pool), or a sentence on why it failed.

    With `has_cost`, the claim concerns only plans up to a certain cost. Lemmas ignore the rules on the costs of pairs,
    so the sentence then names these rules too.
    """
    if not instance.is_small_numbered:
        return "the sizes add up to more than the lemma search can hold"
    search = LemmaSearch(instance, tuple(ends))
    with control.flag() as flag:
        while search.run(_CHUNK, flag) == STOPPED:
            if control.is_over:
                return "no lemmas were found in time"
    if search.outcome == TOO_LARGE:
        return f"more than {MOST_BUFFERS} buffers depend on each other"
    return (
        _exhausted_claim(search, tuple(ends))
        if search.outcome == EXHAUSTED
        else _failure_reason(problem, instance, has_cost)
    )


def _multiplier_claim(
    problem: Problem, instance: Instance, prices: Prices, ends: tuple[int, ...], control: Control
) -> ClaimText | str:
    """Return a multiplier proof that no plan within `ends` costs less than claimed, or a sentence on why it failed."""
    pools = [(pool.size, None) for pool in problem.pools]
    try:
        known_claim = _CHECKER.Claim(_CHECKER.Problem(write_problem(problem).decode(), pools), ends)
    except ValueError:  # The checker cannot read the problem, so it could not check a proof.
        return _failure_reason(problem, instance)
    first = [tuple(min(int(low), FAR) for low in known_claim.least_offsets(row)) for row in instance.source.tolist()]
    with control.flag() as flag:
        search = CostProof(instance, prices, ends, first, lambda: control.is_over, flag)
        claim = None if search.is_no_question_of_cost else search.claim()
    if search.is_no_question_of_cost:
        return _lemma_claim(problem, instance, ends, control, has_cost=True)
    if claim is not None:
        return claim
    if control.is_over:
        return "no lemmas were found in time"
    return _failure_reason(problem, instance, has_cost=True) if search.has_cheaper else COARSE


def _exhausted_claim(search: LemmaSearch, ends: tuple[int, ...]) -> ClaimText:
    instance, proof = search.instance, search.lines()
    named = rows_and_obstacles(instance, instance.source[sorted(proof.need)].tolist())
    return ClaimText(ends, (*proof.sets, *proof.lemmas, f"end {proof.ref}"), len(proof.lemmas), named)


def _failure_reason(problem: Problem, instance: Instance, has_cost: bool = False) -> str:
    """Return a sentence that says why a completed lemma search, which found places for all buffers, proves nothing.

    Certificates ignore some rules, and the places that were found may violate them; the sentence names the problem's
    ignored rules. With `has_cost`, it also names the rules on costs of pairs. If the problem has no such rule, the
    sentence says that the plan's claim is false.
    """
    of_pairs = instance.features & {"reuse", "bank-weights"} if has_cost else frozenset()
    rules = ", ".join(sorted(ignored_rules(problem, instance) | of_pairs))
    return f"{NEEDED}: {rules}" if rules else "the plan's claim is false: there are better plans"


def ignored_rules(problem: Problem, instance: Instance) -> set[str]:
    """Return the names of the problem's rules that certificates ignore."""
    features = set(instance.features & _LEFT_OUT)
    if any(not problem.buffers.size[i] for i in instance.unplaceable):
        features.add("places of zero-size buffers")
    # An instance omits a limit of offsets without effect, but checkers refuse the field, so look at the problem.
    features |= {name for name in ("end_at_most", "start_at_least") if problem.buffers.rules[name]}
    return features | {"together"} if problem.together else features


@dataclass(frozen=True)
class Certificate:
    """A text that proves a plan's claims, or the reason why there is no such text.

    `kind` is "live-set" for a proof by conflict sets alone, "lemmas" for a proof with lemmas, "multipliers" for a proof
    of a cost by Lagrange multipliers alone, and "none" without a proof. `buffers` are the ids of the buffers that the
    proof needs; the claims hold even without the other buffers. `left_open` names the unproved claims and the reason.
    """

    kind: Literal["live-set", "lemmas", "multipliers", "none"]
    text: str = ""
    lemmas: int = 0
    buffers: tuple[int | str, ...] = ()
    reason: str | None = None
    left_open: str | None = None

    def facts(self, file: str | None = None) -> CertificateFacts:
        """Return the facts on this certificate (format, size, hash, number of lemmas) that a plan records.

        `file` is the path of the file with the certificate, if it was written. Without a proof, the only fact is the
        reason.
        """
        data = self.text.encode()
        if self.kind == "none":
            return CertificateFacts(reason=self.reason)
        digest = hashlib.sha256(data).hexdigest()
        facts = CertificateFacts(format=FORMAT, lemmas=self.lemmas, bytes=len(data), sha256=digest, file=file)
        return facts if self.left_open is None else facts.model_copy(update={"left_open": self.left_open})


def certify(
    problem: Problem, plan: Plan, *, time_limit_s: float = TIME_LIMIT_S, cancelled: threading.Event | None = None
) -> Certificate:
    """Return a certificate, accepted by the independent checker, that a plan is optimal or its problem infeasible.

    The plan must be valid. If no certificate exists or none is found in time, `kind` is "none" and `reason` is a
    sentence that explains it. Raises OptionError if `time_limit_s` is not positive and finite.
    """
    if not 0 < time_limit_s < float("inf"):
        raise OptionError(f"time_limit_s: must be above 0 and finite, got {time_limit_s}")
    if plan.status not in ("optimal", "infeasible"):
        return Certificate("none", reason=f"the plan is {plan.status}, which claims no proof")
    if plan.weighted is not None or plan.cost_limit is not None:
        what = "weighted sums of pools" if plan.weighted is not None else "a bound on slowdown"
        return Certificate("none", reason=f"certificates cannot state {what}")
    kind, control = kind_of(problem, plan), Control.from_limit(time_limit_s, cancelled=cancelled)
    if kind == "cost" and problem.reuse and not any(pool.cost for pool in problem.pools):
        return _price_certificate(problem, plan, control)
    wanted = problem_for_claim(problem, kind)
    instance = compile_problem(wanted)
    prices = None if kind in ("infeasible", "used") else _prices_of_plan(wanted, instance, plan)
    if isinstance(prices, str):
        return Certificate("none", reason=prices)
    claims: list[ClaimText] = []
    ends = [] if kind == "infeasible" else [*map(str, used_of(problem, plan))]
    open_goals: str | None = None
    for goal in goals_of(problem, plan, kind):
        claim = proved_claim(wanted, instance, plan, goal, prices, control)
        if isinstance(claim, str) and goal.is_tied and goal.pool is not None:
            # Unproved tie-breaks do not affect the proved cost, so omit their goals and keep the earlier claims.
            ends[: goal.pool + 1] = ["-"] * (goal.pool + 1)
            pools = ", ".join(f"pool {excerpt(pool.name)}" for pool in problem.pools[: goal.pool + 1])
            open_goals = f"the use of {pools} among plans of equal cost: {claim}"
            break
        if isinstance(claim, str):
            return Certificate("none", reason=claim)
        claims.append(claim)
    head = [kind] if prices is None else [kind, str(prices.least), str(prices.parts)]
    certificate = _checked_certificate(problem, instance, " ".join([*head, *ends]), claims)
    return replace(certificate, left_open=open_goals) if certificate.kind != "none" else certificate


def _price_certificate(problem: Problem, plan: Plan, control: Control) -> Certificate:
    """Return a certificate that no plan pays a lower total price for shared bytes than the given plan.

    The proof consists of cliques of conflicting buffers in each independent part of the problem. Without a proof, the
    certificate's kind is "none" and it has a reason.
    """
    if not _price_lines.is_there:
        return Certificate("none", reason=f"{NEEDED}: no installed search proves prices")
    instance = compile_problem(problem)
    if "bank-weights" in instance.features and plan.cost:
        return Certificate("none", reason=f"{NEEDED}: banks together with reuse")
    lines = _price_lines(instance, int(plan.cost or 0), control)
    if lines is None:
        return Certificate("none", reason="no cliques were found that bring the bound up to the cost")
    found = _checked_certificate(problem, instance, f"price {int(plan.cost or 0)}", [], lines)
    if found.kind == "none" and _is_narrow(instance):
        return Certificate("none", reason="the price follows from pins or limits of offsets, not from cliques alone")
    return found


def _prices_of_plan(problem: Problem, instance: Instance, plan: Plan) -> Prices | str:
    """Return a plan's cost and all prices as integers, or a sentence on why certificates cannot state them."""
    if len(instance) > MOST_BUFFERS or not instance.is_small_numbered:
        return "the sizes or the number of buffers are more than the lemma search can hold"
    homes = {row.id: problem.pool_index[row.pool] for row in plan.placements}
    ids = problem.buffers.ids
    prices = Prices.from_instance(problem, instance, [homes[ids[row]] for row in instance.source.tolist()])
    # `Prices` leaves out the costs of buffer pairs, so if the plan's cost differs, return that no proof is possible.
    if plan.cost is None or not isclose(prices.least / prices.parts, plan.cost, rel_tol=1e-9):
        return f"{NEEDED}: {'reuse together with costs of pools' if problem.reuse else 'banks'}"
    return prices


def _checked_certificate(
    problem: Problem, instance: Instance, said: str, claims: Sequence[ClaimText], more: Sequence[str] = ()
) -> Certificate:
    """Return a certificate of the claims if the checker accepts it, or else one of kind "none" that states the reason.

    `said` is the line that summarizes all claims. The lines `more` are appended at the end.
    """
    text = (
        "\n".join([*header_lines(problem), said, *(line for claim in claims for line in claim.write()), *more]) + "\n"
    )
    ids = problem.buffers.ids
    lemmas = sum(claim.lemmas for claim in claims)
    buffers = tuple(ids[i] for i in sorted({i for claim in claims for i in claim.buffers}))
    try:
        # Users should not need to trust memplan, so a checker independent of memplan must accept the certificate.
        _CHECKER.check(write_problem(problem).decode(), text.splitlines())
    # The checker raises ValueError for unreadable fields, so treat that as a refusal.
    except (_CHECKER.Refused, ValueError) as refused:
        if rules := ignored_rules(problem, instance):
            return Certificate("none", reason=f"{NEEDED}: {', '.join(sorted(rules))}")
        return Certificate("none", reason=f"the checker refuses the proof that was found: {refused}")
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
    """Return the ids of a few buffers that alone do not fit the pools, or None if no proof was found in time.

    The proof is a set of conflicting buffers that exceeds its pools, or a sequence of lemmas about these buffers.

    Parameters
    ----------
    problem : Problem
        A problem for which there is no plan.
    time_limit_s : float
        The time limit of the search for a proof, in seconds.
    cancelled : threading.Event, optional
        An event that ends the search when it is set.

    Returns
    -------
    tuple of int or str, or None
        The ids of the buffers.
    """
    certificate = certify(problem, Plan(status="infeasible"), time_limit_s=time_limit_s, cancelled=cancelled)
    return certificate.buffers if certificate.kind != "none" else None


def add_certificate(plan: Plan, certificate: Certificate, file: str | None = None) -> Plan:
    """Return the plan with the facts about its certificate added to its proof or explanation."""
    facts = {"certificate": certificate.facts(file)}
    if plan.proof is not None:
        return plan.model_copy(update={"proof": plan.proof.model_copy(update=facts)})
    if plan.explanation is not None:
        return plan.model_copy(update={"explanation": plan.explanation.model_copy(update=facts)})
    return plan


def header_lines(problem: Problem) -> Iterator[str]:
    """Yield the first lines of a certificate: its format, and the sizes of the pools."""
    yield FORMAT
    yield " ".join(["sizes", *("-" if pool.size is None else str(pool.size) for pool in problem.pools)])
