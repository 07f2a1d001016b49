"""The command `memplan compare`, which compares one file, or several files one after the other."""

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import answer_of_call, end_call, read_call, write_answer
from memplan.api.cli.flags import ON
from memplan.api.cli.local.several_files import files_argument, has_several, run_each
from memplan.api.cli.question_command import command_of
from memplan.api.cli.streams import STANDARD
from memplan.extensions.files.compare.compare import QUESTION


@command_of(QUESTION, files_argument("Further models, compared each by itself into -o FOLDER/."), ON)
def compare(line: CommandLine) -> int:
    """Compare one file, or several files independently, and return the exit status."""
    if has_several(line):
        return run_each(line)
    call = read_call(line)
    if call.flags["name"] is None and call.files["file"] != STANDARD:
        call.change(name=call.files["file"])
    answer = answer_of_call(call)
    write_answer(call, answer)
    return end_call(call, answer)
