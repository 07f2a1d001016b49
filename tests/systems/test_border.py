"""What a stranger's bytes do to a reader is one sentence: about the file, or of a fault of memplan and its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import memplan
from memplan.api.cli.main import main
from memplan.planner.errors import FormatError, ReaderFaultError
from memplan.planner.systems import FileReader, file_readers
from tests.support.failing_reader import FAULTS

FAULT = "cannot be read, by a fault of memplan; please report "
SENTENCES = {
    b"fault:key": FAULT + 'KeyError "nodes" at tests/support/failing_reader.py:11',
    b"fault:deep": "must not be nested deeper than its reader can follow",
    b"fault:none": FAULT + "AttributeError at tests/support/failing_reader.py:13",
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


def test_a_reader_that_fails_keeps_no_other_model_of_a_folder_from_being_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = FileReader(
        "failing", lambda data: data.startswith(b"fault:"), "tests.support.failing_reader", suffixes=(".bad",)
    )
    monkeypatch.setitem(file_readers(), "failing", failing)
    (tmp_path / "a.bad").write_bytes(b"fault:key")
    (tmp_path / "b.tflite").write_bytes((Path(__file__).parents[1] / "models" / "view.tflite").read_bytes())
    assert main(["check", str(tmp_path), "--budget", "64KiB"]) == 70
    out, err = capfd.readouterr()
    assert json.loads(out)["passed"] is False
    said = [
        (Path(each["subject"]).name, [one["rule"] for one in each["failures"]]) for each in json.loads(out)["checks"]
    ]
    assert said == [("a.bad", ["unread"]), ("b.tflite", [])]
    assert f"{tmp_path / 'a.bad'}: {SENTENCES[b'fault:key']}" in err
