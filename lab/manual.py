"""Write docs/capabilities.md: every capability with its inputs, options and exit statuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from memplan.api.cli.commands import LOCALS
from memplan.api.cli.flags import spelled
from memplan.capabilities import python_name
from memplan.capabilities.capability import Capability
from memplan.capabilities.question import Input
from memplan.capabilities.reading import ReadOptions
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.systems import System, systems

PAGE = Path(__file__).parent.parent / "docs" / "capabilities.md"
_HEAD = """# Capabilities

> For everybody who calls memplan: each question that it answers, once for every entrance. This page is made from the
> definitions (`python -m lab.manual`).

A capability has the same inputs, options and answer as a function of Python, a command, `POST /v1/NAME`, a job
(`POST /v1/jobs?kind=NAME`), a method of the clients, and with `--server URL`. Options are fields of `"options"` in a
body, or of the query where the body has none; `time_limit_s` is all of the seconds until the answer.

Of every answer, `fields` or `omit` choose some fields by name: `--fields status,peak` and `--omit placements` of the
command, `?fields=status,peak` over HTTP (of a job, where its result or plan is fetched), and
`memplan.select_fields(answer, fields=["status", "peak"])` in Python. Files that a command writes are whole.
"""
_SYSTEMS = """## Other systems

What is read of each, which of its planners `--solver` takes, and what is written for it: targets of `memplan export`,
and models in another order or in parts.

| system | files | planners | written |
|---|---|---|---|"""
_READING = """## Reading a model

Where a command reads a problem, it takes a model or a dump of another system, too, and these options; so does
`memplan.read_problem`. Over HTTP, `POST /v1/import` takes those of models, and answers with the problem.
"""


def manual() -> str:
    """Return the page."""
    parts = [_HEAD, *(_about(CAPABILITIES[name], name) for name in sorted(CAPABILITIES)), _READING]
    return "\n".join([*parts, *_table(ReadOptions), "", _SYSTEMS, *map(_system, systems())]) + "\n" + _map()


def _map() -> str:
    """Return what the page says of former questions, which is written by hand."""
    text = PAGE.read_text()
    return "\n" + text[at:] if (at := text.find("## What became of what")) >= 0 else ""


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
        f"- Python: `memplan.{python_name(name)}({names}, options, control)`",
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
