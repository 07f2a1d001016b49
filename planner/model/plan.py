"""The plan, which is also its wire format: a status, the reason why the search stopped, and all placements."""

import weakref
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, GetPydanticSchema, PlainSerializer, WrapValidator
from pydantic_core import core_schema

from memplan.planner.errors import OptionError, PlanError, excerpt
from memplan.planner.errors.did_you_mean import closest_word
from memplan.planner.model.buffer_table import column
from memplan.planner.model.finding import Finding
from memplan.planner.model.parts import validate_in_parts
from memplan.planner.model.placement_table import PlacementTable, parse_placements
from memplan.planner.model.problem_fields import Profile
from memplan.planner.model.rows import Id, Name, Placement, PlanValue, tuple_from_list

if TYPE_CHECKING:
    from memplan.planner.model.problem import Problem

P = TypeVar("P", bound=object)
Status = Literal["optimal", "feasible", "infeasible", "unknown"]
StopReason = Literal["proved", "accepted", "time_limit", "cancelled", "work_limit", "engine-failure"]
Disturbance = Literal["time_limit", "cancelled", "engine-failure"]
ProofKind = Literal[
    "live-set", "clique", "alignment", "capacity", "pinned", "largest-buffer", "empty", "search", "engines"
]
ReasonKind = Literal["live-set", "stretch", "core"]
Ids = Annotated[tuple[Id, ...], WrapValidator(validate_in_parts)]
# Clients generated from the schema cannot read nested choices, so lists of names and lists of numbers are two types.
_Names = Annotated[tuple[Name, ...], WrapValidator(validate_in_parts)]
_Numbers = Annotated[tuple[int, ...], WrapValidator(validate_in_parts)]


def _finding_from_json(value: object) -> object:
    """Return the finding that a JSON object represents; return any other value unchanged."""
    if isinstance(value, dict) and value.keys() <= _FINDING and all(type(value.get(key)) is str for key in _SAID):
        buffers = value.get("buffers", ())
        if isinstance(buffers, list | tuple) and {*map(type, buffers)} <= {int, str}:
            return Finding(value["rule"], value["message"], tuple(buffers))
    return value


_SAID = ("rule", "message")
_FINDING = {*_SAID, "buffers"}
Findings = Annotated[
    tuple[Annotated[Finding, BeforeValidator(_finding_from_json)], ...], WrapValidator(validate_in_parts)
]
Pairs = Annotated[
    tuple[Annotated[tuple[Id, Id], BeforeValidator(tuple_from_list)], ...], WrapValidator(validate_in_parts)
]

_SHOWN_AT_MOST = 100_000
"""The number of buffers up to which a notebook displays a plan by itself, because each cell stores a whole page."""
NO_PLACEMENTS = PlacementTable((), (), column([]), column([]))
Placements = Annotated[
    PlacementTable,
    GetPydanticSchema(
        lambda _source, _handler: core_schema.no_info_plain_validator_function(parse_placements),
        lambda _schema, _handler: {"type": "array", "items": Placement.model_json_schema()},
    ),
    PlainSerializer(PlacementTable.rows),
]


class PoolUse(PlanValue):
    """The use of a pool: its largest end offset, the lower bound on that, and its capacity, in bytes."""

    name: Name
    used: int | None = None
    lower_bound: int | None = None
    size: int | None = None


class CertificateFacts(PlanValue):
    """The certificate of a plan: its size and file, or the reason why there is none.

    `left_open` names the plan's claims that the certificate does not prove, and the reason.
    """

    format: str | None = None
    lemmas: int | None = None
    bytes: int | None = None
    sha256: str | None = None
    file: str | None = None
    reason: str | None = None
    left_open: str | None = None


class Certified(PlanValue):
    """A part of a plan that may have a certificate; without one, JSON omits the field `certificate`."""

    certificate: CertificateFacts | None = Field(None, exclude_if=lambda facts: facts is None)


class Proof(Certified):
    """The witness of a bound: for `live-set`, buffers alive together at `time`; for `clique`, in mutual conflict.

    `by` names the solvers that proved the bound, and those whose claim they confirmed. The solver that found the plan
    is the plan's `solver`.
    """

    kind: ProofKind
    time: int | None = None
    buffers: Ids = ()
    by: str | None = None

    @property
    def prover(self) -> str:
        """The names of the solvers that proved the bound, or else the bound's kind."""
        return self.by or self.kind


class RuleMember(PlanValue):
    """A rule that a reason needs: its word, its subject, and its value in the problem."""

    rule: str
    buffer: Id | None = None
    pool: str | None = None
    buffers: Ids = ()
    value: int | _Names | _Numbers | None = None


class Enough(PlanValue):
    """A size of one pool with which everything fits while the other pools stay unchanged.

    `proved`: no smaller size is enough.
    """

    pool: str
    size: int
    proved: bool


