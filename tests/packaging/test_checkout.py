"""A checkout after `pip install .`: Python in its folder imports the checkout but loads the installed core."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memplan.planner import __version__
from memplan.solvers.core.build import folders, library_of
from tests.support.house_copies import PACKAGES, ROOT

pytestmark = pytest.mark.slow
PAGES = ("README.md", "docs/plan.md", "docs/verify.md", "docs/explanations.md", "docs/liveness.md")
"""Pages whose Python examples need only the files in `examples/`."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which nothing was compiled, as `pip install .` leaves it."""
    place = tmp_path_factory.mktemp("checkout")
    for name in (*PACKAGES, "examples"):
        shutil.copytree(ROOT / name, place / name, symlinks=True, ignore=shutil.ignore_patterns("built", "__pycache__"))
    return place


@pytest.fixture
def installed_core(tmp_path: Path) -> Path:
    """Return a site folder with an installed core: its libraries and the `sources.txt` of their source hash."""
    (tmp_path / f"memplan-{__version__}.dist-info").mkdir()
    (tmp_path / f"memplan-{__version__}.dist-info" / "METADATA").write_text(f"Name: memplan\nVersion: {__version__}\n")
    for folder in folders(ROOT):
        built = library_of(folder).parent
        shutil.copytree(built, tmp_path / "memplan" / built.relative_to(ROOT))
    return tmp_path


def run(checkout: Path, site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Hides the environment's own memplan, which may be a checkout with a compiled core.
    hidden = {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=checkout, env=os.environ | hidden, capture_output=True, text=True, check=False)


def test_python_examples_run_in_a_checkout_with_the_installed_core(checkout: Path, installed_core: Path) -> None:
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    pages = [re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE) for text in texts]
    assert all(pages)
    program = "\n".join(f"names = {{}}\nfor code in {blocks!r}: exec(code, names)" for blocks in pages)
    done = run(checkout, installed_core, "-c", f"import memplan\n{program}\nprint(memplan.__file__)")
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, [str(checkout / "memplan" / "__init__.py")]), (
        done.stderr
    )


def test_python_m_memplan_in_a_checkout_uses_the_installed_core(checkout: Path, installed_core: Path) -> None:
    done = run(checkout, installed_core, "-m", "memplan", "plan", "examples/mobilenet_v2.csv", "--format", "peak")
    assert (done.returncode, done.stdout) == (0, '{"peak":1505280}\n'), done.stderr


def test_a_core_of_another_version_is_refused_by_its_version(checkout: Path, installed_core: Path) -> None:
    for note in installed_core.rglob("sources.txt"):
        note.write_text("0" * 64)
    for command in ("plan", "explain"):
        ran = run(checkout, installed_core, "-m", "memplan", command, "examples/mobilenet_v2.csv", "--capacity", "1MiB")
        said = f"the installed memplan {__version__} has other sources; build it with: python -m"
        assert (ran.returncode, said in ran.stderr) == (2, True), ran.stderr
