"""Random problems of buffers that move: plans, verifier, simulation and brute force agree."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.moves_agreement import faults
from tests.support.depth import seeds


@pytest.mark.slow
@pytest.mark.drawn
def test_plans_of_buffers_that_move_agree_with_brute_force() -> None:
    tally = Counter[str]()
    assert {seed: found for seed in seeds(30) if (found := [*faults(seed, tally)])} == {}
    assert tally["moved"] > 4


def test_a_pool_with_room_for_all_buffers_but_not_with_their_banks_is_left() -> None:
    assert [*faults(21193, Counter[str]())] == []
