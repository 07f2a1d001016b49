"""The reference planners of all systems, by their names."""

from __future__ import annotations

from memplan.planner.errors import OptionError, shown
from memplan.planner.errors.did_you_mean import meant
from memplan.planner.systems import ReferencePlanner, systems

PREFIX = "reference:"
"""The prefix of a reference planner's name where a solver is named."""
PLANNERS = tuple(planner for each in systems() for planner in each.planners)
BY_NAME = {planner.name: planner for planner in PLANNERS}


def find(name: str) -> ReferencePlanner | None:
    """Return the reference planner of that name, None for a name of something else; raises OptionError."""
    if not name.startswith(PREFIX):
        return None
    if name not in BY_NAME:
        names = [planner.name.removeprefix(PREFIX) for planner in PLANNERS]
        near = meant(name.removeprefix(PREFIX), names)
        hint = "" if near is None else f" (did you mean {PREFIX}{near}?)"
        raise OptionError(f"solver: {PREFIX} must come with one of {', '.join(names)}, got {shown(name)}{hint}")
    return BY_NAME[name]
