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
# Generated clients cannot read a list of a choice inside a choice, so lists of names and of numbers are two types.
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

    `left_open` is what the plan claims beyond it, and why that is not proved.
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

    `by` names the solvers that proved it, and those whose claim they confirmed; who found the plan is its `solver`.
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
    """A size of one pool with which everything fits, the others unchanged; `proved`: no smaller size is enough."""

    pool: str
    size: int
    proved: bool


class Explanation(Certified):
    """The reason that nothing fits: the pool that lacks bytes, the time, and the buffers that are alive then.

    Where the reason was looked into (`kind` is given), the buffers and `rules` are enough for it. `irreducible` says
    that each of them is needed: without it, what is left was placed; `open_questions` counts those of which that is not
    known. `needed` is the least size of `pool` that is not ruled out, in bytes; `stretch` the times, half-open, in
    which the buffers are alive that a `core` was found among; `other_bottlenecks` the other stretches of time in which
    more is alive than the pools hold.
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
    """The places that a re-plan kept: of the buffers that have an old one, so many stayed and so many moved.

    An old place is that of an old plan or, where that has none, the buffer's hint. Buffers without bytes, and those
    inside of others, are not counted; those of one offset count as one.

    `least` says what was to be small: `buffers` that move, or their `bytes`. No plan with a peak of at most 1 + `eps`
    times the best one's has less than `least_moves` of that; it is `proved` where this plan has no more, and
    `peak_without_keeping` is proved to be the best peak. `not_tried` is the reason why nothing looked for the fewest,
    such as a package that is not installed.
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
    """The heaps of a plan, which are its pools: at most `limit` bytes each, and no plan has fewer than `least`."""

    limit: int
    least: int


class WeightedUse(PlanValue):
    """The bytes that pools use, times their weights, added up; no plan has a sum below `lower_bound`."""

    weights: dict[Name, float]
    sum: float
    lower_bound: float | None = None


class Reused(PlanValue):
    """A pair of `reuse` that shares bytes in a plan, what it costs, and the order that it needs.

    `first` is done with its bytes before `then` is born: the last use of the one must come before the first of the
    other. None where each is alive both before and after the other, so that one edge does not say it.
    """

    buffers: Annotated[tuple[Id, Id], BeforeValidator(tuple_from_list)]
    cost: int
    first: Id | None = None
    then: Id | None = None


class Others(PlanValue):
    """Plans beside a first one: each is the cheapest, within its bound, that differs from all before it.

    Two differ in at least `distance` pairs that are in `reused` or `bank_clashes` of one of them alone. `complete` says
    that no other plan differs so from all of these.
    """

    distance: int
    complete: bool
    plans: Annotated[tuple["Plan", ...], BeforeValidator(tuple_from_list)] = ()


class Plan(PlanValue):
    """An answer. `peak` is the sum of `used` over the pools; absent facts are None.

    `gap` is by how much the first thing that the objective minimises, and that is not at its bound, is above it, as a
    part of the bound. `profile` is what several pools are for; costs and their bound are as it says.
    `weighted` is the sum that was minimised where pools have weights; with a bound on slowdown, `cost_limit` is the
    most that a plan may cost, and bounds are those of plans that cost no more.

    `shared` are the pairs of the problem's `may_share` that start at one offset while they are alive together,
    `bank_clashes` the pairs of its `bank` entries with a weight that touch a common bank, both in its order;
    `reused` are the pairs of its `reuse` entries that share bytes.
    `reproducible` is None where no deterministic search made the plan; where it is false, `disturbed_by` says what, but
    the work done, decided, and `options` are those of the search. Of any search it says that an engine failed.
    `read_with` are the options that changed the problem while it was read: questions about the plan read it so, too.
    `unknown` says what the reader of the file did not know, and `findings` are those of lint about the problem. Of a
    plan in `heaps`, pools are those, the fullest first.
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
            raise OptionError("to_dataframe: needs pandas: pip install pandas; to_columns does without") from error
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
    """Remember a plan's problem, so that `problem_of` finds it, and return the plan."""
    if id(plan) not in _PROBLEMS:
        weakref.finalize(plan, _PROBLEMS.pop, id(plan), None).atexit = False
    _PROBLEMS[id(plan)] = problem
    return plan


def show_with(display: "Callable[[Problem, object], str | None]") -> None:
    """Set the function that renders a problem and its plan as HTML in notebooks."""
    _DISPLAYS[:] = [display]


def problem_of(plan: object) -> "Problem | None":
    """Return the problem of a plan; None if it is unknown, as for a plan read from JSON."""
    return _PROBLEMS.get(id(plan))
