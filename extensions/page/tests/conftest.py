from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memplan.extensions.page.tests.browser import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The browser for a module's tests; tests are skipped if no browser is installed."""
    with chromium() as found:
        yield found
