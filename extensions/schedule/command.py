"""The command `memplan schedule`, which can also write a page of the schedule."""

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import answer_of_call, end_call, read_call, write_answer, write_beside
from memplan.api.cli.question_command import command_of
from memplan.api.cli.streams import PAGE
from memplan.extensions.schedule.schedule import QUESTION


@command_of(QUESTION, beside=(PAGE,))
def schedule(line: CommandLine) -> int:
    """Print the answer, and write the page if an output file requests it."""
    call = read_call(line)
    answer = answer_of_call(call)
    write_answer(call, answer)

    def page_bytes(_path: str) -> bytes:
        from memplan.api.reports.views import answer_pages

        return answer_pages["schedule"](call.title(), answer)

    write_beside(call, {PAGE: page_bytes})
    return end_call(call, answer)
