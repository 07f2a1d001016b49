"""The table of jobs as workers use it: they claim jobs, report on them, and finish or release them."""

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, literal, or_, select, update

from memplan.api.store import schema
from memplan.api.store.columns import pack, packed_value
from memplan.api.store.database import Database
from memplan.api.store.job import ENDED, Job, State, WorkAnswer
from memplan.api.store.tables.events import ANSWER_BYTES, Kind, change_state, end_of, note_end, write_events
from memplan.api.store.tables.jobs import COLUMNS, remove_jobs
from memplan.api.store.writing import time_in, upsert_row

_AWAY_S = 3600.0
"""The seconds without a sign of life after which a worker is forgotten."""
MOST_FAILURES = 3
"""The maximum number of restarts of a job after its child process died or gave no answer."""
MOST_LAPSES = 10
"""The maximum number of restarts of a job after its worker died, which is rarely the job's fault."""
_AT_ONCE = 100
"""The number of jobs removed per transaction; a full disk's reserve has enough space for it."""
_JOBS = schema.jobs.c


class Leases:
    """The table of jobs as a queue for workers; each method runs in one transaction.

    A worker's writes to a job count only under a valid lease. A job therefore ends once, even if a worker that was
    presumed dead is still running. Leases expire by the database's clock, which all workers share.
    """

    def __init__(self, database: Database) -> None:
        """Use the table of jobs in this database."""
        self._database = database

    def claim(self, holder: str, most: int, of_key: int, lease_s: float) -> list[Job]:
        """Claim at most `most` waiting jobs, by priority and then by age, and return them.

        A worker (`holder`) runs at most `of_key` jobs of one key at a time, which leaves slots for other keys.
        """
        claims: list[Job] = []
        held = select(_JOBS.key_id, func.count()).where(_JOBS.lease_holder == holder, _JOBS.state == "running")
        with self._database.writing() as connection:
            runs = Counter[str | None](dict(connection.execute(held.group_by(_JOBS.key_id)).all()))
            while len(claims) < most:
                full = [key for key, count in runs.items() if count >= of_key]
                if (claim := _claim_next(connection, holder, full, lease_s)) is None:
                    break
                claims.append(claim)
                runs[claim.key_id] += 1
        return claims

    def is_any_waiting(self) -> bool:
        """Return True if a job is waiting."""
        with self._database.reading() as connection:
            return connection.execute(select(_JOBS.id).where(_JOBS.state == "queued").limit(1)).first() is not None

    def renew(self, holder: str, jobs: Collection[Job], lease_s: float) -> dict[str, int]:
        """Extend a worker's leases on `jobs`; return the claim number of each job, by id, that it still holds.

        Other jobs leased to the worker return to the queue, because it never got the reply to its claim.
        """
        mine, here = (
            and_(_JOBS.lease_holder == holder, _JOBS.state == "running"),
            _JOBS.id.in_([job.id for job in jobs]),
        )
        with self._database.writing() as connection:
            reason, before = "the worker got no reply to its request for jobs", _JOBS.attempts - 1
            change_state(connection, "queued", and_(mine, ~here), reason=reason, lease_holder=None, attempts=before)
            longer = update(schema.jobs).where(mine, here).values(lease_until=time_in(connection) + lease_s)
            return {row.id: row.lease for row in connection.execute(longer.returning(_JOBS.id, _JOBS.lease))}

    def cancelled_jobs(self, holder: str) -> set[str]:
        """Return the ids of a worker's running jobs whose cancellation was requested."""
        asked = and_(_JOBS.lease_holder == holder, _JOBS.state == "running", _JOBS.is_cancel_asked)
        with self._database.reading() as connection:
            return set(connection.execute(select(_JOBS.id).where(asked)).scalars())

    def report(
        self, job: Job, progress: Sequence[tuple[Mapping[str, Any], float]], best: WorkAnswer | None = None
    ) -> bool:
        """Write progress reports with their times, and the best answer so far; return False if the lease is lost."""
        values = {"progress": progress[-1][0]} if progress else {}
        reports: list[tuple[Kind, Mapping[str, Any]]] = [
            ("better" if "gap" in facts else "progress", {**facts, "elapsed_s": round(elapsed_s, 3)})
            for facts, elapsed_s in progress
        ]
        with self._database.writing() as connection:
            last = _write_state(connection, job, values, best, events=len(reports))
            if last is not None and reports:
                write_events(connection, job.id, last, *reports)
            return last is not None

    def finish(self, job: Job, state: State, answer: WorkAnswer | None = None, error: str | None = None) -> bool:
        """End a job in a final state; return False if the lease is lost or the job has already ended."""
        now = time.time()
        values: dict[str, Any] = {"state": state, "finished_at": now, "error": error}
        if answer is not None and answer.facts is not None:
            values["progress"] = answer.facts
        if job.deadline_at is not None and now > job.deadline_at:
            values["late_s"] = round(now - job.deadline_at, 3)
        with self._database.writing() as connection:
            last = _write_state(connection, job, values, answer)
            if last is not None:
                write_events(connection, job.id, last, ("finished", end_of(state, answer, error, values.get("late_s"))))
            return last is not None

    def release(self, job: Job, reason: str, best: WorkAnswer | None = None, *, counts: bool = False) -> bool:
        """Requeue a job with its best answer so far; `counts` makes it a failure. Return False if the lease is lost.

        A job whose cancellation was requested is cancelled instead.
        """
        counted = {"failures": _JOBS.failures + 1} if counts else {"attempts": _JOBS.attempts - 1}
        values = {"state": "queued", "lease_holder": None, **counted}
        with self._database.writing() as connection:
            last = _write_state(connection, job, values, best)
            if last is not None:
                write_events(connection, job.id, last, ("retried", {"state": "queued", "reason": reason}))
                change_state(connection, "cancelled", and_(_JOBS.id == job.id, _JOBS.is_cancel_asked))
            return last is not None

    def expire_jobs(self) -> tuple[list[str], list[str]]:
        """Expire waiting jobs after their deadline, and requeue running jobs whose leases have expired.

        A job whose lease expired too often fails. Return the ids of the late jobs and of the jobs with expired leases.
        """
        with self._database.reading() as connection:
            late = and_(_JOBS.state == "queued", _JOBS.deadline_at < time_in(connection))
            is_over = and_(_JOBS.state == "running", _JOBS.lease_until < time_in(connection))
            if connection.execute(select(_JOBS.id).where(or_(late, is_over)).limit(1)).first() is None:
                return [], []
        too_often, lapses = _JOBS.lapses >= MOST_LAPSES, _JOBS.lapses + 1
        error = f"the worker ended while it ran the job, {MOST_LAPSES + 1} times"
        with self._database.writing() as connection:
            late_s = time_in(connection) - _JOBS.deadline_at
            expired = change_state(connection, "expired", late, late_s=late_s)
            cancelled = change_state(connection, "cancelled", and_(is_over, _JOBS.is_cancel_asked))
            failed = change_state(connection, "failed", and_(is_over, too_often), error=error, lapses=lapses)
            again = change_state(connection, "queued", is_over, "its worker ended", lease_holder=None, lapses=lapses)
            return expired, [*cancelled, *failed, *again]

    def remove_ended(self, before: float) -> int:
        """Remove at most a hundred jobs that ended before a time, and return their number."""
        old = select(_JOBS.id).where(_JOBS.finished_at < before).order_by(_JOBS.finished_at).limit(_AT_ONCE)
        return self._database.use_reserve(lambda connection: remove_jobs(connection, _JOBS.id.in_(old)))

    def record_sign_of_life(self, holder: str) -> None:
        """Record a worker's sign of life, and delete workers that have shown none for an hour."""
        rows = schema.workers.c
        with self._database.writing() as connection:
            upsert_row(connection, schema.workers, {"holder": holder, "seen_at": time_in(connection)})
            connection.execute(delete(schema.workers).where(rows.seen_at < time_in(connection) - _AWAY_S))


