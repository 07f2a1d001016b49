from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memplan.api.bench.suites import instances, mirrored, pose, shuffled, window
from memplan.planner.errors import FormatError, InputError, OptionError
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.problem import Buffer, Problem
from tests.support import public_problems

ROWS = "id,lower,upper,size\na,0,3,8\nb,2,5,16\nc,3,9,4\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("two.csv", "one.csv"):
        (tmp_path / name).write_text(ROWS)
    (tmp_path / "notes.txt").write_text("not an instance")
    return tmp_path


def test_a_folder_stands_for_its_files_in_order(folder: Path) -> None:
    assert instances(str(folder)) == [str(folder / "one.csv"), str(folder / "two.csv")]


def test_a_file_stands_for_itself(folder: Path) -> None:
    name = str(folder / "one.csv")
    assert instances(name) == [name]
    assert pose(name).problem.buffers.ids == ("a", "b", "c")


def test_a_family_with_seeds_stands_for_so_many_problems() -> None:
    names = instances("perfect:n=20,kind=pinwheel,seeds=3")
    assert names == [f"perfect:n=20,kind=pinwheel,seed={seed}" for seed in (1, 2, 3)]
    assert len({tuple(pose(name).problem.buffers.size.tolist()) for name in names}) == 3


def test_a_family_alone_stands_for_one_problem_with_the_defaults() -> None:
    assert instances("tight") == ["tight:seed=1"]
    assert pose("tight:seed=1").problem == pose("tight:n=30,seed=1").problem


@pytest.mark.parametrize("suite", ["perfect:n=9,seed=4", "shuffled@2:tight:n=12,seed=1", "mirrored:random:n=9,seed=1"])
def test_the_name_of_an_instance_is_a_suite_of_its_own(suite: str) -> None:
    assert instances(suite) == [suite]


def test_shuffled_copies_hold_the_same_buffers_in_other_orders(folder: Path) -> None:
    names = instances(f"shuffled*8:{folder / 'one.csv'}")
    orders = [pose(name).problem.buffers.ids for name in names]
    assert len(set(orders)) > 1
    assert {frozenset(order) for order in orders} == {frozenset("abc")}


def test_changes_can_be_combined(folder: Path) -> None:
    name = f"shuffled@3:mirrored:{folder / 'one.csv'}"
    ends = {buffer.id: (buffer.start, buffer.end) for buffer in pose(name).problem.buffers}
    assert ends == {"a": (-4, -1), "b": (-6, -3), "c": (-10, -4)}


def test_a_problem_mirrored_twice_is_the_problem() -> None:
    rows = [
        Buffer(id=1, size=8, start=-(2**63), end=2**63 - 1),
        Buffer(id=2, size=8, lifetimes=((0, 2), (5, 6))),
        Buffer(id=3, size=4),
    ]
    problem = Problem(buffers=BufferTable.from_rows(rows), conflicts=((1, 3),))
    assert mirrored(mirrored(problem)) == problem
    assert mirrored(problem) != problem


def test_shuffling_keeps_what_is_said_of_pools_and_conflicts() -> None:
    problem = Problem.model_validate(
        {
            "buffers": [{"id": k, "size": 8, "start": 0, "end": 1} for k in range(9)],
            "conflicts": [(0, 1)],
            "pools": [{"name": "sram", "size": 128}],
        }
    )
    other = shuffled(problem, 1)
    assert other.buffers.ids != problem.buffers.ids
    assert (other.conflicts, other.pools) == (problem.conflicts, problem.pools)


def test_a_window_holds_buffers_that_start_one_after_the_other() -> None:
    names = instances("window6*4:shuffled@1:tight:n=20,seed=2")
    assert names == [f"window6@{seed}:shuffled@1:tight:n=20,seed=2" for seed in (1, 2, 3, 4)]
    starts = sorted(buffer.start or 0 for buffer in pose("tight:n=20,seed=2").problem.buffers)
    windows = [sorted(buffer.start or 0 for buffer in pose(name).problem.buffers) for name in names]
    assert all(any(window == starts[k : k + 6] for k in range(len(starts) - 5)) for window in windows)
    assert len({tuple(window) for window in windows}) > 1


