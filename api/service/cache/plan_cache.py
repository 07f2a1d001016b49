"""The plan cache: the latest plans in memory, all of them in the store, a better one always in place of a worse.

A plan is in memory at once and in the store a moment later, many at a time, so that no request waits for the disk: a
server that dies forgets at most the last moment's plans, which a search finds again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, suppress
from functools import partial

from memplan.api.service.cache.cached_plan import CachedPlan, better_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.records import known_of, record_of
from memplan.api.settings import Settings
from memplan.api.store.errors import StoreError
from memplan.api.store.store import Store
from memplan.api.store.tables.plans import StoredPlan

_LOG = logging.getLogger("memplan")
_FRESH_S = 2.0
"""For how long what may become better is believed to be the latest; another server may know more."""
_GATHER_S = 0.25
"""The time that results are gathered before they are written."""
_TEND_S = 30.0
"""The time between two writes of which plans were used, with a look whether there are too many."""
_MOST_UNWRITTEN = 5_000
_MOST_PLANS, _MOST_BYTES, _MEMORY_BYTES = 1_000_000, 2 * 2**30, 32 * 2**20
"""The plans in the store, their bytes, and the bytes of memory for the latest of them, in all processes of a server."""
_ENTRY_BYTES = 1_000
"""The bytes of memory that an entry takes beside its columns."""


class PlanCache:
    """Finds and keeps what is known of problems. For one event loop; `tend` writes, until it is cancelled."""

    def __init__(self, store: Store | None, *, memory_bytes: int, most_plans: int, most_bytes: int) -> None:
        self._store = store
        self._memory_bytes, self._most_plans, self._most_bytes = memory_bytes, most_plans, most_bytes
        self._memory: OrderedDict[str, tuple[CachedPlan, float, int]] = OrderedDict()
        self._held_bytes = 0
        self._unwritten: dict[str, tuple[CompiledProblem, CachedPlan]] = {}
        self._used: set[str] = set()
        self._wrong: set[str] = set()
        self._has_unwritten, self._writing = asyncio.Event(), asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def tended(cls, store: Store, settings: Settings) -> AsyncIterator[PlanCache]:
        """Open the cache of a server; when the block ends, all is written that can be."""
        cache = cls(
            store,
            memory_bytes=_MEMORY_BYTES // settings.processes,
            most_plans=_MOST_PLANS,
            most_bytes=_MOST_BYTES,
        )
        tending = asyncio.create_task(cache.tend())
        try:
            yield cache
        finally:
            tending.cancel()
            await asyncio.wait((tending,))
            await cache.write()

    async def find(self, problem: CompiledProblem) -> CachedPlan | None:
        """Return the best known result of a problem."""
        known, is_latest = self._remembered(problem.hash)
        if is_latest:
            return known
        stored = await self._stored(problem.hash)
        if stored is None:
            return known
        best = stored if known is None else better_of(problem, known, stored)
        self._remember(problem.hash, best)
        return best

    async def by_hash(self, problem_hash: str) -> CachedPlan | None:
        """Return the best known result of the problem with this hash, with the claims of whoever found it.

        It is the store's, so that all servers of it say the same.
        """
        await self.write()
        return await self._stored(problem_hash, with_claims=True) or self._memory.get(problem_hash, (None,))[0]

    def keep(self, problem: CompiledProblem, found: CachedPlan) -> CachedPlan:
        """Keep a result where it is better, and return the best that is known now."""
        if found.status == "unknown" and found.searched_s <= 0:
            return found
        known = self._memory.get(problem.hash, (None,))[0]
        best = found if known is None else better_of(problem, known, found)
        if best is not known:
            self._remember(problem.hash, best)
            if self._store is not None and len(self._unwritten) < _MOST_UNWRITTEN:
                self._unwritten[problem.hash] = problem, best
                self._has_unwritten.set()
        return best

    def note_use(self, problem_hash: str) -> None:
        """Note that what is cached of a problem was of use."""
        self._used.add(problem_hash)

    def is_new(self, problem: CompiledProblem) -> bool:
        """True where memory holds nothing for a problem; the store may."""
        return problem.hash not in self._memory and problem.hash not in self._wrong

    @property
    def held(self) -> AbstractSet[str]:
        """The hashes of what is in memory."""
        return self._memory.keys()

    def forget(self, problem: CompiledProblem) -> None:
        """Know nothing of a problem any more, as what was known is wrong: what is found next takes its place."""
        self._wrong.add(problem.hash)
        self._held_bytes -= self._memory.pop(problem.hash, (None, 0.0, 0))[2]
        self._unwritten.pop(problem.hash, None)

    async def tend(self) -> None:
        """Write what is kept to the store as it comes, and remove there what was used longest ago."""
        tended = time.monotonic()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_TEND_S):
                    await self._has_unwritten.wait()
                    await asyncio.sleep(_GATHER_S)
            self._has_unwritten.clear()
            await self.write()
            if time.monotonic() - tended >= _TEND_S:
                tended = time.monotonic()
                await self.tidy()

    async def write(self) -> None:
        """Write to the store what is not there yet; what it does not take is lost, and found again another time."""
        async with self._writing:
            if self._store is None or not self._unwritten:
                return
            found, self._unwritten = self._unwritten, {}
            try:
                await self._store.briefly(partial(self._write, self._store, found, frozenset(self._wrong)))
                self._wrong -= found.keys()
            except StoreError as error:
                _LOG.warning("%d plans were not kept: %s", len(found), error)

    @staticmethod
    def _write(store: Store, found: Mapping[str, tuple[CompiledProblem, CachedPlan]], wrong: frozenset[str]) -> None:
        store.plans.change_all({name: partial(joined, *entry, name in wrong) for name, entry in found.items()})

    def _remembered(self, problem_hash: str) -> tuple[CachedPlan | None, bool]:
        """Return what memory holds, and True where no server can know more."""
        known, looked_at, _ = self._memory.get(problem_hash, (None, 0.0, 0))
        if known is not None:
            self._memory.move_to_end(problem_hash)
            self._used.add(problem_hash)
        is_new = known is not None and time.monotonic() - looked_at < _FRESH_S
        return known, self._store is None or is_new or (known is not None and known.is_final)

    async def _stored(self, problem_hash: str, *, with_claims: bool = False) -> CachedPlan | None:
        if self._store is None or problem_hash in self._wrong:
            return None
        try:
            known = await self._store.briefly(partial(_read, self._store, problem_hash, with_claims))
        except StoreError as error:
            _LOG.warning("a plan could not be looked up: %s", error)
            return None
        if known is not None:
            self._used.add(problem_hash)
        return known

    async def tidy(self) -> None:
        """Tell the store which plans were used, and remove there what was used longest ago."""
        if self._store is None:
            return
        plans, (used, self._used) = self._store.plans, (self._used, set())
        try:
            await self._store.briefly(lambda: plans.touch(used))
            await self._store.briefly(lambda: plans.evict(self._most_plans, self._most_bytes))
        except StoreError as error:
            _LOG.warning("the known plans could not be tidied: %s", error)

    def _remember(self, problem_hash: str, known: CachedPlan) -> None:
        """Put an entry first in memory; those that were used longest ago are dropped."""
        size = _ENTRY_BYTES + (0 if known.pool is None else 16 * len(known.pool))
        self._held_bytes += size - self._memory.pop(problem_hash, (None, 0.0, 0))[2]
        self._memory[problem_hash] = known, time.monotonic(), size
        while self._held_bytes > self._memory_bytes and self._memory:
            self._held_bytes -= self._memory.popitem(last=False)[1][2]


def _read(store: Store, problem_hash: str, with_claims: bool) -> CachedPlan | None:
    record = store.plans.find(problem_hash)
    return None if record is None else known_of(record, with_claims=with_claims)


def joined(problem: CompiledProblem, found: CachedPlan, is_wrong: bool, record: StoredPlan | None) -> StoredPlan | None:
    """Return what the store should keep of a problem from now on; None: what it has, unless that is wrong."""
    known = None if record is None or is_wrong else known_of(record)
    is_proved = known is not None and record is not None and record.status == "optimal"
    if known is not None and is_proved and known.score(problem) <= found.score(problem):
        return None  # who proved it said so, which each server proves for itself
    best = better_of(problem, known, found)
    return None if best is known else record_of(problem.hash, best)
