"""`memplan plan --reorder`: the problem that a file's operations pose in a better order, with a plan to start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from memplan.api.cli.from_capability import Given
from memplan.api.cli.streams import format_for, named_as, refuse_unwritable, say, write
from memplan.capabilities.capability import Control
from memplan.capabilities.order.reordering import reorder
from memplan.capabilities.sizes import with_capacities
from memplan.planner.errors import OptionError
from memplan.planner.formats import FORMATS

_SHARE = 0.6
"""The part of the time for the order; the plan has the rest."""


def is_asked(given: Mapping[str, Any]) -> bool:
    """Return True where the order is to be changed; raises OptionError for options that do not go together."""
    if not given["reorder"]:
        for name in ("order_file", "problem_file"):
            if given[name] is not None:
                raise OptionError(f"{name.replace('_', '-')}: must be given with reorder only, got {given[name]}")
        return False
    for name in ("server", "inclusive"):
        if given[name] is not None:
            raise OptionError(f"{name}: must not be given with reorder, got {given[name]}")
    for file in (given["order_file"], given["problem_file"]):
        refuse_unwritable(file)
    return True


def reordered(given: Given, control: Control) -> Mapping[str, Any]:
    """Reorder the operations in a file; return the problem to plan, and the plan to start from."""
    reader, path = given.reader, str(given.files["problem"])
    with named_as(path):
        found = reorder(
            reader.data,
            path,
            options=reader.options,
            time_limit_s=_SHARE * control.begun(given.options).left_s,
            deterministic=given.options.counts_work,
            cancelled=control.cancelled,
        )
    problem = with_capacities(found.placed.problem, reader.options.capacity)
    if given.flags["order_file"] is not None:
        write(given.flags["order_file"], to_json(found.facts()) + b"\n")
    if (target := given.flags["problem_file"]) is not None:
        write(target, FORMATS[format_for(target, None)].write_problem(problem))
    if not given.flags["quiet"]:
        say("memplan: " + "".join(found.lines()))
    plan = found.placed.plan
    return {"problem": problem} if plan.peak is None else {"problem": problem, "start": plan}
