from __future__ import annotations

import json

import pytest

from lab.hard_suite import GENERATED, MINIMALLOC, RECORD, Cost, cost, problem


def test_the_record_is_of_the_problems_of_the_suite() -> None:
    assert [*json.loads(RECORD.read_text())] == [*MINIMALLOC, *GENERATED]
    assert len({*MINIMALLOC, *GENERATED}) == 40


@pytest.mark.parametrize("name", ["K removed 5@1", "perfect:n=300,kind=guillotine,slack=5.0,by=removal,seed=1"])
def test_a_hard_problem_costs_the_nodes_that_are_on_record(name: str) -> None:
    assert cost(problem(name)) == Cost(*json.loads(RECORD.read_text())[name])
