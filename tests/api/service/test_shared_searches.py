"""Searches that several callers share, and those whose callers have left."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.single_flight import SharedSearch, SharedSearches
from memplan.planner.errors import OptionError
from memplan.solvers.search.result import SolveResult
from tests.support.plan_services import QUICK


def test_a_search_that_fails_after_its_caller_was_answered_leaves_nothing_in_the_log() -> None:
    said: list[dict[str, Any]] = []

    async def day() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: said.append(context))
        problem, may_end = CompiledProblem.of(QUICK), asyncio.Event()

        async def search(_shared: SharedSearch) -> SolveResult | None:
            await may_end.wait()
            raise OptionError("seed: must be another one")

        searches = SharedSearches()
        shared = searches.start("key", problem, search)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(shared.wait(problem, asyncio.Event(), None), 0.01)
        may_end.set()
        while searches.running:
            await asyncio.sleep(0)
        del shared
        gc.collect()

    asyncio.run(day())
    assert said == []
