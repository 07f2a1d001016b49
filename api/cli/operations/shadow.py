"""`memplan shadow`: check that operations can run on a plan's addresses."""

from __future__ import annotations

from dataclasses import asdict

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import OperationsFile, PlanFile, Quiet, refuse_standard_twice
from memplan.api.cli.streams import read_as, read_plan, say, write
from memplan.api.reports.liveness_requests import read_operations
from memplan.planner.liveness import problem_of
from memplan.planner.liveness.shadow import shadow as clobbers_of

VIOLATED = 3


def shadow(operations_file: OperationsFile, plan_file: PlanFile, quiet: Quiet = False) -> None:
    """Run operations on a plan's addresses, in every way, and tell what is overwritten before it is read.

    This finds wrong lifetimes, which `memplan verify` believes. Exit status: 0 nothing is, 3 something is, 2 wrong
    input.
    """
    refuse_standard_twice(operations_file, plan_file, "OPERATIONS")
    operations = read_as(operations_file, read_operations)
    plan = read_plan(plan_file, problem_of(operations))
    found = clobbers_of(operations, plan)
    write(None, to_json({"intact": not found, "clobbered": [asdict(entry) for entry in found]}) + b"\n")
    if not quiet:
        for entry in found:
            low, high = entry.bytes
            what = f"{entry.path} needs {entry.buffer}, but {entry.overwritten_at} wrote {entry.by}"
            say(f"memplan: {what} over bytes {low} to {high} of {entry.pool}")
        if not found:
            say(f"memplan: intact, {len(plan.placements):,} placements")
    raise typer.Exit(VIOLATED if found else 0)
