"""Commands that use or run a service: `--server URL`, `memplan worker` and `memplan schema`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import memplan
from memplan.api.cli.main import main
from memplan.planner.formats import read_plan, read_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions import QUESTIONS
from tests.support.hard_requests import hard_request, wait_until
from tests.support.processes import WORKER, child_processes, command, runs
from tests.support.server import RunningServer

EXAMPLE = Path(__file__).parents[3] / "examples" / "mobilenet_v2.csv"
ROOT = Path(__file__).parents[3]

Captured = pytest.CaptureFixture[str]


def url(server: RunningServer) -> str:
    return f"http://127.0.0.1:{server.port}"


def test_plan_on_a_server_reads_and_writes_csv_files(server: RunningServer, tmp_path: Path, capfd: Captured) -> None:
    file = tmp_path / "plan.csv"
    assert main(["plan", str(EXAMPLE), "--server", url(server), "-o", str(file), "--time-limit", "20", "-q"]) == 0
    assert capfd.readouterr() == ("", "")
    problem = read_problem(EXAMPLE.read_bytes(), EXAMPLE.name)
    assert verify(problem, read_plan(file.read_bytes(), problem, file.name)) == ()


def test_plan_with_keep_on_a_server_keeps_old_offsets(server: RunningServer, tmp_path: Path, capfd: Captured) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    assert main(["plan", str(EXAMPLE), "-o", str(old), "-q"]) == 0
    assert main(["plan", str(EXAMPLE), "--keep", str(old), "--server", url(server), "-o", str(new), "-q"]) == 0
    assert json.loads(new.read_text())["kept"]["moved"] == 0


def test_keep_requires_profile_size_here_and_on_a_server(
    server: RunningServer, tmp_path: Path, capfd: Captured
) -> None:
    old = tmp_path / "old.json"
    assert main(["plan", str(EXAMPLE), "-o", str(old), "-q"]) == 0
    for where in ([], ["--server", url(server)]):
        assert main(["plan", str(EXAMPLE), "--keep", str(old), "--profile", "speed", *where]) == 2
        assert "profile: must be 'size' if an old plan is kept, got \"speed\"" in capfd.readouterr().err


def test_a_variable_names_the_service(server: RunningServer, capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMPLAN_SERVER", url(server))
    assert main(["plan", str(EXAMPLE), "--capacity", "1kB"]) == 1
    out, err = capfd.readouterr()
    assert json.loads(out)["status"] == "infeasible"
    assert "alone does not fit; 1,505,280 bytes would do" in err


@pytest.mark.parametrize("where", ["http://127.0.0.1:1", "nowhere", "http://[", "ftp://127.0.0.1"])
def test_an_unreachable_service_is_told_in_a_line(where: str, capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memplan.api.cli.remote.PATIENCE_S", 0.0)
    assert main(["plan", str(EXAMPLE), "--server", where]) == 2
    err = capfd.readouterr().err
    assert err.startswith("memplan: error: server: ")
    assert err.count("\n") == 1


def test_an_interrupt_stops_the_search_of_a_service_and_writes_its_best(server: RunningServer, tmp_path: Path) -> None:
    problem, plan = tmp_path / "hard.json", tmp_path / "plan.json"
    problem.write_text(json.dumps(hard_request(31)["problem"]))
    command = [sys.executable, "-m", "memplan.api.cli.main", "plan", str(problem), "-o", str(plan)]
    command += ["--server", url(server), "--time-limit", "60", "-q"]
    running = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)})
    try:
        assert wait_until(lambda: server.service.queue.busy_slots == 1)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) == 130
        assert wait_until(lambda: server.service.queue.busy_slots == 0)
    finally:
        running.kill()
    found = json.loads(plan.read_text())
    assert (found["status"], found["stop_reason"], len(found["placements"])) == ("feasible", "cancelled", 3000)


def test_the_schema_describes_problems_plans_operations_and_graphs(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["version"] == memplan.__version__
    assert {"Problem", "Plan", "Operations", "OperationGraph"} <= found["$defs"].keys()
    assert found["$defs"]["Problem"]["required"] == ["buffers"]


@pytest.mark.slow
def test_the_schema_corpus_contains_a_request_body_and_its_answer_for_each_question(tmp_path: Path) -> None:
    assert main(["schema", "-o", str(tmp_path / "schema.json"), "--corpus", str(tmp_path / "corpus")]) == 0
    cases = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "corpus").iterdir()}
    assert cases.keys() == QUESTIONS.keys()
    planned = cases["plan"]
    problem, plan = Problem.model_validate(planned["body"]["problem"]), Plan.model_validate(planned["answer"])
    assert memplan.verify(problem, plan).valid
    assert cases["verify"]["answer"]["valid"] is True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_and_its_processes(number: signal.Signals, tmp_path: Path) -> None:
    with command("worker", "--store", f"sqlite:///{tmp_path}/memplan.db", "--workers", "1") as process:
        while not (children := child_processes(process.pid, WORKER)):
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(30) == 0
    assert not any(runs(child, WORKER) for child in children)


def test_an_error_of_the_service_is_reported_in_one_line(server: RunningServer, capfd: Captured) -> None:
    assert main(["plan", str(EXAMPLE), "--server", url(server), "--accept", "soon"]) == 2
    sentence = 'server: accept: must be fit or a percentage such as 5%, got "soon"'
    assert capfd.readouterr() == ("", f"memplan: error: {sentence}\n")


_SIGNAL = """
import os, signal, sys, weakref
class Importer:
    def find_spec(self, name, *_):
        if name == os.environ["AT_IMPORT_OF"]:
            sys.meta_path.remove(self)
            one = Importer()
            kept = weakref.ref(one, lambda _: signal.raise_signal(signal.SIGTERM))
            del one
sys.meta_path.insert(0, Importer())
"""
"""A signal that comes while an object is dropped, where Python ignores exceptions."""


@pytest.mark.parametrize(
    ("command", "package", "status"), [("serve", "click", 130), ("serve", "sqlalchemy", 0), ("worker", "sqlalchemy", 0)]
)
def test_a_signal_stops_a_starting_service_anywhere(command: str, package: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(_SIGNAL)
    store = ["--port", "0"] if command == "serve" else ["--store", f"sqlite:///{tmp_path}/memplan.db"]
    settings = {"PYTHONPATH": str(tmp_path), "MEMPLAN_DATA_FOLDER": str(tmp_path), "AT_IMPORT_OF": package}
    started = [sys.executable, "-m", "memplan.api.cli.main", command, *store]
    assert subprocess.run(started, cwd=ROOT, env=os.environ | settings, check=False, timeout=60).returncode == status
