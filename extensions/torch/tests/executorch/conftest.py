"""A service for all tests inside of ExecuTorch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.server import Running, running


@pytest.fixture(scope="session")
def server() -> Iterator[Running]:
    with running() as found:
        yield found
