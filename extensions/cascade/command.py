"""The files that `memplan cascade` writes: points as C, a script, a picture or a page; the model in parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memplan.api.cli.flags import Flag, integer
from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.streams import FOLDER, PAGE, write
from memplan.extensions.networks.commands.order import load_writing, model_if_gained, refuse_no_model
from memplan.planner.systems import systems

_ALIGNMENT = "Round the sizes of buffers up to multiples of this power of two, 1 by default."
_MODELS = tuple(suffix for each in systems() if each.rewrites for row in each.readers for suffix in row.suffixes)
_PICTURE, _SCHEDULE = ".svg", ".schedule"


@dataclass(frozen=True)
class _Prepared:
    """The graph in the file; for a model that will be written, the model, whose access maps are searched."""

    source: Any
    model: Any = None


def _prepare(call: Invocation) -> None:
    source = call.question["graph"]
    call.prepared = _Prepared(source)
    refuse_no_model(call)
    if call.has_output(*_MODELS):
        from memplan.extensions.cascade.writing import model_in_parts

        model = model_in_parts(call.reader, source, call.options)
        call.prepared, call.question = _Prepared(source, model), {"graph": model.access}


def _page(call: Invocation, answer: Any, _path: str) -> bytes:
    from memplan.api.reports.views import view

    return view("cascade")(call.title(answer.name), answer)


def _picture(_call: Invocation, answer: Any, _path: str) -> bytes:
    from memplan.api.reports.views import view

    return view("cascade-picture")(answer)


def _schedule(call: Invocation, answer: Any, path: str) -> bytes | None:
    from memplan.extensions.cascade.schedule_report import schedule

    if not answer.points:
        call.said.append(f"{path}: not written, as no point was found")
        return None
    return schedule(answer.points[-1])


def _model(call: Invocation, answer: Any, path: str) -> bytes | None:
    if not answer.points:
        return None
    from memplan.extensions.cascade.writing import written_in_parts

    scratch = call.reader.options.scratch
    return model_if_gained(call, written_in_parts(call.prepared.model, answer, call.reader.data, scratch), path)


def _program(call: Invocation, answer: Any, path: str) -> None:
    """Write the last point as C into a folder."""
    if not answer.points:
        call.said.append(f"{path}: not written, as no point was found")
        return
    from memplan.extensions.cascade.writing import c_files

    files = c_files(answer, call.prepared.source, Path(path).resolve().name)
    for name, content in files.items():
        write(str(Path(path) / name), content)
    call.said.append(f"{path} has {', '.join(files)}: an arena of {answer.points[-1].peak} bytes")


_KINDS = {PAGE: _page, _PICTURE: _picture, _SCHEDULE: _schedule, FOLDER: _program}
LOCAL = CommandExtras(
    flags=(Flag("alignment", type=integer, metavar="SIZE", help=_ALIGNMENT),),
    beside={**_KINDS, **dict.fromkeys(_MODELS, _model)},
    needs_plans=(*_KINDS, *_MODELS),
    loads=load_writing,
    prepare=_prepare,
)
