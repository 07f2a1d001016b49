"""The files of `memplan shapes`: its page, and offsets as the source of a program."""

from __future__ import annotations

from typing import Any

from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.streams import PAGE
from memplan.planner.errors import OptionError

SOURCES = {".c": "c", ".py": "python"}
"""The language of a source file with offsets, by its suffix."""


def _page(call: Invocation, answer: Any, path: str) -> bytes | None:
    from memplan.api.reports.views import view

    if not answer.curves:
        call.said.append(f"{path}: not written, as no symbol has several values")
        return None
    return view("shapes")(call.title(), answer)


def _prepare_source(call: Invocation) -> None:
    """Request the offsets in the language of the file that -o names."""
    languages = {language for suffix, language in SOURCES.items() if call.has_output(suffix)}
    if (wanted := call.flags["to"]) is not None:
        languages.add(wanted)
    if len(languages) > 1 and any(map(call.has_output, SOURCES)):
        raise OptionError(f"output: must be of one language, got {', '.join(sorted(languages))}")
    if languages and wanted is None:
        call.change(to=languages.pop())


def _source(_call: Invocation, answer: Any, _path: str) -> bytes | None:
    return None if answer.source is None else bytes(answer.source.encode())


LOCAL = CommandExtras(forms=dict.fromkeys(SOURCES, _source), beside={PAGE: _page}, prepare=_prepare_source)
