"""The wheel and the source archive: contents, metadata, and use in a fresh environment."""

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from memplan.planner import __version__
from memplan.planner.errors.extras import install_line
from memplan.solvers.core.build import SUFFIX, compiler_command, folders, library_of
from tests.support.compile_once import ONCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LINKED = {
    path.name: path.resolve().relative_to(ROOT).as_posix() for path in (ROOT / "memplan").iterdir() if path.is_symlink()
}
"""The symbolic links in the package `memplan`, mapped to the folders that they point to."""
ABOUT = f"memplan-{__version__}.dist-info"


@pytest.fixture(scope="module", autouse=True)
def _compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", shlex.join((*ONCE, *compiler_command())))
        yield


def build(project: Path, target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "sdist", tmp_path_factory.mktemp("source"))


def content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != f"{ABOUT}/RECORD"}


def tracked_files() -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "memplan", *LINKED.values()], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    names = {name if name.startswith("memplan/") else f"memplan/{_place_in_package(name)}" for name in listed}
    shown = subprocess.run(
        ["git", "ls-files", "examples"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    names |= {f"memplan/{name}" for name in shown if not name.startswith("examples/problems/")}
    names = {name for name in names if not re.match(r"memplan/extensions/\w+/tests/", name)}
    return names - {f"memplan/{name}" for name in LINKED}


def _place_in_package(name: str) -> str:
    link, folder = next((link, folder) for link, folder in LINKED.items() if name.startswith(f"{folder}/"))
    return f"{link}{name.removeprefix(folder)}"


def test_the_wheel_contains_one_package_and_the_command(wheel: Path) -> None:
    names = content(wheel)
    assert {name.partition("/")[0] for name in names} == {"memplan", ABOUT}
    needed = {"py.typed", "solvers/core/pack.hpp", "api/cli/main.py", "api/store/schema.py"}
    assert {f"memplan/{name}" for name in needed} <= set(names)
    assert b"memplan = memplan.api.cli.main:main" in names[f"{ABOUT}/entry_points.txt"]


def test_the_wheel_metadata_has_no_direct_references_and_only_absolute_links(wheel: Path) -> None:
    about = content(wheel)[f"{ABOUT}/METADATA"].decode()
    head = about.partition("\n\n")[0]
    assert " @ " not in head
    assert "License-Expression: Apache-2.0 AND MIT" in head
    assert re.findall(r"^License-File: (\S+)$", head, re.MULTILINE) == ["LICENSE"]
    bundled = content(wheel)["memplan/extensions/page/static/vendor/LICENSES.txt"]
    assert all(word in bundled for word in (b"preact", b"The MIT License", b"htm"))
    home = re.findall(r"^Project-URL: Source, (\S+)$", about, re.MULTILINE)[0]
    links = re.findall(r"\]\(([^)\s]+)\)", about)
    assert len(links) > 20
    for link in links:
        assert link.startswith(f"{home}/blob/v{__version__}/")
        assert (ROOT / re.split("[#?]", link.removeprefix(f"{home}/blob/v{__version__}/"))[0]).exists()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_the_wheel_contains_exactly_the_files_in_version_control(wheel: Path) -> None:
    libraries = [library_of(folder) for folder in folders(ROOT)]
    places = [place for path in libraries for place in (path, path.with_name("sources.txt"))]
    made = {f"memplan/{place.relative_to(ROOT)}" for place in places}
    assert {name for name in content(wheel) if name.startswith("memplan/")} == tracked_files() | made


def test_the_wheel_is_tagged_for_its_platform_and_any_python_3(wheel: Path) -> None:
    assert platform.machine() in wheel.name
    assert "-py3-none-" in wheel.name


def test_compiled_libraries_in_the_wheel_are_small_and_need_only_the_c_library(wheel: Path, tmp_path: Path) -> None:
    libraries = {name: data for name, data in content(wheel).items() if name.endswith(SUFFIX)}
    assert len(libraries) == len(folders(ROOT))
    assert sum(map(len, libraries.values())) < 930_000
    for name, data in libraries.items():
        file = tmp_path / Path(name).name
        file.write_bytes(data)
        listed = subprocess.run(["readelf", "--dynamic", str(file)], check=True, capture_output=True, text=True).stdout
        assert set(re.findall(r"NEEDED.*\[(.*?)\]", listed)) <= {"libc.so.6"}


def test_a_source_archive_contains_files_instead_of_links_and_builds_the_same_wheel(
    wheel: Path, source: Path, tmp_path: Path
) -> None:
    with tarfile.open(source) as archive:
        assert not [member.name for member in archive if member.issym() or member.islnk()]
        names = archive.getnames()
        assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", "axe.min.js"))]
        filtered: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not before 3.11.4
        archive.extractall(tmp_path / "source", **filtered)
    again = build(tmp_path / "source" / source.name.removesuffix(".tar.gz"), "wheel", tmp_path / "wheel")
    assert content(again) == content(wheel)


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with the wheel, and with access to the other packages of this environment."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place)
    index = place / "index" / "memplan"
    index.mkdir(parents=True)
    shutil.copy(wheel, index)
    # A directory listing serves as a package index page.
    served = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(index.parent)))
    Thread(target=served.serve_forever, daemon=True).start()
    pip(place, "--no-deps", "--index-url", f"http://127.0.0.1:{served.server_port}", f"memplan=={__version__}")
    served.shutdown()
    served.server_close()
    site = site_of(place)
    assert {path.name for path in site.iterdir()} == {"memplan", ABOUT}
    (site / "beside.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return place


def site_of(environment: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))


