"""Replay bundles: the same bytes again, what differs, and bundles that contradict themselves."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from memplan.capabilities.verify.replay.bundle import read_bundle, replay, write_bundle
from memplan.capabilities.verify.replay.source_file import SourceFile
from memplan.planner.errors import FormatError, InputError
from memplan.planner.formats import read_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.options import SolveControl, SolveOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.deadline import Deadline
from tests.support.public_problems import FOLDER

TABLE = b"id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,6\n"


FILE = SourceFile(TABLE, "p.csv")


def read(file: SourceFile) -> Problem:
    return read_problem(file.data, file.name)


def bundle_of(data: bytes, **options: Any) -> bytes:
    chosen = {"time_limit_s": 1.0, "deterministic": True} | options
    problem = read_problem(data, "p.csv")
    answer = solve(problem, **chosen)
    return write_bundle(SourceFile(data, "p.csv"), problem, SolveOptions(**chosen), answer)


def changed(data: bytes, **parts: Any) -> bytes:
    return json.dumps(json.loads(data) | parts).encode()


def test_what_is_said_to_be_reproducible_is_made_again_to_the_byte() -> None:
    files = ("minimalloc/C.1048576.csv", "executorch/squeezenet1_1.csv", "minimalloc_small/e.12.csv")
    for data in (TABLE, *((FOLDER / name).read_bytes() for name in files)):
        bundle = read_bundle(bundle_of(data, seed=3))
        assert bundle.reproducible
        found, plan = replay(bundle, read)
        assert (found.same, found.is_valid, found.environment) == ("bytes", True, {})
        assert plan == bundle.answer


@pytest.mark.parametrize(
    "parts",
    [
        {"options": {"time_limit_s": 1.0, "deterministic": True, "seed": 4}},
        {"reproducible": False},
        {"environment": {}},
        {"start": {"placements": [{"id": "a", "pool": "default", "offset": 0}]}},
    ],
    ids=lambda parts: next(iter(parts)),
)
def test_a_bundle_whose_request_was_changed_is_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="request_sha256: must be that of"):
        replay(read_bundle(changed(bundle_of(TABLE), **parts)), read)


def test_the_problem_is_kept_as_it_was_read_whatever_it_is_made_of() -> None:
    for data in (TABLE, TABLE.replace(b"\n", b"\r\n"), TABLE.replace(b"a,", b'"\xc3\xa4",')):
        bundle = read_bundle(bundle_of(data))
        assert bundle.problem.file.data == data
    problem = read_problem(TABLE, "p.csv")
    odd = read_bundle(write_bundle(SourceFile(b"\xff\x00", None, ("8",)), problem, SolveOptions(), solve(problem)))
    assert (odd.problem.encoding, odd.problem.file.data, odd.problem.capacity) == ("base64", b"\xff\x00", ("8",))


def test_another_plan_and_another_peak_are_told_apart() -> None:
    plain = bundle_of(TABLE)
    answer = json.loads(plain)["answer"]
    other = answer | {"solver": "somebody"}
    problem = read_problem(TABLE, "p.csv")
    remade = write_bundle(FILE, problem, read_bundle(plain).options, Plan.model_validate(other))
    assert replay(read_bundle(remade), read)[0].same == "peak"
    places = [row | {"offset": row["offset"] + 8} for row in answer["placements"]]
    higher = Plan.model_validate({"placements": places, "peak": answer["peak"] + 8, "status": "feasible"})
    remade = write_bundle(FILE, problem, read_bundle(plain).options, higher)
    found = replay(read_bundle(remade), read)[0]
    assert (found.same, found.peak_before, found.peak) == ("nothing", answer["peak"] + 8, answer["peak"])
    assert not found.reproducible


def test_versions_that_differ_are_named() -> None:
    then = {"memplan": "0.0.1", "numpy": None, "abacus": "1"}
    found = replay(read_bundle(changed(bundle_of(TABLE), environment=then, request_sha256=None)), read)[0]
    assert found.environment["memplan"][0] == "0.0.1"
    assert found.environment["abacus"] == ["1", None]
    assert "python" in found.environment


@pytest.mark.parametrize(
    ("parts", "error", "sentence"),
    [
        ({"format": "memplan-replay/9"}, FormatError, "format: must be memplan-replay/1"),
        ({"answer_sha256": "0"}, InputError, "answer_sha256: must be that of the answer"),
        ({"problem_hash": "sha256:0"}, InputError, "problem_hash: must be that of the problem"),
        ({"answer": {"peak": "x"}}, FormatError, "answer.peak"),
        ({"options": {"time_limit_s": 0}}, FormatError, "options.time_limit_s"),
        ({"problem": {"content": "x", "sha256": "0"}}, FormatError, "problem.sha256: must be that of the content"),
        (
            {"problem": {"content": "?", "encoding": "base64", "sha256": "0"}},
            FormatError,
            "problem.content: must be base64",
        ),
        ({"more": 1}, FormatError, "more"),
    ],
)
def test_bundles_that_contradict_themselves_are_refused(parts: Any, error: type[InputError], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        replay(read_bundle(changed(bundle_of(TABLE), **parts)), read)
    with pytest.raises(InputError):
        read_bundle(b"[]")


def test_a_search_that_a_clock_or_a_caller_ended_says_so() -> None:
    problem = read_problem((FOLDER / "minimalloc" / "J.1048576.csv").read_bytes(), "J.csv")
    late = solve(problem, deterministic=True, control=SolveControl(deadline=Deadline.after(0.05)))
    assert (late.reproducible, late.disturbed_by) == (False, "time_limit")
    cancelled = threading.Event()
    cancelled.set()
    stopped = solve(problem, deterministic=True, control=SolveControl(cancelled=cancelled))
    assert (stopped.reproducible, stopped.disturbed_by) == (False, "cancelled")
    assert (solve(problem, accept="fit").reproducible, verify(problem, late)) == (None, ())
