"""What generated clients rely on: documented defaults that change no answer, unique operation ids, and typed lists."""

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from memplan.api.http.app import create_app
from tests.support.server import RunningServer

SCHEMA: dict[str, Any] = create_app().openapi()
CALLS = [(path, call) for path, methods in SCHEMA["paths"].items() for call in methods.values()]
POSTS = {path: calls["post"] for path, calls in SCHEMA["paths"].items() if "post" in calls and path != "/v1/batch"}


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


def choices(schema: Any, where: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield each choice of types in a schema, but for null, with its place."""
    if isinstance(schema, dict):
        for name, part in schema.items():
            if name in ("anyOf", "oneOf"):
                yield where, [each for each in part if each.get("type") != "null"]
            yield from choices(part, f"{where}/{name}")
    elif isinstance(schema, list):
        for k, part in enumerate(schema):
            yield from choices(part, f"{where}/{k}")


def test_no_choice_of_types_contains_a_list_that_generated_clients_cannot_read() -> None:
    # openapi-generator cannot read a list of a choice inside a choice, openapi-python-client one of several constants.
    every = [*choices(SCHEMA, "")]
    assert len(every) > 50
    for where, types in every:
        for each in map(resolve, types if len(types) > 1 else []):
            items = resolve(each.get("items", {}))
            assert "anyOf" not in items, where
            assert "oneOf" not in items, where
            assert not any("const" in entry for entry in each.get("prefixItems", ())), where


_OF_TIMES = {"wall_time_s", "search_s"}
_MODEL = Path(__file__).parents[2] / "models" / "view.tflite"
_ALONE = ("/v1/plan", "/v1/explain", "/v1/certify", "/v1/order", "/v1/cascade", "/v1/compare", "/v1/convert")
"""The calls that take a model without other inputs."""


def timeless_parts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: timeless_parts(each) for name, each in value.items() if name not in _OF_TIMES}
    return [timeless_parts(each) for each in value] if isinstance(value, list) else value


def ask(server: RunningServer, path: str, query: list[tuple[str, Any]], body: Any) -> Any:
    media = "application/octet-stream" if isinstance(body, bytes) else "application/json"
    if isinstance(body, bytes):
        query = [("name", _MODEL.name)] * (path in ("/v1/compare", "/v1/convert")) + query
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = server.client.post(f"{path}?{urlencode(query)}", content=content, headers={"content-type": media})
    assert answer.is_success, (query, answer.text)
    return timeless_parts(answer.json())


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in POSTS if path != "/v1/jobs"])
def test_each_documented_default_sent_in_a_query_changes_nothing(server: RunningServer, path: str) -> None:
    call = POSTS[path]
    bodies = [call["requestBody"]["content"]["application/json"]["example"]]
    bodies += [_MODEL.read_bytes()] if path in _ALONE else []
    for body in bodies:
        plain, given = ask(server, path, [], body), [*defaults(call)]
        if ask(server, path, given, body) != plain:  # name the default that changes the answer
            assert [each for each in given if ask(server, path, [each], body) != plain] == given


def test_documented_defaults_of_a_job_are_accepted_in_its_query(server: RunningServer) -> None:
    call = POSTS["/v1/jobs"]
    sent = call["requestBody"]["content"]["application/json"]["example"]
    answer = server.client.post(f"/v1/jobs?{urlencode([*defaults(call)])}", json=sent)
    assert answer.is_success, answer.text


def is_of_schema(schema: Any, value: Any) -> bool:
    """Return True if a value has the kind of a schema, and an object has all required fields and no unknown one."""
    schema = resolve(schema)
    if choices := schema.get("anyOf", schema.get("oneOf")):
        return any(is_of_schema(each, value) for each in choices)
    if isinstance(value, dict):
        has_fields = {*value} <= {*schema.get("properties", value)} and {*schema.get("required", ())} <= {*value}
        return schema.get("type") == "object" and has_fields
    return (schema.get("type") == "array") == isinstance(value, list) and "properties" not in schema


def missing_defaults(schema: Any, value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    schema = resolve(schema)
    choices = [each for kind in ("anyOf", "oneOf", "allOf") for each in schema.get(kind, ())]
    if choice := next((each for each in choices if is_of_schema(each, value)), None):
        yield from missing_defaults(choice, value, place)
    for name, field in schema.get("properties", {}).items() if isinstance(value, dict) else ():
        if name in value:
            yield from missing_defaults(field, value[name], (*place, name))
        elif "default" in field or "default" in resolve(field):
            yield (*place, name), field.get("default", resolve(field).get("default"))
    if isinstance(value, list) and value and "items" in schema:
        yield from missing_defaults(schema["items"], value[0], (*place, 0))


def with_fields(body: Any, fields: Iterable[tuple[tuple[Any, ...], Any]]) -> Any:
    sent = deepcopy(body)
    for place, value in fields:
        part: Any = sent
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
    return sent


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in POSTS if path != "/v1/jobs"])
def test_each_documented_default_sent_in_a_body_changes_nothing(server: RunningServer, path: str) -> None:
    content = POSTS[path]["requestBody"]["content"]["application/json"]
    body = {"options": {}} | content["example"]
    plain, missing = ask(server, path, [], body), [*missing_defaults(content["schema"], body)]
    assert len(missing) > 3
    if ask(server, path, [], with_fields(body, missing)) != plain:  # name the default that changes the answer
        assert [each for each in missing if ask(server, path, [], with_fields(body, [each])) != plain] == missing


def test_pools_sent_with_all_defaults_have_no_address(server: RunningServer) -> None:
    rows = [{"id": name, "size": 64, "start": 0, "end": 2} for name in "ab"]
    pools = [{"name": "fast", "size": 64}, {"name": "slow", "size": 128}]
    scalars = {"alignment": 1, "base_address": 0, "cost": 0}
    plain, sent = ({"buffers": rows, "pools": [each | more for each in pools]} for more in ({}, scalars))
    assert ask(server, "/v1/plan", [], plain)["pools"] == ask(server, "/v1/plan", [], sent)["pools"]


@pytest.mark.parametrize(("request_name", "field"), [("PlanRequest", "problem"), ("CheckRequest", "baseline")])
def test_each_choice_in_the_schema_begins_with_that_of_more_required_fields(request_name: str, field: str) -> None:
    choices = SCHEMA["components"]["schemas"][request_name]["properties"][field]["anyOf"]
    first, second = (resolve(each) for each in choices[:2])
    assert {*first["required"]} - {*second.get("required", ())}, "a generated client takes the first that can be read"


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


def test_each_field_of_the_service_s_description_has_a_text() -> None:
    models = SCHEMA["components"]["schemas"].items()
    fields = [(name, field, shown) for name, model in models for field, shown in model.get("properties", {}).items()]
    assert [f"{name}.{field}" for name, field, shown in fields if not shown.get("description")] == []
    assert len(fields) > 1000