class Explanation(Certified):
    """The reason that nothing fits: the pool that lacks bytes, the time, and the buffers that are alive then.

    If `kind` is given, the listed `buffers` and `rules` alone cannot all be satisfied. `irreducible`: each of them is
    proved to be needed, because without it, the others were placed; `open_questions` counts those for which this is not
    known. `needed` is the least size of `pool`, in bytes, that is not ruled out. `stretch` is the half-open range of
    time whose live buffers include the `core`. `other_bottlenecks` counts the other ranges of time in which more is
    alive than the pools hold.
    """

    message: str
    pool: str | None = None
    missing_bytes: int | None = None
    time: int | None = None
    buffers: Ids = ()
    kind: ReasonKind | None = None
    irreducible: bool | None = None
    open_questions: int | None = None
    calls: int | None = None
    wall_time_s: float | None = None
    capacity: int | None = None
    needed: int | None = None
    would_do: Enough | None = None
    stretch: Annotated[tuple[int, int], BeforeValidator(tuple_from_list)] | None = None
    rules: Annotated[tuple[RuleMember, ...], WrapValidator(validate_in_parts)] = ()
    other_bottlenecks: int | None = None


class KeptPlaces(PlanValue):
    """The numbers of buffers that a re-plan left at their old places, and of those that it moved.

    The old place of a buffer is its place in the old plan or, if it has none there, its hint. Zero-size buffers and
    aliases are not counted, and the buffers of one `same_offset` set count as one.

    `least` states what was minimised: the number of moved `buffers`, or their `bytes`. No plan whose peak is at most 1
    + `eps` times the best peak moves less than `least_moves`. `proved`: this plan moves no more than that, and
    `peak_without_keeping` is proved to be the best peak. `not_tried` is the reason why the fewest moves were not
    searched for, such as a package that is not installed.
    """

    eps: float
    least: Literal["buffers", "bytes"]
    stayed: int
    moved: int
    moved_bytes: int
    least_moves: int
    proved: bool
    peak_without_keeping: int | None = None
    not_tried: str | None = Field(None, exclude_if=lambda reason: reason is None)


class Heaps(PlanValue):
    """The heaps of a plan, which are its pools: each has at most `limit` bytes.

    No plan has fewer than `least` heaps. The plan's `lower_bound` holds for this number of heaps; more heaps may
    need fewer bytes.
    """

    limit: int
    least: int


class WeightedUse(PlanValue):
    """The sum of the bytes used in each pool times the pool's weight; no plan has a sum below `lower_bound`."""

    weights: dict[Name, float]
    sum: float
    lower_bound: float | None = None


class Reused(PlanValue):
    """A pair of `reuse` that shares bytes in a plan: its cost, and the order in which the program must use the buffers.

    The last use of `first` must end before the first use of `then`. Both are None if each buffer is alive both before
    and after the other, because one such order then does not express the requirement.
    """

    buffers: Annotated[tuple[Id, Id], BeforeValidator(tuple_from_list)]
    cost: int
    first: Id | None = None
    then: Id | None = None


class Others(PlanValue):
    """The plans after the first one: each is the cheapest, within its bound, that differs from all earlier plans.

    Two plans differ if at least `distance` pairs are in `reused` or `bank_clashes` of only one of them. `complete`: no
    further plan differs in this way from all plans found.
    """

    distance: int
    complete: bool
    plans: Annotated[tuple["Plan", ...], BeforeValidator(tuple_from_list)] = ()


