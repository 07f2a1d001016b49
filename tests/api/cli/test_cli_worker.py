"""`memplan worker` and `memplan scheduler`: what they refuse, and how they end."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time

import pytest

from memplan.api.cli.main import main
from tests.support.clusters import NOWHERE
from tests.support.ports import free_port
from tests.support.processes import ROOT, WORKER, below, command, runs


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["worker"], "scheduler: must be given, or be in MEMPLAN_SCHEDULER"),
        (["worker", "there:8786"], "MEMPLAN_SCHEDULER: must begin with tcp:// or tls://"),
        (["worker", NOWHERE, "--memory-limit", "1"], "MEMPLAN_WORKER_MEMORY_BYTES: must be at least 402653184, got 1"),
        (
            ["worker", NOWHERE, "--memory-limit", "much"],
            'memory-limit: must be a size such as 4096, 64kB or 1MiB, got "much"',
        ),
    ],
)
def test_what_a_worker_cannot_do_is_told(
    arguments: list[str], sentence: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMPLAN_SCHEDULER", raising=False)
    assert main(arguments) == 2
    assert capfd.readouterr().err == f"memplan: error: {sentence}\n"


def refused(*arguments: str) -> str:
    """Return what a process says that cannot be the scheduler that it is asked to be."""
    command = [sys.executable, "-m", "memplan.api.cli.main", "scheduler", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    return done.stderr


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        message = refused("--port", port)
    assert message.startswith(f"memplan: error: scheduler: cannot listen on tcp://127.0.0.1:{port}: ")
    assert "Address already in use" in message


def test_without_certificates_there_is_no_tls() -> None:
    port = str(free_port())
    message = refused("--port", port, "--tls")
    assert message.startswith(f"memplan: error: scheduler: cannot listen on tls://127.0.0.1:{port}: ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_and_its_processes(number: signal.Signals) -> None:
    with command("worker", NOWHERE, "--workers", "1") as process:
        while not (children := below(process.pid, WORKER)):
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(30) == 0
    assert not any(runs(child, WORKER) for child in children)