def pip(environment: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--isolated", "--python", str(python_of(environment)), "install"]
    settings = {name: value for name, value in clean_environment().items() if not name.startswith("PIP_")}
    done = subprocess.run([*command, "-q", *arguments], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def python_of(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def clean_environment() -> dict[str, str]:
    """Return the environment variables without those named PYTHON*, which could expose the checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def test_readme_and_getting_started_examples_run_from_an_installed_wheel(environment: Path, tmp_path: Path) -> None:
    # test_docs.py compares the outputs that these pages show.
    for page in ("README.md", "docs/getting-started.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            if language == "python":
                run(environment, tmp_path, [str(python_of(environment)), "-c", block])
            for shown in re.findall(r"^\$ cat (\S+)\n((?:[^$\n].*\n)+)", block, re.MULTILINE):
                (tmp_path / shown[0]).write_text(shown[1], encoding="utf-8")
            for line in re.findall(r"^(?:\$ )?(memplan .*)$", block, re.MULTILINE):
                name, *arguments = shlex.split(line, comments=True)
                run(environment, tmp_path, [str(python_of(environment).with_name(name)), *arguments])
    assert {"plan.svg", "plan.json", "arena.c", "arena.h", "examples"} <= {path.name for path in tmp_path.iterdir()}


def run(environment: Path, folder: Path, command: list[str]) -> None:
    done = subprocess.run(command, cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 or "infeasible" in done.stdout, (command, done.stdout, done.stderr)


def test_an_installed_wheel_is_imported_from_site_packages_and_adds_extras(environment: Path, tmp_path: Path) -> None:
    command = [str(python_of(environment)), "-c", "import memplan; print(memplan.__file__)"]
    found = subprocess.run(
        command, cwd=tmp_path, env=clean_environment(), check=True, capture_output=True, text=True
    ).stdout
    assert Path(found.strip()) == site_of(environment) / "memplan" / "__init__.py"
    # The printed install line for a missing package works offline, because memplan itself is installed.
    pip(environment, "--no-index", *(shlex.split(install_line("sqlalchemy"))[2:]), "memplan[engines,onnx]")


def ignored_names(folder: str, _: list[str]) -> set[str]:
    """Return the names in a folder that `.dockerignore` excludes: caches, and the core's `built` but not the page's."""
    return {"__pycache__", *(["built"] if Path(folder).name == "core" else [])}


def test_the_docker_build_context_yields_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for name in (line.removeprefix("!") for line in lines if line.startswith("!")):
        if (ROOT / name).is_dir():  # Docker's COPY keeps links; their target folders are copied too
            shutil.copytree(ROOT / name, tmp_path / "context" / name, symlinks=True, ignore=ignored_names)
        else:
            (tmp_path / "context" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / "context" / name)
    for name in LINKED:  # a Windows checkout has text files with the target in place of links
        link = tmp_path / "context" / "memplan" / name
        assert link.is_symlink()
        target = str(link.readlink())
        link.unlink()
        link.write_text(target, encoding="utf-8")
    assert content(build(tmp_path / "context", "wheel", tmp_path / "wheel")) == content(wheel)
