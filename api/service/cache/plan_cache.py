"""The plan cache: recent plans in memory, all plans in the store; only a better plan replaces an entry.

A plan reaches memory at once and the store a moment later, together with many others, so that no request waits for the
disk. A server that dies loses only the plans of its last moment, which a search can find again.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from memplan.api.service.cache.cached_plan import CachedPlan, better_of
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.store.errors import StoreError
from memplan.api.store.store import Store
from memplan.api.store.stored_plan import StoredPlan
from memplan.api.store.tables.plans import Plans

T = TypeVar("T")
_LOG = logging.getLogger("memplan")
_FRESH_S = 2.0
"""The seconds for which an improvable entry is assumed current; afterwards, another server may have a better one."""
_GATHER_S = 0.25
"""The seconds for which results are gathered before one transaction writes them."""
_MOST_UNWRITTEN = 5_000
_MOST_PLANS, _MOST_BYTES, _MEMORY_BYTES = 1_000_000, 2 * 2**30, 16 * 2**20
"""Limits: the number of plans in the store, their bytes, and the bytes of memory per process for recent plans."""
_ENTRY_BYTES = 1_000
"""The memory of an entry, in bytes, besides its arrays."""
_ROUNDS = 120
"""The number of writes between two evictions of the oldest plans."""


class PlanCache:
    """Finds and keeps plans of problems, for one event loop; the task `tend` writes them to the store."""

    def __init__(self, store: Store | None, *, memory_bytes: int = _MEMORY_BYTES) -> None:
        """Make a cache with an empty memory of at most `memory_bytes` bytes; None for no store."""
        self._store, self._memory_bytes = store, memory_bytes
        self._memory: OrderedDict[str, tuple[CachedPlan, float, int]] = OrderedDict()
        self._held_bytes = 0
        self._unwritten: dict[str, tuple[CompiledProblem, CachedPlan]] = {}
        self._wrong: set[str] = set()
        self._writing = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def open_tended(cls, store: Store) -> "AsyncIterator[PlanCache]":
        """Yield a process's plan cache, whose entries are written to the store, a last time when the block ends."""
        cache = cls(store)
        tending = asyncio.create_task(cache.tend())
        try:
            yield cache
        finally:
            tending.cancel()
            await asyncio.wait((tending,))
            await cache.write()

    async def find(self, problem: CompiledProblem) -> CachedPlan | None:
        """Return the best known plan of a problem, from memory or the store; None if no plan is known."""
        cached, looked_at, _ = self._memory.get(problem.cache_name, (None, 0.0, 0))
        if cached is not None:
            self._memory.move_to_end(problem.cache_name)
            if cached.is_final or time.monotonic() - looked_at < _FRESH_S:
                return cached
        if (stored := CachedPlan.read(await self._read_record(problem.cache_name))) is None:
            return cached
        best = stored if cached is None else better_of(problem, cached, stored)
        self._remember(problem.cache_name, best)
        return best

    async def find_by_hash(self, problem_hash: str) -> CachedPlan | None:
        """Return the best known plan for a problem hash, with the claims of its finder; None if no plan is known.

        The plan comes from the store, so that all servers of the store give the same answer.
        """
        return CachedPlan.read(await self.read_stored(problem_hash), with_claims=True)

    async def read_stored(self, problem_hash: str) -> StoredPlan | None:
        """Return the store's entry for a problem hash, in stored form; None without a valid one or a working store."""
        await self.write()
        return await self._read_record(problem_hash)

    async def replace(self, problem_hash: str, before: StoredPlan | None, found: StoredPlan) -> None:
        """Store the plan `found`, unless the entry `before`, from which its search started, has changed."""
        await self._try_store("written", lambda plans: plans.replace(problem_hash, before, found))
        self._held_bytes -= self._memory.pop(problem_hash, (None, 0.0, 0))[2]

    def keep(self, problem: CompiledProblem, found: CachedPlan) -> CachedPlan:
        """Keep a plan if it is better than the known plan in memory, and return the better of both."""
        cached = self._memory.get(problem.cache_name, (None,))[0]
        best = found if cached is None else better_of(problem, cached, found)
        if best is not cached:
            self._remember(problem.cache_name, best)
            if len(self._unwritten) < _MOST_UNWRITTEN:
                self._unwritten[problem.cache_name] = problem, best
        return best

    def is_new(self, problem: CompiledProblem) -> bool:
        """Return True if memory has no entry for a problem; the store may have an entry."""
        return problem.cache_name not in self._memory and problem.cache_name not in self._wrong

    def forget(self, problem: CompiledProblem) -> None:
        """Drop an invalid entry from memory; the problem's next plan will also replace the entry in the store."""
        self._wrong.add(problem.cache_name)
        self._held_bytes -= self._memory.pop(problem.cache_name, (None, 0.0, 0))[2]
        self._unwritten.pop(problem.cache_name, None)

    async def tend(self) -> None:
        """Until cancelled, write new entries to the store, and evict the store's oldest entries above the limit."""
        while True:
            for _ in range(_ROUNDS):
                await asyncio.sleep(_GATHER_S)
                await self.write()
            await self._try_store("tidied", lambda plans: plans.evict(_MOST_PLANS, _MOST_BYTES))

    async def write(self) -> None:
        """Write pending entries to the store; entries that the store refuses are dropped."""
        async with self._writing:
            if not self._unwritten:
                return
            entries, self._unwritten = self._unwritten, {}
            changes = {name: partial(_joined_record, *entry, name in self._wrong) for name, entry in entries.items()}
            written = await self._try_store("written", lambda plans: plans.change(changes))
            self._wrong -= entries.keys() if self._store is None else written or set()

    async def _read_record(self, problem_hash: str) -> StoredPlan | None:
        if problem_hash in self._wrong:
            return None
        return await self._try_store("looked up", lambda plans: plans.find(problem_hash))

    async def _try_store(self, what: str, work: Callable[[Plans], T]) -> T | None:
        """Return the result of work on the stored plans; None without a store or if it fails, which is logged."""
        try:
            return None if self._store is None else await self._store.run_in_thread(partial(work, self._store.plans))
        except StoreError as error:
            _LOG.warning("known plans are not %s: %s", what, error)
            return None

    def _remember(self, problem_hash: str, known: CachedPlan) -> None:
        size = _ENTRY_BYTES + 16 * len(known.pool)
        self._held_bytes += size - self._memory.pop(problem_hash, (None, 0.0, 0))[2]
        self._memory[problem_hash] = known, time.monotonic(), size
        while self._held_bytes > self._memory_bytes and self._memory:
            self._held_bytes -= self._memory.popitem(last=False)[1][2]


def join_entries(
    problem: CompiledProblem, found: CachedPlan, is_wrong: bool, stored: StoredPlan | None
) -> CachedPlan | None:
    """Return the plan to store for a problem, the better of `found` and `stored`; None if `stored` should stay.

    With `is_wrong`, the stored entry is known to be invalid and is ignored.
    """
    cached = None if is_wrong else CachedPlan.read(stored)
    is_proved = cached is not None and stored is not None and stored.status == "optimal"
    if cached is not None and is_proved and cached.score(problem) <= found.score(problem):
        return None  # The stored plan is not worse and claims to be optimal, so keep the stored plan.
    best = better_of(problem, cached, found)
    return None if best is cached else best


def _joined_record(problem: CompiledProblem, *entries: Any) -> StoredPlan | None:
    best = join_entries(problem, *entries)
    return None if best is None else best.compress(problem.cache_name)
