"""The table of known plans, keyed by the hash of their problem."""

import time
from collections.abc import Callable, Mapping, Set
from dataclasses import asdict

from sqlalchemy import Connection, delete, func, select

from memplan.api.store import schema
from memplan.api.store.database import Database
from memplan.api.store.disk import LEAST_ROOM
from memplan.api.store.errors import FullDiskError
from memplan.api.store.stored_plan import StoredPlan
from memplan.api.store.writing import insert_new, upsert_row

_AT_ONCE, _SHARES = 500, 8
"""The number of plans removed per transaction, and the fraction (1/8) of the disk that plans may use."""


Change = Callable[[StoredPlan | None], StoredPlan | None]


class Plans:
    """The operations on the table of known plans; each is one transaction, except for `evict`."""

    def __init__(self, database: Database) -> None:
        """Use the table in this database."""
        self._database = database

    def find(self, problem_hash: str) -> StoredPlan | None:
        """Return the best known plan for a problem hash; None if no plan is known."""
        with self._database.reading() as connection:
            return _find_plan(connection, problem_hash)

    def change(self, changes: Mapping[str, Change]) -> Set[str]:
        """Apply a function to the known plan (or None) of each problem hash, store the plans, and return the hashes.

        If a function returns None, the known plan stays. A function may be called twice.
        """
        rows = [_plan_row(plan) for to in changes.values() if (plan := to(None)) is not None]
        # All servers lock rows in the same order, so deadlocks are impossible.
        rows.sort(key=lambda row: str(row["hash"]))
        disk = self._database.disk
        with self._database.writing() as connection:
            if disk is not None and disk.room(connection) < LEAST_ROOM:
                raise FullDiskError("database: its disk has no room for more plans")
            new = insert_new(connection, schema.plans, rows, schema.plans.c.hash) if rows else ()
            for problem_hash in sorted(changes.keys() - set(new)):
                better = changes[problem_hash](_find_plan(connection, problem_hash, is_locked=True))
                if better is not None:
                    upsert_row(connection, schema.plans, _plan_row(better))
        return changes.keys()

    def replace(self, problem_hash: str, before: StoredPlan | None, found: StoredPlan) -> None:
        """Store the plan `found`, unless the entry `before`, from which its search started, has changed."""
        self.change({problem_hash: lambda now: found if now == before else None})

    def evict(self, most_plans: int, most_bytes: int) -> None:
        """Remove the least recently written plans until both limits are met; plans may use an eighth of a small disk.

        Each transaction removes some hundreds, so that other writers can run in between.
        """
        columns, disk = schema.plans.c, self._database.disk
        totals = select(func.count(), func.coalesce(func.sum(columns.bytes), 0)).select_from(schema.plans)

        def remove(connection: Connection) -> bool:
            """Remove the oldest plans beyond the limits, at most _AT_ONCE of them; return True if any were removed."""
            count, size = connection.execute(totals).one()
            most = most_bytes if disk is None else min(most_bytes, (size + disk.capacity(connection)) // _SHARES)
            gone: list[str] = []
            oldest = select(columns.hash, columns.bytes).order_by(columns.updated_at).limit(_AT_ONCE)
            for row in connection.execute(oldest).all():
                if count - len(gone) <= most_plans and size <= most:
                    break
                gone.append(row.hash)
                size -= row.bytes
            connection.execute(delete(schema.plans).where(columns.hash.in_(gone)))
            return bool(gone)

        while self._database.use_reserve(remove):
            pass


def _find_plan(connection: Connection, problem_hash: str, is_locked: bool = False) -> StoredPlan | None:
    """Return the known plan for a problem hash, with its row locked if `is_locked`; None if no plan is known."""
    columns = [schema.plans.c[name] for name in StoredPlan.__dataclass_fields__]
    wanted = select(*columns).where(schema.plans.c.hash == problem_hash)
    # SQLite has no row locks and ignores FOR UPDATE, which is harmless because it allows only one writer.
    row = connection.execute(wanted.with_for_update() if is_locked else wanted).one_or_none()
    return None if row is None else StoredPlan(**row._mapping)


def _plan_row(plan: StoredPlan) -> dict[str, object]:
    return asdict(plan) | {"updated_at": time.time()}
