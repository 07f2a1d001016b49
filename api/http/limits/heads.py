"""Limits of request lines and headers, held before anything parses them; and the media type of a body.

A reader of a header may then take time that grows with the square of its length, and still be done at once.
"""

from __future__ import annotations

import re
from typing import ClassVar

from starlette.types import Scope

from memplan.api.refusals import RefusalError

MOST_TARGET_BYTES = 16 * 1024
MOST_FIELDS_IN_QUERY = 500
MOST_HEADERS = 100
MOST_HEADER_BYTES = 8 * 1024
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA = re.compile(rb"(%s/%s)" % (_TOKEN, _TOKEN))
_PARAMETER = re.compile(
    rb"[ \t]*;[ \t]*(?:(?P<name>%s)=(?:(?P<plain>%s)|\"(?P<quoted>(?:[^\"\\\x00-\x1f]|\\[\t -~])*)\"))?"
    % (_TOKEN, _TOKEN)
)


class LongTargetError(RefusalError):
    """The path with its query is longer than any call needs, or has more fields."""

    status: ClassVar[int] = 414


class LargeHeadersError(RefusalError):
    """There are more headers than any call needs, or one is longer."""

    status: ClassVar[int] = 431


def check_head(scope: Scope) -> None:
    """Raise LongTargetError or LargeHeadersError for a head that is larger than any call needs. O(its bytes)."""
    query: bytes = scope["query_string"]
    length = len(scope.get("raw_path") or scope["path"].encode()) + len(query)
    if length > MOST_TARGET_BYTES:
        raise LongTargetError(f"target: path and query must have at most {MOST_TARGET_BYTES} bytes, got {length}")
    if query and (count := query.count(b"&") + 1) > MOST_FIELDS_IN_QUERY:
        raise LongTargetError(f"query: must have at most {MOST_FIELDS_IN_QUERY} fields, got {count}")
    headers = scope["headers"]
    if len(headers) > MOST_HEADERS:
        raise LargeHeadersError(f"headers: must be at most {MOST_HEADERS}, got {len(headers)}")
    for name, value in headers:
        if len(name) + len(value) > MOST_HEADER_BYTES:
            told = name[:40].decode("latin-1").encode("ascii", "backslashreplace").decode()
            rule = f"must have at most {MOST_HEADER_BYTES} bytes with its name, got {len(name) + len(value)}"
            raise LargeHeadersError(f"header {told}: {rule}")


def split_media(said: bytes) -> tuple[str, dict[str, str]] | None:
    """Return a media type and its parameters, names in lower case; None for what is not one (RFC 9110, 8.3.1)."""
    found = _MEDIA.match(said)
    if found is None:
        return None
    parameters: dict[str, str] = {}
    at = found.end()
    while at < len(said):
        part = _PARAMETER.match(said, at)
        if part is None:
            return None if said[at:].strip() else (found[1].decode().lower(), parameters)
        at = part.end()
        if part["name"] is not None:
            name = part["name"].decode().lower()
            if name in parameters:
                return None
            quoted = part["quoted"]
            value = part["plain"] if quoted is None else re.sub(rb"\\(.)", rb"\1", quoted)
            parameters[name] = value.decode("latin-1")
    return found[1].decode().lower(), parameters
