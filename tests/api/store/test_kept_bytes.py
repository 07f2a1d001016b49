"""Bytes stored for jobs: counted, limited per key and in total, and freed when space is short."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import text, update

from memplan.api.refusals import FullError
from memplan.api.store import schema
from memplan.api.store.errors import FullDiskError, StoreError
from memplan.api.store.job import WorkAnswer
from memplan.api.store.store import Store
from memplan.api.store.tables import jobs as jobs_table
from memplan.api.store.tables.jobs import _ROW_BYTES
from memplan.api.store.tables.leases import Leases
from tests.support.full_disk import fill, small_disk
from tests.support.made_jobs import PLAN, add, claim, list_jobs, new_job, state
from tests.support.postgresql import obstacle, postgresql

NOISE = Random(1)
MEGABYTE = 2**20


def noise(n_bytes: int) -> bytes:
    return NOISE.randbytes(n_bytes)


def stored_totals(store: Store) -> dict[str, int]:
    asked = "SELECT name, sum(value) AS n FROM totals WHERE kind = 'bytes' GROUP BY name"
    with store._database.reading() as connection:
        return {row.name: int(row.n) for row in connection.execute(text(asked)) if row.n}


def row_totals(store: Store) -> dict[str, int]:
    """Return the stored bytes of each key, summed over its jobs' rows; an answer counts once its job has ended."""
    found = Counter[str]()
    asked = """SELECT coalesce(j.key_id, '') AS key, j.finished_at, coalesce(length(s.body), 0) AS body,
        coalesce(length(a.content), 0) AS answer FROM jobs j
        LEFT JOIN submissions s ON s.job_id = j.id LEFT JOIN answers a ON a.job_id = j.id"""
    with store._database.reading() as connection:
        for row in connection.execute(text(asked)):
            found[row.key] += _ROW_BYTES + row.body + (row.answer if row.finished_at is not None else 0)
    return dict(found)


def end(store: Store, answer: bytes = b"") -> str:
    claimed = claim(store)
    assert store.leases.finish(claimed, "succeeded", WorkAnswer(answer, "feasible") if answer else None)
    return claimed.id


def submit_until_refused(store: Store, n_bytes: int, key_id: str | None = None, *, cancels: bool = False) -> int:
    for count in range(30):
        try:
            job = store.jobs.add(new_job(key_id=key_id, body=noise(n_bytes)), 10**6)
        except FullError:
            return count
        if cancels:
            store.jobs.ask_to_cancel(job.id)
    return 30


def has_request(store: Store, job_id: str) -> bool:
    return store.jobs.request(job_id) is not None


@pytest.mark.parametrize("seed", range(2))
def test_byte_totals_equal_row_sums_after_random_job_operations(seed: int, store: Store) -> None:
    drawn = Random(seed)
    open_, claimed = set[str](), []
    ended = Counter[str]()
    for k in range(40):
        what = drawn.choice(["add", "add", "claim", "report", "finish", "cancel", "forget", "release", "expire"])
        if what == "add":
            late = time.time() - 5.0 if drawn.random() < 0.2 else None
            key = drawn.choice([None, "a", "b"])
            open_.add(add(store, key_id=key, body=noise(drawn.randint(0, 5000)), deadline_at=late))
        elif what == "claim":
            claimed += store.leases.claim("here", 1, 99, drawn.choice([60.0, -1.0]))
        elif what in ("report", "finish", "release") and claimed:
            job = drawn.choice(claimed)
            answer = WorkAnswer(noise(drawn.randint(1, 3000)), "feasible", facts={}) if drawn.random() < 0.7 else None
            if what == "report":
                store.leases.report(job, [], answer)
            elif what == "finish":
                store.leases.finish(job, "failed", answer)
            else:
                store.leases.release(job, "its worker stopped", answer)
        elif what == "cancel" and open_:
            store.jobs.ask_to_cancel(drawn.choice(sorted(open_)))
        elif what == "forget" and open_:
            store.jobs.forget(drawn.choice(sorted(open_)))
        elif what == "expire":
            store.leases.expire_jobs()
        assert k % 4 or stored_totals(store) == {key: n for key, n in row_totals(store).items() if n}
    for job in list_jobs(store, limit=1000):
        if job.finished_at is not None:
            ended[job.state] += 1
    assert all(store.jobs.counts().ended.get(name, 0) >= n for name, n in ended.items())
    store.leases.remove_ended(time.time() + 1)
    assert stored_totals(store) == {key: n for key, n in row_totals(store).items() if n}


def test_a_refused_submission_leaves_the_byte_totals_unchanged(store: Store) -> None:
    add(store, key_id="a")
    before = stored_totals(store)
    for _ in range(3):
        with pytest.raises(FullError):
            add(store, most=1, key_id="a")
    assert stored_totals(store) == before == row_totals(store)


