"""The help of commands as plain text: options in sections, 80 columns, no terminal drawing.

`python -m lab.help` writes the help of each of memplan's own commands into `texts`, so that showing it imports neither
the command nor what reads command lines. What others add is formatted when it is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup

SETTINGS = {"help_option_names": ["-h", "--help"], "terminal_width": 80}
"""The settings that click gets for each command."""


class SectionedCommand(TyperCommand):
    """A command whose help has a section for each panel of options."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters; options that are not given keep their defaults unconverted.

        typer makes an adapter of pydantic for each option otherwise, which takes longer than a small plan.
        """
        parameters = super().get_params(ctx)
        for parameter in parameters:
            vars(parameter).setdefault("process_value", partial(_value_of, parameter, parameter.process_value))
        return parameters

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options without a panel, and those of each panel."""
        _write_parameters(self, ctx, formatter)


class SectionedGroup(TyperGroup):
    """A group of commands whose help has a section for each panel."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, then the commands of each panel with the first sentence of their help."""
        _write_parameters(self, ctx, formatter)
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            about = " ".join((command.help or "").partition("\n\n")[0].split())
            sections.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append((name, about))
        _write(sections, formatter)


def _value_of(parameter: Any, read: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """Return the value of a parameter; typer converts it only if it was given and is not plain text."""
    kind = parameter.type_descriptor
    is_text = kind.annotation in (str, list[str]) and not kind.parameter_info.parser and value
    is_default = not parameter.required and ctx.get_parameter_source(parameter.name).name == "DEFAULT"
    if not (is_text or is_default):
        return read(ctx, value)
    if parameter.multiple or parameter.nargs == -1:
        value = list(value or ())
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)


def _write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(ctx):
        is_argument = parameter.param_type_name == "argument"
        title = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
        if (record := parameter.get_help_record(ctx)) is not None:
            sections.setdefault(title, []).append(record)
    _write(sections, formatter)


def _write(sections: dict[str, list[tuple[str, str]]], formatter: Any) -> None:
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
