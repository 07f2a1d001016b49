"""`memplan replay`: the solve of a bundle once more, and if it says the same."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import Quiet
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import problem_in, read_as, refuse_unwritable, say, write
from memplan.capabilities.sizes import with_capacities
from memplan.planner.formats import memplan_json
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.studies.replay.bundle import ReplayBundle, ReplayResult, read_bundle
from memplan.solvers.studies.replay.bundle import replay as replay_bundle
from memplan.solvers.studies.replay.source_file import SourceFile

ANOTHER_PLAN, ANOTHER_PEAK = 4, 5
_STATUS = {"bytes": 0, "peak": ANOTHER_PLAN, "nothing": ANOTHER_PEAK}
_WORDS = {"bytes": "the same bytes", "peak": "another plan of the same peak", "nothing": "another peak"}


def replay(
    bundle_file: Annotated[
        str, typer.Argument(metavar="BUNDLE", help="What `memplan plan --bundle` wrote, or - for standard input.")
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PLAN", help="Write the new plan here, as JSON.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Solve once more what a bundle holds, and compare the answers.

    Exit status: 0 the same bytes, 4 another plan of the same peak, 5 another peak, 2 wrong input, 130 interrupted.
    """
    refuse_unwritable(output)
    bundle = read_as(bundle_file, read_bundle)

    def read(file: SourceFile) -> Problem:
        return with_capacities(problem_in(file.data, file.name or "", file.model, file.inclusive)[0], file.capacity)

    with graceful_interrupts() as cancelled:
        control = SolveControl(cancelled=cancelled)
        found, plan = run_in_thread(lambda: replay_bundle(bundle, read, control), lambda: None)
    write(None, to_json(found) + b"\n")
    if output is not None:
        write(output, memplan_json.write_plan(plan, read(bundle.problem.file)))
    if not quiet:
        _tell(bundle, found)
    raise typer.Exit(INTERRUPTED if cancelled.is_set() else _STATUS[found.same])


def _tell(bundle: ReplayBundle, found: ReplayResult) -> None:
    note = "" if bundle.reproducible else f"; it was not said to be reproducible ({_why_not(bundle)})"
    say(f"memplan: {_WORDS[found.same]}{note}")
    if found.same == "nothing":
        say(f"memplan: peak {found.peak_before} ({found.status_before}) then, {found.peak} ({found.status}) now")
    if not found.is_valid:
        say("memplan: the answer in the bundle is not valid for its problem")
    for name, (then, now) in found.environment.items():
        say(f"memplan: {name}: {then or 'none'} then, {now or 'none'} now")


def _why_not(bundle: ReplayBundle) -> str:
    return bundle.answer.disturbed_by or "the search was not deterministic"
