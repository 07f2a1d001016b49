"""The options of a call of `POST /v1/plan`, from the body or from the query."""

from __future__ import annotations

import re
from collections import Counter
from sys import float_info
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError
from starlette.datastructures import QueryParams

from memplan.planner.errors import MAX_SHOWN, OptionError, place, sentences, shown
from memplan.planner.model.rows import Row
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.solve import DEFAULT_TIME_LIMIT_S
from memplan.solvers.reference import table

_PERCENTAGE = r"^(fit|[0-9]{1,9}(\.[0-9]{1,9})?%?)$"


def _accept(value: object) -> str | float | None:
    if isinstance(value, str) and not re.fullmatch(_PERCENTAGE, value):
        try:
            percent = float(value.removesuffix("%"))
        except ValueError:
            return value
        return percent if 0 <= percent <= float_info.max else value
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= float_info.max:
        return float(value)
    raise PydanticCustomError("rule", "must be fit or a percentage such as 5%, got {shown}", {"shown": shown(value)})


Accepted = Annotated[
    str | float | None,
    PlainValidator(_accept),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": _PERCENTAGE},
                {"type": "number", "minimum": 0},
                {"type": "null"},
            ]
        }
    ),
]
SolverName = Annotated[str, WithJsonSchema({"type": "string", "enum": ["auto", *registry.BY_NAME, *table.BY_NAME]})]


class Options(Row):
    """How to plan: how long, with which solver, what is good enough (`"fit"`, or percent above the bound), the seed.

    `deterministic` gives the same plan on every machine. `format` is how the plan is written, whatever the caller's
    Accept says.
    """

    time_limit_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = DEFAULT_TIME_LIMIT_S
    solver: SolverName = "auto"
    accept: Accepted = None
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    deterministic: bool = False
    format: Literal["json", "csv", "tables", "triples", "exir"] | None = None


def read_options(value: Any) -> Options:
    """Validate the options of a body; raises OptionError."""
    if not isinstance(value, dict):
        raise OptionError(f"options: must be an object, got {shown(value)}")
    try:
        return Options.model_validate(value)
    except ValidationError as error:
        raise OptionError(*sentences(error)) from error


def read_query(query: QueryParams) -> tuple[Options, list[str]]:
    """Read the options and the capacities of a query; raises OptionError, also for an option that is given twice.

    There may be several capacities: `SIZE` for the only pool, or `NAME=SIZE` for each.
    """
    names = Counter(name for name, _ in query.multi_items() if name != "capacity")
    if repeated := sorted(name for name, count in names.items() if count > 1)[:MAX_SHOWN]:
        raise OptionError(*(f"{place((name,))}: must be given once, got {names[name]} values" for name in repeated))
    try:
        return Options.model_validate_strings({name: query[name] for name in names}), query.getlist("capacity")
    except ValidationError as error:
        raise OptionError(*sentences(error)) from error
