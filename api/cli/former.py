"""Command lines of the release before, as they are now: each goes on working for one release, with a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Former:
    """A flag of a command that has become a command: its name, and the flag that takes the value of the old one."""

    command: str
    flag: str
    now: str
    takes: str | None = None


FORMER: tuple[Former, ...] = (
    Former("plan", "--sweep", "sweep", "--size"),
    Former("order", "--recompute", "recompute"),
)


def as_now(arguments: Sequence[str], warn: Callable[[str], None]) -> list[str]:
    """Return a command line as it is written now; `warn` is called with a sentence where it was another."""
    given = list(arguments)
    for former in FORMER:
        if given[:1] != [former.command] or former.flag not in {argument.partition("=")[0] for argument in given}:
            continue
        warn(f"{former.command} {former.flag} is `memplan {former.now}` now, and goes with the next release")
        given = [former.now, *_renamed(given[1:], former)]
    return given


def _renamed(arguments: Sequence[str], former: Former) -> list[str]:
    """Return arguments with the flag of the release before as the one that takes its value, or left out."""
    found = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name != former.flag:
            found.append(argument)
        elif former.takes is not None:
            found.append(f"{former.takes}{equals}{value}")
    return found
