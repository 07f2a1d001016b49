"""Validation of long lists and wide objects in parts; it stops once there are more errors than are shown.

A request body can contain an error in every two bytes, and each error takes a kilobyte and some microseconds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import ValidationError, ValidatorFunctionWrapHandler
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from memplan.planner.errors import MAX_SHOWN

_PART = 128
_MOST_FIELDS = 64
"""The maximum number of fields of an object; no object of the wire format has as many."""


def validate_in_parts(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Validate a JSON list in parts until there are more errors than are shown; return the list as a tuple."""
    if isinstance(value, list):
        value = tuple(value)
    if not isinstance(value, tuple):
        return handler(value)
    _check_width(enumerate(value) if dict in set(map(type, value)) else ())
    if len(value) <= _PART:
        return handler(value)
    parts: list[Any] = []
    part_by_part(value, _PART, lambda part: parts.extend(handler(part)), "list")
    return tuple(parts)


def part_by_part(value: Sequence[Any], size: int, validate: Callable[[Any], object], title: str) -> None:
    """Validate a list in parts of `size` entries until more errors exist than are shown; raises ValidationError."""
    errors: list[InitErrorDetails] = []
    for low in range(0, len(value), size):
        try:
            validate(value[low : low + size])
        except ValidationError as error:
            errors.extend(_shift_errors(error, low))
            if len(errors) > MAX_SHOWN:
                break
    if errors:
        raise ValidationError.from_exception_data(title, errors)


def entries_in_parts(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Validate a JSON object with arbitrary keys in parts, as `validate_in_parts` does for a list; return it."""
    if not isinstance(value, dict):
        return handler(value)
    _check_width(value.items())
    if len(value) <= _PART:
        return handler(value)
    entries = iter(value.items())
    parts_of_entries: dict[Any, Any] = {}
    while part := dict(islice(entries, _PART)):
        parts_of_entries |= handler(part)
    return parts_of_entries


def _check_width(entries: Iterable[tuple[Any, Any]]) -> None:
    """Raise ValidationError if an entry has more fields than any object of the wire format has."""
    wide = ((place, len(entry)) for place, entry in entries if type(entry) is dict and len(entry) > _MOST_FIELDS)
    errors: list[InitErrorDetails] = []
    for place, count in islice(wide, MAX_SHOWN + 1):
        kind = PydanticCustomError("rule", f"must have at most {_MOST_FIELDS} fields, got {count}")
        errors.append({"type": kind, "loc": (place,), "input": None})
    if errors:
        raise ValidationError.from_exception_data("entries", errors)


def drop_unknown_fields(value: Any, known: Mapping[str, FieldInfo]) -> Any:
    """Return an object without most of its unknown fields: only as many are kept as one error can show."""
    if type(value) is not dict or len(value) <= _MOST_FIELDS:
        return value
    others = islice((name for name in value if name not in known), MAX_SHOWN + 1)
    names = {*others, *(field.alias or name for name, field in known.items())}
    return {name: field for name, field in value.items() if name in names}


def _shift_errors(error: ValidationError, low: int) -> Iterator[InitErrorDetails]:
    for entry in error.errors(include_url=False):
        if not entry["loc"]:  # all rows of the part are wrong, so skip the error that the part is "too short"
            continue
        index, *rest = entry["loc"]
        kind: Any = entry["type"]
        if kind == "rule":
            kind = PydanticCustomError("rule", "{sentence}", {**entry.get("ctx", {}), "sentence": entry["msg"]})
        yield {"type": kind, "loc": (int(index) + low, *rest), "input": entry["input"], "ctx": entry.get("ctx", {})}
