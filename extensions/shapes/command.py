"""The command `memplan shapes`, which can also write an HTML page of curves, and source code that computes offsets."""

from typing import Any

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import Call, answer_of_call, end_call, read_call, write_answer, write_beside
from memplan.api.cli.question_command import command_of
from memplan.api.cli.streams import PAGE
from memplan.extensions.shapes.shapes import QUESTION
from memplan.planner.errors import OptionError

SOURCES = {".c": "c", ".py": "python"}
"""The programming language of an output file with source code, by the suffix of the file."""


@command_of(QUESTION, forms=SOURCES, beside=(PAGE,))
def shapes(line: CommandLine) -> int:
    """Print the answer and write the output files; source code is in the language of the output file."""
    call = read_call(line)
    _prepare_source(call)
    answer = answer_of_call(call)
    source = None if answer.source is None else answer.source.encode()
    write_answer(call, answer, dict.fromkeys(SOURCES, lambda _path: source))
    write_beside(call, {PAGE: lambda path: _curves_page(call, answer, path)})
    return end_call(call, answer)


def _curves_page(call: Call, answer: Any, path: str) -> bytes | None:
    """Return the HTML page of an answer's curves; without curves, report this and return None."""
    from memplan.api.reports.views import answer_pages

    if not answer.curves:
        call.said.append(f"{path}: not written, as no symbol has several values")
        return None
    return answer_pages["shapes"](call.title(), answer)


def _prepare_source(call: Call) -> None:
    """Set the option `to` to the language of the source files to write; raises OptionError for several languages."""
    languages = {language for suffix, language in SOURCES.items() if call.has_output(suffix)}
    if (wanted := call.flags["to"]) is not None:
        languages.add(wanted)
    if len(languages) > 1 and any(map(call.has_output, SOURCES)):
        raise OptionError(f"output: must be source code in one language, got {', '.join(sorted(languages))}")
    if languages and wanted is None:
        call.change(to=languages.pop())
