"""Each extra, installed alone, provides its documented features."""

import tomllib
from pathlib import Path

import pytest

from lab.extras import BASE, PROGRAMS, ROOT, missing_packages, run_alone, unrelated_packages
from memplan.planner.errors.extras import PACKAGES

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_each_extra_has_a_test_program() -> None:
    assert PROGRAMS.keys() == {BASE, *EXTRAS} - {"dev"}


@pytest.mark.parametrize(("extra", "package"), [(BASE, "sqlalchemy"), ("executorch", "sqlalchemy"), ("onnx", "psutil")])
def test_packages_outside_an_extra_are_hidden_from_its_test_program(extra: str, package: str) -> None:
    assert package in unrelated_packages(extra)
    assert not {"numpy", "memplan", "httpx", "anyio"} & set(unrelated_packages(extra))


def test_an_extra_includes_the_packages_listed_for_it() -> None:
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
