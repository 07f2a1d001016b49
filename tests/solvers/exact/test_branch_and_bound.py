import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lab.families import perfect_problem
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Pool, Problem, replace_fields
from memplan.solvers.core.exact import ALONE_NODES
from memplan.solvers.exact.branch_and_bound import NODE_WORK, Parts, SearchThread, solve
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Progress
from tests.support import oracle, public_problems
from tests.support.depth import seeds
from tests.support.tight_problems import FEATURES, full_load, tight_problem
from tests.support.values import require_value


def make_search(
    instance: Instance,
    work_limit: int = 10**7,
    deterministic: bool = True,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
) -> Search:
    return Search(
        instance,
        deadline=time.monotonic() + 60.0,
        seed=seed,
        deterministic=deterministic,
        work_limit=work_limit,
        on_progress=on_progress,
        trusted=frozenset({"exact"}),
    )


def solve_instance(instance: Instance, work_limit: int = 10**7, deterministic: bool = True, seed: int = 0) -> Search:
    search = make_search(instance, work_limit, deterministic, seed)
    solve(instance, search)
    return search


@pytest.mark.drawn
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.slow
def test_the_exact_search_proves_the_minimum_peak_and_refutes_smaller_capacities(feature: str) -> None:
    for seed in seeds(12):
        problem = tight_problem(seed, feature)
        instance, least = compile_problem(problem), oracle.best_score(problem)
        search = solve_instance(instance)
        if least is None:
            assert search.infeasibility_witness is not None
            continue
        assert search.stop_reason == "proved"
        assert search.best is not None
        assert search.best.score[0] * instance.unit == search.bound[0] * instance.unit == least[0], seed
        assert oracle.check(problem, list(lift(problem, instance, search.best.pool, search.best.offset))) == []
        enough = tight_problem(seed, feature, capacity=int(least[0]))
        assert solve_instance(compile_problem(enough)).stop_reason == "proved"
        too_little = tight_problem(seed, feature, capacity=int(least[0]) - 1)
        assert solve_instance(compile_problem(too_little)).infeasibility_witness is not None, seed


def test_the_exact_search_proves_bounds_above_the_largest_live_set() -> None:
    proved = [solve_instance(compile_problem(full_load(seed, n=18))) for seed in range(12)]
    assert all(search.stop_reason == "proved" for search in proved)
    assert any(search.bound[0] > 1000 for search in proved)


def test_the_exact_bound_of_independent_components_is_the_maximum_of_their_bounds() -> None:
    components = [full_load(seed, n=14) for seed in range(5)]
    peaks = [solve_instance(compile_problem(component)).bound[0] for component in components]
    joined = [
        {"id": f"{k}-{row.id}", "size": row.size, "start": (row.start or 0) + 100 * k, "end": (row.end or 0) + 100 * k}
        for k, component in enumerate(components)
        for row in component.buffers
    ]
    assert solve_instance(compile_problem(Problem(buffers=joined))).bound[0] == max(peaks)


def test_the_exact_search_improves_a_known_plan() -> None:
    instance = compile_problem(full_load(5, n=20))
    search = make_search(instance)
    search.offer(np.zeros(len(instance), np.int64), np.cumsum(instance.size) - instance.size, "stacked")
    solve(instance, search)
    assert (require_value(search.best).by, search.stop_reason) == ("exact", "proved")


def test_the_exact_search_ends_if_another_solver_offers_the_optimum() -> None:
    instance = compile_problem(full_load(6, n=20))
    best = require_value(solve_instance(instance).best)

    def interrupt(progress: Progress) -> None:
        if progress.by == "exact":
            search.offer(best.pool, best.offset, "another")

    search = make_search(instance, on_progress=interrupt)
    solve(instance, search)
    assert require_value(search.best).score == best.score


def test_a_deterministic_exact_search_repeats_its_plan_and_ends_at_its_work_limit() -> None:
    instance = compile_problem(full_load(7, n=120, live=12))
    first, second = (solve_instance(instance, work_limit=20_000) for _ in range(2))
    assert first.stop_reason is None
    assert first.best is not None
    assert second.best is not None
    assert first.best.score == second.best.score
    assert (first.best.offset == second.best.offset).all()


