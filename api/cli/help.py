"""The help of commands as text: options in sections, in lines of 80 letters, with nothing that a terminal must draw.

`python -m lab.help` writes the help of each of memplan's own commands into `texts`, so that showing it imports neither
the command nor what reads command lines. What others add is formatted when it is shown.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

SETTINGS = {"help_option_names": ["-h", "--help"], "terminal_width": 80}
"""What click is given for each command."""


class SectionedCommand(TyperCommand):
    """A command whose help has a section for each panel of its options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options without a panel, and those of each panel."""
        _write_parameters(self, ctx, formatter)


class SectionedGroup(TyperGroup):
    """A command with commands of its own, whose help has a section for each panel of these."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, and then the commands of each panel with the first sentence about each."""
        _write_parameters(self, ctx, formatter)
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            about = " ".join((command.help or "").partition("\n\n")[0].split())
            sections.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append((name, about))
        _write(sections, formatter)


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
