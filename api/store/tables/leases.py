"""Jobs as the workers see them that run them: claimed, reported on, finished once, released, taken over."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    and_,
    cast,
    delete,
    extract,
    func,
    literal,
    or_,
    select,
    update,
)

from memplan.api.store import schema
from memplan.api.store.database import Database
from memplan.api.store.job import ENDED, MEANINGS, Claim, Job, JobOutcome, Lease, State, WorkAnswer
from memplan.api.store.tables.events import Kind, tell
from memplan.api.store.tables.jobs import COLUMNS, job_of
from memplan.api.store.writing import put

MOST_ATTEMPTS = 3
"""The number of times that a job is begun anew after the child process that ran it ended, or had no answer."""
MOST_LAPSES = 10
"""The same after its worker itself ended, which is seldom the fault of a job, as jobs run in child processes."""
_AT_ONCE = 500
_JOBS = schema.jobs.c


class Leases:
    """The table of jobs as a queue, for the workers that run them; each call is one transaction.

    A worker's writes to a job count only while its lease holds, so that a job ends once: one that was taken for dead
    may still be alive. When a lease ends is told by the clock of the database, which all workers have in common.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, holder: str, most: int, of_key: int, lease_s: float) -> list[Claim]:
        """Take up to `most` jobs that wait, the highest priority first, and then as they came.

        Of one key, an holder runs at most `of_key` at a time: the others are left to other keys.
        """
        claims: list[Claim] = []
        with self._database.writing() as connection:
            while len(claims) < most and (claim := _claimed(connection, holder, of_key, lease_s)) is not None:
                claims.append(claim)
        return claims

    def is_any_waiting(self) -> bool:
        """Return True if a job waits."""
        with self._database.reading() as connection:
            return connection.execute(select(_JOBS.id).where(_JOBS.state == "queued").limit(1)).first() is not None

    def renew(self, holder: str, lease_s: float) -> dict[Lease, bool]:
        """Let the leases of an holder hold for longer; return them, True for each whose job is to be cancelled."""
        holds = and_(_JOBS.lease_holder == holder, _JOBS.state == "running")
        with self._database.writing() as connection:
            longer = update(schema.jobs).where(holds).values(lease_until=_now(connection) + lease_s)
            renewed = connection.execute(longer.returning(_JOBS.id, _JOBS.lease, _JOBS.is_cancel_asked))
            return {Lease(row.id, holder, row.lease): row.is_cancel_asked for row in renewed}

    def cancelled(self, holder: str) -> set[str]:
        """Return the jobs of an holder that are to be cancelled."""
        asked = and_(_JOBS.lease_holder == holder, _JOBS.state == "running", _JOBS.is_cancel_asked)
        with self._database.reading() as connection:
            return set(connection.execute(select(_JOBS.id).where(asked)).scalars())

    def report(
        self, lease: Lease, progress: Sequence[tuple[Mapping[str, Any], float]], best: WorkAnswer | None = None
    ) -> bool:
        """Tell of better plans and bounds, and after how many seconds, the best last; False where the lease is void."""
        values = {"progress": progress[-1][0]} if progress else {}
        told: list[tuple[Kind, Mapping[str, Any]]] = [
            ("better" if "gap" in facts else "progress", {**facts, "elapsed_s": round(elapsed_s, 3)})
            for facts, elapsed_s in progress
        ]
        with self._database.writing() as connection:
            last = _written(connection, lease, values, best, events=len(told))
            if last is not None and told:
                tell(connection, lease.job_id, last, *told)
            return last is not None

    def finish(self, lease: Lease, outcome: JobOutcome) -> bool:
        """End a job; return False where the lease is void, or the job has ended."""
        now = time.time()
        late = _JOBS.deadline_at
        values: dict[str, Any] = {"state": outcome.state, "finished_at": now, "error": outcome.error}
        if (answer := outcome.answer) is not None and answer.facts is not None:
            values["progress"] = answer.facts
        with self._database.writing() as connection:
            deadline = connection.execute(select(late).where(_JOBS.id == lease.job_id)).scalar_one_or_none()
            if deadline is not None and now > deadline:
                values["late_s"] = round(now - deadline, 3)
            last = _written(connection, lease, values, answer)
            if last is None:
                return False
            tell(connection, lease.job_id, last, ("finished", _end(outcome, values.get("late_s"))))
            return True

    def release(self, lease: Lease, reason: str, best: WorkAnswer | None = None, *, counts: bool = False) -> bool:
        """Let a job wait again, with its best answer; unless it `counts`, it was no attempt. False: the lease is void.

        A job with a request to cancel it is cancelled.
        """
        values = {"state": "queued", "lease_holder": None, "attempts": _JOBS.attempts - int(not counts)}
        with self._database.writing() as connection:
            last = _written(connection, lease, values, best)
            if last is None:
                return False
            tell(connection, lease.job_id, last, ("retried", {"state": "queued", "reason": reason}))
            _moved(connection, "queued", "cancelled", and_(_JOBS.id == lease.job_id, _JOBS.is_cancel_asked))
            return True

    def tend(self) -> tuple[list[str], list[str]]:
        """End the jobs whose deadline passed while they waited; let those whose lease is over wait again.

        Of the latter, those that were begun too often fail. Return the ids of both.
        """
        with self._database.reading() as connection:
            late = and_(_JOBS.state == "queued", _JOBS.deadline_at < _now(connection))
            is_over = and_(_JOBS.state == "running", _JOBS.lease_until < _now(connection))
            if connection.execute(select(_JOBS.id).where(or_(late, is_over)).limit(1)).first() is None:
                return [], []
        too_often = _JOBS.attempts > MOST_LAPSES
        error = f"its worker ended while it ran, {MOST_LAPSES + 1} times"
        with self._database.writing() as connection:
            late_s = _now(connection) - _JOBS.deadline_at
            expired = _moved(connection, "queued", "expired", late, late_s=late_s)
            cancelled = _moved(connection, "running", "cancelled", and_(is_over, _JOBS.is_cancel_asked))
            failed = _moved(connection, "running", "failed", and_(is_over, too_often), error=error)
            again = _moved(connection, "running", "queued", is_over, reason="its worker ended", lease_holder=None)
            return expired, [*cancelled, *failed, *again]

    def remove_ended(self, before: float) -> int:
        """Remove jobs that ended before a time, some hundreds at once; return how many."""
        old = select(_JOBS.id).where(_JOBS.finished_at < before).order_by(_JOBS.finished_at).limit(_AT_ONCE)
        with self._database.writing() as connection:
            return connection.execute(delete(schema.jobs).where(_JOBS.id.in_(old))).rowcount


