"""The command `memplan library`, which lists, checks and extends the problems and their best known plans."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from pydantic_core import to_json

from memplan.api.cli.flags import LIST_FORMAT, Argument, Flag, integer
from memplan.api.cli.flags import time_limit as limit_flag
from memplan.api.cli.help import SectionedGroup
from memplan.api.cli.streams import print_message, read_bytes, wants_table, write_output
from memplan.planner.errors import OptionError
from memplan.planner.extensions import extensions

FAULTY = NOT_BETTER = 1
WRONG_FORMAT, REFUSED = 2, 3

library = SectionedGroup("library", help=extensions("commands")["library"].help)
_FILE = click.Path(path_type=Path)
_FOLDER = Flag(
    "folder", "--library", type=_FILE, default=Path("library"), metavar="FOLDER", help="The folder of the library."
)
_PROBLEM = Argument("problem", help="A name.")
_PROBLEMS = Argument(
    "problems",
    nargs=-1,
    required=False,
    metavar="[PROBLEM]...",
    help="Names, kinds, benchmark, easy, hard, open, or WORD/KIND.",
)


@library.command(
    "list",
    params=[
        _PROBLEMS,
        Flag("status", metavar="proved|claimed|open", help="List only problems with this status."),
        LIST_FORMAT,
        _FOLDER,
    ],
)
def list_(problems: Sequence[str], status: str | None, display: str | None, folder: Path) -> None:
    """List the problems with their best value, the bound, who found the plan, and how."""
    from memplan.extensions.library.entries import facts

    entries = [entry for entry in _open_library(folder).select(problems) if status in (None, entry.status)]
    if not wants_table(display):
        write_output(None, to_json([facts(entry) for entry in entries]) + b"\n")
        return
    for entry in entries:
        values = (f"{each:,}" if each is not None else "-" for each in (entry.best, entry.bound or entry.claimed))
        best, bound = ("nothing fits", "") if entry.is_infeasible else values
        write_output(
            None, f"{entry.kind:9} {entry.name:50} {entry.status:8} {best:>16} {bound:>16}  {entry.by}\n".encode()
        )


@library.command(
    params=[
        _PROBLEM,
        Flag("output", "--output", "-o", metavar="FILE", help="Write to this file instead of standard output."),
        Flag(
            "what",
            default="problem",
            metavar="problem|plan|proof",
            help="The file to write: the problem, its best plan, or the certificate.",
        ),
        _FOLDER,
    ]
)
def get(problem: str, output: str | None, what: str, folder: Path) -> None:
    """Write the file of a problem, of its best plan, or of its certificate, unchanged."""
    opened = _open_library(folder)
    entry = _single_entry(opened, problem)
    files = {"problem": opened.problem, "plan": opened.plan, "proof": opened.proof}
    if what not in files:
        raise OptionError(f"what: must be one of {', '.join(files)}, got {what}")
    write_output(output, read_bytes(str(files[what](entry))))


@library.command(params=[_FOLDER])
def unpack(folder: Path) -> None:
    """Unpack the archives of all kinds into their folders, where Git ignores the files; other commands do so, too."""
    _open_library(folder).unpack()


@library.command(params=[_FOLDER])
def pack(folder: Path) -> None:
    """Pack files that you changed by hand into the archives of their kinds; equal files give equal archives."""
    for kind in _open_library(folder).pack():
        print_message(f"{folder / kind}: packed")


@library.command(
    params=[_PROBLEMS, Flag("fast", "--fast/--no-fast", is_flag=True, help="Skip large certificates."), _FOLDER]
)
def check(problems: Sequence[str], fast: bool, folder: Path) -> int:
    """Check fingerprints, plans and certificates by the programs of checkers/, and the hash of the whole library.

    Exit status: 0 the library is right, 1 something in it is wrong, 2 wrong input.
    """
    from memplan.extensions.library.checking import check as check_entries
    from memplan.extensions.library.checking import version_fault

    opened, count, faulty = _open_library(folder), 0, 0
    for entry, faults in check_entries(opened, opened.select(problems), is_fast=fast):
        count, faulty = count + 1, faulty + bool(faults)
        for fault in faults:
            print_message(f"{entry.kind}/{entry.name}: {fault}")
    of_set = None if problems else version_fault(opened)
    if of_set is not None:
        print_message(of_set)
    print_message(f"{count} problems, {faulty} with faults")
    return FAULTY if faulty or of_set else 0


@library.command(
    params=[
        _PROBLEM,
        Argument("file", help="A plan or a certificate."),
        Flag("by", help="The name of the person or project that found the plan."),
        Flag("command", help="The command that found the plan."),
        _FOLDER,
    ]
)
def submit(problem: str, file: str, by: str | None, command: str | None, folder: Path) -> int:
    """Check a plan or a certificate by independent code, and add it to the library if it is better.

    Exit status: 0 better, added; 1 not better; 2 wrong format; 3 refused, with the reason.
    """
    from memplan.extensions.library.submitting import Finder
    from memplan.extensions.library.submitting import submit as submit_to

    opened = _open_library(folder)
    verdict = submit_to(opened, _single_entry(opened, problem), read_bytes(file), Finder(by, command))
    write_output(None, f"{verdict.word}: {verdict.entry.name}: {verdict.reason}\n".encode())
    return {"not better": NOT_BETTER, "wrong format": WRONG_FORMAT, "refused": REFUSED}.get(verdict.word, 0)


@library.command(
    params=[
        Argument("command", help="With {problem}, {out} and more, as below; empty: only the report."),
        _PROBLEMS,
        Flag("name", help="The name of the planner in the rows. The default is the first word of the command."),
        limit_flag("Seconds for each problem"),
        Flag(
            "infeasible_status",
            type=integer,
            metavar="STATUS",
            help="The exit status of the planner that means that nothing fits.",
        ),
        Flag(
            "output",
            "--output",
            "-o",
            type=_FILE,
            default=Path("runs.jsonl"),
            metavar="ROWS.jsonl",
            help="Append the rows to this file, as `memplan bench` does.",
        ),
        _FOLDER,
    ]
)
def run(
    command: str,
    problems: Sequence[str],
    name: str | None,
    time_limit: float,
    infeasible_status: int | None,
    output: Path,
    folder: Path,
) -> int:
    """Run a planner on problems, check its plans, and print the report of `memplan bench` about all rows.

    A plan that is better than the best known plan is kept in the folder ROWS.better, next to ROWS, to be submitted.

    In the command, {seconds} is the time limit; {kind} and {limit} are as list has them; {capacity} is the limit, or
    else the best known value: problems that have neither are left out. Exit status: 0; 2 wrong input; 3 a plan was
    invalid or a claim was wrong; 4 a run failed, such as a command that ended with an error.
    """
    from memplan.extensions.bench import steps
    from memplan.extensions.bench.command import RUN_FAILED
    from memplan.extensions.bench.results import latest_rows, open_for_appending, read_results, write_result
    from memplan.extensions.library.running import Planner, word_of
    from memplan.extensions.library.running import run as run_planner

    opened = _open_library(folder)
    if command:
        planner = Planner(name or command.split()[0], command, infeasible_status)
        chosen = opened.select(problems)
        wanted = [entry for entry in chosen if planner.suits(entry)]
        if len(wanted) < len(chosen):
            left_out = len(chosen) - len(wanted)
            print_message(
                f"{left_out} left out: no checker judges plans of their kind, or they have no single capacity"
            )
        made = run_planner(opened, wanted, planner, time_limit, output.with_suffix(".better"))
        with open_for_appending(output) as (_, file):
            for number, row in enumerate(made, start=1):
                write_result(file, row)
                value = "" if row.peak is None else f" {row.peak:,}"
                time = f"{row.wall_time_s:.3f} s {row.message or ''}"
                print_message(f"[{number}/{len(wanted)}] {row.instance}: {word_of(row)}{value}, {time}")
    rows = latest_rows(read_results(output))
    if not steps.report(rows):
        return REFUSED
    return RUN_FAILED if any(row.outcome == "failed" for row in rows) else 0


def _open_library(folder: Path) -> Any:
    """Return the library in a folder; raises OptionError if the folder is not a library."""
    from memplan.extensions.library.entries import ProblemLibrary

    library = ProblemLibrary(folder)
    if not library.kinds():
        raise OptionError(f"library: must be the folder `library` of a checkout, got {folder}; use --library FOLDER")
    return library


def _single_entry(opened: Any, name: str) -> Any:
    """Return the entry of the problem `name`. Raises an error unless the name selects exactly one."""
    entries = opened.select([name])
    if len(entries) != 1:
        raise OptionError(f"problem: must be the name of one problem, got {name}, which selects {len(entries)}")
    return entries[0]
