"""The plan cache in memory and in the store: replacement, eviction and sharing, on SQLite and PostgreSQL."""

import asyncio
from dataclasses import replace

import pytest

from memplan.api.service.cache.cached_plan import CachedPlan
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.cache.plan_cache import PlanCache
from memplan.api.store.errors import StoreError
from memplan.api.store.store import Store
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from tests.support.event_loops import run_in_loop

MUCH = 2**20


def compile_sized(size: int = 3) -> CompiledProblem:
    rows = [{"id": k, "size": size + k, "start": 0, "end": 1} for k in range(2)]
    return CompiledProblem.from_problem(Problem.model_validate({"buffers": rows}))


def plan_of_height(asked: CompiledProblem, height: int, searched_s: float = 1.0) -> CachedPlan:
    low, high = (int(asked.instance.size[i]) for i in asked.order)
    offset = column([0, height - high])
    assert offset[1] >= low
    return CachedPlan("feasible", offset * 0, offset, (height,), (1,), 1, searched_s=searched_s)


def cache_over(store: Store | None, memory_bytes: int = MUCH) -> PlanCache:
    return PlanCache(store, memory_bytes=memory_bytes)


async def height(cache: PlanCache, asked: CompiledProblem) -> int | None:
    known = await cache.find(asked)
    return None if known is None else known.used[0]


@run_in_loop
async def test_a_cached_plan_is_replaced_only_by_a_better_one(store: Store) -> None:
    asked = compile_sized()
    for k, (found, best) in enumerate(((9, 9), (8, 8), (10, 8))):
        mine = cache_over(store)  # each server knows its own plans and the stored ones
        mine.keep(asked, plan_of_height(asked, found, searched_s=k))
        await mine.write()
        assert await height(cache_over(store), asked) == best
    known = await cache_over(store).find(asked)
    assert known is not None
    assert (known.used, known.searched_s) == ((8,), 1)


@run_in_loop
async def test_the_cache_uses_a_better_plan_written_by_another_server(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other, asked = cache_over(store), cache_over(store), compile_sized()
    mine.keep(asked, plan_of_height(asked, 9))
    other.keep(asked, plan_of_height(asked, 8))
    await other.write()
    assert await height(mine, asked) == 9
    monkeypatch.setattr("memplan.api.service.cache.plan_cache._FRESH_S", 0.0)
    assert await height(mine, asked) == 8


@run_in_loop
async def test_the_cache_in_memory_drops_the_least_recently_used_plan_and_the_store_keeps_it(store: Store) -> None:
    cache = cache_over(store, memory_bytes=2100)
    many = [compile_sized(size) for size in (3, 5, 7)]
    for asked in many[:2]:
        cache.keep(asked, plan_of_height(asked, 20))
    await cache.find(many[0])
    cache.keep(many[2], plan_of_height(many[2], 20))
    await cache.write()
    assert [cache.is_new(asked) for asked in many] == [False, True, False]
    assert await height(cache, many[1]) == 20


@run_in_loop
async def test_an_invalid_plan_in_the_store_is_replaced_whatever_it_claims(store: Store) -> None:
    cache, asked = cache_over(store), compile_sized()
    cache.keep(asked, replace(plan_of_height(asked, 7), status="optimal"))
    await cache.write()
    cache.forget(asked)
    assert await cache.find(asked) is None
    cache.keep(asked, plan_of_height(asked, 9))
    await cache.write()
    assert await height(cache_over(store), asked) == 9


@run_in_loop
async def test_cached_plans_are_written_periodically_and_at_the_end(store: Store) -> None:
    asked, late = compile_sized(), compile_sized(11)
    async with PlanCache.open_tended(store) as cache:
        cache.keep(asked, plan_of_height(asked, 9))
        while await asyncio.to_thread(store.plans.find, asked.hash) is None:
            await asyncio.sleep(0.01)
        cache.keep(late, plan_of_height(late, 30))
    assert store.plans.find(late.hash) is not None


@run_in_loop
async def test_the_plan_cache_works_in_memory_if_its_store_is_unreachable(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def raise_store_error(_work: object) -> None:
        raise StoreError("database: gone")

    cache, asked = cache_over(store), compile_sized()
    monkeypatch.setattr(store, "run_in_thread", raise_store_error)
    assert await cache.find(asked) is None
    cache.keep(asked, plan_of_height(asked, 9))
    await cache.write()
    assert await height(cache, asked) == 9
    assert "known plans are not written: database: gone" in caplog.text


@run_in_loop
async def test_all_servers_report_a_proof_that_one_of_them_found(store: Store) -> None:
    proving, other, asked = cache_over(store), cache_over(store), compile_sized()
    unproved = plan_of_height(asked, 7, searched_s=9.0)
    proving.keep(asked, replace(unproved, status="optimal", bound=(7,), total=7, kind="search", by="exact"))
    said = [await cache.find_by_hash(asked.hash) for cache in (proving, other)]
    other.keep(asked, unproved)
    said += [await cache.find_by_hash(asked.hash) for cache in (other, proving)]
    assert [(known.status, known.total, known.used) for known in said if known] == [("optimal", 7, (7,))] * 4
    found = await cache_over(store).find(asked)
    assert found is not None
    assert found.status == "feasible"
