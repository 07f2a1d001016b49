"""Validates answers against the JSON schemas of the HTTP API."""

from __future__ import annotations

import json
from functools import cache

import jsonschema_rs

from memplan.api.http.app import create_app
from memplan.questions import QUESTIONS


@cache
def _answer_validators() -> dict[str, jsonschema_rs.Validator]:
    spec = create_app().openapi()
    answers = {name: spec["paths"][f"/v1/{name}"]["post"]["responses"]["200"]["content"] for name in QUESTIONS}
    schemas = {name: content["application/json"]["schema"] for name, content in answers.items()}
    parts = {"components": spec["components"]}
    return {name: jsonschema_rs.validator_for({**schema, **parts}) for name, schema in schemas.items()}


def unlike_schema(name: str, answer: bytes) -> str | None:
    """Return where and why a JSON answer to the question `name` violates its schema, or None if it conforms."""
    wrong = next(_answer_validators()[name].iter_errors(json.loads(answer)), None)
    return None if wrong is None else f"{'.'.join(map(str, wrong.instance_path))}: {wrong.message[:500]}"
