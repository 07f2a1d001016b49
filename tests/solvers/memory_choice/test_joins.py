"""Plans for several memories that are never worse than plans of related problems; see `lab.joins`."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.joins import draw, faults

pytestmark = [pytest.mark.slow, pytest.mark.drawn]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 91, 148])
def test_plans_with_two_features_cost_no_more_than_plans_of_related_problems(seed: int) -> None:
    assert list(faults(seed, Counter())) == [], draw(seed)