def _claim_next(connection: Connection, holder: str, full: Sequence[str | None], lease_s: float) -> Job | None:
    """Claim and return the next waiting job, except jobs of the keys in `full`; None if no job remains."""
    may_run = _JOBS.state == "queued"
    if full:
        if (its_key := _next_key_condition(connection, full)) is None:
            return None
        may_run = and_(may_run, its_key)
    # The index sorts both priority and id ascending, so find the highest priority first, then its lowest id.
    highest = select(_JOBS.priority).where(may_run).order_by(_JOBS.priority.desc()).limit(1)
    first = select(_JOBS.id).where(may_run, _JOBS.priority == highest.scalar_subquery()).order_by(_JOBS.id).limit(1)
    first = first.with_for_update(skip_locked=True)
    start = update(schema.jobs).where(_JOBS.id == first.scalar_subquery(), _JOBS.state == "queued")
    start = start.values(
        state="running",
        lease_holder=holder,
        lease_until=time_in(connection) + lease_s,
        lease=_JOBS.lease + 1,
        attempts=_JOBS.attempts + 1,
        started_at=time.time(),
        last_event=_JOBS.last_event + 1,
    )
    row = connection.execute(start.returning(*COLUMNS)).one_or_none()
    if row is None:
        return None
    write_events(connection, row.id, row.last_event, ("started", {"state": "running", "attempt": row.attempts}))
    sent, best = schema.submissions.c, schema.answers.c
    request = select(sent.head, sent.body, best.content.label("answer")).where(sent.job_id == row.id)
    request = request.outerjoin(schema.answers, best.job_id == sent.job_id)
    return Job(**row._mapping, **connection.execute(request).one()._mapping)


