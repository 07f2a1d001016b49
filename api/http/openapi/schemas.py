"""The part of `/openapi.json` that does not follow from the routes' types: bodies are read raw, and described here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict, create_model
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from memplan.api.http.problem_details import ProblemDetails, error_answers
from memplan.api.http.requests.bodies import CSV, FORMAT_OF, JSON, TEXT
from memplan.api.http.requests.keep_requests import PlanOfJob
from memplan.api.options import Options
from memplan.api.service.answering import PLAN
from memplan.capabilities.adapting import ProblemOptions
from memplan.capabilities.registry import CAPABILITIES
from memplan.capabilities.selection import HELP, NAMES
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

_REF = "#/components/schemas/{model}"


def _model(name: str, description: str, **fields: Any) -> type[BaseModel]:
    """Return a model that serves the description of a body only."""
    return create_model(name, __config__=ConfigDict(extra="forbid"), __doc__=description, **fields)


_PLAN_REQUEST = _model(
    "PlanRequest",
    "A problem, how to plan it, and what to keep.",
    problem=Problem,
    options=(Options, Options()),
    keep=(PlanOfJob | Plan | None, None),
)

_MODELS: tuple[type[BaseModel], ...] = (Problem, Options, _PLAN_REQUEST, Plan, ProblemDetails)

PROBLEM_EXAMPLE: dict[str, Any] = CAPABILITIES[PLAN].example["problem"]
OPTIONS_EXAMPLE: dict[str, Any] = {"time_limit_s": 2, "solver": "auto", "accept": "5%"}
CSV_EXAMPLE = "id,lower,upper,size\nconv1,0,3,401408\nconv2,2,5,200704\n"
PLAN_EXAMPLE: dict[str, Any] = {
    "status": "optimal",
    "peak": 602112,
    "placements": [
        {"id": "conv1", "pool": "default", "offset": 0},
        {"id": "conv2", "pool": "default", "offset": 401408},
    ],
}
CSV_PLAN_EXAMPLE = "id,lower,upper,size,offset\nconv1,0,3,401408,0\nconv2,2,5,200704,401408\n"


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}


_ADAPTING = {
    "pin": {"type": "string", "pattern": "^.*=[0-9]{1,15}$"},
    "reserve": {"type": "string", "pattern": "^[0-9]{1,15}@[0-9]{1,15}$"},
    "copies": {"type": "string", "pattern": "^.*=[1-9]$"},
}
"""The options of a query that adapt its problem, with a form that each may have."""


def _query() -> list[dict[str, Any]]:
    """Describe the options that may come in the query."""
    size = {"type": "string", "pattern": r"^([^=]+=)?[0-9]{1,15}( ?[kMG]i?B)?$"}
    sizes = {"type": "array", "items": size, "examples": [["1MiB"], ["fast=64KiB", "slow=1MiB"]]}
    return [
        *(
            parameter(name, "Where the body is a bare problem, JSON or CSV.", schema)
            for name, schema in Options.model_json_schema()["properties"].items()
        ),
        parameter("capacity", "The size of the only pool, or NAME=SIZE for each.", sizes),
        *(
            parameter(name, str(ProblemOptions.model_fields[name].description), {"type": "array", "items": text})
            for name, text in _ADAPTING.items()
        ),
    ]


def parameter(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Describe what may come in the query."""
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


def selectable(extra: dict[str, Any]) -> dict[str, Any]:
    """Describe a call whose answer may be had in part."""
    chosen = [parameter(name, HELP[name], {"type": "string"}) for name in NAMES]
    return {**extra, "parameters": [*extra.get("parameters", ()), *chosen]}


def _others(what: str) -> dict[str, Any]:
    """Describe the formats of files but JSON, by their media types."""
    return {kind: {"schema": {"type": "string", "description": what}} for kind in FORMAT_OF if kind != JSON}


def body(content: dict[str, Any]) -> dict[str, Any]:
    """Describe the body of a request, by media type."""
    return {"requestBody": {"required": True, "content": content}}


