"""A few hundred of the programs of `lab.liveness_agreement`, and what must hold of any program."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.liveness_agreement import disagreements
from memplan.planner.errors import OperationsError
from memplan.planner.liveness import analyse
from memplan.planner.operations.operations import operations_from
from tests.support.depth import seeds
from tests.support.random_programs import random_program


@pytest.mark.drawn
@pytest.mark.slow
def test_the_analysis_and_shadow_execution_agree_with_brute_force() -> None:
    tally: Counter[str] = Counter()
    assert [line for seed in seeds(60) for line in disagreements(seed, tally)] == []
    assert tally["programs"] > 50
    assert tally["clobbered plans"] > 20


@pytest.mark.drawn
def test_by_usage_and_nested_nothing_is_alive_that_is_not_by_scope_and_lifted() -> None:
    for seed in seeds(50):
        try:
            found = analyse(operations_from(random_program(seed)))
        except OperationsError:
            continue
        assert min(row.lost_bytes for row in found.readings) == 0, seed
