"""The plan cache: the latest plans in memory, all of them in the store, a better one always in place of a worse.

A plan is in memory at once and in the store a moment later, many at a time, so that no request waits for the disk: a
server that dies forgets at most the last moment's plans, which a search finds again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from memplan.api.service.cache.cached_plan import CachedPlan, better_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.store.errors import StoreError
from memplan.api.store.store import Store
from memplan.api.store.stored_plan import StoredPlan

_LOG = logging.getLogger("memplan")
_FRESH_S = 2.0
"""For how long what may become better is believed to be the latest; another server may know more."""
_GATHER_S = 0.25
"""The time that results are gathered before they are written."""
_MOST_UNWRITTEN = 5_000
_MOST_PLANS, _MOST_BYTES, _MEMORY_BYTES = 1_000_000, 2 * 2**30, 16 * 2**20
"""The plans in the store, their bytes, and the bytes of memory for the latest of them, in each process of a server."""
_ENTRY_BYTES = 1_000
"""The bytes of memory that an entry takes beside its columns."""
_ROUNDS = 120
"""The rounds of writing between two looks whether the store has too many plans."""


class PlanCache:
    """Finds and keeps what is known of problems. For one event loop; `tend` writes, until it is cancelled."""

    def __init__(self, store: Store | None, *, memory_bytes: int = _MEMORY_BYTES) -> None:
        self._store, self._memory_bytes = store, memory_bytes
        self._memory: OrderedDict[str, tuple[CachedPlan, float, int]] = OrderedDict()
        self._held_bytes = 0
        self._unwritten: dict[str, tuple[CompiledProblem, CachedPlan]] = {}
        self._wrong: set[str] = set()
        self._writing = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def tended(cls, store: Store) -> AsyncIterator[PlanCache]:
        """Open the cache of a process; when the block ends, all is written that can be."""
        cache = cls(store)
        tending = asyncio.create_task(cache.tend())
        try:
            yield cache
        finally:
            tending.cancel()
            await asyncio.wait((tending,))
            await cache.write()

    async def find(self, problem: CompiledProblem) -> CachedPlan | None:
        """Return the best known result of a problem."""
        cached, looked_at, _ = self._memory.get(problem.hash, (None, 0.0, 0))
        if cached is not None:
            self._memory.move_to_end(problem.hash)
            if cached.is_final or time.monotonic() - looked_at < _FRESH_S:
                return cached
        if (stored := await self._stored(problem.hash)) is None:
            return cached
        best = stored if cached is None else better_of(problem, cached, stored)
        self._remember(problem.hash, best)
        return best

    async def by_hash(self, problem_hash: str) -> CachedPlan | None:
        """Return the best known result of the problem with this hash, with the claims of whoever found it.

        It is the store's, so that all servers of it say the same.
        """
        await self.write()
        return await self._stored(problem_hash, with_claims=True)

    def keep(self, problem: CompiledProblem, found: CachedPlan) -> None:
        """Keep a plan where it is better than what is known."""
        cached = self._memory.get(problem.hash, (None,))[0]
        best = found if cached is None else better_of(problem, cached, found)
        if best is not cached:
            self._remember(problem.hash, best)
            if len(self._unwritten) < _MOST_UNWRITTEN:
                self._unwritten[problem.hash] = problem, best

    def is_new(self, problem: CompiledProblem) -> bool:
        """True where memory holds nothing for a problem; the store may."""
        return problem.hash not in self._memory and problem.hash not in self._wrong

    def forget(self, problem: CompiledProblem) -> None:
        """Know nothing of a problem any more, as what was known is wrong: what is found next takes its place."""
        self._wrong.add(problem.hash)
        self._held_bytes -= self._memory.pop(problem.hash, (None, 0.0, 0))[2]
        self._unwritten.pop(problem.hash, None)

    async def tend(self) -> None:
        """Write what is kept to the store as it comes, and remove there what is oldest where it is too much."""
        while True:
            for _ in range(_ROUNDS):
                await asyncio.sleep(_GATHER_S)
                await self.write()
            await self._tried("tidied", lambda store: store.plans.evict(_MOST_PLANS, _MOST_BYTES))

    async def write(self) -> None:
        """Write to the store what is not there yet; what it does not take is lost, and found again another time."""
        async with self._writing:
            if not self._unwritten:
                return
            plans, self._unwritten = self._unwritten, {}
            changes = {name: partial(joined, *entry, name in self._wrong) for name, entry in plans.items()}
            if await self._tried("written", lambda store: store.plans.change(changes)):
                self._wrong -= plans.keys()

    async def _tried(self, what: str, work: Callable[[Store], object]) -> bool:
        """Do work with the store; return whether it was done."""
        if self._store is None:
            return True
        try:
            await self._store.briefly(partial(work, self._store))
        except StoreError as error:
            _LOG.warning("known plans are not %s: %s", what, error)
            return False
        return True

    async def _stored(self, problem_hash: str, *, with_claims: bool = False) -> CachedPlan | None:
        if self._store is None or problem_hash in self._wrong:
            return None
        try:
            stored = await self._store.briefly(partial(self._store.plans.find, problem_hash))
        except StoreError as error:
            _LOG.warning("a plan could not be looked up: %s", error)
            return None
        return CachedPlan.read(stored, with_claims=with_claims)

    def _remember(self, problem_hash: str, known: CachedPlan) -> None:
        """Put an entry first in memory; those that were used longest ago are dropped."""
        size = _ENTRY_BYTES + 16 * len(known.pool)
        self._held_bytes += size - self._memory.pop(problem_hash, (None, 0.0, 0))[2]
        self._memory[problem_hash] = known, time.monotonic(), size
        while self._held_bytes > self._memory_bytes and self._memory:
            self._held_bytes -= self._memory.popitem(last=False)[1][2]


def joined(problem: CompiledProblem, found: CachedPlan, is_wrong: bool, stored: StoredPlan | None) -> StoredPlan | None:
    """Return what the store should keep of a problem from now on; None: what it has, unless that is wrong."""
    cached = None if is_wrong else CachedPlan.read(stored)
    is_proved = cached is not None and stored is not None and stored.status == "optimal"
    if cached is not None and is_proved and cached.score(problem) <= found.score(problem):
        return None  # who proved it said so, which each server proves for itself
    best = better_of(problem, cached, found)
    return None if best is cached else best.stored(problem.hash)
