from __future__ import annotations

import pytest

from tests.support import engine_checks
from tests.support.depth import DEPTH


@pytest.mark.drawn
def test_it_keeps_every_constraint() -> None:
    engine_checks.check_that_it_keeps_every_constraint("cbc", count=15 * DEPTH)


def test_it_proves_the_small_public_set() -> None:
    engine_checks.check_that_it_proves_the_small_set("cbc")


def test_it_takes_the_start() -> None:
    answer = engine_checks.minimised_from_a_start("cbc")
    assert "MIPStart provided solution with cost" in answer.log


def test_its_clock_is_that_of_the_deadline_and_not_the_processor_time() -> None:
    assert "-timeMode elapsed" in engine_checks.minimised_from_a_start("cbc").log


def test_large_sizes_make_no_false_claim() -> None:
    engine_checks.check_that_large_sizes_make_no_false_claim("cbc")
