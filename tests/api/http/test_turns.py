"""Equal shares of connections: a process leaves the next one to another that has fewer."""

from __future__ import annotations

from pathlib import Path

from memplan.api.http.limits.turns import Turns


def test_one_with_more_connections_than_another_is_ahead(tmp_path: Path) -> None:
    one, other = (Turns(tmp_path / "connections", number) for number in range(2))
    assert not one.is_ahead(0)
    assert not other.is_ahead(0)
    assert one.is_ahead(1)
    other.note(1)
    assert not one.is_ahead(1)
    assert other.is_ahead(5)


def test_a_process_alone_is_never_ahead(tmp_path: Path) -> None:
    assert not Turns(tmp_path / "connections", 3).is_ahead(1_000)


def test_a_process_in_the_place_of_another_begins_with_none(tmp_path: Path) -> None:
    gone, other = (Turns(tmp_path / "connections", number) for number in range(2))
    gone.note(7)
    other.note(9)
    Turns(tmp_path / "connections", 0)
    assert other.is_ahead(1)
