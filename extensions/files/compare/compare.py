"""The question `compare`: the peak bytes of a model as planned by its runtime and by memplan, and a lower bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from memplan.extensions.files.compare.moving import MovesComparison, compare_moves, lines_of_moves
from memplan.planner import formats
from memplan.planner.errors import FormatError, OptionError, TimeOverError
from memplan.planner.foreign.imported import ImportedProblem, ViewFacts
from memplan.planner.foreign.reading import detect, file_readers, read_model
from memplan.planner.instance.audit import verify
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.order.reordering import reorder_program
from memplan.questions.inputs import FILE, PLAN, read_plan_field
from memplan.questions.question import Answer, Control, ForeignOptions, Question, Seconds, ignore_report
from memplan.questions.reading import NO_OVERWRITING, NO_SPARING, TARGET_NOTE
from memplan.questions.reading.adapting import Texts, refuse_spare
from memplan.questions.verify.better import BesideBest, compare_with_best
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.reference.checked import needed_features
from memplan.solvers.reference.table import find

RECORDED = "the plan in the file"
_LARGE_BYTES = 2**18
"""The file size in bytes above which reading is slow, so that the time limit is checked after it."""
_PLANS = 7
"""The maximum number of plans and audits in a comparison; they share the remaining time equally."""


class CompareOptions(ForeignOptions):
    """Options of a comparison."""

    in_place: bool = Field(
        False, description="Also plan with element-wise operations that write over an input that nothing reads later."
    )
    spare: Texts = Field(
        (),
        description="With in_place, keep this buffer as it is to the end, such as an input that is read again. May be"
        " repeated.",
    )
    time_limit_s: Seconds = Field(
        _PLANS * DEFAULT_TIME_LIMIT_S, description="The answer comes within this time, which all plans share."
    )


class OwnPlan(Answer):
    """The plan of the model's own planner."""

    name: str
    """The planner, such as `reference:tflite-micro-greedy`, or `the plan in the file`."""
    peak: int | None
    """Its peak in bytes; null without a valid plan."""
    message: str | None = None
    """The reason why `peak` is null; null if there is none."""


class OwnAudit(BesideBest):
    """The comparison of the model's own plan with the best plan."""

    valid: bool
    """True if the model's own plan breaks no rule."""


class OurPlan(Answer):
    """A plan of memplan for the model's buffers."""

    peak: int | None
    """The peak in bytes; null if no plan was found."""
    lower_bound: int | None
    """The lower bound on the peak in bytes; null if unknown."""
    status: str
    """The status of the plan, such as `optimal`."""
    solver: str | None
    """The solver that found the plan; null if none did."""
    buffers: int
    """The number of buffers in the problem, including aliases."""


class ModelComparison(Answer):
    """The comparison for one model."""

    format: str
    """The format of the file, such as `tflite`."""
    nothing_shared: int
    """The bytes of all buffers if no two of them share bytes."""
    own: OwnPlan | None
    """The plan of the model's own planner, in which each view is a buffer; null if no such planner is known."""
    memplan: OurPlan
    """The plan of memplan in which each view is a buffer."""
    memplan_with_views: OurPlan | None
    """The plan of memplan in which views share bytes with their buffers; null without views, or if it was not made in
    time."""
    memplan_reordered: OurPlan | None
    """The plan for a better order of operations; null for a file without operations, or if it was not made."""
    saved_by_order: int | None
    """The bytes that this order saves compared with memplan's best plan of the given order; null without both plans."""
    views: ViewFacts
    """The views of the model, and their bytes."""
    saved: int | None
    """The bytes that memplan saves compared with the model's own plan or, if that is unknown, with `nothing_shared`;
    null if a part of the comparison is missing."""
    saved_percent: float | None
    """The same saving in percent, such as 12.5; null if it is unknown."""
    warnings: tuple[str, ...]
    """The warnings of the file's reader, and a sentence for each option without effect."""
    own_audit: OwnAudit | None = None
    """The comparison of the model's own plan with the best plan; null if its offsets are unknown."""
    memplan_in_place: OurPlan | None = Field(None, exclude_if=lambda found: found is None)
    """The plan in which results may overwrite inputs; present with the option `in_place`."""


