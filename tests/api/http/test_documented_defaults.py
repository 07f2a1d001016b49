"""What generated clients rely on: accepted documented defaults, unique operation ids, and typed lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from memplan.api.http.app import create_app
from tests.support.server import RunningServer

SCHEMA: dict[str, Any] = create_app().openapi()
CALLS = [(path, call) for path, methods in SCHEMA["paths"].items() for call in methods.values()]
POSTS = {
    path: methods["post"] for path, methods in SCHEMA["paths"].items() if "post" in methods and path != "/v1/batch"
}


def resolve(schema: Any) -> Any:
    while "$ref" in schema:
        schema = SCHEMA["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def defaults(call: Any) -> Iterator[tuple[str, Any]]:
    for parameter in call.get("parameters", ()):
        default = resolve(parameter["schema"]).get("default", parameter["schema"].get("default"))
        if parameter["in"] == "query" and default is not None:
            for value in default if isinstance(default, list) else [default]:
                yield parameter["name"], str(value).lower() if isinstance(value, bool) else value


@pytest.mark.parametrize("path", POSTS)
def test_documented_defaults_sent_in_a_query_are_accepted(server: RunningServer, path: str) -> None:
    call = POSTS[path]
    sent = call["requestBody"]["content"]["application/json"]["example"]
    answer = server.client.post(f"{path}?{urlencode(list(defaults(call)))}", json=sent)
    assert answer.is_success, answer.text


def test_every_operation_in_the_schema_has_a_short_unique_id() -> None:
    names = [call["operationId"] for _, call in CALLS]
    assert len(set(names)) == len(names)
    assert [name for name in names if "_v1_" in name or name.endswith(("_get", "_post"))] == []


def test_lists_in_the_schema_are_limited_by_items_not_by_length() -> None:
    def wrong_lists(part: Any) -> Iterator[Any]:
        if isinstance(part, dict):
            if part.get("type") == "array" and {"minLength", "maxLength"} & part.keys():
                yield part
            part = list(part.values())
        for each in part if isinstance(part, list) else ():
            yield from wrong_lists(each)

    assert list(wrong_lists(SCHEMA)) == []
