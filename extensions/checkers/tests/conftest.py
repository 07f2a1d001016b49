from __future__ import annotations

import pytest

from memplan.extensions.checkers.tests.checkers import compiled


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The C checker, with traps for wrong indices and overflows."""
    return compiled(tmp_path_factory.mktemp("checker"))
