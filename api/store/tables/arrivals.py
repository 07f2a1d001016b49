"""Jobs as they come in, each kept once."""

from __future__ import annotations

from sqlalchemy import Connection, func, insert, select

from memplan.api.refusals import FullError
from memplan.api.store import schema
from memplan.api.store.database import Database
from memplan.api.store.errors import RepeatedKeyError
from memplan.api.store.job import OPEN, Job, NewJob
from memplan.api.store.tables.events import tell
from memplan.api.store.tables.jobs import COLUMNS, job_of
from memplan.api.store.writing import insert_new

_JOBS = schema.jobs.c


class Arrivals:
    """The table of jobs, for new ones; each call is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, new: NewJob) -> Job:
        """Keep a new job, and return it, or the one that the same request made before.

        Raises FullError where there are too many, and RepeatedKeyError where another request had its idempotency key.
        """
        name = None if new.idempotency_key is None else f"{new.key_id or ''} {new.idempotency_key}"
        with self._database.writing() as connection:
            if (job := _made_before(connection, name, new)) is not None:
                return job
            _check_room(connection, new)
            row = {column.name: getattr(new, column.name) for column in COLUMNS}
            row |= {"idempotency_key": name, "request_digest": new.request_digest, "lease": 0}
            if not insert_new(connection, schema.jobs, [row], _JOBS.id):
                # Another server was a moment quicker with the same request.
                return _made_before(connection, name, new) or new
            sent = {"job_id": new.id, "head": new.head, "body": new.body}
            connection.execute(insert(schema.submissions).values(sent))
            tell(connection, new.id, 1, ("queued", {"state": "queued", "priority": new.priority}))
            return new


def _check_room(connection: Connection, new: NewJob) -> None:
    """Raise FullError where as many jobs wait or run as may."""
    is_open = select(func.count()).select_from(schema.jobs).where(_JOBS.state.in_(OPEN))
    is_full = connection.execute(is_open).scalar_one() >= new.most
    if not is_full and new.most_of_key is not None:
        is_full = connection.execute(is_open.where(_JOBS.key_id == new.key_id)).scalar_one() >= new.most_of_key
    if is_full:
        of_key = "" if new.most_of_key is None else f"{new.most_of_key} of one key, and "
        raise FullError(f"jobs: at most {of_key}{new.most}{' of all,' if of_key else ''} may wait or run at a time")


def _made_before(connection: Connection, name: str | None, new: NewJob) -> Job | None:
    """Return the job that the same request made before; raises RepeatedKeyError where another request made it."""
    if name is None:
        return None
    wanted = select(*COLUMNS, _JOBS.request_digest).where(_JOBS.idempotency_key == name)
    if (row := connection.execute(wanted).one_or_none()) is None:
        return None
    values = dict(row._mapping)
    if values.pop("request_digest") != new.request_digest:
        raise RepeatedKeyError(f"Idempotency-Key: must be new for a new request, this one made job {row.id}")
    return job_of(values)
