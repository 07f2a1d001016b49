"""Tests of benchmark instances and of rows in result files."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest

from memplan.extensions.bench.measuring import measure
from memplan.extensions.bench.plot import curves, draw_curves
from memplan.extensions.bench.results import Moment, Result, latest_rows, open_for_appending, read_results, write_result
from memplan.extensions.bench.running import jobs, remaining_tasks, run
from memplan.extensions.bench.suites import instances, pose
from memplan.extensions.bench.worker import BenchTask
from memplan.planner.errors import FormatError, InputError, OptionError
from tests.support import public_problems


def result(solver: str = "greedy", instance: str = "a.csv", seed: int = 1, **facts: object) -> Result:
    given = {"instance": instance, "solver": solver, "seed": seed, "time_limit_s": 1.0, "outcome": "plan", **facts}
    return Result.model_validate(given)


def job(solver: str = "greedy", instance: str = "a.csv", seed: int = 1) -> BenchTask:
    return BenchTask(instance, solver, seed, 1.0, 2**32)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_written_row_can_be_read_at_once_and_unchanged(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"results{suffix}"
    curve = (Moment(wall_time_s=0.0, lower_bound=60), Moment(wall_time_s=0.1, peak=64, lower_bound=60))
    rows = [result(peak=64, curve=curve), result("cbc", outcome="late", message="1.5, late")]
    with open_for_appending(path) as (_, file):
        for row in rows:
            write_result(file, row)
        assert read_results(path) == rows


def test_a_run_whose_row_was_cut_off_is_repeated(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    whole, cut = (result(seed=seed).model_dump_json() for seed in (1, 2))
    path.write_text(f"{whole}\n{cut[:40]}")
    with open_for_appending(path) as (rows, file):
        assert rows == [result(seed=1)]
        write_result(file, result(seed=3))
    assert [row.seed for row in read_results(path)] == [1, 3]


def test_runs_with_a_row_are_not_repeated() -> None:
    wanted = [job(seed=1), job(seed=2), job("cbc", seed=1), job(instance="b.csv")]
    assert remaining_tasks(wanted, [result(seed=1), result("cbc", seed=1, outcome="late")]) == [wanted[1], wanted[3]]


def test_skipped_runs_are_repeated_and_their_later_row_counts() -> None:
    skipped, done = result("supermalloc", outcome="skipped"), result("supermalloc")
    assert remaining_tasks([job("supermalloc")], [skipped]) == [job("supermalloc")]
    assert latest_rows([skipped, done]) == [done]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", "instance: is required"),
        ('{"instance":"x","solver":"y","seed":1,"time_limit_s":1,"outcome":"great"}', "outcome: must be"),
        ("not JSON", "must be JSON"),
    ],
)
def test_a_file_without_results_is_refused_and_unchanged(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(f"{result().model_dump_json()}\n{line}\n")
    with pytest.raises(FormatError) as caught, open_for_appending(path):
        pass
    assert str(caught.value).startswith(f"{path}, line 2: {message}")
    assert path.read_text().endswith(f"{line}\n")


def test_a_benchmark_alternates_solvers_on_each_instance() -> None:
    files = [str(file) for file in public_problems.files("minimalloc_small")[:2]]
    found = jobs([*files, files[0]], ["greedy", "cbc"], [1, 2], 1.0, 2**32)
    assert [(entry.instance, entry.seed, entry.solver) for entry in found] == [
        (file, seed, solver) for file in files for seed in (1, 2) for solver in ("greedy", "cbc")
    ]


@pytest.mark.parametrize(
    ("solvers", "limit", "message"),
    [
        (["nobody"], 1.0, "solvers: must be one that `memplan solvers` lists,"),
        (["auto"], 0.0, "time_limit_s: must be above 0"),
        (["auto"], float("nan"), "time_limit_s: must be above 0"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(solvers: list[str], limit: float, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        jobs(["a.csv"], solvers, [1], limit, 2**32)
    assert str(caught.value).startswith(message)


P = ParamSpec("P")
T = TypeVar("T")


class Lazy(Executor):
    """An executor that runs its first task at once, and never starts any further task."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        self.futures.append(future)
        if len(self.futures) == 1:
            future.set_result(fn(*args, **kwargs))
        return future


