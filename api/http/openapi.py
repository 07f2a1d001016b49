"""The parts of `/openapi.json` that do not follow from the routes' types, such as bodies that may be files."""

from __future__ import annotations

import json
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.utils import deep_dict_update
from pydantic import BaseModel, create_model
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from memplan.api.http.answers import FAIL, FAIL_HELP
from memplan.api.http.job_models import JobChange, Terms
from memplan.api.http.problem_details import ProblemDetails, error_answers
from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.api.request_bodies import BYTES, CSV, FORM, JSON, PLAN, TABLES, TEXT, body_shape
from memplan.api.requests import takes_list
from memplan.capabilities.capability import Capability
from memplan.capabilities.capability.registry import CAPABILITIES
from memplan.capabilities.capability.selection import FIELDS, HELP
from memplan.capabilities.capability.wire import request_model
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

NDJSON = "application/x-ndjson"
_REF = "#/components/schemas/{model}"
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_EVENTS_EXAMPLE = (
    'id: 1\nevent: queued\ndata: {"at":"2026-11-20T12:00:00.000Z","state":"queued","priority":0}\n\n'
    'id: 2\nevent: started\ndata: {"at":"2026-11-20T12:00:00.010Z","state":"running","attempt":1}\n\n'
)
PROBLEM_EXAMPLE: dict[str, Any] = CAPABILITIES[PLAN].example["problem"]
_CSV_EXAMPLE = "id,lower,upper,size\nconv1,0,3,401408\nconv2,2,5,200704\n"
_JOB_EXAMPLE = {"problem": PROBLEM_EXAMPLE, "options": {"time_limit_s": 60}, "priority": 10, "deadline_s": 600}
_PLAN_EXAMPLE = {"status": "optimal", "peak": 602112, "placements": [{"id": "conv1", "pool": "default", "offset": 0}]}


def _body_model(capability: Capability[Any]) -> type[BaseModel]:
    """Return the model of a capability's body; for plans, with the HTTP options."""
    model, shape = request_model(capability), body_shape(capability.name)
    if shape.options is capability.options:
        return model
    options: Any = (shape.options, shape.unsaid)
    return create_model(model.__name__, __base__=model, options=options)


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}


