"""The task of answering one request, which `run` does in any process: for a caller, for a batch, or for a job."""

import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any, NamedTuple

from pydantic_core import from_json

from memplan.api.options import Options
from memplan.api.refusals import UnavailableError
from memplan.api.request_bodies import PLAN
from memplan.api.requests import TERMS, ParsedRequest, parse_request, write_in
from memplan.api.service.cache.cached_plan import CachedPlan, result_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import join_entries
from memplan.api.store.job import WorkAnswer
from memplan.api.store.stored_plan import StoredPlan
from memplan.api.workers.task import TaskControl
from memplan.planner.errors import FormatError, InputError, OptionError, ReaderFaultError, TimeOverError, add_way
from memplan.planner.foreign.imported import reader_fault
from memplan.planner.instance.instance import Instance
from memplan.planner.model.plan import NO_PLACEMENTS, Plan, StopReason
from memplan.planner.model.problem import Problem
from memplan.questions.plan.plan import QUESTION
from memplan.questions.plan.reason import REASON_S, add_reason
from memplan.questions.question import Control
from memplan.questions.reading import add_reading_facts
from memplan.solvers.portfolio.one_search import OneSearch, answer_time_s
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.profiles import interim_result, solve_profile
from memplan.solvers.portfolio.solve import search_plan
from memplan.solvers.search.control import Deadline
from memplan.solvers.search.incumbent import Accept
from memplan.solvers.search.result import Progress, SolveResult

OF_A_LINE = ("id",)
"""The fields that a line of a batch may have besides its problem and options."""
_ANSWER_S = 0.25
"""The seconds reserved for returning an answer that was computed from a foreign file."""
_SEARCHED_SHARE = 0.9
"""A cached plan suffices if its search took at least this fraction of the caller's time limit."""
_CHILD_SEED = 2**62
"""The offset added to the seed of a search from a known plan: where one seed has failed, another often succeeds."""


class ReadProblem(NamedTuple):
    """A problem that a child process has read from a large body: its hash, its pickle, and the seconds that it took."""

    hash: str
    pickled: bytes
    read_s: float


@dataclass(frozen=True, eq=False)
class RequestTask:
    """A request in the form in which it was sent, with the known parts of its answer.

    plan_format: the format in which a plan in pools is written.
    read: the problem of a large body if a plain plan is wanted, so that it is read only once.
    record: the known plan from which a search starts.
    keep: the plan to keep, as JSON, in place of the hash that the request has.
    before: a job's best plan so far, as JSON, from which its search continues.
    arrived: the deadline of the request since its arrival; None if its time counts from the start of its task.
    """

    kind: str
    head: str
    body: bytes
    plan_format: str = "json"
    read: ReadProblem | None = None
    record: StoredPlan | None = None
    keep: bytes | None = None
    before: bytes | None = None
    arrived: Deadline | None = None


def run(control: TaskControl, task: RequestTask, asked: ParsedRequest | None = None) -> WorkAnswer:
    """Return the answer to a request, which is parsed first unless `asked` is given; raises MemplanError.

    If the task has its problem, `asked` needs no inputs.
    """
    began = time.monotonic()
    asked = asked or parse_request(task.kind, task.head, task.body, terms=(*TERMS, *OF_A_LINE))
    if task.keep is not None:
        asked = replace(asked, fields={**asked.fields, "keep": from_json(task.keep)})
    if task.read is not None or asked.is_plain_plan:
        return _plain_plan(control, task, asked, began)
    if not asked.is_foreign:
        return _answer(asked, control)
    with reader_errors():
        return _answer(asked, Control(control.deadline.bring_forward(_ANSWER_S), control.cancelled, note=control.note))


@contextmanager
def reader_errors() -> Iterator[None]:
    """Name the file in errors of its reader; an unexpected exception becomes a ReaderFaultError."""
    try:
        yield
    except (OptionError, MemoryError, ReaderFaultError):
        raise
    except InputError as error:
        kind = TimeOverError if isinstance(error, TimeOverError) else FormatError
        raise kind(*starmap(add_way, error.prefix_name("file").rules_with_ways(str))) from error
    except Exception as error:
        raise reader_fault(error) from error


