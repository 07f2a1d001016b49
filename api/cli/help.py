"""The help of commands as plain text: options in sections, 80 columns, no terminal drawing.

`python -m lab.help` writes the help of each of memplan's own commands into `texts`, so that showing it imports neither
the command nor what reads command lines. What others add is formatted when it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click

_SETTINGS = {"help_option_names": ["-h", "--help"], "terminal_width": 80}


class SectionedCommand(click.Command):
    """A command whose help has a section for each panel of options."""

    def __init__(self, name: str | None, *, panels: Mapping[str, str] = MappingProxyType({}), **described: Any) -> None:
        """Make a command with the panels of its options; what describes it are the arguments of click's commands."""
        super().__init__(name, context_settings=_SETTINGS, **described)
        self.panels = panels

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: the arguments stand with the options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, the options without a panel, and those of each panel."""
        _write_parameters(self, ctx, formatter, self.panels)


class SectionedGroup(click.Group):
    """A group of commands whose help has a section for each panel."""

    command_class = SectionedCommand

    def __init__(self, name: str | None, *, panels: Mapping[str, str] = MappingProxyType({}), **described: Any) -> None:
        """Make a group with the panels of its commands; what describes it are the arguments of click's groups."""
        super().__init__(name, context_settings=_SETTINGS, no_args_is_help=True, **described)
        self.panels = panels

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the commands of each panel with the first sentence of their help."""
        _write_parameters(self, ctx, formatter, {})
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            about = " ".join((command.help or "").partition("\n\n")[0].split())
            sections.setdefault(self.panels.get(name, "Commands"), []).append((name, about))
        _write(sections, formatter)


def _write_parameters(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter, panels: Mapping[str, str]
) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(ctx):
        is_argument = isinstance(parameter, click.Argument)
        title = "Arguments" if is_argument else panels.get(parameter.name or "", "Options")
        if (record := parameter.get_help_record(ctx)) is not None:
            sections.setdefault(title, []).append(record)
    _write(sections, formatter)


def _write(sections: dict[str, list[tuple[str, str]]], formatter: click.HelpFormatter) -> None:
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
