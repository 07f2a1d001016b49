"""Who is taken to be dead."""

from __future__ import annotations

from memplan.api.jobs.heartbeats import LEASE_S, HeartbeatMonitor


class Stopwatch:
    """A stopwatch that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_server_whose_beats_stand_still_is_dead_after_a_while() -> None:
    stopwatch = Stopwatch()
    watch = HeartbeatMonitor(stopwatch=stopwatch)
    assert watch.dead({"a": 1, "b": 1}) == {}
    stopwatch.now = LEASE_S - 0.1
    assert watch.dead({"a": 1, "b": 2}) == {}
    stopwatch.now = LEASE_S
    assert watch.dead({"a": 1, "b": 2}) == {"a": 1}


def test_a_server_that_beats_again_is_alive() -> None:
    stopwatch = Stopwatch()
    watch = HeartbeatMonitor(stopwatch=stopwatch)
    watch.dead({"a": 5})
    stopwatch.now = 2 * LEASE_S
    assert watch.dead({"a": 5}) == {"a": 5}
    assert watch.dead({"a": 4}) == {}  # any other number will do: it may have begun anew


def test_a_server_that_is_new_has_all_its_time() -> None:
    stopwatch = Stopwatch()
    watch = HeartbeatMonitor(stopwatch=stopwatch)
    watch.dead({})
    stopwatch.now = 5 * LEASE_S
    assert watch.dead({"a": 1}) == {}


def test_after_a_time_without_store_all_leases_start_anew() -> None:
    stopwatch = Stopwatch()
    watch = HeartbeatMonitor(stopwatch=stopwatch)
    watch.dead({"a": 1})
    stopwatch.now = 5 * LEASE_S
    watch.forget()
    assert watch.dead({"a": 1}) == {}
