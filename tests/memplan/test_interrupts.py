"""Scripts that use memplan: Ctrl-C, deprecated options, and Python without its POSIX-only parts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import Field

from memplan.api.cli.flags import options_given
from memplan.questions.question import QuestionOptions
from memplan.questions.reading import validate_options
from tests.support import public_problems

ROOT = Path(__file__).parents[2]
HARD = public_problems.FOLDER / "minimalloc" / "J.1048576.csv"
SCRIPT = """
import os, signal, sys, threading
import memplan

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job does not have

def interrupt(_event):
    os.kill(os.getpid(), signal.SIGINT)

control = memplan.Control(report=interrupt)
try:
    memplan.solve(memplan.read_problem(sys.argv[1]), time_limit_s=600, solver=sys.argv[2], control=control)
except KeyboardInterrupt:
    calls = [thread for thread in threading.enumerate() if thread.name == "memplan-work"]
    for thread in calls:
        thread.join(60)
    print("interrupted", control.cancelled.is_set(), any(thread.is_alive() for thread in calls))
"""
OWN_HANDLER = """
import signal, threading
import memplan

threads = []
control = memplan.Control(report=lambda _: threads.append(threading.current_thread()))
rows = [{"id": k, "size": 64, "start": k, "end": k + 2} for k in range(4)]
signal.signal(signal.SIGINT, lambda *_: None)
memplan.solve({"buffers": rows}, control=control)
print({thread.name for thread in threads} <= {"MainThread"})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process of Windows sends no SIGINT to itself")
@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_ctrl_c_in_a_script_raises_keyboard_interrupt_and_stops_the_search(solver: str) -> None:
    command = [sys.executable, "-c", SCRIPT, str(HARD), solver]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("interrupted True False\n", "")


def test_a_custom_sigint_handler_of_the_caller_is_not_replaced() -> None:
    command = [sys.executable, "-c", OWN_HANDLER]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


AS_ON_WINDOWS = """
import os, signal, sys
for module in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[module] = None
for name in ("fork", "getuid", "killpg", "nice", "register_at_fork", "sched_getaffinity", "setsid", "wait4"):
    delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "setitimer"):
    delattr(signal, name)
"""
SOLVES = """
from memplan import Problem, solve
rows = [(1, 1, 3), (2, 1, 5), (5, 0, 1), (3, 4, 7), (2, 1, 4), (4, 3, 7), (2, 2, 4), (5, 0, 2)]
problem = Problem(buffers=[{"id": i, "size": s, "start": a, "end": b} for i, (s, a, b) in enumerate(rows)])
print(solve(problem, solver="exact").model_dump_json())
"""
SERVES = """
from tempfile import mkdtemp
from fastapi.testclient import TestClient
from memplan.api.http.app import create_app
from memplan.api.settings import Settings
client = TestClient(create_app(Settings(data_folder=mkdtemp(), workers=0)))
print(client.get("/openapi.json").text)
"""
COMMANDS = 'from memplan.api.cli.main import main; main(["plan", "examples/mobilenet_v2.csv"])'


def plan_printed_by(program: str) -> dict[str, object]:
    """Return the JSON object that a program prints when run without the POSIX-only parts of Python."""
    command = [sys.executable, "-c", AS_ON_WINDOWS + program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=True)
    return dict(json.loads(done.stdout))


def test_solve_proves_a_plan_optimal_without_posix() -> None:
    plan = plan_printed_by(SOLVES)
    assert (plan["status"], plan["peak"]) == ("optimal", 11)


def test_the_command_plans_without_posix() -> None:
    assert plan_printed_by(COMMANDS)["status"] == "optimal"


def test_all_modules_of_planner_and_solvers_can_be_imported_without_posix() -> None:
    program = """
import json, pkgutil
from importlib import import_module
from memplan import planner, solvers
names = [row.name for room in (planner, solvers) for row in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")]
for name in names:
    if ".bench" not in name:
        import_module(name)
print(json.dumps({"names": len(names)}))
"""
    assert plan_printed_by(program)["names"]


def test_the_service_writes_its_schema_without_posix() -> None:
    assert "/v1/plan" in str(plan_printed_by(SERVES)["paths"])


INSTEAD = "since 1.2, write `memplan explain --repairs`"
MARK = (
    "import memplan.questions as rooms\n"  # before anything reads them
    f"rooms.OWN_ROWS = rooms.OWN_ROWS | {{'plan': rooms.OWN_ROWS['plan']._replace(deprecated={INSTEAD!r})}}"
)


class Options(QuestionOptions):
    """Toy options, one of which is deprecated."""

    limit: int = Field(3, deprecated=INSTEAD)
    seed: int = 0


def output_of(program: str) -> str:
    command = [sys.executable, "-W", "default::DeprecationWarning", "-c", f"{MARK}\n{program}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout + done.stderr


def test_a_deprecated_question_warns_in_python_and_in_the_command_and_still_answers() -> None:
    said = output_of(
        "import memplan; from memplan.api.cli.main import main\n"
        "print(memplan.plan(memplan.read_problem('examples/mobilenet_v2.csv')).peak, flush=True)\n"
        "main(['plan', 'examples/mobilenet_v2.csv', '--format', 'peak'])"
    )
    assert f"DeprecationWarning: memplan.plan is deprecated {INSTEAD}" in said
    assert f"memplan: warning: plan: is deprecated {INSTEAD}\n" in said
    assert '1505280\n{"peak":1505280}' in said


def test_a_deprecated_http_call_sends_a_header_and_is_marked_in_the_schema(tmp_path: Path) -> None:
    program = (
        "from fastapi.testclient import TestClient; from memplan.api.http.app import create_app\n"
        "from pathlib import Path; from memplan.api.settings import Settings\n"
        f"with TestClient(create_app(Settings(data_folder=Path({str(tmp_path)!r}), workers=0))) as client:\n"
        "    body = {'buffers': [{'id': 'a', 'size': 8, 'start': 0, 'end': 1}]}\n"
        "    for path in ('/v1/plan', '/v1/explain'):\n"
        "        answer = client.post(path, json=body)\n"
        "        print(path, answer.status_code, answer.headers.get('deprecation'))\n"
        "    paths = client.get('/openapi.json').json()['paths']\n"
        "    print([path for path, calls in paths.items() if calls.get('post', {}).get('deprecated')])\n"
    )
    assert "/v1/plan 200 true\n/v1/explain 200 None\n['/v1/plan']\n" in output_of(program)


def test_a_deprecated_option_warns_in_python_and_in_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(DeprecationWarning, match=f"limit: is deprecated {INSTEAD}"):
        assert validate_options(Options, {"limit": 4}).model_fields_set == {"limit"}
    with pytest.warns(DeprecationWarning, match="limit"):
        options_given(Options, {"limit": 4, "seed": 0})
    assert capsys.readouterr().err == f"memplan: warning: --limit: is deprecated {INSTEAD}\n"


def test_options_that_are_not_deprecated_give_no_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert validate_options(Options, {"seed": 4}).seed == 4
    options_given(Options, {"seed": 4})
    assert capsys.readouterr().err == ""
