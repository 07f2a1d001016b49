"""The kind `import`: a file of whatever known format in, the problem that it poses out."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.reports.page.plan_view import ProgramNames
from memplan.api.service.import_process import ImportTask, run_apart
from memplan.api.service.kinds.kind import JSON, JobKind, KindOptions, Subject
from memplan.capabilities.reading import validated
from memplan.planner.errors import FormatError, shown
from memplan.planner.importers.imported import ImportOptions
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Alignment

BYTES = "application/octet-stream"
_MOST_BYTES = 128 * 2**20


class ImportKindOptions(KindOptions):
    """Options of an import: the file's name, which helps where its bytes tell no format, and how a model is read.

    `dims` gives the sizes of dimensions that a model only names: `batch=1,seq=128`; `scratch` the bytes that
    kernels of operators ask for: `my_op=4096`. `names` asks for the names that a program gives to times and buffers.
    """

    name: Annotated[str, Field(max_length=1000)] | None = None
    alignment: Alignment | None = None
    views: Literal["alias", "separate"] = "alias"
    dims: Annotated[str, Field(max_length=10_000)] = ""
    scratch: Annotated[str, Field(max_length=10_000)] = ""
    names: bool = False


class ReaderWarning(BaseModel):
    """What the reader noticed, by the name of its rule."""

    model_config = ConfigDict(frozen=True)

    rule: str
    message: str


class ImportAnswer(BaseModel):
    """The problem of a file, the plan inside it (None: it has none), and the peak that its own planner reached.

    `violations` say what is wrong with that plan, at most ten of them. `names` are there where they were asked for, and
    None where the file tells lifetimes only.
    """

    model_config = ConfigDict(frozen=True)

    format: str
    problem: Problem
    plan: Plan | None
    own_peak: int | None
    violations: list[str]
    warnings: list[ReaderWarning]
    names: ProgramNames | None = None


@dataclass(frozen=True)
class _File:
    data: bytes


def _read(content: Mapping[str, Any]) -> _File:
    value = content["file"]
    if isinstance(value, bytes):
        return _File(value)
    if isinstance(value, dict):  # a body of JSON that is the file itself
        return _File(to_json(value))
    if not isinstance(value, str):
        raise FormatError(f"file: must be base64 or an object, got {shown(value)}")
    try:
        return _File(b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        raise FormatError(f"file: must be base64, got {shown(value)}") from None


def _about(file: _File) -> Subject:
    return Subject(f"sha256:{sha256(file.data).hexdigest()}", None, 0)


def _options_of(options: ImportKindOptions) -> ImportOptions:
    """Return the options for reading a file; raises OptionError."""
    given = {name: getattr(options, name) for name in ("alignment", "views", "dims", "scratch")}
    return validated(ImportOptions, given)


def _check(options: ImportKindOptions) -> None:
    _options_of(options)


def _run(file: _File, options: ImportKindOptions, control: WorkControl) -> WorkAnswer:
    task = ImportTask(file.data, options.name, _options_of(options), options.names)
    return WorkAnswer(run_apart(task, control.deadline, control.cancelled))


KIND = JobKind(
    name="import",
    summary="Read a file of another system",
    description=(
        "Answer with the problem that a model, a dump or a log poses, and with the plan inside, if it has one. The file"
        " is read in a process of its own, with limits of time and memory."
    ),
    fields=("file",),
    read=_read,
    about=_about,
    run=_run,
    options=ImportKindOptions,
    check=_check,
    request=create_model(
        "ImportRequest", file=(str | dict[str, Any], ...), options=(ImportKindOptions, ImportKindOptions())
    ),
    answer=ImportAnswer,
    example={"file": "aWQsbG93ZXIsdXBwZXIsc2l6ZQphLDAsMyw2NApiLDEsNCwzMgo=", "options": {"name": "small.csv"}},
    media=(BYTES, JSON),
    most_bytes=_MOST_BYTES,
)
