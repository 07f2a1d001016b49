"""The verifier's replay of buffers that move: one case for each rule of docs/moves.md."""

from typing import Any

import pytest

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from tests.support.moved_answers import simulate

Row = dict[str, Any]
POOLS = [{"name": "fast", "size": 8}, {"name": "slow", "size": 32, "cost": 1}]
HOST = [POOLS[0], POOLS[1] | {"direct": False}]
A: Row = {"id": "a", "size": 4, "start": 0, "end": 6, "accesses": [0, 5]}


def problem(*buffers: Row, moves: Any = True, pools: list[Row] = POOLS, **fields: Any) -> Row:
    rest: Row = {"conflicts": [], "bank": [], "together": []}
    return {"buffers": [*buffers], "pools": pools, "moves": moves, **rest, **fields}


def piece(pool: str, start: int, end: int, name: str = "a", offset: int = 0) -> Row:
    return {"id": name, "pool": pool, "offset": offset, "start": start, "end": end}


def copy(source: str, to: str, time: int, size: int = 4) -> Row:
    return {"id": "a", "from": source, "to": to, "time": time, "bytes": size}


SENT = [copy("fast", "slow", 0), copy("slow", "fast", 5)]
AWAY = [piece("fast", 0, 1), piece("slow", 0, 6), piece("fast", 5, 6)]
WRITTEN = A | {"accesses": [0, {"time": 2, "kind": "write"}, 5]}


def rules(data: Row, placements: list[Row], copies: list[Row], **claims: Any) -> list[str]:
    """Return the rules that a plan breaks; the simulation must refuse the same plans."""
    answer = {"placements": placements, "copies": copies}
    found = [each.rule for each in verify(Problem.model_validate(data), Plan.model_validate(answer | claims))]
    assert bool(simulate(data, answer).faults) == bool(
        [rule for rule in found if rule != "false-claim"] or any(row["bytes"] != 4 for row in copies)
    )
    return sorted({*found})


@pytest.mark.parametrize(
    ("data", "placements", "copies"),
    [
        (problem(A), AWAY, SENT),
        (problem(A, pools=HOST), AWAY, SENT),
        (problem(A, moves={"lead": 1}), [*AWAY[:2], piece("fast", 4, 6)], [SENT[0], copy("slow", "fast", 4)]),
        (problem(A | {"kept_in": "slow"}, moves={"lead": 1}), [piece("fast", 0, 6), piece("slow", 5, 6)],
         [copy("fast", "slow", 5)]),
        (problem(A | {"given": "slow"}, pools=HOST), [piece("slow", 0, 6), piece("fast", 0, 1), piece("fast", 5, 6)],
         [copy("slow", "fast", 0), copy("slow", "fast", 5)]),
        (problem(A | {"given": "slow", "end": 1, "accesses": [{"time": 0, "kind": "write"}], "kept_in": "slow"},
                 pools=HOST), [piece("slow", 0, 1), piece("fast", 0, 1)], [copy("slow", "fast", 0), SENT[0]]),
        (problem(A, {"id": "v", "size": 2, "start": 0, "end": 3, "alias_of": "a", "accesses": [1]}),
         [*AWAY, piece("fast", 0, 1, "v"), piece("slow", 0, 3, "v")], SENT),
    ],
)  # fmt: skip
def test_plans_of_buffers_that_move_are_valid(data: Row, placements: list[Row], copies: list[Row]) -> None:
    assert rules(data, placements, copies) == []


@pytest.mark.parametrize(
    ("data", "placements", "copies", "rule"),
    [
        (problem(A), [piece("fast", 0, 1), piece("fast", 5, 6)], [], "wrong-piece"),
        (problem(A), [piece("fast", 0, 3), piece("fast", 3, 6, offset=4)], [], "wrong-piece"),
        (problem(A), [piece("fast", 0, 6), piece("slow", 0, 6)], [], "wrong-piece"),
        (problem(A), [piece("fast", 0, 4), piece("fast", 3, 6, offset=4)], [copy("fast", "fast", 3)], "wrong-piece"),
        (problem(A), [piece("fast", 0, 7)], [], "wrong-piece"),
        (problem(A), AWAY, [SENT[0], copy("slow", "fast", 4)], "wrong-copy"),
        (problem(A), AWAY, [SENT[0], copy("fast", "slow", 5)], "wrong-copy"),
        (problem(A), [piece("fast", 0, 6)], [copy("fast", "slow", 6)], "wrong-copy"),
        (problem(A), AWAY, [SENT[0], copy("slow", "fast", 5, 3)], "false-claim"),
        (problem(WRITTEN), [piece("fast", 0, 3), piece("slow", 0, 6)], [SENT[0]], "wrong-access"),
        (problem(A, pools=HOST), AWAY[:2], [SENT[0]], "wrong-access"),
        (problem(A, pools=HOST, moves={"lead": 1}), AWAY, SENT, "wrong-access"),
        (problem(A, moves={"lead": 2}), [piece("fast", 0, 1), piece("slow", 0, 6)], [SENT[0]], "wrong-piece"),
        (problem(A, moves={"bytes_per_step": 3}), AWAY, SENT, "past-capacity"),
        (problem(A | {"given": "slow"}), [piece("fast", 0, 6)], [], "wrong-piece"),
        (problem(A | {"kept_in": "slow"}), [piece("fast", 0, 6)], [], "wrong-copy"),
        (problem(A | {"pools": ["fast"]}), AWAY, SENT, "pool-not-allowed"),
        (problem(A | {"pools": ["fast"], "offset": 0}), [piece("fast", 0, 3), piece("fast", 3, 6)], [], "wrong-piece"),
        (problem(A | {"alignment": 4}), [piece("fast", 0, 6, offset=2)], [], "misaligned"),
        (problem(A), [piece("fast", 0, 6, offset=5)], [], "past-capacity"),
        (problem(A, A | {"id": "b"}), [*AWAY, piece("fast", 0, 6, "b", 2)], SENT, "overlap"),
        (problem(A, {"id": "v", "size": 2, "start": 0, "end": 3, "alias_of": "a", "accesses": [1]}),
         [*AWAY, piece("fast", 0, 1, "v")], SENT, "alias-misplaced"),
    ],
)  # fmt: skip
def test_each_rule_of_moves_refuses_a_plan(data: Row, placements: list[Row], copies: list[Row], rule: str) -> None:
    assert rule in rules(data, placements, copies)


@pytest.mark.parametrize("claims", [{"cost": 13.0}, {"peak": 9}, {"moved_bytes": []}])
def test_false_claims_of_costs_and_bytes_are_refused(claims: Row) -> None:
    moved = [{"from": "fast", "to": "slow", "bytes": 4}, {"from": "slow", "to": "fast", "bytes": 4}]
    right = {"cost": 8.0, "peak": 8, "moved_bytes": moved}
    assert rules(problem(A), AWAY, SENT, **right) == []
    assert rules(problem(A), AWAY, SENT, **(right | claims)) == ["false-claim"]
