"""A kind of job: what its bodies hold, its options, and the function that answers it in a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, Field

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.planner.model.rows import WireValue
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, MAX_TIME_LIMIT_S

JSON = "application/json"
MOST_BYTES = 32 * 2**20
S = TypeVar("S")


class KindOptions(WireValue):
    """The options that every kind has: the seconds for an answer, counted as those of a plan are."""

    time_limit_s: Annotated[float, Field(gt=0, le=MAX_TIME_LIMIT_S, allow_inf_nan=False)] = DEFAULT_TIME_LIMIT_S


@dataclass(frozen=True)
class Subject:
    """The facts of what a request is about that jobs are listed by: a content hash, a name, and its size.

    `n_pairs` are those that entries of `bank` make, `n_expanded` the statements and buffers once calls are replaced.
    """

    hash: str
    name: str | None
    n_buffers: int
    n_pools: int = 1
    n_pairs: int = 0
    n_expanded: int = 0


@dataclass(frozen=True, eq=False)
class JobKind(Generic[S]):
    """A kind of job; its call is `POST /v1/name`, its jobs `POST /v1/jobs?kind=name`.

    A body is a JSON object of `fields`, of which `needed` must be there and just one of `one_of`, if there are any, and
    `options`; or the first field alone, bare.
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
    one_of: tuple[str, ...] = ()
    media: tuple[str, ...] = (JSON,)
    most_bytes: int = MOST_BYTES

    @property
    def path(self) -> str:
        """The path of the call."""
        return f"/v1/{self.name}"