def test_a_key_at_its_byte_quota_is_refused_with_removable_jobs_and_other_keys_are_not(store: Store) -> None:
    def submit(key: str) -> str:
        return store.jobs.add(new_job(key_id=key, body=noise(30_000)), 100, None, MEGABYTE, 100_000).id

    names = [submit("a") for _ in range(3)]
    ended = end(store, noise(100))
    with pytest.raises(FullError, match="must keep at most 100000 bytes of requests and answers of this") as refused:
        submit("a")
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "60"})
    (way,) = refused.value.ways
    assert way.startswith("DELETE /v1/jobs/ID?forget=true removes an ended job with its request")
    assert (ended in way, [name in way for name in names if name != ended]) == (True, [False, False])
    submit("b")
    assert all(has_request(store, name) for name in names), "nothing was dropped for a job that was refused"
    assert store.jobs.forget(ended)
    submit("a")


def test_a_key_without_a_quota_may_store_a_quarter_and_keyless_callers_all_of_the_bytes(store: Store) -> None:
    most = 400_000
    for key, fits in (("a", 3), (None, 9)):
        for _ in range(fits):
            store.jobs.add(new_job(key_id=key, body=noise(30_000)), 100, None, most)
        with pytest.raises(FullError, match=f"at most {most if key is None else most // 4} bytes"):
            store.jobs.add(new_job(key_id=key, body=noise(30_000)), 100, None, most)


def test_a_new_job_at_the_quota_discards_the_request_of_the_keys_oldest_ended_job(store: Store) -> None:
    def submit() -> str:
        return store.jobs.add(new_job(key_id="a", body=noise(30_000)), 100, None, MEGABYTE, 100_000).id

    old, young = submit(), submit()
    for _ in range(2):
        end(store, b"answer")
    with store._database.writing() as connection:
        connection.execute(update(schema.jobs).where(schema.jobs.c.id == old).values(finished_at=time.time() - 4000.0))
    submit()
    submit()
    assert (has_request(store, old), store.jobs.answer(old), state(store, old)) == (False, b"answer", "succeeded")
    assert has_request(store, young)
    assert stored_totals(store) == row_totals(store)


def test_the_total_byte_limit_discards_requests_of_the_key_with_the_most_bytes(store: Store) -> None:
    def submit(key: str, n_bytes: int) -> str:
        return store.jobs.add(new_job(key_id=key, body=noise(n_bytes)), 100, None, 200_000, 200_000).id

    small = submit("small", 10_000)
    end(store)
    large = [submit("large", n) for n in (30_000, 60_000)]
    for _ in large:
        end(store, b"answer")
    waiting = submit("large", 50_000)
    submit("another", 60_000)
    assert has_request(store, small)
    assert [has_request(store, name) for name in large] == [True, False], "the largest goes first"
    assert has_request(store, waiting)
    assert stored_totals(store) == row_totals(store)
    submit("another", 30_000)
    submit("another", 30_000)
    with pytest.raises(FullError, match="at most 200000 bytes of requests and answers of all keys, got"):
        submit("another", 60_000)
    assert has_request(store, waiting)


@pytest.mark.parametrize("what", ["jobs", "bytes"])
def test_a_quota_holds_for_simultaneous_submissions_to_two_servers(what: str, url: str, tmp_path: Path) -> None:
    with closing(Store.open(url, tmp_path)) as one, closing(Store.open(url, tmp_path)) as two:
        quota = (3, 2**40, None) if what == "jobs" else (None, 2**40, 3 * (_ROW_BYTES + 10_100))

        def submit(k: int) -> bool:
            job = new_job(key_id="a", body=noise(10_000))
            try:
                (one, two)[k % 2].jobs.add(job, 1000, *quota)
            except (FullError, StoreError):  # on a slow machine, waiting for the lock may time out
                return False
            return True

        with ThreadPoolExecutor(8) as callers:
            assert sum(callers.map(submit, range(40))) == 3


def test_a_dropped_table_of_totals_is_recomputed_at_the_next_start(store: Store, url_of: Callable[[], str]) -> None:
    for key in ("a", "a", None):
        add(store, key_id=key, body=noise(1000))
    before = stored_totals(store)
    with store._database.writing() as connection:
        connection.execute(text("DROP TABLE totals"))
    with closing(Store.open(url_of(), Path("unused"))) as again:
        assert stored_totals(again) == before == row_totals(again)


@pytest.fixture
def url_of(store: Store) -> Callable[[], str]:
    return lambda: store._database.engine.url.render_as_string(hide_password=False)


