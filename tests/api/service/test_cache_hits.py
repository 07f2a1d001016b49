"""Cached answers equal the answers of their searches, for eight concurrent callers."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from memplan.api.http.routes.questions import CACHE
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.problem import Problem
from tests.support.depth import seeds
from tests.support.meeting_kinds import problems
from tests.support.server import RunningServer

_CALLERS, _EACH, _HITS = 8, 24, 2
_OF_TIMES = {"wall_time_s"}

pytestmark = pytest.mark.filterwarnings("ignore:buffer .* has no lifetime")


def timeless_fields(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    return {name: value for name, value in json.loads(answer.content).items() if name not in _OF_TIMES}


def ask_repeatedly(server: RunningServer, problem: Problem) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the last answer computed by a search, and the later answers from the cache.

    If a search finds nothing within its time limit, the next request searches again. If an earlier drawn problem was
    equal, all answers are from the cache, and the first of them is returned in place of a search's.
    """
    content = json.dumps({"problem": json.loads(write_problem(problem)), "options": {"time_limit_s": 5}})
    head = {"content-type": "application/json"}
    answers = [server.client.post("/v1/plan", content=content, headers=head) for _ in range(1 + _HITS)]
    searched = max((k for k, each in enumerate(answers) if each.headers.get(CACHE) != "hit"), default=0)
    return timeless_fields(answers[searched]), [timeless_fields(each) for each in answers[searched + 1 :]]


@pytest.mark.slow
@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(1, first=89))
def test_a_cache_hit_equals_the_answer_of_the_first_request(seed: int, server: RunningServer) -> None:
    drawn = {name: problem for name, problem, _ in problems(seed, _EACH)}
    with ThreadPoolExecutor(_CALLERS) as callers:
        found = dict(zip(drawn, callers.map(lambda each: ask_repeatedly(server, each), drawn.values()), strict=True))
    assert {name: hits for name, (miss, hits) in found.items() if any(hit != miss for hit in hits)} == {}
    assert [*map(list, (hit for _, hits in found.values() for hit in hits))] == [
        list(miss) for miss, hits in found.values() for _ in hits
    ]
    assert sum(len(hits) for _, hits in found.values()) > _EACH
