"""Whatever a stranger's bytes do to a reader, the caller gets one sentence about the file."""

from __future__ import annotations

from pathlib import Path

import pytest

import memplan
from memplan.api.cli.main import main
from memplan.planner.errors import FormatError
from memplan.planner.systems import FileReader, file_readers
from tests.support.failing_reader import FAULTS

SENTENCES = {
    b"fault:key": 'cannot be read: its reader failed (KeyError: "nodes")',
    b"fault:deep": "must not be nested deeper than its reader can follow",
    b"fault:none": "cannot be read: its reader failed (AttributeError)",
    b"fault:memory": "needs more memory to be read than there is",
}


@pytest.mark.parametrize("later", [b"", b" later"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_reader_is_an_error_of_the_file(
    fault: bytes, later: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = FileReader("failing", lambda data: data.startswith(b"fault:"), "tests.support.failing_reader")
    monkeypatch.setitem(file_readers(), "failing", failing)
    file = tmp_path / "model"
    file.write_bytes(fault + later)
    with pytest.raises(FormatError) as found:
        memplan.read_problem(file)
    assert found.value.sentences == (f"{file}: {SENTENCES[fault]}",)
    for command in ("plan", "compare", "explain"):
        assert main([command, str(file)]) == 2
        assert capfd.readouterr().err == f"memplan: error: {file}: {SENTENCES[fault]}\n"
