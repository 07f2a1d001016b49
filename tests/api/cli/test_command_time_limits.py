"""A command ends soon after its time limit, with the last answer that it recorded."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import answer_of_call, end_call, read_call, write_answer
from memplan.api.cli.question_command import answer_plainly, command_of
from memplan.api.cli.running import seconds_left
from memplan.api.cli.streams import write_output
from memplan.questions.question import Answer, Control, Question, QuestionOptions
from memplan.solvers.processes.apart import run_in_thread, writing


class Count(Answer):
    """A toy answer with one number."""

    count: int


class NotedOptions(QuestionOptions):
    """The option `notes`: how many answers the question records before it runs forever."""

    notes: int = 0


NOTED, CONTROL = NotedOptions(), Control()


released = threading.Event()


@pytest.fixture(autouse=True)
def _release_work() -> Iterator[None]:
    """Stop abandoned work at the end of each test; otherwise it would run until the process ends."""
    released.clear()
    yield
    released.set()


def go_on() -> list[str]:
    """Run until the test releases the work, without checking a time limit."""
    while not released.is_set():
        sum(range(1000))
    return []


def run_forever(options: NotedOptions = NOTED, control: Control = CONTROL) -> Count:
    """Record the answers, then run forever without checking a time limit."""
    assert control.note is not None
    for count in range(options.notes):
        control.note(Count(count=count))
    go_on()
    return Count(count=-1)


ENDLESS = Question(run_forever, inputs=(), lines=lambda found: [str(found.count)], example={})


def test_a_command_that_overruns_its_time_limit_returns_its_last_recorded_answer() -> None:
    app = command_of(ENDLESS)(answer_plainly)
    ran = CliRunner().invoke(app, ["--time-limit", "0.01", "--notes", "2", "-o", "-"])
    assert (ran.exit_code, json.loads(ran.stdout)) == (0, {"count": 1})
    ran = CliRunner().invoke(app, ["--time-limit", "0.01"])
    assert str(ran.exception) == "time-limit: must be enough for an answer, got 0.01"


def test_the_answer_is_written_even_if_writing_extra_files_exceeds_the_time_limit(tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"

    @command_of(ENDLESS)
    def app(line: CommandLine) -> int:
        call = read_call(line)
        answer = answer_of_call(call)
        write_answer(call, answer)
        call.writing(go_on)
        return end_call(call, answer)

    ran = CliRunner().invoke(app, ["--time-limit", "0.01", "--notes", "1", "-o", str(answer)])
    assert str(ran.exception) == "time-limit: must be enough for the extra files, got 0.01"
    assert json.loads(answer.read_text()) == {"count": 0}


def test_run_in_thread_abandons_work_only_after_its_time_limit() -> None:
    assert run_in_thread(lambda: "done") == "done"
    assert run_in_thread(lambda: "done", left_s=seconds_left(60.0)) == "done"
    with pytest.raises(TimeoutError):
        run_in_thread(go_on, left_s=seconds_left(0.01))


def test_a_started_file_is_completed_and_abandoned_work_writes_no_further_file(tmp_path: Path) -> None:
    first, second, steps = tmp_path / "first", tmp_path / "second", list[int]()

    def work() -> None:
        with writing():
            for step in range(10):
                until = time.thread_time() + 0.05
                while time.thread_time() < until:
                    pass
                steps.append(step)
            first.write_text("whole")
        write_output(str(second), b"late")

    with pytest.raises(TimeoutError):
        run_in_thread(work, left_s=seconds_left(0.01))
    assert (len(steps), first.read_text()) == (10, "whole")
    for thread in [thread for thread in threading.enumerate() if getattr(thread, "is_abandoned", False)]:
        thread.join(10.0)
    assert not second.exists()


def test_the_process_exits_with_its_command_even_if_abandoned_work_still_runs() -> None:
    script = """
import time
from concurrent.futures import ThreadPoolExecutor
from memplan.api.cli.running import seconds_left
from memplan.solvers.processes.apart import run_in_thread
from memplan.api.cli import main
from memplan.api.cli.streams import write_output

def work():
    ThreadPoolExecutor(1).submit(time.sleep, 1000)
    while True: pass

def run(_arguments):
    try:
        run_in_thread(work, left_s=seconds_left(0.01))
    except TimeoutError:
        write_output(None, b"noted")
    return 3

main._run_command = run
raise SystemExit(main.main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (3, b"noted")
