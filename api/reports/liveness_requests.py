"""Requests for the analysis of operations, and answers: of the command and of `POST /v1/liveness`."""

from __future__ import annotations

import threading
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memplan.planner.errors import (
    FormatError,
    InputError,
    Location,
    OperationsError,
    OptionError,
    path_of,
    sentences,
    shown,
)
from memplan.planner.formats import memplan_json
from memplan.planner.formats.other_documents import refuse_unless_operations
from memplan.planner.liveness import Analysis, Reading, analyse
from memplan.planner.liveness.expansion import MAX_EXPANDED
from memplan.planner.operations.operations import Operations, operations_from
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, MAX_TIME_LIMIT_S
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.studies.liveness_comparison import PlannedPeak, compare_readings


class LivenessOptions(Reading):
    """Options for reading lifetimes; `compare` plans the problem of each way to read them, within the time limit."""

    compare: bool = False
    time_limit_s: Annotated[float, Field(gt=0, le=MAX_TIME_LIMIT_S, allow_inf_nan=False)] = DEFAULT_TIME_LIMIT_S

    @property
    def reading(self) -> Reading:
        """The options that are about lifetimes."""
        return Reading(**{name: getattr(self, name) for name in Reading.model_fields})


class LivenessRequest(BaseModel):
    """Operations, and what to find out about them."""

    model_config = ConfigDict(extra="forbid")

    operations: Operations
    options: LivenessOptions = LivenessOptions()


class LivenessAnswer(Analysis):
    """The analysis of operations; `peaks` where ways to read them were compared."""

    peaks: tuple[PlannedPeak, ...] | None = None


def read_operations(data: bytes) -> Operations:
    """Read operations from the bytes of a file; raises FormatError or OperationsError."""
    value = memplan_json.parse(data)
    if not isinstance(value, dict):
        raise OperationsError(f"operations: must be an object, got {shown(value)}")
    refuse_unless_operations(value)
    return operations_from(value)


def read_request(body: bytes) -> tuple[Operations, LivenessOptions]:
    """Read the body of a call: operations, or an object of operations and options; raises InputError."""
    try:
        content = memplan_json.parse(body)
    except FormatError as error:
        raise FormatError(*(f"body: {sentence}" for sentence in error.sentences)) from error
    if not isinstance(content, dict):
        raise OperationsError(f"body: must be an object, got {shown(content)}")
    if "operations" not in content:
        refuse_unless_operations(content)
        return operations_from(content), LivenessOptions()
    unknown = [f"{path_of((name,))}: is not a known field" for name in content.keys() - {"operations", "options"}]
    if unknown:
        raise InputError(*sorted(unknown))
    return operations_from(content["operations"]), _options(content.get("options", {}), ("options",))


def read_options(**options: str | bool | float) -> LivenessOptions:
    """Read options that were given one by one; raises OptionError."""
    return _options(options, ())


def _options(value: object, root: Location) -> LivenessOptions:
    try:
        return LivenessOptions.model_validate(value)
    except ValidationError as error:
        raise OptionError(*sentences(error, root)) from error


def answer_request(
    operations: Operations,
    options: LivenessOptions,
    *,
    most: int = MAX_EXPANDED,
    cancelled: threading.Event | None = None,
    deadline: Deadline | None = None,
) -> LivenessAnswer:
    """Analyse operations, and compare the ways to read them with `compare`; raises InputError."""
    found = analyse(operations, options.reading, most=most)
    peaks = None
    if options.compare:
        peaks = compare_readings(
            operations,
            options.reading,
            cancelled=cancelled,
            deadline=deadline or Deadline.after(options.time_limit_s),
            most=most,
        )
    return LivenessAnswer.model_construct(**{name: getattr(found, name) for name in Analysis.model_fields}, peaks=peaks)
