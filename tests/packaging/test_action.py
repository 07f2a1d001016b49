"""The GitHub action: its shell steps, run in the environment of a runner."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memplan.planner import __version__

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
ROOT = Path(__file__).parents[2]
MEMPLAN = Path(sys.executable).with_name("memplan")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
pytestmark = [
    pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash"),
    pytest.mark.skipif(not MEMPLAN.exists(), reason="needs memplan installed as a command"),
]
ROWS = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "my model.csv").write_text(ROWS)
    return tmp_path


def step(workspace: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], str, str]:
    given = {name: str(row.get("default", "")) for name, row in ACTION["inputs"].items()}
    given |= {"problem": "my model.csv", "memplan": str(MEMPLAN)}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    (check,) = (found for found in ACTION["runs"]["steps"] if found.get("id") == "check")
    environment = {name: _expand(value, given) for name, value in check["env"].items()}
    files = {name: workspace / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.write_text("")
    words = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", check["run"]]
    env = os.environ | environment | {name: str(path) for name, path in files.items()}
    done = subprocess.run(words, cwd=workspace, env=env, capture_output=True, text=True, timeout=120)
    outputs, summary = (path.read_text() for path in files.values())
    return done, outputs, summary


def _expand(value: str, inputs: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda match: inputs[match[1]], value)


def test_the_action_passes_within_the_budget_and_writes_reports(workspace: Path) -> None:
    done, outputs, summary = step(workspace, budget="96\n\n")
    assert (done.returncode, outputs) == (0, "passed=true\n")
    assert summary.startswith("## Memory of my model.csv: within limits")
    names = sorted(path.name for path in (workspace / "memplan-reports").iterdir())
    assert names == ["memplan.json", "memplan.md", "memplan.sarif", "memplan.xml"]


def test_the_action_fails_above_a_budget_with_the_reason_in_its_summary(workspace: Path) -> None:
    done, outputs, summary = step(workspace, budget="fast=64\nslow=31", reports="out/of here", tolerance="2%")
    assert (done.returncode, outputs) == (1, "passed=false\n")
    assert "over-budget: pool" in done.stderr
    assert "✗" in summary
    assert (workspace / "out" / "of here" / "memplan.sarif").exists()


def test_the_action_checks_a_folder_against_its_budgets_file(workspace: Path) -> None:
    (workspace / "budgets.toml").write_text('["my model.csv"]\nbudget = "95"\n')
    done, outputs, summary = step(workspace, problem=".", budgets="budgets.toml")
    assert (done.returncode, outputs) == (1, "passed=false\n")
    assert "over-budget" in done.stderr
    assert "my model.csv" in summary


def test_the_action_fails_if_memory_has_grown(workspace: Path) -> None:
    saved = workspace / "memory.json"
    subprocess.run([MEMPLAN, "check", workspace / "my model.csv", "--save-baseline", saved, "-q"], check=True)
    (workspace / "my model.csv").write_text(ROWS.replace("32", "33"))
    done, _, summary = step(workspace, baseline="memory.json")
    assert done.returncode == 1
    assert '"b" (+1 bytes, grown, was 32)' in done.stderr
    assert '| "b" | +1 | grown | 32 | 33 |' in summary


def test_wrong_input_fails_the_action_and_leaves_no_old_summary(workspace: Path) -> None:
    reports = workspace / "memplan-reports"
    reports.mkdir()
    (reports / "memplan.md").write_text("of another run")
    done, outputs, summary = step(workspace, options="--views\nseparate", time_limit="5")
    assert (done.returncode, outputs, summary) == (2, "passed=false\n", "")
    assert "applies only to models" in done.stderr


def test_file_names_are_not_run_as_shell_code(workspace: Path) -> None:
    name = "$(touch done) `touch done`; touch done.csv"
    (workspace / name).write_text(ROWS)
    done, _, _ = step(workspace, problem=name, budget="96")
    assert done.returncode == 0
    assert not (workspace / "done").exists()


def test_inputs_of_the_action_reach_the_shell_only_as_variables() -> None:
    for found in ACTION["runs"]["steps"]:
        assert "${{" not in found["run"]
    assert {name for found in ACTION["runs"]["steps"] for name in _inputs_of(found)} == ACTION["inputs"].keys()


def _inputs_of(found: dict[str, Any]) -> list[str]:
    return re.findall(r"inputs\.([a-z-]+)", " ".join([found.get("if", ""), *found.get("env", {}).values()]))


def test_the_action_installs_the_locked_versions() -> None:
    install = ACTION["runs"]["steps"][0]["run"]
    assert '--require-hashes --requirement "$GITHUB_ACTION_PATH/docker/action.lock"' in install
    locked = blocks_of("docker/action.lock")
    assert set(locked.items()) <= set(blocks_of("requirements.lock").items())
    assert {name for name, _ in locked} >= {"numpy", "pydantic", "click", "rich", "httpx", "onnx"}


def blocks_of(lock: str) -> dict[tuple[str, str], str]:
    texts = re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())
    found = (re.match(r"([\w.-]+)==\S+(.*)", text) for text in texts)
    return {(match[1], match[2]): text for match, text in zip(found, texts, strict=True) if match}


def test_the_action_installs_the_wheel_of_its_version_or_the_given_wheel(tmp_path: Path) -> None:
    (step,) = (found for found in ACTION["runs"]["steps"] if found["name"] == "Install memplan")
    pip = tmp_path / "memplan" / "bin" / "pip"
    pip.parent.mkdir(parents=True)
    pip.write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')  # in place of one that installs
    pip.chmod(0o755)
    for wheel, wanted in (("", f"memplan=={__version__}"), ("./a wheel.whl", "./a wheel.whl")):
        words = ["bash", "-e", "-o", "pipefail", "-c", f"python3() {{ :; }}\n{step['run']}"]
        env = os.environ | {"RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ROOT), "WHEEL": wheel}
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-2:] == ["--no-deps", wanted]
