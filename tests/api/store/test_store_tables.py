"""Opening a store, its migrations, and the tables of plans, keys and servers. The same on SQLite and PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from memplan.api.store import database as database_module
from memplan.api.store.api_key import Key, digest
from memplan.api.store.database import FILE, Database
from memplan.api.store.errors import NewerStoreError, StoreError
from memplan.api.store.migrating import migrate
from memplan.api.store.schema import METADATA
from memplan.api.store.store import Store
from memplan.api.store.tables.plans import StoredPlan
from memplan.planner.errors import OptionError

PLAN = StoredPlan("sha256:1", b"plan", "feasible", False, 2**70, 2**69, 1.5, 100)


def test_migrations_make_the_tables_that_the_program_has(url: str, tmp_path: Path) -> None:
    database = Database.open(url, tmp_path)
    migrate(database)
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    database.close()


def test_servers_that_start_at_once_migrate_once(url: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor(5) as servers:
        stores = list(servers.map(lambda _: Store.open(url, tmp_path), range(5)))
    for store in stores:
        store.check()
        store.close()


def test_a_database_of_a_newer_program_is_left_alone(url: str, tmp_path: Path) -> None:
    Store.open(url, tmp_path).close()
    database = Database.open(url, tmp_path)
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '999'"))
    with pytest.raises(NewerStoreError, match=r"database: was made by a newer memplan \(its version is 999\)"):
        migrate(database)
    database.close()


def test_what_fails_in_a_transaction_leaves_nothing(url: str, tmp_path: Path) -> None:
    Store.open(url, tmp_path).close()
    database = Database.open(url, tmp_path)

    def fail() -> None:
        with database.writing() as connection:
            connection.execute(text("DELETE FROM alembic_version"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM alembic_version")).scalar_one() == 1
    database.close()


def test_the_data_folder_is_made_and_only_its_user_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "where"
    Store.open(None, folder).close()
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / FILE).exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match=r"^data_folder: cannot make .*file/data: Not a directory"):
        Store.open(None, tmp_path / "file" / "data")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="database_url: must name a file"):
        Store.open(url, tmp_path)


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"something else" * 100)
    with pytest.raises(StoreError, match=r"^database: file is not a database"):
        Store.open(None, tmp_path)


def test_a_server_that_is_not_there_is_told_without_secrets(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open("postgresql://someone:secret@127.0.0.1:1/nothing", tmp_path)
    assert "secret" not in str(caught.value)


def test_a_database_whose_texts_have_no_encoding_is_refused(database_without_an_encoding: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="must name a database whose encoding is UTF8, got SQL_ASCII"):
        Store.open(database_without_an_encoding, tmp_path)


def test_plans_are_kept_and_found(store: Store) -> None:
    assert store.plans.find("sha256:1") is None
    store.plans.change("sha256:1", lambda _: PLAN)
    found = store.plans.find("sha256:1")
    assert found is not None
    assert replace(found, created_at=0.0, updated_at=0.0, used_at=0.0) == PLAN
    assert store.plans.totals() == (1, 100)


def test_a_plan_is_changed_by_what_is_known(store: Store) -> None:
    store.plans.change("sha256:1", lambda _: PLAN)
    assert store.plans.change("sha256:1", lambda known: None) == store.plans.find("sha256:1")
    store.plans.change("sha256:1", lambda known: replace(known or PLAN, status="optimal", is_final=True))
    found = store.plans.find("sha256:1")
    assert found is not None
    assert (found.status, found.is_final, found.plan) == ("optimal", True, b"plan")


def test_concurrent_changes_of_a_stored_plan_are_all_kept(store: Store) -> None:
    def one_more(known: StoredPlan | None) -> StoredPlan:
        return replace(known or PLAN, searched_s=1.0 if known is None else known.searched_s + 1.0)

    with ThreadPoolExecutor(6) as threads:
        for done in [threads.submit(store.plans.change, "sha256:1", one_more) for _ in range(30)]:
            done.result()
    found = store.plans.find("sha256:1")
    assert found is not None
    assert found.searched_s == 30.0


def test_what_was_used_longest_ago_makes_room(store: Store) -> None:
    for name in "abcd":
        store.plans.change(name, lambda _, name=name: replace(PLAN, hash=name))  # type: ignore[misc]
    store.plans.touch(["a"])
    assert store.plans.evict(most_plans=10, most_bytes=1000) == 0
    assert store.plans.evict(most_plans=3, most_bytes=1000) == 1
    assert store.plans.evict(most_plans=10, most_bytes=250) == 1
    assert [name for name in "abcd" if store.plans.find(name)] == ["a", "d"]


def test_keys_are_kept_and_revoked(store: Store) -> None:
    key = Key("id", "farm", digest("secret"), frozenset({"plan", "read"}), created_at=1.0, max_jobs=10)
    store.keys.add(key)
    with pytest.raises(OptionError, match="name: must be one that no other key has or had"):
        store.keys.add(replace(key, id="another", hash=digest("another")))
    assert store.keys.find("id") == key
    assert store.keys.find("nobody") is None
    assert store.keys.is_any_valid()
    assert store.keys.revoke("farm", 5.0)
    assert not store.keys.revoke("farm", 6.0)
    assert not store.keys.is_any_valid()
    store.keys.note_use("id", 4.0)
    assert store.keys.all() == [replace(key, revoked_at=5.0, used_at=4.0)]


def test_no_other_user_reads_the_file_or_what_sqlite_puts_beside_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    store = Store.open(None, tmp_path)
    store.check()
    rights = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    store.close()
    assert rights == dict.fromkeys([FILE, f"{FILE}-wal", f"{FILE}-shm"], 0o600)


def test_a_disk_without_room_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(None, tmp_path)
    store.check()
    monkeypatch.setattr(database_module, "_LEAST_ROOM", 2**62)
    with pytest.raises(StoreError, match="database: its disk must have 4611686018427387904 bytes of room, and has"):
        store.check()
    store.close()
