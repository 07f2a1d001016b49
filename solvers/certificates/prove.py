"""The proof of one claim: a set or a buffer alone, lemmas, or multipliers; or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from memplan.checkers import check as checker
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.instance.instance import CONSTRAINTS, Instance
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.goals import Goal, Prices
from memplan.solvers.certificates.least_cost import CostProof
from memplan.solvers.certificates.lemma_search import LemmaSearch
from memplan.solvers.certificates.simple import simple_claim
from memplan.solvers.certificates.text import ClaimText, with_pinned
from memplan.solvers.core.lemmas import EXHAUSTED, FAR, STOPPED, TOO_LARGE
from memplan.solvers.search.control import Control

_CHECKER: Any = checker
"""It has no types: it is for people without memplan."""
NEEDED = "the proof needs rules that certificates leave out"
COARSE = "no multipliers were found that bring the bound up to the cost"
_LEFT_OUT = CONSTRAINTS.keys() - {"pages", "bank-weights", "reuse", "together"} | {"ranges"}
"""The features that certificates leave out; what an instance says of `together` is about several pools."""
MOST_BUFFERS = 4_000
"""The most buffers of a lemma search that depend on each other: it lists the pairs that conflict; lemma_proof.hpp."""
_CHUNK = 20_000


def prove(
    problem: Problem, instance: Instance, plan: Plan, goal: Goal, prices: Prices | None, control: Control
) -> ClaimText | str:
    """Return a claim with its proof, or the reason why there is none."""
    simple = simple_claim(problem, instance, plan, goal.ends)
    # A buffer without a place is one because pinned ones are in its way: without these the claim may not hold.
    if simple is not None and simple.lines[0].startswith("end !"):
        simple = replace(simple, buffers=with_pinned(instance, simple.buffers))
    if simple is not None or prices is None or goal.excess is None:
        return simple or _by_lemmas(problem, instance, goal.ends, control)
    return _by_multipliers(problem, instance, replace(prices, least=prices.least + goal.excess), goal.ends, control)


def _by_lemmas(problem: Problem, instance: Instance, ends: Sequence[int], control: Control) -> ClaimText | str:
    """Return the claim as lemmas prove it, or the reason why there are none."""
    if not instance.is_small_numbered:
        return "the sizes add up to more than the lemma search can hold"
    search = LemmaSearch(instance, tuple(ends))
    with control.flag() as flag:
        while search.run(_CHUNK, flag) == STOPPED:
            if control.is_over:
                return "no lemmas were found in time"
    if search.outcome == TOO_LARGE:
        return f"more than {MOST_BUFFERS} buffers depend on each other"
    return _claim_of(search, tuple(ends)) if search.outcome == EXHAUSTED else _refused(problem, instance)


def _by_multipliers(
    problem: Problem, instance: Instance, prices: Prices, ends: tuple[int, ...], control: Control
) -> ClaimText | str:
    """Return the claim that no plan under some capacities costs less than the prices say, or why there is none."""
    pools = [(pool.size, None) for pool in problem.pools]
    try:
        known_claim = _CHECKER.Claim(_CHECKER.Problem(write_problem(problem).decode(), pools), ends)
    except ValueError:  # a field that the checker's grammar does not have
        return _refused(problem, instance)
    first = [tuple(min(int(low), FAR) for low in known_claim.first(row)) for row in instance.source.tolist()]
    with control.flag() as flag:
        search = CostProof(instance, prices, ends, first, lambda: control.is_over, flag)
        claim = None if search.is_no_question_of_cost else search.claim()
    if search.is_no_question_of_cost:
        return _by_lemmas(problem, instance, ends, control)
    if claim is not None:
        return claim
    if control.is_over:
        return "no lemmas were found in time"
    prices_left_out = instance.features & {"reuse", "bank-weights"}
    return _refused(problem, instance, prices_left_out) if search.has_cheaper else COARSE


def _claim_of(search: LemmaSearch, ends: tuple[int, ...]) -> ClaimText:
    instance, proof = search.instance, search.lines()
    named = with_pinned(instance, instance.source[sorted(proof.need)].tolist())
    return ClaimText(ends, (*proof.sets, *proof.lemmas, f"end {proof.ref}"), len(proof.lemmas), named)


def _refused(problem: Problem, instance: Instance, more: Set[str] = frozenset()) -> str:
    """Return why a claim has no proof although the search came to its end: buffers were placed that refute it."""
    rules = ", ".join(sorted(left_out(problem, instance) | more))
    return f"{NEEDED}: {rules}" if rules else "what the plan claims is not so: there are better ones"


def left_out(problem: Problem, instance: Instance) -> set[str]:
    """Return the rules of a problem that certificates leave out."""
    features = set(instance.features & _LEFT_OUT)
    return features | {"together"} if problem.together else features
