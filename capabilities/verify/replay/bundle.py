"""A replay bundle: the problem as it was read, the options, the start, what it ran on, and the answer, with hashes."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import to_json

from memplan.capabilities.verify.replay.environment import differences, environment
from memplan.capabilities.verify.replay.source_file import SourceFile
from memplan.planner.errors import FormatError, InputError, PlanError, shown
from memplan.planner.formats import memplan_json
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Value, as_tuple
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.options import MAX_TIME_LIMIT_S, SolveControl, SolveOptions
from memplan.solvers.portfolio.solve import solve_request
from memplan.solvers.search.deadline import Deadline
from memplan.systems.imported import ModelOptions

FORMAT = "memplan-replay/1"
Same = Literal["bytes", "peak", "nothing"]
"""What is the same in two answers: all bytes; peak, status and cost; or not even these."""
ReadProblem = Callable[[SourceFile], Problem]


class KeptFile(Value):
    """A file in a bundle: its bytes, as text or in base64, and how it was read."""

    error = FormatError

    name: str | None = None
    encoding: Literal["utf-8", "base64"] = "utf-8"
    content: str
    sha256: str
    capacity: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = ()
    inclusive: bool | None = None
    model: ModelOptions = ModelOptions()

    @property
    def file(self) -> SourceFile:
        """The file; raises FormatError where its bytes are not those of the hash."""
        try:
            data = self.content.encode() if self.encoding == "utf-8" else b64decode(self.content, validate=True)
        except (Base64Error, ValueError) as error:
            raise FormatError(f"problem.content: must be {self.encoding}: {error}") from None
        if (found := _sha256(data)) != self.sha256:
            raise FormatError(f"problem.sha256: must be that of the content ({found}), got {self.sha256}")
        return SourceFile(data, self.name, self.capacity, self.inclusive, self.model)


class ReplayBundle(Value):
    """A replay bundle. `answer` is the plan as it was written, without a time; `environment` what it was made with.

    `request_sha256` is that of all else that decides the answer: options, start, environment, and `reproducible`.
    """

    error = FormatError

    format: Literal["memplan-replay/1"]
    problem: KeptFile
    problem_hash: str
    options: SolveOptions
    start: Plan | None = None
    environment: dict[str, str | None] = Field(default_factory=dict)
    answer: Plan
    answer_sha256: str
    reproducible: bool
    request_sha256: str | None = None


class ReplayResult(Value):
    """The outcome of a replay. `environment` has what differs now, as [then, now]; `is_valid` is of the old answer."""

    same: Same
    is_valid: bool
    reproducible: bool
    peak_before: int | None
    peak: int | None
    status_before: str
    status: str
    stop_reason: str | None
    environment: dict[str, list[str | None]]


def write_bundle(file: SourceFile, problem: Problem, options: SolveOptions, answer: Plan) -> bytes:
    """Write the bundle of an answer to the problem in a file."""
    plan = without_time(answer)
    request = {
        "options": options.model_dump(mode="json", include=set(SolveOptions.model_fields)),
        "start": None,
        "environment": environment(),
        "reproducible": answer.reproducible is True,
    }
    kept = {
        "format": FORMAT,
        "problem": _kept(file),
        "problem_hash": answer.problem_hash or problem_hash(problem),
        **request,
        "answer": memplan_json.parse(memplan_json.write_plan(plan, problem)),
        "answer_sha256": _sha256(memplan_json.write_plan(plan, problem)),
        "request_sha256": _request_hash(request),
    }
    return to_json(kept, indent=1)


def _request_hash(request: Mapping[str, Any]) -> str:
    """Return the hash of what decides an answer beside its problem, whatever the order of its keys."""
    return _sha256(json.dumps(request, sort_keys=True).encode())


def read_bundle(data: bytes) -> ReplayBundle:
    """Read a bundle; raises FormatError."""
    return bundle_from(memplan_json.parse(data))


def bundle_from(value: object) -> ReplayBundle:
    """Validate a bundle that has been parsed; raises FormatError."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        got = shown(value.get("format") if isinstance(value, dict) else value)
        raise FormatError(
            f"format: must be {FORMAT}, got {got}: `memplan plan PROBLEM --bundle bundle.json` writes one"
        )
    try:
        bundle: ReplayBundle = ReplayBundle.model_validate(value)
    except PlanError as error:
        raise FormatError(*error.sentences) from error
    return bundle


def replay(
    bundle: ReplayBundle,
    read: ReadProblem,
    control: SolveControl | None = None,
    finish: Callable[[Problem, Plan], Plan] = lambda _problem, plan: plan,
) -> tuple[ReplayResult, Plan]:
    """Solve once more as a bundle says, and compare; `read` makes a problem of a file, `finish` an answer of a plan.

    What was reproducible may take as long as it needs, unless `control` has a deadline. Raises InputError where the
    bundle contradicts itself.
    """
    problem = read(bundle.problem.file)
    if (found := problem_hash(problem)) != bundle.problem_hash:
        raise InputError(f"problem_hash: must be that of the problem ({found}), got {bundle.problem_hash}")
    before = memplan_json.write_plan(bundle.answer, problem)
    if (found := _sha256(before)) != bundle.answer_sha256:
        raise InputError(f"answer_sha256: must be that of the answer ({found}), got {bundle.answer_sha256}")
    request = bundle.model_dump(mode="json", include={"options", "start", "environment", "reproducible"})
    if bundle.request_sha256 is not None and (found := _request_hash(request)) != bundle.request_sha256:
        raise InputError(f"request_sha256: must be that of options, start and environment ({found})")
    deadline = None if control is None else control.deadline
    if deadline is None and bundle.reproducible:  # this machine may be slower, or busier
        deadline = Deadline.after(MAX_TIME_LIMIT_S)
    cancelled = None if control is None else control.cancelled
    result = solve_request(problem, bundle.options, SolveControl(deadline, cancelled, start=bundle.start))
    plan = without_time(finish(problem, result.answer(bundle.options.deterministic)))
    same: Same = "bytes" if memplan_json.write_plan(plan, problem) == before else "nothing"
    if same != "bytes" and _value(plan) == _value(bundle.answer):
        same = "peak"
    return (
        ReplayResult(
            same=same,
            is_valid=not verify(problem, bundle.answer),
            reproducible=bundle.reproducible,
            peak_before=bundle.answer.peak,
            peak=plan.peak,
            status_before=bundle.answer.status,
            status=plan.status,
            stop_reason=plan.stop_reason,
            environment=differences(bundle.environment, environment()),
        ),
        plan,
    )


def without_time(plan: Plan) -> Plan:
    """Return a plan without the seconds that it took, which are never the same, and what lint says of its problem."""
    return plan.model_copy(update={"wall_time_s": None, "findings": ()})


def _value(plan: Plan) -> tuple[Any, ...]:
    return plan.peak, plan.cost, plan.peak is None and plan.status


def _kept(file: SourceFile) -> dict[str, Any]:
    row: dict[str, Any] = {"name": file.name, "encoding": "utf-8", "sha256": _sha256(file.data)}
    row |= {"capacity": file.capacity, "inclusive": file.inclusive}
    row |= {} if file.model == ModelOptions() else {"model": file.model.model_dump(mode="json")}
    try:
        return row | {"content": file.data.decode()}
    except UnicodeDecodeError:
        return row | {"encoding": "base64", "content": b64encode(file.data).decode()}


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
