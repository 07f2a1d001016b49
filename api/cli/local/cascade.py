"""Flags and files that only `memplan cascade` has: points as C, a script, a picture or a page; the model in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.local.order import PAGE, load_writing, refuse_no_model, title_of, write_if_gained
from memplan.api.cli.streams import refuse_unwritable, say, wants_table, write
from memplan.capabilities.cascade.cascade import CAPABILITY
from memplan.planner.errors import OptionError, shown


class CascadeDisplay(StrEnum):
    """The ways to show cascades: for programs, for people, as C, as a script for schedulers, as a picture."""

    json = "json"
    table = "table"
    c = "c"
    schedule = "schedule"
    svg = "svg"


@dataclass(frozen=True)
class _Prepared:
    """The graph in the file; with --write, the model, whose access maps are searched instead of the graph."""

    source: Any
    model: Any = None


_FORMS = (CascadeDisplay.c, CascadeDisplay.schedule, CascadeDisplay.svg)
_FORMAT = "A table on a terminal, else JSON; c, schedule, svg."
_ALIGNMENT = "Round buffers up to multiples of so many bytes, a power of two; 1 by default."
_OUTPUT = "Write here what --format says, JSON without; C in a folder."
_WRITE = "Write the TFLite model in parts: the point that needs least so, or --point."


def _prepare(given: Given) -> None:
    given.refuse_remote("page", "write")
    form, written = given.flags["display"], given.flags["write"]
    if form in _FORMS and given.server is not None:
        raise OptionError(f"format: must be json or table with --server, got {form.value}")
    source = given.question["graph"]
    given.prepared = _Prepared(source)
    _refuse_unwritable_form(form, given.flags["json"])
    if written is not None:
        refuse_no_model(given)
        # Imported here: few models are written.
        from memplan.capabilities.cascade.writing import model_in_parts

        model = model_in_parts(given.reader, source, given.options)
        given.prepared, given.question = _Prepared(source, model), {"graph": model.access}


def _refuse_unwritable_form(form: CascadeDisplay | None, path: str | None) -> None:
    """Raise InputError, before work is spent, where a form cannot be written."""
    if form is not CascadeDisplay.c:
        refuse_unwritable(path)
    elif path is None or path == "-" or (Path(path).exists() and not Path(path).is_dir()):
        raise OptionError(f"--json: must name a directory for C, got {'none' if path is None else shown(path)}")


def _finish(given: Given, answer: Any) -> Sequence[str]:
    if given.flags["page"] is not None:
        # Imported here: few cascades are looked at.
        from memplan.api.reports.page.studies import cascade_page

        write(given.flags["page"], cascade_page(title_of(given, answer.name), answer))
    if given.prepared.model is None or not answer.points:
        return ()
    from memplan.capabilities.cascade.writing import written_in_parts

    return write_if_gained(given, written_in_parts(given.prepared.model, answer, given.reader.data))


def _shows(given: Given, answer: Any) -> bool:
    form, path = given.flags["display"], given.flags["json"]
    if form in _FORMS and answer.points:
        _write_form(form, path, given, answer)
        return True
    if path is not None:
        write(path, CAPABILITY.write(answer))
    is_table = wants_table(form) or form in _FORMS
    if is_table:
        write(None, "".join(f"{line}\n" for line in CAPABILITY.lines(answer)).encode())
    return is_table or path is not None


def _write_form(form: CascadeDisplay, path: str | None, given: Given, answer: Any) -> None:
    """Write the last point of an answer in a form: into a directory for C, else to a file or standard output."""
    # Imported here: most answers are JSON or a table.
    from memplan.api.reports.cascade_picture import picture
    from memplan.api.reports.cascade_schedule import schedule

    if form is CascadeDisplay.svg:
        write(path, picture(answer).encode())
    elif form is CascadeDisplay.schedule:
        write(path, "".join(f"{line}\n" for line in schedule(answer.points[-1])).encode())
    elif path is not None:
        from memplan.capabilities.cascade.writing import c_files

        files = c_files(answer, given.prepared.source, Path(path).resolve().name)
        try:
            Path(path).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"--json: must be a directory that can be made ({error.strerror}), got {path}") from error
        for name, content in files.items():
            write(str(Path(path) / name), content)
        say(f"memplan: {path} has {', '.join(files)}: an arena of {answer.points[-1].peak} bytes")


LOCAL = Local(
    flags=(
        flag("json", str | None, None, "--json", "-o", metavar="PATH", help=_OUTPUT),
        flag("display", CascadeDisplay | None, None, "--format", help=_FORMAT),
        flag("alignment", int | None, None, "--alignment", metavar="BYTES", help=_ALIGNMENT),
        flag("write", str | None, None, "--write", metavar="FILE", help=_WRITE),
        PAGE,
    ),
    loads=load_writing,
    files=("page", "write"),
    prepare=_prepare,
    finish=_finish,
    shows=_shows,
    owns_output=True,
)
