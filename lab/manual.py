"""Write docs/reference.md: every capability and command with inputs, options and exit statuses."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from typer.core import TyperGroup as Group
from typer.core import TyperOption as Option
from typer.main import get_command

from memplan.api.cli.commands import COMMANDS, LOCALS, app
from memplan.api.cli.flags import spelled
from memplan.capabilities.capability import Capability
from memplan.capabilities.question import Input
from memplan.capabilities.reading import ReadOptions
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.systems import System, systems

PAGE = Path(__file__).parent.parent / "docs" / "reference.md"
_MADE = "<!-- What follows is made from the definitions, by `python -m lab.manual`. -->\n"
_OF_READING = {flag for name in ReadOptions.model_fields for flag in spelled(name)}
_SYSTEMS = """## Other systems

What is read of each, which of its planners `--solver` takes, and what is written for it: targets of `memplan convert`,
and models in another order or in parts.

| system | files | planners | written |
|---|---|---|---|"""
_READING = """## Reading a model

Where a command reads a problem, it takes a model or a dump of another system, too, and these options; so does
`memplan.read_problem`. Over HTTP, `POST /v1/convert` takes them, and answers with the problem.
"""


def manual() -> str:
    """Return the page: what was written by hand, and behind it what the definitions say."""
    head = PAGE.read_text().partition(_MADE)[0]
    parts = [head + _MADE, *(_about(CAPABILITIES[name], name) for name in sorted(CAPABILITIES)), _READING]
    parts += [
        *_table(ReadOptions),
        "",
        _SYSTEMS,
        *map(_system, systems()),
        "",
        *map(_command, sorted(COMMANDS.keys() - CAPABILITIES.keys())),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _command(name: str) -> str:
    """Return what a command that is no capability's says of itself."""
    made = get_command(app([name]))
    found = made.commands[name] if isinstance(made, Group) else made
    lines = [f"## {name}\n", f"{inspect.cleandoc(found.help or '')}\n"]
    several = found.commands if isinstance(found, Group) else {"": found}
    for word, each in several.items():
        lines += [f"`memplan {name} {word}`: {inspect.cleandoc(each.help or '')}\n"] if word else []
        every = [row for row in each.params if isinstance(row, Option) and row.name != "help"]
        options = [row for row in every if not _OF_READING.intersection(row.opts)]
        lines += ["It takes the options of [reading a model](#reading-a-model), too.\n"] if options != every else []
        lines += ["| flag | |", "|---|---|"] if options else []
        lines += [f"| `{', '.join((*row.opts, *row.secondary_opts))}` | {row.help or ''} |" for row in options]
        lines += [""] if options else []
    return "\n".join(lines)


def _system(system: System) -> str:
    """Return the row of a system: what is read of it, how it plans, and what is written for it."""
    planners = (f"`{planner.name}`" for planner in system.planners)
    again = [
        *(f"`--to {target}`" for target in system.writers),
        *(["`order --write`"] if system.reorders else []),
        *(["`cascade --write`"] if system.rewrites else []),
    ]
    return f"| {system.title} | {system.files} | {', '.join(planners)} | {', '.join(again)} |"


def _about(capability: Capability[Any], name: str) -> str:
    read = [each for each in capability.inputs if each.from_file is not None]
    metavars = [(_written(each), each.required) for each in read]
    files = " ".join(metavar if is_required else f"[{metavar}]" for metavar, is_required in metavars)
    names = ", ".join(each.name for each in capability.inputs)
    lines = [
        f"## {name}\n",
        f"{capability.help}\n",
        f"- Python: `memplan.{name}({names}, options, control)`",
        f"- Command: `memplan {name} {files}`",
        f"- HTTP: `POST {capability.path}` with `{json.dumps(dict(capability.example))}`\n",
        *_table(capability.options),
        "",
        *(f"Exit status {status}: {meaning}." for status, meaning in capability.exits.items()),
        *_local(name),
    ]
    return "\n".join(lines) + "\n"


def _written(each: Input[Any]) -> str:
    """Return how a command line has the file of an input."""
    return f"{spelled(each.name)[0]} FILE" if each.named_by_flag else each.metavar or each.name.upper()


def _table(options: type[Any]) -> Iterator[str]:
    properties = options.model_json_schema()["properties"]
    yield "| option | flag | values | default | |"
    yield "|---|---|---|---|---|"
    for name, field in options.model_fields.items():
        flags = " ".join(f"`{flag}`" for flag in spelled(name))
        default = properties[name].get("default")
        shown = "" if default in (None, [], {}) else f"`{json.dumps(default)}`"
        yield f"| `{name}` | {flags} | {_values(properties[name])} | {shown} | {field.description} |"


def _values(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_values(each) for each in schema["anyOf"] if each.get("type") != "null")
    if "enum" in schema:
        choices = [f"`{choice}`" for choice in schema["enum"]]
        return ", ".join(choices[:8]) + (", ..." if len(choices) > 8 else "")
    ranges = (("exclusiveMinimum", "above"), ("minimum", "from"), ("maximum", "to"), ("exclusiveMaximum", "below"))
    said = " ".join(f"{word} {schema[key]:g}" for key, word in ranges if key in schema)
    return f"{schema.get('type', schema.get('const', 'value'))} {said}".strip()


def _local(name: str) -> Iterator[str]:
    if name not in LOCALS:
        return
    local = import_module(f"memplan.api.cli.{LOCALS[name]}").LOCAL
    yield "\nOnly the command has, since they name files or forms of its own:\n"
    for parameter in local.flags:
        option = parameter.annotation.__metadata__[0]
        flags = ", ".join(option.param_decls or spelled(parameter.name))
        yield f"- `{flags}`: {option.help}"


def main() -> int:
    """Write the page."""
    PAGE.write_text(manual())
    return 0


if __name__ == "__main__":
    sys.exit(main())
