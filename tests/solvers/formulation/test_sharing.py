from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.sharing import Sharing


def sharing(
    sizes: list[int], pairs: Sequence[tuple[int, int]] = (), above: dict[int, tuple[int, int]] | None = None
) -> Sharing:
    """Buffers that are all alive together; `above` says which lie how far above which others."""
    rows: list[dict[str, Any]] = [{"id": k, "size": size, "start": 0, "end": 1} for k, size in enumerate(sizes)]
    for k, (to, offset) in (above or {}).items():
        rows[k]["relative"] = {"to": to, "offset": offset}
    return Sharing(compile_problem(Problem.model_validate({"buffers": rows, "may_share": pairs})))


def test_of_two_that_may_share_the_larger_one_counts() -> None:
    assert sharing([2, 3, 5], [(0, 2)]).apart([0, 1, 2]) == [1, 2]


def test_of_two_equals_that_may_share_the_first_one_counts() -> None:
    assert sharing([4, 4], [(0, 1)]).apart([0, 1]) == [0]


def test_both_ends_of_a_chain_of_partners_count_as_they_never_share() -> None:
    assert sharing([4, 3, 2], [(0, 1), (1, 2)]).apart([0, 1, 2]) == [0, 2]


def test_views_count_together_only_where_they_have_no_bytes_in_common() -> None:
    assert sharing([4, 2, 2], above={1: (0, 3), 2: (0, 4)}).apart([0, 1, 2]) == [0, 2]


def test_where_nothing_is_shared_all_members_count() -> None:
    assert sharing([1, 2, 3]).apart([2, 0]) == [0, 2]


def test_of_two_partners_one_lies_inside_the_other() -> None:
    some = sharing([2, 3, 3], [(0, 1), (1, 2)])
    assert (some.is_inside(0, 1), some.is_inside(1, 0)) == (True, False)
    assert (some.is_inside(2, 1), some.is_inside(1, 2)) == (True, False)


def test_pairs_are_told_once_and_only_if_both_are_alive_at_one_time() -> None:
    rows = [{"id": k, "size": 1, "start": k, "end": k + 2} for k in range(3)]
    problem = Problem.model_validate({"buffers": rows, "may_share": [[1, 0], [0, 2], [1, 2]]})
    assert Sharing(compile_problem(problem)).pairs == [(0, 1), (1, 2)]


def test_clusters_are_joined_by_partners_and_by_views_among_the_members() -> None:
    some = sharing([2] * 7, [(0, 1), (3, 4)], {2: (1, 2), 6: (5, 0)})
    assert sorted(map(sorted, some.clusters(range(7)))) == [[0, 1, 2], [3, 4], [5, 6]]
    assert some.clusters([0, 2, 3, 5]) == []
