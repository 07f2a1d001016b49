"""Benchmarks on the workers of a scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest

from memplan.api.bench.results import read_results
from memplan.api.cli.main import main
from memplan.api.cluster import dask
from tests.support.clusters import NOWHERE
from tests.support.ports import free_port, listening
from tests.support.processes import command

QUICK = ["--time-limit", "1", "--solvers", "greedy", "--cold"]


def test_runs_are_spread_over_the_workers_of_a_scheduler(tmp_path: Path) -> None:
    results, port = tmp_path / "results.jsonl", free_port()
    address = f"tcp://127.0.0.1:{port}"
    with command("scheduler", "--port", str(port)), command("worker", address, "--workers", "1"):
        listening(port)
        assert main(["bench", "tight:n=8,seeds=2", *QUICK, "-o", str(results), "--scheduler", address]) == 0
    assert [row.outcome for row in read_results(results)] == ["plan", "plan"]


def test_where_no_scheduler_is_that_is_told(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "_CONNECT_S", 0.2)
    assert main(["bench", "tight:n=8", *QUICK, "--scheduler", NOWHERE]) == 2
    assert capfd.readouterr().err.startswith(f"memplan: error: scheduler: cannot connect to {NOWHERE}: ")
