"""Searches with limited work, in which the exact search is trusted."""

from __future__ import annotations

import time

from memplan.planner.instance.instance import Instance
from memplan.solvers.search.incumbent import Search


def exact_search(instance: Instance, work_limit: int = 10**7) -> Search:
    return Search(
        instance,
        deadline=time.monotonic() + 60.0,
        deterministic=True,
        work_limit=work_limit,
        trusted=frozenset({"core", "exact"}),
    )
