"""A few of the problems of `tests.agreement`; the exact search alone, since CP-SAT needs a process of its own."""

from __future__ import annotations

from tests.agreement import disagreements


def test_the_exact_search_and_brute_force_agree() -> None:
    assert [line for seed in range(300) for line in disagreements(seed, ("exact",))] == []