def compare(
    file: bytes, options: CompareOptions = CompareOptions(), control: Control = Control(), *, plan: Plan | None = None
) -> ModelComparison | MovesComparison:
    """Compare the memory planner of a model's own runtime with memplan: the bytes used, the bound, the bytes saved.

    For a problem whose buffers may move, the plan in which none moves is compared with those in which they do.
    A service reads the file in a separate process, with limits of time and memory.
    """
    format_name = detect(file, options.name)
    if format_name is None and (problem := _problem_with_moves(file)) is not None:
        return compare_moves(problem, plan, control.begin(options))
    if plan is not None:
        raise OptionError.from_rule("plan", "applies only to a problem with moves", way="leave it out")
    if format_name is None:
        kind = "JSON" if formats.detect(file, options.name) == "json" else "a table of lifetimes"
        way = "plan a problem with `memplan plan FILE` or POST /v1/plan"
        raise FormatError(f"must be a model file, got {kind}: {way}")
    return _compare_planners(file, format_name, options, control.begin(options))


def _compare_planners(file: bytes, format_name: str, options: CompareOptions, running: Control) -> ModelComparison:
    """Return the comparison of the planner of a model's runtime with memplan."""
    is_large = len(file) > _LARGE_BYTES
    shared = apart = read_model(file, options.name, options)
    if shared.views.aliases and not (is_large and running.is_over):
        apart = read_model(file, options.name, options.model_copy(update={"views": "separate"}))
    if is_large and running.is_over:
        raise TimeOverError(
            f"time_limit_s: must be enough to plan a model of {len(file):,} bytes, got only enough to read the file"
        )
    time, is_partial = _SharedTime(running), True
    own: OwnPlan | None = None
    audited: OwnAudit | None = None
    late = tuple(_idle_options(shared, options))
    ours = _plan_facts(apart.problem, time)
    everything = sum(buffer.size for buffer in apart.problem.buffers if buffer.alias_of is None)

    def answer(in_place: OurPlan | None = None, reordered: OurPlan | None = None) -> ModelComparison:
        before = everything if own is None or own.peak is None else own.peak
        after = (in_place or ours).peak
        saved = None if after is None or is_partial or shared.has_unknown_scratch else before - after
        return ModelComparison(
            format=format_name,
            nothing_shared=everything,
            own=own,
            memplan=ours,
            memplan_with_views=in_place,
            memplan_reordered=reordered,
            saved_by_order=None if reordered is None else _saved_bytes(after, reordered.peak),
            views=shared.views,
            saved=saved,
            saved_percent=None if saved is None or not before else round(100 * saved / before, 2),
            warnings=(*(warning.message for warning in shared.warnings), *late),
            own_audit=audited,
            memplan_in_place=over_inputs,
        )

    note = running.note or ignore_report
    over_inputs = _overwriting_plan(shared, options, time)
    note(answer())
    if is_large and running.is_over:
        return answer()
    in_place = _plan_facts(shared.problem, time) if shared.views.aliases else None
    note(answer(in_place))
    own, audited = _audit_own_plan(format_name, (apart, shared), time)
    is_partial = False
    note(answer(in_place))
    if running.is_over and isinstance(shared, ImportedProgram) and not shared.has_unknown_scratch:
        late += ("the time was over before another order of its operations was examined",)
        return answer(in_place)
    reordered = None if shared.has_unknown_scratch else _reordered_plan(shared, time)
    return answer(in_place, reordered)


def _problem_with_moves(file: bytes) -> Problem | None:
    """Return the problem in a JSON file if its buffers may move; raises ProblemError if it is invalid."""
    content = formats.memplan_json.parse(file) if b'"moves"' in file else None
    if not isinstance(content, dict) or content.get("moves", False) is False:
        return None
    return Problem.model_validate(content)


@dataclass(eq=False)
class _SharedTime:
    """Divides the remaining time equally among the plans that are still to be made."""

    running: Control
    plans: int = _PLANS

    def next_control(self) -> Control:
        """Return the control (time limit and cancellation) of the next plan, with its share of the remaining time."""
        part_s = self.running.remaining_s / max(1, self.plans)
        self.plans -= 1
        return replace(self.running, deadline=self.running.deadline.limit_to(part_s))


