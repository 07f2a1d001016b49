"""What runs in a thread ends when its time is over, wherever it is."""

from __future__ import annotations

import importlib
import time
from pathlib import Path

import pytest
from pydantic import BaseModel, field_serializer

from memplan.solvers.processes.ending import Ending, OverError, runs_to_its_end


def for_ever() -> None:
    while True:
        try:
            sum(range(1000))
        except Exception:  # noqa: BLE001 - which an end is not
            continue


def test_what_looks_at_no_clock_is_ended() -> None:
    ending = Ending()
    ending.within(0.01)
    with pytest.raises(OverError):
        ending.run(for_ever)


def test_what_has_ended_is_left_alone_and_a_later_end_takes_the_place_of_an_earlier_one() -> None:
    ending, short = Ending(), Ending()
    ending.within(0.01)
    ending.within(60.0)
    ending.run(lambda: time.sleep(0.05))
    short.within(0.02)
    short.run(int)
    assert sum(range(1_000_000)) > 0
    time.sleep(0.05)


class WrittenForEver(BaseModel):
    """What is never written: pydantic makes an error of its own of all that its serializer raises."""

    field: int = 0

    @field_serializer("field")
    def _written(self, _value: int) -> None:
        for_ever()


def test_an_end_that_a_library_turns_into_an_error_of_its_own_is_an_end() -> None:
    ending = Ending()
    ending.within(0.05)
    with pytest.raises(OverError):
        ending.run(WrittenForEver().model_dump_json)


def test_an_error_of_the_work_is_not_an_end() -> None:
    ending = Ending()
    ending.within(60.0)
    with pytest.raises(ValueError, match="invalid literal"):
        ending.run(lambda: int("x"))


def test_a_module_is_imported_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = tmp_path / "begun"
    lines = (
        "import time",
        f"with open({str(begun)!r}, 'a') as out: out.write('once')",
        "for _ in range(20): time.sleep(0.01)",
    )
    (tmp_path / "slow_to_import.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    ending = Ending()
    ending.within(0.02)

    def work() -> None:
        importlib.import_module("slow_to_import")
        for_ever()

    with pytest.raises(OverError):
        ending.run(work)
    importlib.import_module("slow_to_import")
    assert begun.read_text() == "once"


def test_a_function_that_runs_to_its_end_is_not_ended_within() -> None:
    steps = list[int]()

    @runs_to_its_end
    def written() -> None:
        for k in range(20):
            time.sleep(0.01)
            steps.append(k)

    ending = Ending()
    ending.within(0.02)

    def work() -> None:
        written()
        for_ever()

    with pytest.raises(OverError):
        ending.run(work)
    assert len(steps) == 20


class EndedAsItLeaves(Ending):
    """Work whose end comes in the moment in which it has ended, as Python raises it at the call of a function."""

    ends = 2

    def _leave(self) -> None:
        if self.ends:
            self.ends -= 1
            raise OverError
        super()._leave()


class EndedBeforeItLeaves(Ending):
    """Work whose end comes one call earlier."""

    ends = 1

    def _leave_surely(self) -> None:
        if self.ends:
            self.ends -= 1
            raise OverError
        super()._leave_surely()


def test_an_end_that_comes_as_work_ends_is_not_left_to_what_follows() -> None:
    ending = EndedAsItLeaves()
    ending.within(0.02)
    assert ending.run(lambda: "done") == "done"
    earlier = EndedBeforeItLeaves()
    earlier.within(0.02)
    with pytest.raises(OverError):
        earlier.run(lambda: "done")
    time.sleep(0.05)
