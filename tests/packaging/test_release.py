"""The programs of a release fail where a platform is not tried, a tag is wrong, or a needed program is missing."""

import re
from pathlib import Path

import pytest
import yaml

from lab import platforms, release
from lab.support import rehearsal

Captured = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
WORKFLOWS = sorted((Path(__file__).parents[2] / ".github" / "workflows").glob("*.yml"))


def test_a_platform_not_tried_fails_unless_named(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    monkeypatch.setattr(platforms, "COMPILER", ["true"])
    tags = list(release.TARGETS.values())
    assert platforms.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines() == [f"{tag}: not tried, no wheel" for tag in tags]
    named = [word for tag in tags for word in ("--without", tag)]
    assert platforms.main([str(tmp_path), *named[2:]]) == 1
    assert platforms.main([str(tmp_path), *named]) == 0


def test_platforms_cannot_be_tried_without_the_compiler(tmp_path: Path, monkeypatch: Patch, capsys: Captured) -> None:
    monkeypatch.setattr(platforms, "COMPILER", ["false"])
    with pytest.raises(SystemExit, match="2"):
        platforms.main([str(tmp_path)])
    assert "needs ziglang: pip install" in capsys.readouterr().err


def test_a_release_of_another_tag_is_refused(tmp_path: Path, capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="2"):
        release.main([str(tmp_path), "--tag", "v0.0.0"])
    assert "--tag: must be v" in capsys.readouterr().err


def test_a_file_that_is_too_large_or_refers_to_a_url_is_a_fault(tmp_path: Path) -> None:
    large = tmp_path / "memplan-1.0.0.tar.gz"
    large.write_bytes(bytes(release.MOST_BYTES + 1))
    assert list(release.faults(large)) == [f"{large.name}: must have at most 6,000,000 bytes, got 6,000,001"]


def test_a_rehearsal_fails_where_a_step_fails_or_is_missing(
    tmp_path: Path, monkeypatch: Patch, capfd: Captured
) -> None:
    steps = rehearsal.steps_of((release.ROOT / "RELEASING.md").read_text(encoding="utf-8"))
    assert (list(steps), set(rehearsal.NEEDS) < set(steps)) == ([*range(1, 11)], True)
    monkeypatch.setattr(rehearsal, "ENVIRONMENTS", {})
    monkeypatch.setattr(rehearsal, "NEEDS", {3: ["no-such-program"]})
    assert rehearsal.run_steps({1: "echo done", 2: "exit 3", 3: "true"}, tmp_path, [2, 3]) == 0
    assert rehearsal.run_steps({1: "true", 2: "exit 3"}, tmp_path) == 1
    places = 'test "$PIP_FIND_LINKS" {} "$PWD/dist"'
    assert rehearsal.run_steps({1: places.format("!="), 2: places.format("=")}, tmp_path) == 0
    assert rehearsal.run_steps({1: "true", 3: "true"}, tmp_path) == 1
    assert "step 3: needs no-such-program; --without 3 leaves it out" in capfd.readouterr().out


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_name_actions_by_digest_and_give_each_job_its_rights(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", line)] == []
    whole = yaml.safe_load(text)
    assert "permissions" in whole
    assert all(job["runs-on"] == "ubuntu-24.04" for job in whole["jobs"].values())
