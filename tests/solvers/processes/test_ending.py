"""What runs in a thread ends when its time is over, wherever it is."""

from __future__ import annotations

import time

import pytest

from memplan.solvers.processes.ending import Ending, OverError


def test_what_looks_at_no_clock_is_ended() -> None:
    def for_ever() -> None:
        with Ending() as ending:
            ending.within(0.01)
            while True:
                try:
                    sum(range(1000))
                except Exception:  # noqa: BLE001 - which an end is not
                    continue

    with pytest.raises(OverError):
        for_ever()


def test_what_has_ended_is_left_alone_and_a_later_end_takes_the_place_of_an_earlier_one() -> None:
    with Ending() as ending:
        ending.within(0.01)
        ending.within(60.0)
        time.sleep(0.05)
    with Ending() as short:
        short.within(0.02)
    assert sum(range(1_000_000)) > 0
    time.sleep(0.05)
