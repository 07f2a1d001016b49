"""The command `memplan liveness`, which can write the resulting problem to a file."""

from __future__ import annotations

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import ask, end, read, show
from memplan.api.cli.question_command import command_of
from memplan.extensions.networks.liveness.liveness import QUESTION
from memplan.files import write_problem


@command_of(QUESTION, forms=(".json", ".csv", ""))
def liveness(line: CommandLine) -> int:
    """Print the answer of the question `liveness`. An output file receives only the problem, for other commands."""
    call = read(line)
    answer = ask(call)

    def problem(path: str) -> bytes:
        return write_problem(answer.problem, format="csv" if path.lower().endswith(".csv") else "json")

    show(call, answer, dict.fromkeys(line.command.forms, problem), says_lines=True)
    return end(call, answer)
