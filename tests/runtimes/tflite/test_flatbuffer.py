"""Tests of the FlatBuffers reader: it reads no bytes outside of a file, whatever the file's offsets are."""

import pytest

from memplan.planner.errors import FormatError
from memplan.runtimes.flatbuffer import Table
from tests.runtimes.tflite_files import flatbuffer

INNER = {0: ("i", -7), 2: "name", 3: b"\x01\x02\x03", 4: [1, -2]}
TABLES = flatbuffer({0: INNER, 1: [INNER, {}]})


def test_an_absent_field_has_its_default_value() -> None:
    _, empty = Table.root(TABLES, "root").tables(1, "rows")
    assert (empty.integer(9, "count", "i", 5), empty.integer(1, "other", "q")) == (5, 0)
    assert (empty.text(2, "name"), empty.integers(4, "numbers", "i"), list(empty.tables(5, "rows"))) == ("", (), [])
    assert empty.table(3, "inner") is None
    assert empty.byte_count(3, "bytes") == 0


def test_a_truncated_file_is_never_read_beyond_its_end() -> None:
    for size in range(len(TABLES)):
        with pytest.raises(FormatError, match=rf"must lie in the file \({size} bytes\), got bytes"):
            _read_all(TABLES[:size])


def _read_all(data: bytes) -> None:
    root = Table.root(data, "root")
    for inner in (root.table(0, "inner"), *root.tables(1, "rows")):
        inner.integer(0, "count", "i")
        inner.text(2, "name")
        inner.content(3, "bytes")
        inner.integers(4, "numbers", "i")


def test_a_list_that_is_longer_than_the_file_is_refused() -> None:
    at = TABLES.index(b"\x03\0\0\0\x01\x02\x03")
    broken = TABLES[:at] + b"\xff\xff\xff\x7f" + TABLES[at + 4 :]
    with pytest.raises(FormatError, match=r"root\.inner\.bytes: must lie in the file"):
        _read_all(broken)


def test_reading_the_same_bytes_too_often_is_refused() -> None:
    root = Table.root(flatbuffer({0: b"x" * 1000}), "root")
    with pytest.raises(FormatError, match=r"root\.field: must not require reading over 4 times the file's 1\d\d\d"):
        _read_twenty_times(root)


def _read_twenty_times(root: Table) -> None:
    for _ in range(20):
        root.content(0, "field")
