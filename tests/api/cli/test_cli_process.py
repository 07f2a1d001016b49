"""The command as a separate process: pipes, terminals and signals."""

import io
import os
import pstats
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memplan.api.cli.streams import ProgressLine
from memplan.planner.formats import read_plan, read_problem
from memplan.planner.verify.verifier import verify
from tests.support import public_problems

MEMPLAN = [sys.executable, "-m", "memplan.api.cli.main"]
ROOT = Path(__file__).parents[3]
HARD = public_problems.FOLDER / "minimalloc" / "J.1048576.csv"
TWO = b"id,lower,upper,size\na,0,3,64\nb,2,5,32\n"


def shell(script: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a shell script in which `$MEMPLAN` is the command memplan."""
    environment = os.environ | {"MEMPLAN": " ".join(MEMPLAN), "PYTHONPATH": str(ROOT)}
    return subprocess.run(["sh", "-c", script], input=data, capture_output=True, env=environment, timeout=60)


def test_plan_reads_standard_input_and_writes_standard_output() -> None:
    done = shell("$MEMPLAN plan - | $MEMPLAN verify /dev/fd/3 - 3<<EOF\n" + TWO.decode() + "EOF", TWO)
    assert (done.returncode, done.stdout.startswith(b'{"valid":true,')) == (0, True)


@pytest.mark.parametrize(
    ("command", "reader", "sentence"),
    [
        ("$MEMPLAN plan - <&-", "", "standard input: is closed"),
        (
            "$MEMPLAN plan - </dev/null",
            "",
            "standard input: must not be empty (the file may be cut short or not yet written; make or fetch it again)",
        ),
        ("$MEMPLAN plan - >&-", "", "standard output: is closed"),
        ("$MEMPLAN plan -", "| sleep 0", "standard output: broken pipe"),
    ],
)
def test_an_error_of_standard_input_or_output_is_reported_in_one_line(command: str, reader: str, sentence: str) -> None:
    # Rows enough that the plan does not fit into the buffer of a pipe.
    rows = b"".join(b"%d,%d,%d,64\n" % (i, i, i + 2) for i in range(5000))
    done = shell(f"{{ {command}; echo $? >&2; }} {reader}", b"id,lower,upper,size\n" + rows)
    assert done.stderr.decode() == f"memplan: error: {sentence}\n2\n"


@pytest.mark.parametrize("command", ["--help", "--version", "plan -h", "solvers", "frob 2>/dev/full"])
def test_writing_standard_output_to_a_full_disk_prints_no_traceback(command: str) -> None:
    done = shell(f"$MEMPLAN {command} >/dev/full")
    assert done.returncode == 2
    told = [b"memplan: error: standard %s: no space left on device\n" % name for name in (b"streams", b"output")]
    assert done.stderr in (*told, b"")


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Open a pseudo-terminal; yield the descriptors of the reader's side and of the program's side."""
    ours, theirs = pytest.importorskip("pty", reason="this system has no pseudo-terminals").openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_writes_the_best_plan_so_far(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    with terminal() as (ours, theirs):
        command = [*MEMPLAN, "plan", str(HARD), "-o", str(file), "--time-limit", "300"]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        seen = b""
        while b"gap" not in seen:
            seen += os.read(ours, 4096)
        process.send_signal(number)
        assert process.wait(timeout=60) == 130
    assert b"bound 989,184" in seen
    problem = read_problem(HARD.read_bytes(), HARD.name)
    plan = read_plan(file.read_bytes(), problem, file.name)
    assert (plan.status, plan.stop_reason) == ("feasible", "cancelled")
    assert verify(problem, plan) == ()


@pytest.mark.parametrize(
    ("options", "expected"), [((), b"optimal: peak 96 bytes"), (("--quiet",), b"{"), (("--format", "json"), b"{")]
)
def test_a_terminal_shows_a_summary_by_default(options: tuple[str, ...], expected: bytes, tmp_path: Path) -> None:
    file = tmp_path / "two.csv"
    file.write_bytes(TWO)
    with terminal() as (ours, theirs):
        process = subprocess.Popen([*MEMPLAN, "plan", str(file), *options], cwd=ROOT, stdout=theirs)
        os.close(theirs)
        assert process.wait(timeout=60) == 0
        assert os.read(ours, 1 << 16).startswith(expected)


def test_the_progress_line_is_cut_to_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    drawn = io.StringIO()
    line = ProgressLine(drawn)
    line.take("best peak 1,000,000,000,000,000  bound 100,000,000,000,000")
    line.draw()
    assert len(drawn.getvalue().removeprefix("\r\033[K")) == 39


def test_a_command_runs_to_completion_under_cprofile(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    command = [sys.executable, "-m", "cProfile", "-o", str(profile), *MEMPLAN[1:], "plan", "examples/mobilenet_v2.csv"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=False).returncode == 0
    assert pstats.Stats(str(profile)).get_stats_profile().func_profiles["run_in_thread"].ncalls


def test_plan_imports_no_plotting_table_or_server_library(tmp_path: Path) -> None:
    file = tmp_path / "two.csv"
    file.write_bytes(TWO)
    script = (
        "import sys; from memplan.api.cli.main import main; status = main(sys.argv[1:]);"
        "heavy = {'matplotlib', 'rich', 'fastapi', 'uvicorn', 'ortools', 'highspy', 'pulp'} & set(sys.modules);"
        "own = [name for name in sys.modules if name.startswith('memplan.')];"
        "heavy |= {name for name in own if name.endswith(('.system', '.systems.rows'))};"
        "heavy |= {name for name in sys.modules if name.startswith('memplan.programs.operations')};"
        "print(status, sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, "plan", str(file)], cwd=ROOT, capture_output=True, timeout=60)
    assert done.stderr == b"0 []\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_an_interrupt_while_reading_input_prints_no_traceback(tmp_path: Path) -> None:
    pipe = tmp_path / "problem.json"
    os.mkfifo(pipe)
    process = subprocess.Popen([*MEMPLAN, "plan", str(pipe)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with pipe.open("wb"):  # opening waits until the other side reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


READS_CODE = """
import sys, types
from memplan.api.cli.main import main
from memplan.planner.systems import FileReader, file_readers
sys.modules["code"] = types.SimpleNamespace(read=lambda data, options=None: eval(data.partition(b":")[2]))
file_readers()["code"] = FileReader("code", lambda data: data.startswith(b"code:"), "code")
if sys.argv[1] == "fits":
    from memplan.extensions.torch import command, graph_fits
    graph_fits.is_graph = lambda data: True
    command.recorded_steps = sys.modules["code"].read
sys.exit(main())
"""
LARGE = "b'x' * (1 << 30)"
NEVER = "__import__('functools').reduce(lambda inner, _: (inner, inner), range(60), 1).__hash__()"


def command_on_code(folder: Path, code: str, command: str = "plan --time-limit 1") -> subprocess.Popen[str]:
    (folder / "model").write_text(f"code:{code}")
    words = [sys.executable, "-c", READS_CODE, *command.split(), "model"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(words, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of a process to others")
@pytest.mark.parametrize(
    ("code", "status", "sentence"),
    [
        (NEVER, 2, "memplan: error: time-limit: must be enough for an answer, got 1\n"),
        ("__import__('os').kill(__import__('os').getppid(), 2) or __import__('time').sleep(60)", 130, ""),
        ("__import__('os').abort()", 2, "memplan: error: model: cannot be read: its reader ended with status -6\n"),
    ],
)
def test_a_reader_in_c_that_hangs_or_dies_is_one_line(code: str, status: int, sentence: str, tmp_path: Path) -> None:
    with command_on_code(tmp_path, code) as process:
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (status, sentence)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of a process to others")
@pytest.mark.parametrize(
    "command", ["plan", "plan --order best", "convert", "compare", "fits", "fits step.py:f --snapshot", "order"]
)
def test_every_command_that_reads_a_file_of_another_system_does_so_within_a_limit(command: str, tmp_path: Path) -> None:
    with command_on_code(tmp_path, LARGE, command) as process:
        _, said = process.communicate(timeout=30)
    rule = "model: must be parsed within 402658896 bytes of memory, got more"
    assert (process.returncode, said) == (2, f"memplan: error: {rule}\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of a process to others")
def test_a_problem_on_standard_input_may_be_large(tmp_path: Path) -> None:
    csv = b"id,lower,upper,size\na,0,1,4\n"
    line = [sys.executable, "-c", f"import memplan.api.cli.guarded as g; g._MOST_BYTES = 0\n{READS_CODE}", "plan", "-"]
    ran = subprocess.run(line, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, input=csv, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")