def _idle_options(shared: ImportedProblem, options: CompareOptions) -> Iterator[str]:
    if options.target is not None:
        yield TARGET_NOTE
    if options.in_place:
        given, over = (len(each.buffers.aliases) for each in (shared.problem, shared.problem_in_place(())))
        if over == given:
            yield NO_OVERWRITING
        if options.spare and len(shared.problem_in_place(options.spare).buffers.aliases) >= over:
            yield NO_SPARING


def _overwriting_plan(shared: ImportedProblem, options: CompareOptions, time: _SharedTime) -> OurPlan | None:
    """Return the plan in which results overwrite inputs, if `in_place`; raises OptionError for `spare` without it."""
    if options.in_place:
        return _plan_facts(shared.problem_in_place(options.spare), time)
    refuse_spare(options.spare)
    return None


def _plan_facts(problem: Problem, time: _SharedTime, solver: str = "auto", start: Plan | None = None) -> OurPlan:
    return _plan_figures(_solve_in_share(problem, time, solver, start), problem)


def _solve_in_share(problem: Problem, time: _SharedTime, solver: str = "auto", start: Plan | None = None) -> Plan:
    running = time.next_control()
    return solve(problem, time_limit_s=running.remaining_s, solver=solver, start=start, control=running.solve_control())


def _plan_figures(plan: Plan, problem: Problem) -> OurPlan:
    return OurPlan.from_fields(plan, buffers=len(problem.buffers))


def _reordered_plan(imported: ImportedProblem, time: _SharedTime) -> OurPlan | None:
    """Return the peak and bound of a plan after reordering the operations, or None for a file without operations."""
    if not isinstance(imported, ImportedProgram):
        return None
    answer = reorder_program(imported.operations, time.next_control(), imported.facts).answer
    placed = answer.placed
    assert placed is not None, "an order with a problem has a plan, perhaps without placements"
    plan = placed.plan
    if plan.peak is None or plan.peak > answer.peak:
        return _plan_facts(placed.problem, time, start=None if plan.peak is None else plan)
    return _plan_figures(plan, placed.problem)


def _saved_bytes(before: int | None, after: int | None) -> int | None:
    """Return how many bytes fewer `after` is than `before`, at least 0; None if either is unknown."""
    return None if before is None or after is None else max(0, before - after)


def _audit_own_plan(
    found: str, read: tuple[ImportedProblem, ImportedProblem], time: _SharedTime
) -> tuple[OwnPlan | None, OwnAudit | None]:
    """Return the plan of the model's own planner, and an audit of this plan if its offsets are known.

    `read` holds the model in two readings: with views as separate buffers, and with views as aliases. The plan is
    audited in the reading in which it violates fewer rules.
    """
    apart = read[0]
    if apart.own_peak is not None:
        pairs = [(each.solved_problem, each.own_plan) for each in read if each.own_plan is not None]
        chosen = min(pairs, key=lambda pair: len(verify(*pair)), default=None)
        return OwnPlan(name=RECORDED, peak=apart.own_peak), None if chosen is None else _audit(*chosen, time)
    own_name = file_readers()[found].planner
    if own_name is None:
        return None, None
    if apart.planner_peak is not None:
        return OwnPlan(name=own_name, peak=apart.planner_peak()), None
    planner = find(own_name)
    assert planner is not None, "its name starts like the name of a reference planner"
    if missing := needed_features(apart.problem, compile_problem(apart.problem)) - planner.can:
        return OwnPlan(name=own_name, peak=None, message=f"cannot do {', '.join(sorted(missing))}"), None
    plan = _solve_in_share(apart.problem, time, own_name)
    message = plan.explanation.message if plan.explanation else None
    own = OwnPlan(name=own_name, peak=plan.peak, message=message)
    return own, None if plan.peak is None else _audit(apart.problem, plan, time)


