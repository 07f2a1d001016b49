"""The constraint kind `at_most`: the offset of a buffer must not exceed a limit in bytes."""

from typing import Any

from memplan.planner.extensions import OffsetKind


def _offsets(most: int, buffer: Any, pool: Any) -> Any:
    from memplan.planner.model.constraints.kept import OffsetRule

    return OffsetRule(intervals=((0, most + 1),))


def _wrong(most: int, offset: int, size: int, pool: Any) -> str | None:
    return f"must start at {most} or below, got offset {offset}" if offset > most else None


AT_MOST = OffsetKind(int, _offsets)
CHECKER = ("above-most", _wrong)
