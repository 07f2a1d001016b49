"""The states of a job."""

from __future__ import annotations

import pytest

from memplan.api.store.job_states import ENDED, MEANINGS, OPEN, STATES, IllegalChangeError, State, check_change


def test_every_state_has_a_sentence() -> None:
    assert set(MEANINGS) == set(STATES)
    assert all(meaning.startswith("It") and meaning.endswith(".") for meaning in MEANINGS.values())


def test_a_job_is_open_or_has_ended() -> None:
    assert OPEN == ("queued", "running")
    assert set(OPEN) | set(ENDED) == set(STATES)


@pytest.mark.parametrize("state", STATES)
def test_nothing_follows_an_end(state: State) -> None:
    for end in ENDED:
        with pytest.raises(IllegalChangeError, match=f"^job: {state} must not follow {end}$"):
            check_change(end, state)


def test_a_job_goes_to_its_end_by_legal_changes_only() -> None:
    legal = {(before, after) for before in OPEN for after in STATES if _is_legal(before, after)}
    assert legal == {
        ("queued", "running"),
        ("queued", "cancelled"),
        ("queued", "expired"),
        ("running", "queued"),
        ("running", "succeeded"),
        ("running", "cancelled"),
        ("running", "failed"),
    }


def _is_legal(before: State, after: State) -> bool:
    try:
        check_change(before, after)
    except IllegalChangeError:
        return False
    return True
