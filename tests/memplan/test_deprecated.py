"""Deprecated questions and options still work, and every entrance names the replacement."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import Field

from memplan.api.cli.flags import options_given
from memplan.questions.question import QuestionOptions
from memplan.questions.reading import validate_options

ROOT = Path(__file__).parents[2]
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
    """Return the output of a program in which the question `plan` is deprecated."""
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
    said = output_of(program)
    assert "/v1/plan 200 true\n/v1/explain 200 None\n['/v1/plan']\n" in said


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