def test_run_starts_no_further_job_after_its_reader_stops() -> None:
    executor = Lazy()
    wanted = [job(seed=seed) for seed in (1, 2, 3, 4)]
    rows = run(wanted, lambda task: executor.submit(measure, task), lambda: 3)
    task, future = next(rows)
    assert (task, future.result().key) == (wanted[0], wanted[0].key)
    rows.close()
    assert [future.cancelled() for future in executor.futures] == [False, True, True]


ROWS = "id,lower,upper,size\na,0,3,8\nb,2,5,16\nc,3,9,4\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("two.csv", "one.csv"):
        (tmp_path / name).write_text(ROWS)
    (tmp_path / "notes.txt").write_text("not an instance")
    return tmp_path


def test_instances_of_a_folder_are_its_problem_files_in_sorted_order(folder: Path) -> None:
    assert instances(str(folder)) == [str(folder / "one.csv"), str(folder / "two.csv")]


def test_pose_takes_known_peaks_and_pools_from_the_listing_of_a_folder(folder: Path) -> None:
    (folder / "index.json").write_text(
        '[{"file": "one.csv", "peer_peaks": {"x": 28, "y": 24, "z": {"bufsizes": [1]}}, "more": 1},'
        ' {"file": "two.csv", "peer_peaks": {"x": 28}, "pools": [{"name": "fast", "size": 16}, {"name": "slow"}]}]'
    )
    one, two = (pose(name) for name in instances(str(folder)))
    assert one.known_peak == 24
    assert [pool.name for pool in two.problem.pools] == ["fast", "slow"]
    assert two.known_peak is None


def test_a_malformed_listing_is_refused(folder: Path) -> None:
    (folder / "index.json").write_text('{"file": "one.csv"}')
    with pytest.raises(FormatError, match=r"index\.json: "):
        pose(str(folder / "one.csv"))


def test_a_suite_without_instances_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match='suite: must be a folder or a file that exists, got "nowhere"'):
        instances("nowhere")
    with pytest.raises(OptionError, match=r"suite: must contain files that end with \.csv or \.json"):
        instances(str(tmp_path))


def test_an_unreadable_problem_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("id,lower,upper,size\na,0,3,-8\n")
    with pytest.raises(InputError) as caught:
        pose(str(file))
    assert caught.value.sentences[0].startswith(f"{file}: ")


@pytest.mark.parametrize("folder", ["minimalloc", "executorch_cadence", "iree"])
def test_public_problems_of_the_repository_can_be_read_as_suites(folder: str) -> None:
    for name in instances(str(public_problems.FOLDER / folder)):
        assert len(pose(name).problem.buffers) > 0


def test_rows_given_as_a_suite_are_named_as_such(tmp_path: Path) -> None:
    for name in ("rows.jsonl", "rows.csv"):
        with open_for_appending(tmp_path / name) as (_, file):
            write_result(file, result())
        with pytest.raises(
            OptionError, match=r"got rows of results in .*: give them as -o, or two of them as --compare"
        ):
            instances(str(tmp_path / name))


def test_curves_are_the_mean_quality_and_the_share_of_solved_runs() -> None:
    rows = [
        result(peak=100, curve=(Moment(wall_time_s=0.1, peak=200, lower_bound=60),), wall_time_s=1.0, status="optimal"),
        result(instance="b.csv", peak=50, wall_time_s=2.0, status="feasible"),
        result("late", outcome="late"),
        result("other", instance="b.csv", peak=40, wall_time_s=0.5, status="optimal"),
    ]
    found = curves(rows)
    assert (found["greedy"], found["late"]) == (([(0.1, 0.25), (1.0, 0.5), (2.0, 0.9)], [(1.0, 0.5)]), ([], []))
    assert found["other"] == ([(0.5, 1.0)], [(0.5, 1.0)])
    drawn = draw_curves(rows).decode()
    assert all(f">{text}</text>" in drawn for text in ("greedy", "late", "other", "0.1 s", "10 s"))
