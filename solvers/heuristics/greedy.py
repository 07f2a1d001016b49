"""Greedy packing in a sequence of buffer orders, until a plan meets the lower bound."""

import time
from collections.abc import Iterator
from itertools import islice, product

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.core import plain
from memplan.solvers.core.exact import ALONE_NODES, seed_of
from memplan.solvers.core.plain import PlainStart as PlainStart
from memplan.solvers.packing.orders import COST_RULES, RULES, Rule, Traits
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.meanwhile import polling_flag

_ENOUGH = 250_000
"""The work, in units of Search.work_limit, after which improving the plan gains more than another order."""
_AT_LEAST = 2
"""The number of orders that are always tried, as each one is the best for some problems; 1 if an order is slow."""
_LONG = 1_000_000
"""The work of one order from which on the first plan is improved before another order is tried."""
_MANY = 1_000
"""The number of buffers from which only the orders for costs are tried for objective `cost`, if one gives a plan."""
FIRST, NEAR = 4, 0.1
"""If none of the FIRST orders gets within the share NEAR of the bound, later orders rarely do."""


def solve(instance: Instance, search: Search) -> None:
    """Offer a plan for each greedy order in which all buffers fit.

    If some pairs may share an offset or pay a price, each order is tried twice: with as many of these pairs sharing as
    possible, and with none. If the pinned buffers alone do not fit, the problem is claimed infeasible.
    """
    if plain.suits_instance(instance):
        offer_order(search, plain.start_of_instance(instance, plain.Limits(int(search.bound[-1])), search.flag))
        return
    for _ in _offer_plans(instance, search):
        pass


def offer_first(instance: Instance, search: Search, most_s: float) -> None:
    """Offer the plan of the first order in which all buffers fit, even if no time is left, within `most_s` seconds.

    An order takes some milliseconds per thousand buffers. Without this plan, a short time limit could yield none at
    all.
    """
    from memplan.solvers.packing.packer import Packer
    from memplan.solvers.packing.place import pins_collide, place

    until = time.monotonic() + most_s
    with polling_flag(lambda: time.monotonic() > until) as flag:
        packer, traits = Packer(instance, flag), Traits(instance)
        if "pins" in instance.features and pins_collide(instance, packer):
            return
        for rule in islice(rules(instance), FIRST):
            assignment = place(packer, instance, rule.order(traits), preference(instance), rule.best_fit)
            if assignment is not None:
                search.offer(*assignment, f"greedy:{rule.name}")
                return


def offer_swept(instance: Instance, search: Search) -> None:
    """Offer the plan of sweeps over time, even if no time is left: they take less than a microsecond per buffer."""
    from memplan.solvers.packing.sweep import swept_plan

    if (assignment := swept_plan(instance, preference(instance))) is not None:
        search.offer(*assignment, "greedy:sweep")


def begin(instance: Instance, search: Search) -> None:
    """Offer greedy plans before an exact search; stop early if the first plans greatly exceed the bound."""
    if plain.suits_instance(instance):
        limits = plain.Limits(int(search.bound[-1]), FIRST, 1 + NEAR)
        offer_order(search, plain.start_of_instance(instance, limits, search.flag))
        return
    for tried in _offer_plans(instance, search):
        best = search.best
        # If no order so far came close to the bound, later orders rarely do (decision 134), so stop.
        if tried >= FIRST and best is not None and best.score[-1] > (1 + NEAR) * search.bound[-1]:
            return


def plain_start(
    problem: Problem, instance: Instance | None, ends: float, *, is_all: bool, seed: int | None
) -> plain.PlainStart | None:
    """Return the core's result for a plain problem (bound, best greedy order, begun search); None for other problems.

    core/plain.py defines plain problems. With `is_all`, the core tries all greedy orders. Otherwise, it tries the first
    orders and, with a seed, searches exactly until the time `ends` of time.monotonic().
    """
    if not plain.is_suitable(problem):
        return None
    alignment = problem.buffers.alignment
    # With mixed alignments, the lemma search runs before the exact search, so skip the exact search here.
    is_searched = seed is not None and not is_all and alignment.min() == alignment.max()
    limits = plain.Limits(
        first=plain.Limits().first if is_all else FIRST,
        near=1 + NEAR,
        nodes=ALONE_NODES if is_searched else 0,
        seed=seed_of(seed, 0) if seed is not None and is_searched else 0,
        seconds=max(1e-9, ends - time.monotonic()),
    )
    return plain.solve_plain(problem, limits, instance)


def offer_order(search: Search, start: plain.PlainStart) -> None:
    """Offer the plan of the best greedy order of a plain problem, if all buffers fit in some order."""
    if start.rule >= 0:
        pool = column(np.zeros(len(start.offset), dtype=np.int64))
        search.offer(pool, column(start.offset), f"greedy:{RULES[start.rule].name}")


def _offer_plans(instance: Instance, search: Search) -> Iterator[int]:
    """Offer plans until enough work is done, and yield the number of orders tried so far after each order."""
    from memplan.solvers.packing.packer import Packer, packing_work
    from memplan.solvers.packing.place import pins_collide, place
    from memplan.solvers.packing.sharing_decisions import extreme_decisions, is_needed

    usual = Packer(instance, search.flag)
    packers = [usual]
    if is_needed(instance):
        packers = [choice.packer(instance, search.flag) for choice in extreme_decisions(instance)]
    if "pins" in instance.features and pins_collide(instance, usual):
        if not search.is_over:  # A stopped packer proves nothing, so it must not have stopped.
            search.claim_infeasible("greedy")
        return
    traits = Traits(instance)
    pools = preference(instance)
    has_many_costs = instance.objective == "cost" and "bank-weights" not in instance.features and len(instance) >= _MANY
    last_tried = len(COST_RULES) * len(packers) if has_many_costs else 2**62
    price = 0  # The first order may already meet the bound, so compute the work of an order later.
    for tried, (rule, packer) in enumerate(product(rules(instance), packers)):
        if search.is_over:
            return
        # Later orders ignore traffic and seldom cost less, so leave the time of many buffers to the choice of memories.
        if tried >= last_tried and search.best is not None:
            return
        if tried >= len(packers):
            price = price or packing_work(instance)
            at_least = (1 if price > _LONG else _AT_LEAST) * len(packers)
            enough = search.work_limit if search.deterministic or search.best is None else _ENOUGH
            if tried * price >= enough and tried >= at_least:
                return
        assignment = place(packer, instance, rule.order(traits), pools, rule.best_fit)
        if assignment is not None:
            search.offer(*assignment, f"greedy:{rule.name}")
        yield tried + 1


def rules(instance: Instance) -> Iterator[Rule]:
    """Yield the rules that define the buffer orders to try, the most successful rules first."""
    if instance.objective == "cost":
        yield from COST_RULES
    some_are_confined = len(set(instance.allowed.sum(axis=0).tolist())) > 1
    for rule in RULES:
        if "relative" in instance.features:
            yield rule._replace(groups_first=True)
        yield rule
        if some_are_confined:
            yield rule._replace(confined_first=True)


def preference(instance: Instance) -> tuple[int, ...]:
    """Return the numbers of the pools in the order in which to fill them: by cost if costs count, or else as given."""
    pools = range(len(instance.pools))
    if instance.objective == "cost":
        return tuple(sorted(pools, key=lambda q: instance.pools[q].cost))
    return tuple(pools)
