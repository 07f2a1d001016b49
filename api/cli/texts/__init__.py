"""The help of memplan's own commands, a file each, as `python -m lab.help` writes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_LIST = "memplan"


def written(name: str) -> str | None:
    """Return the help of a command of memplan's own; None for any other word."""
    if not name.isidentifier():
        return None
    file = Path(__file__).with_name(f"{name}.txt")
    return file.read_text(encoding="utf-8") if file.exists() else None


def text_for(words: Sequence[str]) -> str | None:
    """Return the help that a command line wants with the words before --help; None where it is not written down.

    The list of all commands is not where other distributions add to it.
    """
    if len(words) > 1:
        return None
    if words:
        return written(words[0]) if words[0] != _LIST else None
    # Imported here: the help of one command needs nothing else.
    from memplan.planner.extensions import extensions

    return None if extensions("questions") or extensions("commands") else written(_LIST)
