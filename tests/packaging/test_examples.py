"""The numbered examples are short and print the expected output."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server import RunningServer

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("example_*.py"))
MOST_LINES = 40


def run_example(number: int, *arguments: str) -> str:
    (script,) = FOLDER.glob(f"example_{number}_*.py")
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, env=settings, check=True, capture_output=True, text=True, timeout=200).stdout


def test_the_examples_page_lists_the_five_short_examples() -> None:
    assert [path.stem[:10] for path in EXAMPLES] == [f"example_{number}_" for number in range(1, 6)]
    assert [path.name for path in EXAMPLES if len(path.read_text().splitlines()) > MOST_LINES] == []
    page = (FOLDER / "README.md").read_text()
    assert [path.name for path in EXAMPLES if f"| `{path.name}` |" not in page] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "patterns"),
    [
        (1, [r"\Aoptimal: 192 bytes, and no plan has fewer than 192\n(.+\n){4}\Z"]),
        (2, ["  hidden in sram at ", "  log in psram at "]),
        (
            3,
            [
                "the buffers in the way: conv1, conv2; 192 bytes would do",
                r"(?m)^repair 1: .* of conv1.*; then the peak is \d+ bytes$",
            ],
        ),
    ],
    ids=["a plan with proof", "a fast and a slow memory", "a reason with repairs"],
)
def test_an_example_prints_the_expected_output(number: int, patterns: list[str]) -> None:
    said = run_example(number)
    assert [pattern for pattern in patterns if not re.search(pattern, said)] == []


@pytest.mark.slow
def test_example_4_calls_the_service_from_python_and_curl(server: RunningServer) -> None:
    said = run_example(4, f"http://127.0.0.1:{server.port}")
    assert "call: optimal, 192 bytes\n" in said
    assert "succeeded\n" in said
    assert said.count("optimal, 192 bytes") == 1 + ("curl: " in said)


@pytest.mark.slow
def test_example_5_runs_and_verifies_a_user_defined_solver() -> None:
    own, best = map(int, re.findall(r"(\d+) bytes", run_example(5)))
    assert own >= best == 1_505_280
