"""The Dockerfile and its related files, checked without building an image."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.support.server import RunningServer

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
LAST_STAGE = DOCKERFILE[DOCKERFILE.index("FROM scratch AS runtime") :]
"""The stage of what runs, and the two stages that add packages to it: with engines, and by default without."""


def test_every_docker_stage_uses_the_base_image_and_images_are_pinned_by_digest() -> None:
    base, *stages = re.findall(r"^(?:ARG|FROM) .*", DOCKERFILE, re.MULTILINE)
    first = ["${BASE} AS build", "build AS lean", "${BASE} AS base"]
    last = ["scratch AS runtime", "runtime AS engines", "runtime"]
    assert [line.removeprefix("FROM ") for line in stages] == first + last
    others = re.findall(r"^ +image: (?!memplan$)(.*)", (ROOT / "docker/compose.yml").read_text(), re.MULTILINE)
    for image in (base, *others):
        assert re.search(r"@sha256:[0-9a-f]{64}$", image)


def test_the_container_image_does_not_run_as_root() -> None:
    (user,) = re.findall(r"^USER (\d+):(\d+)$", LAST_STAGE, re.MULTILINE)
    assert "0" not in user


def test_the_last_docker_stage_runs_no_command_and_has_a_health_check() -> None:
    assert "RUN" not in LAST_STAGE
    assert "HEALTHCHECK" in LAST_STAGE


def test_the_default_command_of_the_image_states_that_no_keys_are_required() -> None:
    (command,) = re.findall(r"^CMD (\[.*\])$", LAST_STAGE, re.MULTILINE)
    assert json.loads(command) == ["serve", "--host", "0.0.0.0", "--port", "8000", "--without-keys"]


def test_the_image_stores_data_in_a_volume_writable_by_its_user() -> None:
    (volume,) = re.findall(r"^VOLUME (\S+)$", LAST_STAGE, re.MULTILINE)
    assert f"MEMPLAN_DATA_FOLDER={volume}\n" in LAST_STAGE
    assert f"COPY --from=build --chown=10001:10001 {volume} {volume}\n" in LAST_STAGE


@pytest.mark.parametrize("name", ["requirements.lock", "docker/build.lock"])
def test_installed_packages_are_locked_by_hashes(name: str) -> None:
    blocks = re.split(r"\n(?=\S)", (ROOT / name).read_text().strip())
    assert all("==" in block and "--hash=sha256:" in block for block in blocks if not block.startswith("#"))


def test_every_dependency_is_in_a_lock_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    locks = {"requirements.lock": project["project"]["dependencies"], "docker/build.lock": ["hatchling"]}
    for name, asked in locks.items():
        locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / name).read_text(), re.MULTILINE))
        assert {re.split(r"[<>=\[ ]", text)[0] for text in asked} <= locked


def test_files_copied_by_the_docker_build_are_in_its_context() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert let_in >= {*wheel["packages"], "requirements.lock", "docker/build.lock", "pyproject.toml"}
    assert all((ROOT / name).exists() for name in let_in)


def test_the_smoke_test_passes_on_a_running_service(server: RunningServer) -> None:
    words = ["sh", str(ROOT / "docker/smoke.sh"), f"http://127.0.0.1:{server.port}"]
    env = os.environ | {"MEMPLAN_SOLVERS": "auto,cp-sat,highs,cbc"}
    tried = subprocess.run(words, env=env, capture_output=True, text=True)
    assert tried.returncode == 0, tried.stderr
    assert "it plans, verifies and refuses what is wrong" in tried.stdout


def test_the_container_script_reports_a_skip_without_its_build_tool(tmp_path: Path) -> None:
    (tmp_path / "project" / "docker").mkdir(parents=True)
    script = shutil.copy(ROOT / "docker/ci.sh", tmp_path / "project" / "docker" / "ci.sh")
    done = subprocess.run(["sh", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "container: skipped, since there is no ../shared/tools/build-image\n")


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_dependency_ranges_and_locks_exclude_vulnerable_versions(lock: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE))
    for extra, name, least in (
        ("server", "python-json-logger", "3.3"),
        ("server", "httptools", "0.6.3"),
        ("onnx", "onnx", "1.19"),
    ):
        (bound,) = (each for each in extras[extra] if each.startswith(f"{name}>="))
        assert f"{name}>={least}" == bound.partition(",")[0]
        assert [*map(int, pinned[name].split("."))] >= [*map(int, least.split("."))]
