"""The Bazel rules: loaded as Starlark, analysed and executed without Bazel."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.profiled import PROFILED

_FORBIDDEN = (
    *(ast.ClassDef, ast.Try, ast.While, ast.With, ast.Import, ast.ImportFrom, ast.Raise, ast.Assert, ast.Yield),
    *(ast.JoinedStr, ast.Is, ast.IsNot, ast.Global, ast.Set, ast.NamedExpr, ast.AnnAssign),
)
_MISSING = object()


@dataclass(frozen=True)
class File:
    """A file of the build; paths are relative to the folder where actions run."""

    path: str

    @property
    def short_path(self) -> str:
        return self.path


@dataclass(frozen=True)
class Attribute:
    kind: str
    default: Any = None
    mandatory: bool = False
    values: Sequence[str] = ()
    allow_single_file: bool = False
    executable: bool = False
    cfg: str | None = None
    doc: str = ""


@dataclass(frozen=True)
class DefaultInfo:
    """The files that a target provides to other targets."""

    files: Sequence[File] = ()
    executable: File | None = None
    runfiles: Any = None


class Runfiles(tuple[File, ...]):
    """The files that a test needs when it runs."""

    def merge(self, other: Sequence[File]) -> "Runfiles":
        return Runfiles((*self, *other))


@dataclass
class Workspace:
    """A folder with targets: their declared files, and the actions that create the files, in order."""

    folder: Path
    actions: list[Callable[[], subprocess.CompletedProcess[str]]] = field(default_factory=list)
    targets: dict[str, DefaultInfo] = field(default_factory=dict)

    def load(self, path: Path) -> dict[str, Any]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            assert not isinstance(node, _FORBIDDEN), f"line {getattr(node, 'lineno', '?')}: not Starlark"
        kinds = ("label", "string", "string_list", "int", "output")
        attr = SimpleNamespace(**{kind: lambda kind=kind, **said: Attribute(kind, **said) for kind in kinds})
        own: dict[str, Any] = {"attr": attr, "rule": self._rule, "DefaultInfo": DefaultInfo, "depset": tuple}
        known = own | {"__builtins__": {"dict": dict, "list": list, "str": str}}
        exec(compile(tree, str(path), "exec"), known)
        return known

    def _rule(
        self, *, implementation: Callable[[Any], list[DefaultInfo]], attrs: Mapping[str, Attribute], doc: str, **_: bool
    ) -> Callable[..., None]:
        def declare(name: str, **given: Any) -> None:
            unknown = given.keys() - attrs.keys()
            assert not unknown, f"{name}: no such attributes: {unknown}"
            values = {key: self._value(key, row, given.get(key, _MISSING)) for key, row in attrs.items()}
            (self.targets[name],) = implementation(self._context(name, attrs, values))

        return declare

    @staticmethod
    def _value(name: str, row: Attribute, given: Any) -> Any:
        if given is _MISSING:
            assert not row.mandatory, f"{name} is mandatory"
            return {"string_list": [], "string": row.default or "", "int": row.default or 0}.get(row.kind)
        assert isinstance(given, {"string_list": list, "int": int}.get(row.kind, str)), f"{name}: {given!r}"
        assert not row.values or given in row.values, f"{name}: {given!r}"
        return given

    def _context(self, name: str, attrs: Mapping[str, Attribute], values: Mapping[str, Any]) -> Any:
        def files(wanted: Callable[[Attribute], bool]) -> SimpleNamespace:
            chosen = {key: values[key] for key, row in attrs.items() if wanted(row)}
            return SimpleNamespace(**{key: None if path is None else File(path) for key, path in chosen.items()})

        targets = {key: {DefaultInfo: SimpleNamespace(default_runfiles=())} for key in attrs if attrs[key].executable}
        return SimpleNamespace(
            label=SimpleNamespace(name=name),
            attr=SimpleNamespace(**{**values, **targets}),
            file=files(lambda row: row.allow_single_file),
            executable=files(lambda row: row.executable),
            outputs=files(lambda row: row.kind == "output"),
            runfiles=lambda files: Runfiles(files),
            actions=SimpleNamespace(run=self._run, write=self._write, declare_file=File),
        )

    def _run(
        self,
        *,
        executable: File,
        arguments: list[str],
        inputs: list[File],
        outputs: list[File],
        mnemonic: str,
        progress_message: str,
    ) -> None:
        def act() -> subprocess.CompletedProcess[str]:
            for file in inputs:
                assert (self.folder / file.path).exists(), f"{mnemonic}: {file.path} is made by no action before"
            command = [executable.path, *arguments]
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
            if done.returncode == 0:
                for file in outputs:
                    assert (self.folder / file.path).exists(), f"{mnemonic}: did not make {file.path}"
            return done

        assert mnemonic.isalnum()
        assert progress_message
        self.actions.append(act)

    def _write(self, *, output: File, content: str, is_executable: bool) -> None:
        path = self.folder / output.path
        path.write_text(content)
        path.chmod(0o755 if is_executable else 0o644)


ROOT = Path(__file__).parents[2]
MEMPLAN = Path(sys.executable).with_name("memplan")
ROWS = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n"
pytestmark = pytest.mark.skipif(not MEMPLAN.exists(), reason="needs memplan installed as a command")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "buffers.csv").write_text(ROWS)
    return Workspace(tmp_path)


def declare(workspace: Workspace, rule: str, name: str, **more: Any) -> None:
    workspace.load(ROOT / "bazel" / "defs.bzl")[rule](name=name, problem="buffers.csv", memplan=str(MEMPLAN), **more)


def run_target(workspace: Workspace, name: str) -> subprocess.CompletedProcess[str]:
    executable = workspace.targets[name].executable
    assert executable is not None
    environment = os.environ | {"XML_OUTPUT_FILE": str(workspace.folder / "test.xml")}
    command = [f"./{executable.path}"]
    return subprocess.run(command, cwd=workspace.folder, env=environment, capture_output=True, text=True, timeout=60)


def test_the_bazel_rule_memplan_plan_generates_c_sources(workspace: Workspace) -> None:
    declare(workspace, "memplan_plan", "arena", capacity=["sram=1KiB"], budget=["sram=96"])
    check, export = workspace.actions
    assert (check().returncode, export().returncode) == (0, 0)
    assert {file.path for file in workspace.targets["arena"].files} == {"arena.c", "arena.h", "arena.json", "arena.md"}
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
    assert all(row.doc for row in workspace.load(ROOT / "bazel" / "defs.bzl")["_PROBLEM_ATTRS"].values())
