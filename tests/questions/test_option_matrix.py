"""Each reading option of each question is either honoured or refused for each kind of file."""

import re
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.advice import parameter_words
from memplan.api.cli.flags import flag_of
from memplan.api.cli.main import main
from memplan.questions import QUESTIONS
from memplan.questions.reading import ReadOptions
from tests.support.option_matrix import (
    BOUNDS,
    EXAMPLES,
    HOW_LONG,
    OWN,
    ask_with_files,
    options_of,
    silent_options,
    values_of,
)

Captured = pytest.CaptureFixture[str]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("file", EXAMPLES)
@pytest.mark.parametrize("name", [name for name, question in QUESTIONS.items() if options_of(question)])
def test_no_reading_option_is_silently_ignored(name: str, file: str) -> None:
    assert [*silent_options(name, file)] == []


def test_each_reading_option_has_a_value_in_the_option_matrix() -> None:
    assert {*values_of("json")} == {*ReadOptions.model_fields}


def test_each_option_of_a_question_has_a_value_in_the_option_matrix() -> None:
    for name, question in QUESTIONS.items():
        own = {*question.options.model_fields} - {*ReadOptions.model_fields} - HOW_LONG
        assert (name, own - {*OWN[name]}) == (name, set())
        assert BOUNDS.get(name, set()) <= {*OWN[name]}


_POOLS = [{"name": "fast", "size": 128, "cost": 1}, {"name": "slow", "cost": 4}]
_ROWS = [{"id": key, "size": size, "start": 0, "end": 3, "traffic": k} for key, size, k in (("a", 96, 1), ("b", 64, 9))]
_OF_SEVERAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plan": ({}, {}),
    "check": ({}, {"budgets": ("slow=1KiB",)}),
    "sweep": ({"sizes": {"fast": [128, 160]}}, {}),
}


@pytest.mark.parametrize("name", _OF_SEVERAL)
def test_a_profile_of_several_pools_changes_the_answer(name: str) -> None:
    more, options = _OF_SEVERAL[name]
    question, files = QUESTIONS[name], {"problem": {"buffers": _ROWS, "pools": _POOLS}} | more
    plain, changed = (
        ask_with_files(question, files, {"deterministic": True, "profile": profile} | options)[0]
        for profile in ("speed", "size")
    )
    rows = "points" if name == "sweep" else "pools"
    assert plain[rows] != changed[rows]


_NEEDED = {
    "check": ["--budget", "1KiB"],
    "explain": ["--capacity", "200"],
    "convert": ["-o", "out.json"],
    "plan": ["--deterministic"],
    "sweep": ["--size", "1KiB:8KiB:1KiB"],
    "schedule": ["--target", str(Path(__file__).parents[2] / "examples" / "schedules" / "gap8_like.json")],
    "verify": ["plan.json"],
    "cascade": ["--time-limit", "1"],
    "order": ["--time-limit", "1"],
}
"""By command, the words that it needs besides its file; other files are refused."""
_OF_JSON = {"plan": "objects", "explain": "program", "check": "stablehlo", "liveness": "program", "convert": "tflite"}
_OF_JSON |= {"shapes": "stablehlo", **dict.fromkeys(("order", "schedule", "cascade"), "graph")}
"""By command, another file that its options are walked with; a command without one reads JSON alone."""
_TIMES = re.compile(r'"(\w+_s|stop_reason)": ?[^,}]+|[0-9.]+ s\b')


@pytest.mark.slow
@pytest.mark.parametrize("file", ["json", "other"])
@pytest.mark.parametrize("name", [name for name, options in OWN.items() if options])
def test_no_option_of_a_command_is_silently_ignored(
    name: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    example = EXAMPLES[_OF_JSON.get(name, "json") if file == "other" else file]
    fields = QUESTIONS[name].options.model_fields
    Path(example.name).write_bytes(example.data)
    dims = [word for row in example.dims.items() for word in ("--dim", "{}={}".format(*row))]
    if name == "verify":
        assert main(["plan", example.name, "-o", "plan.json", "-q"]) == 0

    def answer(words: list[str]) -> tuple[int, str, str, list[bytes]]:
        status = main([name, example.name, *_NEEDED.get(name, []), *(dims if name != "shapes" else []), *words])
        out, err = capfd.readouterr()
        written = [path.read_bytes() for path in sorted(Path().glob("out*"))]
        return status, _TIMES.sub("", out), _TIMES.sub("", err), written

    plain, silent = answer([]), []
    assert file == "json" or (plain[0] != 2, answer([])) == (True, plain)
    for option in (OWN[name].keys() - BOUNDS.get(name, set()) - {"to"}) if plain[0] != 2 else ():
        values = OWN[name][option] if isinstance(OWN[name][option], tuple) else (OWN[name][option],)
        silent += [option] if answer([*parameter_words(flag_of(option, fields[option]), list(values))]) == plain else []
    assert silent == []


@pytest.mark.parametrize("line", ["plan", "explain", "order", "cascade --time-limit 1", "sweep --size 1KiB:2KiB:1KiB"])
def test_an_unused_target_is_told(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.tflite").write_bytes(EXAMPLES["tflite"].data)
    name, *more = line.split()
    assert main([name, "m.tflite", *more, "--target", "cortex-m4"]) in (0, 1)
    assert "warning: no-effect: target: changes only TFLite Micro's arena" in capfd.readouterr().err