def _audit(problem: Problem, plan: Plan, time: _SharedTime) -> OwnAudit:
    running = time.next_control()
    audit = compare_with_best(problem, plan, time_limit_s=running.remaining_s, control=running.solve_control())
    return OwnAudit.from_fields(audit, valid=not verify(problem, plan), plan=None)


def lines(comparison: ModelComparison | MovesComparison) -> Iterator[str]:
    """Yield the text lines of a comparison: a table with a row for each plan, then notes and warnings."""
    if isinstance(comparison, MovesComparison):
        yield from lines_of_moves(comparison)
        return
    rows: list[tuple[str, int | None, str]] = [("nothing shared", comparison.nothing_shared, "")]
    own, views = comparison.own, comparison.memplan_with_views
    if own is not None:
        rows.append((own.name, own.peak, own.message or ""))
    rows.append(("memplan", comparison.memplan.peak, comparison.memplan.status))
    if views is not None:
        rows.append(("memplan, views in place", views.peak, views.status))
    bound = (views or comparison.memplan).lower_bound
    rows.append(("lower bound", bound, ""))
    if (over_inputs := comparison.memplan_in_place) is not None:
        note = f"{over_inputs.status}; lower bound {over_inputs.lower_bound or 0:,}"
        rows.append(("memplan, in place", over_inputs.peak, note))
    percent = "" if comparison.saved_percent is None else f"{comparison.saved_percent:.1f} %"
    rows.append(("saved", comparison.saved, percent))
    audited = comparison.own_audit
    moves = None if audited is None else audited.fewest_moves
    if audited is not None and moves is not None and moves.count:
        rule = "no fewer do" if moves.proved else f"at least {moves.at_least:,} must"
        valid = "" if audited.valid else "its own plan is not valid; "
        above = sum(len(pool.above_line) for pool in audited.pools)
        rows.append(("moves to the best", moves.count, f"{valid}{above:,} end above it; {rule}"))
    reordered = comparison.memplan_reordered
    if reordered is not None:
        moved = f"{reordered.status}; the order saves {comparison.saved_by_order or 0:,}"
        rows.append(("memplan, reordered", reordered.peak, moved))
    width = max(len(name) for name, _, _ in rows)
    counts = ["-" if count is None else f"{count:,}" for _, count, _ in rows]
    digits = max(map(len, counts))
    for (name, _, note), count in zip(rows, counts, strict=True):
        yield f"{name:<{width}}  {count:>{digits}}  {note}".rstrip()
    if moves is not None and moves.not_tried is not None:
        yield f"not tried: {moves.not_tried}"
    for warning in comparison.warnings:
        yield f"warning: {warning}"


_EXAMPLE = (
    "eyJzZWdtZW50cyI6W10sImRldmljZV90cmFjZXMiOltbeyJhY3Rpb24iOiJhbGxvYyIsImFkZHIiOjAsInNpemUiOjUxMn0seyJh"
    "Y3Rpb24iOiJhbGxvYyIsImFkZHIiOjUxMiwic2l6ZSI6NTEyfSx7ImFjdGlvbiI6ImZyZWVfY29tcGxldGVkIiwiYWRkciI6MCwi"
    "c2l6ZSI6NTEyfSx7ImFjdGlvbiI6ImFsbG9jIiwiYWRkciI6MTAyNCwic2l6ZSI6NTEyfV1dfQ=="
)
"""A memory snapshot of PyTorch with three buffers, two of which could share bytes."""
PLAN_WITH_MOVES = replace(
    PLAN,
    help="A plan of a problem with moves, in JSON.",
    from_file=lambda _reader, data, _name, _question: read_plan_field(formats.memplan_json.parse(data)),
    required=False,
    named_by_flag=True,
)


def _status(found: ModelComparison | MovesComparison) -> str:
    best = found if isinstance(found, MovesComparison) else found.memplan_with_views or found.memplan
    return best.status


QUESTION: Question[Any] = Question(
    compare,
    inputs=(FILE, PLAN_WITH_MOVES),
    lines=lines,
    exit_status=lambda found: 0 if _status(found) in ("optimal", "feasible") else 1,
    exits={0: "there is a plan", 1: "none was found"},
    status=_status,
    example={"file": _EXAMPLE, "options": {"name": "snapshot.json"}},
)
