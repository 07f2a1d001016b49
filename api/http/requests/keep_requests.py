"""Requests with `keep` beside a problem: read, and written as what a worker re-plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ValidationError, WithJsonSchema
from starlette.datastructures import QueryParams

from memplan.api.http.requests.job_requests import ContentHash
from memplan.api.http.requests.submissions import check_size, check_time_limit
from memplan.api.options import Options, read_options
from memplan.api.settings import Settings
from memplan.capabilities.bodies import read_object
from memplan.capabilities.inputs import read_plan_field, read_problem_field
from memplan.capabilities.plan.replan import ReplanOptions
from memplan.planner.errors import InputError, OptionError, sentences, shown
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.rows import WireValue

WORD = b'"keep"'
"""What the body of such a request has in it."""


class Keep(WireValue):
    """The plan to keep: that of a job by its `plan_hash`, or a `plan` that comes along; and how, as for `replan`."""

    eps: float | str = ReplanOptions().eps
    least: Literal["buffers", "bytes"] = "buffers"
    plan_hash: ContentHash | None = None
    plan: Annotated[dict[str, Any], WithJsonSchema({"$ref": "#/components/schemas/Plan"})] | None = None


@dataclass(frozen=True)
class Keeping:
    """A request that keeps places, as it was read; `problem` and `old`, the plan that came along, are JSON."""

    problem: bytes
    options: Options
    keep: Keep
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
    if options.solver != "auto" or options.deterministic or options.accept is not None:
        raise OptionError("options: must not name a solver, deterministic or accept beside keep")
    check_time_limit("time_limit_s", options.time_limit_s, settings.max_time_limit_s)
    keep = _keep(content["keep"])
    problem = read_problem_field(content["problem"])
    check_size(problem, settings)
    old = None if keep.plan is None else read_plan_field(keep.plan, "keep.plan").model_dump_json().encode()
    return Keeping(write_problem(problem).strip(), options, keep.model_copy(update={"plan": None}), old)


def _keep(value: object) -> Keep:
    if not isinstance(value, dict):
        raise OptionError(f"keep: must be an object, got {shown(value)}")
    if "time_limit_s" in value or "seed" in value:
        raise OptionError("keep: must not have time_limit_s or seed, which are options")
    try:
        keep = Keep.model_validate(value)
    except ValidationError as error:
        raise OptionError(*sentences(error, ("keep",))) from error
    if (keep.plan is None) == (keep.plan_hash is None):
        raise OptionError("keep: must have one of plan_hash and plan")
    return keep
