"""The inputs of questions: how each is read from JSON and files, and how it is written for a service."""

import binascii
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Annotated, Any, TypeVar

from pydantic import Field
from pydantic_core import from_json, to_json

from memplan.planner.errors import FormatError, InputError, PlanError, ProblemError, excerpt
from memplan.planner.errors.did_you_mean import object_way
from memplan.planner.formats import memplan_json
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import WireValue
from memplan.questions.inputs.extent import MOST_EXPANDED, check_expanded, extent_of
from memplan.questions.inputs.values import Input, Subject
from memplan.questions.reading import ReadOptions

T = TypeVar("T")
JSON, BYTES = "application/json", "application/octet-stream"
EXAMPLE: dict[str, Any] = {
    "buffers": [{"id": "conv1", "size": 64, "start": 0, "end": 3}, {"id": "conv2", "size": 48, "start": 2, "end": 5}]
}
"""The problem used in examples of request bodies."""
EXAMPLE_PLAN: dict[str, Any] = {
    "placements": [{"id": "conv1", "pool": "default", "offset": 0}, {"id": "conv2", "pool": "default", "offset": 64}]
}
"""A plan of the example problem, for examples of request bodies."""


class PlanAndProblem(WireValue):
    """A plan, together with the problem that it solves."""

    problem: Problem
    """The problem that the plan solves."""
    plan: Plan
    """The plan."""


def require_object(value: object, name: str, error: type[InputError] = InputError) -> dict[str, Any]:
    """Return a JSON value if it is an object; otherwise raise `error`, whose text begins with `name`."""
    if not isinstance(value, dict):
        raise error(f"{name}: must be an object, got {excerpt(value)}", way=object_way(name))
    return value


def read_problem_field(value: object) -> Problem:
    """Return the problem in a field of a request body, given as buffers or as operations; raises InputError."""
    content = require_object(value, "problem", ProblemError)
    if "buffers" in content or not content.keys() & {"functions", "models"}:
        return Problem.model_validate(content)
    from memplan.planner.foreign.programs import problem_from

    check_expanded(extent_of(content), MOST_EXPANDED)
    return problem_from(content)[0]


def read_plan_field(value: object, name: str = "plan") -> Plan:
    """Return the plan in a field of a request body; raises PlanError for any other value."""
    content = require_object(value, name, PlanError)
    if memplan_json.are_offsets(content):
        way = '{"placements": [{"id": ID, "pool": NAME, "offset": BYTES}, ...]}'
        raise PlanError(f"{name}: must be a plan, got a list of offsets: {excerpt(content)} (write {way})")
    try:
        return Plan.model_validate(content)
    except PlanError as error:
        raise error.prefix_place(f"{name}.") from error


def problem_subject(problem: Problem) -> Subject:
    """Return a problem's entry in lists of jobs: its hash, name and number of buffers."""
    return Subject(problem_hash(problem), problem.name, len(problem.buffers))


def problem_json(problem: Problem) -> Any:
    """Return the problem as a JSON value for a request body."""
    return from_json(memplan_json.write_problem(problem))


def plan_json(plan: Plan) -> Any:
    """Return the plan as a JSON value for a request body."""
    return plan.model_dump(mode="json", exclude_none=True)


PROBLEM = Input(
    "problem",
    Problem,
    read_problem_field,
    problem_json,
    "A file: JSON, CSV or a model, or - for standard input.",
    from_file=lambda reader, data, name, _: reader.problem(data, name),
    subject=problem_subject,
    reading=ReadOptions,
    about="The problem.",
)
PLAN = Input(
    "plan",
    Plan,
    read_plan_field,
    plan_json,
    "A plan, JSON or CSV, alone or beside its problem, a list of offsets, a file with a plan inside, what a runtime"
    " prints of its model's plan, or -.",
    from_file=lambda reader, data, name, question: reader.plan(data, name, question["problem"]),
)


def _file_field(value: object, name: str = "file") -> bytes:
    """Return the bytes of a file in a field, given as base64 or as a JSON object; raises FormatError."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict):  # A JSON object is already decoded, so encode it again as JSON.
        return to_json(value)
    if not isinstance(value, str):
        raise FormatError(f"{name}: must be base64 or an object, got {excerpt(value)}")
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise FormatError(f"{name}: must be base64, got {excerpt(value)}") from None


Base64 = Annotated[str, Field(json_schema_extra={"contentEncoding": "base64"})]
"""The type of a file's bytes in a JSON body: a base64 string."""
FILE = Input(
    "file",
    Base64 | dict[str, Any],
    _file_field,
    lambda data: b64encode(data).decode(),
    "A model or a dump of another system, or - for standard input.",
    from_file=lambda _reader, data, _name, _question: data,
    subject=lambda data: Subject(f"sha256:{sha256(data).hexdigest()}", None, 0),
    metavar="MODEL",
    takes_bytes=True,
    is_foreign=True,
    about="The file: its bytes in base64, or a JSON object.",
)


MODEL = Input(
    "model",
    Base64,
    lambda value: _file_field(value, "model"),
    FILE.to_json,
    "The file of the model that the problem was read from.",
    absent=lambda reader, _question: None if reader.imported is None else reader.data,
    required=False,
    is_foreign=True,
)
