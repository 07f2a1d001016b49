"""The documentation site builds strictly, without broken links, and documents every public Python name."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import memplan

pytest.importorskip("mkdocs", reason="needs the extra docs")
pytest.importorskip("material", reason="needs the extra docs")
ROOT = Path(__file__).parents[2]


def build_site(project: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a checkout into a folder; a strict build fails on a warning, which `--quiet` would suppress."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build_site(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("link", ["missing.md", "plan.md#no-such-heading"])
def test_a_broken_link_or_anchor_fails_the_build_of_the_site(link: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for name in ("mkdocs.yml", "lab/site_pages.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    with (tmp_path / "docs" / "page.md").open("a", encoding="utf-8") as page:
        page.write(f"\nSee [there]({link}).\n")
    done = build_site(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert f"'{link}'" in done.stdout + done.stderr


@pytest.mark.slow
def test_every_document_becomes_a_site_page_without_third_party_scripts_or_fonts(site: Path) -> None:
    documents = [page.stem for page in (ROOT / "docs").glob("*.md") if page.name != "README.md"]
    assert [name for name in documents if not (site / name / "index.html").exists()] == []
    start = (site / "index.html").read_text(encoding="utf-8")
    assert 'src="http' not in start
    assert "fonts.g" not in start


@pytest.mark.slow
def test_the_python_page_of_the_site_lists_every_public_name(site: Path) -> None:
    page = (site / "python" / "index.html").read_text(encoding="utf-8")
    assert [name for name in memplan.__all__ if name[0] != "_" and f">{name}<a" not in page] == []
    assert "may_share</code></td>" in page


@pytest.mark.slow
def test_the_search_index_of_the_site_contains_common_terms(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    text = " ".join(entry["text"] for entry in entries)
    assert [word for word in ("memplan_choose", "may_share", "--together", "dynamic batch") if word not in text] == []
