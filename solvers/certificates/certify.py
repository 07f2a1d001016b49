"""Certificates of plans: the claims that a plan makes of what cannot be, each proved by a set or by lemmas.

A plan of one pool with a peak of U claims that nothing ends below U. With several pools it claims that for each of
them, the last one first, with the later ones at their ends and the earlier ones at their sizes. A plan that nothing
fits claims that of the sizes. What is written is checked by `checkers/check.py`, which knows nothing of memplan.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isclose
from typing import Any, Literal

import numpy as np

from memplan.checkers import check as checker
from memplan.planner.errors import OptionError
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import CONSTRAINTS, Bool, Instance
from memplan.planner.instance.legal_offsets import last_end
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.plan import CertificateFacts, Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.least_cost import CostProof
from memplan.solvers.certificates.lemma_problem import conflict_matrix, lemma_input
from memplan.solvers.certificates.lemma_search import EXHAUSTED, STOPPED, LemmaSearch
from memplan.solvers.certificates.prices import Prices
from memplan.solvers.certificates.simple import simple_claim
from memplan.solvers.certificates.text import FORMAT, ClaimText, alone_claim, lemma_lines
from memplan.solvers.kernels.lemmas.tables import FAR

_CHECKER: Any = checker
"""It has no types: it is for people without memplan."""
_NEEDED = "the proof needs rules that certificates leave out"
_TAKEN = {"pages", "bank-weights", "together"}
"""The features of constraint kinds that certificates take, and `together`, which an instance says of several pools."""
TIME_LIMIT_S = 10.0
MOST_BUFFERS = 4_000
"""The most buffers of a lemma search: it lists the pairs that conflict."""
_LONG = 8_000
"""Of more lemmas than this a shorter proof is looked for, among the buffers that it names."""
_CHUNK = 20_000
_LARGEST = 2**61


@dataclass(frozen=True)
class Certificate:
    """A text that proves what a plan claims, or the reason why there is none.

    `kind` is "live-set" where sets alone prove it, "lemmas" where lemmas do, "multipliers" where these alone prove a
    cost, and "none". `buffers` are the ids that the proof needs: the others may be left out of the problem.
    """

    kind: Literal["live-set", "lemmas", "multipliers", "none"]
    text: str = ""
    lemmas: int = 0
    buffers: tuple[int | str, ...] = ()
    reason: str | None = None

    def facts(self, file: str | None = None) -> CertificateFacts:
        """Return what a plan says of it; `file` is where it was written."""
        data = self.text.encode()
        if self.kind == "none":
            return CertificateFacts(reason=self.reason)
        digest = hashlib.sha256(data).hexdigest()
        return CertificateFacts(format=FORMAT, lemmas=self.lemmas, bytes=len(data), sha256=digest, file=file)


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
    instance = compile_problem(problem)
    limit = _Limit(time.monotonic() + time_limit_s, cancelled)
    claims: list[ClaimText] = []
    if problem.objective == "cost" and plan.status == "optimal":
        said, claim = _by_multipliers(problem, instance, plan, limit)
        if isinstance(claim, str):
            return Certificate("none", reason=claim)
        claims.append(claim)
    else:
        said = "infeasible" if plan.status == "infeasible" else " ".join(["used", *map(str, _used(problem, plan))])
        for ends in _claimed(problem, plan):
            simple = simple_claim(problem, instance, plan, ends)
            # A buffer without a place is one because pinned ones are in its way: without these the claim may not hold.
            if simple is not None and simple.lines[0].startswith("end !"):
                simple = replace(simple, buffers=_with_pinned(instance, simple.buffers))
            claim = simple or _by_lemmas(problem, instance, ends, limit)
            if isinstance(claim, str):
                return Certificate("none", reason=claim)
            claims.append(claim)
    return _checked(problem, instance, said, claims)


def _checked(problem: Problem, instance: Instance, said: str, claims: Sequence[ClaimText]) -> Certificate:
    """Return the certificate of some claims, if the checker takes it."""
    text = "\n".join([*_head(problem), said, *(line for claim in claims for line in claim.write())]) + "\n"
    ids = problem.buffers.ids
    lemmas = sum(claim.lemmas for claim in claims)
    buffers = tuple(ids[i] for i in sorted({i for claim in claims for i in claim.buffers}))
    try:
        # Nothing leaves that the checker for people without memplan does not accept.
        _CHECKER.check(write_problem(problem).decode(), text.splitlines())
    except _CHECKER.Refused as refused:
        if left_out := _left_out(problem, instance):
            return Certificate("none", reason=f"{_NEEDED}: {', '.join(sorted(left_out))}")
        return Certificate("none", reason=f"the checker does not accept what was found: {refused}")
    return Certificate("lemmas" if lemmas else "multipliers" if said[0] == "c" else "live-set", text, lemmas, buffers)


def infeasible_core(
    problem: Problem, *, time_limit_s: float = TIME_LIMIT_S, cancelled: threading.Event | None = None
) -> tuple[int | str, ...] | None:
    """Return the ids of few buffers that alone do not fit the pools, or None where no proof of that was found.

    They are those that the last lemma names, or a set that is too long; the others may be taken out of the problem.
    """
    found = certify(problem, Plan(status="infeasible"), time_limit_s=time_limit_s, cancelled=cancelled)
    return found.buffers if found.kind != "none" else None


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


def _used(problem: Problem, plan: Plan) -> list[int]:
    table, placed = problem.buffers, plan.placements
    ends = [0] * len(problem.pools)
    pools = [problem.pool_index[name] for name in placed.pool_names]
    for name, pool, offset in zip(placed.ids, placed.pool.tolist(), placed.offset.tolist(), strict=True):
        size = int(table.size[problem.index[name]])
        if size:
            ends[pools[pool]] = max(ends[pools[pool]], offset + size)
    return ends


def _claimed(problem: Problem, plan: Plan) -> list[list[int]]:
    """Return the ends of each claim, in bytes."""
    sizes = [last_end(pool) for pool in problem.pools]
    if plan.status == "infeasible":
        return [sizes]
    used = _used(problem, plan)
    return [[*sizes[:q], used[q] - 1, *used[q + 1 :]] for q in reversed(range(len(used))) if used[q]]


@dataclass(frozen=True, eq=False)
class _Limit:
    at: float
    cancelled: threading.Event | None

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.at or (self.cancelled is not None and self.cancelled.is_set())

    @contextmanager
    def raising(self, flag: I64) -> Iterator[None]:
        """Set a flag when the time is over."""
        clock = threading.Timer(max(0.0, self.at - time.monotonic()), flag.__setitem__, (0, 1))
        clock.daemon = True
        clock.start()
        try:
            yield
        finally:
            clock.cancel()


def _by_lemmas(problem: Problem, instance: Instance, ends: Sequence[int], limit: _Limit) -> ClaimText | str:
    """Return the claim as lemmas prove it, or the reason why there are none."""
    if not instance.is_small_numbered:
        return "the sizes add up to more than the lemma search can hold"
    capacity = np.array([min(end // instance.unit, _LARGEST) for end in ends], dtype=np.int64)
    flag = np.zeros(1, dtype=np.int64)
    # One part that does not fit is enough, so parts that are too large do no harm.
    parts = [part for part in _parts(instance) if part.sum() <= MOST_BUFFERS]
    if not parts:
        return f"more than {MOST_BUFFERS} buffers depend on each other"
    searches = [LemmaSearch(given, capacity) for given in (lemma_input(instance, part) for part in parts)]
    with limit.raising(flag):
        while any(search.outcome == STOPPED for search in searches):
            # In turns: which part has the short proof is not known.
            for search in searches:
                if search.run(_CHUNK, flag) == EXHAUSTED:
                    return _shorter(search, _claim_of(search, tuple(ends)), flag)
            if limit.is_over:
                return "no lemmas were found in time"
    return f"{_NEEDED}: {', '.join(sorted(_left_out(problem, instance))) or 'none'}"


def _shorter(search: LemmaSearch, claim: ClaimText, flag: I64) -> ClaimText:
    """Return a claim by fewer lemmas, if a search among the buffers that its proof names finds one: if it is long."""
    while claim.lemmas > _LONG and flag[0] == 0:
        instance = search.given.instance
        named = np.isin(instance.source, claim.buffers)
        again = LemmaSearch(lemma_input(instance, named), search.capacity)
        # No more nodes than the first proof took.
        if again.run(search.nodes, flag) != EXHAUSTED:
            return claim
        found = _claim_of(again, claim.ends)
        if found.lemmas >= claim.lemmas:
            return claim
        search, claim = again, found
    return claim


def _by_multipliers(problem: Problem, instance: Instance, plan: Plan, limit: _Limit) -> tuple[str, ClaimText | str]:
    """Return the claim that no plan costs less than this one, with its lines, or the reason why there are none."""
    flag = np.zeros(1, dtype=np.int64)
    if len(instance) > MOST_BUFFERS or not instance.is_small_numbered:
        return "", "the sizes or the number of buffers are more than the lemma search can hold"
    homes = {row.id: problem.pool_index[row.pool] for row in plan.placements}
    ids, ends = problem.buffers.ids, tuple(last_end(pool) for pool in problem.pools)
    prices = Prices.of(problem, instance, [homes[ids[row]] for row in instance.source.tolist()])
    # Weights of clashes in banks are in no price.
    if plan.cost is None or not isclose(prices.least / prices.parts, plan.cost, rel_tol=1e-9):
        return "", f"{_NEEDED}: banks"
    known = _CHECKER.Claim(
        _CHECKER.Problem(write_problem(problem).decode(), [(pool.size, None) for pool in problem.pools]), ends
    )
    first = [tuple(min(int(low), FAR) for low in known.first(row)) for row in instance.source.tolist()]
    with limit.raising(flag):
        claim = CostProof(instance, prices, ends, first, lambda: limit.is_over, flag).claim()
    if claim is None and not limit.is_over:
        return "", f"{_NEEDED}: {', '.join(sorted(_left_out(problem, instance))) or 'none'}"
    return f"cost {prices.least} {prices.parts}", claim or "no lemmas were found in time"


def _claim_of(search: LemmaSearch, ends: tuple[int, ...]) -> ClaimText:
    if search.alone >= 0:
        found = alone_claim(search.given, search.alone, ends)
    else:
        found = lemma_lines(search.given, search.store, search.root, ends)
    return replace(found, buffers=_with_pinned(search.given.instance, found.buffers))


def _with_pinned(instance: Instance, rows: Sequence[int]) -> tuple[int, ...]:
    """Return some rows, and those of the pinned buffers that are in their way."""
    position = np.full(int(instance.source.max(initial=0)) + 1, -1)
    position[instance.source] = np.arange(len(instance))
    named = position[list(rows)]
    pinned = np.setdiff1d(np.flatnonzero(instance.pin >= 0), named)
    near = conflict_matrix(instance, np.concatenate((named, pinned)))[: len(named), len(named) :].any(axis=0)
    return tuple(sorted({*rows, *instance.source[pinned[near]].tolist()}))


def _left_out(problem: Problem, instance: Instance) -> set[str]:
    """Return the rules of a problem that certificates leave out."""
    found = set(instance.features & CONSTRAINTS.keys() - _TAKEN)
    return found | {"together"} if problem.together else found


def _parts(instance: Instance) -> list[Bool]:
    """Return the parts of an instance that no lifetime and no conflict joins, the heaviest first."""
    n = len(instance)
    # Conflicts by name join times, and pools share their buffers: one part.
    if len(instance.conflict) or len(instance.pools) > 1:
        return [np.ones(n, dtype=np.bool_)]
    walls = np.zeros(instance.n_live_sets + 1, dtype=np.int64)
    np.add.at(walls, instance.start + 1, 1)
    np.subtract.at(walls, instance.end, 1)
    first = np.full(n, instance.n_live_sets)
    np.minimum.at(first, instance.lifetime_buffer, instance.start)
    last = np.zeros(n, dtype=np.int64)
    np.maximum.at(last, instance.lifetime_buffer, instance.end)
    crossed = np.zeros(instance.n_live_sets + 2, dtype=np.int64)
    alive = last > 0
    np.add.at(crossed, first[alive] + 1, 1)
    np.subtract.at(crossed, last[alive], 1)
    number = np.cumsum(np.cumsum(crossed)[: instance.n_live_sets] == 0)
    part = np.where(alive, number[np.minimum(first, max(0, instance.n_live_sets - 1))], -1) if len(number) else first
    return [part == k for k in np.unique(part).tolist()]
