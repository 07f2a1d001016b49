"""The reference is made from the definitions of capabilities and commands."""

from __future__ import annotations

from lab.manual import PAGE, manual


def test_the_manual_is_that_of_the_definitions() -> None:
    assert PAGE.read_text() == manual(), "make it anew by python -m lab.manual"
