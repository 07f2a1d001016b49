"""The Bazel rules: loaded as Starlark, analysed and executed without Bazel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.bazel_rules import Workspace
from tests.support.profiled import PROFILED

ROOT = Path(__file__).parents[2]
MEMPLAN = Path(sys.executable).with_name("memplan")
ROWS = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n"
pytestmark = pytest.mark.skipif(not MEMPLAN.exists(), reason="needs memplan installed as a command")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "buffers.csv").write_text(ROWS)
    return Workspace(tmp_path)


def declare(workspace: Workspace, rule: str, name: str, **attributes: Any) -> None:
    """Declare a target as in a BUILD file."""
    workspace.load(ROOT / "bazel" / "defs.bzl")[rule](
        name=name, problem="buffers.csv", memplan=str(MEMPLAN), **attributes
    )


def run_target(workspace: Workspace, name: str) -> subprocess.CompletedProcess[str]:
    """Run a test target with the environment that Bazel sets; return the finished process."""
    executable = workspace.targets[name].executable
    assert executable is not None
    environment = os.environ | {"XML_OUTPUT_FILE": str(workspace.folder / "test.xml")}
    command = [f"./{executable.path}"]
    return subprocess.run(
        command, cwd=workspace.folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_bazel_rule_memplan_plan_generates_c_sources(workspace: Workspace) -> None:
    declare(workspace, "memplan_plan", "arena", capacity=["sram=1KiB"], budget=["sram=96"])
    check, export = workspace.actions
    assert (check().returncode, export().returncode) == (0, 0)
    files = {file.path for file in workspace.targets["arena"].files}
    assert files == {"arena.c", "arena.h", "arena.json", "arena.md"}
    assert "#define ARENA_POOL_SIZE_sram 96u" in (workspace.folder / "arena.h").read_text()
    if shutil.which("cc") is not None:
        subprocess.run(["cc", "-std=c11", "-c", "arena.c", "-o", "arena.o"], cwd=workspace.folder, check=True)


def test_the_bazel_attribute_profile_selects_the_filled_pool(workspace: Workspace) -> None:
    (workspace.folder / "buffers.csv").write_text(json.dumps(PROFILED))
    declare(workspace, "memplan_plan", "arena", budget=["slow=100"], profile="size", to="malloc-c")
    assert workspace.actions[0]().returncode == 0
    assert json.loads((workspace.folder / "arena.json").read_text())["pools"][0]["used"] == 0


def test_a_bazel_build_fails_above_its_budget(workspace: Workspace) -> None:
    declare(workspace, "memplan_plan", "arena", budget=["95"], to="malloc-c")
    done = workspace.actions[0]()
    assert done.returncode == 1
    assert "over-budget" in done.stderr


def test_a_bazel_build_is_checked_against_its_table_in_a_budgets_file(workspace: Workspace) -> None:
    (workspace.folder / "budgets.toml").write_text('["buffers.csv"]\nbudget = 95\n["elsewhere.tflite"]\nbudget = 1\n')
    declare(workspace, "memplan_plan", "arena", budgets="budgets.toml", to="malloc-c")
    done = workspace.actions[0]()
    assert (done.returncode, "over-budget" in done.stderr) == (1, True)
    declare(workspace, "memplan_check_test", "memory_test", budgets="budgets.toml")
    assert run_target(workspace, "memory_test").returncode == 1


def test_a_bazel_test_fails_after_growth_and_writes_a_junit_log(workspace: Workspace) -> None:
    baseline = workspace.folder / "it's memory.json"
    subprocess.run([MEMPLAN, "check", workspace.folder / "buffers.csv", "--save-baseline", baseline, "-q"], check=True)
    declare(workspace, "memplan_check_test", "memory_test", baseline="it's memory.json", tolerance="1%")
    info = workspace.targets["memory_test"]
    assert {file.path for file in info.runfiles} == {"buffers.csv", str(MEMPLAN), "it's memory.json"}
    assert run_target(workspace, "memory_test").returncode == 0
    (workspace.folder / "buffers.csv").write_text(ROWS.replace("32", "33"))
    done = run_target(workspace, "memory_test")
    assert (done.returncode, done.stdout) == (1, "")
    (failure,) = ET.parse(workspace.folder / "test.xml").getroot().iter("failure")
    assert failure.get("type") == "grown"
    assert '"b" (+1 bytes, grown, was 32)' in (failure.get("message") or "")


@pytest.mark.parametrize("attributes", [{"to": "rust"}, {"size": "5"}, {"budget": "5"}])
def test_the_bazel_rule_refuses_wrong_attributes(attributes: dict[str, Any], workspace: Workspace) -> None:
    with pytest.raises(AssertionError):
        declare(workspace, "memplan_plan", "arena", **attributes)


def test_every_attribute_of_the_bazel_rules_is_documented(workspace: Workspace) -> None:
    rules = workspace.load(ROOT / "bazel" / "defs.bzl")
    assert all(row.doc for row in rules["_PROBLEM_ATTRS"].values())
