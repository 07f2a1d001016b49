"""The README and the documentation pages: commands succeed, links resolve, and indexes are complete."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from memplan.api.cli.main import main
from memplan.solvers.portfolio import registry

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")


@pytest.fixture
def examples_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["examples"]) == 0
    shutil.rmtree("examples/problems")  # an installed memplan does not write this folder
    return tmp_path


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in a language; for "", the blocks without a language."""
    every = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return [code for named, code in every if named == language]


def test_the_commands_of_the_readme_and_reference_succeed(examples_folder: Path) -> None:
    lines = [line for page in (README, COMMANDS) for block in blocks(page, "sh") for line in block.splitlines()]
    assert len(lines) > 15
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        assert (program, line, main(arguments)) == ("memplan", line, 0)
    assert {"plan.json", "plan.svg", "problem.json", "program.lp"} <= {path.name for path in examples_folder.iterdir()}


def test_a_missing_example_file_is_reported_with_the_command_that_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "examples/mobilenet_v2.csv"]) == 2
    (command,) = re.findall("`memplan ([a-z]+)`", capfd.readouterr().err)
    assert (main([command]), main(["plan", "examples/mobilenet_v2.csv"])) == (0, 0)


def test_the_python_of_the_readme_runs(examples_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks(README, "python")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.split()[:2] == ["optimal", "192"]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_demo_and_make_test_of_the_readme_set_up_the_environment_first() -> None:
    named = re.findall(r"^make (\w+) ", blocks(README, "")[0], re.MULTILINE)
    assert named == ["demo", "test"]
    for name, runs in zip(named, ("examples/demo.py", "-m tests"), strict=True):
        dry = ["make", "--dry-run", "--always-make", name]
        steps = subprocess.run(dry, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        assert steps.index("-m venv") < steps.index("--editable .") < steps.index(runs)
    assert "make --silent test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_demo_plans_over_http_and_exits(tmp_path: Path) -> None:
    command = [sys.executable, "examples/demo.py", "--folder", str(tmp_path), "--time-limit", "0.5"]
    small = os.environ | {"MEMPLAN_WORKERS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=small, capture_output=True, text=True, timeout=120, check=True)
    assert re.search(r"http://127\.0\.0\.1:\d+/", done.stdout)
    for solver in ("auto", "cp-sat", "cbc"):
        assert re.search(rf"MobileNet V2 +{solver} +1,505,280 +1,505,280 +optimal", done.stdout)
    assert {"mobilenet_v2.svg", "A.1048576.svg", "service.log"} <= {path.name for path in tmp_path.iterdir()}


def test_the_solver_table_of_search_md_lists_every_solver() -> None:
    table = (ROOT / "docs" / "search.md").read_text(encoding="utf-8").partition("## Solvers")[2].partition("\n## ")[0]
    assert [row.name for row in registry.SOLVERS if f"`{row.name}`" not in table] == []


def test_the_plan_picture_of_the_docs_shows_the_current_example() -> None:
    assert "default: peak 1,505,280 bytes (1.436 MiB), optimal" in (ROOT / "docs" / "plan.svg").read_text(
        encoding="utf-8"
    )


SOURCES = ("*.py", "*.toml", "*.yml", "*.yaml", "*.h", "*.c", "*.js", "Dockerfile")


def list_files(*patterns: str) -> list[str]:
    command = ["git", "ls-files", *patterns]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def remove_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(page: Path) -> frozenset[str]:
    headings = re.findall(r"^#+ (.*)$", remove_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


@pytest.mark.parametrize("name", [name for name in list_files("*.md") if "/vendor/" not in name])
def test_every_link_of_a_markdown_page_has_a_target(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\(([^)\s]+)\)", remove_code(page.read_text(encoding="utf-8")))
    broken = []
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        found = (page.parent / target).resolve() if target else page
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(link)
    assert broken == []


def test_documentation_pages_named_in_sources_exist() -> None:
    named = {
        (file, page)
        for file in list_files(*SOURCES)
        for page in re.findall(r"\bdocs/[\w/-]+\.(?:md|svg|png)\b", (ROOT / file).read_text(encoding="utf-8"))
    }
    assert sorted((file, page) for file, page in named if not (ROOT / page).exists()) == []


def test_source_files_named_in_the_documentation_exist() -> None:
    source = r"`([\w-]+/[\w/-]+\.(?:cpp|c|hpp|js|ml|py|v))\b"
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in ["CONTRIBUTING.md", *list_files("docs/*.md")]}
    named = {(page, file) for page, text in texts.items() for file in re.findall(source, text)}
    named = {(page, file) for page, file in named if not re.search("NAME|KIND", file)}
    assert len(named) > 100
    files = [f"/{file}" for file in list_files()]
    assert sorted(pair for pair in named if not any(file.endswith(f"/{pair[1]}") for file in files)) == []


def test_every_documentation_page_begins_with_its_audience() -> None:
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name != "glossary.md"]
    third = {page.name: page.read_text(encoding="utf-8").split("\n")[2] for page in pages}
    assert [name for name, line in third.items() if not line.startswith("> For ")] == []


def test_the_documentation_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"({page.name})" not in index] == ["README.md"]


def test_the_index_of_decisions_lists_each_decision_once_and_stars_ten() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    files = sorted(page.name for page in folder.glob("*.md") if page.name != "README.md")
    assert sorted(re.findall(r"\]\(([^)]+)\)", index)) == files
    assert index.count("★ [") == 10
