"""Requests of other capabilities than plans: what their bodies ask for and how much, before anything is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from memplan.api.http.requests.submissions import check_extent, check_time, check_time_limit
from memplan.api.refusals import NotInTimeError
from memplan.api.settings import Settings
from memplan.capabilities.bodies import check_fields, parsed_fields, read_body_options, read_question
from memplan.capabilities.capability import Capability, CapabilityOptions
from memplan.capabilities.extent import Extent
from memplan.capabilities.question import Question
from memplan.planner.errors import InputError, MemplanError, OptionError, path_of


@dataclass(frozen=True)
class BegunWork:
    """The options of a request, how much it is about, and the fields of its body, which were parsed and not read.

    What is `wrong` is said once it is known when the answer is due. Where another process reads it, `end` ends that.
    """

    capability: Capability[Any]
    options: CapabilityOptions
    extent: Extent
    fields: Mapping[str, Any]
    wrong: MemplanError | None = None
    end: Callable[[], object] = lambda: None

    @property
    def is_brief(self) -> bool:
        """True where the answer needs no worker."""
        return self.capability.is_brief(self.extent, self.options)

    def question(self) -> Question:
        """Return the inputs, checked; raises InputError."""
        if self.wrong is not None:
            raise self.wrong
        question = read_question(self.capability, self.fields)
        if self.capability.check is not None:
            self.capability.check(question, self.options)
        return question


def begin_work(
    capability: Capability[Any],
    media: str,
    body: bytes,
    query: QueryParams,
    settings: Settings,
    terms: Collection[str] = (),
    arrived: float | None = None,
) -> BegunWork:
    """Parse a body, and check its size and its options, which may come in the query; raises InputError.

    Nothing is validated before its rows and pairs were counted: few bytes can make much. For a call that `arrived` it
    is told, too, where these surely take more time than it has.
    """
    asked = query.multi_items()
    if len(dict(asked)) < len(asked):
        repeated = [name for name, count in Counter(name for name, _ in asked).items() if count > 1]
        raise OptionError(*(f"{path_of((name,))}: must be given once" for name in sorted(repeated)[:10]))
    content = parsed_fields(capability, media, body)
    check_fields(capability, content, terms)
    options = read_body_options(capability, content, dict(asked))
    check_time_limit("time_limit_s", options.time_limit_s, settings.max_time_limit_s)
    extent = Extent()
    try:
        for each in capability.inputs:
            if each.name in content:
                extent = extent.with_other(each.extent(content[each.name]))
        check_extent(extent, settings)
        check_time(capability.name, extent, options.time_limit_s, arrived)
    except (InputError, NotInTimeError) as error:
        return BegunWork(capability, options, extent, {}, error)
    return BegunWork(capability, options, extent, content)
