"""The options of a call of `POST /v1/plan`, from the body or from the query."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError

from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.capabilities.adapting import ProblemOptions
from memplan.capabilities.plan.plan import PlanOptions
from memplan.planner.errors import MAX_SHOWN, OptionError, path_of, sentences, shown

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    PlanFormatName = str
else:
    PlanFormatName = Literal[tuple(PLAN_FORMATS)]


class Options(PlanOptions):
    """Options of a plan over HTTP; `format` is how it is written, whatever the caller's Accept says."""

    format: PlanFormatName | None = Field(None, description="How the plan is written, whatever the Accept header says.")


NO_OPTIONS = Options.model_construct()
"""The options where none are given."""


def read_options(value: Any) -> Options:
    """Validate the options of a body; raises OptionError."""
    if not isinstance(value, dict):
        raise OptionError(f"options: must be an object, got {shown(value)}")
    try:
        return Options.model_validate(value)
    except ValidationError as error:
        raise OptionError(*sentences(error, options=Options.model_fields)) from error


_LISTS = ("capacity", "pin", "reserve", "copies")
"""The options of a query that may be given several times."""


def read_query(query: QueryParams) -> tuple[Options, ProblemOptions]:
    """Read the options of a query, and those that adapt its problem; raises OptionError, also for one given twice."""
    names = Counter(name for name, _ in query.multi_items() if name not in _LISTS)
    if repeated := sorted(name for name, count in names.items() if count > 1)[:MAX_SHOWN]:
        raise OptionError(*(f"{path_of((name,))}: must be given once, got {names[name]} values" for name in repeated))
    try:
        adapting = ProblemOptions.model_validate({name: query.getlist(name) for name in _LISTS})
        return Options.model_validate_strings({name: query[name] for name in names}), adapting
    except ValidationError as error:
        raise OptionError(*sentences(error, options=Options.model_fields)) from error
