"""Migrations: older databases are upgraded, later ones refused, backups restored; on SQLite and PostgreSQL."""

import ast
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, MetaData, create_engine, select, text

from memplan.api.cli.main import main
from memplan.api.store import schema
from memplan.api.store.api_key import Key, digest
from memplan.api.store.database import Database
from memplan.api.store.errors import StoreError
from memplan.api.store.job import Job, WorkAnswer
from memplan.api.store.migrations import revisions, upgrade_statements
from memplan.api.store.store import Store
from memplan.api.store.stored_plan import StoredPlan

pytest.importorskip("alembic", reason="alembic, which `memplan[server]` installs, is not there")
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

OLD = Path(__file__).parents[2] / "data" / "store" / "tables-2.sql"
"""SQL of the tables of version 2, the last version before Alembic revisions."""
JOBS = 200
Rows = dict[str, list[dict[str, Any]]]


def old_tables(version: int, is_sqlite: bool) -> list[str]:
    sql = OLD.read_text()
    sql = sql if is_sqlite else sql.replace(" BLOB", " BYTEA").replace(" DOUBLE", " DOUBLE PRECISION")
    sql = sql if version >= 2 else re.sub(r"\n\t(lapses|failures) [^,]*,", "", sql)
    later = [
        "CREATE INDEX jobs_in_turn_of_key ON jobs (state, key_id, priority, id)",
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)",
        "INSERT INTO alembic_version VALUES ('3')",
    ]
    made = f"INSERT INTO versions VALUES ({version})"
    return [*filter(str.strip, sql.split(";")), made, *(later if version >= 3 else ())]


@contextmanager
def connect(url: str) -> Iterator[Connection]:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def rows_of(connection: Connection) -> Rows:
    tables = MetaData()
    tables.reflect(connection)
    return {
        table.name: [
            dict(row._mapping) for row in connection.execute(select(table).order_by(*table.primary_key.columns))
        ]
        for table in tables.sorted_tables
    }


