"""A kind of job: what its bodies hold, its options, and the function that answers it in a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.capabilities.capability import CapabilityOptions
from memplan.capabilities.inputs import Subject

JSON = "application/json"
MOST_BYTES = 32 * 2**20
S = TypeVar("S")


KindOptions = CapabilityOptions


@dataclass(frozen=True, eq=False)
class JobKind(Generic[S]):
    """A kind of job; its call is `POST /v1/name`, its jobs `POST /v1/jobs?kind=name`.

    A body is a JSON object of `fields`, of which `needed` must be there and one of `any_of`, if there are any,
    and `options`; or the first field alone, bare.
    With other media types than JSON it is the first field, as bytes. `read` makes of the fields what a request is
    about, and raises InputError; it runs in a thread of the server, and again in the worker. `run` answers there by
    `control.deadline`, or soon after `control.cancelled` is set. `check` raises OptionError for options that are wrong
    in ways that their types do not tell. What `is_brief` is answered by a thread of the server. `request`, `answer` and
    `example` describe bodies.
    """

    name: str
    summary: str
    description: str
    fields: tuple[str, ...]
    read: Callable[[Mapping[str, Any]], S]
    about: Callable[[S], Subject]
    run: Callable[[S, Any, WorkControl], WorkAnswer]
    request: type[BaseModel]
    answer: type[BaseModel]
    example: Mapping[str, Any]
    options: type[KindOptions] = KindOptions
    check: Callable[[Any], None] | None = None
    is_brief: Callable[[Subject, Any], bool] | None = None
    needed: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    media: tuple[str, ...] = (JSON,)
    most_bytes: int = MOST_BYTES
    moved: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The path of the call."""
        return f"/v1/{self.name}"
