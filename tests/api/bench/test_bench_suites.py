from __future__ import annotations

from pathlib import Path

import pytest

from memplan.api.bench.suites import instances, pose
from memplan.planner.errors import FormatError, InputError, OptionError
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


def test_a_suite_that_is_none_is_refused() -> None:
    with pytest.raises(OptionError, match='suite: must be a folder or a file, got "nowhere"'):
        instances("nowhere")


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
