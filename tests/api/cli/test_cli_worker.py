"""`memplan worker`: what it refuses, and how it ends."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from memplan.api.cli.main import main
from tests.support.processes import WORKER, below, command, runs


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--store", "there:5432"], "MEMPLAN_DATABASE_URL: must begin with sqlite:// or postgresql://"),
        (["--memory-limit", "1"], "MEMPLAN_WORKER_MEMORY_BYTES: must be at least 402653184, got 1"),
    ],
)
def test_what_a_worker_cannot_do_is_told(
    arguments: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", *arguments]) == 2
    assert capfd.readouterr().err == f"memplan: error: {sentence}\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_and_its_processes(number: signal.Signals, tmp_path: Path) -> None:
    with command("worker", "--store", f"sqlite:///{tmp_path}/memplan.db", "--workers", "1") as process:
        while not (children := below(process.pid, WORKER)):
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(30) == 0
    assert not any(runs(child, WORKER) for child in children)
