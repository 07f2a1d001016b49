"""The flags of options, as commands spell them."""

from __future__ import annotations

import shlex

from memplan.planner.errors import Option

SPELLED = {
    "barriers": ("--barrier",),
    "capacity": ("--capacity", "--pool"),
    "inclusive": ("--inclusive/--half-open",),
    "budgets": ("--budget",),
    "dims": ("--dim",),
    "display": ("--format",),
    "kinds": ("--kind",),
    "pools": ("--pool",),
    "sizes": ("--size",),
}
"""The flags that do not follow from the name of their field."""


def dashed(name: str) -> str:
    """Write a name as flags and calls have it."""
    return name.replace("_", "-")


def spelled(name: str) -> tuple[str, ...]:
    """Return the flags of a field: seconds are limits, underscores are dashes."""
    if name in SPELLED:
        return SPELLED[name]
    if name.endswith("_s"):
        name = name.removesuffix("_s").removesuffix("_limit") + "_limit"
    return (f"--{dashed(name)}",)


def as_flag(option: Option) -> str:
    """Write an option that a sentence names; what the sentence is about stands without dashes."""
    flag = spelled(option.field)[0].partition("/")[0]
    if option.value is None:
        return flag.removeprefix("--")
    return f"{flag} {shlex.quote(option.value)}" if option.value else flag