def _answer(asked: ParsedRequest, control: Control) -> WorkAnswer:
    question, reader, note = asked.question, asked.reader(), control.note
    values = asked.input_values(reader)

    def work_answer(answer: Any) -> WorkAnswer:
        content = asked.answer_bytes(values, add_reading_facts(answer, reader))
        return WorkAnswer(content, question.status(answer), asked.kind == PLAN)

    noting = None if note is None else lambda found: note(work_answer(found))
    return work_answer(question.answer_verified(values, asked.options, replace(control, note=noting)))


def _plain_plan(control: TaskControl, task: RequestTask, asked: ParsedRequest, began: float) -> WorkAnswer:
    """Return the known plan if it is good enough; otherwise, search for a plan, starting from the known one.

    The search leaves as much time for verifying and writing its plan as reading the problem has taken, in another
    process and since `began`.
    """
    given = asked.input_values()["problem"] if task.read is None else pickle.loads(task.read.pickled)
    problem, options = CompiledProblem.from_problem(given), plan_options(asked)
    read_s = time.monotonic() - began + (0.0 if task.read is None else task.read.read_s)
    kept_s = max(0.0, read_s - answer_time_s(problem.problem))
    is_cached = is_cacheable(problem.problem, options)
    cached = CachedPlan.read(task.record) if is_cached else None
    known = None if cached is None else result_of(cached, problem)
    if (reason := reason_to_answer(cached, known, options, problem.problem)) is not None and known is not None:
        found = replace(known, stop_reason=reason)
        return plan_answer(asked, problem, found, task.plan_format, task.arrived or control.deadline)
    start = known.plan if known is not None and known.plan.placements else None
    if task.before is not None:
        start = Plan.model_validate(from_json(task.before))
    if options.deterministic:
        start = None  # Earlier plans depend on clocks, so a deterministic search must not start from one.
    elif start is not None:
        options = options.model_copy(update={"seed": options.seed ^ _CHILD_SEED})

    def report(said: Any) -> None:
        control.report(said.facts() | {"elapsed_s": said.elapsed_s} if isinstance(said, Progress) else said)

    def best_answer(best: SolveResult | None) -> WorkAnswer | None:
        if best is None:
            return None
        if task.arrived is None:
            answer = _answer_of_plan(asked, problem, best.plan, task.plan_format)
        else:  # A caller waits, who gets this answer if no other one arrives in time.
            last = replace(best, stop_reason="time_limit")
            answer = plan_answer(asked, problem, last, task.plan_format, task.arrived)
        return replace(answer, known=CachedPlan.from_result(problem, best, 0.0) if is_cached else None)

    def watch(best: Callable[[], SolveResult | None]) -> None:
        control.watch(lambda: best_answer(best()))

    due = control.deadline.bring_forward(kept_s)
    found = search(
        replace(control, deadline=due, report=report, watch=watch), problem.problem, options, start, problem.instance
    )
    if found.stop_reason == "cancelled" and control.is_cut.is_set():
        found = replace(found, stop_reason="time_limit")
    if found.stop_reason == "cancelled" and not found.plan.placements:
        raise UnavailableError("plan: the request was cancelled before there was an answer")
    to_cache = CachedPlan.from_result(problem, found, time_searched(found, options)) if is_cached else None
    return replace(
        plan_answer(asked, problem, found, task.plan_format, task.arrived or control.deadline),
        known=None if to_cache is None else join_entries(problem, to_cache, False, task.record),
        searched=replace(
            found, plan=found.plan.model_copy(update={"placements": NO_PLACEMENTS}), assignment=None, bound=None
        ),
    )


def plan_options(asked: ParsedRequest) -> Options:
    """Return the options of a request for a plan."""
    assert isinstance(asked.options, Options)
    return asked.options


def is_cacheable(problem: Problem, options: SolveOptions) -> bool:
    """Return True if a cached plan may answer; plans with a profile or equal use are made by several searches."""
    return options.is_usual and options.profile_of(problem) is None and not problem.equal_use


