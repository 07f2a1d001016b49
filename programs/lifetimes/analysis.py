"""The analysis of a program's operations: the problem of placing its buffers, and facts that need no plan."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, combinations, islice, product
from typing import Any, get_args

from memplan.planner.errors import OperationsError, TimeOverError, count_text, excerpt
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes.expansion import expand
from memplan.programs.lifetimes.facts import (
    Analysis,
    Event,
    FunctionFacts,
    InsertFree,
    ReadingFacts,
    Step,
    TemporaryCounts,
    Workspace,
)
from memplan.programs.lifetimes.lifetimes import (
    Liveness,
    PlannedVariable,
    Reading,
    ReadingKind,
    Temporaries,
    is_planned,
    lifetimes,
)
from memplan.programs.lifetimes.timeline import NOWHERE, BranchChoice, ProgramTimeline
from memplan.programs.lifetimes.uses import WRITING_IN_PART, first_access
from memplan.programs.operations.operations import Operations

_LARGE = 10_000
"""The number of buffers above which an analysis takes long, so it checks the time limit."""
_MOST_PAIRS = 10_000
"""The maximum number of pairs of buffers in exclusive branches that are allowed to share bytes."""


def analyse(
    operations: Operations, reading: Reading | None = None, is_over: Callable[[], bool] = lambda: False
) -> Analysis:
    """Return the problem of placing a program's buffers, and facts about the program; no plan is computed.

    Raises OperationsError for too many steps or buffers, and for uses outside of scopes. If there are many buffers,
    raises TimeOverError once `is_over` returns True.
    """

    def check_time(reached: str) -> None:
        """Raise TimeOverError if the time is over and there are many buffers; `reached` names the completed part."""
        if len(timeline.variables) > _LARGE and is_over():
            buffers = count_text(len(timeline.variables), "buffer")
            raise TimeOverError(f"time_limit_s: must be enough for the lifetimes of {buffers}, {reached}")

    reading = reading or Reading()
    timeline = expand(operations)
    check_time(f"got time only to lay out {count_text(timeline.steps, 'step')}")
    alive = list(lifetimes(timeline, reading))
    check_time(f"got time only to find {len(alive):,} lifetimes")
    load = _live_bytes_by_step(timeline, alive, reading.way)
    functions = tuple(_function_facts(operations, timeline, alive, reading.way))
    return Analysis(
        problem=_problem_of_lifetimes(operations, timeline, alive, reading.way),
        reading=reading,
        order=operations.order,
        workspace=_workspace_facts(timeline, load, alive),
        readings=tuple(_reading_facts(timeline, alive)),
        functions=functions,
        temporaries=_temporary_counts(operations, functions),
        **_excluded_buffers(timeline, reading, {span.variable for span in alive}),
        orphans=tuple(_unread_buffers(timeline, alive)),
        steps=tuple(_step_facts(timeline, load)),
        events=tuple(_lifetime_events(timeline, alive, reading.way)),
        insert_free=tuple(_free_points(timeline, alive)),
        warnings=tuple(_read_before_written_findings(timeline, alive)),
    )


def problem_of(operations: Operations, reading: Reading | None = None) -> Problem:
    """Return the problem of placing a program's buffers, without the other facts of `analyse`."""
    return problem_of_timeline(operations, expand(operations), reading or Reading())


def read_before_written(operations: Operations) -> tuple[Finding, ...]:
    """Return a finding for each buffer of a program that may be read before it is written."""
    timeline = expand(operations)
    return tuple(_read_before_written_findings(timeline, lifetimes(timeline, Reading())))


def problem_of_timeline(operations: Operations, timeline: ProgramTimeline, reading: Reading) -> Problem:
    """Return the problem of placing a program's buffers, given the program's timeline."""
    return _problem_of_lifetimes(operations, timeline, lifetimes(timeline, reading), reading.way)


