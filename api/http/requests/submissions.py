"""Submissions of clients: a problem with options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from starlette.datastructures import QueryParams

from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.bodies import FORMAT_OF, JSON
from memplan.api.options import NO_OPTIONS, Options, read_options, read_query
from memplan.api.refusals import NotInTimeError
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.settings import Settings
from memplan.capabilities.adapting import ProblemOptions, adapted
from memplan.capabilities.bodies import read_object
from memplan.capabilities.capability import due
from memplan.capabilities.extent import MOST_EXPANDED, Extent, check_expanded, extent_of
from memplan.capabilities.inputs import read_problem_field
from memplan.planner.errors import MAX_SHOWN, InputError, OptionError, path_of, shown
from memplan.planner.formats import FORMATS
from memplan.planner.model.constraints.bank import bank_pairs
from memplan.planner.model.entries import FIELDS
from memplan.planner.model.problem import Problem

ROW_S = 2.5e-6
"""The least time that reading and compiling take for each buffer, and for each pair."""
GRACE_S = 0.25
"""The time after its deadline in which an answer is still waited for; it is late after half a second."""
_LEAST_COUNTED = 5_000
_SHORT_ROWS = 600
_LISTS = frozenset({*FIELDS, "lifetimes", "reserved", "relative", "alias_of"})
"""The fields with which little can be much."""


def read_submission(kind: str, body: bytes, query: QueryParams) -> tuple[Problem, Options]:
    """Read the body of `POST /v1/plan`; raises InputError.

    JSON is a problem, or an object of a problem and its options; where the body has no options, the query may.
    """
    begun = begin_submission(kind, body, query)
    return begun.problem(), begun.options


def submission_from(content: dict[str, Any], query: QueryParams) -> tuple[Problem, Options]:
    """Read a submission from JSON that has been parsed; raises InputError."""
    begun = _begun(content, query)
    return begun.problem(), begun.options


@dataclass(frozen=True)
class BegunSubmission:
    """A submission whose options were read; `problem` reads the rest, and raises InputError; `rows` are its buffers.

    Where it `is_short`, that and writing its plan take less time than handing them to a thread. Where another process
    reads it, `compiled` waits for the problem, checked and compiled, and `end` ends that process.
    """

    options: Options
    problem: Callable[[], Problem]
    rows: int
    is_short: bool = False
    compiled: Callable[[], CompiledProblem] | None = None
    end: Callable[[], object] | None = None


def begin_submission(kind: str, body: bytes, query: QueryParams) -> BegunSubmission:
    """Read as much of the body of `POST /v1/plan` as tells its options; raises InputError."""
    if kind != JSON:
        options, adapting = read_query(query)
        read, rows = FORMATS[FORMAT_OF[kind]].read_problem, body.count(b"\n")
        return BegunSubmission(options, lambda: adapted(read(body), None, adapting), rows, rows <= _SHORT_ROWS)
    return _begun(read_object(body), query)


def _begun(content: dict[str, Any], query: QueryParams) -> BegunSubmission:
    options, adapting = read_query(query) if query else (NO_OPTIONS, ProblemOptions())
    problem: object = content
    if not is_bare(content):
        _check_fields(content, required=("problem",), optional=("options",))
        if query and "options" in content:
            raise OptionError("options: must come in the body or in the query, got both")
        if "options" in content:
            options = read_options(content["options"])
        problem = content["problem"]
    return BegunSubmission(options, lambda: adapted(read_problem_field(problem), None, adapting), *_extent(problem))


def _extent(content: object) -> tuple[int, bool]:
    """Return how many buffers the JSON of a problem has, and whether it is short: few rows, and no lists."""
    if not isinstance(content, dict):
        return 0, True
    if "functions" in content:
        return min(extent_of(content).n_rows, MOST_EXPANDED), False  # more is refused
    rows, pools = (value if isinstance(value := content.get(name), list) else [] for name in ("buffers", "pools"))
    few = [*rows, *pools] if len(rows) + len(pools) <= _SHORT_ROWS else []
    is_plain = set(map(type, few)) == {dict} and _LISTS.isdisjoint(content.keys() | set().union(*few))
    return len(rows), is_plain


def is_bare(content: dict[str, Any]) -> bool:
    """Return True if JSON is a problem alone, and not an object that holds one."""
    return "buffers" in content or not {"problem", "options"} & content.keys()


def check_time_limit(where: str, time_limit_s: float, most_s: float) -> None:
    """Refuse a time limit above the server's; raises OptionError, which says `where`."""
    if time_limit_s > most_s:
        raise OptionError(f"{where}: must be at most {most_s:g} on this server, got {shown(time_limit_s)}")


def check_size(problem: Problem, settings: Settings) -> None:
    """Refuse a problem that takes too much memory or time before a search begins; raises TooLargeError."""
    check_counts(len(problem.buffers), len(problem.pools), settings)
    check_pairs(bank_pairs(problem), len(problem.pools), settings)


def check_extent(extent: Extent, settings: Settings) -> None:
    """Refuse what a request is about where it makes too much; raises TooLargeError and OperationsError."""
    check_expanded(extent, settings.max_expanded)
    check_counts(max(extent.n_buffers, extent.n_expanded), extent.n_pools, settings)
    check_pairs(extent.n_pairs, extent.n_pools, settings)


def check_time(name: str, extent: Extent, limit_s: float, arrived: float | None) -> None:
    """Refuse a call that `arrived` with more rows than can be read in its time; raises NotInTimeError."""
    if arrived is not None and extent.n_rows * ROW_S > due(limit_s, arrived).left_s + GRACE_S:
        rows = f"{extent.n_rows} rows and pairs cannot be read and compiled"
        raise NotInTimeError(f"{name}: no answer comes within its time limit: {rows} within {limit_s:g} s")


def check_pairs(count: int, n_pools: int, settings: Settings) -> None:
    """Refuse so many pairs, which few entries of `bank` can make; raises TooLargeError."""
    if count > settings.max_pairs:
        rule = f"entries of bank must make at most {settings.max_pairs} pairs on this server"
        raise TooLargeError(f"problem: {rule}, got {count}")
    if count * n_pools > settings.max_cells:
        rule = f"pairs that entries of bank make times pools must be at most {settings.max_cells}"
        raise TooLargeError(f"problem: {rule}, got {count * n_pools}")


def check_counts(count: int, n_pools: int, settings: Settings) -> None:
    """Refuse so many buffers, with so many pools; raises TooLargeError."""
    if count > settings.max_buffers:
        raise TooLargeError(f"problem: buffers must be at most {settings.max_buffers}, got {count}")
    cells = max(count, _LEAST_COUNTED) * n_pools
    if cells > settings.max_cells:
        rule = f"buffers (at least {_LEAST_COUNTED} are counted) times pools must be at most {settings.max_cells}"
        raise TooLargeError(f"problem: {rule}, got {cells}")


def _check_fields(content: dict[str, Any], required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    breaks = [f"{name}: is required" for name in required if name not in content]
    unknown = (name for name in content if name not in (*required, *optional))
    breaks += [f"{path_of((name,))}: is not a known field" for name in islice(unknown, MAX_SHOWN)]
    if breaks:
        raise InputError(*breaks[:MAX_SHOWN])
