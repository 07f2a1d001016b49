"""A fixture that runs a service for all ExecuTorch tests."""

from collections.abc import Iterator

import pytest

from tests.support.server import RunningServer, run_server


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    with run_server() as found:
        yield found
