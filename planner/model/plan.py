"""The plan, which is also its wire format: a status, the reason why the search stopped, and all placements."""

import weakref
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, GetPydanticSchema, PlainSerializer, WrapValidator
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
    """The use of a pool by a plan."""

    name: Name
    """The name of the pool."""
    used: int | None = None
    """The largest end offset of a buffer in the pool, in bytes."""
    lower_bound: int | None = None
    """The lower bound on `used`; with several pools, for plans that are best in the cost and in all later pools."""
    size: int | None = None
    """The capacity of the pool in bytes; null if it has none."""


class CertificateFacts(PlanValue):
    """The certificate of a plan, or the reason why there is none."""

    format: str | None = None
    """The format of the certificate."""
    lemmas: int | None = None
    """The number of its lemmas."""
    bytes: int | None = None
    """The size of its file in bytes."""
    sha256: str | None = None
    """The SHA-256 hash of its bytes."""
    file: str | None = None
    """The name of the file that was written."""
    reason: str | None = None
    """Why there is no certificate; null if there is one."""
    left_open: str | None = None
    """The plan's claims that the certificate does not prove, and the reason; null if it proves all."""


class Certified(PlanValue):
    """A part of a plan that may have a certificate; without one, JSON omits the field `certificate`."""

    certificate: CertificateFacts | None = Field(None, exclude_if=lambda facts: facts is None)
    """The certificate that was written with the plan; left out without one."""


class Proof(Certified):
    """The witness of a lower bound."""

    kind: ProofKind
    """What proves the bound: `live-set` (buffers alive together), `clique` (buffers in mutual conflict), `search` (of
    all plans), `engines`, or a single fact."""
    time: int | None = None
    """The time step at which the buffers of a live set are alive."""
    buffers: Ids = ()
    """The buffers that prove the bound, such as those of the live set."""
    by: str | None = None
    """The solvers that proved the bound, and those whose claim they confirmed, such as `cbc and exact`; null if no
    search was needed."""

    @property
    def prover(self) -> str:
        """The names of the solvers that proved the bound, or else the bound's kind."""
        return self.by or self.kind


class RuleMember(PlanValue):
    """A rule that a reason needs."""

    rule: str
    """The field of the problem that states the rule, such as `alignment`."""
    buffer: Id | None = None
    """The buffer that the rule concerns, if it is one."""
    pool: str | None = None
    """The pool that the rule concerns, if it is one."""
    buffers: Ids = ()
    """The buffers that the rule concerns, if they are several."""
    value: int | _Names | _Numbers | None = None
    """The rule's value in the problem, such as 64 for an alignment."""


class Enough(PlanValue):
    """A size of one pool with which everything fits while the other pools stay unchanged."""

    pool: str
    """The name of the pool."""
    size: int
    """Its size in bytes with which everything fits."""
    proved: bool
    """True if no smaller size is enough."""


class Explanation(Certified):
    """The reason that nothing fits."""

    message: str
    """The reason in one sentence."""
    pool: str | None = None
    """The pool that lacks bytes; null if it is not one pool."""
    missing_bytes: int | None = None
    """The bytes that it lacks at `time`."""
    time: int | None = None
    """The time step at which too many bytes are alive."""
    buffers: Ids = ()
    """The buffers that cannot all be placed: those alive at `time`, or the core of the contradiction."""
    kind: ReasonKind | None = None
    """The kind of the reason: `live-set` (at one time), `stretch` (a range of time), or `core` (buffers and rules). If
    given, the listed buffers and rules alone cannot all be satisfied."""
    irreducible: bool | None = None
    """True if each of the buffers and rules is needed: without it, the others were placed."""
    open_questions: int | None = None
    """The number of buffers and rules for which it is not known whether they are needed."""
    calls: int | None = None
    """The number of plans that were made to find the reason."""
    wall_time_s: float | None = None
    """The time that finding it took, in seconds."""
    capacity: int | None = None
    """The capacity of `pool` in bytes."""
    needed: int | None = None
    """The least size of `pool` in bytes that is not ruled out."""
    would_do: Enough | None = None
    """A size of one pool that is known to be enough."""
    stretch: Annotated[tuple[int, int], BeforeValidator(tuple_from_list)] | None = None
    """The half-open range of time whose live buffers include those of the core."""
    rules: Annotated[tuple[RuleMember, ...], WrapValidator(validate_in_parts)] = ()
    """The rules that the reason needs beside the sizes and lifetimes of its buffers."""
    other_bottlenecks: int | None = None
    """The number of other ranges of time in which more is alive than the pools hold."""


