"""Completion of suggested commands: they get the current command line's files and flags, to run as printed."""

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import click

from memplan.api.cli.flag_names import flag_text
from memplan.api.cli.flags import PANEL_OF, Argument, flag_values
from memplan.api.cli.help import SectionedCommand
from memplan.planner.errors import InputError, add_way
from memplan.planner.foreign.model_options import ModelOptions
from memplan.questions import QUESTIONS
from memplan.questions.question import Question
from memplan.questions.reading import ReadOptions

Keep = Callable[["CommandLine", Any], None]
"""A function that receives a command line and its answer."""
_ADVISED = r"`memplan ([a-z-]+)((?: --[^`]*)?)`"
"""The pattern of a suggested command whose files are left out; the current command line provides them."""


class QuestionCommand(SectionedCommand):
    """A click command that answers one of memplan's questions, such as `plan` or `verify`.

    answer: the function that runs a command line and returns its exit status.
    formats: the names of the formats in which the answer can be printed to standard output.
    forms: the suffixes of output files that contain the answer in a format other than JSON.
    beside: the suffixes of extra output files, such as a page. A share of the time limit is reserved for writing them.
    needs_plans: the suffixes of output files that show plans; refused with `--server`, whose answers lack plans.
    """

    def __init__(
        self,
        question: Question[Any],
        answer: Callable[["CommandLine"], int],
        formats: Sequence[str],
        forms: Collection[str],
        beside: Collection[str],
        needs_plans: Collection[str],
        **described: Any,
    ) -> None:
        """Set the fields that the class describes; `described` has further parameters of click.Command."""
        self.question, self.answer, self.formats = question, answer, formats
        self.forms, self.beside, self.needs_plans = forms, beside, needs_plans
        super().__init__(question.name, panels=PANEL_OF, **described)


class CommandLine(NamedTuple):
    """The current command line: its command, and in `given` the value of each parameter by name.

    `recorded` gets the values of the reading flags that a plan among the files recorded, once the files are read.
    `keep` is a function that receives the answer; without it, the answer is written to the output files.
    """

    command: QuestionCommand
    given: Mapping[str, Any]
    recorded: dict[str, Any]
    keep: Keep | None = None

    @property
    def question(self) -> Question[Any]:
        """The question that the command answers, such as `plan`."""
        return self.command.question

    @property
    def file(self) -> str:
        """The path of the file that holds the question's first input."""
        return str(self.given[self.question.inputs[0].name])

    def complete(self, text: str) -> str:
        """Return the text with this command line's files and reading flags added to each `memplan` command in it."""
        return re.sub(_ADVISED, self._completed_command, text)

    def completed_error(self, error: InputError) -> InputError:
        """Return a copy of the error with this command line's files and flags added to each command it suggests."""
        return type(error)(*(add_way(self.complete(rule), way) for rule, way in error.rules_with_ways(flag_text)))

    def set_files(self, files: Mapping[str, str | None]) -> str:
        """Return this command line as text in backticks, with the input paths in `files` (by name) replaced."""
        words = self._command_words(self.command.params, {**self.given, **self.recorded, **files})
        return f"`memplan {shlex.join([self.question.name, *words])}`"

    def words_of(self, record: Mapping[str, Any]) -> str:
        """Return the words that set recorded reading options on a command line."""
        values = {name: flag_values(value) for name, value in record.items()}
        return shlex.join(self._command_words(self.command.params, values))

    def _completed_command(self, found: re.Match[str]) -> str:
        """Return the matched command with this command line's files and flags added.

        If the command requires a file that this command line lacks, it is returned unchanged.
        """
        name = found[1]
        target, arguments = QUESTIONS.get(name), {**self.given, **self.recorded}
        own = next((each.name for each in self.question.inputs if each.from_file is not None), "")
        # Advice texts contain the placeholder PLAN, so replace PLAN by the file name of the plan on this command line.
        plan = self.given.get("plan") or self.given.get(own)
        more = [plan if word == "PLAN" and plan else word for word in shlex.split(found[2])]
        if target is None:
            return found[0]
        if "--output" in more:  # A new plan must not replace the kept one, so drop `keep`.
            arguments.pop("keep", None)
        parameters: Sequence[click.Parameter] = self.command.params
        if target is not self.question:
            files = [each for each in target.inputs if each.from_file is not None and not each.named_by_flag]
            arguments.setdefault(files[0].name, arguments.get(own))
            if any(arguments.get(each.name) is None and each.required and each.absent is None for each in files):
                return found[0]
            # The runtime plans the memory of a model's best form, so no option may place its buffers.
            kind = ModelOptions if name == "convert" and "--fit" in more else ReadOptions
            models = [target.options, *(each.reading for each in files if each.reading is not None)]
            names = {key for model in models for key in model.model_fields if key in kind.model_fields}
            needs = target.options.needs.items()
            names -= {name for name, others in needs if not any(arguments.get(other) for other in others)}
            parameters = [*(Argument(each.name) for each in files), *(row for row in parameters if row.name in names)]
        words = self._command_words([each for each in parameters if not flags_for(each).intersection(more)], arguments)
        return f"`memplan {shlex.join([name, *words, *more])}`"

    def _command_words(self, parameters: Sequence[click.Parameter], given: Mapping[str, Any]) -> Iterator[str]:
        for each in parameters:
            value = given.get(each.name)
            if value is not None and value != each.default:
                yield from parameter_words(each, value)


def parameter_words(parameter: click.Parameter, value: Any) -> Iterator[str]:
    """Yield the words of a command line that set a parameter to a value, or to each of a list of values."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(parameter, click.Option):
            yield parameter.secondary_opts[0] if one is False else parameter.opts[0]
        if not isinstance(one, bool):
            yield str(one)


def flags_for(parameter: click.Parameter) -> set[str]:
    """Return all spellings of an option's flag; empty for an argument, which has no flag."""
    return {*parameter.opts, *parameter.secondary_opts} if isinstance(parameter, click.Option) else set()