@pytest.fixture(scope="module")
def filled_rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows of a store with some history: waiting, running and ended jobs, with events, keys and plans."""
    folder, jobs = tmp_path_factory.mktemp("filled"), JOBS
    with closing(Store.open(None, folder)) as store:
        for name in ("farm", "board", "gone"):
            store.keys.add(Key(name, name, digest(name), frozenset({"plan", "read"}), created_at=1.0, max_jobs=10))
        store.keys.revoke("gone", 2.0)
        for k in range(9):
            plan = StoredPlan(f"sha256:{k}", b"p", "feasible", 1.5, 1)
            store.plans.change({plan.hash: partial(lambda mine, _: mine, plan)})
        for k in range(jobs):
            key = ("farm", "board", None)[k % 3]
            job = Job(
                problem_hash=f"sha256:{k}", n_buffers=k, options={"seed": k}, time_limit_s=1.5, key_id=key, body=b"{}"
            )
            store.jobs.add(job, jobs)
        for job in store.leases.claim("holder", jobs // 2, jobs, 3600.0)[: jobs // 4]:
            store.leases.report(job, [({"gap": 0.5}, 0.25)], WorkAnswer(b"best", "feasible", is_plan=True))
            store.leases.finish(job, "succeeded", WorkAnswer(b"answer", "optimal", is_plan=True))
    with connect(f"sqlite:///{folder}/memplan.db") as connection:
        return rows_of(connection)


def make_old(url: str, version: int, rows: Rows) -> Rows:
    """Make the tables of a version with these rows, and return the rows that this version can hold."""
    with connect(url) as connection:
        for statement in old_tables(version, url.startswith("sqlite")):
            connection.execute(text(statement))
        tables = MetaData()
        tables.reflect(connection)
        for table in tables.sorted_tables:
            if table.name not in ("versions", "alembic_version") and (its := rows[table.name]):
                names = table.columns.keys()
                connection.execute(table.insert(), [{name: row[name] for name in names} for row in its])
        return rows_of(connection)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_upgraded_database_keeps_rows_and_jobs(version: int, url: str, filled_rows: Rows, tmp_path: Path) -> None:
    before = make_old(url, version, filled_rows)
    with closing(Store.open(url, tmp_path)) as store:
        with connect(url) as connection:
            after = rows_of(connection)
            assert compare_metadata(MigrationContext.configure(connection), schema.METADATA) == []
        assert after.pop("versions") == [{"version": schema.REVISION}]
        del before["versions"]
        before.pop("alembic_version", None)
        for table, rows in before.items():
            assert [{name: row[name] for name in rows[0]} for row in after[table]] == rows
        assert sum(row["state"] == "running" for row in after["jobs"]) == JOBS // 4
        waiting = {row["id"] for row in after["jobs"] if row["state"] == "queued"}
        claimed = store.leases.claim("another", JOBS, JOBS, 3600.0)
        assert sorted(job.id for job in claimed) == sorted(waiting)
        assert len(waiting) == JOBS // 2
        assert all(store.leases.finish(job, "succeeded") for job in claimed)
        assert store.keys.find("farm") is not None
        # The migration counted the bytes of older jobs, so removing the last one leaves a total of zero.
        assert store.jobs.forget(claimed[0].id)
        assert store.jobs.counts().kept_bytes == 0
    Store.open(url, tmp_path).close()  # opening an upgraded database again changes nothing


@pytest.mark.parametrize("is_new", [False, True])
def test_one_of_several_starting_servers_creates_or_migrates_the_tables(url: str, is_new: bool, tmp_path: Path) -> None:
    if not is_new:
        make_old(url, 1, {name: [] for name in schema.METADATA.tables})
    with ThreadPoolExecutor(5) as servers:
        stores = list(servers.map(lambda _: Store.open(url, tmp_path), range(5)))
    for store in stores:
        store.check()
        store.close()
    with connect(url) as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.METADATA) == []


def test_a_new_database_has_the_latest_revision(url: str, tmp_path: Path) -> None:
    Store.open(url, tmp_path).close()
    with connect(url) as connection:
        assert MigrationContext.configure(connection).get_current_revision() == str(schema.REVISION)
        assert compare_metadata(MigrationContext.configure(connection), schema.METADATA) == []


@pytest.mark.parametrize("version", [None, 1, schema.REVISION])
def test_migrations_can_be_printed_without_running_them(version: int | None, url: str, tmp_path: Path) -> None:
    if version == schema.REVISION:
        Store.open(url, tmp_path).close()
    elif version is not None:
        make_old(url, version, {name: [] for name in schema.METADATA.tables})
    database = Database.open(url, tmp_path)
    with connect(url) as connection:
        tables = rows_of(connection)
    with database.reading() as connection:
        shown = upgrade_statements(connection)
    database.close()
    with connect(url) as connection:
        assert rows_of(connection) == tables
        for statement in filter(str.strip, shown.split(";")):
            connection.execute(text(statement))
        assert compare_metadata(MigrationContext.configure(connection), schema.METADATA) == []
        found = rows_of(connection)
    assert (shown == "") == (version == schema.REVISION)
    assert found["alembic_version"] == [{"version_num": str(schema.REVISION)}]
    assert found["versions"] == [{"version": schema.REVISION}]


@pytest.mark.parametrize(
    "change", ["UPDATE alembic_version SET version_num = '99'", "UPDATE versions SET version = 99"]
)
def test_a_database_of_a_later_version_is_refused_by_its_version(change: str, url: str, tmp_path: Path) -> None:
    make_old(url, 1, {name: [] for name in schema.METADATA.tables})
    if "alembic" in change:
        Store.open(url, tmp_path).close()
    with connect(url) as connection:
        connection.execute(text(change))
        before = rows_of(connection)
    with pytest.raises(
        StoreError, match=f"^database: has the tables of a later memplan .revision 99., but this .* {schema.REVISION}: "
    ):
        Store.open(url, tmp_path)
    with connect(url) as connection:
        assert rows_of(connection) == before


@pytest.mark.parametrize(
    "tables",
    [
        "CREATE TABLE other (id INTEGER)",
        "CREATE TABLE alembic_version (version_num TEXT)",
        "CREATE TABLE versions (version TEXT)",
    ],
)
def test_tables_of_other_programs_are_refused(tables: str, url: str, tmp_path: Path) -> None:
    with connect(url) as connection:
        connection.execute(text(tables))
    with pytest.raises(
        StoreError, match=r"^database: must be empty or made by memplan, got tables of another program$"
    ):
        Store.open(url, tmp_path)


def test_a_dropped_table_is_created_again_at_the_next_start(url: str, tmp_path: Path) -> None:
    Store.open(url, tmp_path).close()
    with connect(url) as connection:
        connection.execute(text("DROP TABLE plans"))
    for _ in range(2):
        Store.open(url, tmp_path).close()
    with connect(url) as connection:
        assert connection.scalar(text("SELECT count(*) FROM plans")) == 0
        assert compare_metadata(MigrationContext.configure(connection), schema.METADATA) == []


def test_migrations_only_add_columns_that_the_previous_version_can_ignore() -> None:
    files = sorted(Path(revisions.__path__[0]).glob("v*.py"), key=lambda path: int(path.stem[1:]))
    assert [path.stem for path in files] == [f"v{k}" for k in range(1, schema.REVISION + 1)]
    called = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                called.add(ast.unparse(node.func))
                if node.func.attr == "add_column":
                    column = node.args[1]
                    assert isinstance(column, ast.Call)
                    named = {keyword.arg: ast.unparse(keyword.value) for keyword in column.keywords}
                    # The previous version inserts rows without the new column, so that needs NULL or a default.
                    assert named.get("nullable") != "False" or "server_default" in named
    assert called <= {"op.add_column", "op.create_index", "op.create_table"}


def test_a_backup_made_during_writes_can_be_restored(
    kind: str, url: str, filled_rows: Rows, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    before = make_old(url, 2, filled_rows)
    before["jobs"].sort(key=itemgetter("id"))
    with closing(Store.open(url, tmp_path)) as store:
        store.jobs.add(Job(problem_hash="late", n_buffers=1, options={}, time_limit_s=1.0, body=b"{}"), 10 * JOBS)
        if kind == "sqlite":
            copy = f"sqlite:///{tmp_path}/copy.db"
            with closing(sqlite3.connect(tmp_path / "memplan.db")) as one, closing(sqlite3.connect(copy[10:])) as other:
                one.backup(other)  # the same API as `.backup` of the sqlite3 shell
        else:
            if (program := shutil.which("pg_dump")) is None or shutil.which("psql") is None:
                pytest.skip("pg_dump and psql are not installed")
            copy = request.getfixturevalue("second_url")
            dumped = subprocess.run([program, url], check=True, capture_output=True).stdout
            subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", copy], input=dumped, check=True, capture_output=True)
        store.jobs.add(Job(problem_hash="later", n_buffers=1, options={}, time_limit_s=1.0, body=b"{}"), 10 * JOBS)
    with closing(Store.open(copy, tmp_path / "elsewhere")) as restored, connect(copy) as connection:
        rows = rows_of(connection)
        for table in ("keys", "plans"):
            assert [row | old for row, old in zip(rows[table], before[table], strict=True)] == rows[table]
        assert {row["id"] for row in before["jobs"]} < {row["id"] for row in rows["jobs"]}
        assert [row["problem_hash"] for row in rows["jobs"] if row["problem_hash"].startswith("late")] == ["late"]
        assert len(restored.leases.claim("holder", 2 * JOBS, JOBS, 60.0)) == JOBS // 2 + 1


def test_database_upgrade_prints_its_changes(url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make_old(url, 1, {name: [] for name in schema.METADATA.tables})
    command = ["database", "upgrade", "--store", url]
    assert main([*command, "--dry-run"]) == 0
    assert "ALTER TABLE jobs ADD COLUMN lapses INTEGER DEFAULT '0' NOT NULL;" in capfd.readouterr().out
    assert main(command) == 0
    assert main(command) == 0
    said = f"memplan: the tables are of revision {schema.REVISION}: "
    assert capfd.readouterr() == ("", f"{said}changed from revision 1\n{said}as they were\n")
    with connect(url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '99'"))
    assert main(command) == 2
    assert capfd.readouterr().err.startswith(
        "memplan: error: store: database: has the tables of a later memplan (revision 99)"
    )