def _problem_of_lifetimes(
    operations: Operations, timeline: ProgramTimeline, alive: Iterable[PlannedVariable], way: ReadingKind
) -> Problem:
    """Return the problem of placing variables whose lifetimes follow the reading (rule for lifetimes) `way`.

    `way` pairs usage or scope, from which lifetimes are derived, with nested or lifted temporaries.
    """
    rows: list[dict[str, Any]] = []
    alive = list(alive)
    for span in alive:
        intervals = span.by[way].intervals
        for i in timeline.families[span.variable]:
            variable = timeline.variables[i]
            row: dict[str, Any] = {"id": variable.id, "size": variable.size, "alignment": variable.alignment}
            if variable.pools is not None:
                row["pools"] = variable.pools
            if i != span.variable:  # An alias is alive as long as its buffer, so it has no lifetime fields of its own.
                row["alias_of"] = timeline.variables[span.variable].id
                row["alias_offset"] = variable.distance
            elif len(intervals) == 1:
                row["start"], row["end"] = intervals[0]
            else:
                row["lifetimes"] = intervals
            rows.append(row)
    for name, count in Counter(row["id"] for row in rows).items():
        if count > 1:
            raise OperationsError(
                f"{name}: must name a single buffer after call paths are prefixed to the names of buffers"
            )
    fields: dict[str, Any] = {"name": operations.name, "buffers": rows}
    fields |= {"pools": operations.pools, "objective": operations.objective}
    if pairs := [*_sharing_pairs(timeline, alive, way)]:
        fields["may_share"] = pairs
    return Problem.model_validate(fields)


def _sharing_pairs(
    timeline: ProgramTimeline, alive: Iterable[PlannedVariable], way: ReadingKind
) -> Iterator[tuple[str, str]]:
    """Yield pairs of buffers that may share bytes although both are alive, because no execution writes both.

    The two buffers are written in different branches of the same choice, which runs once, and read after the choice.
    """
    if way[0] != "usage":
        return
    written: defaultdict[BranchChoice, defaultdict[int, list[PlannedVariable]]] = defaultdict(lambda: defaultdict(list))
    for span in alive:
        row = timeline.variables[span.variable]
        is_alone = row.role == "temporary" and not row.is_persistent and len(timeline.families[span.variable]) == 1
        if is_alone and (place := _enclosing_branch(timeline, span)) is not None:
            written[place[0]][place[1]].append(span)
    pairs = (
        (timeline.variables[a.variable].id, timeline.variables[b.variable].id)
        for branches in written.values()
        for some, others in combinations(branches.values(), 2)
        for a, b in product(some, others)
        if any(s < end and start < e for s, e in a.by[way].intervals for start, end in b.by[way].intervals)
    )
    yield from islice(pairs, _MOST_PAIRS)


def _enclosing_branch(timeline: ProgramTimeline, span: PlannedVariable) -> tuple[BranchChoice, int] | None:
    """Return the top-level branch with all writes of a variable, as (choice, branch number), or None."""
    stretches = [use.stretch for use in span.uses if use.action not in ("read", "hold") and not use.is_about_scope]
    choices = (part for part in timeline.whole.parts if isinstance(part, BranchChoice))
    for choice in choices if stretches else ():
        for k, branch in enumerate(choice.branches):
            if all(branch.first <= stretch < branch.after for stretch in stretches):
                return choice, k
    return None


def _live_bytes_by_step(timeline: ProgramTimeline, alive: Iterable[PlannedVariable], way: ReadingKind) -> list[int]:
    change = _live_byte_changes(timeline, alive, way)
    return list(accumulate(change[time] for time in range(-1, timeline.steps + 1)))


def _live_peak(timeline: ProgramTimeline, alive: Iterable[PlannedVariable], way: ReadingKind) -> int:
    change = _live_byte_changes(timeline, alive, way)
    return max(accumulate(change[time] for time in sorted(change)), default=0)


def _live_byte_changes(
    timeline: ProgramTimeline, alive: Iterable[PlannedVariable], way: ReadingKind
) -> defaultdict[int, int]:
    change: defaultdict[int, int] = defaultdict(int)
    for span in alive:
        size = timeline.variables[span.variable].size
        for start, end in span.by[way].intervals:
            change[start] += size
            change[end] -= size
    return change


def _workspace_facts(timeline: ProgramTimeline, load: list[int], alive: Iterable[PlannedVariable]) -> Workspace:
    """Return the live peak with its step and statement; `load` has the live bytes of all steps, from step -1 on."""
    needed: defaultdict[int, int] = defaultdict(int)
    for span in alive:
        for stretch in {use.stretch for use in span.uses if not use.is_about_scope}:
            needed[stretch] += timeline.variables[span.variable].size
    any_order = max(needed.values(), default=0)
    largest = max(load)
    if largest == 0:
        return Workspace(0, None, None, any_order)
    time = load.index(largest) - 1
    return Workspace(largest, time, timeline.path(_stretch_by_step(timeline)[time]), any_order)