class Plan(PlanValue):
    """A plan, or the answer that there is none. `peak` is the sum of `used` over the pools; unknown facts are None.

    `gap` is the relative distance from its bound of the first minimised value that exceeds its bound. `profile` sets
    the goals for several pools; the cost and its bound are those of the profile. `weighted` is the minimised sum if
    pools have weights. With a limit on slowdown, `cost_limit` is the largest allowed cost, and bounds hold for plans
    within this limit.

    `shared` are the `may_share` pairs that start at one offset while both are alive, and `bank_clashes` the weighted
    `bank` pairs that touch a common bank, both in the problem's order. `reused` are the `reuse` pairs that share bytes.

    `reproducible` is None unless a deterministic search made the plan. If it is false, `disturbed_by` names the event,
    other than counted work, that decided the search; after any other search, `disturbed_by` states only that an engine
    failed. `options` are those of a deterministic search.

    `read_with` are the options that changed the problem while it was read; questions about the plan read it with them,
    too. `unknown` lists facts that the file's reader does not know, and `findings` are lint findings about the problem.
    In a plan with `heaps`, the pools are the heaps, the fullest first.
    """

    status: Status = "feasible"
    stop_reason: StopReason | None = None
    peak: int | None = None
    lower_bound: int | None = None
    gap: float | None = None
    cost: float | None = None
    cost_lower_bound: float | None = None
    pools: Annotated[tuple[PoolUse, ...], WrapValidator(validate_in_parts)] = ()
    placements: Placements = NO_PLACEMENTS
    shared: Pairs = ()
    bank_clashes: Pairs = ()
    reused: Annotated[tuple[Reused, ...], WrapValidator(validate_in_parts)] = Field(
        (), exclude_if=lambda rows: not rows
    )
    profile: Profile | None = None
    weighted: WeightedUse | None = None
    cost_limit: float | None = None
    solver: str | None = None
    proof: Proof | None = None
    explanation: Explanation | None = None
    kept: KeptPlaces | None = None
    heaps: Heaps | None = None
    others: Others | None = Field(None, exclude_if=lambda others: others is None)
    reproducible: bool | None = None
    disturbed_by: Disturbance | None = None
    options: dict[str, Any] | None = None
    read_with: dict[str, Any] | None = None
    unknown: Annotated[tuple[str, ...], BeforeValidator(tuple_from_list)] = Field((), exclude_if=lambda rows: not rows)
    findings: Findings = ()
    wall_time_s: float | None = None
    problem_hash: str | None = None
    version: str | None = None

    def placement(self, buffer: int | str) -> Placement:
        """Return the placement of the buffer with this id; raises PlanError if the plan does not place it.

        `placements` itself is a sequence: `placements[0]` is the first placement, whatever its id.
        """
        rows = self.placements.row_of
        if buffer not in self:
            names = {str(name): name for name in rows}
            near = closest_word(str(buffer), names)
            some = ", ".join(map(excerpt, [*rows][:3])) or "none"
            hint = f" (placed are {some})" if near is None else f" (did you mean {excerpt(names[near])}?)"
            raise PlanError(f"placements: must name a placed buffer, got {excerpt(buffer)}{hint}")
        return self.placements[rows[buffer]]

    def __getitem__(self, buffer: int | str) -> Placement:
        """Return `placement(buffer)`; the index is the buffer's id, both in `plan["b3"]` and in `plan[3]`."""
        return self.placement(buffer)

    def __contains__(self, buffer: object) -> bool:
        """Return True if the plan places a buffer with this id."""
        return isinstance(buffer, int | str) and buffer in self.placements.row_of

    def to_columns(self) -> dict[str, Any]:
        """Return the placements as columns `id`, `pool` and `offset`, in the order of the placements.

        If the problem is known, as for a plan that `solve` returned, the columns `size`, `start` (of the first
        lifetime) and `end` (of the last lifetime) follow; both times are None for a buffer without lifetimes.
        """
        table = self.placements
        columns: dict[str, Any] = {
            "id": list(table.ids),
            "pool": [table.pool_names[pool] for pool in table.pool.tolist()],
            "offset": table.offset.copy(),
        }
        problem = problem_of(self)
        if problem is not None:
            rows = [problem.index[name] for name in table.ids]
            spans = [problem.buffers.intervals(row) for row in rows]
            columns["size"] = problem.buffers.size[rows]
            columns["start"] = [min(start for start, _ in pairs) if pairs else None for pairs in spans]
            columns["end"] = [max(end for _, end in pairs) if pairs else None for pairs in spans]
        return columns

    def to_dataframe(self) -> Any:
        """Return `to_columns` as a pandas data frame; raises OptionError if pandas is not installed."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise OptionError("to_dataframe: needs pandas (pip install pandas), unlike to_columns") from error
        return pandas.DataFrame(self.to_columns())

    def _repr_html_(self) -> str | None:
        """Return the plan's page as HTML for a notebook; None if the problem is unknown or too large."""
        problem = problem_of(self)
        if problem is None or len(problem.buffers) > _SHOWN_AT_MOST:
            return None
        return next((display(problem, self) for display in _DISPLAYS), None)


# Keep problems outside their plans, so that comparisons, copies and pickles of plans do not depend on problems.
_PROBLEMS: "dict[int, Problem]" = {}
_DISPLAYS: "list[Callable[[Problem, object], str | None]]" = []


def attach_problem(plan: P, problem: "Problem") -> P:
    """Store the problem of a plan, so that `problem_of` finds it, and return the plan."""
    if id(plan) not in _PROBLEMS:
        weakref.finalize(plan, _PROBLEMS.pop, id(plan), None).atexit = False
    _PROBLEMS[id(plan)] = problem
    return plan


def show_with(display: "Callable[[Problem, object], str | None]") -> None:
    """Set the function that renders a problem and its plan as HTML in notebooks, or returns None if it cannot."""
    _DISPLAYS[:] = [display]


def problem_of(plan: object) -> "Problem | None":
    """Return the problem of a plan; None if it is unknown, as for a plan read from JSON."""
    return _PROBLEMS.get(id(plan))
