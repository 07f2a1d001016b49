"""Requests of other kinds than plans: their bodies, checked before anybody works on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from memplan.api.http.requests.submissions import check_subject, check_time_limit
from memplan.api.service.kinds.bodies import check_fields, parsed_fields, read_options
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.api.settings import Settings
from memplan.planner.errors import OptionError, path_of


@dataclass(frozen=True)
class CheckedWork:
    """The options of a request, the facts of what it is about, that itself, and the terms that came beside it."""

    options: KindOptions
    subject: Subject
    read: Any
    terms: Mapping[str, Any]


def read_work(
    kind: JobKind[Any],
    media: str,
    body: bytes,
    query: QueryParams,
    settings: Settings,
    terms: Collection[str] = (),
) -> CheckedWork:
    """Check the body and the query of a request, whose options may come in either; raises InputError."""
    asked = query.multi_items()
    if len(dict(asked)) < len(asked):
        repeated = [name for name, count in Counter(name for name, _ in asked).items() if count > 1]
        raise OptionError(*(f"{path_of((name,))}: must be given once" for name in sorted(repeated)[:10]))
    content = parsed_fields(kind, media, body)
    check_fields(kind, content, terms)
    options = read_options(kind, content, dict(asked))
    check_time_limit("time_limit_s", options.time_limit_s, settings.max_time_limit_s)
    found = kind.read(content)
    subject = kind.about(found)
    check_subject(subject, settings)
    return CheckedWork(options, subject, found, {name: content[name] for name in terms if name in content})
