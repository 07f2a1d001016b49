"""The command `memplan liveness`, which can also write the resulting problem to a file."""

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import answer_of_call, end_call, read_call, write_answer
from memplan.api.cli.question_command import command_of
from memplan.files import write_problem
from memplan.programs.liveness.liveness import QUESTION


@command_of(QUESTION, forms=(".json", ".csv", ""))
def liveness(line: CommandLine) -> int:
    """Print the answer of the question `liveness`; an output file receives only the problem, for other commands."""
    call = read_call(line)
    answer = answer_of_call(call)

    def problem_bytes(path: str) -> bytes:
        return write_problem(answer.problem, format="csv" if path.lower().endswith(".csv") else "json")

    write_answer(call, answer, dict.fromkeys(line.command.forms, problem_bytes), says_lines=True)
    return end_call(call, answer)
