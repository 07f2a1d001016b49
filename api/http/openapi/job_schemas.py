"""The part of `/openapi.json` for jobs that does not follow from the routes' types."""

from __future__ import annotations

import json
from typing import Any

from memplan.api.http.openapi.capability_schemas import REQUESTS
from memplan.api.http.openapi.schemas import PLAN_ANSWER, PLAN_EXAMPLE, PLAN_REQUEST, PROBLEM_EXAMPLE, body, parameter
from memplan.api.http.requests.bodies import JSON, NDJSON, TEXT
from memplan.api.http.requests.job_requests import JobChange, JobEnd, JobQuery, Terms
from memplan.api.service.answering import PLAN, QUESTIONS
from memplan.capabilities.inputs import BYTES

EVENTS = "text/event-stream"
_EVENTS_EXAMPLE = (
    'id: 1\nevent: queued\ndata: {"at":"2026-11-20T12:00:00.000Z","state":"queued","priority":0}\n\n'
    'id: 2\nevent: started\ndata: {"at":"2026-11-20T12:00:00.010Z","state":"running","attempt":1}\n\n'
)


def _header(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


def _envelope() -> dict[str, Any]:
    """Return the schema of a problem with options and terms; the terms are described once."""
    terms = Terms.model_json_schema()["properties"]
    return {
        "type": "object",
        "required": ["problem"],
        "additionalProperties": False,
        "properties": {
            "problem": {"$ref": "#/components/schemas/Problem"},
            "options": {"$ref": "#/components/schemas/Options"},
            **terms,
        },
    }


_KIND = {"type": "string", "enum": [PLAN, *QUESTIONS], "default": PLAN}
_CONTENT = PLAN_REQUEST["requestBody"]["content"]
_JOB_EXAMPLE = {"problem": PROBLEM_EXAMPLE, "options": {"time_limit_s": 60}, "priority": 10, "deadline_s": 600}
JOB_REQUEST: dict[str, Any] = {
    "parameters": [
        *PLAN_REQUEST["parameters"],
        parameter("kind", "The call that the job is for: its body is that of the call, with terms beside.", _KIND),
        *(
            parameter(name, "Where the body does not say it.", schema)
            for name, schema in Terms.model_json_schema()["properties"].items()
        ),
        _header(
            "Idempotency-Key",
            "The same request with the same key is one job.",
            {"type": "string", "pattern": "^[!-~]{1,200}$"},
        ),
    ],
    **body(
        _CONTENT
        | {
            JSON: {
                "schema": {
                    "anyOf": [
                        _envelope(),
                        {"$ref": "#/components/schemas/Problem"},
                        *({"$ref": f"#/components/schemas/{model.__name__}"} for model in REQUESTS),
                    ]
                },
                "examples": _CONTENT[JSON]["examples"]
                | {"terms": {"summary": "a problem, options, priority and deadline", "value": _JOB_EXAMPLE}},
            }
        }
    ),
}
LIST_REQUEST: dict[str, Any] = {
    "parameters": [
        parameter(name, "Which jobs are listed.", schema)
        for name, schema in JobQuery.model_json_schema()["properties"].items()
    ]
}
CHANGE_REQUEST: dict[str, Any] = body({JSON: {"schema": JobChange.model_json_schema(), "example": {"name": "nightly"}}})
END_REQUEST: dict[str, Any] = {
    "parameters": [
        parameter("forget", "A job that has ended is removed.", JobEnd.model_json_schema()["properties"]["forget"])
    ]
}
EVENTS_REQUEST: dict[str, Any] = {
    "parameters": [
        _header("Last-Event-ID", "The last event that is known.", {"type": "string", "pattern": "^[0-9]{1,9}$"})
    ]
}
EVENTS_ANSWER: dict[str, Any] = {
    "description": "Events, each with its number, its JSON, and its kind: "
    "queued, started, better, progress, retried or finished.",
    "content": {EVENTS: {"example": _EVENTS_EXAMPLE}},
}
RESULT_ANSWER: dict[str, Any] = {
    "description": "The answer of the call of the job's kind.",
    "content": {**PLAN_ANSWER["content"], JSON: {"schema": {}}, TEXT: {"schema": {"type": "string"}}},
}
REQUEST_ANSWER: dict[str, Any] = {
    "description": "The body as it came, with its media type.",
    "content": {JSON: {"schema": {}}, BYTES: {"schema": {"type": "string", "format": "binary"}}},
}
_SUBMISSIONS = [PROBLEM_EXAMPLE | {"id": "first"}, {"id": "second", "problem": PROBLEM_EXAMPLE}]
BATCH_REQUEST: dict[str, Any] = {
    "parameters": PLAN_REQUEST["parameters"],
    "requestBody": {
        "required": True,
        "content": {
            NDJSON: {
                "schema": {"type": "string", "description": "A submission a line: a problem, or one with options."},
                "example": "".join(json.dumps(one) + "\n" for one in _SUBMISSIONS),
            },
            JSON: {
                "schema": {
                    "type": "object",
                    "required": ["submissions"],
                    "additionalProperties": False,
                    "properties": {"submissions": {"type": "array", "items": {"type": "object"}}},
                },
                "example": {"submissions": _SUBMISSIONS},
            },
        },
    },
}
BATCH_ANSWER: dict[str, Any] = {
    "description": 'A line for each submission: {"index", "id", "plan"} or {"index", "id", "error"}, problem details.',
    "content": {
        NDJSON: {
            "schema": {"type": "string"},
            "example": json.dumps({"index": 0, "id": "first", "plan": PLAN_EXAMPLE}) + "\n",
        }
    },
}
