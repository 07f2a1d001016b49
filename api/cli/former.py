"""Command lines of the release before, as they are now: each goes on working for one release, with a word."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Former:
    """A flag of a command that has become a command: its name, and the flag that takes the value of the old one.

    Where the new one `takes` an argument, that is put after the others. Other flags of the line are `renamed`, and what
    it `adds` stands for what was so by default.
    """

    command: str
    flag: str
    now: str
    takes: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    adds: tuple[str, ...] = ()


ARGUMENT = "ARGUMENT"
"""The value of the old flag is an argument now."""
FORMER: tuple[Former, ...] = (
    # A sweep had the time limit for each size, and none for all of them: here, the longest that there is.
    Former(
        "plan",
        "--sweep",
        "sweep",
        "--size",
        renamed={"--time-limit": "--each-limit"},
        adds=("--each-limit=10", "--time-limit=604800"),
    ),
    Former("plan", "--keep", "replan", ARGUMENT),
    Former("order", "--recompute", "recompute"),
)


def as_now(arguments: Sequence[str], warn: Callable[[str], None]) -> list[str]:
    """Return a command line as it is written now; `warn` is called with a sentence where it was another."""
    given = list(arguments)
    for former in FORMER:
        if given[:1] != [former.command] or former.flag not in {argument.partition("=")[0] for argument in given}:
            continue
        given = [former.now, *former.adds, *_renamed(given[1:], former)]
        warn(f"{former.command} {former.flag} goes with the next release, and is `memplan {shlex.join(given)}` now")
    return given


def _renamed(arguments: Sequence[str], former: Former) -> list[str]:
    """Return arguments with the flag of the release before as what takes its value, or left out."""
    found, last, rest = [], [], iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name != former.flag:
            found.append(former.renamed.get(name, name) + equals + value)
        elif former.takes == ARGUMENT:
            last = [value] if equals else [next(rest, "")]
        elif former.takes is not None:
            found.append(f"{former.takes}{equals}{value}")
    return found + last
