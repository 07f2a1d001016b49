"""Equal shares of connections: a process leaves the next one to another that has fewer."""

from __future__ import annotations

from pathlib import Path

from memplan.api.http.limits.turns import Turns


def two(folder: Path) -> tuple[Turns, Turns]:
    """Return the turns of two processes that are there, with no connections."""
    one, other = (Turns(folder / "connections", number, 2) for number in range(2))
    one.note(0)
    other.note(0)
    return one, other


def test_one_with_more_connections_than_another_waits(tmp_path: Path) -> None:
    one, other = two(tmp_path)
    assert not one.must_wait(0)
    assert one.must_wait(1)
    other.note(1)
    assert not one.must_wait(1)
    assert other.must_wait(5)


def test_a_process_alone_never_waits(tmp_path: Path) -> None:
    assert not Turns(tmp_path / "connections", 0, 1).must_wait(1_000)


def test_no_process_takes_connections_before_all_are_there(tmp_path: Path) -> None:
    first, last = (Turns(tmp_path / "connections", number, 2) for number in range(2))
    assert {first.must_wait(0) for _ in range(1_000)} == {True}
    last.note(0)
    assert not first.must_wait(0)


def test_a_process_in_the_place_of_another_begins_with_none(tmp_path: Path) -> None:
    gone, other = two(tmp_path)
    gone.note(7)
    other.note(5)
    new = Turns(tmp_path / "connections", 0, 2)
    assert not other.must_wait(5), "until it is there"
    new.note(0)
    assert other.must_wait(5)


def test_a_burst_is_shared_equally_with_a_process_that_is_busy_for_a_while(tmp_path: Path) -> None:
    both, counts = two(tmp_path), [0, 0]
    for moment in range(200):
        for k in (0, 1) if moment % 20 == 0 else (0,):  # the second looks up from its work now and then
            if sum(counts) < 16 and not both[k].must_wait(counts[k]):
                counts[k] += 1
    assert counts == [8, 8]


def test_a_process_that_hangs_does_not_keep_connections_waiting(tmp_path: Path) -> None:
    one, hangs = two(tmp_path)
    waits = []
    for count in range(1, 100):
        waits.append(0)
        while one.must_wait(count):
            waits[-1] += 1
    assert waits[0] > 1
    assert set(waits[1:]) == {1}
    hangs.note(0)
    assert [one.must_wait(100) for _ in range(2)] == [True, True], "it lives again"
