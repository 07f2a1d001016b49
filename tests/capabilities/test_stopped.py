"""Every question, stopped at any moment: cancelled or by its clock, it gives an answer that is verified."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from memplan.capabilities.registry import CAPABILITIES
from packages.tile.tests.small_schedules import drawn_schedule
from tests.support.depth import seeds
from tests.support.small_problems import small_problems
from tests.support.stopping import Asks, stopped

MOMENTS = 12
WAYS: dict[str, list[dict[str, Any]]] = {
    "schedule": [{}, {"frontier": True}, {"objective": "peak"}],
    "order": [{}, {"recompute": True}, {"in_place": True}],
    "explain": [{}, {"what_if": True}, {"repairs": 2}],
    "verify": [{"better": True, "again": True}],
}


def bodies(name: str) -> Iterator[dict[str, Any]]:
    """Yield the questions that are stopped: the example, and small ones that are drawn, in every way of asking."""
    example = CAPABILITIES[name].example
    drawn: list[dict[str, Any]] = []
    if name in ("plan", "explain", "certify"):
        drawn = [{"problem": json.loads(row.model_dump_json())} for k in seeds(2) for row in small_problems(k, 1, 7)]
    if name == "schedule":
        drawn = [{"problem": json.loads(drawn_schedule(k).model_dump_json())} for k in seeds(2)]
    for way in WAYS.get(name, [{}]):
        for change in ({}, *drawn):
            yield {**example, **change, "options": {**example.get("options", {}), **way, "time_limit_s": 2}}


@pytest.mark.drawn
@pytest.mark.parametrize("by_clock", [False, True])
@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_question_that_is_stopped_at_any_ask_gives_an_answer_that_holds(name: str, by_clock: bool) -> None:
    for body in bodies(name):
        whole = Asks()
        assert stopped(CAPABILITIES[name], body, whole, by_clock=by_clock) == "answered", body
        for last in range(0, whole.count + 1, max(1, whole.count // MOMENTS)):
            assert stopped(CAPABILITIES[name], body, Asks(last), by_clock=by_clock) == "answered", (last, body)
