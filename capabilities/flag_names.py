"""The flags of options: how commands spell them, and sentences that name them as requests do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from memplan.capabilities.registry import CAPABILITIES

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
_FLAG = r"`[^`]*`|(--[a-z]+(?:-[a-z]+)*)[ =](?=[^\s-])"


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


def in_fields(sentence: str) -> str:
    """Return a sentence with the options of requests in the place of flags: `--dim n=1` is `dims=n=1`.

    Whole commands, which stand between backticks, stay, and so do flags that are no options of requests.
    """

    def said(found: re.Match[str]) -> str:
        field = _fields().get(found[1]) if found[1] else None
        return found[0] if field is None else f"{field}="

    return re.sub(_FLAG, said, sentence)


@cache
def _fields() -> Mapping[str, str]:
    """Return the option of requests for each flag; of two with one flag, the first by name."""
    found: dict[str, str] = {}
    for row in CAPABILITIES.values():
        models = (row.options, *(each.reading for each in row.inputs if each.reading is not None))
        for name in sorted(name for model in models for name in model.model_fields):
            for flag in spelled(name):
                found[flag] = min(name, found.get(flag, name))
    return found
