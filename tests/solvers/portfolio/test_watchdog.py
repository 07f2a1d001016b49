"""The watchdog ends searches at their deadlines and when they are cancelled."""

import threading
import time

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.watchdog import watched
from memplan.solvers.search.incumbent import Search

PROBLEM = Problem(buffers=[{"id": 0, "size": 8, "start": 0, "end": 1}])


def search(lasts_s: float) -> Search:
    return Search(compile_problem(PROBLEM), deadline=time.monotonic() + lasts_s)


def wait_for_the_flag(running: Search) -> bool:
    """Wait for the stop flag, as a kernel does; return True if it was set."""
    give_up = time.monotonic() + 20
    while running.flag[0] == 0 and time.monotonic() < give_up:
        time.sleep(0.001)
    return bool(running.flag[0] == 1)


def test_cancelling_ends_a_running_search() -> None:
    cancelled = threading.Event()
    with watched(running := search(60), cancelled):
        assert running.flag[0] == 0
        cancelled.set()
        assert wait_for_the_flag(running)
    assert running.stop_reason == "cancelled"


def test_a_search_cancelled_before_its_start_runs_no_solver() -> None:
    cancelled = threading.Event()
    cancelled.set()
    with watched(running := search(60), cancelled):
        assert running.stop_reason == "cancelled"


def test_one_watchdog_thread_watches_many_searches() -> None:
    cancelled = threading.Event()
    searches = [search(60) for _ in range(20)]
    with watched(first := search(60), cancelled):
        assert len([thread for thread in threading.enumerate() if thread.name == "memplan-watch"]) == 1
        for each in searches:
            with watched(each, None):
                pass
        cancelled.set()
        assert wait_for_the_flag(first)
    assert [each.stop_reason for each in searches] == [None] * 20
