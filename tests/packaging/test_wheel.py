"""What an installation gets: one package, and nothing else, from a checkout and from a source archive alike."""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import pytest

from memplan.planner import __version__
from memplan.solvers.core.build import SUFFIX, compiler_command, folders, library_of
from tests.support.compile_once import ONCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LINKED = {
    path.name: path.resolve().relative_to(ROOT).as_posix() for path in (ROOT / "memplan").iterdir() if path.is_symlink()
}
"""The names of the links in the package, and the folders that they lead to."""
ABOUT = f"memplan-{__version__}.dist-info"


@pytest.fixture(scope="module", autouse=True)
def _compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", shlex.join((*ONCE, *compiler_command())))
        yield


def build(project: Path, target: str, folder: Path) -> Path:
    """Build a wheel or a source archive of a project."""
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
    """Return the files of a wheel, without the list of them that it carries."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != f"{ABOUT}/RECORD"}


def modules(names: Set[str]) -> set[str]:
    """Return the files of the packages among the names in an archive or a folder."""
    return {name for name in names if name.startswith("memplan/")}


def tracked() -> set[str]:
    """Return the version-controlled files of the packages, by their places in the wheel."""
    listed = subprocess.run(
        ["git", "ls-files", "memplan", *LINKED.values()],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    names = {name if name.startswith("memplan/") else f"memplan/{_inside(name)}" for name in listed}
    shown = subprocess.run(
        ["git", "ls-files", "examples"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    names |= {f"memplan/{name}" for name in shown if not name.startswith("examples/problems/")}
    names = {name for name in names if not re.match(r"memplan/extensions/(\w+/tests|checkers/verified)/", name)}
    return names - {f"memplan/{name}" for name in LINKED}


def _inside(name: str) -> str:
    """Return the place in the package of a file in a folder that the package has a link to."""
    link, folder = next((link, folder) for link, folder in LINKED.items() if name.startswith(f"{folder}/"))
    return f"{link}{name.removeprefix(folder)}"


def test_the_wheel_holds_one_package_and_the_command(wheel: Path) -> None:
    names = content(wheel)
    assert {name.partition("/")[0] for name in names} == {"memplan", ABOUT}
    assert {
        "memplan/py.typed",
        "memplan/solvers/core/pack.hpp",
        "memplan/api/cli/main.py",
        "memplan/api/store/schema.py",
    } <= set(names)
    assert b"memplan = memplan.api.cli.main:main" in names[f"{ABOUT}/entry_points.txt"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_the_wheel_contains_exactly_the_files_in_version_control(wheel: Path) -> None:
    made = {
        f"memplan/{place.relative_to(ROOT)}"
        for folder in folders(ROOT)
        for place in (library_of(folder), library_of(folder).with_name("sources.txt"))
    }
    assert modules(content(wheel).keys()) == tracked() | made


def test_a_wheel_is_for_its_platform_and_any_python(wheel: Path) -> None:
    assert platform.machine() in wheel.name
    assert "-py3-none-" in wheel.name


def test_a_library_needs_the_c_library_alone_and_is_small(wheel: Path, tmp_path: Path) -> None:
    libraries = {name: data for name, data in content(wheel).items() if name.endswith(SUFFIX)}
    assert len(libraries) == len(folders(ROOT))
    assert sum(map(len, libraries.values())) < 800_000
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
        assert not [name for name in archive.getnames() if "__pycache__" in name or name.endswith(".pyc")]
        filtered: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not before 3.11.4
        archive.extractall(tmp_path / "source", **filtered)
    again = build(tmp_path / "source" / source.name.removesuffix(".tar.gz"), "wheel", tmp_path / "wheel")
    assert content(again) == content(wheel)


def test_an_installed_wheel_is_one_folder_that_works_anywhere(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    assert {path.name for path in target.iterdir()} - {"bin"} == {"memplan", ABOUT}
    program = (
        f"import sys; sys.path.insert(0, {str(target)!r}); import memplan\n"
        "plan = memplan.solve(memplan.Problem(buffers=[memplan.Buffer(id='a', size=4, start=0, end=1)]))\n"
        "print(memplan.__file__, plan.peak)"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert found.stdout == f"{target / 'memplan' / '__init__.py'} 4\n"


def left_out(folder: str, _: list[str]) -> set[str]:
    """Return what `.dockerignore` leaves out of a folder: the page's bundles are in one named `built`, too."""
    return {"__pycache__", *(["built"] if Path(folder).name == "core" else [])}


def test_the_files_of_the_container_make_the_same_wheel_without_links(wheel: Path, tmp_path: Path) -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for name in (line.removeprefix("!") for line in lines if line.startswith("!")):
        if (ROOT / name).is_dir():  # COPY keeps links, which lead to folders that are copied as well
            shutil.copytree(ROOT / name, tmp_path / "context" / name, symlinks=True, ignore=left_out)
        else:
            (tmp_path / "context" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / "context" / name)
    for name in LINKED:  # a checkout on Windows has files in their place, which say where they lead
        link = tmp_path / "context" / "memplan" / name
        assert link.is_symlink()
        target = str(link.readlink())
        link.unlink()
        link.write_text(target, encoding="utf-8")
    assert content(build(tmp_path / "context", "wheel", tmp_path / "wheel")) == content(wheel)
