"""What a newcomer gets wrong, and what is said: where it is, what is wrong and, beside the rule, what to do.

A message that says where and what is worth 4 of 5; one that names what to write instead, or which command is meant,
5. A rule such as "must be at least 1" tells what to do, but is counted as 4.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memplan.api.cli.arguments import seconds
from memplan.api.cli.main import main

A = {"id": "a", "size": 64, "start": 0, "end": 3}
B = {"id": "b", "size": 32, "start": 2, "end": 5}


def text(*rows: object, **more: object) -> str:
    return json.dumps({"buffers": list(rows), **more})


TWO = text(A, B)
CASES: list[tuple[str, str, str, str, str]] = [
    # what p.json, p.csv or another file holds; the command; where; what is wrong; what to do
    (text(A | {"end": 0}), "plan p.json", "p.json: buffers[0].end", "got 0", "must be greater than start (0)"),
    (text(A | {"size": -4}), "plan p.json", "p.json: buffers[0].size", "must be at least 0, got -4", ""),
    (
        text(A | {"size": "64K"}),
        "plan p.json",
        "buffers[0].size",
        "must be an integer",
        "mean 65536, in bytes?",
    ),
    (
        text(A | {"start": "0"}),
        "plan p.json",
        "buffers[0].start",
        "must be an integer",
        "mean 0, without quotes",
    ),
    (text(A | {"size": 6.5}), "plan p.json", "buffers[0].size", "must be an integer, got 6.5", ""),
    (text({"id": "a", "start": 0, "end": 1}), "plan p.json", "buffers[0].size", "is required", ""),
    (text(A, A), "plan p.json", "buffers[1].id", 'must be unique, got "a" again', "first at buffers[0]"),
    (text(A | {"lower": 0}), "plan p.json", "buffers[0].lower", "is not a known field", "did you mean start?"),
    (text(A | {"lifetime": [0, 3]}), "plan p.json", "buffers[0].lifetime", "not a known field", "mean start and end"),
    (text(A | {"size_bytes": 4}), "plan p.json", "buffers[0].size_bytes", "not a known field", "did you mean size?"),
    ('{"buffers": [],}', "plan p.json", "p.json: must be JSON", "at line 1 column", "trailing comma"),
    ("", "plan p.json", "p.json", "must not be empty", ""),
    (json.dumps([A]), "plan p.json", "p.json", "must be an object", '{"buffers": [...]}, got a list'),
    ('{"placements": []}', "plan p.json", "p.json", "must be a problem, got a plan", "`memplan verify PROBLEM p.json`"),
    (TWO, "verify p.json p.json", "p.json", "must be a plan, which has placements, got a problem", ""),
    (TWO, "order p.json", "p.json", "got a problem, which tells no operations", "`memplan plan p.json` reads"),
    (TWO, "plan other.json", "other.json", "no such file or directory", ""),
    (TWO, "plan p.json --capacity 64KB", "capacity", "must be a size such as", "did you mean 64kB or 64KiB?"),
    (TWO, "plan p.json --solver cpsat", "solver", "must be one of auto", "did you mean cp-sat?"),
    (TWO, "plan p.json --solver milp", "solver", "must be one of auto", "did you mean cbc?"),
    (TWO, "plan p.json --accept best", "accept", "must be fit or a percentage", "such as 5%"),
    (TWO, "sweep p.json --size 4KiB", "size", "must be [NAME=]FROM:TO:STEP", "as in sram=128KiB:1MiB:64KiB"),
    (TWO, "plan p.json --capcity 4KiB", "--capcity", "No such option", "Possible options: --capacity"),
    (TWO, "paln p.json", "paln", "No such command", "Did you mean 'plan'"),
    (TWO, "plan p.json --picture a.jpg", "picture", 'got "a.jpg"', "must end in .svg, .png, .pdf"),
    (TWO, "plan p.json -o plan.yaml", "plan.yaml", "must end in", ".json or .csv"),
    (text(A, conflicts=[["a", "x"]]), "plan p.json", "conflicts[0][1]", "must be the id of a buffer", ""),
    (
        text(A | {"pools": ["fast"]}),
        "plan p.json",
        "buffers[0].pools[0]",
        'got "fast"',
        "pool of the problem (default)",
    ),
    (text(A, objective="min"), "plan p.json", "objective", 'got "min"', "must be 'peak', 'fit' or 'cost'"),
    ("id,lower,upper\na,0,3\n", "plan p.csv", "p.csv: first line", "got no 'size'", "columns id, lower, upper, size"),
    ("id,lower,upper,size\na,0,x,4\n", "plan p.csv", "line 2, column 'upper'", "must be an integer, got 'x'", ""),
    (
        text(A, B | {"alias_of": {"id": "a", "offset": 8}}),
        "plan p.json",
        "buffers[1].alias_of",
        "got {",
        "alias_offset 8",
    ),
    (
        text(A, pools={"sram": {"size": 99}}),
        "plan p.json",
        "pools",
        "must be a list",
        'mean [{"name": "sram", ...}, ...]',
    ),
    (text(A, pools={"size": 99}), "plan p.json", "pools", "must be a list", "mean [{...}], a list of one?"),
    ('{"buffers": {"a": {"size": 1}}}', "plan p.json", "buffers", "must be a list", 'mean [{"id": "a", ...}, ...]'),
    (TWO, "plan p.json --time-limit soon", "--time-limit", 'got "soon"', "such as 10s, 500ms or 2min"),
    (" \0\0\0TFL3", "plan p.tflite", "p.tflite", "must lie in the file (8 bytes)", "is it cut short?"),
]


@pytest.mark.parametrize(("content", "line", "where", "what", "remedy"), CASES, ids=range(len(CASES)))
def test_a_newcomer_is_told_where_what_and_what_to_do(
    content: str,
    line: str,
    where: str,
    what: str,
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    name = next((word for word in line.split() if word.startswith("p.")), "p.json")
    (tmp_path / name).write_text(content)
    assert main(line.split()) == 2
    told, said = capfd.readouterr()
    assert told == ""
    assert [part in said for part in (where, what, remedy)] == [True] * 3, said


@pytest.mark.parametrize(("text", "found"), [("10", 10), ("2.5s", 2.5), ("500ms", 0.5), ("2 min", 120), (0.25, 0.25)])
def test_a_time_limit_may_have_a_unit(text: str | float, found: float) -> None:
    assert seconds(text) == found


def test_most_messages_say_what_to_do() -> None:
    worth = [5 if remedy else 4 for *_, remedy in CASES]
    assert len(CASES) >= 32
    assert sum(worth) / len(worth) >= 4.5
