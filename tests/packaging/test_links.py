"""Links between pages lead somewhere, and each page of `docs/` begins with its readers."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("*.py", "*.toml", "*.yml", "*.yaml", "*.h", "*.c", "*.js", "Dockerfile")


def listed(*patterns: str) -> list[str]:
    """Return the names of the repository's files that match."""
    command = ["git", "ls-files", *patterns]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def without_code(text: str) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors that a forge makes of the headings of a page: small letters, spaces as hyphens."""
    headings = re.findall(r"^#+ (.*)$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


@pytest.mark.parametrize("name", [name for name in listed("*.md") if "/vendor/" not in name])
def test_links_of_a_page_lead_somewhere(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8")))
    broken = []
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        found = (page.parent / target).resolve() if target else page
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(link)
    assert broken == []


def test_pages_that_sources_name_exist() -> None:
    named = {
        (file, page)
        for file in listed(*SOURCES)
        for page in re.findall(r"\bdocs/[\w/-]+\.(?:md|svg|png)\b", (ROOT / file).read_text(encoding="utf-8"))
    }
    assert sorted((file, page) for file, page in named if not (ROOT / page).exists()) == []


def test_sources_that_pages_name_exist() -> None:
    pages = ["CONTRIBUTING.md", *listed("docs/*.md")]
    named = {
        (page, file)
        for page in pages
        for file in re.findall(
            r"`((?:api|capabilities|checkers|lab|planner|solvers|systems|tests)/[\w/]+\.(?:py|c|js))\b",
            (ROOT / page).read_text(encoding="utf-8"),
        )
        if not re.search("NAME|KIND", file)
    }
    assert len(named) > 30
    assert sorted((page, file) for page, file in named if not (ROOT / file).exists()) == []


def test_pages_begin_with_their_readers() -> None:
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name != "glossary.md"]
    third = {page.name: page.read_text(encoding="utf-8").split("\n")[2] for page in pages}
    assert [name for name, line in third.items() if not line.startswith("> For ")] == []


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"({page.name})" not in index] == ["README.md"]


def test_the_index_of_decisions_names_each_once_and_stars_ten() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    files = sorted(page.name for page in folder.glob("*.md") if page.name != "README.md")
    assert sorted(re.findall(r"\]\(([^)]+)\)", index)) == files
    assert index.count("★ [") == 10
