"""Tests of benchmarks on local clusters of Dask and Ray, each with two workers."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import pytest

import memplan.extensions.bench.clusters as clusters
from memplan.api.cli.main import main
from memplan.extensions.bench import away
from memplan.extensions.bench.clusters import ATTEMPTS, ClusterExecutor, MachineLostError, executor_on
from memplan.extensions.bench.measuring import measure
from memplan.extensions.bench.results import read_results
from memplan.extensions.bench.running import jobs
from memplan.extensions.bench.suites import instances
from memplan.extensions.bench.tests.clusters import cluster, end_its_machine, obstacle, wait_to_be_unwanted
from memplan.extensions.bench.worker import BenchTask
from memplan.planner.errors import OptionError
from tests.support import public_problems

Captured = pytest.CaptureFixture[str]
INSTANCES = [str(file) for file in public_problems.files("minimalloc_small")[:3]]
COMPARED = {"outcome", "peak", "lower_bound", "status", "found_by", "proved_by", "buffers", "machine", "version"}
PATIENCE_S = 60.0


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("dask", marks=[pytest.mark.cluster, pytest.mark.slow]),
        pytest.param("ray", marks=[pytest.mark.cluster, pytest.mark.slow]),
    ],
)
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if (reason := obstacle(request.param)) is not None:
        pytest.skip(reason)
    with cluster(request.param, tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def executor(address: str) -> Iterator[ClusterExecutor]:
    with executor_on(address) as found:
        yield found


def wait_for_file(path: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < until, f"{path.name}: never"
        time.sleep(0.05)


def test_a_cluster_run_has_the_same_rows_and_can_resume(address: str, tmp_path: Path, capfd: Captured) -> None:
    results = tmp_path / "results.jsonl"
    command = ["bench", *INSTANCES, "--solvers", "greedy,auto", "--time-limit", "5", "--on", address, f"-o{results}"]
    assert main(command) == 0
    rows = {row.key: row for row in read_results(results)}
    wanted = jobs(INSTANCES, ["greedy", "auto"], [1], 5.0, 2**33)
    assert rows.keys() == {task.key for task in wanted}
    for task in wanted:
        there, here = rows[task.key], measure(task)
        assert there.model_dump(include=COMPARED) == here.model_dump(include=COMPARED)
        assert (there.begun, here.begun) == (1, None)
    capfd.readouterr()
    assert main(command) == 0
    assert f"6 of 6 runs are in {results}" in capfd.readouterr().err
    assert len(read_results(results)) == 6


def test_the_known_peak_of_an_instance_is_sent_to_the_cluster(executor: ClusterExecutor, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("id,lower,upper,size\na,0,3,8\nb,2,5,16\nc,3,9,4\n")
    (tmp_path / "two.csv").write_text("id,lower,upper,size\na,0,3,-8\n")
    (tmp_path / "index.json").write_text('[{"file": "one.csv", "peer_peaks": {"x": 28}}, {"file": "two.csv"}]')
    one, two = (BenchTask(name, "greedy", 1, 1.0, 2**33) for name in instances(str(tmp_path)))
    row = away.row_of(executor, one, away.begin(executor, one))
    assert (row.peak, row.known_peak, row.instance) == (24, 28, one.instance)
    wrong = away.row_of(executor, two, away.begin(executor, two))
    assert wrong.outcome == "failed"
    assert str(wrong.message).startswith(f"{two.instance}: ")


def test_a_task_of_a_lost_machine_runs_again_on_another_machine(executor: ClusterExecutor, tmp_path: Path) -> None:
    future = executor.submit(end_its_machine, str(tmp_path), 1)
    assert future.result(PATIENCE_S) == 2
    assert executor.count_starts(future) == 2


def test_a_task_that_kills_every_machine_raises_machine_lost(executor: ClusterExecutor, tmp_path: Path) -> None:
    future = executor.submit(end_its_machine, str(tmp_path), 99)
    with pytest.raises(MachineLostError, match=f"the machine was lost in each of {ATTEMPTS} attempts"):
        future.result(PATIENCE_S)
    assert executor.count_starts(future) == ATTEMPTS == len(list(tmp_path.iterdir()))


def test_a_cancelled_task_ends_on_its_machine(executor: ClusterExecutor, tmp_path: Path) -> None:
    future = executor.submit(wait_to_be_unwanted, str(tmp_path))
    wait_for_file(tmp_path / "begun")
    assert future.cancel()
    if type(executor).__name__ == "_DaskExecutor":  # Ray kills the task's process, so only Dask's task writes the file.
        wait_for_file(tmp_path / "ended")


def test_running_tasks_end_when_their_caller_ends(address: str, tmp_path: Path) -> None:
    with executor_on(address) as executor:
        executor.submit(wait_to_be_unwanted, str(tmp_path))
        wait_for_file(tmp_path / "begun")
    if address.startswith("dask"):
        wait_for_file(tmp_path / "ended")


def test_a_machine_with_another_memplan_is_named(executor: ClusterExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    executor.check(str)
    monkeypatch.setattr(clusters, "__version__", "9.9")
    with pytest.raises(OptionError, match=r"^on: machine \S+ has memplan [0-9.]+, and this one is 9\.9$"):
        executor.check(str)


def test_bench_names_a_machine_that_lacks_a_solver_before_a_run(address: str, tmp_path: Path, capfd: Captured) -> None:
    results = tmp_path / "results.jsonl"
    assert main(["bench", *INSTANCES, "--solvers", "greedy,nowhere:plan", "--on", address, "-o", str(results)]) == 2
    err = capfd.readouterr().err
    assert "memplan: error: on: machine " in err
    assert err.endswith(" lacks solver nowhere:plan, which needs nowhere\n")
    assert read_results(results) == []


def test_a_lost_benchmark_run_becomes_a_row_with_its_number_of_attempts() -> None:
    class LostExecutor(ClusterExecutor):
        def count_starts(self, future: Future[object]) -> int:
            return ATTEMPTS

    future: Future[object] = Future()
    future.set_exception(MachineLostError("the machine was lost in each of 4 attempts"))
    row = away.row_of(LostExecutor(), BenchTask("a.csv", "greedy", 1, 1.0, 2**33), future)  # type: ignore[arg-type]
    assert (row.outcome, row.begun, row.message) == ("failed", ATTEMPTS, "the machine was lost in each of 4 attempts")


def test_the_solver_auto_requires_all_solvers_installed_here() -> None:
    assert away.required_packages(["greedy"]) == ["greedy"]
    assert {"auto", "greedy", "exact"} <= set(away.required_packages(["auto"]))
    assert partial(away.missing_packages, away.required_packages(["auto", "order"]))() == ""


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("slurm://here:1", 'on: must be dask://HOST:PORT or ray://HOST:PORT, got "slurm://here:1"'),
        ("dask://here", 'on: must be dask://HOST:PORT or ray://HOST:PORT, got "dask://here"'),
        ("dask://here:99999", 'on: must be dask://HOST:PORT or ray://HOST:PORT, got "dask://here:99999"'),
        (
            "dask://127.0.0.1:1",
            'on: must be the address of a cluster, got no answer at "dask://127.0.0.1:1": Connection refused',
        ),
    ],
)
def test_a_wrong_or_silent_address_is_refused(address: str, sentence: str, tmp_path: Path, capfd: Captured) -> None:
    if "1:1" in address and (reason := obstacle("dask")):
        pytest.skip(reason)
    assert main(["bench", INSTANCES[0], "--on", address, "-o", str(tmp_path / "results.jsonl")]) == 2
    assert capfd.readouterr().err == f"memplan: error: {sentence}\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dask", "ray"])
def test_an_address_at_which_another_program_answers_is_refused(kind: str) -> None:
    if (reason := obstacle(kind)) is not None:
        pytest.skip(reason)
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = f"{kind}://127.0.0.1:{other.getsockname()[1]}"
        with (
            pytest.raises(
                OptionError, match=f'^on: must be the address of a {kind.title()} .*, got no answer at "{where}": '
            ),
            executor_on(where),
        ):
            pass
