"""The question `check`: whether a plan meets its budgets and baseline, and which buffers made a peak grow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated

from pydantic import BeforeValidator, Field

from memplan.planner.errors import Option, OptionError, PlanError
from memplan.planner.model.moving import as_pieces, refuse_moves
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Disturbance, Findings, Plan, Status
from memplan.planner.model.problem import Problem, Profile
from memplan.planner.model.rows import tuple_from_list
from memplan.planner.model.sizes import Size
from memplan.planner.verify.peak_growth import occupancies
from memplan.planner.verify.verifier import verify
from memplan.questions.check.arena import ARENA, RuntimeArena, failure_of_arena, failure_of_kernels
from memplan.questions.check.budgets import Tolerance, plan_within, read_budgets
from memplan.questions.check.difference import Difference, difference_of, lines_of_difference
from memplan.questions.check.pools import CheckedPool, Failure, checked_pools, failures_of
from memplan.questions.inputs import EXAMPLE, EXAMPLE_PLAN, PLAN, PROBLEM, PlanAndProblem
from memplan.questions.inputs.values import Input, InputValues, plan_refuted
from memplan.questions.plan.baseline import (
    Baseline,
    baseline_in_json,
    baseline_of,
    baseline_problem,
    checked_baseline,
    read_baseline_field,
    read_baseline_parts,
)
from memplan.questions.plan.plan import PlanOptions
from memplan.questions.plan.plan import plan as make_plan
from memplan.questions.question import Answer, AnswerOfFile, Control, Question, SearchOptions, ignore_report
from memplan.questions.reading import Reader

_ROW_S, _DIFFERENT_ROW_S, _MOST_KEPT = 3e-5, 3e-4, 0.5
"""The seconds reserved per buffer for the check and for the list of differences; the maximum share of time for both."""


class CheckOptions(SearchOptions):
    """Options of `check`, in addition to those of all searches, such as the time limit."""

    needs = MappingProxyType(dict.fromkeys(("tolerance", "differences", "unmoved"), ("baseline",)))

    budgets: Annotated[tuple[str, ...], BeforeValidator(tuple_from_list)] = Field(
        (), description="What a pool may use: 256KiB, or sram=256KiB for one of several pools. May be repeated."
    )
    most_moved: Size | None = Field(
        None, description="With moves, the most bytes that all copies between pools may have together."
    )
    tolerance: str = Field(
        "0", description="How much more than the baseline a pool may use: a size, or a share such as 2%."
    )
    profile: Profile | None = Field(None, description="How to use several pools. The default is balanced.")
    subject: str | None = Field(None, description="The name that reports show. The default is the name of the problem.")
    differences: bool = Field(
        False, description="Also list the buffers that came, went, changed or moved since the baseline, and say why."
    )
    unmoved: bool = Field(False, description="Fail if a buffer came, went or moved since the baseline.")
    with_plan: bool = Field(False, description="Include the plan in the answer.")


class PlacementChanges(Answer):
    """How many buffers stayed, moved, appeared and disappeared since the baseline."""

    same: int
    """The number of buffers with the same pool and offset."""
    moved: int
    """The number of buffers with another pool or offset."""
    new: int
    """The number of buffers that the baseline does not place."""
    gone: int
    """The number of buffers that only the baseline places."""


class Check(AnswerOfFile):
    """The result of checking a plan against budgets and a baseline: the use of each pool, and the broken rules."""

    passed: bool
    """True if `failures` is empty."""
    subject: str
    """The name that reports show: the option `subject`, else the name of the problem, else `problem`."""
    status: Status
    """The status of the plan, such as `optimal`."""
    solver: str | None
    """The solver that found the plan; null if the plan does not say it."""
    reproducible: bool | None
    """True if the same options make the same plan again; null unless the search was deterministic."""
    disturbed_by: Disturbance | None
    """The event other than counted work that decided the search, as in the plan."""
    findings: Findings
    """Probable mistakes in the problem."""
    failures: tuple[Failure, ...]
    """The broken rules."""
    pools: tuple[CheckedPool, ...]
    """The use of each pool; empty without a problem, and if no plan was found."""
    placements: PlacementChanges | None
    """How many buffers moved since the baseline; null without a baseline, and if no plan was found."""
    arena: RuntimeArena | None = Field(None, exclude_if=lambda arena: arena is None)
    """The whole arena of the runtime; left out if budgets are for the plan alone."""
    difference: Difference | None = Field(None, exclude_if=lambda found: found is None)
    """What changed since the baseline; left out unless the option `differences` is given."""
    wall_time_s: float | None = None
    """The time that planning took, in seconds; null if the plan does not say it."""
    plan: Plan | None = None
    """The plan; null unless the option `with_plan` is given."""


def check(
    problem: Problem | None = None,
    plan: Plan | None = None,
    baseline: Plan | Baseline | None = None,
    baseline_problem: Problem | None = None,
    arena: RuntimeArena | None = None,
    options: CheckOptions = CheckOptions(),
    control: Control = Control(),
) -> Check:
    """Check what a plan uses against budgets and a baseline, and name the buffers that made a peak grow.

    If no plan is given, one is made. If a plan is given without its problem, only placements are compared. If there is
    one pool and the size of the runtime's arena is known, the budget is for the whole arena.
    """
    running = control.begin(options)
    tolerance = Tolerance.from_text(options.tolerance)
    _refuse_for_moves(problem, baseline, options)
    budgets: Mapping[str, int] = {}
    if problem is not None:
        problem, budgets = read_budgets(options.budgets, problem)
    elif options.budgets or plan is None:
        raise OptionError(f"problem: must be given if there {'are budgets' if options.budgets else 'is no plan'}")
    if baseline is None and baseline_problem is not None:
        raise _lone_baseline_problem()
    then = None if baseline is None else _checked_baseline(baseline_of(baseline, baseline_problem), problem, options)
    if problem is not None and plan is not None and (violations := verify(problem, plan)):
        raise PlanError(f"plan: must be valid, got {violations[0].rule}: {violations[0].message}")
    is_limited = problem is not None and any(pool.size is not None for pool in problem.pools)
    is_arena_asked = arena is not None and bool(arena.target)  # Code for an arena needs no budget.
    if not options.budgets and baseline is None and not is_limited and not is_arena_asked:
        raise OptionError(("check: must be given a budget or a baseline: ", Option("budgets", "256KiB")))
    has_difference = then is not None and (options.differences or options.unmoved)

    def report_on(plan: Plan) -> Check:
        report = check_plan(problem, plan, budgets, then, tolerance, options.most_moved)
        if arena is not None and len(report.pools) == 1 and (budgets or is_arena_asked):
            failures = (*report.failures, *(row for each in budgets.items() for row in failure_of_arena(arena, *each)))
            report = report.model_copy(update={"arena": arena, "failures": failures, "passed": not failures})
        elif arena is not None and budgets:
            failures = (*report.failures, *failure_of_kernels(arena))
            report = report.model_copy(update={"failures": failures, "passed": not failures})
        has_plan = all(failure.rule != "no-plan" for failure in report.failures)
        if then is not None and has_difference and has_plan:
            report = _add_difference(
                report, difference_of(then, Baseline(plan, problem), lambda: running.is_over), options
            )
        named = report if options.subject is None else report.model_copy(update={"subject": options.subject})
        return named.model_copy(update={"plan": plan}) if options.with_plan else named

    if plan is None and problem is not None:
        row_s = _ROW_S + has_difference * _DIFFERENT_ROW_S
        making = running.reserve(min(_MOST_KEPT * running.remaining_s, row_s * len(problem.buffers)))
        chosen = PlanOptions(**options.fields("time_limit_s", "deterministic", "profile"))
        if running.note is not None:
            with suppress(OptionError):  # The greedy solver refuses some constraint kinds.
                greedy = _make_plan(problem, budgets, chosen.model_copy(update={"solver": "greedy"}), making)
                running.note(report_on(greedy))
        plan = _make_plan(problem, budgets, chosen, making)
    assert plan is not None
    return report_on(plan)


def _lone_baseline_problem() -> OptionError:
    way = "give both, or leave it out"
    return OptionError.from_rule("baseline-problem", "applies only with ", Option("baseline"), way=way)


def _refuse_for_moves(problem: Problem | None, baseline: Plan | Baseline | None, options: CheckOptions) -> None:
    if problem is not None and baseline is not None:
        refuse_moves(problem, "for a check against a baseline")
    if options.most_moved is not None and (problem is None or not problem.moves):
        rule = f"applies only if buffers may move, got {options.most_moved}"
        raise OptionError.from_rule("most_moved", rule, way="leave it out")


def _make_plan(problem: Problem, budgets: Mapping[str, int], chosen: PlanOptions, making: Control) -> Plan:
    quiet = replace(making, report=ignore_report, note=None)

    def plan_in_share(problem: Problem, /, *, share: float) -> Plan:
        return make_plan(problem, options=chosen, control=quiet if share == 1 else quiet.child(share))

    return plan_within(problem, budgets, plan_in_share)


def _checked_baseline(found: Baseline, now: Problem | None, options: CheckOptions) -> Baseline:
    """Return the baseline, validated unless differences were requested; raises OptionError without a common pool."""
    names = [] if now is None else [pool.name for pool in now.pools]
    if names and found.used and found.used.keys().isdisjoint(names):
        rule = f"must use a pool of the problem ({', '.join(names)}), got {', '.join(found.used)}"
        raise OptionError.from_rule("baseline", rule, way="compare plans that use the same pools")
    return found if now is None or options.differences else checked_baseline(found, now)


def _add_difference(found: Check, difference: Difference, options: CheckOptions) -> Check:
    failures = found.failures
    if options.unmoved and (difference.moved or difference.added or difference.removed):
        counts = f"{len(difference.moved):,} moved, {len(difference.added):,} came, {len(difference.removed):,} went"
        failures = (*failures, Failure(rule="moved", pool=None, message=f"buffers must stay where they were: {counts}"))
    change = difference if options.differences else None
    return found.model_copy(update={"difference": change, "failures": failures, "passed": not failures})


def check_plan(
    problem: Problem | None,
    plan: Plan,
    budgets: Mapping[str, int],
    baseline: Baseline | None,
    tolerance: Tolerance,
    most_moved: int | None = None,
) -> Check:
    """Return the result of checking a plan against budgets and a baseline; the plan is assumed to be valid."""
    pools: tuple[CheckedPool, ...] = ()
    failures: list[Failure] = []
    changes = None
    if plan.status in ("infeasible", "unknown") and len(plan.placements) == 0:
        why = plan.explanation.message if plan.explanation else "no plan was found in time"
        pool = plan.explanation.pool if plan.explanation else None
        failures = [Failure(rule="no-plan", pool=pool, message=why)]
    else:
        if problem is not None:
            now = occupancies(*as_pieces(problem, plan))
            pools = tuple(checked_pools(problem, plan, now, budgets, baseline, tolerance))
            failures = [failure for pool in pools for failure in failures_of(pool, now[pool.name])]
            moved = sum(each.bytes for each in plan.moved_bytes)
            if most_moved is not None and moved > most_moved:
                message = f"copies between pools: have {moved:,} bytes, {moved - most_moved:,} above {most_moved:,}"
                failures.append(Failure(rule="over-budget", pool=None, message=message))
        changes = None if baseline is None else _placement_changes(plan.placements, baseline.plan.placements)
    return Check.from_fields(
        plan,
        passed=not failures,
        subject=(problem.name if problem is not None else None) or "problem",
        failures=tuple(failures),
        pools=pools,
        placements=changes,
    )


def _placement_changes(now: PlacementTable, then: PlacementTable) -> PlacementChanges:
    places, before = _places_by_id(now), _places_by_id(then)
    both = places.keys() & before.keys()
    same = sum(places[name] == before[name] for name in both)
    new, gone = len(places) - len(both), len(before) - len(both)
    return PlacementChanges(same=same, moved=len(both) - same, new=new, gone=gone)


def _places_by_id(table: PlacementTable) -> dict[int | str, tuple[str, int]]:
    rows = zip(table.ids, table.pool.tolist(), table.offset.tolist(), strict=True)
    return {name: (table.pool_names[pool], offset) for name, pool, offset in rows}


def unreadable_model_check(subject: str, sentences: Iterable[str]) -> Check:
    """Return the failed check of a model that could not be read; `sentences` say why."""
    failure = Failure(rule="unread", pool=None, message="; ".join(sentences))
    plan = Plan(status="unknown")
    return Check.from_fields(plan, passed=False, subject=subject, failures=(failure,), pools=(), placements=None)


def check_lines(found: Check) -> Iterator[str]:
    """Yield the text lines of the answer: warnings, failures, and the bytes used in each pool."""
    for finding in found.findings:
        yield f"warning: {finding.rule}: {finding.message}"
    if found.reproducible is False:
        yield f"warning: not reproducible: the search was ended, or changed, by: {found.disturbed_by}"
    for failure in found.failures:
        yield f"{failure.rule}: {failure.message}"
    for pool in found.pools:
        budget = "" if pool.budget is None else f" of {pool.budget:,}"
        change = "" if pool.growth is None else f" ({pool.growth:+,})"
        yield f"{pool.name}: {pool.used:,} bytes{budget}{change}"
    if found.arena is not None:
        flash = f"; the model itself takes {found.arena.flash:,} bytes of flash" if found.arena.flash else ""
        yield f"{found.arena.runtime}'s arena: {found.arena.text}{flash}"
    if found.difference is not None:
        yield from lines_of_difference(found.difference)


_BASELINE = Input(
    "baseline",
    PlanAndProblem | Plan,  # Generated clients use the first type that fits, so the order matters.
    lambda value: read_baseline_field(value, "baseline"),
    Baseline.to_json,
    "Compare with this baseline: a plan, or a file that --save-baseline wrote.",
    from_file=lambda _, data, name, values: read_baseline_parts(data, name, values.get("baseline_problem")),
    about="Compare with this baseline: a plan, alone or with its problem.",
    required=False,
    named_by_flag=True,
    reads_last=True,
)


def _read_problem(reader: Reader, data: bytes, name: str, _question: InputValues) -> Problem | None:
    if (planned := baseline_in_json(data)) is None:
        return reader.problem(data, name)
    reader.own_plan = planned.plan
    return planned.problem


_BEFORE = {"placements": [row | {"offset": 64 - row["offset"]} for row in EXAMPLE_PLAN["placements"]]}


def _refutation(values: InputValues, answer: Check) -> str | None:
    """Return the first violation of the answer's plan, with budgets as pool sizes; None if the plan is valid."""
    problem = values.get("problem")
    pooled = read_budgets(values["options"].budgets, problem)[0] if isinstance(problem, Problem) else None
    return plan_refuted({**values, "problem": pooled}, answer)


QUESTION = Question(
    check,
    refutes=_refutation,
    inputs=(
        replace(
            PROBLEM,
            help="A file: JSON, CSV or a model, a plan with its problem or alone, or - for standard input.",
            from_file=_read_problem,
            required=False,
        ),
        replace(
            PLAN,
            help="Check this plan instead of making one.",
            absent=lambda reader, _question: reader.own_plan,
            required=False,
            named_by_flag=True,
        ),
        _BASELINE,
        baseline_problem("baseline_problem", "a baseline"),
        ARENA,
    ),
    any_of=("problem", "plan"),
    lines=check_lines,
    exit_status=lambda found: 0 if found.passed else 1,
    exits={0: "within", 1: "over budget, grown beyond the tolerance, moved, no plan, or an arena that is not known"},
    status=lambda found: "passed" if found.passed else "failed",
    takes_moves=True,
    example={
        "problem": EXAMPLE,
        "plan": EXAMPLE_PLAN,
        "baseline": {"problem": EXAMPLE, "plan": _BEFORE},
        "options": {"budgets": ["1KiB"], "subject": "model.json", "differences": True},
    },
)