def _parameter(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    sayable = {key: value for key, value in schema.items() if value is not None}  # no query says null by default
    return {"name": name, "in": "query", "required": False, "description": description, "schema": sayable}


def _parameters(model: type[BaseModel], description: str = "") -> list[dict[str, Any]]:
    """Describe the fields of a model as query parameters."""
    return [
        _parameter(
            name,
            schema.pop("description", "") or description,
            schema if takes_list(model, name) else _as_text(schema),
        )
        for name, schema in model.model_json_schema()["properties"].items()
    ]


def _as_text(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field in a query, where objects and arrays are texts such as batch=1,length=128."""
    forms = schema.get("anyOf", [schema])
    scalars = [form for form in forms if form.get("type") not in ("array", "object")]
    return schema if len(scalars) == len(forms) else {"anyOf": [*scalars, {"type": "string"}], "title": schema["title"]}


def selectable(extra: dict[str, Any]) -> dict[str, Any]:
    """Describe a call whose answer can be partial or have a failure status."""
    chosen = [_parameter(FIELDS, HELP, {"type": "string"})]
    chosen.append(_parameter(FAIL, FAIL_HELP, {"type": "boolean", "default": False}))
    return {**extra, "parameters": [*extra.get("parameters", ()), *chosen]}


def _body(content: dict[str, Any]) -> dict[str, Any]:
    """Describe the body of a request, by media type."""
    return {"requestBody": {"required": True, "content": content}}


def question_request(capability: Capability[Any]) -> dict[str, Any]:
    """Describe the query and the body of a capability's call."""
    shape = body_shape(capability.name)
    options, reading = shape.options, shape.reading
    parameters = _parameters(options, "Where the body does not say it.")
    if reading is not None:
        fields = options.model_fields
        parameters += [each for each in _parameters(reading) if each["name"] not in fields]
    files = [each for each in capability.inputs if each.from_file is not None]
    parts = {each.name: {"type": "string", "format": "binary", "description": each.help} for each in files}
    content: dict[str, dict[str, Any]] = {
        JSON: {"schema": _ref(_body_model(capability)), "example": capability.example},
        BYTES: {"schema": {"type": "string", "format": "binary", "description": capability.inputs[0].help}},
        FORM: {"schema": {"type": "object", "properties": parts}},
    }
    if capability.name == PLAN:
        content |= {media: {"schema": {"type": "string"}} for media in TABLES}
        content[CSV]["example"] = _CSV_EXAMPLE
    page = {"x-view": capability.view, "x-link": capability.link}
    offered = {name: row._asdict() for name, row in page.items() if row is not None}
    return selectable({"parameters": parameters, **_body(content), **offered})


def question_answer(capability: Capability[Any]) -> dict[str, Any]:
    """Describe the answer of a capability's call."""
    if capability.name == PLAN:
        return PLAN_ANSWER
    return {"description": "The answer.", "content": {JSON: {"schema": _ref(capability.answer)}}}


def _job_request() -> dict[str, Any]:
    described = question_request(CAPABILITIES[PLAN])
    kind = {"type": "string", "enum": [*CAPABILITIES], "default": PLAN}
    says = "The call that the job is for: its body is that of the call, with terms beside."
    bodies = {"anyOf": [_ref(_body_model(capability)) for capability in CAPABILITIES.values()]}
    described["parameters"] = [
        *(each for each in described["parameters"] if each["name"] not in (FIELDS, FAIL, "name")),
        _parameter("kind", says, kind),
        *_parameters(Terms, "Where the body does not say it."),
        _parameter("name", "The job's name, that of its problem by default.", {"type": "string"}),
    ]
    described["requestBody"]["content"][JSON] = {"schema": bodies, "example": _JOB_EXAMPLE}
    return described


def _batch_request() -> dict[str, Any]:
    lines = {"type": "string", "description": "A submission a line: a problem, or one with options."}
    whole = {"type": "object", "required": ["submissions"], "additionalProperties": False}
    whole["properties"] = {"submissions": {"type": "array", "items": {"type": "object"}}}
    content = {
        NDJSON: {"schema": lines, "example": "".join(json.dumps(one) + "\n" for one in _SUBMISSIONS)},
        JSON: {"schema": whole, "example": {"submissions": _SUBMISSIONS}},
    }
    return {"parameters": question_request(CAPABILITIES[PLAN])["parameters"], **_body(content)}


EVENTS_ANSWER = {
    "description": "Events, each with its number, its JSON, and its kind: "
    "queued, started, better, progress, retried or finished.",
    "content": {"text/event-stream": {"example": _EVENTS_EXAMPLE}},
}
PLAN_ANSWER: dict[str, Any] = {
    "description": "The plan; as CSV or as tables of memories where the caller's Accept prefers it and there is one.",
    "content": {
        **{row.media_type: {"schema": {"type": "string"}} for row in PLAN_FORMATS.values()},
        JSON: {
            "schema": {"anyOf": [_ref(Plan), {"type": "array", "items": {}}, {"type": "object"}]},
            "example": _PLAN_EXAMPLE,
        },
    },
}
RESULT_ANSWER: dict[str, Any] = {
    "description": "The answer of the call of the job's kind.",
    "content": {**PLAN_ANSWER["content"], JSON: {"schema": {}}, TEXT: {"schema": {"type": "string"}}},
}
REQUEST_ANSWER: dict[str, Any] = {
    "description": "The body as it came, with its media type.",
    "content": {JSON: {"schema": {}}, BYTES: _BINARY},
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
_SUBMISSIONS = [PROBLEM_EXAMPLE | {"id": "first"}, {"id": "second", "problem": PROBLEM_EXAMPLE}]
BATCH_ANSWER: dict[str, Any] = {
    "description": 'A line for each submission: {"index", "id", "plan"} or {"index", "id", "error"}, problem details.',
    "content": {NDJSON: {"schema": {"type": "string"}}},
}


class _Quiet(GenerateJsonSchema):
    """Silently omits defaults that JSON cannot express, such as a plan's empty table."""

    ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | {"non-serializable-default"}


def _requests() -> dict[str, dict[str, Any]]:
    """Describe what is sent to each call that reads its body itself."""
    change = _body({JSON: {"schema": JobChange.model_json_schema(), "example": {"name": "nightly"}}})
    return {
        **{capability.path: {"post": question_request(capability)} for capability in CAPABILITIES.values()},
        "/v1/jobs": {"post": _job_request()},
        "/v1/jobs/{job_id}": {"patch": change},
        "/v1/batch": {"post": _batch_request()},
    }


def describe(app: FastAPI) -> None:
    """Add bodies, their models, and the refusals for missing keys to the app's own description, once it is wanted."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            deep_dict_update(schema["paths"], _requests())
            models: list[type[BaseModel]] = [Problem, Plan, ProblemDetails]
            for capability in CAPABILITIES.values():
                models += [_body_model(capability), *capability.answers]
            wanted: list[tuple[type[BaseModel], Literal["validation"]]] = [(one, "validation") for one in models]
            _, schemas = models_json_schema(wanted, ref_template=_REF, schema_generator=_Quiet)
            schema.setdefault("components", {}).setdefault("schemas", {}).update(schemas["$defs"])
            for call in (call for calls in schema["paths"].values() for call in calls.values() if "security" in call):
                more = error_answers(401, 403, 429, 503, *((408,) if "requestBody" in call else ()))
                call["responses"] = {str(status): answer for status, answer in more.items()} | call["responses"]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
