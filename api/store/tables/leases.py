"""Jobs as the servers see them that run them: claimed, reported on, finished once, handed back, taken over."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from math import inf
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, update

from memplan.api.store import schema
from memplan.api.store.database import Database
from memplan.api.store.job import Claim, JobOutcome, JobProgress, Lease, PackedPlan, WorkProgress
from memplan.api.store.job_states import ENDED, MEANINGS, State, check_change
from memplan.api.store.tables.events import Kind, tell
from memplan.api.store.tables.jobs import COLUMNS, job_of
from memplan.api.store.writing import put

MOST_ATTEMPTS = 3
"""The number of times that a job is started anew after the server that ran it died."""
_AT_ONCE = 500
_JOBS = schema.jobs.c


class Leases:
    """The table of jobs, for servers that run them; each call is one transaction.

    A server's writes to a job count only while its lease holds, so that a job ends once: a server that was taken for
    dead may still be alive.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, server: str, most: int, longest_s: float = inf) -> list[Claim]:
        """Take up to `most` jobs that wait; the keys take turns, and have their jobs of the highest priority first.

        The next is the key with the fewest jobs that run, of those the one whose last job began longest ago. Jobs with
        a longer time limit than `longest_s` are left.
        """
        check_change("queued", "running")
        with self._database.writing() as connection:
            return list(islice(_in_turn(connection, server, longest_s), most))

    def report(self, lease: Lease, progress: Sequence[JobProgress], plan: PackedPlan | None = None) -> bool:
        """Tell of better plans and bounds, the best last, with a plan; return False where the lease is void."""
        values = {"progress": progress[-1].facts()} if progress else {}
        told: list[tuple[Kind, Mapping[str, Any]]] = [
            (
                "progress" if isinstance(one, WorkProgress) else "better",
                {**one.facts(), "elapsed_s": round(one.elapsed_s, 3)},
            )
            for one in progress
        ]
        with self._database.writing() as connection:
            last = _written(connection, lease, values, plan, events=len(told))
            if last is not None and told:
                tell(connection, lease.job_id, last, *told)
            return last is not None

    def finish(self, lease: Lease, outcome: JobOutcome) -> bool:
        """End a job; return False where the lease is void, or the job has ended."""
        check_change("running", outcome.state)
        now = time.time()
        late = _JOBS.deadline_at
        values: dict[str, Any] = {"state": outcome.state, "finished_at": now, "error": outcome.error}
        if outcome.progress is not None:
            values["progress"] = outcome.progress.facts()
        with self._database.writing() as connection:
            deadline = connection.execute(select(late).where(_JOBS.id == lease.job_id)).scalar_one_or_none()
            if deadline is not None and now > deadline:
                values["late_s"] = round(now - deadline, 3)
            last = _written(connection, lease, values, outcome.plan)
            if last is None:
                return False
            tell(connection, lease.job_id, last, ("finished", _end(outcome, values.get("late_s"))))
            return True

    def hand_back(self, lease: Lease, reason: str, plan: PackedPlan | None = None, *, counts: bool = False) -> bool:
        """Let a job wait again, with its best plan; unless it `counts`, the attempt is none. False: the lease is void.

        A job with a request to cancel it is cancelled.
        """
        check_change("running", "queued")
        values = {"state": "queued", "lease_owner": None, "attempts": _JOBS.attempts - int(not counts)}
        with self._database.writing() as connection:
            last = _written(connection, lease, values, plan)
            if last is None:
                return False
            tell(connection, lease.job_id, last, ("retried", {"state": "queued", "reason": reason}))
            _moved(connection, "queued", "cancelled", and_(_JOBS.id == lease.job_id, _JOBS.is_cancel_asked))
            return True

    def held_by(self, server: str) -> dict[Lease, bool]:
        """Return the leases of a server; True for each with a request to cancel its job."""
        wanted = select(_JOBS.id, _JOBS.lease, _JOBS.is_cancel_asked)
        wanted = wanted.where(_JOBS.lease_owner == server, _JOBS.state == "running")
        with self._database.reading() as connection:
            return {Lease(row.id, server, row.lease): row.is_cancel_asked for row in connection.execute(wanted)}

    def servers(self) -> set[str]:
        """Return the servers that hold leases."""
        wanted = select(_JOBS.lease_owner).where(_JOBS.state == "running").distinct()
        with self._database.reading() as connection:
            return set(connection.execute(wanted).scalars())

    def take_over(self, dead: Collection[str]) -> list[str]:
        """Let the jobs of dead servers wait again; those that were started too often fail. Return their ids."""
        theirs = and_(_JOBS.lease_owner.in_(dead), _JOBS.state == "running")
        too_often = _JOBS.attempts > MOST_ATTEMPTS
        error = f"its server died while it ran, {MOST_ATTEMPTS + 1} times"
        with self._database.writing() as connection:
            cancelled = _moved(connection, "running", "cancelled", and_(theirs, _JOBS.is_cancel_asked))
            failed = _moved(connection, "running", "failed", and_(theirs, too_often), error=error)
            again = _moved(connection, "running", "queued", theirs, reason="its server died", lease_owner=None)
            return [*cancelled, *failed, *again]

    def expire(self) -> list[str]:
        """End the jobs whose deadline has passed while they waited; return their ids."""
        now = time.time()
        passed = and_(_JOBS.state == "queued", _JOBS.deadline_at < now)
        with self._database.writing() as connection:
            return _moved(connection, "queued", "expired", passed, late_s=now - _JOBS.deadline_at)

    def remove_ended(self, before: float, certificates_before: float | None = None) -> int:
        """Remove jobs that ended before a time, some hundreds at once; return how many.

        Those of the kind `certify` are removed if they ended before a time of their own, where there is one.
        """
        is_old = _JOBS.finished_at < before
        if certificates_before is not None:
            is_certificate = _JOBS.kind == "certify"
            is_old = or_(and_(~is_certificate, is_old), and_(is_certificate, _JOBS.finished_at < certificates_before))
        old = select(_JOBS.id).where(is_old).order_by(_JOBS.finished_at).limit(_AT_ONCE)
        with self._database.writing() as connection:
            return connection.execute(delete(schema.jobs).where(_JOBS.id.in_(old))).rowcount