def test_the_exact_search_returns_when_it_is_cancelled() -> None:
    instance = compile_problem(full_load(7, n=120, live=12))
    search = make_search(instance, deterministic=False, on_progress=lambda _: search.stop("cancelled"))
    solve(instance, search)
    assert search.stop_reason == "cancelled"


@pytest.mark.slow
def test_several_threads_of_the_exact_search_prove_the_same_bound_as_one() -> None:
    instance = compile_problem(full_load(24, n=40, live=6))
    alone = solve_instance(instance, work_limit=NODE_WORK * ALONE_NODES)
    assert alone.stop_reason is None  # unsolved by one thread, so other threads join
    together, longer = solve_instance(instance, deterministic=False), solve_instance(instance, work_limit=10**9)
    assert together.stop_reason == longer.stop_reason == "proved"
    assert together.bound == longer.bound


def test_the_exact_search_fills_the_slack_of_nearly_complete_plans() -> None:
    problem = perfect_problem(seed=7, n=300, slack=5.0)
    search = make_search(compile_problem(problem))
    SearchThread(Parts(search.instance, search)).run_nodes(30_000)
    assert search.stop_reason == "proved"
    assert search.best is not None
    assert oracle.check(problem, list(lift(problem, search.instance, search.best.pool, search.best.offset))) == []


@pytest.mark.parametrize("seed", range(4))
def test_the_exact_search_packs_mixed_alignments_near_the_bound_in_little_work(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(100):
        start, size, life = int(rng.integers(40)), int(2 ** rng.uniform(8, 18)), int(rng.choice([1, 2, 3, 5, 8, 13]))
        alignment = int(rng.choice([16, 16, 512, 4096, 65536]))
        rows.append({"id": k, "size": size, "start": start, "end": start + life, "alignment": alignment})
    search = solve_instance(compile_problem(Problem(buffers=rows)), work_limit=200_000)
    assert require_value(search.best).score[-1] < 1.02 * search.bound[-1]


def test_threads_of_the_exact_search_can_start_on_the_same_component() -> None:
    instance = compile_problem(full_load(9, n=400, live=12))
    search = make_search(instance, deterministic=False)
    parts = Parts(instance, search)
    threads = [SearchThread(parts, number) for number in range(6)]
    with ThreadPoolExecutor(len(threads)) as executor:
        for done in [executor.submit(thread.run_nodes, 500) for thread in threads]:
            done.result()
    assert all(thread.nodes >= 500 or thread.is_done or search.is_over for thread in threads)
    assert search.best is None or search.best.score[0] >= search.bound[0]


def test_an_untrusted_exact_search_ends_with_a_claim_instead_of_a_proof() -> None:
    instance = compile_problem(full_load(3, n=18))
    assert solve_instance(instance).bound[0] > 1000
    doubting = Search(instance, deadline=time.monotonic() + 60.0)
    solve(instance, doubting)
    assert doubting.stop_reason is None
    assert doubting.claims == {"exact": require_value(doubting.best).score}


def test_the_exact_search_proves_colliding_pins_infeasible() -> None:
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "offset": 2 * k} for k in range(2)]
    assert solve_instance(compile_problem(Problem(buffers=rows))).infeasibility_witness is not None


def test_the_exact_search_places_pinned_buffers_at_their_pins() -> None:
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "offset": 4 * k} for k in range(2)]
    assert require_value(solve_instance(compile_problem(Problem(buffers=rows))).best).offset.tolist() == [0, 1]


def test_the_exact_search_skips_sums_that_may_overflow_int64() -> None:
    rows = [{"id": k, "size": 2**61 - k, "start": k, "end": k + 1} for k in range(4)]
    search = solve_instance(compile_problem(Problem(buffers=rows)))
    assert search.best is None
    assert search.infeasibility_witness is None


def test_the_exact_search_proves_the_small_public_problems() -> None:
    for entry in public_problems.read_index("minimalloc_small"):
        read = public_problems.problem(f"minimalloc_small/{entry['file']}")
        problem = replace_fields(read, pools=(Pool(name="only", size=entry["optimum"]),))
        search = solve_instance(compile_problem(problem))
        assert search.stop_reason == "proved"
        assert search.best is not None
