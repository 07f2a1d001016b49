"""Bodies of requests of a kind: an object of its fields and options, or its first field alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from memplan.api.service.kinds.kind import JSON, JobKind, KindOptions
from memplan.planner.errors import (
    MAX_SHOWN,
    FormatError,
    InputError,
    OptionError,
    path_of,
    sentences,
    shown,
)
from memplan.planner.formats import memplan_json

_MOST_FIELDS = 64
"""More fields than any body has."""


def parsed_fields(kind: JobKind[Any], media: str, body: bytes) -> dict[str, Any]:
    """Return the fields of a body, the options and the terms of a job among them; raises InputError."""
    if media != JSON:
        return {kind.fields[0]: body}
    try:
        content = memplan_json.parse(body)
    except FormatError as error:
        raise FormatError(*(f"body: {sentence}" for sentence in error.sentences)) from error
    if not isinstance(content, dict):
        raise InputError(f"body: must be an object, got {shown(content)}")
    if len(content) > _MOST_FIELDS:
        raise InputError(f"body: must have at most {_MOST_FIELDS} fields, got {len(content)}")
    is_bare = not content.keys() & {*kind.fields, *kind.moved, "options"}
    return {kind.fields[0]: content} if is_bare else content


def check_fields(kind: JobKind[Any], content: Mapping[str, Any], more: Collection[str] = ()) -> None:
    """Raise InputError where a field is lacking, or is not one of the kind's; `more` are the terms of a job."""
    needed = kind.needed if kind.needed or kind.any_of else kind.fields[:1]
    breaks = [f"{name}: is required" for name in needed if name not in content]
    if kind.any_of and content.keys().isdisjoint(kind.any_of):
        breaks.append(f"{' or '.join(kind.any_of)}: one of them is required, got neither")
    known = {*kind.fields, "options", *more}
    breaks += [
        f"{path_of((name,))}: {kind.moved.get(name, 'is not a known field')}" for name in content if name not in known
    ]
    if breaks:
        raise InputError(*breaks[:MAX_SHOWN])


def read_options(kind: JobKind[Any], content: Mapping[str, Any], query: Mapping[str, str]) -> KindOptions:
    """Return the options of a body, or those of its query; raises OptionError."""
    if query and "options" in content:
        raise OptionError("options: must come in the body or in the query, got both")
    given = content.get("options", {})
    if not isinstance(given, dict):
        raise OptionError(f"options: must be an object, got {shown(given)}")
    try:
        options = kind.options.model_validate_strings(dict(query)) if query else kind.options.model_validate(given)
    except ValidationError as error:
        raise OptionError(*sentences(error)) from error
    if kind.check is not None:
        kind.check(options)
    return options
