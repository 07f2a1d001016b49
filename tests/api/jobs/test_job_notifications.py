"""Workers on PostgreSQL are notified of new and cancelled jobs, and poll only rarely."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from memplan.api.jobs.workers import CONNECTIONS, JobWorkers
from memplan.api.store.database import Database
from memplan.api.store.store import Store
from tests.support.job_workers import Pool, job_workers, submit, wait_for_end, wait_until
from tests.support.ports import free_port


@pytest.fixture
def kind() -> str:
    return "postgresql"


@contextmanager
def far_apart(store: Store, pool: Pool) -> Iterator[JobWorkers]:
    """Run workers that poll so rarely that only notifications can begin or end a job.

    Workers of the session-wide server in this process still poll as usual.
    """
    with job_workers(store, pool) as found:
        found._look_s = found._last_place_s = 3600.0
        wait_until(lambda: hears(found))
        yield found


def hears(found: JobWorkers) -> bool:
    return found._listening is not None and found._listening.hears


def test_a_new_job_wakes_an_idle_worker(store: Store) -> None:
    pool = Pool()
    pool.may_run.set()
    with far_apart(store, pool) as found:
        found._poll_s = 3600.0
        for _ in range(3):
            assert wait_for_end(store, submit(store)).state == "succeeded"


def test_a_cancellation_wakes_the_worker_of_a_running_job(store: Store) -> None:
    pool = Pool()
    with far_apart(store, pool) as found:
        found._renew_s = 3600.0
        job_id = submit(store)
        wait_until(lambda: pool.in_work == 1)
        store.jobs.ask_to_cancel(job_id)
        assert wait_for_end(store, job_id).state == "cancelled"


def test_a_worker_polls_while_its_database_listener_is_disconnected_then_reconnects(store: Store) -> None:
    pool = Pool()
    pool.may_run.set()
    with far_apart(store, pool) as found:
        with store._database.writing() as connection:
            cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN memplan_jobs'"
            assert connection.execute(text(cut)).scalars().all() == [True]
        wait_until(lambda: not hears(found))
        assert wait_for_end(store, submit(store)).state == "succeeded"
        wait_until(lambda: hears(found))
        assert wait_for_end(store, submit(store)).state == "succeeded"


def test_a_worker_opens_two_database_connections(url: str, tmp_path: Path) -> None:
    pool = Pool()
    pool.may_run.set()
    with (
        closing(Store.open(url, tmp_path, connections=CONNECTIONS)) as store,
        job_workers(store, pool, workers=4) as found,
    ):
        wait_until(lambda: hears(found))
        assert {wait_for_end(store, job).state for job in [submit(store) for _ in range(12)]} == {"succeeded"}
        with store._database.reading() as connection:
            query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            assert connection.execute(text(query)).scalar_one() == 2


@contextmanager
def pooler(url: str, folder: Path) -> Iterator[str]:
    """Run PgBouncer in transaction mode in front of a database, with two connections to it; yield its URL."""
    server, _, name = url.removeprefix("postgresql://postgres@").partition("/")
    host, port = server.split(":")
    own = free_port()
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n{name} = host={host} port={port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {own}\nauth_type = any\nauth_file = {folder / 'users'}\npool_mode = transaction\n"
        "default_pool_size = 2\nignore_startup_parameters = options,extra_float_digits\nunix_socket_dir =\n"
    )
    folder.chmod(0o755)
    command = [str(shutil.which("pgbouncer")), "-u", "postgres", str(folder / "pgbouncer.ini")]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield f"postgresql://postgres@127.0.0.1:{own}/{name}"
        finally:
            process.terminate()


@pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="PgBouncer is not installed")
def test_all_jobs_are_done_through_a_pooler_with_two_connections(url: str, tmp_path: Path) -> None:
    pool = Pool()
    pool.may_run.set()
    (tmp_path / "pooler").mkdir()
    with (
        pooler(url, tmp_path / "pooler") as shared,
        closing(Store.open(shared, tmp_path, 20.0)) as store,
        job_workers(store, pool, workers=4) as found,
        job_workers(store, pool, workers=4),
    ):
        assert [wait_for_end(store, job).attempts for job in [submit(store) for _ in range(40)]] == [1] * 40
        assert not hears(found)
    with closing(Database.open(url, tmp_path)) as database, database.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM jobs WHERE state = 'succeeded'")).scalar_one() == 40