def _now(connection: Connection) -> ColumnElement[float]:
    """Return the time of day in seconds, as the database has it; SQLite's file is of this machine."""
    if connection.dialect.name == "sqlite":
        return literal(time.time())
    return cast(extract("epoch", func.clock_timestamp()), Double)


def _claimed(connection: Connection, holder: str, of_key: int, lease_s: float) -> Claim | None:
    """Take the next job in one statement; None where none waits that may be taken."""
    key = func.coalesce(_JOBS.key_id, "")
    held = select(key).where(_JOBS.lease_holder == holder, _JOBS.state == "running")
    full = held.group_by(key).having(func.count() >= of_key)
    may_run = and_(_JOBS.state == "queued", key.not_in(full))
    # In two steps, since one index has the highest priority last and the oldest of them first.
    highest = select(_JOBS.priority).where(may_run).order_by(_JOBS.priority.desc()).limit(1)
    first = select(_JOBS.id).where(may_run, _JOBS.priority == highest.scalar_subquery()).order_by(_JOBS.id).limit(1)
    first = first.with_for_update(skip_locked=True)
    start = update(schema.jobs).where(_JOBS.id == first.scalar_subquery(), _JOBS.state == "queued")
    start = start.values(
        state="running",
        lease_holder=holder,
        lease_until=_now(connection) + lease_s,
        lease=_JOBS.lease + 1,
        attempts=_JOBS.attempts + 1,
        started_at=time.time(),
        last_event=_JOBS.last_event + 1,
    )
    row = connection.execute(start.returning(*COLUMNS, _JOBS.lease)).one_or_none()
    if row is None:
        return None
    job = job_of({name: getattr(row, name) for name in Job.__dataclass_fields__})
    tell(connection, job.id, job.last_event, ("started", {"state": "running", "attempt": job.attempts}))
    sent, best = schema.submissions.c, schema.answers.c
    head, body = connection.execute(select(sent.head, sent.body).where(sent.job_id == job.id)).one()
    answer = connection.execute(select(best.content).where(best.job_id == job.id)).scalar_one_or_none()
    return Claim(Lease(job.id, holder, row.lease), job, head, body, answer)


def _written(
    connection: Connection, lease: Lease, values: Mapping[str, Any], answer: WorkAnswer | None, events: int = 1
) -> int | None:
    """Change a running job if the lease holds; return the number of the last of its new events, None if it is void."""
    if answer is not None:
        values = {**values, "plan_status": answer.status, "plan_hash": answer.hash}
    holds = and_(
        _JOBS.id == lease.job_id,
        _JOBS.state == "running",
        _JOBS.lease_holder == lease.holder,
        _JOBS.lease == lease.number,
    )
    change = update(schema.jobs).where(holds).values(**values, last_event=_JOBS.last_event + events)
    last = connection.execute(change.returning(_JOBS.last_event)).scalar_one_or_none()
    if last is not None and answer is not None:
        put(connection, schema.answers, {"job_id": lease.job_id, "content": answer.content})
    return last


def _moved(
    connection: Connection,
    before: State,
    after: State,
    which: ColumnElement[bool],
    reason: str | None = None,
    **values: Any,
) -> list[str]:
    """Change the state of all jobs that `which` finds, each with its event."""
    is_end = after in ENDED
    if is_end:
        values["finished_at"] = time.time()
    change = update(schema.jobs).where(which).values(state=after, last_event=_JOBS.last_event + 1, **values)
    rows = connection.execute(change.returning(_JOBS.id, _JOBS.last_event)).all()
    kind: Kind = "finished" if is_end else "retried"
    told = _end(JobOutcome(after, error=values.get("error"))) if is_end else {"state": after, "reason": reason}
    for job_id, last in rows:
        tell(connection, job_id, last, (kind, told))
    return [job_id for job_id, _ in rows]


def _end(outcome: JobOutcome, late_s: float | None = None) -> dict[str, Any]:
    told: dict[str, Any] = {"state": outcome.state, "meaning": MEANINGS[outcome.state]}
    if outcome.answer is not None:
        told = {**told, "plan_status": outcome.answer.status, **(outcome.answer.facts or {})}
    if outcome.error is not None:
        told["error"] = outcome.error
    return told if late_s is None else told | {"late_s": late_s}
