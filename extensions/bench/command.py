"""The command `memplan bench`, which runs solvers on suites of problems, or compares two files of results."""

from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from memplan.api.cli.flags import Argument, Flag, RangeType, time_limit
from memplan.api.cli.help import SectionedCommand
from memplan.api.cli.streams import refuse_unwritable, write_output
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.model.sizes import parse_size

REGRESSED = 1
FOUND_WRONG = 3
RUN_FAILED = 4
_LEAST_MEMORY = 2**26
_SUITES = "Folders of problems, or files."
_FILE = click.Path(path_type=Path)


@click.command(
    cls=SectionedCommand,
    params=[
        Argument("suites", nargs=-1, required=False, metavar="[SUITE]...", help=_SUITES),
        Flag("solvers", default="auto", metavar="A,B", help="Run these solvers and peers."),
        time_limit("The time limit of each run"),
        Flag("memory_limit", default="8GiB", metavar="SIZE", help="The memory that each process may use."),
        Flag("seeds", default="1", metavar="1,2", help="Run each solver once with each of these seeds."),
        Flag("at_once", "--jobs", type=RangeType(min=1), default=1, help="Do this many runs at the same time."),
        Flag("on", metavar="ADDRESS", help="Run on this cluster: dask://HOST:PORT or ray://HOST:PORT."),
        Flag(
            "cold",
            "--cold/--no-cold",
            is_flag=True,
            help="Also count the time in which a process loads what its first problem needs.",
        ),
        Flag(
            "output",
            "--output",
            "-o",
            type=_FILE,
            metavar="RESULTS",
            help="Append the rows to this file, as CSV if it ends in .csv, and skip the runs that it has.",
        ),
        Flag("plot", type=_FILE, metavar="FILE.svg", help="Draw quality and solved runs over time, for all rows."),
        Flag("compared", "--compare", type=(_FILE, _FILE), metavar="OLD NEW", help="Compare two files of results."),
    ],
)
def bench(
    suites: Sequence[str],
    solvers: str,
    time_limit: float,
    memory_limit: str,
    seeds: str,
    at_once: int,
    on: str | None,
    cold: bool,
    output: Path | None,
    plot: Path | None,
    compared: tuple[Path, Path] | None,
) -> int | None:
    """Run solvers on suites, each run in a separate process, or compare two files of results.

    Rows are written to RESULTS, or to standard output, as they come. A run whose row is in RESULTS already is not
    repeated.
    Exit status: 0; 1 --compare found a regression; 2 wrong input; 3 a plan or a claim was wrong; 4 a run failed, such
    as a solver that ended with an error, or all runs of a solver were skipped. A run that is late or needs too much
    memory did not fail.
    """
    from memplan.extensions.bench import steps
    from memplan.extensions.bench.running import jobs, require_time_limit

    if compared is not None:
        _refuse_idle_flags(click.get_current_context(), "compared")
        if not steps.tell_comparison(*compared):
            return REGRESSED
        return None
    if not suites and output is None:
        raise OptionError("bench: must have a SUITE to run, RESULTS to report on (-o) or --compare")
    require_time_limit(time_limit, "time-limit")
    if plot is not None:
        refuse_unwritable(str(plot))
    for name, path, suffixes in (("output", output, (".jsonl", ".csv", "")), ("plot", plot, (".svg",))):
        if path is not None and path.suffix not in suffixes:
            raise OptionError(f"{name}: must end in {' or '.join(filter(None, suffixes))}, got {excerpt(str(path))}")
    wanted = jobs(
        suites, _solver_names(solvers), _seed_numbers(seeds), time_limit, _size_in_bytes(memory_limit), is_warm=not cold
    )
    results = steps.run_all(wanted, at_once, output, on)
    if plot is not None:
        from memplan.extensions.bench.plot import draw_curves

        write_output(str(plot), draw_curves(results))
    if not steps.report(results):
        return FOUND_WRONG
    # A failed run has no numbers to compare, so it must not look like a finished benchmark.
    ran = {row.solver for row in results if row.outcome != "skipped"}
    return RUN_FAILED if any(row.outcome == "failed" or row.solver not in ran for row in results) else None


def _refuse_idle_flags(context: click.Context, deciding: str) -> None:
    """Raise OptionError if an argument or flag is given that has no effect together with the option `deciding`."""
    for each in context.command.params:
        source = context.get_parameter_source(each.name or "")
        if each.name != deciding and source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
            flag = max(each.opts, key=len).lstrip("-")
            raise OptionError(f"{flag}: must be left out with --compare, which runs nothing")


def _solver_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _seed_numbers(text: str) -> list[int]:
    """Return the seeds in a list such as `0,1,2`. Raises OptionError if an entry is not an integer."""
    try:
        return [int(seed) for seed in text.split(",")]
    except ValueError:
        raise OptionError(f"seeds: must be integers with commas between, such as 1,2,3, got {excerpt(text)}") from None


def _size_in_bytes(text: str) -> int:
    """Return the bytes of a size such as `4GiB`. Raises OptionError for any other text."""
    try:
        size = parse_size(text)
    except ValueError as error:
        raise OptionError(f"memory-limit: {error}") from None
    if size < _LEAST_MEMORY:
        raise OptionError(f"memory-limit: must be at least 64MiB for Python, got {excerpt(text)} (the default is 8GiB)")
    return size
