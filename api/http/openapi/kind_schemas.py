"""The part of `/openapi.json` for kinds of jobs: their bodies and answers, as the registry describes them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from memplan.api.http.openapi.schemas import body, parameter
from memplan.api.service.kinds.kind import JSON, JobKind
from memplan.api.service.kinds.registry import KINDS

_REF = "#/components/schemas/{model}"
KIND_MODELS: tuple[type[BaseModel], ...] = tuple(
    model for kind in KINDS.values() for model in (kind.request, kind.answer)
)


def kind_request(kind: JobKind[Any]) -> dict[str, Any]:
    """Describe the query and the body of a kind's call."""
    options = kind.options.model_json_schema()["properties"]
    others = {media: {"schema": {"type": "string", "format": "binary"}} for media in kind.media if media != JSON}
    return {
        "parameters": [parameter(name, "Where the body has no options.", schema) for name, schema in options.items()],
        **body(
            {JSON: {"schema": {"$ref": _REF.format(model=kind.request.__name__)}, "example": kind.example}, **others}
        ),
    }


def kind_answer(kind: JobKind[Any]) -> dict[str, Any]:
    """Describe the answer of a kind's call."""
    schema = {"$ref": _REF.format(model=kind.answer.__name__)}
    return {"description": "The answer.", "content": {JSON: {"schema": schema}}}
