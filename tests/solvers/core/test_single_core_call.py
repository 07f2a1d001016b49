"""Unconstrained problems solved in one core call give the same result as the separate steps in Python."""

import random
from typing import Any

import numpy as np
import pytest

from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.instance.canonical import canonical_order, problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import COLUMNS, Instance
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.core import exact
from memplan.solvers.core.plain import Limits, is_suitable, solve_plain, start_of_instance, suits_instance
from memplan.solvers.exact.branch_and_bound import Parts, SearchThread
from memplan.solvers.packing.orders import RULES, Rule, Traits
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import place
from memplan.solvers.search.incumbent import Search
from tests.support.depth import seeds
from tests.support.tight_problems import full_load


def draw_problem(draw: random.Random) -> Problem:
    """Return a random unconstrained problem, with various alignments and a pool that may be too small."""
    scale, steps = draw.choice((1, 6, 64, 2**40)), draw.choice(((1,), (64,), (1, 2, 48), (16, 64, 100), (1, 3, 64)))
    rows = []
    for i in range(draw.randrange(1, 40)):
        start = draw.randrange(-5, 30)
        row: dict[str, Any] = {"id": i, "size": scale * draw.randrange(1, 20), "start": start}
        row |= {"end": start + draw.randrange(1, 12), "alignment": draw.choice(steps)}
        rows.append(row | ({"traffic": draw.randrange(9)} if draw.random() < 0.2 else {}))
    most = max(row["size"] for row in rows)
    size = {"size": most * draw.choice((1, 2, 5))} if draw.random() < 0.5 else {}
    return Problem(buffers=rows, pools=[{"name": "a", "cost": 2.0, **size}])


def best_of_rules(instance: Instance) -> tuple[Rule, np.ndarray] | None:
    """Return the first order rule with the lowest peak, and its offsets; None if no order fits."""
    traits, packer, best = Traits(instance), Packer(instance, column([0])), None
    for rule in RULES:
        found = place(packer, instance, rule.order(traits), (0,), rule.best_fit)
        if found is not None:
            peak = int((found[1] + instance.size).max())
            if best is None or peak < best[0]:
                best = peak, rule, found[1]
    return None if best is None else best[1:]


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(30))
def test_the_core_compiles_bounds_and_packs_unconstrained_problems_like_python(seed: int) -> None:
    problem = draw_problem(random.Random(seed))
    assert is_suitable(problem)
    start, usual = solve_plain(problem, Limits()), compile_problem(problem)
    mine = start.instance
    for name in COLUMNS:
        one, other = getattr(mine, name), getattr(usual, name)
        if isinstance(one, np.ndarray):
            assert (one.dtype, one.shape, one.tolist()) == (other.dtype, other.shape, other.tolist()), name
            assert not one.flags.writeable
        elif name == "pools":
            pools = [[{**pool._asdict(), "reserved": pool.reserved.shape} for pool in each] for each in (one, other)]
            assert pools[0] == pools[1]
        else:
            assert one == other, name
    for name in ("features", "has_one_lifetime_each", "is_plain", "is_small_numbered"):
        assert getattr(mine, name) == getattr(usual, name), name
    assert mine.lifetime_buffer.tolist() == usual.lifetime_buffer.tolist()
    assert start.proof == lower_bound(usual)
    assert start_of_instance(mine, Limits(), column([0])).proof == start.proof
    wanted = best_of_rules(mine)
    if start.proof.nothing_fits is None and wanted is not None:
        assert RULES[start.rule] == wanted[0] or start.tried < len(RULES)
        peak = int((start.offset + mine.size).max())
        assert peak == int((wanted[1] + mine.size).max())
        assert start.offset.tolist() == wanted[1].tolist()
        again = start_of_instance(mine, Limits(target=peak), column([0]))
        assert (again.rule, again.tried <= start.tried) == (start.rule, True)
    else:
        assert start.rule < 0
    usual.__dict__["is_plain"] = False
    assert start.order.tolist() == canonical_order(mine).tolist() == canonical_order(usual).tolist()
    assert problem_hash(problem, mine) == problem_hash(problem, usual)


def test_an_exact_search_resumed_after_the_first_core_call_matches_an_uninterrupted_one() -> None:
    problem = full_load(24, n=40, live=6)
    start = solve_plain(problem, Limits(nodes=300, seed=exact.seed_of(0, 0)))
    begun, whole = start.exact, compile_problem(problem)
    assert begun is not None
    assert (begun.outcome, begun.nodes) == (exact.SPENT, 300)
    counts = []
    for known in (begun, None):
        search = Search(whole, float("inf"), deterministic=True, trusted=frozenset({"exact"}), begun=known)
        search.offer(column(np.zeros(len(whole), dtype=np.int64)), column(start.offset), "greedy")
        thread = SearchThread(Parts(whole, search, known), begun=known)
        thread.run_nodes(300 - thread.nodes)
        thread.run_nodes(10**6)
        assert search.stop_reason == "proved"
        counts.append((thread.nodes, search.bound))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("limits", [Limits(seconds=1e-9), Limits(nodes=10**9, seconds=1e-9)])
def test_a_core_call_without_time_starts_no_search(limits: Limits) -> None:
    start = solve_plain(full_load(24, n=40, live=6), limits)
    assert (start.rule, start.exact) == (-1, None)


@pytest.mark.parametrize(
    "asked",
    [
        {"pools": [{"name": "a", "base_address": 4}]},
        {"pools": [{"name": "a", "alignment": 8}]},
        {"pools": [{"name": "a", "reserved": [(0, 8)]}]},
        {"pools": [{"name": "a"}, {"name": "b"}]},
        {"pools": [{"name": "a", "size": 3}]},
        {"conflicts": [(0, 1)]},
        {"may_share": [(0, 1)]},
        {"objective": "cost"},
    ],
)
def test_problems_with_any_constraint_do_not_qualify_for_the_single_core_call(asked: dict[str, Any]) -> None:
    rows = [{"id": i, "size": 4, "start": 0, "end": 2} for i in range(3)]
    assert is_suitable(Problem(buffers=rows)) and suits_instance(compile_problem(Problem(buffers=rows)))  # noqa: PT018
    assert not is_suitable(Problem(buffers=rows, **asked))
    rules = ({"offset": 0}, {"hint": 4}, {"size": 0}, {"no_cross": 8}, {"offset_mod": {"modulus": 4, "remainder": 0}})
    assert not any(is_suitable(Problem(buffers=[rows[0] | field, *rows[1:]])) for field in rules)
    assert not is_suitable(Problem(buffers=[{"id": 1, "size": 4, "lifetimes": [(0, 1), (3, 4)]}]))
    assert not is_suitable(Problem(buffers=[{"id": 1, "size": 2**60, "start": 0, "end": 1}]))
    assert not is_suitable(Problem(buffers=[]))


def test_seeds_of_the_exact_search_match_numpy_and_are_distinct() -> None:
    drawn = np.random.SeedSequence([0, 0]).generate_state(1, np.uint64).view(np.int64)[0]
    assert exact.seed_of(0, 0) == drawn
    assert len({exact.seed_of(seed, number) for seed in range(3) for number in range(3)}) == 9