def _stretch_by_step(timeline: ProgramTimeline) -> dict[int, int]:
    return {row.start: i for i, row in enumerate(timeline.stretches) if row.end == row.start + 1}


def _reading_facts(timeline: ProgramTimeline, alive: list[PlannedVariable]) -> Iterator[ReadingFacts]:
    least = _live_peak(timeline, alive, ("usage", "nested"))
    for temporaries in get_args(Temporaries):
        for liveness in get_args(Liveness):
            most = _live_peak(timeline, alive, (liveness, temporaries))
            yield ReadingFacts(liveness, temporaries, most, most - least)


def _function_facts(
    operations: Operations, timeline: ProgramTimeline, alive: list[PlannedVariable], way: ReadingKind
) -> Iterator[FunctionFacts]:
    """Yield each function's number of calls, its number of temporaries, and their live peak in its first call."""
    calls = Counter(activation.function for activation in timeline.activations)
    first = {activation.function: activation for activation in reversed(timeline.activations)}
    own = [spans for spans in alive if timeline.variables[spans.variable].role == "temporary"]
    for name, function in operations.functions.items():
        most = None
        if name in first:
            low, high = (
                bisect_left(own, variable, key=lambda found: found.variable)
                for variable in (first[name].first_variable, first[name].after_variables)
            )
            most = _live_peak(timeline, own[low:high], way)
        yield FunctionFacts(name, calls[name], len(function.temporaries), most)


def _temporary_counts(operations: Operations, functions: Iterable[FunctionFacts]) -> TemporaryCounts:
    counts = [row.temporaries for row in functions if row.calls and row.name != operations.entry]
    one = counts.count(1)
    none = counts.count(0)
    return TemporaryCounts(none, one, len(counts) - none - one)


def _excluded_buffers(timeline: ProgramTimeline, reading: Reading, planned: set[int]) -> dict[str, Any]:
    """Return the buffers outside of the problem: constants (once per function), unplanned buffers, unused buffers."""
    constants: dict[tuple[str, str], int] = {}
    not_planned, unused = [], []
    for i, row in enumerate(timeline.variables):
        if row.root != NOWHERE or i in planned:
            continue
        if row.role == "constant":
            activation = timeline.activations[row.activation]
            constants.setdefault((activation.function, row.id.removeprefix(activation.path)), i)
        elif is_planned(row, reading):
            unused.append(row.id)
        else:
            not_planned.append(row.id)
    return {
        "constants": tuple(timeline.variables[i].id for i in constants.values()),
        "constant_bytes": sum(timeline.variables[i].size for i in constants.values()),
        "not_planned": tuple(not_planned),
        "unused": tuple(unused),
    }


def _unread_buffers(timeline: ProgramTimeline, alive: Iterable[PlannedVariable]) -> Iterator[str]:
    for span in alive:
        row = timeline.variables[span.variable]
        actions = {use.action for use in span.uses if not use.is_about_scope} - {"hold"}
        if row.role == "temporary" and actions <= {"write", "part"}:
            yield row.id


def _step_facts(timeline: ProgramTimeline, load: list[int]) -> Iterator[Step]:
    at = _stretch_by_step(timeline)
    for time in range(timeline.steps):
        yield Step(time, timeline.path(at[time]), timeline.stretches[at[time]].label, load[time + 1])


def _lifetime_events(timeline: ProgramTimeline, alive: Iterable[PlannedVariable], way: ReadingKind) -> list[Event]:
    events = []
    for row in alive:
        name = timeline.variables[row.variable].id
        for start, end in row.by[way].intervals:
            events += [Event(start, "alloc", name), Event(end, "kill", name)]
    return sorted(events, key=lambda event: (event.time, event.kind == "alloc"))


def _free_points(timeline: ProgramTimeline, alive: Iterable[PlannedVariable]) -> Iterator[InsertFree]:
    for span in alive:
        row = timeline.variables[span.variable]
        if row.role == "temporary" and not row.is_persistent:
            for death in span.by["usage", "nested"].deaths:
                yield InsertFree(row.id, death.where, death.path)


def _read_before_written_findings(timeline: ProgramTimeline, alive: Iterable[PlannedVariable]) -> Iterator[Finding]:
    for warnings in alive:
        row = timeline.variables[warnings.variable]
        if not row.is_persistent and first_access(timeline.whole, warnings.uses, WRITING_IN_PART)[0]:
            message = f"buffer {excerpt(row.id)}: may be read before it is written"
            yield Finding("read-before-written", message, (row.id,))
