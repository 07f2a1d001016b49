"""`memplan bench`: solvers and peers side by side on suites, and regressions between two files of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memplan.api.cli.flags import seconds_limit
from memplan.planner.errors import OptionError, shown
from memplan.planner.model.sizes import parse_size

REGRESSED = 1
FOUND_WRONG = 3
_SUITES = "Folders of problems, or files."


def bench(
    suites: Annotated[list[str] | None, typer.Argument(metavar="SUITE", help=_SUITES)] = None,
    solvers: Annotated[str, typer.Option(metavar="A,B", help="Run these solvers and peers.")] = "auto",
    time_limit: Annotated[float, seconds_limit("The time limit of each run")] = 10.0,
    memory_limit: Annotated[str, typer.Option(metavar="SIZE", help="The memory that each process may use.")] = "8GiB",
    seeds: Annotated[str, typer.Option(metavar="1,2", help="Run each solver once with each of these seeds.")] = "1",
    at_once: Annotated[int, typer.Option("--jobs", min=1, help="Do this many runs at the same time.")] = 1,
    on: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on this cluster: dask://HOST:PORT or ray://HOST:PORT.")
    ] = None,
    cold: Annotated[
        bool, typer.Option(help="Also count the time in which a process loads what its first problem needs.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="RESULTS", help="Append the rows to this file, and skip the runs that it has."
        ),
    ] = None,
    compared: Annotated[
        tuple[Path, Path] | None, typer.Option("--compare", metavar="OLD NEW", help="Compare two files of results.")
    ] = None,
) -> None:
    """Run solvers on suites, each run in a process of its own, or compare two files of results.

    Rows are written to RESULTS, or to standard output, as they come. A run whose row is in RESULTS already is not
    repeated.
    Exit status: 0; 1 --compare found a regression; 2 wrong input; 3 a plan or a claim was wrong.
    """
    # Imported here, because no other command should wait for it.
    from memplan_bench import steps
    from memplan_bench.running import jobs

    if compared is not None:
        if not steps.tell_comparison(*compared):
            raise typer.Exit(REGRESSED)
        return
    if not suites and output is None:
        raise OptionError("bench: must have a SUITE to run, RESULTS to report on (-o) or --compare")
    wanted = jobs(suites or [], _names(solvers), _seeds(seeds), time_limit, _bytes(memory_limit), is_warm=not cold)
    results = steps.run_all(wanted, at_once, output, on)
    if not steps.report(results):
        raise typer.Exit(FOUND_WRONG)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _seeds(text: str) -> list[int]:
    try:
        return [int(seed) for seed in text.split(",")]
    except ValueError:
        raise OptionError(f"seeds: must be integers with commas between, got {shown(text)}") from None


def _bytes(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise OptionError(f"memory-limit: {error}") from None
