"""The plans that are known, by the hash of their problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Connection, delete, func, select, update

from memplan.api.store import schema
from memplan.api.store.database import Database
from memplan.api.store.writing import insert_all, insert_or_skip

_AT_ONCE = 500


@dataclass(frozen=True)
class StoredPlan:
    """The best known plan of a problem: `plan` is written for the canonical order; `is_final`: nothing can be better.

    `searched_s` is the time of the search for it, and `bytes` its size in the store.
    """

    hash: str
    plan: bytes
    status: str
    is_final: bool
    peak: int | None
    lower_bound: int | None
    searched_s: float
    bytes: int
    created_at: float = 0.0
    updated_at: float = 0.0
    used_at: float = 0.0


class Plans:
    """The table of plans; each call is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, problem_hash: str) -> StoredPlan | None:
        """Return the best known plan of a problem."""
        with self._database.reading() as connection:
            return _find(connection, problem_hash)

    def change(self, problem_hash: str, to: Callable[[StoredPlan | None], StoredPlan | None]) -> StoredPlan | None:
        """Replace a known plan by the one that `to` makes of it, in one transaction; if `to` returns None, keep it.

        Returns the plan that is then known. `to` may be called again where two servers store the first plan at once.
        """
        while True:
            with self._database.writing() as connection:
                known = _find(connection, problem_hash, is_locked=not self._database.is_sqlite)
                better = to(known)
                if better is None:
                    return known
                if (stored := _replaced(connection, known, better)) is not None:
                    return stored

    def replace(self, known: StoredPlan | None, better: StoredPlan) -> None:
        """Replace a known plan, unless it has become another meanwhile."""
        self.change(better.hash, lambda now: better if now == known else None)

    def change_all(self, changes: Mapping[str, Callable[[StoredPlan | None], StoredPlan | None]]) -> None:
        """Replace the known plans of many problems, most of them new, in one transaction; see `change`."""
        first = {problem_hash: to(None) for problem_hash, to in changes.items()}
        now = time.time()
        rows = [
            replace(plan, created_at=now, updated_at=now, used_at=now) for plan in first.values() if plan is not None
        ]
        # In one order on every server, so that two of them never wait for each other.
        rows.sort(key=lambda plan: plan.hash)
        with self._database.writing() as connection:
            new = insert_all(connection, schema.plans, schema.plans.c.hash, [asdict(plan) for plan in rows])
            for problem_hash in sorted(changes.keys() - new):
                known = _find(connection, problem_hash, is_locked=not self._database.is_sqlite)
                better = changes[problem_hash](known)
                if better is not None:
                    _replaced(connection, known, better)

    def touch(self, hashes: Iterable[str]) -> None:
        """Say that plans were used now, so that they are kept; for many at once, now and then."""
        wanted, now = list(hashes), time.time()
        for at in range(0, len(wanted), _AT_ONCE):
            used = schema.plans.c.hash.in_(wanted[at : at + _AT_ONCE])
            with self._database.writing() as connection:
                connection.execute(update(schema.plans).where(used).values(used_at=now))

    def totals(self) -> tuple[int, int]:
        """Return how many plans there are, and how many bytes they take."""
        with self._database.reading() as connection:
            return _totals(connection)

    def evict(self, most_plans: int, most_bytes: int) -> int:
        """Remove those that were used longest ago until both limits hold; return how many were removed.

        Some hundreds are removed in a transaction, so that other writers can come between.
        """
        columns, removed = schema.plans.c, 0
        while True:
            with self._database.writing() as connection:
                count, size = _totals(connection)
                gone: list[str] = []
                oldest = select(columns.hash, columns.bytes).order_by(columns.used_at).limit(_AT_ONCE)
                for row in connection.execute(oldest).all():
                    if count - len(gone) <= most_plans and size <= most_bytes:
                        break
                    gone.append(row.hash)
                    size -= row.bytes
                if not gone:
                    return removed
                connection.execute(delete(schema.plans).where(columns.hash.in_(gone)))
                removed += len(gone)


def _find(connection: Connection, problem_hash: str, is_locked: bool = False) -> StoredPlan | None:
    wanted = select(schema.plans).where(schema.plans.c.hash == problem_hash)
    row = connection.execute(wanted.with_for_update() if is_locked else wanted).one_or_none()
    return None if row is None else StoredPlan(**row._mapping)


def _replaced(connection: Connection, known: StoredPlan | None, better: StoredPlan) -> StoredPlan | None:
    """Write a plan in place of what is known; None where nothing was, and another server was first just now."""
    now = time.time()
    if known is None:
        stored = replace(better, created_at=now, updated_at=now, used_at=now)
        return stored if insert_or_skip(connection, schema.plans, asdict(stored)) else None
    stored = replace(better, created_at=known.created_at, updated_at=now, used_at=now)
    connection.execute(update(schema.plans).where(schema.plans.c.hash == known.hash).values(asdict(stored)))
    return stored


def _totals(connection: Connection) -> tuple[int, int]:
    found = select(func.count(), func.coalesce(func.sum(schema.plans.c.bytes), 0)).select_from(schema.plans)
    count, size = connection.execute(found).one()
    return int(count), int(size)
