"""Deterministic commands answer with the same bytes in other processes; `lab/determinism.py` tries many states."""

from __future__ import annotations

import pytest

from lab.determinism import compare_states, compared, says_so

SAID = b'{"reproducible": false, "disturbed_by": "time_limit"}'


@pytest.mark.slow
def test_another_hash_seed_makes_no_difference() -> None:
    for found in compare_states(1, "0.02", ["warm", "other hash seed"]):
        assert (found.untold, found.same + len(found.told)) == ((), 2)


def test_what_differs_must_say_so() -> None:
    found = compared("warm", {"a": b"{}", "b": b"{}", "c": b"{}"}, {"a": b"{}", "b": SAID, "c": b'{"peak": 1}'})
    assert (found.same, found.told, found.untold) == (1, ("b",), ("c",))
    assert not says_so(b'{"reproducible": false, "disturbed_by": null}')
