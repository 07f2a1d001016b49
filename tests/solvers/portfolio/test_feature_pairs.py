"""Pairs of features, at buffer counts just below and above each threshold where solvers change their method.

`python -m lab.agreement --pairs` runs all sizes, solvers and engines; `test_meeting_kinds.py` has few buffers.
"""

import pytest

from lab.support.feature_pairs import PAIRS, THRESHOLDS, Case, complaints
from tests.support.depth import seeds

SIDES = [n + more for n in THRESHOLDS for more in (0, 1)]
FEW, MANY, MOST = [9, 17, *SIDES[:2]], SIDES[2:6], SIDES[6:]
SOLVERS = ("local-search", "exact", "memory-choice", "core", "lemmas")


pytestmark = [pytest.mark.slow, pytest.mark.drawn]


@pytest.mark.parametrize("side", seeds(2))
def test_plans_of_small_problems_with_two_features_violate_no_rule(side: int) -> None:
    found = []
    for k, pair in enumerate(PAIRS, side):
        found += complaints(Case(pair, FEW[k % len(FEW)], k), ["auto", SOLVERS[k % len(SOLVERS)]], 0.02)
    assert found == []


@pytest.mark.parametrize(("sizes", "every"), [(MANY, 3), (MOST, 9)], ids=["many", "most"])
def test_plans_of_many_buffers_with_two_features_violate_no_rule(sizes: list[int], every: int) -> None:
    found = []
    for k, pair in enumerate(PAIRS[::every]):
        found += complaints(Case(pair, sizes[k % len(sizes)], k), ["auto"], 0.02)
    assert found == []
