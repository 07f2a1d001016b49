"""Shares of the work of a command: several command lines each, run in separate processes on machines of a cluster.

A share contains its input files, and its output files are sent back, so the machine needs only memplan.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from typing import Any

from memplan.api.cli.advice import CommandLine, QuestionCommand
from memplan.api.cli.asking import run_apart
from memplan.api.cli.commands import make_command
from memplan.api.cli.streams import begin_command
from memplan.extensions.bench.clusters import is_unwanted
from memplan.solvers.processes.child import ChildProcess
from memplan.solvers.processes.parent import Parent
from memplan.solvers.processes.threads import SETTING

Values = Mapping[str, Any]


@dataclass(frozen=True)
class SentLine:
    """A command line that is sent to another machine, with the contents of its input files."""

    given: Values
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Share:
    """Several lines of one command for one machine. If `wants_answers`, answers are returned, not written to files."""

    command: str
    sent_lines: Sequence[SentLine]
    threads: str | None
    wants_answers: bool


@dataclass(frozen=True)
class LineResult:
    """The outcome of a command line: exit status, errors, printed messages, answer as JSON, and written files."""

    status: int
    wrong: Sequence[str]
    said: str = ""
    answer: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)


def run_share(share: Share) -> Sequence[LineResult]:
    """Run a share on this machine, in a separate process."""
    environment = {} if share.threads is None else {SETTING: share.threads}
    with ChildProcess(__name__, is_unwanted(), environment=environment) as child:
        child.give(share)
        return [LineResult(*answer) for answer in child.answer()]


def main() -> None:
    """Run the child process: receive a share, and send the results of its lines."""
    parent = Parent()
    parent.send([*_run_lines(parent.task)])


def _run_lines(share: Share) -> Iterator[Sequence[Any]]:
    """Run the command lines of a share, and yield for each of them the fields of a `LineResult`."""
    command = make_command(share.command)
    assert isinstance(command, QuestionCommand), "lines of a cluster are questions"
    for sent in share.sent_lines:
        written = begin_command(sent.files)
        line, answers = CommandLine(command, sent.given, {}), list[str]()

        def keep(_line: CommandLine, answer: Any, answers: list[str] = answers) -> None:
            answers.append(answer.model_dump_json())

        with redirect_stderr(io.StringIO()) as said:
            (done,) = run_apart([line], keep if share.wants_answers else None)
        # The sending machine prints the errors of a failed line itself, so drop the messages, which repeat the errors.
        said_there = "" if done.wrong else said.getvalue()
        files = {path: data.decode() for path, data in written.items()}
        yield done.status, done.wrong, said_there, answers[0] if answers else None, files


if __name__ == "__main__":
    main()
