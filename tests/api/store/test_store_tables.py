"""Opening a store, and its tables of plans and keys, on SQLite and PostgreSQL."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from memplan.api.store import database as database_module
from memplan.api.store.api_key import Key, digest
from memplan.api.store.database import FILE, Database
from memplan.api.store.errors import FullDiskError, StoreError
from memplan.api.store.store import Store
from memplan.api.store.stored_plan import StoredPlan
from memplan.planner.errors import OptionError

PLAN = StoredPlan("sha256:1", b"plan", "feasible", 1.5, 100)


def test_a_failed_transaction_leaves_no_change(url: str, tmp_path: Path) -> None:
    Store.open(url, tmp_path).close()
    database = Database.open(url, tmp_path)

    def fail() -> None:
        with database.writing() as connection:
            connection.execute(text("DELETE FROM versions"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    database.close()
    Store.open(url, tmp_path).close()


def test_the_data_folder_is_created_readable_only_by_its_user(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "where"
    Store.open(None, folder).close()
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / FILE).exists()


def test_a_data_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match=r"^data_folder: cannot create .*file/data: Not a directory"):
        Store.open(None, tmp_path / "file" / "data")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_an_in_memory_sqlite_database_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="database_url: must name a file"):
        Store.open(url, tmp_path)


def test_a_file_that_is_not_an_sqlite_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"something else" * 100)
    with pytest.raises(StoreError, match=r"^database: file is not a database"):
        Store.open(None, tmp_path)


def test_an_unreachable_database_is_reported_without_secrets(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open("postgresql://someone:secret@127.0.0.1:1/nothing", tmp_path)
    assert "secret" not in str(caught.value)


def test_a_database_without_a_text_encoding_is_refused(database_without_an_encoding: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="must name a database whose encoding is UTF8, got SQL_ASCII"):
        Store.open(database_without_an_encoding, tmp_path)


def test_a_stored_plan_is_replaced_by_a_function_of_the_old_plan(store: Store) -> None:
    assert store.plans.find("sha256:1") is None
    seen: list[StoredPlan | None] = []
    for better in (PLAN, None, replace(PLAN, status="optimal")):
        store.plans.change({"sha256:1": lambda known, better=better: (seen.append(known), better)[1]})  # type: ignore[misc,func-returns-value]
    assert seen[1:] == [None, PLAN, None, PLAN]
    assert store.plans.find("sha256:1") == replace(PLAN, status="optimal")


def test_concurrent_changes_of_a_stored_plan_are_all_kept(store: Store) -> None:
    def add_second(known: StoredPlan | None) -> StoredPlan:
        return replace(known or PLAN, searched_s=1.0 if known is None else known.searched_s + 1.0)

    with ThreadPoolExecutor(6) as threads:
        for done in [threads.submit(store.plans.change, {"sha256:1": add_second}) for _ in range(30)]:
            done.result()
    found = store.plans.find("sha256:1")
    assert found is not None
    assert found.searched_s == 30.0


@pytest.mark.parametrize(
    ("most_plans", "most_bytes", "left"), [(10, 1000, "abcd"), (3, 1000, "bcd"), (10, 250, "cd"), (0, 0, "")]
)
def test_eviction_deletes_the_plans_written_first(store: Store, most_plans: int, most_bytes: int, left: str) -> None:
    for name in "abcd":
        store.plans.change({name: lambda _, name=name: replace(PLAN, hash=name)})  # type: ignore[misc]
    store.plans.evict(most_plans, most_bytes)
    assert "".join(name for name in "abcd" if store.plans.find(name)) == left


def test_keys_can_be_added_found_and_revoked(store: Store) -> None:
    key = Key("id", "farm", digest("secret"), frozenset({"plan", "read"}), created_at=1.0, max_jobs=10)
    store.keys.add(key)
    with pytest.raises(OptionError, match="name: must not be in use by a key, revoked or not"):
        store.keys.add(replace(key, id="another", hash=digest("another")))
    assert store.keys.find("id") == key
    assert store.keys.find("nobody") is None
    assert store.keys.is_any_valid()
    assert store.keys.revoke("farm", 5.0)
    assert not store.keys.revoke("farm", 6.0)
    assert not store.keys.is_any_valid()
    store.keys.note_use("id", 4.0)
    assert store.keys.list_keys() == [replace(key, revoked_at=5.0, used_at=4.0)]


def test_the_database_and_its_auxiliary_files_are_readable_only_by_their_user(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    store = Store.open(None, tmp_path)
    store.check()
    rights = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    store.close()
    assert rights == dict.fromkeys([FILE, f"{FILE}-wal", f"{FILE}-shm"], 0o600)


def test_a_disk_without_enough_free_space_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(None, tmp_path)
    store.check()
    assert not store.lacks_room
    monkeypatch.setattr(database_module, "LEAST_ROOM", 2**62)
    with pytest.raises(FullDiskError, match="its disk must have at least 4611686018427387904 bytes free for jobs, got"):
        store.check()
    lacks_room = [store.lacks_room]
    monkeypatch.undo()
    store.tidy()
    assert [*lacks_room, store.lacks_room] == [True, False]
    store.close()


def test_checking_the_database_file_does_not_release_sqlite_locks(tmp_path: Path) -> None:
    looks = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT id FROM keys').fetchall())"
    command = [sys.executable, "-c", looks, str(tmp_path / FILE)]
    store = Store.open(None, tmp_path)
    store.check()
    assert subprocess.check_output(command) == b"[]\n"
    store.keys.add(Key("id", "farm", digest("secret"), frozenset({"plan"}), created_at=1.0))
    assert subprocess.check_output(command) == b"[('id',)]\n"
    store.close()


def test_an_overwritten_database_file_is_detected_despite_cached_pages(tmp_path: Path) -> None:
    store = Store.open(None, tmp_path)
    store.check()
    (tmp_path / FILE).write_bytes(b"garbage." * 5_000)
    with pytest.raises(StoreError, match="database: its file"):
        store.check()
    store.close()
