"""Requests of other capabilities than plans: their bodies, checked before anybody works on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from memplan.api.http.requests.submissions import check_subject, check_time_limit
from memplan.api.settings import Settings
from memplan.capabilities.bodies import check_fields, parsed_fields, read_body_options, read_question
from memplan.capabilities.capability import Capability, CapabilityOptions
from memplan.capabilities.question import Question, Subject, subject_of
from memplan.planner.errors import OptionError, path_of


@dataclass(frozen=True)
class CheckedWork:
    """The options of a request, the facts of what it is about, its inputs, and the terms that came beside it."""

    options: CapabilityOptions
    subject: Subject
    question: Question
    terms: Mapping[str, Any]


def read_work(
    capability: Capability[Any],
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
    content = parsed_fields(capability, media, body)
    check_fields(capability, content, terms)
    options = read_body_options(capability, content, dict(asked))
    check_time_limit("time_limit_s", options.time_limit_s, settings.max_time_limit_s)
    question = read_question(capability, content)
    if capability.check is not None:
        capability.check(question, options)
    subject = subject_of(capability.inputs, question)
    check_subject(subject, settings)
    return CheckedWork(options, subject, question, {name: content[name] for name in terms if name in content})
