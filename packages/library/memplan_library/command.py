"""`memplan library`: problems with what is known of them, for people who make planners, or wrote a better plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic_core import to_json

from memplan.api.cli.flags import ListFormat, seconds_limit
from memplan.api.cli.streams import read_bytes, say, wants_table, write
from memplan.planner.errors import OptionError
from memplan_library import COMMAND

FAULTY = NOT_BETTER = 1
WRONG_FORMAT, REFUSED = 2, 3

library = typer.Typer(help=COMMAND.help, no_args_is_help=True)
Folder = Annotated[Path, typer.Option("--library", metavar="FOLDER", help="The folder of the library.")]
Problems = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PROBLEM]...", help="Names, kinds, benchmark, easy, hard, open, or WORD/KIND."),
]
HERE = Path("library")


@library.command("list")
def list_(
    problems: Problems = None,
    status: Annotated[
        str | None, typer.Option(metavar="proved|claimed|open", help="List only problems with this status.")
    ] = None,
    display: ListFormat = None,
    folder: Folder = HERE,
) -> None:
    """List the problems with their best value, the bound, who found the plan, and how."""
    from memplan_library.entries import facts

    entries = [entry for entry in _opened(folder).select(problems or []) if status in (None, entry.status)]
    if not wants_table(display):
        write(None, to_json([facts(entry) for entry in entries]) + b"\n")
        return
    for entry in entries:
        values = (f"{each:,}" if each is not None else "-" for each in (entry.best, entry.bound or entry.claimed))
        best, bound = ("nothing fits", "") if entry.is_infeasible else values
        write(None, f"{entry.kind:9} {entry.name:50} {entry.status:8} {best:>16} {bound:>16}  {entry.by}\n".encode())


@library.command()
def get(
    problem: Annotated[str, typer.Argument(help="A name.")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of standard output."),
    ] = None,
    what: Annotated[
        str, typer.Option(metavar="problem|plan|proof", help="Write this file of the problem.")
    ] = "problem",
    folder: Folder = HERE,
) -> None:
    """Write the file of a problem, of its best plan, or of its certificate, unchanged."""
    opened = _opened(folder)
    entry = _one(opened, problem)
    files = {"problem": opened.problem, "plan": opened.plan, "proof": opened.proof}
    if what not in files:
        raise OptionError(f"what: must be one of {', '.join(files)}, got {what}")
    write(output, read_bytes(str(files[what](entry))))


@library.command()
def unpack(folder: Folder = HERE) -> None:
    """Unpack the archives of all kinds beside them, where Git ignores the files; other commands do it by themselves."""
    _opened(folder).unpack()


@library.command()
def pack(folder: Folder = HERE) -> None:
    """Pack files that you changed by hand into the archives of their kinds; equal files give equal archives."""
    for kind in _opened(folder).pack():
        say(f"{folder / kind}: packed")


@library.command()
def check(
    problems: Problems = None,
    fast: Annotated[bool, typer.Option(help="Skip large certificates.")] = False,
    folder: Folder = HERE,
) -> None:
    """Check fingerprints, plans and certificates by the programs of checkers/, and the hash of the whole library.

    Exit status: 0 the library is right, 1 something in it is wrong, 2 wrong input.
    """
    from memplan_library.checking import check as check_entries
    from memplan_library.checking import version_fault

    opened, count, faulty = _opened(folder), 0, 0
    for entry, faults in check_entries(opened, opened.select(problems or []), is_fast=fast):
        count, faulty = count + 1, faulty + bool(faults)
        for fault in faults:
            say(f"{entry.kind}/{entry.name}: {fault}")
    of_set = None if problems else version_fault(opened)
    if of_set is not None:
        say(of_set)
    say(f"{count} problems, {faulty} with faults")
    if faulty or of_set:
        raise typer.Exit(FAULTY)


@library.command()
def submit(
    problem: Annotated[str, typer.Argument(help="A name.")],
    file: Annotated[str, typer.Argument(help="A plan or a certificate.")],
    by: Annotated[str | None, typer.Option(help="The name of the person or project that found the plan.")] = None,
    command: Annotated[str | None, typer.Option(help="The command that found the plan.")] = None,
    folder: Folder = HERE,
) -> None:
    """Check a plan or a certificate by independent code, and add it to the library if it is better.

    Exit status: 0 better, added; 1 not better; 2 wrong format; 3 refused, with the reason.
    """
    from memplan_library.submitting import Finder
    from memplan_library.submitting import submit as submit_to

    opened = _opened(folder)
    verdict = submit_to(opened, _one(opened, problem), read_bytes(file), Finder(by, command))
    write(None, f"{verdict.word}: {verdict.entry.name}: {verdict.reason}\n".encode())
    if status := {"not better": NOT_BETTER, "wrong format": WRONG_FORMAT, "refused": REFUSED}.get(verdict.word, 0):
        raise typer.Exit(status)


@library.command()
def run(
    command: Annotated[str, typer.Argument(help="With {problem}, {out} and more, as below; empty: only a page.")],
    problems: Problems = None,
    name: Annotated[
        str | None,
        typer.Option(help="The name of the planner in the rows. The default is the first word of the command."),
    ] = None,
    time_limit: Annotated[float, seconds_limit("Seconds for each problem")] = 10.0,
    infeasible_status: Annotated[
        int | None, typer.Option(metavar="STATUS", help="The exit status of the planner that means that nothing fits.")
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="ROWS.jsonl", help="Append the rows to this file, as `memplan bench` does."
        ),
    ] = Path("runs.jsonl"),
    page: Annotated[
        str | None, typer.Option(metavar="FILE.html", help="Write one page with all rows to this file.")
    ] = None,
    folder: Folder = HERE,
) -> None:
    """Run a planner on problems, check its plans, and print a summary of all rows.

    A plan that is better than the best known one is kept in the folder ROWS.better, beside the rows, to be submitted.

    In the command, {seconds} is the time limit; {kind} and {limit} are as list has them; {capacity} is the limit, or
    else the best known value: problems that have neither are left out. Exit status: 0; 2 wrong input; 3 a plan was
    invalid or a claim was wrong.
    """
    from memplan_bench.results import appending, latest, read_results, write_result

    from memplan_library import page as pages
    from memplan_library.running import Planner, word_of
    from memplan_library.running import run as run_planner

    opened = _opened(folder)
    if command:
        planner = Planner(name or command.split()[0], command, infeasible_status)
        chosen = opened.select(problems or [])
        wanted = [entry for entry in chosen if planner.suits(entry)]
        if len(wanted) < len(chosen):
            left_out = len(chosen) - len(wanted)
            say(f"{left_out} left out: no checker judges plans of their kind, or they have no single capacity")
        made = run_planner(opened, wanted, planner, time_limit, output.with_suffix(".better"))
        with appending(output) as (_, file):
            for number, row in enumerate(made, start=1):
                write_result(file, row)
                value = "" if row.peak is None else f" {row.peak:,}"
                time = f"{row.wall_time_s:.3f} s {row.message or ''}"
                say(f"[{number}/{len(wanted)}] {row.instance}: {word_of(row)}{value}, {time}")
    rows = latest(read_results(output))
    say(pages.text_of(rows))
    if page is not None:
        write(page, pages.page(rows, f"Planners on {len({row.fingerprint for row in rows})} problems").encode())
    if any(row.outcome == "invalid" for row in rows):
        raise typer.Exit(REFUSED)


def _opened(folder: Path) -> Any:
    from memplan_library.entries import ProblemLibrary

    library = ProblemLibrary(folder)
    if not library.kinds():
        raise OptionError(
            f"library: must be the folder of that name in a checkout, got {folder}: --library FOLDER names it"
        )
    return library


def _one(opened: Any, name: str) -> Any:
    entries = opened.select([name])
    if len(entries) != 1:
        raise OptionError(f"problem: must be the name of one problem, got {name}, which is {len(entries)}")
    return entries[0]
