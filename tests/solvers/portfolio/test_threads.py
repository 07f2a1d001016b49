"""The most threads of a search: of the command, of the setting, and in the processes of engines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memplan.api.cli.main import main
from memplan.planner.errors import OptionError
from memplan.solvers.processes.harden import plain_environment
from memplan.solvers.processes.threads import SETTING, most_threads, solvers_beside, threads_of_one

HARD = str(Path(__file__).parents[3] / "examples" / "problems" / "minimalloc" / "A.1048576.csv")


@pytest.mark.parametrize("most", range(1, 9))
def test_all_threads_together_are_within_the_limit(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, str(most))
    assert most_threads() == most
    for count in range(1, 6):
        assert 1 <= solvers_beside(count) <= count
        assert solvers_beside(count) - 1 + threads_of_one() <= most
    assert plain_environment()[SETTING] == str(most)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²"])
def test_a_limit_that_is_none_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", HARD, "--threads", text]) == 2
    assert "threads" in capfd.readouterr().err
    monkeypatch.setenv(SETTING, text)
    with pytest.raises(OptionError, match=f"{SETTING}: must be a number of threads, at least 1, got "):
        most_threads()
    assert main(["plan", HARD]) == 2
    assert SETTING in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("words", [["plan", HARD, "--threads=1"], ["--threads", "1", "plan", HARD]])
def test_with_one_thread_a_command_plans_and_takes_no_more_than_one_processor(words: list[str], tmp_path: Path) -> None:
    program = (
        "import os, resource, sys, time; from memplan.api.cli.main import main; began = time.monotonic();"
        "status = main(sys.argv[1:]); use = resource.getrusage(resource.RUSAGE_SELF);"
        "passed = time.monotonic() - began; assert use.ru_utime + use.ru_stime - started <= 1.1 * passed + 0.2"
    ).replace("began =", "started = sum(os.times()[:2]); began =", 1)
    plan = ["-o", str(tmp_path / "plan.json"), "-q", "--time-limit", "5"]
    environment = {name: text for name, text in os.environ.items() if name != SETTING}
    done = subprocess.run(
        [sys.executable, "-c", program, *words, *plan], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert '"optimal"' in (tmp_path / "plan.json").read_text()