def test_metrics_count_open_and_ended_jobs_and_are_cached(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = add(store)
    add(store)
    found = store.jobs.counts()
    assert (found.open, found.ended, found.workers) == ({"queued": 2}, {}, 0)
    job = store.jobs.find(first)
    assert job is not None
    assert 0.0 <= found.oldest_s <= time.time() - job.created_at + 1.0
    end(store, b"answer")
    store.leases.record_sign_of_life("here")
    assert store.jobs.counts() is found
    monkeypatch.setattr(jobs_table, "_COUNTED_S", -1.0)
    assert store.jobs.forget(first)
    now = store.jobs.counts()
    assert (now.open, now.ended, now.workers) == ({"queued": 1}, {"succeeded": 1}, 1)
    assert sum(stored_totals(store).values()) == now.kept_bytes


def test_a_worker_without_recent_contact_is_not_counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_table, "_COUNTED_S", -1.0)
    for holder in ("a", "b", "a"):
        store.leases.record_sign_of_life(holder)
    assert store.jobs.counts().workers == 2
    with store._database.writing() as connection:
        connection.execute(text("UPDATE workers SET seen_at = seen_at - 100 WHERE holder = 'a'"))
    assert store.jobs.counts().workers == 1
    with store._database.writing() as connection:
        connection.execute(text("UPDATE workers SET seen_at = seen_at - 10000 WHERE holder = 'a'"))
    store.leases.record_sign_of_life("b")
    with store._database.reading() as connection:
        assert connection.execute(text("SELECT holder FROM workers")).scalars().all() == ["b"]


def test_a_key_that_fills_a_small_disk_is_refused_and_other_keys_can_submit() -> None:
    with small_disk(50) as disk, closing(Store.open(None, disk)) as store:
        store.tidy()
        assert 4 <= submit_until_refused(store, MEGABYTE, "a", cancels=True) <= 8
        assert store.jobs.add(new_job(key_id="b", body=noise(MEGABYTE)), 10**6).key_id == "b"
        store.check()


def test_keyless_callers_can_fill_a_small_disk_only_with_waiting_jobs() -> None:
    with small_disk(50) as disk, closing(Store.open(None, disk)) as store:
        store.tidy()
        assert (
            submit_until_refused(store, MEGABYTE, cancels=True) == 30
        )  # many more jobs than fit on the disk at a time
        assert 10 <= submit_until_refused(store, MEGABYTE) < 30
        assert stored_totals(store) == row_totals(store)
        with pytest.raises(FullDiskError, match="its disk must have at least 4194304 bytes free for jobs, got"):
            store.check()


def test_jobs_are_removed_from_a_disk_without_a_free_byte() -> None:
    with small_disk(50) as disk:
        with closing(Store.open(None, disk)) as store:
            store.tidy()
            names = [store.jobs.add(new_job(body=noise(MEGABYTE)), 10**6).id for _ in range(8)]
            waits = names.pop()
            for _ in names:
                end(store)
            filled = fill(disk)
            for name in names[:3]:
                assert store.jobs.forget(name)
            store.jobs._database.disk = None  # simulates a disk that fills after the check
            with pytest.raises(FullDiskError):
                store.jobs.add(new_job(body=noise(10 * MEGABYTE)), 10**6)
        with closing(Store.open(None, disk)) as store:  # a restart removes the write-ahead log and its reserved space
            assert store.jobs.forget(names[3])
            cancelled = store.jobs.ask_to_cancel(waits)
            assert cancelled is not None
            assert cancelled.state == "cancelled"
            assert store.leases.remove_ended(time.time() + 1) == 4
            assert stored_totals(store) == row_totals(store) == {}
            filled.unlink()
            store.tidy()
            store.check()
            add(store)


def test_a_full_disk_of_postgresql_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if (reason := obstacle()) is not None:
        pytest.skip(reason)
    with small_disk(250) as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        with postgresql() as server, closing(Store.open(server.url(), tmp_path)) as store:
            store.check()
            name = add(store)
            filled = fill(disk)
            with pytest.raises(FullDiskError, match="database: could not extend file"):
                store.check()
            lacks_room = [store.lacks_room]
            with pytest.raises(StoreError):
                add(store, body=noise(40 * MEGABYTE))
            filled.unlink()
            store.check()
            assert [*lacks_room, store.lacks_room] == [True, False]
            assert claim(store).id == name


def test_a_postgresql_backup_does_not_keep_a_check_waiting(postgres: object, second_url: str, tmp_path: Path) -> None:
    with closing(Store.open(second_url, tmp_path)) as store:
        with store._database.engine.begin() as backup:
            backup.exec_driver_sql("LOCK TABLE probes IN ACCESS SHARE MODE")
            store.check()
        store.check()


def test_concurrent_job_endings_and_total_updates_do_not_deadlock(store: Store) -> None:
    for _ in range(30):
        add(store, key_id="a")
    jobs = store.leases.claim("here", 30, 99, -1.0)
    leases = Leases(store._database)

    def add_and_remove(k: int) -> None:
        leases.finish(jobs[k], "succeeded", PLAN)
        leases.expire_jobs()
        add(store, key_id="a")
        leases.remove_ended(time.time() + 1)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(add_and_remove, range(30)))
    assert stored_totals(store) == row_totals(store)
