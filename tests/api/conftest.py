"""One server for all tests that ask for `server`."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from api.settings import Settings
from tests.api.server import Running, running


@pytest.fixture(scope="session")
def server() -> Iterator[Running]:
    with running(Settings(max_body_bytes=1_000_000, max_cells=50_000)) as found:
        yield found


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Undo what a command that runs in this process does to logging: its streams end with the test."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
