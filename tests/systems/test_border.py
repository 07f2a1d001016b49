"""What a stranger's bytes do to a reader is one sentence: about the file, or of a fault of memplan and its place."""

from __future__ import annotations

from pathlib import Path

import pytest

import memplan
from memplan.api.cli.main import main
from memplan.planner.errors import FormatError, ReaderFaultError
from memplan.planner.systems import FileReader, file_readers
from tests.support.failing_reader import FAULTS

FAULT = "cannot be read, by a fault of memplan; please report "
SENTENCES = {
    b"fault:key": FAULT + 'KeyError "nodes" at tests/support/failing_reader.py:10',
    b"fault:deep": "must not be nested deeper than its reader can follow",
    b"fault:none": FAULT + "AttributeError at tests/support/failing_reader.py:12",
    b"fault:memory": "needs more memory to be read than there is",
}


@pytest.mark.parametrize("later", [b"", b" later"])
@pytest.mark.parametrize("fault", FAULTS)
def test_no_reader_fails_without_a_sentence_that_says_whose_fault_it_is(
    fault: bytes, later: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = FileReader("failing", lambda data: data.startswith(b"fault:"), "tests.support.failing_reader")
    monkeypatch.setitem(file_readers(), "failing", failing)
    file = tmp_path / "model"
    file.write_bytes(fault + later)
    sentence, is_fault = SENTENCES[fault], SENTENCES[fault].startswith(FAULT)
    with pytest.raises(ReaderFaultError if is_fault else FormatError) as found:
        memplan.read_problem(file)
    assert str(found.value).endswith(sentence.partition("/failing")[2])
    for command in ("plan", "compare", "explain"):
        assert main([command, str(file)]) == (70 if is_fault else 2)
        assert sentence in capfd.readouterr().err
