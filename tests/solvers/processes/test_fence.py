"""What children know of their parent, and what they may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from memplan.solvers.processes.child import ChildProcess

_WHERE = {"PYTHONPATH": str(Path(__file__).parents[3])}
_SECRETS = ("MEMPLAN_ADMIN_KEY", "MEMPLAN_DATABASE_URL", "PGPASSWORD", "AWS_SECRET")


def test_a_child_knows_no_secret_gets_no_rights_and_a_reader_writes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in _SECRETS:
        monkeypatch.setenv(name, "x" * 40)
    with ChildProcess("tests.support.fenced", environment=_WHERE) as child:
        child.give(tmp_path / "written")
        names, rights, errors, is_enough = child.answer()
    assert set(_SECRETS).isdisjoint(names)
    assert "PATH" in names
    assert rights == "1"
    assert errors == ("OSError", "MemoryError")
    assert is_enough
    assert (tmp_path / "written").read_bytes() == b""
