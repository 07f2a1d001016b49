"""Sizes of buffers in snapshots are the requested bytes, whether events or blocks state them."""

import json
from typing import Any

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.foreign.reading import read_model

_ASKED, _ROUNDED = 10_485_761, 12_582_912


def snapshot(**block: Any) -> bytes:
    """Return a snapshot with one block that is older than the trace, and one that the trace allocates."""
    blocks = [{"address": 0, "size": _ROUNDED, "state": "active_allocated", **block}]
    blocks.append({"address": _ROUNDED, "size": 512, "requested_size": 100, "state": "active_allocated"})
    segment = {"device": 0, "address": 0, "total_size": 20_971_520, "stream": 0, "blocks": blocks}
    trace = [{"action": "alloc", "addr": _ROUNDED, "size": 100, "stream": 0}]
    return json.dumps({"segments": [segment], "device_traces": [trace]}).encode()


@pytest.mark.parametrize(("block", "size"), [({"requested_size": _ASKED}, _ASKED), ({}, _ROUNDED)])
def test_a_block_older_than_the_trace_gets_its_requested_size_if_stated(block: dict[str, int], size: int) -> None:
    found = read_model(snapshot(**block), "snapshot.json")
    assert [row.size for row in found.problem.buffers] == [size, 100]
    assert found.own_peak == _ROUNDED + 100


def test_a_requested_size_above_the_size_of_its_block_is_refused() -> None:
    with pytest.raises(FormatError, match="requested_size: must be at most the size of its block"):
        read_model(snapshot(requested_size=_ROUNDED + 1), "snapshot.json")
