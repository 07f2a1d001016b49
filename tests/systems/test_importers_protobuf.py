"""Protocol buffers and FlatBuffers: what is read is in the file, whatever the file says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.errors import FormatError
from memplan.systems.flatbuffer import Table
from memplan.systems.protobuf import ProtobufMessage
from tests.support.protobuf_files import field, message, varint
from tests.support.tflite_files import flatbuffer

DATA = message({1: 300, 2: "name", 3: [message({1: 1}), message({1: -2})], 4: b"\xff"})


def test_fields_are_read_by_their_number() -> None:
    root = ProtobufMessage.root(DATA, "root")
    assert (root.integer(1, "count"), root.text(2, "name"), root.text(4, "odd")) == (300, "name", "\\xff")
    inner = list(root.messages(3, "rows"))
    assert [(row.path, row.integer(1, "value")) for row in inner] == [("root.rows[0]", 1), ("root.rows[1]", -2)]


def test_what_is_absent_has_its_default() -> None:
    root = ProtobufMessage.root(DATA, "root")
    assert (root.integer(9, "count", 5), root.text(9, "name"), root.message(9, "inner")) == (5, "", None)


def test_fields_of_four_and_eight_bytes_are_passed_over() -> None:
    data = varint(1 << 3 | 5) + b"abcd" + varint(2 << 3 | 1) + b"abcdefgh" + field(3, 7)
    assert ProtobufMessage.root(data, "root").integer(3, "count") == 7


@given(st.integers(-(2**63), 2**63 - 1))
def test_all_integers_of_64_bits_are_read(value: int) -> None:
    assert ProtobufMessage.root(field(1, value), "root").integer(1, "count") == value


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            b"\x08" + b"\x80" * 10 + b"\x01",
            "root: must have numbers that end after at most 10 bytes, got none at byte 1",
        ),
        (b"\x08", "root: must have numbers that end after at most 10 bytes"),
        (b"\x0a\x05ab", r"root: must not go beyond its last byte \(4\), got a field of 5 bytes from byte 2 on"),
        (b"\x0b", "root: must be a message, got a field of kind 3 before byte 1"),
        (field(1, "x"), "root.count: must be an integer"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        ProtobufMessage.root(data, "root").integer(1, "count")


def test_a_number_is_no_message() -> None:
    with pytest.raises(FormatError, match=r"root\.inner: must have a length, got the integer 3"):
        ProtobufMessage.root(field(1, 3), "root").message(1, "inner")


INNER = {0: ("i", -7), 2: "name", 3: b"\x01\x02\x03", 4: [1, -2]}
TABLES = flatbuffer({0: INNER, 1: [INNER, {}]})


def test_fields_of_tables_are_read_by_their_number() -> None:
    root = Table.root(TABLES, "root")
    inner = root.table(0, "inner")
    assert inner is not None
    assert inner.integer(0, "count", "i") == -7
    assert (inner.text(2, "name"), inner.content(3, "bytes"), inner.length(3, "bytes")) == ("name", b"\x01\x02\x03", 3)
    assert inner.integers(4, "numbers", "i") == (1, -2)
    assert [row.path for row in root.tables(1, "rows")] == ["root.rows[0]", "root.rows[1]"]


def test_a_field_that_is_absent_has_its_default() -> None:
    _, empty = Table.root(TABLES, "root").tables(1, "rows")
    assert (empty.integer(9, "count", "i", 5), empty.integer(1, "other", "q")) == (5, 0)
    assert (empty.text(2, "name"), empty.integers(4, "numbers", "i"), list(empty.tables(5, "rows"))) == ("", (), [])
    assert empty.table(3, "inner") is None
    assert empty.length(3, "bytes") == 0


def test_no_file_that_ends_early_is_read_beyond_its_end() -> None:
    for size in range(len(TABLES)):
        with pytest.raises(FormatError, match=rf"must lie in the file \({size} bytes\), got bytes"):
            _read_all(TABLES[:size])


def _read_all(data: bytes) -> None:
    root = Table.root(data, "root")
    for inner in (root.table(0, "inner"), *root.tables(1, "rows")):
        assert inner is not None
        inner.integer(0, "count", "i")
        inner.text(2, "name")
        inner.content(3, "bytes")
        inner.integers(4, "numbers", "i")


def test_a_list_may_not_be_longer_than_the_file() -> None:
    at = TABLES.index(b"\x03\0\0\0\x01\x02\x03")
    broken = TABLES[:at] + b"\xff\xff\xff\x7f" + TABLES[at + 4 :]
    with pytest.raises(FormatError, match=r"root\.inner\.bytes: must lie in the file"):
        _read_all(broken)


def test_the_same_bytes_are_not_read_again_and_again() -> None:
    root = Table.root(flatbuffer({0: b"x" * 1000}), "root")
    with pytest.raises(FormatError, match=r"root\.field: must not be reached after 4 times the file's 1\d\d\d bytes"):
        _read_twenty_times(root)


def _read_twenty_times(root: Table) -> None:
    for _ in range(20):
        root.content(0, "field")
