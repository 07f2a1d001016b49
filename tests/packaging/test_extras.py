"""Each extra provides what its documentation says if nothing else is installed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from lab.extras import BASE, PROGRAMS, ROOT, missing_packages, run_alone, unrelated_packages
from memplan.planner.errors.extras import PACKAGES

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_each_extra_has_a_program() -> None:
    assert PROGRAMS.keys() == {BASE, *EXTRAS} - {"dev"}


@pytest.mark.parametrize(("extra", "package"), [(BASE, "sqlalchemy"), ("executorch", "sqlalchemy"), ("onnx", "psutil")])
def test_packages_outside_of_an_extra_are_hidden(extra: str, package: str) -> None:
    assert package in unrelated_packages(extra)
    assert not {"numpy", "memplan", "httpx", "anyio"} & set(unrelated_packages(extra))


def test_an_extra_brings_the_packages_that_are_named_with_it() -> None:
    for extra, packages in PACKAGES.items():
        assert set(packages).isdisjoint(unrelated_packages(extra)), extra


@pytest.mark.slow
@pytest.mark.parametrize(
    "extra", [each if each in (BASE, "server") else pytest.param(each, marks=pytest.mark.deep) for each in PROGRAMS]
)
def test_each_extra_alone_provides_its_documented_features(extra: str, tmp_path: Path) -> None:
    if missing_packages(extra):
        pytest.skip(f"not installed: {', '.join(missing_packages(extra))}")
    done = run_alone(extra, tmp_path)
    assert done.returncode == 0, done.stderr
