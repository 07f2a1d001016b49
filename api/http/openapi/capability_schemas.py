"""The part of `/openapi.json` for capabilities: their bodies and answers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from memplan.api.http.openapi.schemas import body, parameter, selectable
from memplan.api.service.answering import QUESTIONS
from memplan.capabilities.bodies import media_of, request_model
from memplan.capabilities.capability import Capability
from memplan.capabilities.inputs import JSON
from memplan.capabilities.registry import CAPABILITIES

_REF = "#/components/schemas/{model}"
REQUESTS: tuple[type[BaseModel], ...] = tuple(request_model(CAPABILITIES[name]) for name in QUESTIONS)
MODELS: tuple[type[BaseModel], ...] = (*REQUESTS, *(CAPABILITIES[name].answer for name in QUESTIONS))


def question_request(capability: Capability[Any]) -> dict[str, Any]:
    """Describe the query and the body of a capability's call."""
    options = capability.options.model_json_schema()["properties"]
    binary = {"schema": {"type": "string", "format": "binary"}}
    request = {
        "parameters": [
            parameter(name, schema.pop("description", "") or "Where the body has no options.", schema)
            for name, schema in options.items()
        ],
        **body(
            {
                JSON: {
                    "schema": {"$ref": _REF.format(model=request_model(capability).__name__)},
                    "example": capability.example,
                },
                **{media: binary for media in media_of(capability) if media != JSON},
            }
        ),
    }
    return selectable(request)


def question_answer(capability: Capability[Any]) -> dict[str, Any]:
    """Describe the answer of a capability's call."""
    schema = {"$ref": _REF.format(model=capability.answer.__name__)}
    return {"description": "The answer.", "content": {JSON: {"schema": schema}}}
