"""The look-up of reference planners by their names, such as `reference:NAME`."""

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.errors.did_you_mean import closest_word
from memplan.planner.systems import ReferencePlanner, reference_planners

PREFIX = "reference:"
"""The prefix of the names of reference planners."""


def is_own_planner(solver: str) -> bool:
    """Return True if the name has the form `module:function`, which denotes a planner in the caller's own code."""
    return ":" in solver and not solver.startswith(PREFIX)


def find(name: str) -> ReferencePlanner | None:
    """Return the reference planner with this name, or None for names without the prefix `reference:`.

    Raises OptionError if the planner is unknown.
    """
    if not name.startswith(PREFIX):
        return None
    planners = reference_planners()
    if name not in planners:
        names = [planner.removeprefix(PREFIX) for planner in planners]
        near = closest_word(name.removeprefix(PREFIX), names)
        hint = "" if near is None else f" (did you mean {PREFIX}{near}?)"
        raise OptionError(f"solver: {PREFIX} must be followed by one of {', '.join(names)}, got {excerpt(name)}{hint}")
    return planners[name]
