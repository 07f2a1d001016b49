"""Tests of the ledger: recorded results of searches, which a change of the code must not make worse."""

from math import inf

import pytest

import lab.ledger.__main__ as program
from lab.ledger.answers import ROOT, is_here
from lab.ledger.asking import MORE, compare
from lab.ledger.figures import document
from lab.ledger.questions import questions
from lab.ledger.rows import Row, read_rows
from memplan.extensions.library.entries import ProblemLibrary
from memplan.solvers.portfolio.registry import SOLVERS

ROWS = read_rows()
GATE = [row for row in ROWS.values() if row.gate]


@pytest.mark.slow
@pytest.mark.parametrize("row", GATE, ids=lambda row: row.name)
def test_a_ledger_answer_is_as_good_as_recorded_with_little_more_work(row: Row) -> None:
    if not is_here(row.command):
        pytest.skip("this machine must have the folder of the problem")
    word, _, answer = compare(row, (MORE,))
    assert word != "worse", f"{answer}, on record {row.answer}"


@pytest.mark.parametrize("name", [solver.name for solver in SOLVERS])
def test_each_solver_finds_or_proves_an_answer_of_a_gate_row(name: str) -> None:
    assert any(name in (*" and ".join(row.answer.by).split(" and "), *row.falls) for row in GATE)


def test_the_ledger_rows_in_the_tests_take_less_than_a_minute() -> None:
    assert MORE * sum(row.answer.cpu_s for row in GATE) < 60


def test_each_row_of_the_ledger_belongs_to_a_question() -> None:
    asked = {question.name: (question.command, question.most_work) for question in questions()}
    assert {row.name: (row.command, row.most_work) for row in ROWS.values()}.items() <= asked.items()


@pytest.mark.parametrize("kind", ["peak", "order", "pools", "reuse", "rules", "objects"])
def test_no_best_value_of_the_library_is_worse_than_that_of_the_ledger(kind: str) -> None:
    for entry in ProblemLibrary(ROOT / "library").entries(kind):
        row = ROWS.get(f"{kind}/{entry.name}")
        values = () if row is None else row.answer.values
        assert entry.best is None or not values or entry.best <= values[0], entry.name


def test_document_contains_the_current_figures_of_the_ledger() -> None:
    path, expected = document(ROWS)
    assert path.read_text() == expected, f"{path}: what writes rows writes its tables anew"


def test_a_ledger_row_is_asked_again(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = min(GATE, key=lambda row: row.answer.cpu_s if is_here(row.command) else inf)
    monkeypatch.setattr("sys.argv", ["ledger", row.name, "--jobs", "1"])
    assert program.main() == 0
    assert f"| {row.name.partition('/')[0]} | 0 | 1 | 0 |" in capsys.readouterr().out
