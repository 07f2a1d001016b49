"""The process that reads large bodies.

It answers twice: first with the options, which say for how long the caller waits, then, once it is told to go on, with
what was asked for; or with what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple
from typing import Any

import numpy as np
from starlette.datastructures import QueryParams

from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.job_requests import read_new_job
from memplan.api.http.requests.keep_requests import read_keeping
from memplan.api.http.requests.submissions import begin_submission, check_size
from memplan.api.http.requests.work_requests import begin_work
from memplan.api.refusals import NotInTimeError
from memplan.api.service.answering import answered
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.settings import Settings
from memplan.capabilities.bodies import read_question
from memplan.capabilities.capability import Control, due
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner import errors
from memplan.solvers.processes.harden import write_no_file
from memplan.solvers.processes.parent import Parent

WRONG: Mapping[str, type[errors.MemplanError]] = {
    kind.__name__: kind
    for kind in (
        *(errors.InputError, errors.FormatError, errors.ProblemError, errors.PlanError),
        *(errors.OperationsError, errors.OptionError, TooLargeError, NotInTimeError),
    )
}
"""The errors that a reader answers with, by their names."""


def _plan(kind: str, body: bytes, query: str, settings: Settings) -> Iterator[object]:
    begun = begin_submission(kind, body, QueryParams(query))
    yield [begun.options.model_dump(exclude_unset=True), begun.rows]
    problem = begun.problem()
    check_size(problem, settings)
    fields = problem.model_dump(exclude={"buffers"}, exclude_unset=True)
    yield vars(CompiledProblem.of(problem)) | {"problem": None, "buffers": problem.buffers, "fields": fields}


def _work(name: str, media: str, body: bytes, query: str, settings: Settings, arrived: float) -> Iterator[object]:
    begun = begin_work(CAPABILITIES[name], media, body, QueryParams(query), settings, arrived=arrived)
    wrong = None if begun.wrong is None else _said(begun.wrong)
    yield [begun.options.model_dump(mode="json"), astuple(begun.extent), wrong]
    control = Control(due(begun.options.time_limit_s, arrived))
    answer = answered(begun.capability, read_question(begun.capability, begun.fields), begun.options, control)
    yield np.frombuffer(answer.content, np.uint8)


def _job(media: str, body: bytes, query: str, settings: Settings, said: Mapping[str, Any]) -> Iterator[object]:
    found = read_new_job(media, body, QueryParams(query), settings, **said)
    yield vars(found) | {"problem": np.frombuffer(found.problem, np.uint8)}


def _keep(body: bytes, query: str, settings: Settings) -> Iterator[object]:
    if (found := read_keeping(body, QueryParams(query), settings)) is None:
        yield None
        return
    yield [
        found.options.model_dump(exclude_unset=True),
        found.plan_hash,
        *(None if text is None else np.frombuffer(text, np.uint8) for text in (found.problem, found.old)),
    ]


_STEPS: Mapping[str, Callable[..., Iterator[object]]] = {"plan": _plan, "work": _work, "job": _job, "keep": _keep}


def _said(error: BaseException) -> list[Any]:
    name = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in WRONG), type(error).__name__)
    return [name, error.sentences if isinstance(error, errors.InputError) else (str(error),)]


def _read(parent: Parent, what: str, *task: Any) -> None:
    """Answer for one body."""
    try:
        steps = _STEPS[what](*task)
        parent.send([None, next(steps)])
        if parent.next_task() is not None:
            parent.send([None, next(steps)])
    except MemoryError:
        parent.send(_said(TooLargeError("body: must be read with the memory of its reader, and needs more")))
    except Exception as error:  # noqa: BLE001 - the border of the process: a fault is told as one, without what was sent
        parent.send(_said(error))


def main() -> None:
    """Run a reader until its server closes the pipe."""
    parent = Parent(is_kept=True)
    write_no_file()
    while True:
        try:
            task = parent.next_task()
        except EOFError:
            return
        _read(parent, *task)


if __name__ == "__main__":
    main()
