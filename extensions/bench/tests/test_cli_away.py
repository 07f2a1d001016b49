"""Tests of commands on many files on a cluster: a stand-in, and Dask if it is installed."""

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import memplan.extensions.bench.several_files as several_files
from memplan.api.cli.main import main
from memplan.extensions.bench.clusters import MachineLostError
from memplan.extensions.bench.tests.clusters import StandIn, cluster, obstacle
from tests.support import public_problems

Captured = pytest.CaptureFixture[str]
PROBLEMS = [str(file) for file in public_problems.files("minimalloc_small")[:4]]
WHOLE = ["--deterministic", "--time-limit", "10"]
ADDRESS = "dask://127.0.0.1:8786"


class Machine(StandIn):
    """A stand-in for a cluster. It records the lines of each share, and loses its machine during the first `n_lost`."""

    def __init__(self, n_lost: int = 0) -> None:
        super().__init__()
        self.n_lost, self.sizes = n_lost, list[int]()

    def _start_task(self, future: Future[Any], name: str, work: Any) -> None:
        self.sizes.append(len(work.args[0].sent_lines))
        if len(self.sizes) <= self.n_lost:
            future.set_exception(MachineLostError("the machine was lost in each of 4 attempts"))
        else:
            super()._start_task(future, name, work)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    executor = Machine()

    @contextmanager
    def executor_on(_address: str) -> Iterator[Machine]:
        yield executor

    monkeypatch.setattr(several_files, "executor_on", executor_on)
    return executor


def outputs(folder: Path) -> dict[str, Any]:
    """Return the contents of a folder's files by file name, without the measured times in them."""
    found = {file.name: json.loads(file.read_text()) for file in sorted(folder.iterdir())}
    for value in found.values():
        value.pop("wall_time_s", None)
    return found


@pytest.mark.parametrize(
    "command",
    [["plan", *PROBLEMS, *WHOLE], ["sweep", *PROBLEMS, "--size", "16:48:16", "--time-limit", "10"]],
    ids=["plan", "sweep"],
)
def test_a_cluster_writes_the_same_files(command: list[str], machine: Machine, tmp_path: Path, capfd: Captured) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    statuses = [main([*command, "-o", f"{here}/"]), main([*command, "-o", f"{there}/", "--on", ADDRESS])]
    assert statuses[0] == statuses[1]
    said = capfd.readouterr().err.splitlines()
    assert said[: len(said) // 2] == [line.replace(str(there), str(here)) for line in said[len(said) // 2 :]]
    assert outputs(here) == outputs(there)
    assert len(outputs(there)) == len(PROBLEMS) == sum(machine.sizes)
    if command[0] == "plan":
        pairs = [(here / name, there / name) for name in outputs(here)]
        assert [a.read_bytes() == b.read_bytes() for a, b in pairs] == [True] * len(PROBLEMS)


def test_equal_names_and_wrong_files_are_as_in_a_local_run(machine: Machine, tmp_path: Path, capfd: Captured) -> None:
    first, second = tmp_path / "a" / "one.csv", tmp_path / "b" / "one.csv"
    for path in (first, second):
        path.parent.mkdir()
        shutil.copy(PROBLEMS[0], path)
    wrong, missing = tmp_path / "wrong.csv", tmp_path / "missing.csv"
    wrong.write_text("id,lower,upper,size\na,0,3,-8\n")
    files = [*map(str, (first, wrong, second, missing))]
    for on in ([], ["--on", ADDRESS]):
        assert main(["plan", *files, *WHOLE, "-o", f"{tmp_path}/plans{len(on)}/", *on]) == 2
    said = capfd.readouterr().err.replace("plans2/", "plans0/").splitlines()
    assert said[: len(said) // 2] == said[len(said) // 2 :]
    assert any(line.startswith(f"memplan: error: {wrong}: ") for line in said)
    assert any(line.startswith(f"memplan: error: {missing}: ") for line in said)
    assert list(outputs(tmp_path / "plans2")) == ["one#2.plan.json", "one.plan.json"]
    assert outputs(tmp_path / "plans2") == outputs(tmp_path / "plans0")


def test_check_of_a_folder_on_a_cluster_prints_one_report(machine: Machine, tmp_path: Path, capfd: Captured) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    for path in PROBLEMS[:2]:
        shutil.copy(path, folder)
    (folder / "wrong.csv").write_text("id,lower,upper,size\na,0,3,-8\n")
    names = sorted(path.name for path in folder.iterdir())
    (folder / "budgets.toml").write_text("".join(f'["{name}"]\nbudget = "1KiB"\n' for name in names))
    reports = []
    for on in ([], ["--on", ADDRESS]):
        assert main(["check", str(folder), "--budgets", str(folder / "budgets.toml"), *on]) == 2
        reports.append(json.loads(capfd.readouterr().out))
        for check in reports[-1]["checks"]:
            del check["wall_time_s"]
    assert reports[0] == reports[1]
    assert [Path(check["subject"]).name for check in reports[1]["checks"]] == names
    assert sum(machine.sizes) == 3


def test_a_lost_cluster_machine_affects_only_its_own_files(machine: Machine, tmp_path: Path, capfd: Captured) -> None:
    machine.n_lost = 1
    assert main(["plan", *PROBLEMS, *WHOLE, "-o", f"{tmp_path}/", "--on", ADDRESS]) == 70
    assert f"{PROBLEMS[0]}: the machine was lost in each of 4 attempts" in capfd.readouterr().err
    assert len(outputs(tmp_path)) == len(PROBLEMS) - machine.sizes[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([PROBLEMS[0]], "on: applies only to several files and -o FOLDER/"),
        (PROBLEMS[:2], "on: applies only to several files and -o FOLDER/"),
        ([*PROBLEMS[:2], "--together", "none", "-o", "FOLDER/"], "on: applies only to several files"),
        ([*PROBLEMS[:2], "--server", "http://127.0.0.1:1", "-o", "FOLDER/"], "server: must not be given with --on"),
        (["-", PROBLEMS[0], "-o", "FOLDER/"], "files: must be on a disk with --on"),
    ],
)
def test_standard_input_and_a_server_are_refused_with_a_cluster(
    arguments: list[str], message: str, machine: Machine, tmp_path: Path, capfd: Captured
) -> None:
    assert main(["plan", *[word.replace("FOLDER", str(tmp_path)) for word in arguments], "--on", ADDRESS]) == 2
    assert message in capfd.readouterr().err
    assert machine.sizes == []


@pytest.mark.cluster
@pytest.mark.slow
def test_a_dask_run_writes_the_same_files_as_a_local_run(tmp_path: Path) -> None:
    if (reason := obstacle("dask")) is not None:
        pytest.skip(reason)
    with cluster("dask", tmp_path) as address:
        assert main(["plan", *PROBLEMS, *WHOLE, "-o", f"{tmp_path}/there/", "--on", address]) == 0
    assert main(["plan", *PROBLEMS, *WHOLE, "-o", f"{tmp_path}/here/"]) == 0
    for path in (tmp_path / "here").iterdir():
        assert (tmp_path / "there" / path.name).read_bytes() == path.read_bytes()
