"""One command on many files, run on a cluster whose machines get shares of several files and return the results."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from memplan.api.cli.advice import CommandLine, Keep
from memplan.api.cli.asking import LineOutcome, say_wrong
from memplan.api.cli.running import FAULT
from memplan.api.cli.streams import STANDARD, print_message, read_bytes
from memplan.extensions.bench.away import missing_packages, required_packages
from memplan.extensions.bench.clusters import MachineLostError, executor_on
from memplan.extensions.bench.running import run
from memplan.extensions.bench.shares import LineResult, SentLine, Share, run_share
from memplan.files import write_file_atomically
from memplan.planner.errors import FileError, OptionError
from memplan.solvers.processes.threads import SETTING

_MOST, _EACH = 64, 4
"""The maximum number of files in a share, and the number of shares per processor if there are few files."""


def run_away(lines: Sequence[CommandLine], on: str, keep: Keep | None = None) -> Iterator[LineOutcome]:
    """Run one command on several files on the cluster at `on`; yield the outcome of each file in the given order.

    If `keep` is given, it receives each answer; else the answer is written to the files that its command line names.
    Raises OptionError if there is no cluster, or if a machine lacks a package.
    """
    if lines[0].given["server"] is not None:
        raise OptionError("server: must not be given with --on")
    with executor_on(on) as executor:
        executor.check(partial(missing_packages, required_packages([str(lines[0].given.get("solver") or "auto")])))
        each = max(1, min(_MOST, len(lines) // (_EACH * max(1, executor.places))))
        shares = [lines[k : k + each] for k in range(0, len(lines), each)]
        begun = run(
            range(len(shares)),
            lambda k: executor.submit(run_share, _share_of(shares[k], keep is not None)),
            executor.max_submitted,
        )
        known, due = dict[int, Sequence[LineResult]](), 0
        for k, future in begun:
            executor.count_starts(future)
            try:
                known[k] = future.result()
            except MachineLostError as error:
                known[k] = [LineResult(FAULT, (str(error),)) for _ in shares[k]]
            while due in known:
                for line, what in zip(shares[due], known.pop(due), strict=True):
                    yield _write_result(line, what, keep)
                due += 1


def _write_result(line: CommandLine, done: LineResult, keep: Keep | None) -> LineOutcome:
    if done.said:
        print_message(done.said.rstrip("\n"))
    for path, data in done.files.items():
        write_file_atomically(path, data.encode())
    if keep is not None and done.answer is not None:
        keep(line, line.question.answer.model_validate_json(done.answer))
    say_wrong(line, done.wrong)
    return LineOutcome(line, done.status, done.wrong)


def _share_of(lines: Sequence[CommandLine], wants_answers: bool) -> Share:
    return Share(lines[0].question.name, [*map(_line_with_files, lines)], os.environ.get(SETTING), wants_answers)


def _line_with_files(line: CommandLine) -> SentLine:
    """Return a command line with the contents of its input files.

    An unreadable file is omitted, so the other machine reports the file as missing.
    """
    files = dict[str, bytes]()
    for path in (line.given.get(each.name) for each in line.question.inputs if each.from_file is not None):
        if path == STANDARD:
            raise OptionError("files: must be on a disk with --on, got - for standard input")
        if path is not None:
            with suppress(FileError):
                files[path] = read_bytes(path)
    return SentLine({**line.given, "on": None, "more": None}, files)