def _bare_or_wrapped(wrapped: type[BaseModel], bare: type[BaseModel], **examples: dict[str, Any]) -> dict[str, Any]:
    """Describe a JSON body that is a bare object, or an object of it and options."""
    return {"schema": {"anyOf": [_ref(wrapped), _ref(bare)]}, "examples": examples}


def _example(summary: str, value: Any) -> dict[str, Any]:
    return {"summary": summary, "value": value}


PLAN_REQUEST: dict[str, Any] = {
    "parameters": _query(),
    **body(
        {
            JSON: _bare_or_wrapped(
                _PLAN_REQUEST,
                Problem,
                problem=_example("a bare problem", PROBLEM_EXAMPLE),
                options=_example("a problem and options", {"problem": PROBLEM_EXAMPLE, "options": OPTIONS_EXAMPLE}),
            ),
            **_others("a problem"),
            CSV: {
                "schema": {
                    "type": "string",
                    "description": "id,lower,upper,size[,alignment[,offset]]: half-open",
                },
                "examples": {"csv": _example("a CSV problem", CSV_EXAMPLE)},
            },
        }
    ),
}
_TRIPLES: dict[str, Any] = {
    "type": "array",
    "items": {"type": "array", "minItems": 3, "maxItems": 3},
    "description": "With format triples: id, pool and offset of every buffer.",
}
_EXIR: dict[str, Any] = {
    "type": "object",
    "required": ["bufsizes", "specs"],
    "description": "With format exir: the plan in ExecuTorch's numbers, memories counted from 1.",
}
PLAN_ANSWER: dict[str, Any] = {
    "description": "The plan; as CSV or as tables of memories where the caller's Accept prefers it and there is one.",
    "content": {
        JSON: {"schema": {"anyOf": [_ref(Plan), _TRIPLES, _EXIR]}, "example": PLAN_EXAMPLE},
        **_others("a plan"),
        CSV: {"schema": {"type": "string"}, "example": CSV_PLAN_EXAMPLE},
        TEXT: {"schema": {"type": "string", "description": "what each memory holds, and the most at one time"}},
    },
}
PROBLEM_ANSWER: dict[str, Any] = {
    "description": "The problem; what is absent or default is left out.",
    "content": {JSON: {"schema": _ref(Problem), "example": PROBLEM_EXAMPLE}},
}
KNOWN_PLAN_ANSWER: dict[str, Any] = {
    "description": "The plan in canonical form: buffers and pools by number, bytes in units of the problem.",
    "headers": {
        "ETag": {"schema": {"type": "string"}, "description": "Changes when a better plan is known."},
        "Cache-Control": {"schema": {"type": "string"}, "description": "Immutable once nothing can be better."},
    },
    "content": {JSON: {"schema": _ref(Plan)}},
}


class _Quiet(GenerateJsonSchema):
    """Leaves out defaults that are no JSON, such as a plan's empty table, without a warning."""

    ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | {"non-serializable-default"}


def _add_refusals(schema: dict[str, Any]) -> None:
    """Add, to each call that may ask for a key, the answers to refused callers and those of a busy server."""
    for calls in schema["paths"].values():
        for call in calls.values():
            if "security" in call:
                answers = {str(status): answer for status, answer in error_answers(401, 403, 429, 503).items()}
                if "requestBody" in call:
                    answers |= {str(status): answer for status, answer in error_answers(408).items()}
                call["responses"] = answers | call["responses"]


def add_schemas(app: FastAPI, more: Sequence[type[BaseModel]] = ()) -> None:
    """Let the app describe the bodies of its calls as well as its routes; `more` are models of further bodies."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            wanted: list[tuple[type[BaseModel], Literal["validation"]]] = [
                (model, "validation") for model in (*_MODELS, *more)
            ]
            _, found = models_json_schema(wanted, ref_template=_REF, schema_generator=_Quiet)
            schema.setdefault("components", {}).setdefault("schemas", {}).update(found["$defs"])
            _add_refusals(schema)
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
