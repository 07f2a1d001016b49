"""Pools of worker processes: every task ends on time, and dead processes are replaced."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

import psutil
import pytest

from memplan.api.faults import BODY, FaultError, Faults
from memplan.api.logs import count_refusals, log_context
from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.settings import Settings
from memplan.api.workers.pool import ChildPool
from memplan.api.workers.task import LostWorkersError, Task, TaskControl, TooMuchMemoryError
from memplan.api.workers.template import ForkedChild
from memplan.planner.errors import FormatError, MemplanError, OptionError, TimeOverError
from memplan.solvers.search.control import NEVER, Deadline
from tests.support import works
from tests.support.depth import GRACE_S
from tests.support.processes import workers

PATIENCE_S = 60.0
LOST: list[str] = []


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    made = ChildPool(Settings(niceness=0), on_loss=lambda: LOST.append("lost"))
    yield made
    children = [psutil.Process(child.pid) for child in workers()]
    made.close()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == [], "a pool that is closed leaves no process"


def task(run: Callable[..., Any], *arguments: Any, within_s: float = PATIENCE_S, grace_s: float = 0.2) -> Task:
    return Task(run, arguments, "order", Deadline.from_limit(within_s), grace_s=grace_s)


def reading(kind: str) -> Task:
    return replace(task(works.read_file, kind), file_bytes=10)


def test_a_task_is_limited_by_its_deadline_or_by_its_own_time_limit(pool: ChildPool) -> None:
    assert PATIENCE_S - 30 < pool.run(task(works.remaining_s)) < PATIENCE_S
    assert 0 < pool.run(Task(works.remaining_s, (), "order", NEVER, limit_s=2.0)) <= 2.0


@pytest.mark.parametrize(
    ("run", "arguments", "error", "sentence"),
    [
        (works.raise_option_error, (), OptionError, "size: must be small"),
        (works.wrong_at_length, (), OptionError, "^size: x{20000}$"),
        (works.raise_fault, (), FaultError, "memplan: failed; memplan's log shows where, at fault [0-9a-f]{12}$"),
        (works.exhaust_memory, (), TooMuchMemoryError, "memplan: must be answered within the memory of one worker"),
    ],
)
def test_a_worker_process_reports_an_error_and_continues(
    pool: ChildPool, run: Callable[..., Any], arguments: tuple[Any, ...], error: type[MemplanError], sentence: str
) -> None:
    before = {child.pid for child in workers()}
    with pytest.raises(error, match=sentence):
        pool.run(task(run, *arguments))
    assert {child.pid for child in workers()} == before


@pytest.mark.parametrize(
    ("kind", "error", "sentence"),
    [
        ("is late", TimeOverError, "^time_limit_s: must be enough$"),
        ("is asked wrongly", OptionError, "^base_address: must be given$"),
        ("ends", FormatError, "file: cannot be read: its reader ended with status 3"),
        ("is taken over", FormatError, "file: cannot be read: its reader ended with status -9"),
        ("writes", FaultError, "file: cannot be read because of a memplan fault; please report OSError at"),
    ],
)
def test_a_reader_of_another_systems_file_reports_an_error_and_gets_no_further_task(
    pool: ChildPool, kind: str, error: type[MemplanError], sentence: str
) -> None:
    before = pool.run(task(works.process_id))
    with pytest.raises(error, match=sentence):
        pool.run(reading(kind))
    assert pool.run(task(works.process_id)) != before


def test_an_internal_error_of_a_worker_process_logs_its_stack_only_once(
    pool: ChildPool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, kinds, token = list[tuple[str, str]](), list[str](), BODY.set(b"secret of a caller")
    monkeypatch.setattr(pool, "faults", Faults(lambda *fault: counted.append(fault)))
    with log_context("r1", None):
        for run in (works.raise_fault, works.raise_invalid_plan, works.raise_fault):
            with pytest.raises(FaultError) as found:
                pool.run(task(run))
            kinds.append(found.value.kind)
    assert [("order", kind) for kind in kinds] == counted
    assert (kinds[0] == kinds[2], kinds[0] == kinds[1]) == (True, False)
    lines = [record for record in caplog.records if record.levelname == "ERROR"]
    told = [(line.__dict__["fault"], "in raise_fault" in line.getMessage()) for line in lines]
    assert told == [(kinds[0], True), (kinds[1], False), (kinds[0], False)]
    assert {line.__dict__["body_sha256"] for line in lines} == {sha256(b"secret of a caller").hexdigest()}
    assert "secret" not in caplog.text
    assert pool.run(task(works.noted_and_faulty)) == "noted"
    assert len(counted) == 4
    BODY.reset(token)


def test_refused_plans_are_counted_in_each_kind_of_process(pool: ChildPool) -> None:
    counted = list[str]()
    count_refusals(counted.append)
    works.log_refusal(TaskControl())
    pool.run(task(works.log_refusal))
    pool.run(reading("reads"))
    assert counted == ["liar"] * 3


def test_log_lines_of_a_worker_process_carry_the_ids_of_its_task(pool: ChildPool) -> None:
    with log_context("r1", "j1"):
        assert pool.run(task(works.logging_ids)) == ("r1", "j1")
    assert pool.run(task(works.logging_ids)) == (None, None)


def test_a_task_that_overruns_its_time_limit_is_killed_with_its_worker_process(pool: ChildPool) -> None:
    assert pool.run(reading("reads")).content == b"read"
    began = time.monotonic()
    with pytest.raises(NotInTimeError, match="order: no answer arrived within its time limit"):
        pool.run(task(works.run_forever, within_s=0.3))
    assert 0.5 <= time.monotonic() - began < 5 + GRACE_S
    assert pool.run(Task(works.noted_for_ever, (), "order", NEVER, limit_s=3.0)) == "noted"
    assert pool.run(task(works.remaining_s)) > 0


def test_a_worker_process_that_exits_is_reported_and_replaced(pool: ChildPool) -> None:
    LOST.clear()
    with pytest.raises(LostWorkersError, match="memplan: a worker ended with status 7"):
        pool.run(task(works.exit_child, 7))
    assert (pool.run(task(works.remaining_s)) > 0, LOST) == (True, ["lost"])


def test_a_task_reports_progress_and_still_answers_after_cancellation(pool: ChildPool) -> None:
    cancelled, told = threading.Event(), list[Any]()

    def report(reports: list[Any], best: Any) -> None:
        told.append((reports, best))
        if best is not None:
            cancelled.set()

    assert pool.run(task(works.wait_for_cancellation, [1, 2]), report, cancelled) == "cancelled"
    assert (told[0][0], told[-1][1]) == ([1, 2], "best")


def test_a_task_answers_with_its_last_recorded_result_if_other_tasks_wait(pool: ChildPool) -> None:
    is_short = threading.Event()
    is_short.set()
    assert pool.run(task(works.noted_for_ever), is_short=is_short) in ("first", "noted")
    search = Task(works.wait_for_cancellation, ([],), "plan", Deadline.from_limit(PATIENCE_S), is_search=True)
    assert pool.run(search, is_short=is_short) == "cancelled"
    assert pool.run(task(works.remaining_s), is_short=is_short) > 0


def test_an_endless_reader_answers_with_its_last_recorded_result(pool: ChildPool) -> None:
    is_short = threading.Event()
    is_short.set()
    assert pool.run(reading("notes"), is_short=is_short).content == b"noted"


def test_only_tasks_with_long_limits_run_at_lower_priority() -> None:
    mine, pool = os.nice(0) + 5, ChildPool(Settings())
    assert pool.warm_up()
    assert pool.run(task(works.niceness, within_s=9.0)) == mine
    assert pool.run(task(works.niceness, within_s=60.0)) == min(19, mine + 10)
    assert pool.run(task(works.niceness, within_s=9.0)) == mine
    pool.close()


def test_a_killed_template_process_is_replaced(pool: ChildPool) -> None:
    for process in workers():
        process.kill()
    assert pool.run(task(works.remaining_s)) > 0


def test_a_task_is_refused_if_every_new_worker_process_dies_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ChildPool(Settings())
    fork, pids = made._template.fork, []

    def fork_killed_child() -> ForkedChild:
        child = fork()
        child.kill()
        child.wait()
        pids.append(child.pid)
        return child

    monkeypatch.setattr(made._template, "fork", fork_killed_child)
    try:
        with pytest.raises(UnavailableError, match=r"^order: 3 worker processes ended as soon as they were started$"):
            made.run(task(works.remaining_s))
    finally:
        made.close()
    assert len(pids) == 3


@pytest.mark.parametrize("asks", [True, False])
def test_a_template_process_ends_silently_after_its_parent_was_killed(asks: bool) -> None:
    """The parent may be killed before it receives the template's reply."""
    ours, its = socket.socketpair()
    code = "import socket; from memplan.api.workers.template import fork_always; fork_always(socket.socket(fileno=0))"
    with its, subprocess.Popen([sys.executable, "-c", code], stdin=its.fileno(), stderr=subprocess.PIPE) as template:
        if asks:
            ours.send((1).to_bytes(4, sys.byteorder) * 50)
        ours.close()
        its.close()
        _, said = template.communicate(timeout=PATIENCE_S)
    assert (template.returncode, said) == (0, b"")


def test_a_cancelled_task_that_does_not_stop_is_killed(pool: ChildPool) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(UnavailableError, match="order: the request was cancelled before there was an answer"):
        pool.run(task(works.run_forever), cancelled=cancelled)
