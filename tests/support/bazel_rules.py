"""A stand-in for Bazel that can run `bazel/defs.bzl`: it loads the file, analyses targets and runs their actions.

Starlark is a subset of Python, so Python can run it. Bazel's sandboxes, caches and graph of targets are not modelled.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_FORBIDDEN = (
    ast.ClassDef,
    ast.Try,
    ast.While,
    ast.With,
    ast.Import,
    ast.ImportFrom,
    ast.Raise,
    ast.Assert,
    ast.Yield,
    ast.JoinedStr,
    ast.Is,
    ast.IsNot,
    ast.Global,
    ast.Set,
    ast.NamedExpr,
    ast.AnnAssign,
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
    """The declaration of one attribute of a rule."""

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

    def merge(self, other: Sequence[File]) -> Runfiles:
        return Runfiles((*self, *other))


@dataclass
class Workspace:
    """A folder with targets: their declared files, and the actions that create the files, in order."""

    folder: Path
    actions: list[Callable[[], subprocess.CompletedProcess[str]]] = field(default_factory=list)
    targets: dict[str, DefaultInfo] = field(default_factory=dict)

    def load(self, path: Path) -> dict[str, Any]:
        """Run a .bzl file, and return its definitions by name."""
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            assert not isinstance(node, _FORBIDDEN), f"line {getattr(node, 'lineno', '?')}: not Starlark"
        kinds = ("label", "string", "string_list", "int", "output")
        makers = {kind: lambda kind=kind, **said: Attribute(kind, **said) for kind in kinds}
        known: dict[str, Any] = {
            "attr": SimpleNamespace(**makers),
            "rule": self._rule,
            "DefaultInfo": DefaultInfo,
            "depset": tuple,
            "__builtins__": {"dict": dict, "list": list, "str": str},
        }
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
        expected: dict[str, type] = {"string_list": list, "int": int}
        assert isinstance(given, expected.get(row.kind, str)), f"{name}: {given!r}"
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
