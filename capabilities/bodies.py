"""Bodies of requests: an object of inputs and options, or the first input alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import to_json

from memplan.capabilities.capability import Capability, CapabilityOptions
from memplan.capabilities.inputs import BYTES, JSON, object_in
from memplan.capabilities.question import Question
from memplan.planner.errors import MAX_SHOWN, FormatError, InputError, OptionError, path_of, sentences, shown
from memplan.planner.formats import memplan_json

_MOST_FIELDS = 64
"""More fields than any body has."""


def media_of(capability: Capability[Any]) -> tuple[str, ...]:
    """Return the media types of a capability's bodies."""
    return (BYTES, JSON) if capability.inputs[0].takes_bytes else (JSON,)


def read_object(body: bytes) -> dict[str, Any]:
    """Parse a body that must be an object of JSON; raises InputError."""
    try:
        content = memplan_json.parse(body)
    except FormatError as error:
        raise FormatError(*(f"body: {sentence}" for sentence in error.sentences)) from error
    return object_in(content, "body")


def parsed_fields(capability: Capability[Any], media: str, body: bytes) -> dict[str, Any]:
    """Return the fields of a body, the options and the terms of a job among them; raises InputError."""
    first = capability.inputs[0].name
    if media != JSON:
        return {first: body}
    content = read_object(body)
    if len(content) > _MOST_FIELDS:
        raise InputError(f"body: must have at most {_MOST_FIELDS} fields, got {len(content)}")
    # Of several inputs that must be there, none can be the whole body.
    is_one = sum(each.required for each in capability.inputs) < 2
    known = {*(each.name for each in capability.inputs), "options"}
    is_bare = is_one and not content.keys() & known
    return {first: content} if is_bare else content


def check_fields(capability: Capability[Any], content: Mapping[str, Any], more: Collection[str] = ()) -> None:
    """Raise InputError where an input is lacking, or a field is unknown; `more` are the terms of a job."""
    breaks = [f"{each.name}: is required" for each in capability.inputs if each.required and each.name not in content]
    if capability.any_of and content.keys().isdisjoint(capability.any_of):
        breaks.append(f"{' or '.join(capability.any_of)}: one of them is required, got neither")
    known = {*(each.name for each in capability.inputs), "options", *more}
    breaks += [f"{path_of((name,))}: is not a known field" for name in content if name not in known]
    if breaks:
        raise InputError(*breaks[:MAX_SHOWN])


def read_question(capability: Capability[Any], content: Mapping[str, Any]) -> Question:
    """Return the inputs in the fields of a body; raises InputError."""
    return {each.name: each.from_json(content[each.name]) for each in capability.inputs if each.name in content}


def read_body_options(
    capability: Capability[Any], content: Mapping[str, Any], query: Mapping[str, str]
) -> CapabilityOptions:
    """Return the options of a body, or those of its query; raises OptionError."""
    if query and "options" in content:
        raise OptionError("options: must come in the body or in the query, got both")
    given = content.get("options", {})
    if not isinstance(given, dict):
        raise OptionError(f"options: must be an object, got {shown(given)}")
    model: type[CapabilityOptions] = capability.options
    try:
        return model.model_validate_strings(dict(query)) if query else model.model_validate(given)
    except ValidationError as error:
        raise OptionError(*sentences(error, options=model.model_fields)) from error


def written_body(capability: Capability[Any], question: Question, options: CapabilityOptions) -> bytes:
    """Write the body of a request, for a service."""
    inputs = {each.name: each.to_json(question[each.name]) for each in capability.inputs if each.name in question}
    return to_json(inputs | {"options": options.model_dump(mode="json", exclude_defaults=True)})


@cache
def request_model(capability: Capability[Any]) -> type[BaseModel]:
    """Return the model that describes the bodies of a capability."""
    fields: dict[str, Any] = {
        each.name: each.wire if each.required else (each.wire | None, None) for each in capability.inputs
    }
    name = "".join(word.capitalize() for word in capability.name.split("-")) + "Request"
    lazy = ConfigDict(defer_build=True)  # only the schema of the service is made of it
    return create_model(name, __config__=lazy, **fields, options=(capability.options, capability.options()))