def _next_key_condition(connection: Connection, full: Sequence[str | None]) -> ColumnElement[bool] | None:
    """Return a condition for the jobs of the key whose turn is next, except keys in `full`; None without a job.

    Usually, the first waiting job has such a key. If not, the index finds the first job of each waiting key in a few
    steps, however many jobs a full key has.
    """
    waits = _JOBS.state == "queued"
    highest = select(func.max(_JOBS.priority)).where(waits)
    next_ = select(_JOBS.key_id).where(waits, _JOBS.priority == highest.scalar_subquery()).order_by(_JOBS.id).limit(1)
    if (found := connection.execute(next_).first()) is None:
        return None
    if found.key_id not in full:
        return and_(_JOBS.key_id == found.key_id)
    keys = select(func.min(_JOBS.key_id).label("key")).where(waits).cte("waiting", recursive=True)
    after = select(func.min(_JOBS.key_id)).where(waits, _JOBS.key_id > keys.c.key).scalar_subquery()
    keys = keys.union_all(select(after).where(keys.c.key.is_not(None)))
    mine = and_(waits, _JOBS.key_id == keys.c.key)
    its_highest = select(func.max(_JOBS.priority)).where(mine).scalar_subquery().label("priority")
    named = (
        select(keys.c.key, its_highest).where(keys.c.key.is_not(None), keys.c.key.not_in([k for k in full if k])).cte()
    )
    mine = and_(waits, _JOBS.key_id == named.c.key, _JOBS.priority == named.c.priority)
    first = select(func.min(_JOBS.id)).where(mine).scalar_subquery().label("first")
    firsts = list(connection.execute(select(named.c.key, named.c.priority, first)))
    if None not in full:
        mine = and_(waits, _JOBS.key_id.is_(None))
        of_none = select(_JOBS.key_id, _JOBS.priority, _JOBS.id).where(mine)
        firsts += connection.execute(of_none.order_by(_JOBS.priority.desc(), _JOBS.id).limit(1))
    # Another worker may have claimed a key's last job since the query, so skip keys without a waiting job.
    best = min((each for each in firsts if each[2] is not None), key=lambda each: (-each[1], each[2]), default=None)
    return None if best is None else _JOBS.key_id == best[0]


def _write_state(
    connection: Connection, job: Job, values: Mapping[str, Any], answer: WorkAnswer | None, events: int = 1
) -> int | None:
    """Write new `values` and an answer of a running job, and reserve the numbers of its next events.

    Return the last of these numbers, or None (writing nothing) if the lease is lost.
    """
    packed, state = None if answer is None else pack(answer.content), values.get("state")
    more = ANSWER_BYTES if packed is None else literal(len(packed))
    if answer is not None:
        values = {**values, "plan_status": answer.status, "plan_hash": answer.hash}
    if state in ENDED:
        values = {**values, "bytes": _JOBS.bytes + more}
    holds = and_(
        _JOBS.id == job.id, _JOBS.state == "running", _JOBS.lease_holder == job.lease_holder, _JOBS.lease == job.lease
    )
    change = update(schema.jobs).where(holds).values(**values, last_event=_JOBS.last_event + events)
    row = connection.execute(change.returning(_JOBS.last_event, more.label("more"))).one_or_none()
    if row is None:
        return None
    if packed is not None:
        upsert_row(connection, schema.answers, {"job_id": job.id, "content": packed_value(packed)})
    if state in ENDED:
        note_end(connection, state, job.key_id, row.more)
    return int(row.last_event)