class KeptPlaces(PlanValue):
    """The numbers of buffers that a re-plan left at their old places, and of those that it moved.

    The old place of a buffer is its place in the old plan or, if it has none there, its hint. Zero-size buffers and
    aliases are not counted, and the buffers of one `same_offset` set count as one.
    """

    eps: float
    """The allowed excess over the best peak, such as 0.02 for 2 %."""
    least: Literal["buffers", "bytes"]
    """What was minimised: the number of moved `buffers`, or their `bytes`."""
    stayed: int
    """The number of buffers at their old places."""
    moved: int
    """The number of buffers that moved."""
    moved_bytes: int
    """The bytes of the buffers that moved."""
    least_moves: int
    """No plan within `eps` moves less than this, in the unit of `least`."""
    proved: bool
    """True if this plan moves no more than `least_moves`, and `peak_without_keeping` is proved to be the best peak."""
    peak_without_keeping: int | None = None
    """The peak in bytes of the best plan found without regard to old places."""
    not_tried: str | None = Field(None, exclude_if=lambda reason: reason is None)
    """Why the fewest moves were not searched for, such as a package that is not installed; left out if they were."""


class Heaps(PlanValue):
    """The heaps of a plan, which are its pools."""

    limit: int
    """The most bytes of each heap."""
    least: int
    """No plan has fewer heaps than this. The plan's `lower_bound` holds for this number of heaps; more heaps may
    need fewer bytes."""


class WeightedUse(PlanValue):
    """The weighted use of several pools, which a plan minimises."""

    weights: dict[Name, float]
    """The weight of each pool, by its name."""
    sum: float
    """The sum of each pool's used bytes times its weight."""
    lower_bound: float | None = None
    """No plan has a smaller sum than this; null if no bound is known."""


class Reused(PlanValue):
    """A pair of `reuse` that shares bytes in a plan."""

    buffers: Annotated[tuple[Id, Id], BeforeValidator(tuple_from_list)]
    """The two buffers, in the problem's order."""
    cost: int
    """What the plan pays for the pair."""
    first: Id | None = None
    """The buffer whose last use must end before the first use of `then`; null if no one order of the two states this.
    """
    then: Id | None = None
    """The other buffer; null if `first` is."""


class BufferCopy(PlanValue):
    """A copy of a buffer from one pool to another."""

    model_config = ConfigDict(populate_by_name=True)

    id: Id
    """The name of the buffer."""
    source: Name = Field(alias="from")
    """The pool from which it is copied."""
    to: Name
    """The pool in which the copy begins a new piece."""
    time: int
    """The time step at which the copy begins. It comes before the accesses of this time step, unless one of them writes
    the buffer in `from`: it then comes after that."""
    bytes: int
    """The size of the buffer."""


class MovedBytes(PlanValue):
    """The bytes of all copies from one pool to another."""

    model_config = ConfigDict(populate_by_name=True)

    source: Name = Field(alias="from")
    """The pool from which they are copied."""
    to: Name
    """The pool to which they are copied."""
    bytes: int
    """The sum of their bytes."""


