"""Fixtures of the source-row tests: one service, and the command in a temporary folder."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from memplan.api.http.app import create_app
from memplan.api.settings import Settings
from tests.support.seed_entrances import Command, Http


@pytest.fixture(scope="session")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Http]:
    app = create_app(Settings(data_folder=tmp_path_factory.mktemp("store"), workers=0))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield Http(client)


@pytest.fixture
def command(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    monkeypatch.chdir(tmp_path)
    handlers, level = logging.root.handlers[:], logging.root.level
    yield Command(tmp_path, capfd.readouterr)
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