def test_a_window_keeps_the_conflicts_within_it() -> None:
    rows = [{"id": k, "size": 8, "start": k, "end": k + 1} for k in range(4)]
    problem = Problem.model_validate({"buffers": rows, "conflicts": [(0, 1), (1, 2), (2, 3)]})
    cut = window(problem, 3, seed=1)
    ids = set(cut.buffers.ids)
    assert len(ids) == 3
    assert cut.conflicts == tuple(pair for pair in problem.conflicts if set(pair) <= ids)


def test_a_window_that_cuts_an_alias_off_is_refused() -> None:
    rows: list[dict[str, object]] = [{"id": k, "size": 8, "start": k, "end": k + 1} for k in range(2)]
    problem = Problem.model_validate({"buffers": [rows[0], rows[1] | {"alias_of": 0}]})
    cut_off = next(seed for seed in range(99) if np.random.default_rng(seed).integers(0, 2) == 1)
    with pytest.raises(InputError) as caught:
        window(problem, 1, cut_off)
    assert caught.value.sentences[0] == f"window1@{cut_off}: buffers[0].alias_of: must be the id of a buffer, got 0"


def test_a_listing_tells_peaks_and_pools(folder: Path) -> None:
    (folder / "index.json").write_text(
        '[{"file": "one.csv", "peer_peaks": {"x": 28, "y": 24, "z": {"bufsizes": [1]}}, "more": 1},'
        ' {"file": "two.csv", "peer_peaks": {"x": 28}, "pools": [{"name": "fast", "size": 16}, {"name": "slow"}]}]'
    )
    one, two = (pose(name) for name in instances(str(folder)))
    assert one.known_peak == 24
    assert [pool.name for pool in two.problem.pools] == ["fast", "slow"]
    assert two.known_peak is None


def test_a_listing_that_is_none_is_refused(folder: Path) -> None:
    (folder / "index.json").write_text('{"file": "one.csv"}')
    with pytest.raises(FormatError, match=r"index\.json: "):
        pose(str(folder / "one.csv"))


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        ("nowhere", "suite: must be a folder, a file or one of the families perfect, tight, random, dense, got"),
        ("perfect:n=0", "perfect.n: must be at least 1 and at most 1e+08, got 0"),
        ("perfect:n=x", 'perfect.n: must be an integer, got "x"'),
        ("perfect:slack=x", 'perfect.slack: must be a number, got "x"'),
        ("perfect:slack=nan", "perfect.slack: must be at least 0 and at most 100, got nan"),
        ("perfect:kind=round", 'perfect.kind: must be one of guillotine, pinwheel, got "round"'),
        ("tight:seeds=0", 'tight.seeds: must be a positive integer, got "0"'),
        ("tight:seed=1,seeds=2", "tight: must have seed or seeds, got both"),
        ("tight:n=3,n=4", 'tight: must have parameters n, height, live, turnover, seed, seeds, once each, got "n=4"'),
        ("tight:colour=red", "tight: must have parameters n, height, live, turnover, seed, seeds, once each, got"),
        ("shuffled*0:tight", "suite: must be shuffled:, shuffled*N:, shuffled@SEED: or mirrored:, got"),
        ("mirrored*2:tight", "suite: must be shuffled:, shuffled*N:, shuffled@SEED: or mirrored:, got"),
    ],
)
def test_a_suite_that_is_none_is_refused(suite: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        instances(suite)
    assert caught.value.sentences[0].startswith(message)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"suite: must hold files that end with \.csv or \.json"):
        instances(str(tmp_path))


def test_a_wrong_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("id,lower,upper,size\na,0,3,-8\n")
    with pytest.raises(InputError) as caught:
        pose(str(file))
    assert caught.value.sentences[0].startswith(f"{file}: ")


@pytest.mark.parametrize("folder", ["minimalloc", "executorch_cadence", "iree"])
def test_the_problems_of_the_repository_can_be_run(folder: str) -> None:
    for name in instances(str(public_problems.FOLDER / folder)):
        assert len(pose(name).problem.buffers) > 0
