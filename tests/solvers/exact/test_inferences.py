"""Each inference of the exact search can be left out: no combination makes an answer wrong."""

from functools import cache
from math import inf
from random import Random

import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.core import exact
from memplan.solvers.core.exact import Inference
from memplan.solvers.exact.branch_and_bound import Parts, SearchThread
from memplan.solvers.search.incumbent import Search
from tests.support.values import require_value

ALL = ~Inference(0)
NODES = 800
HARD = {(12, 169): 91, (14, 94): 123}
"""Maps (number of buffers, seed) to the least peak, which CP-SAT proves too."""
USED = {
    **dict.fromkeys(("NOGOODS", "BACKJUMPS", "FAILURE_WEIGHTS", "STACKS_WITH_GAPS", "LEVEL_ENDS"), (12, 169)),
    **dict.fromkeys(("DIVES", "EJECTIONS"), (12, 169)),
    "TWINS": (14, 94),
    "DUMMIES": (16, 87),
    "CORES": (16, 83),
}
"""Maps an inference to a problem that takes another number of nodes without it."""


@cache
def problem_of_seed(n: int, seed: int) -> Problem:
    random = Random(seed)
    rows = []
    for k in range(n):
        start = random.randrange(14)
        end = min(15, start + 1 + int(random.expovariate(0.25)))
        size = random.choice([random.randrange(1, 40), random.choice([8, 16, 24])])
        rows.append({"id": f"b{k}", "size": size, "start": start, "end": end, "alignment": random.choice([1, 2, 4, 8])})
    return Problem(buffers=rows)


def search_with(
    inferences: Inference, instance: Instance, monkeypatch: pytest.MonkeyPatch, nodes: int = NODES
) -> tuple[int, Search]:
    monkeypatch.setattr(exact, "used_inferences", inferences)
    search = Search(instance, deadline=inf, seed=0, deterministic=True, trusted=frozenset({"exact"}))
    thread = SearchThread(Parts(instance, search))
    thread.run_nodes(nodes)
    return thread.nodes, search


@pytest.mark.slow
@pytest.mark.parametrize(("case", "least"), HARD.items(), ids=str)
def test_no_inferences_exclude_the_optimum(case: tuple[int, int], least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = compile_problem(problem_of_seed(*case))
    for mask in range(2 ** len(Inference)):
        _, search = search_with(Inference(mask), instance, monkeypatch)
        assert search.bound[-1] <= least <= require_value(search.best).score[-1], Inference(mask)


@pytest.mark.parametrize(("name", "case"), USED.items())
def test_each_inference_changes_a_search(name: str, case: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    instance = compile_problem(problem_of_seed(*case))
    given, _ = search_with(ALL, instance, monkeypatch, 8_000)
    without, _ = search_with(ALL & ~Inference[name], instance, monkeypatch, 8_000)
    assert without != given
