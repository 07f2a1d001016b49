"""`memplan explain`: explain a peak or a failure, and write a page that shows the plans of the repairs."""

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import answer_of_call, end_call, read_call, write_answer, write_beside
from memplan.api.cli.question_command import command_of
from memplan.api.cli.streams import PAGE
from memplan.questions.explain.explain import QUESTION


@command_of(QUESTION, beside=(PAGE,), needs_plans=(PAGE,))
def explain(line: CommandLine) -> int:
    """Answer a command line; if it writes a page of repairs, request their plans as well."""
    call = read_call(line)
    if call.has_output(PAGE) and getattr(call.options, "repairs", False):
        call.change(with_plans=True)
    answer = answer_of_call(call)
    write_answer(call, answer)

    def page(_path: str) -> bytes:
        from memplan.api.reports.views import explain_page

        return explain_page(call.title(), call.values["problem"], answer)

    write_beside(call, {PAGE: page})
    return end_call(call, answer)
