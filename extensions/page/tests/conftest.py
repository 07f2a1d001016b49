from collections.abc import Iterator
from typing import Any

import pytest

from memplan.extensions.page.tests.browser import Tab, chromium, tab


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The browser for all tests of a module; these tests are skipped if no browser is installed."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def shared_tab(browser: Any) -> Iterator[Tab]:
    with tab(browser) as found:
        yield found
