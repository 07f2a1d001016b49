from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memplan.extensions.page.tests.browser import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser, where there is one."""
    with chromium() as found:
        yield found
