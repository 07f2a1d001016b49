"""The proof of one claim: a buffer without a place, a set that is too long, lemmas, multipliers; or why none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from memplan.checkers import check as checker
from memplan.planner.bounds.cliques import heavy_clique
from memplan.planner.bounds.demand import Reserve
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.instance.instance import CONSTRAINTS, Bool, Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.intervals import merged
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.conflict_sets import ConflictSet, in_the_way, with_pinned
from memplan.solvers.certificates.goals import Goal, Prices
from memplan.solvers.certificates.least_cost import CostProof
from memplan.solvers.certificates.lemma_search import LemmaSearch
from memplan.solvers.certificates.text import ClaimText, SetNumbers
from memplan.solvers.core.lemmas import EXHAUSTED, FAR, STOPPED, TOO_LARGE
from memplan.solvers.formulation.sharing import Sharing, conflict_matrix
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
    given = [(pool.size, None) for pool in problem.pools]
    try:
        known = _CHECKER.Claim(_CHECKER.Problem(write_problem(problem).decode(), given), ends)
    except ValueError:  # a field that the checker's grammar does not have
        return _refused(problem, instance)
    first = [tuple(min(int(low), FAR) for low in known.first(row)) for row in instance.source.tolist()]
    with control.flag() as flag:
        search = CostProof(instance, prices, ends, first, lambda: control.is_over, flag)
        claim = None if search.is_no_question_of_cost else search.claim()
    if search.is_no_question_of_cost:
        return _by_lemmas(problem, instance, ends, control)
    if claim is not None:
        return claim
    if control.is_over:
        return "no lemmas were found in time"
    return _refused(problem, instance) if search.has_cheaper else COARSE


def _claim_of(search: LemmaSearch, ends: tuple[int, ...]) -> ClaimText:
    instance, proof = search.instance, search.lines()
    named = with_pinned(instance, instance.source[sorted(proof.need)].tolist())
    return ClaimText(ends, (*proof.sets, *proof.lemmas, f"end {proof.ref}"), len(proof.lemmas), named)


def _refused(problem: Problem, instance: Instance) -> str:
    """Return why a claim has no proof although the search came to its end: buffers were placed that refute it."""
    rules = ", ".join(sorted(left_out(problem, instance)))
    return f"{NEEDED}: {rules}" if rules else "what the plan claims is not so: there are better ones"


def left_out(problem: Problem, instance: Instance) -> set[str]:
    """Return the rules of a problem that certificates leave out."""
    found = set(instance.features & _LEFT_OUT)
    return found | {"together"} if problem.together else found


_TIMES = 8
"""The most times that are tried for each group of pools."""
_GRANULES = 5
_PINNED = 2_000


def simple_claim(problem: Problem, instance: Instance, plan: Plan, ends: Sequence[int]) -> ClaimText | None:
    """Return the proof that nothing ends at or below `ends` (bytes, a pool each), where one line is enough."""
    p, unit = len(ends), instance.unit
    caps = np.array([end // unit for end in ends], dtype=object)
    allowed = _allowed(instance, caps)
    if (is_out := np.logical_not(allowed.any(axis=0))).any():
        row = int(instance.source[is_out.argmax()])
        return ClaimText(tuple(ends), (f"end !{row}",), 0, (row,))
    if (collided := _collided(instance)) is not None:
        return ClaimText(tuple(ends), (f"end !{collided[0]}",), 0, collided)
    # Sets of pools double with each pool; with many, single ones and all of them must do.
    for group in range(1, 1 << p) if p <= 6 else [1 << q for q in range(p)] + [(1 << p) - 1]:
        pools = [q for q in range(p) if group >> q & 1]
        outside = np.ones(p, dtype=np.bool_)
        outside[pools] = False
        confined = np.logical_not(np.logical_or.reduce(allowed[outside], axis=0))
        for which in _candidates(problem, instance, plan, confined):
            members = np.array([i for i in which.buffers if confined[i]], dtype=np.int64)
            found = _too_long(instance, which, members, pools, [int(cap) for cap in caps[pools]])
            if found is not None:
                sets = SetNumbers(instance.source.tolist())
                granule = found[0] * unit if found[0] > 1 or len(pools) > 1 else 1
                ref = sets.ref(which, granule, found[1] * unit, group)
                rows = tuple(sorted(instance.source[members].tolist()))
                return ClaimText(tuple(ends), (*sets.lines, f"end {ref}"), 0, rows)
    return None


def _collided(instance: Instance) -> tuple[int, int] | None:
    """Return the rows of two pinned buffers that share bytes; None where none of some do."""
    pinned = np.flatnonzero(instance.pin >= 0)[:_PINNED]
    low = instance.pin[pinned]
    high = low + instance.size[pinned]
    is_same_pool = instance.allowed[:, pinned].T.argmax(axis=1)
    clash = conflict_matrix(instance, pinned) & (low[:, None] < high[None, :]) & (low[None, :] < high[:, None])
    clash &= is_same_pool[:, None] == is_same_pool[None, :]
    found = np.argwhere(clash)
    return (
        (int(instance.source[pinned[found[0, 0]]]), int(instance.source[pinned[found[0, 1]]])) if len(found) else None
    )


def _allowed(instance: Instance, caps: I64) -> Bool:
    """Return which pools each buffer may be in, where they end there, bool (p, n)."""
    return np.asarray(
        instance.allowed & ((instance.lowest + instance.size).astype(object) <= caps[:, None]), dtype=np.bool_
    )


def _candidates(problem: Problem, instance: Instance, plan: Plan, confined: Bool) -> Iterator[ConflictSet]:
    """Yield sets of buffers that conflict pairwise: named ones, live sets with much of the confined buffers."""
    position = {int(row): i for i, row in enumerate(instance.source.tolist())} if plan.proof else {}
    if plan.proof is not None and plan.proof.kind == "clique":
        named = (position.get(problem.root_of(name)) for name in plan.proof.buffers)
        yield ConflictSet(tuple(sorted(i for i in named if i is not None)), None)
    load = instance.load(np.where(confined, instance.size, 0))
    is_plain, sharing = instance.features.isdisjoint({"sharing", "relative"}), Sharing(instance)
    for t in np.argsort(np.negative(load), kind="stable")[:_TIMES].tolist():
        members = instance.members(t)
        if is_plain:
            yield ConflictSet(tuple(members.tolist()), int(instance.live_set_time[t]))
        else:
            yield ConflictSet(tuple(sharing.apart(members.tolist())), None)
    if len(instance.conflict):
        yield ConflictSet(tuple(heavy_clique(instance).tolist()), None)


def _too_long(
    instance: Instance, which: ConflictSet, members: I64, pools: list[int], caps: list[int]
) -> tuple[int, int] | None:
    """Return the granule and the remainder by which the members do not fit the pools; None where they may."""
    pinned = [i for i in which.buffers if instance.pin[i] >= 0]
    members = members[instance.pin[members] < 0]
    blocks = [in_the_way(instance, q, np.array(pinned, dtype=np.int64)) for q in pools]
    if len(pools) > 1:
        free = sum(Reserve(rows).free_below(cap) for rows, cap in zip(blocks, caps, strict=True))
        # Over several pools no grid is common, so bytes are counted.
        return (1, 0) if sum(instance.size[members].tolist()) > free else None
    for granule, remainder in _grids(instance, members, pools[0]):
        kept = members[
            (instance.alignment[pools[0], members] % granule == 0)
            & (instance.lowest[pools[0], members] % granule == remainder)
        ]
        size = instance.size[kept].tolist()
        if not size:
            continue
        waste = [-each % granule for each in size]
        # Cells of the grid are counted from its first one; below that nothing can be.
        rounded = [(low + (remainder - low) % granule, high + (remainder - high) % granule) for low, high in blocks[0]]
        lows = [int(instance.lowest[pools[0], i]) for i in kept.tolist()]
        start = min(lows)
        rows = merged((low - start, high - start) for low, high in rounded if high > max(low, start))
        end = start + Reserve([(max(0, low), high) for low, high in rows]).reach(sum(size) + sum(waste)) - max(waste)
        if end > caps[0]:
            return granule, remainder
    return None


def _grids(instance: Instance, members: I64, q: int) -> Iterable[tuple[int, int]]:
    """Return granules and remainders of offsets that some of the members keep to, (1, 0) first."""
    alignment, residue = instance.alignment[q, members], instance.lowest[q, members]
    steps, counts = np.unique(alignment, return_counts=True)
    common = int(np.gcd.reduce(steps)) if len(steps) else 1
    found = {(1, 0): None}
    for granule in [common, *steps[np.argsort(-counts, kind="stable")][:_GRANULES].tolist()]:
        rests, count = np.unique(residue[alignment % granule == 0] % granule, return_counts=True)
        if len(rests):
            found[int(granule), int(rests[count.argmax()])] = None
    return found
