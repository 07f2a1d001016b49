"""Fake workers that record their tasks and answer when the test allows it."""

import asyncio
import threading
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from memplan.api.service import request_task
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.store.job import WorkAnswer
from memplan.api.workers.task import Task, TaskControl
from memplan.planner.instance.objective import score
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.portfolio.warm_start import assignment_of
from memplan.solvers.search.control import Deadline
from memplan.solvers.search.result import Assignment, SolveResult


@dataclass
class SentTask:
    """A task that was sent to a worker; its start and options are known once the worker answers."""

    deadline: Deadline
    start: Plan | None = None
    options: SolveOptions | None = None


class PatientWorkers:
    """Workers that wait for `may_answer`, cancellation or other waiting requests, and then return the warm start.

    Without a start, they return a greedy plan.
    """

    def __init__(self) -> None:
        self.tasks: list[SentTask] = []
        self.cancelled = 0
        self.may_answer = asyncio.Event()
        self.is_asked = asyncio.Event()

    async def run(self, task: Task, cancelled: asyncio.Event, is_short: threading.Event | None, *_: Any) -> WorkAnswer:
        sent = SentTask(task.deadline_now())
        self.tasks.append(sent)
        self.is_asked.set()
        while not (self.may_answer.is_set() or cancelled.is_set() or (is_short and is_short.is_set())):
            await asyncio.sleep(0.005)
        self.cancelled += cancelled.is_set()

        def search(_: Any, problem: Problem, options: SolveOptions, start: Plan | None, *__: Any) -> SolveResult:
            sent.start, sent.options = start, options
            found = searched_result(CompiledProblem.from_problem(problem), start or greedy_plan(problem))
            is_cancelled = cancelled.is_set() and not self.may_answer.is_set()
            return replace(found, stop_reason="cancelled" if is_cancelled else "time_limit")

        with patch.object(request_task, "search", search):
            answer: WorkAnswer = task.run(TaskControl(sent.deadline), *task.arguments)
        return answer


def greedy_plan(problem: Problem) -> Plan:
    return solve(problem, solver="greedy", accept="fit")


def searched_result(problem: CompiledProblem, plan: Plan) -> SolveResult:
    is_empty = plan.peak is None and not plan.placements
    found = None if is_empty else assignment_of(problem.problem, problem.instance, plan.placements)
    assignment = None if found is None else Assignment(*found, score(problem.instance, *found), plan.solver or "")
    return SolveResult(plan, assignment, problem.bound)
