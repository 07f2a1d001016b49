"""Write docs/reference.md (all questions and commands) and the tables of fields in docs/formats.md."""

import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click import Choice, Command, Group, Option

from memplan.api.cli.commands import command_names, make_command
from memplan.api.cli.flag_names import flags_of
from memplan.planner.model.field_docs import field_docs
from memplan.planner.model.plan import Plan, PoolUse
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.model.rows import Buffer, Value
from memplan.planner.systems import System, systems
from memplan.questions import QUESTIONS, question_rows
from memplan.questions.inputs.values import Input
from memplan.questions.question import Question
from memplan.questions.reading import ReadOptions

PAGE = Path(__file__).parent.parent / "docs" / "reference.md"
_MADE = "<!-- What follows is made from the definitions, by `python -m lab.manual`. -->\n"
FORMATS = PAGE.with_name("formats.md")
_FIELDS = re.compile(r"(<!-- fields of (\w+), by `python -m lab.manual` -->\n).*?(?=\n\n)", re.DOTALL)
_MODELS: dict[str, type[Value]] = {"Buffer": Buffer, "Pool": Pool, "Problem": Problem, "Plan": Plan, "PoolUse": PoolUse}
_SHARED_BY = 2
"""An option that at least this many commands describe in the same words is described only once, for all of them."""
_SECONDS = " Write 10, 10s, 500ms or 2min."
_SYSTEMS = """## Other systems

| system | files | planners | written |
|---|---|---|---|"""


def manual() -> str:
    """Return the text of the page: the part written by hand, then the part that is derived from the definitions."""
    head = PAGE.read_text().partition(_MADE)[0]
    commands = {
        name: make_command(name) for name in (*sorted(QUESTIONS), *sorted({*command_names()} - QUESTIONS.keys()))
    }
    counts = Counter(_flags_and_help(option) for command in commands.values() for option in _options(command))
    shared = {words for words, count in counts.items() if count >= _SHARED_BY}
    reading = {flag for name in ReadOptions.model_fields for each in flags_of(name) for flag in each.split("/")}
    models = {words for words in shared if reading.intersection(words[0].strip("`").replace(",", "").split())}
    parts = [head + _MADE, "## Options of many commands\n", *map(_option_line, sorted(shared - models)), ""]
    parts += ["### Reading a problem or a model\n", *map(_option_line, sorted(models)), ""]
    parts += [section for name, command in commands.items() for section in _command_lines(name, command, shared)]
    return "\n".join([*parts, _SYSTEMS, *map(_system_row, systems())]).rstrip() + "\n"


def _options(command: Command) -> Iterator[Option]:
    every: list[Any] = [*command.commands.values()] if isinstance(command, Group) else [command]
    for each in every:
        yield from (row for row in each.params if isinstance(row, Option) and row.name != "help")


def _command_lines(name: str, command: Command, shared: set[tuple[str, str]]) -> Iterator[str]:
    """Yield the Markdown lines about a command, which may also be a question."""
    question = QUESTIONS.get(name)
    text = question.help if question else inspect.cleandoc(command.help or "")
    yield f"## {name}\n\n{text}\n"
    if question:
        row = question_rows().get(name)
        about = f" See [{row.document}]({row.document})." if row else ""
        yield f"{_call_forms(question, name)}.{about}\n"
    own = question.options.model_json_schema()["properties"] if question else {}
    inside: dict[str, Any] = dict(command.commands) if isinstance(command, Group) else {"": command}
    for word, each in inside.items():
        if word:
            yield f"`memplan {name} {word}`: {inspect.cleandoc(each.help or '')}\n"
        lines = [
            _option_line(_flags_and_help(row), _field_and_default(row, own))
            for row in _options(each)
            if _flags_and_help(row) not in shared
        ]
        yield from ([*lines, ""] if lines else [])
    if question and question.exits:
        statuses = "; ".join(f"{status} {meaning}" for status, meaning in question.exits.items())
        yield f"Exit status: {statuses}.\n"


def _call_forms(question: Question[Any], name: str) -> str:
    """Return the two calls of a question as text: a command line and a call in Python."""
    files = (each for each in question.inputs if each.from_file is not None)
    written = " ".join(_file_argument(each) if each.required else f"[{_file_argument(each)}]" for each in files)
    kinds = inspect.signature(question.function).parameters
    by_name = {each.name for each in kinds.values() if each.kind is each.KEYWORD_ONLY}
    names = ", ".join(f"{each.name}=..." if each.name in by_name else each.name for each in question.inputs)
    return f"`memplan {name} {written}`, `memplan.{name}({names})`"


def _file_argument(each: Input[Any]) -> str:
    return f"{flags_of(each.name)[0]} FILE" if each.named_by_flag else each.metavar or each.name.upper()


def _flags_and_help(option: Option) -> tuple[str, str]:
    """Return (flags of an option with their values, its help text)."""
    choices = option.type.choices if isinstance(option.type, Choice) else ()
    flags = ", ".join(option.opts) + f" {option.metavar or '|'.join(choices)}".rstrip()
    return f"`{flags}`", (option.help or "").removesuffix(_SECONDS)


def _field_and_default(option: Option, fields: dict[str, Any]) -> list[str]:
    """Return texts about an option: the field's name if the flag differs, and the default value, if any."""
    name = option.name or ""
    renamed = name in fields and option.opts[0] not in (f"--{name.replace('_', '-')}", f"--{name[:-2]}-limit")
    stated = option.default not in (None, False, "", ()) and not callable(option.default)
    return [*([f"`{name}`"] if renamed else []), *([f"default `{_default_text(option.default)}`"] if stated else [])]


def _option_line(words: tuple[str, str], facts: list[str] | None = None) -> str:
    noted = f" ({', '.join(facts)})" if facts else ""
    return f"- {words[0]}{noted}: {words[1]}".rstrip(": ")


def _default_text(default: Any) -> str:
    """Return a default value as text: as JSON, unless it is a text or a number."""
    return str(default) if isinstance(default, str | int | float) else json.dumps(default, default=str)


def _system_row(system: System) -> str:
    """Return the table row of a system: the files that are read, its planners, and the files that are written."""
    planners = (f"`{planner.name.removeprefix('reference:')}`" for planner in system.planners)
    again = [
        *(f"`{target}`" for target in system.writers),
        *(["`order -o MODEL`"] if system.reorders else []),
        *(["`cascade -o MODEL`"] if system.rewrites else []),
    ]
    return f"| {system.title} | {system.files} | {', '.join(planners)} | {', '.join(again)} |"


def formats() -> str:
    """Return the text of docs/formats.md, in which the tables of fields are derived from the models."""
    return _FIELDS.sub(lambda match: match[1] + "\n".join(_field_rows(match[2])), FORMATS.read_text(encoding="utf-8"))


def _field_rows(model: str) -> Iterator[str]:
    docs = field_docs(_MODELS[model])
    yield "| field | meaning | default |"
    yield "|---|---|---|"
    for name, field in _MODELS[model].model_fields.items():
        default = (
            "required"
            if field.is_required()
            else f"`{json.dumps(field.default)}`"
            if isinstance(field.default, str | int)
            else ""
        )
        yield f"| `{name}` | {docs[name]} | {default} |"


def main() -> int:
    """Write docs/reference.md and the tables of docs/formats.md, and return the exit status."""
    PAGE.write_text(manual())
    FORMATS.write_text(formats())
    return 0


if __name__ == "__main__":
    sys.exit(main())