def search(
    control: TaskControl, problem: Problem, options: SolveOptions, start: Plan | None, instance: Instance | None = None
) -> SolveResult:
    """Search for a plan by the options' profile, if any; return the result, with an explanation if nothing fits."""
    profile = options.profile_of(problem)
    if problem.equal_use:
        plan = search_plan(problem, options, start=start, control=control)
        result = SolveResult(plan, stop_reason=plan.stop_reason, elapsed_s=plan.wall_time_s or 0.0)
    elif profile is None:
        one = OneSearch(problem, options, control, start=start, instance=instance)
        control.watch(one.interim_result)
        result = one.finish()
    else:

        def watch(best: Callable[[], SolveResult | None]) -> None:
            def profile_result() -> SolveResult | None:
                """Return the best result so far in the form of the profile's answer; None before the first result."""
                return None if (best_now := best()) is None else interim_result(problem, profile, best_now)

            control.watch(profile_result)

        result = solve_profile(problem, options, control, profile, start, watch=watch)
    running = replace(control, counted_s=REASON_S if options.deterministic else None)
    return replace(result, plan=add_reason(problem, result.plan, running))


def answer_of(result: SolveResult, problem: CompiledProblem, options: Options, deadline: Deadline) -> Plan:
    """Return the verified plan of a result, with lint findings and the options that change the problem."""
    facts: dict[str, object] = {"findings": problem.findings} if problem.findings else {}
    if options.deterministic and (recorded := options.recorded_options()):
        facts["options"] = recorded
    plan_answer = result.answer(options.deterministic, deadline.passed_s, facts)
    answer: Plan = QUESTION.require_valid({"problem": problem.problem}, options, plan_answer)
    return answer


def plan_answer(
    asked: ParsedRequest, problem: CompiledProblem, result: SolveResult, plan_format: str, deadline: Deadline
) -> WorkAnswer:
    """Return the verified plan of a result as an answer, whose time counts from the start of the deadline."""
    return _answer_of_plan(asked, problem, answer_of(result, problem, plan_options(asked), deadline), plan_format)


def _answer_of_plan(asked: ParsedRequest, problem: CompiledProblem, plan: Plan, plan_format: str) -> WorkAnswer:
    facts = None
    if plan.lower_bound is not None:
        facts = Progress(0.0, plan.peak, plan.lower_bound, plan.solver or "").facts()
    content, is_proved = write_in(plan_format, plan, problem.problem), plan.stop_reason == "proved"
    return WorkAnswer(content, plan.status, is_plan=True, facts=facts, is_proved=is_proved)


def time_searched(result: SolveResult, options: SolveOptions) -> float:
    """Return how many seconds were searched for a result; the whole time limit if the work limit was reached."""
    return options.time_limit_s if result.stop_reason == "work_limit" else result.elapsed_s


def reason_to_answer(
    known: CachedPlan | None, result: SolveResult | None, options: SolveOptions, problem: Problem
) -> StopReason | None:
    """Return the reason why a cached result answers a caller without a search; None if a search is needed."""
    if known is None or result is None:
        return None
    plan = result.plan
    if plan.status == "optimal":
        return "proved"
    if known.is_final:  # Another process proved the result, so this process must repeat the proof.
        return None
    target = options.target() or (Accept() if problem.objective == "fit" else None)
    is_good = target is not None and (target.gap is None or (plan.gap is not None and plan.gap <= target.gap))
    if plan.placements and is_good:
        return "accepted"
    return "time_limit" if known.searched_s >= _SEARCHED_SHARE * options.time_limit_s else None


def parse_for_child(
    body: bytes, kind: str, head: str, terms: tuple[str, ...] = ()
) -> tuple[ParsedRequest, ReadProblem | None]:
    """Parse a request in a child process; return (request without inputs, problem if a plain plan is wanted)."""
    began = time.monotonic()
    asked = parse_request(kind, head, body, terms=terms)
    if not asked.is_plain_plan:
        return asked.drop_inputs(), None
    problem = asked.input_values()["problem"]
    name, pickled = CompiledProblem.from_problem(problem).hash, pickle.dumps(problem, pickle.HIGHEST_PROTOCOL)
    return asked.drop_inputs(), ReadProblem(name, pickled, time.monotonic() - began)
