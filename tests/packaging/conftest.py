"""A server for the tests of deployment files and documentation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.server import RunningServer, run_server


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    with run_server() as found:
        yield found
