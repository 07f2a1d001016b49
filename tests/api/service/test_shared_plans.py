"""Cached answers that the processes of a server share."""

from __future__ import annotations

import fcntl
import random
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

import pytest

from memplan.api.service.cache.shared_plans import SharedPlans, make_shared

ROOM = 1 << 16


def answer(k: int, length: int = 200) -> bytes:
    return b'{"peak":%d,"rows":"%b","wall_time_s":0.1,"version":"1"}' % (k, b"%d" % (k % 10) * length)


def digest(k: int) -> bytes:
    return sha256(b"%d" % k).digest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    make_shared(tmp_path / "written", ROOM)
    return tmp_path / "written"


@pytest.fixture
def plans(path: Path) -> Iterator[SharedPlans]:
    with closing(SharedPlans(path)) as opened:
        yield opened


def of(plans: SharedPlans, k: int) -> bytes | None:
    """Return the answer stored under a number, unchanged, and its status."""
    found = plans.find(digest(k))
    return None if found is None else found.before + b"0.1" + found.after + found.status.encode()


def test_an_answer_kept_by_one_process_is_found_whole_by_another(path: Path, plans: SharedPlans) -> None:
    here = plans
    with closing(SharedPlans(path)) as there:
        _one_finds_what_another_keeps(here, there)


def _one_finds_what_another_keeps(here: SharedPlans, there: SharedPlans) -> None:
    assert of(there, 1) is None
    here.keep(digest(1), answer(1), "optimal")
    here.keep(digest(2), answer(2), "infeasible")
    assert (of(there, 1), of(there, 2)) == (answer(1) + b"optimal", answer(2) + b"infeasible")
    there.keep(digest(1), answer(7), "optimal")  # which is there already
    assert of(here, 1) == answer(1) + b"optimal"
    here.keep(digest(3), b'{"peak":1}', "optimal")  # without its time
    here.keep(digest(4), answer(4, ROOM // 8), "optimal")  # too large
    assert (of(there, 3), of(there, 4)) == (None, None)


def test_the_newest_answers_are_kept_the_oldest_are_dropped_and_none_are_mixed_up(plans: SharedPlans) -> None:
    draw, count = random.Random(3), 2_000
    for k in range(count):
        plans.keep(digest(k), answer(k, draw.randrange(400)), "optimal")
    kept = [k for k in range(count) if of(plans, k) is not None]
    assert all((of(plans, k) or b"").startswith(b'{"peak":%d,' % k) for k in kept)
    assert kept == [*range(kept[0], count)]
    assert ROOM // 500 < len(kept) < count // 2


def test_a_record_that_is_written_over_is_not_taken_for_an_answer(path: Path, plans: SharedPlans) -> None:
    plans.keep(digest(1), answer(1), "optimal")
    whole = path.read_bytes()
    at = whole.index(answer(1)[:20])
    for byte in range(at, at + 200, 7):
        torn = bytearray(whole)
        torn[byte] ^= 1
        path.write_bytes(torn)
        assert of(plans, 1) is None
    path.write_bytes(whole)
    assert of(plans, 1) == answer(1) + b"optimal"


def test_nothing_is_kept_while_another_process_writes(path: Path, plans: SharedPlans) -> None:
    with path.open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        plans.keep(digest(1), answer(1), "optimal")
        assert of(plans, 1) is None
    plans.keep(digest(1), answer(1), "optimal")
    assert of(plans, 1) is not None


def _busy(path: str, seed: int, count: int) -> int:
    """Store and look up answers beside other processes; return how many were found, or -1 if one was wrong."""
    plans, draw, found = SharedPlans(Path(path)), random.Random(seed), 0
    for _ in range(count):
        k = draw.randrange(300)
        plans.keep(digest(k), answer(k, 10 + k), "optimal")
        kept = of(plans, draw_k := draw.randrange(300))
        if kept is not None:
            found += 1
            if kept != answer(draw_k, 10 + draw_k) + b"optimal":
                return -1
    return found


def test_processes_that_write_and_read_at_once_find_right_answers_only(path: Path) -> None:
    with get_context("spawn").Pool(3) as pool:
        found = pool.starmap(_busy, [(str(path), seed, 3_000) for seed in range(3)])
    assert min(found) > 300


def test_the_shared_file_is_not_made_if_the_disk_has_no_room(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"too large|No space"):
        make_shared(tmp_path / "written", 1 << 60)