def _in_turn(connection: Connection, server: str, longest_s: float) -> Iterator[Claim]:
    """Take a job after the other, each of the key whose turn it is."""
    turns = _turns(connection)
    heapify(turns)
    while turns:
        running, began, key_id = heappop(turns)
        of_key = _JOBS.key_id == key_id if key_id else _JOBS.key_id.is_(None)
        waiting = select(_JOBS.id).where(_JOBS.state == "queued", of_key)
        waiting = waiting if longest_s == inf else waiting.where(_JOBS.time_limit_s <= longest_s)
        first = waiting.order_by(_JOBS.priority.desc(), _JOBS.id).limit(1).with_for_update(skip_locked=True)
        job_id = connection.execute(first).scalar_one_or_none()
        if job_id is not None:
            heappush(turns, (running + 1, began, key_id))
            yield _claimed(connection, server, job_id)


def _turns(connection: Connection) -> list[tuple[int, float, str]]:
    """Return the keys with jobs that wait ("": none): how many run, and when the last began."""
    others = schema.jobs.alias().c
    of_waiting = select(func.min(_JOBS.key_id).label("key_id")).where(_JOBS.state == "queued")
    keys = of_waiting.cte("keys", recursive=True)
    following = select(func.min(_JOBS.key_id)).where(_JOBS.state == "queued", _JOBS.key_id > keys.c.key_id)
    keys = keys.union_all(select(following.scalar_subquery()).where(keys.c.key_id.is_not(None)))
    # The last of these has no key, as jobs have that came where none is asked for; whether there are any is seen later.
    began = select(func.max(others.started_at)).where(others.key_id == keys.c.key_id).scalar_subquery()
    found = {row.key_id: row.began or 0.0 for row in connection.execute(select(keys.c.key_id, began.label("began")))}
    counted = select(_JOBS.key_id, func.count()).where(_JOBS.state == "running").group_by(_JOBS.key_id)
    running = {key_id: int(count) for key_id, count in connection.execute(counted)}
    if found.keys() != {None}:
        latest = select(func.max(_JOBS.started_at)).where(_JOBS.key_id.is_(None))
        found[None] = connection.execute(latest).scalar_one() or 0.0
    return [(running.get(key_id, 0), began, key_id or "") for key_id, began in found.items()]


def _claimed(connection: Connection, server: str, job_id: str) -> Claim:
    start = update(schema.jobs).where(_JOBS.id == job_id, _JOBS.state == "queued")
    start = start.values(
        state="running",
        lease_owner=server,
        lease=_JOBS.lease + 1,
        attempts=_JOBS.attempts + 1,
        started_at=time.time(),
        last_event=_JOBS.last_event + 1,
    )
    job = job_of(connection.execute(start.returning(*COLUMNS)).one()._mapping)
    tell(connection, job_id, job.last_event, ("started", {"state": "running", "attempt": job.attempts}))
    number, time_limit_s = connection.execute(select(_JOBS.lease, _JOBS.time_limit_s).where(_JOBS.id == job_id)).one()
    problem = connection.execute(select(schema.submissions.c.problem).where(schema.submissions.c.job_id == job_id))
    plan = connection.execute(select(schema.answers.c.plan).where(schema.answers.c.job_id == job_id))
    return Claim(Lease(job_id, server, number), job, time_limit_s, problem.scalar_one(), plan.scalar_one_or_none())


def _written(
    connection: Connection, lease: Lease, values: Mapping[str, Any], plan: PackedPlan | None, events: int = 1
) -> int | None:
    """Change a running job if the lease holds; return the number of the last of its new events, None if it is void."""
    if plan is not None:
        values = {**values, "plan_status": plan.status, "plan_hash": plan.hash}
    holds = and_(
        _JOBS.id == lease.job_id,
        _JOBS.state == "running",
        _JOBS.lease_owner == lease.server,
        _JOBS.lease == lease.number,
    )
    change = update(schema.jobs).where(holds).values(**values, last_event=_JOBS.last_event + events)
    last = connection.execute(change.returning(_JOBS.last_event)).scalar_one_or_none()
    if last is not None and plan is not None:
        put(connection, schema.answers, {"job_id": lease.job_id, "plan": plan.data})
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
    check_change(before, after)
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
    if outcome.plan is not None:
        told["plan_status"] = outcome.plan.status
    if outcome.progress is not None:
        told = {**told, **outcome.progress.facts()}
    if outcome.error is not None:
        told["error"] = outcome.error
    return told if late_s is None else told | {"late_s": late_s}
