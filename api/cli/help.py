"""Help texts of commands as plain text: options in sections, 80 columns, no terminal graphics."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import click
from click.core import augment_usage_errors

from memplan.planner.errors import OptionError

_SETTINGS = {"help_option_names": ["-h", "--help"], "terminal_width": 80}


class ExtraArguments(click.UsageError):
    """The error for a command line with more arguments than its command accepts."""

    def __init__(self, extra: Sequence[str], ctx: click.Context) -> None:
        """Set the message to click's sentence about extra arguments, and store the arguments in `extra`."""
        super().__init__(f"Got unexpected extra argument{'s' if len(extra) > 1 else ''} ({' '.join(extra)})", ctx)
        self.extra = extra


class SectionedCommand(click.Command):
    """A command whose help groups options in panels; repeating a flag is an error unless the flag is repeatable."""

    def __init__(self, name: str | None, *, panels: Mapping[str, str] = MappingProxyType({}), **described: Any) -> None:
        """Make a command; `panels` has the panel of each option, and `described` is passed to click.Command."""
        super().__init__(name, context_settings=_SETTINGS, **described)
        self.panels = panels

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of a command line into the context, and return the arguments left over, which are none.

        Raises OptionError for a flag given twice, which click would accept, and ExtraArguments for leftover words.
        """
        given = [word.partition("=")[0] for word in args if word.startswith("-")]
        for row in self.params:
            flags = [flag for flag in given if flag in (*row.opts, *row.secondary_opts)]
            if len(set(flags) if getattr(row, "is_flag", False) else flags) > 1 and not getattr(row, "multiple", True):
                raise OptionError.from_rule(str(row.name), f"must be given once, got {' and '.join(flags)}")
        ctx.allow_extra_args = True
        with augment_usage_errors(ctx):
            extra = super().parse_args(ctx, args)
        if extra and not ctx.resilient_parsing:
            raise ExtraArguments(extra, ctx)
        return extra

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing, because `format_options` lists the arguments together with the options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write to the help text: the arguments, the options without a panel, then each panel's options."""
        _write_parameters(self, ctx, formatter, self.panels)


class SectionedGroup(click.Group):
    """A group of commands whose help lists the commands in panels."""

    command_class = SectionedCommand

    def __init__(self, name: str | None, *, panels: Mapping[str, str] = MappingProxyType({}), **described: Any) -> None:
        """Make a group; `panels` has the panel of each command, and `described` is passed to click.Group."""
        super().__init__(name, context_settings=_SETTINGS, no_args_is_help=True, **described)
        self.panels = panels

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write to the help text: the options, then each panel's commands with the first paragraph of their help."""
        _write_parameters(self, ctx, formatter, {})
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            about = " ".join((command.help or "").partition("\n\n")[0].split())
            sections.setdefault(self.panels.get(name, "Commands"), []).append((name, about))
        _write_sections(sections, formatter)


def _write_parameters(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter, panels: Mapping[str, str]
) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(ctx):
        is_argument = isinstance(parameter, click.Argument)
        title = "Arguments" if is_argument else panels.get(parameter.name or "", "Options")
        if (record := parameter.get_help_record(ctx)) is not None:
            sections.setdefault(title, []).append(record)
    _write_sections(sections, formatter)


def _write_sections(sections: dict[str, list[tuple[str, str]]], formatter: click.HelpFormatter) -> None:
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