class Plan(PlanValue):
    """A plan, or the answer that there is none. Unknown facts are None."""

    status: Status = "feasible"
    """`optimal` (no plan is better, and `proof` says why), `feasible` (valid; a better plan may exist), `infeasible`
    (proved that no plan fits, and `explanation` says why), or `unknown` (none was found in time)."""
    stop_reason: StopReason | None = None
    """Why the search stopped: `proved`, `accepted` (good enough for `accept_gap`), `time_limit`, `work_limit`,
    `cancelled`, or `engine-failure`."""
    peak: int | None = None
    """The sum of `used` over all pools, in bytes; null without a plan."""
    lower_bound: int | None = None
    """No plan has a smaller peak than this, in bytes."""
    gap: float | None = None
    """How far the plan is above its bound, as a fraction: 0.1 for 110 above 100. Of the cost, if it is minimised; else
    of the peak; with several pools, of the first minimised value above its bound. Null if the bound is 0 or unknown."""
    cost: float | None = None
    """The cost of the plan, if the problem's objective or the profile counts it; else null."""
    cost_lower_bound: float | None = None
    """No plan costs less than this."""
    pools: Annotated[tuple[PoolUse, ...], WrapValidator(validate_in_parts)] = ()
    """The use of each pool; with `heaps`, the pools are the heaps, the fullest first."""
    placements: Placements = NO_PLACEMENTS
    """The place of each buffer; with `moves`, the places of each of its pieces, in order of their starts."""
    copies: Annotated[tuple[BufferCopy, ...], WrapValidator(validate_in_parts)] = Field(
        (), exclude_if=lambda rows: not rows
    )
    """With `moves`, the copies between pools, in order of time."""
    moved_bytes: Annotated[tuple[MovedBytes, ...], WrapValidator(validate_in_parts)] = Field(
        (), exclude_if=lambda rows: not rows
    )
    """With `moves`, the bytes of all copies, by pair of pools."""
    shared: Pairs = ()
    """The pairs of the problem's `may_share` that start at one offset while both are alive, in the problem's order."""
    bank_clashes: Pairs = ()
    """The weighted pairs of the problem's `bank` that touch a common bank and cost their weight, in its order."""
    reused: Annotated[tuple[Reused, ...], WrapValidator(validate_in_parts)] = Field(
        (), exclude_if=lambda rows: not rows
    )
    """The pairs of the problem's `reuse` that share bytes, and whose price the plan pays."""
    profile: Profile | None = None
    """The goal for several pools that was chosen (`speed`, `balanced` or `size`); else null."""
    weighted: WeightedUse | None = None
    """The minimised sum, if pools have weights."""
    cost_limit: float | None = None
    """The largest allowed cost, if the profile limits it, as `balanced+5%` does; bounds are then of plans within it."""
    solver: str | None = None
    """The solver that found the plan, such as `exact`."""
    proof: Proof | None = None
    """What proves the lower bound."""
    explanation: Explanation | None = None
    """Why nothing fits, if that is proved."""
    kept: KeptPlaces | None = None
    """After a re-plan (`--keep`), the numbers of buffers that kept their old place and that moved."""
    heaps: Heaps | None = None
    """With the option `heaps` (as many arenas of limited size as needed), their limit and least number; else null."""
    reproducible: bool | None = None
    """With the option `deterministic`, true if the same options make the same placements again, and false if
    `disturbed_by` names an event; else null."""
    disturbed_by: Disturbance | None = None
    """With the option `deterministic`, the event other than counted work that ended the search: `time_limit`,
    `cancelled`, or `engine-failure`; null if there was none."""
    options: dict[str, Any] | None = None
    """The options of a deterministic search, with which `verify --again` repeats it."""
    read_with: dict[str, Any] | None = None
    """The options that changed the problem while it was read, such as a model's `dim`; questions about the plan read
    the problem with them."""
    unknown: Annotated[tuple[str, ...], BeforeValidator(tuple_from_list)] = Field((), exclude_if=lambda rows: not rows)
    """Facts that the file of the planned model leaves open, such as the memory of a backend, one sentence each."""
    findings: Findings = ()
    """Probable mistakes in the problem."""
    wall_time_s: float | None = None
    """The time that planning took, in seconds."""
    problem_hash: str | None = None
    """The hash of the problem, which does not depend on names or the order of buffers, such as `sha256:...`."""
    version: str | None = None
    """The version of memplan that made the plan."""

    def placement(self, buffer: int | str) -> Placement:
        """Return the placement of the buffer with this id; raises PlanError if the plan does not place it.

        `placements` itself is a sequence: `placements[0]` is the first placement, whatever its id. A buffer that moves
        has several placements, so PlanError is raised.
        """
        rows = self.placements.row_of
        if buffer not in self:
            names = {str(name): name for name in rows}
            near = closest_word(str(buffer), names)
            some = ", ".join(map(excerpt, [*rows][:3])) or "none"
            hint = f" (placed are {some})" if near is None else f" (did you mean {excerpt(names[near])}?)"
            raise PlanError(f"placements: must name a placed buffer, got {excerpt(buffer)}{hint}")
        if self.copies and self.placements.ids.count(buffer) > 1:
            rule = f"must be looked up in `placements` for a buffer that moves, got {excerpt(buffer)}"
            raise PlanError(f"placements: {rule}")
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
            if table.start is not None and table.end is not None:  # Each row is a piece of a buffer that moves.
                spans = [[each] for each in zip(table.start.tolist(), table.end.tolist(), strict=True)]
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
