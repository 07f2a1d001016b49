"""Requests with `keep` beside a problem: read, and written as what a worker plans."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError
from starlette.datastructures import QueryParams

from memplan.api.http.requests.job_requests import ContentHash
from memplan.api.http.requests.submissions import check_size, check_time_limit
from memplan.api.options import Options, read_options
from memplan.api.settings import Settings
from memplan.capabilities.bodies import read_object
from memplan.capabilities.inputs import object_in, read_plan_field, read_problem_field
from memplan.planner.errors import InputError, OptionError, sentences, shown
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.rows import WireValue

WORD = b'"keep"'
"""What the body of such a request has in it."""


class PlanOfJob(WireValue):
    """The plan of a job of the caller, by its `plan_hash`."""

    plan_hash: ContentHash


@dataclass(frozen=True)
class Keeping:
    """A request that keeps places, as it was read; `problem` and `old`, the plan that came along, are JSON."""

    problem: bytes
    options: Options
    plan_hash: str | None
    old: bytes | None


def read_keeping(body: bytes, query: QueryParams, settings: Settings) -> Keeping | None:
    """Read a body with `keep`; None where it has none. Raises InputError."""
    content = read_object(body)
    if "keep" not in content or "problem" not in content:
        return None
    if query:
        raise OptionError("options: must come in the body beside keep, got a query")
    if unknown := sorted(content.keys() - {"problem", "options", "keep"}):
        raise InputError(*(f"{shown(name)}: is not a known field" for name in unknown[:10]))
    options = read_options(content.get("options", {}))
    check_time_limit("time_limit_s", options.time_limit_s, settings.max_time_limit_s)
    keep = object_in(content["keep"], "keep", OptionError)
    plan_hash = _hash(keep) if "plan_hash" in keep else None
    problem = read_problem_field(content["problem"])
    check_size(problem, settings)
    old = None if plan_hash is not None else read_plan_field(keep, "keep").model_dump_json().encode()
    return Keeping(write_problem(problem).strip(), options, plan_hash, old)


def _hash(keep: object) -> str:
    try:
        return PlanOfJob.model_validate(keep).plan_hash
    except ValidationError as error:
        raise OptionError(*sentences(error, ("keep",))) from error
