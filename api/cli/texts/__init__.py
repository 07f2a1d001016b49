"""The help texts of memplan's own commands, one file each, written by `python -m lab.help`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_LIST, _WIDTH = "memplan", 80


def written(name: str) -> str | None:
    """Return the help of one of memplan's own commands; None for any other word."""
    if not name.isidentifier():
        return None
    file = Path(__file__).with_name(f"{name}.txt")
    return file.read_text(encoding="utf-8") if file.exists() else None


def text_for(words: Sequence[str]) -> str | None:
    """Return the stored help for a command line with `--help`; None if it is not stored."""
    if len(words) > 1:
        return None
    if words:
        return written(words[0]) if words[0] != _LIST else None
    # Imported here: the help of one command needs nothing else.
    from memplan.planner.extensions import extensions

    text = written(_LIST)
    for table in ("questions", "commands"):
        for name, row in extensions(table).items() if text else ():
            if written(name) is None:  # memplan's own names take precedence
                text = _with(text or "", name, row.panel, row.help)
    return text


def _with(text: str, name: str, panel: str, about: str) -> str:
    """Return the list of all commands with one more at the end of its panel."""
    # Imported here: most distributions add no command.
    from textwrap import wrap

    if (head := f"\n{panel}:\n") not in text:
        return f"{text}{head}  {name}  {about}\n"
    before, _, after = text.partition(head)
    section, gap, rest = after.partition("\n\n")
    start = len(section) - len(section.lstrip().partition(" ")[2].lstrip())
    first = f"  {name}".ljust(start)
    lines = wrap(" ".join(about.split()), _WIDTH - start, initial_indent="")
    row = f"\n{' ' * start}".join(lines)
    return f"{before}{head}{section.rstrip()}\n{first if len(first) == start else first + '  '}{row}\n{gap[1:]}{rest}"
