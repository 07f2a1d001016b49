"""The spelling of options as flags of commands."""

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
"""The flags whose spelling does not follow from the names of their fields."""


def flags_of(name: str) -> tuple[str, ...]:
    """Return the flags of an option's field: a suffix `_s` becomes `-limit`, and underscores become dashes."""
    if name in SPELLED:
        return SPELLED[name]
    if name.endswith("_s"):
        name = name.removesuffix("_s").removesuffix("_limit") + "_limit"
    return (f"--{name.replace('_', '-')}",)


def flag_text(option: Option) -> str:
    """Return an option as a flag with its value; without a value, as its name without dashes, to begin a sentence."""
    flag = flags_of(option.field)[0].partition("/")[0]
    if option.value is None:
        return flag.removeprefix("--")
    return f"{flag} {shlex.quote(option.value)}" if option.value else flag
