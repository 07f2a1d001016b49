"""Fixtures of the API tests: an empty store per test.

Stores are on SQLite, and also on PostgreSQL where it is installed.
"""

import logging
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from memplan.api.store.database import FILE
from memplan.api.store.store import Store
from tests.support.postgresql import PostgreSQL, obstacle, postgresql

_numbers = count(1)


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Restore the logging handlers after each test, because a command in this process replaces them."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgreSQL]:
    reason = obstacle()
    if reason is not None:
        pytest.skip(reason)
    with postgresql() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{tmp_path}/memplan.db"
    return _make_database(request.getfixturevalue("postgres"), "template1")


@pytest.fixture
def second_url(postgres: PostgreSQL) -> str:
    return _make_database(postgres, "template1")


@pytest.fixture
def store(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Yield an empty store. Its tables are copied from a migrated store, which is faster than migrating."""
    if kind == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / FILE)
        url = None
    else:
        url = _make_database(request.getfixturevalue("postgres"), request.getfixturevalue("migrated_database"))
    opened = Store.open(url, tmp_path)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("migrated")
    Store.open(None, folder).close()
    return folder / FILE


@pytest.fixture(scope="session")
def migrated_database(postgres: PostgreSQL, tmp_path_factory: pytest.TempPathFactory) -> str:
    url = _make_database(postgres, "template1")
    Store.open(url, tmp_path_factory.mktemp("migrated")).close()
    return url.rpartition("/")[2]


@pytest.fixture
def database_without_an_encoding(postgres: PostgreSQL) -> str:
    return _make_database(postgres, "template0 ENCODING SQL_ASCII LC_COLLATE 'C' LC_CTYPE 'C'")


def _make_database(server: PostgreSQL, template: str) -> str:
    name = f"memplan{next(_numbers)}"
    engine = create_engine(server.url().replace("://", "+psycopg://"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    engine.dispose()
    return server.url(name)
